use std::collections::BTreeSet;

use super::{
    present,
    simple::{common, simple_neighbors},
};
use crate::{Answer, Edges, Question, assert_close};

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

/// Coefficients are those of the reference.
pub fn verify(question: &Question, answer: &Answer) {
    assert_close(&answer.numbers(0), &present(clustering(question.edges)));
}

#[cfg(test)]
mod tests {
    use super::{super::tiny::*, clustering};

    #[test]
    fn clustering_is_the_share_of_joined_pairs() {
        close(&clustering(&clique()), &[1.0; 4]);
        close(&clustering(&star(UNDIRECTED)), &[0.0; 4]);
        // A triangle with a tail at 2: of the six ordered pairs of 2's neighbors, two are joined.
        let tail = [(0, 1), (1, 2), (2, 0), (2, 3)];
        close(&clustering(&graph(4, UNDIRECTED, &tail)), &[1.0, 1.0, 1.0 / 3.0, 0.0]);
        // With directions, each edge joins one ordered pair, unless its return is there.
        close(&clustering(&graph(4, DIRECTED, &tail)), &[0.5, 0.5, 1.0 / 6.0, 0.0]);
        let returned = graph(3, DIRECTED, &[(0, 1), (1, 0), (1, 2), (2, 0)]);
        close(&clustering(&returned), &[0.5, 0.5, 1.0]);
    }
}
