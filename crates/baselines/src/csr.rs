//! Compressed sparse rows: the lists of all vertices, one after the other.

use crate::{Result, edges::Edges};

/// A vertex's id or a place in the lists: 32 or 64 bits, as in section V of the paper (Pearce,
/// Gokhale and Amato, SC'10).
pub trait Id: Copy + Ord {
    /// No vertex.
    const NONE: Self;

    fn new(value: usize) -> Self;

    fn at(self) -> usize;
}

macro_rules! id {
    ($($name:ty),*) => {$(
        impl Id for $name {
            const NONE: Self = <$name>::MAX;

            fn new(value: usize) -> Self {
                value as $name
            }

            fn at(self) -> usize {
                self as usize
            }
        }
    )*};
}
id!(u32, u64);

/// A graph: outgoing edges alone.
pub struct Csr<I> {
    starts: Vec<I>,
    /// All lists, each in ascending order if the edges were.
    pub targets: Vec<I>,
    /// The weights beside them, or nothing.
    pub weights: Vec<u32>,
}

impl<I: Id> Csr<I> {
    /// The lists of these edges.
    pub fn new(edges: &Edges) -> Result<Csr<I>> {
        if edges.ends.len() >= I::NONE.at() {
            return Err("too many edges for ids of this width".into());
        }
        let mut starts = vec![0usize; edges.vertices as usize + 1];
        for &[source, _] in &edges.ends {
            starts[source as usize + 1] += 1;
        }
        for vertex in 1..starts.len() {
            starts[vertex] += starts[vertex - 1];
        }
        let kept = starts.iter().map(|&start| I::new(start)).collect();
        let mut targets = vec![I::NONE; edges.ends.len()];
        let mut weights = vec![0; edges.weights.len()];
        for (edge, &[source, target]) in edges.ends.iter().enumerate() {
            let place = starts[source as usize];
            starts[source as usize] += 1;
            targets[place] = I::new(target as usize);
            if let Some(&weight) = edges.weights.get(edge) {
                weights[place] = weight;
            }
        }
        Ok(Csr { starts: kept, targets, weights })
    }

    /// Vertices.
    pub fn vertices(&self) -> usize {
        self.starts.len() - 1
    }

    /// Where the list of a vertex lies.
    pub fn list(&self, vertex: usize) -> std::ops::Range<usize> {
        self.starts[vertex].at()..self.starts[vertex + 1].at()
    }
}
