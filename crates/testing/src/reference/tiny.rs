//! Graphs small enough for their answers to be worked out by hand.

use crate::Edges;

pub const DIRECTED: bool = true;
pub const UNDIRECTED: bool = false;

/// `n` vertices, and edges of weight 1.
pub fn graph(n: usize, directed: bool, pairs: &[(u32, u32)]) -> Edges {
    Edges { n, ..Edges::of(pairs, directed) }
}

/// 0 - 1 - 2 - 3
pub fn path(directed: bool) -> Edges {
    graph(4, directed, &[(0, 1), (1, 2), (2, 3)])
}

/// 0 is the center of 1, 2, 3.
pub fn star(directed: bool) -> Edges {
    graph(4, directed, &[(0, 1), (0, 2), (0, 3)])
}

/// Four vertices, each joined to every other.
pub fn clique() -> Edges {
    graph(4, UNDIRECTED, &[(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)])
}

/// Two triangles that nothing joins, 0 1 2 and 3 4 5.
pub fn two_triangles() -> Edges {
    graph(6, UNDIRECTED, &[(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3)])
}

/// Equal but for rounding.
pub fn close(left: &[f64], right: &[f64]) {
    assert_eq!(left.len(), right.len());
    for (l, r) in left.iter().zip(right) {
        assert!((l - r).abs() < 1e-12, "{left:?} is not {right:?}");
    }
}
