use std::collections::BTreeMap;

use crate::{Answer, Edges, Question};

/// Each vertex's component, named by the smallest id in it.
pub fn components(graph: &Edges) -> Vec<u32> {
    let neighbors = graph.undirected().neighbors();
    let mut names = vec![u32::MAX; graph.n];
    for start in 0..graph.n {
        // Starts ascend, so the first vertex of a component to be seen is its smallest.
        let mut stack = vec![start];
        while let Some(vertex) = stack.pop() {
            if names[vertex] == u32::MAX {
                names[vertex] = start as u32;
                stack.extend(neighbors[vertex].iter().map(|&(neighbor, _)| neighbor));
            }
        }
    }
    names
}

/// The vertices of each of the largest components, ascending: several where some are equally large.
pub fn largest_components(graph: &Edges) -> Vec<Vec<u32>> {
    let mut groups: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for (&name, vertex) in components(graph).iter().zip(0..) {
        groups.entry(name).or_default().push(vertex);
    }
    let most = groups.values().map(Vec::len).max().unwrap_or(0);
    groups.into_values().filter(|group| group.len() == most).collect()
}

/// Renames groups by their smallest members, so that two partitions of the vertices can be
/// compared.
pub fn by_smallest_member<T: Copy + Ord>(groups: &[T]) -> Vec<u32> {
    let mut smallest = BTreeMap::new();
    for (vertex, &group) in groups.iter().enumerate() {
        smallest.entry(group).or_insert(vertex as u32);
    }
    groups.iter().map(|group| smallest[group]).collect()
}

/// The partition is that of the reference, and a component is named by one of its own vertices.
pub fn verify(question: &Question, answer: &Answer) {
    let labels = answer.every(0);
    assert_eq!(by_smallest_member(&labels), components(question.edges));
    let named = |&label: &u64| labels[label as usize] == label;
    assert!(labels.iter().all(named), "a component is named by one of its own");
}

#[cfg(test)]
mod tests {
    use super::{super::tiny::*, by_smallest_member, components};

    #[test]
    fn components_are_weak_and_named_by_their_smallest_id() {
        assert_eq!(components(&graph(3, DIRECTED, &[(2, 1), (0, 1)])), [0, 0, 0]);
        assert_eq!(components(&two_triangles()), [0, 0, 0, 3, 3, 3]);
        assert_eq!(components(&graph(4, DIRECTED, &[(3, 1), (2, 2)])), [0, 1, 2, 1]);
    }

    #[test]
    fn partitions_are_compared_by_their_smallest_members() {
        assert_eq!(by_smallest_member(&[7, 7, 2, 7, 2]), [0, 0, 2, 0, 2]);
        assert_eq!(by_smallest_member(&['b', 'b', 'a', 'b', 'a']), [0, 0, 2, 0, 2]);
    }
}
