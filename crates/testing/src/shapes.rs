//! Small graphs that programs go wrong on, for tests: each the same on every run and on every
//! machine.
//!
//! Every vertex of a shape of [`all`] has an edge, so that a list of the edges says everything;
//! [`isolated`] has vertices that need a list of their own. Weights are whole numbers of 0 to 15:
//! sums of them are exact in any type.

use crate::{Edges, Random};

/// A graph with a name to say which one failed.
#[derive(Clone, Debug)]
pub struct Shape {
    /// What it is; unique among [`all`].
    pub name: String,
    /// The graph.
    pub graph: Edges,
}

/// Edges without directions or weights yet: what the shapes are made of.
pub type Pairs = Vec<(u32, u32)>;

/// 0 - 1 - ... : as many levels as vertices.
pub fn path(n: u32) -> Pairs {
    (1..n).map(|v| (v - 1, v)).collect()
}

/// A path that comes back to its start.
pub fn cycle(n: u32) -> Pairs {
    (0..n).map(|v| (v, (v + 1) % n)).collect()
}

/// 0 points at all others: one list holds every edge.
pub fn star_out(n: u32) -> Pairs {
    (1..n).map(|v| (0, v)).collect()
}

/// All others point at 0: every edge has the same target.
pub fn star_in(n: u32) -> Pairs {
    (1..n).map(|v| (v, 0)).collect()
}

/// Every vertex with every later one.
pub fn clique(n: u32) -> Pairs {
    (0..n).flat_map(|v| (v + 1..n).map(move |w| (v, w))).collect()
}

/// Every vertex of `0..left` with about half of the `right` ones that follow, no two of one side.
pub fn bipartite(left: u32, right: u32, random: &mut Random) -> Pairs {
    let all = (0..left).flat_map(|v| (left..left + right).map(move |w| (v, w)));
    all.filter(|_| random.coin()).collect()
}

/// Rings of 2, 3, 4 ... vertices (of 2: an edge and its return), `count` of them, that nothing
/// joins.
pub fn many_components(count: u32) -> Pairs {
    let mut pairs = Vec::new();
    let mut first = 0;
    for size in 2..count + 2 {
        pairs.extend(cycle(size).into_iter().map(|(v, w)| (first + v, first + w)));
        first += size;
    }
    pairs
}

/// A path with a loop at every third vertex, some of them twice, and a vertex that has nothing but
/// its loop.
pub fn self_loops(n: u32) -> Pairs {
    let mut pairs = path(n);
    pairs.extend((0..n).step_by(3).map(|v| (v, v)));
    pairs.extend((0..n).step_by(9).map(|v| (v, v)));
    pairs.push((n, n));
    pairs
}

/// Random edges, each of them one to five times, and half of the repetitions turned around.
pub fn duplicates(n: u32, edges: u32, random: &mut Random) -> Pairs {
    let mut pairs = Vec::new();
    for (v, w) in uniform(n, edges, random) {
        pairs.push((v, w));
        for _ in 0..random.below(5u32) {
            pairs.push(if random.coin() { (v, w) } else { (w, v) });
        }
    }
    pairs
}

/// Edges between vertices chosen uniformly; loops and duplicates as they fall.
pub fn uniform(n: u32, edges: u32, random: &mut Random) -> Pairs {
    (0..edges).map(|_| (random.below(n), random.below(n))).collect()
}

/// Edges whose ends crowd around the low ids, so that a few vertices have most of them.
pub fn skewed(n: u32, edges: u32, random: &mut Random) -> Pairs {
    let mut end = || (0..4).fold(n, |limit, _| random.below(limit) + 1) - 1;
    (0..edges).map(|_| (end(), end())).collect()
}

/// A path, and one edge for every twenty vertices between two that are far apart: long ways beside
/// short cuts.
pub fn path_with_chords(n: u32, random: &mut Random) -> Pairs {
    let mut pairs = path(n);
    pairs.extend((0..n / 20).map(|_| (random.below(n), random.below(n))));
    pairs
}

