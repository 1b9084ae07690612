//! Reference answers: the problem's textbook algorithm, serial, in memory, on a plain list of
//! edges.
//!
//! Nothing here shares code with the engine, and nothing here is fast: what counts is that each
//! function can be checked by reading it. An unreached vertex has `None`.
//!
//! The conventions that decide an answer:
//! - A duplicate edge counts as often as it is there: PageRank and SpMV add it each time,
//!   betweenness takes it for another shortest path. Only [`kcore`], [`triangles`] and
//!   [`clustering`] look at the simple view.
//! - An undirected edge leads both ways; an undirected self-loop is one neighbor, not two.
//! - Directed components are weak.

// Each test file is a program of its own and few need every reference.
#![allow(dead_code)]

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, VecDeque};

/// The damping factor of [`pagerank`].
pub const DAMPING: f64 = 0.85;

/// A graph: `n` vertices and a list of (source, target, weight).
#[derive(Clone, Debug)]
pub struct Edges {
    /// The number of vertices; their ids are `0..n`.
    pub n: usize,
    /// Whether an edge leads from its source to its target only.
    pub directed: bool,
    /// The edges, in any order, duplicates and self-loops included; an undirected edge is here
    /// once.
    pub edges: Vec<(u32, u32, f64)>,
}

impl Edges {
    /// Every way along an edge, as (source, target, weight).
    fn arcs(&self) -> impl Iterator<Item = (usize, usize, f64)> {
        self.edges.iter().flat_map(|&(source, target, weight)| {
            let (source, target) = (source as usize, target as usize);
            let back = (!self.directed && source != target).then_some((target, source, weight));
            std::iter::once((source, target, weight)).chain(back)
        })
    }

    /// Each vertex's neighbors and the weights of the edges to them.
    fn neighbors(&self) -> Vec<Vec<(usize, f64)>> {
        let mut lists = vec![Vec::new(); self.n];
        for (source, target, weight) in self.arcs() {
            lists[source].push((target, weight));
        }
        lists
    }

    /// The same edges without their directions.
    fn undirected(&self) -> Edges {
        Edges { directed: false, ..self.clone() }
    }
}

/// Each vertex's number of edges from `source`.
pub fn bfs(graph: &Edges, source: u32) -> Vec<Option<u64>> {
    let neighbors = graph.neighbors();
    let mut levels = vec![None; graph.n];
    levels[source as usize] = Some(0);
    let mut queue = VecDeque::from([(source as usize, 0)]);
    while let Some((vertex, level)) = queue.pop_front() {
        for &(neighbor, _) in &neighbors[vertex] {
            if levels[neighbor].is_none() {
                levels[neighbor] = Some(level + 1);
                queue.push_back((neighbor, level + 1));
            }
        }
    }
    levels
}

/// For each of `sources`, each vertex's number of edges from it.
pub fn multi_source(graph: &Edges, sources: &[u32]) -> Vec<Vec<Option<u64>>> {
    sources.iter().map(|&source| bfs(graph, source)).collect()
}

/// Each vertex's distance from `source`, by Dijkstra's algorithm. Weights are finite and not
/// negative.
pub fn sssp(graph: &Edges, source: u32) -> Vec<Option<f64>> {
    let neighbors = graph.neighbors();
    let mut distances = vec![None; graph.n];
    // The bits of floating-point numbers that are not negative are in the order of the numbers.
    let mut heap = BinaryHeap::from([Reverse((0f64.to_bits(), source as usize))]);
    while let Some(Reverse((bits, vertex))) = heap.pop() {
        if distances[vertex].is_some() {
            continue;
        }
        let distance = f64::from_bits(bits);
        distances[vertex] = Some(distance);
        for &(neighbor, weight) in &neighbors[vertex] {
            assert!(weight >= 0.0 && weight.is_finite(), "a weight of {weight}");
            // Adding zero turns -0.0, whose bits are out of order, into 0.0.
            heap.push(Reverse(((distance + weight + 0.0).to_bits(), neighbor)));
        }
    }
    distances
}

