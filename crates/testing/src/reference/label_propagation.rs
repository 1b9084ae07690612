use std::{cmp::Reverse, collections::BTreeMap};

use crate::{Answer, Edges, Question};

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
            let mut votes = BTreeMap::new();
            ways[v].iter().for_each(|&w| *votes.entry(labels[w]).or_insert(0) += 1);
            let most =
                votes.into_iter().max_by_key(|&(label, votes)| (votes, Reverse(order(label))));
            most.map_or(v as u32, |(label, _)| label)
        };
        labels = (0..graph.n).map(winner).collect();
    }
    labels
}

/// Labels are those of the reference. Ties go to the least original id, as ids are written.
pub fn verify(question: &Question, answer: &Answer) {
    let ranks = question.ids.ranks(question.edges.n);
    let order = |vertex| ranks[vertex as usize];
    let labels = label_propagation(question.edges, question.iterations, order);
    assert_eq!(answer.every(0), labels.into_iter().map(u64::from).collect::<Vec<_>>());
}

#[cfg(test)]
mod tests {
    use super::{super::tiny::*, label_propagation};

    #[test]
    fn label_propagation_takes_the_most_frequent_label() {
        let same = u64::from;
        assert_eq!(label_propagation(&path(UNDIRECTED), 1, same), [1, 0, 1, 2]);
        assert_eq!(label_propagation(&path(UNDIRECTED), 2, same), [0, 1, 0, 1]);
        assert_eq!(label_propagation(&two_triangles(), 2, same), [0, 0, 0, 3, 3, 3]);
        // An edge and its return are two votes.
        let pairs = [(0, 2), (1, 2), (2, 1)];
        assert_eq!(label_propagation(&graph(3, DIRECTED, &pairs), 1, same), [2, 2, 1]);
        let backwards = |label| u64::from(9 - label);
        let pairs = [(0, 2), (1, 2)];
        assert_eq!(label_propagation(&graph(3, DIRECTED, &pairs), 1, backwards), [2, 2, 1]);
    }
}