/// The same edges among vertices with other ids: neighbors are no longer near each other.
pub fn shuffled(pairs: &Pairs, random: &mut Random) -> Pairs {
    let n = pairs.iter().map(|&(v, w)| v.max(w) + 1).max().unwrap_or(0);
    let order = random.permutation(n);
    pairs.iter().map(|&(v, w)| (order[v as usize], order[w as usize])).collect()
}

/// The edges with weights, ids that no edge has taken out, in random order: what reads them may not
/// count on any.
fn finish(pairs: &Pairs, directed: bool, random: &mut Random) -> Edges {
    let mut ids: Vec<u32> = pairs.iter().flat_map(|&(v, w)| [v, w]).collect();
    ids.sort_unstable();
    ids.dedup();
    let rank = |v: u32| ids.binary_search(&v).expect("an end of an edge") as u32;
    let order = random.permutation(pairs.len() as u32);
    let edges = order.iter().map(|&index| {
        let (source, target) = pairs[index as usize];
        (rank(source), rank(target), f64::from(random.below(16u32)))
    });
    Edges { n: ids.len(), directed, edges: edges.collect() }
}

/// Every shape, directed and undirected.
pub fn all(seed: u64) -> Vec<Shape> {
    let mut random = Random::new(seed);
    let shapes: Vec<(&str, Pairs)> = vec![
        ("single edge", vec![(0, 1)]),
        ("single loop", vec![(0, 0)]),
        ("path", path(300)),
        ("shuffled path", shuffled(&path(300), &mut random)),
        // 64 and its neighbors are where groups of vertices and words of bits end.
        ("cycle of 63", cycle(63)),
        ("cycle of 64", cycle(64)),
        ("cycle of 65", cycle(65)),
        ("star out", star_out(400)),
        ("star in", star_in(400)),
        ("clique", clique(40)),
        ("bipartite", bipartite(30, 70, &mut random)),
        ("many components", many_components(30)),
        ("self-loops", self_loops(100)),
        ("duplicates", duplicates(80, 300, &mut random)),
        ("sparse random", uniform(500, 600, &mut random)),
        ("dense random", uniform(200, 4000, &mut random)),
        ("skewed random", skewed(600, 5000, &mut random)),
        ("path with chords", path_with_chords(1000, &mut random)),
    ];
    let mut all = Vec::new();
    for (name, pairs) in shapes {
        for (directed, kind) in [(true, "directed"), (false, "undirected")] {
            let graph = finish(&pairs, directed, &mut random);
            all.push(Shape { name: format!("{name}, {kind}"), graph });
        }
    }
    all
}

/// A random graph among whose vertices some have no edge, the first and the last included.
pub fn isolated(directed: bool, seed: u64) -> Shape {
    let mut random = Random::new(seed);
    let mut graph = finish(&uniform(100, 150, &mut random), directed, &mut random);
    // Two ids of three stay free.
    let spread = |v: u32| 3 * v + 1;
    graph.edges.iter_mut().for_each(|edge| (edge.0, edge.1) = (spread(edge.0), spread(edge.1)));
    graph.n *= 3;
    Shape { name: format!("isolated vertices, directed: {directed}"), graph }
}

/// A small graph that belongs to `seed`: one to three of the kinds above, of random sizes, side by
/// side or on top of each other.
pub fn random(seed: u64) -> Shape {
    let mut random = Random::new(seed);
    let mut pairs = Pairs::new();
    for _ in 0..=random.below(3u32) {
        let n = 2 + random.below(60);
        let part = match random.below(10u32) {
            0 => path(n),
            1 => cycle(n),
            2 => star_out(n),
            3 => star_in(n),
            4 => clique(2 + n / 4),
            5 => bipartite(1 + n / 3, 1 + n / 2, &mut random),
            6 => many_components(1 + n / 10),
            7 => self_loops(n),
            8 => duplicates(n, 2 * n, &mut random),
            _ => uniform(n, random.below(6 * n) + 1, &mut random),
        };
        let first = random.below(80);
        pairs.extend(part.into_iter().map(|(v, w)| (first + v, first + w)));
    }
    if random.coin() {
        pairs = shuffled(&pairs, &mut random);
    }
    if pairs.is_empty() {
        pairs.push((0, 0));
    }
    let directed = random.coin();
    let mut graph = finish(&pairs, directed, &mut random);
    if random.below(3u32) == 0 {
        // Some ids stay free: vertices without edges, the last ones among them.
        let spread = 1 + random.below(3);
        graph
            .edges
            .iter_mut()
            .for_each(|edge| (edge.0, edge.1) = (spread * edge.0, spread * edge.1));
        graph.n = graph.n * spread as usize + random.below(5u32) as usize;
    }
    Shape { name: format!("random graph {seed}, directed: {directed}"), graph }
}

