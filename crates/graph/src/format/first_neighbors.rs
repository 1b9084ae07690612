//! [`FirstNeighbors`]: the first neighbor of each of some vertices, as it is stored.

use super::number;

/// The first neighbors of some vertices.
pub struct FirstNeighbors<'a> {
    /// The first of these vertices.
    pub first: u64,
    /// Their ids, one after the other.
    pub bytes: &'a [u8],
    /// Bytes of an id.
    pub width: usize,
}

impl FirstNeighbors<'_> {
    /// The first neighbor of `vertex`, if it has any. An id of all ones means none, unless it is a
    /// vertex: then every list holds at most it.
    #[inline(always)]
    pub fn get(&self, vertex: u64) -> Option<u64> {
        let at = (vertex - self.first) as usize * self.width;
        let head = number(&self.bytes[at..at + self.width]);
        (head != u64::MAX >> (64 - 8 * self.width)).then_some(head)
    }
}