/// Each vertex's component, named by the smallest id in it.
pub fn components(graph: &Edges) -> Vec<u32> {
    let neighbors = graph.undirected().neighbors();
    let mut names = vec![u32::MAX; graph.n];
    for start in 0..graph.n {
        // Starts ascend, so the first vertex of a component to be seen is its smallest.
        let mut stack = vec![start];
        while let Some(vertex) = stack.pop() {
            if names[vertex] == u32::MAX {
                names[vertex] = start as u32;
                stack.extend(neighbors[vertex].iter().map(|&(neighbor, _)| neighbor));
            }
        }
    }
    names
}

/// The vertices of each of the largest components, ascending: several where some are equally large.
pub fn largest_components(graph: &Edges) -> Vec<Vec<u32>> {
    let names = components(graph);
    let mut groups = std::collections::BTreeMap::new();
    names
        .iter()
        .zip(0..)
        .for_each(|(&name, vertex)| groups.entry(name).or_insert_with(Vec::new).push(vertex));
    let most = groups.values().map(Vec::len).max().unwrap_or(0);
    groups.into_values().filter(|group| group.len() == most).collect()
}

/// Renames groups by their smallest members, so that two partitions of the vertices can be
/// compared.
pub fn by_smallest_member<T: Copy + Ord>(groups: &[T]) -> Vec<u32> {
    let mut smallest = std::collections::BTreeMap::new();
    for (vertex, &group) in groups.iter().enumerate() {
        smallest.entry(group).or_insert(vertex as u32);
    }
    groups.iter().map(|group| smallest[group]).collect()
}

/// Each vertex's PageRank after exactly `iterations` rounds from `1 / n`; what vertices without
/// out-edges hold is spread uniformly. Weights do not count.
pub fn pagerank(graph: &Edges, iterations: usize) -> Vec<f64> {
    let neighbors = graph.neighbors();
    let n = graph.n as f64;
    let mut ranks = vec![1.0 / n; graph.n];
    for _ in 0..iterations {
        let dangling = (0..graph.n).filter(|&v| neighbors[v].is_empty()).map(|v| ranks[v]);
        let base = (1.0 - DAMPING) / n + DAMPING * dangling.sum::<f64>() / n;
        let mut next = vec![base; graph.n];
        for (vertex, list) in neighbors.iter().enumerate() {
            for &(neighbor, _) in list {
                next[neighbor] += DAMPING * ranks[vertex] / list.len() as f64;
            }
        }
        ranks = next;
    }
    ranks
}

/// Each vertex's core number in the undirected simple view without self-loops: the least connected
/// vertex is peeled off again and again.
pub fn kcore(graph: &Edges) -> Vec<u32> {
    let mut neighbors = simple_neighbors(graph);
    let mut cores = vec![0; graph.n];
    let mut left: BTreeSet<_> = (0..graph.n).map(|v| (neighbors[v].len(), v)).collect();
    let mut core = 0;
    while let Some((degree, vertex)) = left.pop_first() {
        core = core.max(degree);
        cores[vertex] = core as u32;
        for neighbor in std::mem::take(&mut neighbors[vertex]) {
            left.remove(&(neighbors[neighbor].len(), neighbor));
            neighbors[neighbor].remove(&vertex);
            left.insert((neighbors[neighbor].len(), neighbor));
        }
    }
    cores
}

