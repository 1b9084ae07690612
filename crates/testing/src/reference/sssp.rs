use std::{cmp::Reverse, collections::BinaryHeap};

use crate::{Answer, Edges, Question, assert_close};

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

/// Each vertex's parent in the tree of shortest paths from `source` with these distances. Of the
/// neighbors over which a vertex's distance is reached, those with smaller distances come first;
/// without such, those that have parents already, round by round; and of several, the one with the
/// smallest rank.
pub fn parents(
    graph: &Edges,
    source: u32,
    distances: &[Option<f64>],
    ranks: &[u64],
) -> Vec<Option<u64>> {
    let (mut parents, mut is_first) = (vec![None; graph.n], true);
    parents[source as usize] = Some(u64::from(source));
    loop {
        let known = parents.clone();
        for (from, to, weight) in graph.arcs() {
            let (Some(before), Some(after)) = (distances[from], distances[to]) else { continue };
            let leads = if is_first { before < after } else { known[from].is_some() };
            if before + weight == after && leads && known[to].is_none() {
                let rank = |vertex: u64| ranks[vertex as usize];
                let other = parents[to].unwrap_or(from as u64);
                let from = from as u64;
                parents[to] = Some(if rank(from) < rank(other) { from } else { other });
            }
        }
        if parents == known && !is_first {
            return parents;
        }
        is_first = false;
    }
}

/// Fails unless parents make a tree of shortest paths: each leads to the source, and by an edge
/// over which the distance is reached.
pub fn verify_tree(graph: &Edges, source: u32, distances: &[Option<f64>], parents: &[Option<u64>]) {
    let mut arcs: Vec<_> = graph.arcs().collect();
    arcs.sort_by_key(|&(from, to, _)| (from, to));
    // Whether the way from a vertex leads to the source.
    let mut leads = vec![false; graph.n];
    leads[source as usize] = true;
    assert_eq!(parents[source as usize], Some(u64::from(source)));
    for vertex in 0..graph.n {
        assert_eq!(parents[vertex].is_some(), distances[vertex].is_some(), "vertex {vertex}");
        let (mut at, mut way) = (vertex, Vec::new());
        while parents[at].is_some() && !leads[at] {
            way.push(at);
            assert!(way.len() <= graph.n, "a circle of parents at {vertex}");
            at = parents[at].expect("a parent") as usize;
        }
        for at in way {
            leads[at] = true;
            let parent = parents[at].expect("a parent") as usize;
            let first = arcs.partition_point(|&(from, to, _)| (from, to) < (parent, at));
            let those = arcs[first..].iter().take_while(|arc| (arc.0, arc.1) == (parent, at));
            let before = distances[parent].expect("a distance");
            let mut sums = those.map(|arc| Some(before + arc.2));
            assert!(sums.any(|sum| sum == distances[at]), "parent {parent} of {at}");
        }
    }
}

/// Distances are those of the reference.
pub fn verify(question: &Question, answer: &Answer) {
    assert_close(&answer.numbers(0), &sssp(question.edges, question.sources[0]));
}

#[cfg(test)]
mod tests {
    use super::{
        super::{bfs, tiny::*},
        parents, sssp, verify_tree,
    };
    use crate::Edges;

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

    /// A circle of zeros, which is entered at two places, and two ways of equal length.
    #[test]
    fn parents_lead_to_the_source() {
        let edges = vec![
            (0, 1, 2.0),
            (1, 2, 0.0),
            (2, 3, 0.0),
            (3, 1, 0.0),
            (0, 3, 2.0),
            (1, 4, 1.0),
            (2, 4, 1.0),
            (4, 0, 0.0),
            (6, 5, 1.0),
        ];
        let graph = Edges { n: 7, directed: true, edges };
        let distances = sssp(&graph, 0);
        let none = [None; 2];
        let expected = [[0, 0, 1, 0, 1].map(Some).as_slice(), &none].concat();
        let ranks: Vec<u64> = (0..7).collect();
        let found = parents(&graph, 0, &distances, &ranks);
        assert_eq!(found, expected);
        verify_tree(&graph, 0, &distances, &found);
        let ranks: Vec<u64> = (0..7).rev().collect();
        let found = parents(&graph, 0, &distances, &ranks);
        assert_eq!(found[4], Some(2));
        let circle = [[0, 3, 1, 2, 1].map(Some).as_slice(), &none].concat();
        let refused = std::panic::catch_unwind(|| verify_tree(&graph, 0, &distances, &circle));
        assert!(refused.is_err());
    }

    #[test]
    fn sssp_accepts_a_negative_zero() {
        let graph = Edges { n: 3, directed: true, edges: vec![(0, 1, -0.0), (0, 2, 1.0)] };
        assert_eq!(sssp(&graph, 0), [Some(0.0), Some(0.0), Some(1.0)]);
    }
}
