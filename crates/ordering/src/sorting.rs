//! Vertices in descending order of a number, ties by original id.

use std::cmp::Reverse;

use outercore_graph::Result;

use crate::Finder;

/// Bytes for each vertex, at the most: the number, the vertex, and as much again to sort.
pub const BYTES: u64 = 12;

impl Finder<'_> {
    /// The connected vertices in descending order of `numbers`, ties by original id.
    pub fn descending<T: Ord + Copy>(&self, numbers: &[T]) -> Result<Vec<u32>> {
        let mut vertices = Vec::with_capacity(numbers.len());
        self.for_each_rank(|vertex| {
            // The others have no edges.
            if (vertex as usize) < numbers.len() {
                vertices.push(vertex as u32);
            }
            Ok(())
        })?;
        // Stable, and so equals stay in the order of their ranks.
        vertices.sort_by_key(|&vertex| Reverse(numbers[vertex as usize]));
        Ok(vertices)
    }
}
