use super::{bfs::bfs_of, largest_components};
use crate::{Answer, Question, Value};

/// About how many edges all searches together may look at.
const MOST: usize = 2_000_000;

/// The diameter is that of a largest component, and proved; every bound of an eccentricity holds.
/// The lower bounds are the first column, the upper ones the second.
pub fn verify(question: &Question, answer: &Answer) {
    let edges = question.edges;
    let (lower, upper) = (answer.whole(0), answer.whole(1));
    // Of equally large ones any will do.
    let mut largest = largest_components(edges).into_iter();
    let members = largest
        .find(|group| lower[group[0] as usize].is_some())
        .expect("one of the largest components has bounds");
    let figure = |name: &str| answer.summary[name];
    assert_eq!(figure("exact"), Value::Flag(true));
    assert_eq!(figure("upper_bound"), figure("lower_bound"));
    let neighbors = edges.undirected().neighbors();
    // Where all vertices are too many, some.
    let step = (members.len() * edges.edges.len() / MOST).max(1);
    let mut diameter = 0;
    for vertex in members.iter().step_by(step).map(|&vertex| vertex as usize) {
        let known = eccentricity(&neighbors, vertex);
        let (Some(low), Some(high)) = (lower[vertex], upper[vertex]) else {
            panic!("vertex {vertex} has no bounds")
        };
        assert!(low <= known && known <= high, "vertex {vertex}: {low} <= {known} <= {high}");
        diameter = diameter.max(known);
    }
    if step == 1 {
        assert_eq!(figure("lower_bound"), Value::Whole(diameter));
    }
    #[allow(clippy::needless_range_loop)]
    for vertex in 0..edges.n {
        let member = members.binary_search(&(vertex as u32)).is_ok();
        assert!(member || lower[vertex].is_none(), "vertex {vertex} is of another component");
    }
}

/// The number of edges to the vertex that is furthest away.
fn eccentricity(neighbors: &[Vec<(usize, f64)>], vertex: usize) -> u64 {
    bfs_of(neighbors, vertex as u32).into_iter().flatten().max().expect("a vertex reaches itself")
}

#[cfg(test)]
mod tests {
    use super::{super::tiny::*, eccentricity};

    #[test]
    fn eccentricities_are_the_largest_levels() {
        assert_eq!(
            [0, 1, 2, 3].map(|vertex| eccentricity(&path(UNDIRECTED).neighbors(), vertex)),
            [3, 2, 2, 3]
        );
        assert_eq!(
            [0, 1].map(|vertex| eccentricity(&star(UNDIRECTED).neighbors(), vertex)),
            [1, 2]
        );
        assert_eq!(eccentricity(&two_triangles().neighbors(), 4), 1);
    }
}