/// Few edges of many kinds: for tests that run each case often.
pub fn small(seed: u64) -> Vec<Shape> {
    all(seed).into_iter().filter(|shape| shape.graph.edges.len() <= 500).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference;
    use std::collections::BTreeSet;

    fn shape(name: &str) -> Edges {
        let found = all(1).into_iter().find(|shape| shape.name == name);
        found.unwrap_or_else(|| panic!("no shape {name}")).graph
    }

    #[test]
    fn a_seed_always_gives_the_same_shapes() {
        let edges = |seed| all(seed).into_iter().map(|s| s.graph.edges).collect::<Vec<_>>();
        assert_eq!(edges(5), edges(5));
        assert_ne!(edges(5), edges(6));
    }

    #[test]
    fn names_are_unique_and_both_kinds_are_there() {
        let shapes = all(1);
        let names: BTreeSet<_> = shapes.iter().map(|shape| &shape.name).collect();
        assert_eq!(names.len(), shapes.len());
        assert_eq!(shapes.iter().filter(|shape| shape.graph.directed).count() * 2, shapes.len());
    }

    #[test]
    fn every_vertex_has_an_edge() {
        for Shape { name, graph } in all(2) {
            let ends = graph.edges.iter().flat_map(|&(v, w, _)| [v, w]).collect::<BTreeSet<_>>();
            assert!(ends.into_iter().eq(0..graph.n as u32), "{name}");
        }
    }

    #[test]
    fn weights_are_small_whole_numbers_and_zero_is_among_them() {
        let shapes = all(3);
        let weights: BTreeSet<_> =
            shapes.iter().flat_map(|s| &s.graph.edges).map(|edge| edge.2.to_bits()).collect();
        assert_eq!(weights, (0..16).map(|weight| f64::from(weight).to_bits()).collect());
    }

    #[test]
    fn shapes_are_what_they_are_called() {
        let levels = |name| reference::bfs(&shape(name), 0).into_iter().flatten().max();
        assert_eq!(levels("path, directed"), Some(299));
        assert_eq!(levels("cycle of 64, undirected"), Some(32));
        assert_eq!(levels("star out, directed"), Some(1));
        assert_eq!(levels("star in, directed"), Some(0));
        assert_eq!(reference::kcore(&shape("clique, directed")), [39; 40]);
        let components: BTreeSet<_> =
            reference::components(&shape("many components, directed")).into_iter().collect();
        assert_eq!(components.len(), 30);
        let loops = shape("self-loops, directed").edges.iter().filter(|e| e.0 == e.1).count();
        assert_eq!(loops, 34 + 12 + 1);
        let mut graph = shape("duplicates, directed").edges;
        graph.sort_by_key(|edge| (edge.0, edge.1));
        assert!(graph.windows(2).any(|two| (two[0].0, two[0].1) == (two[1].0, two[1].1)));
    }

    #[test]
    fn bipartite_has_no_edge_within_a_side() {
        let graph = shape("bipartite, undirected");
        let levels = reference::bfs(&graph, 0);
        assert!(graph.edges.iter().all(|&(v, w, _)| levels[v as usize] != levels[w as usize]));
    }

    #[test]
    fn isolated_has_vertices_without_edges_at_both_ends() {
        let Shape { graph, .. } = isolated(false, 1);
        let alone = reference::components(&graph);
        let last = graph.n as u32 - 1;
        assert!(graph.edges.iter().all(|&(v, w, _)| v > 0 && w > 0 && v < last && w < last));
        assert_eq!((alone[0], alone[last as usize]), (0, last));
    }

    #[test]
    fn small_is_a_part_of_all() {
        assert!(small(1).len() >= 20 && small(1).len() < all(1).len());
    }
}