/// Each vertex's betweenness over the shortest paths (in edges) from `sources`, by Brandes'
/// algorithm, neither normalised nor scaled up to all sources. An undirected graph's is halved:
/// with all vertices as sources, each pair counts once.
pub fn betweenness(graph: &Edges, sources: &[u32]) -> Vec<f64> {
    let neighbors = graph.neighbors();
    let scale = if graph.directed { 1.0 } else { 0.5 };
    let mut scores = vec![0.0; graph.n];
    for &source in sources {
        let levels = bfs(graph, source);
        let mut order: Vec<usize> = (0..graph.n).filter(|&v| levels[v].is_some()).collect();
        order.sort_by_key(|&v| levels[v]);
        let next = |v: usize| {
            let levels = &levels;
            let list = neighbors[v].iter().map(|&(neighbor, _)| neighbor);
            list.filter(move |&neighbor| levels[neighbor] == levels[v].map(|level| level + 1))
        };
        let (mut paths, mut dependency) = (vec![0.0; graph.n], vec![0.0; graph.n]);
        paths[source as usize] = 1.0;
        for &vertex in &order {
            next(vertex).for_each(|neighbor| paths[neighbor] += paths[vertex]);
        }
        for &vertex in order.iter().rev() {
            let share = |w: usize| paths[vertex] / paths[w] * (1.0 + dependency[w]);
            dependency[vertex] = next(vertex).map(share).sum();
            if vertex != source as usize {
                scores[vertex] += scale * dependency[vertex];
            }
        }
    }
    scores
}

/// The product of the transposed adjacency matrix and `x`: along each edge,
/// `y[target] += weight * x[source]`.
pub fn spmv(graph: &Edges, x: &[f64]) -> Vec<f64> {
    let mut y = vec![0.0; graph.n];
    for (source, target, weight) in graph.arcs() {
        y[target] += weight * x[source];
    }
    y
}

/// The different neighbors of each vertex, whatever the direction of the edge; nobody is their own.
fn simple_neighbors(graph: &Edges) -> Vec<BTreeSet<usize>> {
    let mut neighbors = vec![BTreeSet::new(); graph.n];
    for (source, target, _) in graph.undirected().arcs() {
        if source != target {
            neighbors[source].insert(target);
        }
    }
    neighbors
}

/// How many are in both of two sorted lists.
fn common(a: &[usize], b: &[usize]) -> usize {
    let (few, many) = if a.len() < b.len() { (a, b) } else { (b, a) };
    few.iter().filter(|vertex| many.binary_search(vertex).is_ok()).count()
}

/// The number of triangles in the undirected simple view.
pub fn triangles(graph: &Edges) -> u64 {
    let neighbors = simple_neighbors(graph);
    let neighbors: Vec<Vec<usize>> = neighbors.into_iter().map(Vec::from_iter).collect();
    let above = |v: usize, w: usize| &neighbors[v][neighbors[v].partition_point(|&x| x <= w)..];
    let joined = |v: usize, w: usize| common(above(v, w), above(w, w));
    (0..graph.n)
        .flat_map(|v| {
            neighbors[v].iter().filter(move |&&w| w > v).map(move |&w| joined(v, w) as u64)
        })
        .sum()
}

/// Each vertex's local clustering coefficient, as in LDBC Graphalytics: the share of the ordered
/// pairs of different neighbors (along edges of either direction) that an edge leads from and to.
pub fn clustering(graph: &Edges) -> Vec<f64> {
    let neighbors = simple_neighbors(graph);
    let mut leads = vec![BTreeSet::new(); graph.n];
    for (source, target, _) in graph.arcs().filter(|arc| arc.0 != arc.1) {
        leads[source].insert(target);
    }
    let leads: Vec<Vec<usize>> = leads.into_iter().map(Vec::from_iter).collect();
    let share = |list: Vec<usize>| {
        let joined =
            |list: &[usize]| list.iter().map(|&v| common(&leads[v], list)).sum::<usize>() as f64;
        if list.len() < 2 { 0.0 } else { joined(&list) / (list.len() * (list.len() - 1)) as f64 }
    };
    neighbors.into_iter().map(|list| share(Vec::from_iter(list))).collect()
}

/// Each vertex's label after some rounds of label propagation, as in LDBC Graphalytics: the most
/// frequent label among the neighbors, along edges of both directions, of equally frequent ones the
/// first in `order`. Labels are vertices.
pub fn label_propagation(graph: &Edges, rounds: usize, order: impl Fn(u32) -> u64) -> Vec<u32> {
    let mut ways = vec![Vec::new(); graph.n];
    for (source, target, _) in graph.arcs() {
        ways[source].push(target);
        if graph.directed {
            ways[target].push(source);
        }
    }
    let mut labels: Vec<u32> = (0..graph.n as u32).collect();
    for _ in 0..rounds {
        let winner = |v: usize| {
            let mut votes = std::collections::BTreeMap::new();
            ways[v].iter().for_each(|&w| *votes.entry(labels[w]).or_insert(0) += 1);
            votes
                .into_iter()
                .max_by_key(|&(label, votes)| (votes, Reverse(order(label))))
                .map_or(v as u32, |(label, _)| label)
        };
        labels = (0..graph.n).map(winner).collect();
    }
    labels
}

