use crate::{Answer, Edges, Question};

/// The damping factor.
const DAMPING: f64 = 0.85;

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

/// Ranks are near those after as many iterations as were asked for.
pub fn verify(question: &Question, answer: &Answer) {
    near(answer, &pagerank(question.edges, question.iterations));
}

/// Ranks are near those that no longer change.
pub fn verify_limit(question: &Question, answer: &Answer) {
    near(answer, &pagerank(question.edges, 200));
}

fn near(answer: &Answer, expected: &[f64]) {
    let ranks = answer.numbers(0);
    assert_eq!(ranks.len(), expected.len());
    let difference = |(rank, expected): (&Option<f64>, &f64)| {
        (rank.expect("every vertex has a rank") - expected).abs()
    };
    let distance: f64 = ranks.iter().zip(expected).map(difference).sum();
    assert!(distance < 1e-6, "L1 distance {distance}");
}

#[cfg(test)]
mod tests {
    use super::{super::tiny::*, pagerank};

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
        let expected =
            [0.05 + 0.85 * 2.0 * third, 0.05 + 1.7 * third * third, 0.05 + 0.85 * third * third];
        close(&ranks, &expected);
    }

    #[test]
    fn pagerank_takes_an_undirected_loop_for_one_neighbor() {
        // What networkx says of it.
        let ranks = pagerank(&graph(3, UNDIRECTED, &[(0, 1), (1, 1), (1, 2)]), 200);
        for (rank, expected) in ranks.iter().zip([0.212766, 0.574468, 0.212766]) {
            assert!((rank - expected).abs() < 1e-6, "{ranks:?}");
        }
    }
}
