use super::{bfs::bfs_of, present};
use crate::{Answer, Edges, Question, assert_close};

/// Each vertex's betweenness over the shortest paths (in edges) from `sources`, by Brandes'
/// algorithm, neither normalised nor scaled up to all sources. An undirected graph's is halved:
/// with all vertices as sources, each pair counts once.
pub fn betweenness(graph: &Edges, sources: &[u32]) -> Vec<f64> {
    let neighbors = graph.neighbors();
    let scale = if graph.directed { 1.0 } else { 0.5 };
    let mut scores = vec![0.0; graph.n];
    for &source in sources {
        let levels = bfs_of(&neighbors, source);
        let mut order: Vec<usize> = (0..graph.n).filter(|&v| levels[v].is_some()).collect();
        order.sort_by_key(|&v| levels[v]);
        let next = |v: usize| {
            let levels = &levels;
            let list = neighbors[v].iter().map(|&(neighbor, _)| neighbor);
            list.filter(move |&neighbor| levels[neighbor] == levels[v].map(|level| level + 1))
        };
        let (mut paths, mut dependency) = (vec![0.0; graph.n], vec![0.0; graph.n]);
        paths[source as usize] = 1.0;
        for &vertex in &order {
            next(vertex).for_each(|neighbor| paths[neighbor] += paths[vertex]);
        }
        for &vertex in order.iter().rev() {
            let share = |w: usize| paths[vertex] / paths[w] * (1.0 + dependency[w]);
            dependency[vertex] = next(vertex).map(share).sum();
            if vertex != source as usize {
                scores[vertex] += scale * dependency[vertex];
            }
        }
    }
    scores
}

/// Scores are those of the reference.
pub fn verify(question: &Question, answer: &Answer) {
    let expected = betweenness(question.edges, question.sources);
    assert_close(&answer.numbers(0), &present(expected));
}

#[cfg(test)]
mod tests {
    use super::{super::tiny::*, betweenness};

    #[test]
    fn betweenness_of_all_sources_counts_each_pair_once() {
        let all = [0, 1, 2, 3];
        close(&betweenness(&path(UNDIRECTED), &all), &[0.0, 2.0, 2.0, 0.0]);
        close(&betweenness(&path(DIRECTED), &all), &[0.0, 2.0, 2.0, 0.0]);
        close(&betweenness(&star(UNDIRECTED), &all), &[3.0, 0.0, 0.0, 0.0]);
        close(&betweenness(&star(DIRECTED), &all), &[0.0; 4]);
        close(&betweenness(&clique(), &all), &[0.0; 4]);
        close(&betweenness(&two_triangles(), &[0, 1, 2, 3, 4, 5]), &[0.0; 6]);
    }

    #[test]
    fn betweenness_shares_a_pair_among_its_shortest_paths() {
        let square = [(0, 1), (0, 2), (1, 3), (2, 3)];
        close(&betweenness(&graph(4, DIRECTED, &square), &[0]), &[0.0, 0.5, 0.5, 0.0]);
        close(&betweenness(&graph(4, UNDIRECTED, &square), &[0]), &[0.0, 0.25, 0.25, 0.0]);
        // A second edge 0 -> 1 makes three paths, two of them by way of 1.
        let doubled = [(0, 1), (0, 1), (0, 2), (1, 3), (2, 3)];
        let scores = betweenness(&graph(4, DIRECTED, &doubled), &[0]);
        close(&scores, &[0.0, 2.0 / 3.0, 1.0 / 3.0, 0.0]);
    }

    #[test]
    fn betweenness_counts_the_given_sources_only() {
        close(&betweenness(&path(DIRECTED), &[1]), &[0.0, 0.0, 1.0, 0.0]);
        close(&betweenness(&path(UNDIRECTED), &[0]), &[0.0, 1.0, 0.5, 0.0]);
    }
}