/// The answers on graphs small enough to be worked out by hand.
#[cfg(test)]
mod tests {
    use super::*;

    const DIRECTED: bool = true;
    const UNDIRECTED: bool = false;

    fn graph(n: usize, directed: bool, pairs: &[(u32, u32)]) -> Edges {
        let edges = pairs.iter().map(|&(source, target)| (source, target, 1.0)).collect();
        Edges { n, directed, edges }
    }

    /// 0 - 1 - 2 - 3
    fn path(directed: bool) -> Edges {
        graph(4, directed, &[(0, 1), (1, 2), (2, 3)])
    }

    /// 0 is the center of 1, 2, 3.
    fn star(directed: bool) -> Edges {
        graph(4, directed, &[(0, 1), (0, 2), (0, 3)])
    }

    fn clique() -> Edges {
        graph(4, UNDIRECTED, &[(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)])
    }

    /// Two triangles that nothing joins, 0 1 2 and 3 4 5.
    fn two_triangles() -> Edges {
        graph(6, UNDIRECTED, &[(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3)])
    }

    fn close(left: &[f64], right: &[f64]) {
        assert_eq!(left.len(), right.len());
        for (l, r) in left.iter().zip(right) {
            assert!((l - r).abs() < 1e-12, "{left:?} is not {right:?}");
        }
    }

    #[test]
    fn bfs_counts_edges() {
        assert_eq!(bfs(&path(DIRECTED), 1), [None, Some(0), Some(1), Some(2)]);
        assert_eq!(bfs(&path(UNDIRECTED), 1), [Some(1), Some(0), Some(1), Some(2)]);
        assert_eq!(bfs(&star(UNDIRECTED), 3), [Some(1), Some(2), Some(2), Some(0)]);
        assert_eq!(bfs(&clique(), 2), [Some(1), Some(1), Some(0), Some(1)]);
        let triangle = [None, None, None, Some(1), Some(0), Some(1)];
        assert_eq!(bfs(&two_triangles(), 4), triangle);
    }

    #[test]
    fn multi_source_has_a_row_for_each_source() {
        let rows = multi_source(&path(DIRECTED), &[3, 0, 3]);
        let last = vec![None, None, None, Some(0)];
        assert_eq!(rows, [last.clone(), vec![Some(0), Some(1), Some(2), Some(3)], last]);
    }

    #[test]
    fn sssp_takes_the_lightest_way() {
        let edges =
            vec![(0, 1, 4.0), (0, 2, 1.0), (2, 1, 2.5), (1, 1, 0.0), (0, 2, 0.5), (4, 0, 1.0)];
        let mut graph = Edges { n: 5, directed: true, edges };
        assert_eq!(sssp(&graph, 0), [Some(0.0), Some(3.0), Some(0.5), None, None]);
        graph.directed = false;
        assert_eq!(sssp(&graph, 1), [Some(3.0), Some(0.0), Some(2.5), None, Some(4.0)]);
    }

    #[test]
    fn sssp_of_weight_one_is_bfs() {
        for graph in [path(DIRECTED), star(UNDIRECTED), clique(), two_triangles()] {
            let levels = bfs(&graph, 1).into_iter().map(|level| level.map(|l| l as f64));
            assert_eq!(sssp(&graph, 1), levels.collect::<Vec<_>>());
        }
    }

    #[test]
    fn sssp_accepts_a_negative_zero() {
        let graph = Edges { n: 3, directed: true, edges: vec![(0, 1, -0.0), (0, 2, 1.0)] };
        assert_eq!(sssp(&graph, 0), [Some(0.0), Some(0.0), Some(1.0)]);
    }

