//! Connected components by union-find with path halving: the smaller root is the parent.

use serde_json::{Value, json};

use crate::csr::{Csr, Id};

/// The root of a vertex's set.
fn root<I: Id>(parents: &mut [I], mut vertex: usize) -> usize {
    while parents[vertex].at() != vertex {
        let above = parents[parents[vertex].at()];
        parents[vertex] = above;
        vertex = above.at();
    }
    vertex
}

/// Components, directions ignored.
pub fn components<I: Id>(csr: &Csr<I>) -> Value {
    let mut parents: Vec<I> = (0..csr.vertices()).map(I::new).collect();
    for vertex in 0..csr.vertices() {
        let mut own = root(&mut parents, vertex);
        for &target in &csr.targets[csr.list(vertex)] {
            let other = root(&mut parents, target.at());
            let (low, high) = (own.min(other), own.max(other));
            parents[high] = I::new(low);
            own = low;
        }
    }
    let mut sizes = vec![0u32; csr.vertices()];
    for vertex in 0..csr.vertices() {
        sizes[root(&mut parents, vertex)] += 1;
    }
    let components = sizes.iter().filter(|&&size| size > 0).count();
    json!({"components": components, "largest": sizes.iter().max().copied().unwrap_or(0)})
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edges::Edges;

    #[test]
    fn components_by_hand() {
        let file = tempfile::NamedTempFile::new().unwrap();
        // 0-4-2-1 whatever the directions, 3-5, and 6 alone.
        std::fs::write(file.path(), "source,target\n4,0\n2,4\n2,1\n5,3\n5,5\n").unwrap();
        let edges = Edges::read(file.path(), 7).unwrap();
        let right = json!({"components": 3, "largest": 4});
        assert_eq!(components(&Csr::<u32>::new(&edges).unwrap()), right);
        assert_eq!(components(&Csr::<u64>::new(&edges).unwrap()), right);
    }
}
