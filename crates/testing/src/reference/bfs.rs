use std::collections::VecDeque;

use crate::{Answer, Edges, Question};

/// Each vertex's number of edges from `source`.
pub fn bfs(graph: &Edges, source: u32) -> Vec<Option<u64>> {
    bfs_of(&graph.neighbors(), source)
}

/// The same, of a graph whose [`Edges::neighbors`] are known.
pub(super) fn bfs_of(neighbors: &[Vec<(usize, f64)>], source: u32) -> Vec<Option<u64>> {
    let mut levels = vec![None; neighbors.len()];
    levels[source as usize] = Some(0);
    let mut queue = VecDeque::from([(source as usize, 0)]);
    while let Some((vertex, level)) = queue.pop_front() {
        for &(neighbor, _) in &neighbors[vertex] {
            if levels[neighbor].is_none() {
                levels[neighbor] = Some(level + 1);
                queue.push_back((neighbor, level + 1));
            }
        }
    }
    levels
}

/// Levels are those of the reference. A parent is a neighbor one level up; each reached vertex has
/// one, and the source has itself.
pub fn verify(question: &Question, answer: &Answer) {
    let (edges, source) = (question.edges, question.sources[0]);
    let levels = answer.whole(0);
    assert_eq!(levels, bfs(edges, source));
    let mut arcs: Vec<_> = edges.arcs().map(|(source, target, _)| (source, target)).collect();
    arcs.sort_unstable();
    for (vertex, parent) in answer.whole(1).into_iter().enumerate() {
        assert_eq!(parent.is_some(), levels[vertex].is_some(), "vertex {vertex}");
        let Some(parent) = parent.map(|parent| parent as usize) else { continue };
        if vertex == source as usize {
            assert_eq!(parent, vertex);
            continue;
        }
        let leads = arcs.binary_search(&(parent, vertex)).is_ok();
        assert!(leads, "no edge leads from {parent} to {vertex}");
        let below = levels[parent].map(|level| level + 1);
        assert_eq!(below, levels[vertex], "parent {parent} of {vertex}");
    }
}

#[cfg(test)]
mod tests {
    use super::{super::tiny::*, bfs};

    #[test]
    fn bfs_counts_edges() {
        assert_eq!(bfs(&path(DIRECTED), 1), [None, Some(0), Some(1), Some(2)]);
        assert_eq!(bfs(&path(UNDIRECTED), 1), [Some(1), Some(0), Some(1), Some(2)]);
        assert_eq!(bfs(&star(UNDIRECTED), 3), [Some(1), Some(2), Some(2), Some(0)]);
        assert_eq!(bfs(&clique(), 2), [Some(1), Some(1), Some(0), Some(1)]);
        let triangle = [None, None, None, Some(1), Some(0), Some(1)];
        assert_eq!(bfs(&two_triangles(), 4), triangle);
    }
}