    #[test]
    fn components_are_weak_and_named_by_their_smallest_id() {
        assert_eq!(components(&graph(3, DIRECTED, &[(2, 1), (0, 1)])), [0, 0, 0]);
        assert_eq!(components(&two_triangles()), [0, 0, 0, 3, 3, 3]);
        assert_eq!(components(&graph(4, DIRECTED, &[(3, 1), (2, 2)])), [0, 1, 2, 1]);
    }

    #[test]
    fn partitions_are_compared_by_their_smallest_members() {
        assert_eq!(by_smallest_member(&[7, 7, 2, 7, 2]), [0, 0, 2, 0, 2]);
        assert_eq!(by_smallest_member(&['b', 'b', 'a', 'b', 'a']), [0, 0, 2, 0, 2]);
    }

    #[test]
    fn pagerank_starts_uniform_and_stays_so_on_regular_graphs() {
        close(&pagerank(&star(DIRECTED), 0), &[0.25; 4]);
        close(&pagerank(&clique(), 7), &[0.25; 4]);
        close(&pagerank(&two_triangles(), 7), &[1.0 / 6.0; 6]);
    }

    #[test]
    fn pagerank_spreads_what_dangling_vertices_hold() {
        // 0 -> 1: in the first round, each has half; 1's half is spread over both.
        let base = 0.15 / 2.0 + 0.85 * 0.5 / 2.0;
        close(&pagerank(&graph(2, DIRECTED, &[(0, 1)]), 1), &[base, base + 0.85 * 0.5]);
        // The fixed point of x = (0.15 + 0.85 (1 - x)) / 2.
        let x = 1.0 / 2.85;
        close(&pagerank(&graph(2, DIRECTED, &[(0, 1)]), 100), &[x, 1.0 - x]);
    }

    #[test]
    fn pagerank_counts_duplicate_edges() {
        let ranks = pagerank(&graph(3, DIRECTED, &[(0, 1), (0, 1), (0, 2), (1, 0), (2, 0)]), 1);
        let third = 1.0 / 3.0;
        close(
            &ranks,
            &[0.05 + 0.85 * 2.0 * third, 0.05 + 1.7 * third * third, 0.05 + 0.85 * third * third],
        );
    }

    #[test]
    fn pagerank_takes_an_undirected_loop_for_one_neighbor() {
        // What networkx says of it.
        let ranks = pagerank(&graph(3, UNDIRECTED, &[(0, 1), (1, 1), (1, 2)]), 200);
        for (rank, expected) in ranks.iter().zip([0.212766, 0.574468, 0.212766]) {
            assert!((rank - expected).abs() < 1e-6, "{ranks:?}");
        }
    }

    #[test]
    fn kcore_peels_the_simple_view() {
        assert_eq!(kcore(&path(DIRECTED)), [1; 4]);
        assert_eq!(kcore(&star(UNDIRECTED)), [1; 4]);
        assert_eq!(kcore(&clique()), [3; 4]);
        assert_eq!(kcore(&two_triangles()), [2; 6]);
        // A triangle with a tail; duplicates, back edges and loops make no core.
        let pairs = [(0, 1), (1, 2), (2, 0), (2, 3), (3, 2), (2, 3), (3, 3), (4, 4)];
        assert_eq!(kcore(&graph(5, DIRECTED, &pairs)), [2, 2, 2, 1, 0]);
    }

    #[test]
    fn betweenness_of_all_sources_counts_each_pair_once() {
        let all = [0, 1, 2, 3];
        close(&betweenness(&path(UNDIRECTED), &all), &[0.0, 2.0, 2.0, 0.0]);
        close(&betweenness(&path(DIRECTED), &all), &[0.0, 2.0, 2.0, 0.0]);
        close(&betweenness(&star(UNDIRECTED), &all), &[3.0, 0.0, 0.0, 0.0]);
        close(&betweenness(&star(DIRECTED), &all), &[0.0; 4]);
        close(&betweenness(&clique(), &all), &[0.0; 4]);
        close(&betweenness(&two_triangles(), &[0, 1, 2, 3, 4, 5]), &[0.0; 6]);
    }

