use super::present;
use crate::{Answer, Edges, Question, assert_close};

/// The product of the transposed adjacency matrix and `x`: along each edge,
/// `y[target] += weight * x[source]`.
pub fn spmv(graph: &Edges, x: &[f64]) -> Vec<f64> {
    let mut y = vec![0.0; graph.n];
    for (source, target, weight) in graph.arcs() {
        y[target] += weight * x[source];
    }
    y
}

/// The product with ones is that of the reference.
pub fn verify(question: &Question, answer: &Answer) {
    let expected = spmv(question.edges, &vec![1.0; question.edges.n]);
    assert_close(&answer.numbers(0), &present(expected));
}

#[cfg(test)]
mod tests {
    use super::spmv;
    use crate::Edges;

    #[test]
    fn spmv_multiplies_along_the_edges() {
        let edges = vec![(0, 1, 2.0), (0, 1, 0.5), (1, 2, 3.0), (2, 2, 4.0)];
        let mut graph = Edges { n: 3, directed: true, edges };
        assert_eq!(spmv(&graph, &[1.0, 10.0, 100.0]), [0.0, 2.5, 430.0]);
        graph.directed = false;
        assert_eq!(spmv(&graph, &[1.0, 10.0, 100.0]), [25.0, 302.5, 430.0]);
    }
}
