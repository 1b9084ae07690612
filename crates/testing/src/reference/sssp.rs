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

/// Distances are those of the reference.
pub fn verify(question: &Question, answer: &Answer) {
    assert_close(&answer.numbers(0), &sssp(question.edges, question.sources[0]));
}

#[cfg(test)]
mod tests {
    use super::{
        super::{bfs, tiny::*},
        sssp,
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

    #[test]
    fn sssp_accepts_a_negative_zero() {
        let graph = Edges { n: 3, directed: true, edges: vec![(0, 1, -0.0), (0, 2, 1.0)] };
        assert_eq!(sssp(&graph, 0), [Some(0.0), Some(0.0), Some(1.0)]);
    }
}