    #[test]
    fn betweenness_shares_a_pair_among_its_shortest_paths() {
        let square = [(0, 1), (0, 2), (1, 3), (2, 3)];
        close(&betweenness(&graph(4, DIRECTED, &square), &[0]), &[0.0, 0.5, 0.5, 0.0]);
        close(&betweenness(&graph(4, UNDIRECTED, &square), &[0]), &[0.0, 0.25, 0.25, 0.0]);
        // A second edge 0 -> 1 makes three paths, two of them by way of 1.
        let doubled = [(0, 1), (0, 1), (0, 2), (1, 3), (2, 3)];
        let scores = betweenness(&graph(4, DIRECTED, &doubled), &[0]);
        close(&scores, &[0.0, 2.0 / 3.0, 1.0 / 3.0, 0.0]);
    }

    #[test]
    fn betweenness_counts_the_given_sources_only() {
        close(&betweenness(&path(DIRECTED), &[1]), &[0.0, 0.0, 1.0, 0.0]);
        close(&betweenness(&path(UNDIRECTED), &[0]), &[0.0, 1.0, 0.5, 0.0]);
    }

    #[test]
    fn spmv_multiplies_along_the_edges() {
        let edges = vec![(0, 1, 2.0), (0, 1, 0.5), (1, 2, 3.0), (2, 2, 4.0)];
        let mut graph = Edges { n: 3, directed: true, edges };
        assert_eq!(spmv(&graph, &[1.0, 10.0, 100.0]), [0.0, 2.5, 430.0]);
        graph.directed = false;
        assert_eq!(spmv(&graph, &[1.0, 10.0, 100.0]), [25.0, 302.5, 430.0]);
    }

    #[test]
    fn triangles_are_counted_once() {
        assert_eq!(triangles(&path(DIRECTED)), 0);
        assert_eq!(triangles(&clique()), 4);
        assert_eq!(triangles(&two_triangles()), 2);
        let pairs = [(0, 1), (1, 2), (2, 0), (0, 2), (1, 1), (0, 1)];
        assert_eq!(triangles(&graph(3, DIRECTED, &pairs)), 1);
    }

    #[test]
    fn clustering_is_the_share_of_joined_pairs() {
        close(&clustering(&clique()), &[1.0; 4]);
        close(&clustering(&star(UNDIRECTED)), &[0.0; 4]);
        // A triangle with a tail at 2: of the six ordered pairs of 2's neighbors, two are joined.
        let tail = [(0, 1), (1, 2), (2, 0), (2, 3)];
        close(&clustering(&graph(4, UNDIRECTED, &tail)), &[1.0, 1.0, 1.0 / 3.0, 0.0]);
        // With directions, each edge joins one ordered pair, unless its return is there.
        close(&clustering(&graph(4, DIRECTED, &tail)), &[0.5, 0.5, 1.0 / 6.0, 0.0]);
        close(
            &clustering(&graph(3, DIRECTED, &[(0, 1), (1, 0), (1, 2), (2, 0)])),
            &[0.5, 0.5, 1.0],
        );
    }

    #[test]
    fn label_propagation_takes_the_most_frequent_label() {
        let same = u64::from;
        assert_eq!(label_propagation(&path(UNDIRECTED), 1, same), [1, 0, 1, 2]);
        assert_eq!(label_propagation(&path(UNDIRECTED), 2, same), [0, 1, 0, 1]);
        assert_eq!(label_propagation(&two_triangles(), 2, same), [0, 0, 0, 3, 3, 3]);
        // An edge and its return are two votes.
        let pairs = [(0, 2), (1, 2), (2, 1)];
        assert_eq!(label_propagation(&graph(3, DIRECTED, &pairs), 1, same), [2, 2, 1]);
        assert_eq!(
            label_propagation(&graph(3, DIRECTED, &[(0, 2), (1, 2)]), 1, |label| u64::from(
                9 - label
            )),
            [2, 2, 1]
        );
    }
}
