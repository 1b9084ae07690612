use super::bfs;
use crate::{Answer, Edges, Question};

/// For each of `sources`, each vertex's number of edges from it.
pub fn multi_source(graph: &Edges, sources: &[u32]) -> Vec<Vec<Option<u64>>> {
    sources.iter().map(|&source| bfs(graph, source)).collect()
}

/// For each vertex, how many sources reach it, and the sum of their distances.
pub fn verify(question: &Question, answer: &Answer) {
    let rows = multi_source(question.edges, question.sources);
    let levels = |vertex: usize| rows.iter().filter_map(move |row| row[vertex]);
    let vertices = 0..question.edges.n;
    let reached = vertices.clone().map(|vertex| levels(vertex).count() as u64);
    assert_eq!(answer.every(0), reached.collect::<Vec<_>>());
    let sums = vertices.map(|vertex| levels(vertex).sum::<u64>());
    assert_eq!(answer.every(1), sums.collect::<Vec<_>>());
}

#[cfg(test)]
mod tests {
    use super::{super::tiny::*, multi_source};

    #[test]
    fn multi_source_has_a_row_for_each_source() {
        let rows = multi_source(&path(DIRECTED), &[3, 0, 3]);
        let last = vec![None, None, None, Some(0)];
        assert_eq!(rows, [last.clone(), vec![Some(0), Some(1), Some(2), Some(3)], last]);
    }
}
