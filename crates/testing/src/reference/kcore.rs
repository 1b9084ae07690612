use std::collections::BTreeSet;

use super::simple::simple_neighbors;
use crate::{Answer, Edges, Question};

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

/// Core numbers are those of the reference.
pub fn verify(question: &Question, answer: &Answer) {
    let cores = kcore(question.edges).into_iter().map(u64::from);
    assert_eq!(answer.every(0), cores.collect::<Vec<_>>());
}

#[cfg(test)]
mod tests {
    use super::{super::tiny::*, kcore};

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
}
