//! [`GridWeights`]: the weights of the grid's edges, which lie in the order of the words, and where
//! those of a chunk are.

use super::{CHUNK_BYTES, CHUNK_WORDS, number};
use crate::types::WeightKind;

/// The weights of the grid's edges, or none. Their pages hold those of several chunks.
#[derive(Clone, Copy, Debug, Default)]
pub struct GridWeights {
    kind: WeightKind,
    /// Bytes of a weight.
    width: u64,
    /// Bytes of all of them.
    bytes: u64,
}

/// Bytes of a page.
const PAGE: u64 = outercore_storage::PAGE as u64;

impl GridWeights {
    /// Those of a grid of so many edges, whose weights take `width` bytes.
    pub fn new(kind: WeightKind, width: u64, edges: u64) -> Self {
        Self { kind, width, bytes: edges * width }
    }

    /// Whether there are none.
    pub fn are_none(&self) -> bool {
        self.width == 0
    }

    /// Bytes of all of them.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The most bytes that are read for those of a chunk.
    pub fn most(&self) -> usize {
        if self.are_none() { 0 } else { (CHUNK_WORDS * self.width + 2 * PAGE) as usize }
    }

    /// What is read for the weights of some edges (the first, and one past the last): offset and
    /// length of each piece. It begins a page, and no piece is longer than the words of a chunk.
    pub fn pieces(&self, (first, end): (u64, u64)) -> impl Iterator<Item = (u64, usize)> + use<> {
        let start = first.saturating_mul(self.width) / PAGE * PAGE;
        let end = end.saturating_mul(self.width).min(self.bytes);
        let pieces = (start..end).step_by(CHUNK_BYTES as usize);
        pieces.map(move |offset| (offset, (end - offset).min(CHUNK_BYTES) as usize))
    }

    /// The weight of each edge from `first` on, of what was read for them; 1 without weights.
    pub fn of(self, first: u64, read: &[u8]) -> impl Fn(usize) -> f64 + '_ {
        let width = self.width as usize;
        let read = &read[((first * self.width % PAGE) as usize).min(read.len())..];
        // What is missing is found elsewhere: a grid that contradicts itself has no such weights.
        move |at| self.kind.value(read.get(at * width..(at + 1) * width).map_or(0, number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_read_by_whole_pages_and_found_by_their_edges() {
        let weights = GridWeights::new(WeightKind::U32, 4, 1_000_000);
        let all: Vec<u8> = (0..1_000_000u32).flat_map(u32::to_le_bytes).collect();
        for (first, end) in [(0, 10), (1000, 5000), (1023, 1025), (700_000, u64::MAX)] {
            let mut read = Vec::new();
            for (offset, len) in weights.pieces((first, end)) {
                assert!(offset.is_multiple_of(PAGE) && len <= CHUNK_BYTES as usize);
                read.extend_from_slice(&all[offset as usize..][..len]);
            }
            let of = weights.of(first, &read);
            assert!((first..end.min(1_000_000)).all(|at| of((at - first) as usize) == at as f64));
        }
        let chunk = weights.pieces((100, 100 + CHUNK_WORDS));
        assert!(chunk.map(|(_, len)| len).sum::<usize>() <= weights.most());
    }

    #[test]
    fn without_weights_nothing_is_read_and_each_is_one() {
        let none = GridWeights::default();
        assert!(none.are_none() && none.most() == 0 && none.pieces((5, u64::MAX)).count() == 0);
        assert_eq!((none.of(5, &[])(0), none.of(5, &[])(1000)), (1.0, 1.0));
    }
}
