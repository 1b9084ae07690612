use super::simple::{common, simple_neighbors};
use crate::{Answer, Edges, Question, Value};

/// The number of triangles in the undirected simple view.
pub fn triangles(graph: &Edges) -> u64 {
    let neighbors = simple_neighbors(graph);
    let neighbors: Vec<Vec<usize>> = neighbors.into_iter().map(Vec::from_iter).collect();
    let above = |v: usize, w: usize| &neighbors[v][neighbors[v].partition_point(|&x| x <= w)..];
    let joined = |v: usize, w: usize| common(above(v, w), above(w, w)) as u64;
    (0..graph.n)
        .flat_map(|v| neighbors[v].iter().filter(move |&&w| w > v).map(move |&w| joined(v, w)))
        .sum()
}

/// The number is that of the reference.
pub fn verify(question: &Question, answer: &Answer) {
    assert_eq!(answer.summary["triangles"], Value::Whole(triangles(question.edges)));
}

#[cfg(test)]
mod tests {
    use super::{super::tiny::*, triangles};

    #[test]
    fn triangles_are_counted_once() {
        assert_eq!(triangles(&path(DIRECTED)), 0);
        assert_eq!(triangles(&clique()), 4);
        assert_eq!(triangles(&two_triangles()), 2);
        let pairs = [(0, 1), (1, 2), (2, 0), (0, 2), (1, 1), (0, 1)];
        assert_eq!(triangles(&graph(3, DIRECTED, &pairs)), 1);
    }
}
