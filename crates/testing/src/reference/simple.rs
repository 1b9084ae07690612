//! The undirected simple view.

use std::collections::BTreeSet;

use crate::Edges;

/// The different neighbors of each vertex, whatever the direction of the edge; none is its own.
pub fn simple_neighbors(graph: &Edges) -> Vec<BTreeSet<usize>> {
    let mut neighbors = vec![BTreeSet::new(); graph.n];
    for (source, target, _) in graph.undirected().arcs() {
        if source != target {
            neighbors[source].insert(target);
        }
    }
    neighbors
}

/// How many are in both of two sorted lists.
pub fn common(a: &[usize], b: &[usize]) -> usize {
    let (few, many) = if a.len() < b.len() { (a, b) } else { (b, a) };
    few.iter().filter(|vertex| many.binary_search(vertex).is_ok()).count()
}
