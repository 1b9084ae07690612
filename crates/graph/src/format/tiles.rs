//! The directory of the grid: where each interval, tile and chunk lies.
//!
//! Sections: `grid.stripes` holds the intervals' bounds (u64 each, one more than intervals);
//! `grid.tiles` holds [`Tile`]s of 40 bytes in interval-major order; `grid.chunks` holds [`Chunk`]s
//! of 16 bytes, in the order of the tiles. Little-endian throughout.

use std::ops::Range;

use bytemuck::{Pod, Zeroable};

use super::{CHUNK_WORDS, SEGMENT_BITS, WordCode, WordKind};

/// Edges from one segment into one interval: all of them, or those of consecutive sources.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable, PartialEq, Eq)]
pub struct Tile {
    /// The source segment.
    pub segment: u32,
    /// The destination interval.
    pub interval: u32,
    /// Where the words begin in `grid.words`, a multiple of the page.
    pub offset: u64,
    /// Words, skips included (48 bits); then the bits of a word, and those of a destination with
    /// 128 added where words are gaps, a byte each; both 0: [`WordCode::FIRST`].
    pub packed: u64,
    /// The first edge's number in the order of the grid: the index into `grid.weights`.
    pub first_edge: u64,
    /// The first chunk's number in `grid.chunks`.
    pub first_chunk: u64,
}

/// At most [`CHUNK_WORDS`] words of a tile.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable, PartialEq, Eq)]
pub struct Chunk {
    /// The source (within the segment) to which the first word's delta is added; of gaps, that of
    /// the place to which the first is added, whose destination is 0.
    pub source: u64,
    /// The chunk's first edge, counted from the tile's first.
    pub edge: u64,
}

impl Tile {
    /// Bits of the number of words.
    const WORDS_BITS: u32 = 48;
    /// Beside the bits of a destination: words are gaps.
    const GAPS: u32 = 128;

    /// With so many words of this code.
    #[must_use]
    pub fn with_words(self, words: u64, code: WordCode) -> Self {
        debug_assert!(words < 1 << Self::WORDS_BITS);
        let low = code.low_bits | if code.kind == WordKind::Gaps { Self::GAPS } else { 0 };
        Self { packed: words | u64::from(code.bits | low << 8) << Self::WORDS_BITS, ..self }
    }

    /// Words, skips included.
    pub fn words(&self) -> u64 {
        self.packed & ((1 << Self::WORDS_BITS) - 1)
    }

    /// What its words are like.
    pub fn code(&self) -> WordCode {
        match (self.packed >> Self::WORDS_BITS) as u32 {
            0 => WordCode::FIRST,
            both => {
                let (bits, low) = (both & 0xff, both >> 8);
                WordCode {
                    bits,
                    low_bits: low & !Self::GAPS,
                    kind: if low & Self::GAPS == 0 { WordKind::Deltas } else { WordKind::Gaps },
                }
            }
        }
    }

    /// How many chunks the tile has.
    pub fn chunks(&self) -> u64 {
        self.words().div_ceil(CHUNK_WORDS)
    }

    /// Offset in `grid.words` and length in bytes of chunk `index` of the tile.
    pub fn chunk_bytes(&self, index: u64) -> (u64, usize) {
        let words = (self.words() - index * CHUNK_WORDS).min(CHUNK_WORDS);
        (self.offset + self.code().bytes(index * CHUNK_WORDS), self.code().bytes(words) as usize)
    }
}

/// The whole directory, in memory.
#[derive(Clone, Debug, Default)]
pub struct GridDirectory {
    /// Bounds of the intervals.
    pub intervals: Vec<u64>,
    /// Every tile that has edges, interval-major.
    pub tiles: Vec<Tile>,
    /// Every chunk, in the order of the tiles.
    pub chunks: Vec<Chunk>,
}

impl GridDirectory {
    /// The vertices of interval `index`.
    pub fn interval(&self, index: u32) -> Range<u64> {
        self.intervals[index as usize]..self.intervals[index as usize + 1]
    }

    /// How many intervals must lie between two of them before the later one may count on the update
    /// of the earlier one. It is the same for any number of workers. So workers need not wait for
    /// each other, and every sum has one order.
    pub fn lag(&self) -> usize {
        Self::lag_of(self.intervals.len() as u64 - 1) as usize
    }

    /// That of so many intervals.
    pub(crate) fn lag_of(intervals: u64) -> u64 {
        (intervals / 64).max(1)
    }

    /// The first edge of chunk `index` of tile number `tile`, counted in the order of the grid, and
    /// the first that is behind its edges; of the last chunk `u64::MAX`.
    pub fn edges(&self, (tile, index): (usize, u64)) -> (u64, u64) {
        let (this, next) = (&self.tiles[tile], self.tiles.get(tile + 1));
        let first = |index| {
            this.first_edge.wrapping_add(self.chunks[(this.first_chunk + index) as usize].edge)
        };
        let end = if index + 1 < this.chunks() {
            first(index + 1)
        } else {
            next.map_or(u64::MAX, |next| next.first_edge)
        };
        (first(index), end)
    }

    /// The first source of chunk `index` of tile `number`, and the last that there may be, in a
    /// graph of so many vertices.
    pub fn sources(&self, (number, index): (usize, u64), vertices: u64) -> (u64, u64) {
        let Self { tiles, chunks, .. } = self;
        let tile = &tiles[number];
        let segment = u64::from(tile.segment) << SEGMENT_BITS;
        let source =
            |tile: &Tile, index| segment + chunks[(tile.first_chunk + index) as usize].source;
        let first = source(tile, index);
        let last = if index + 1 < tile.chunks() {
            // The next chunk counts from this one's last source.
            source(tile, index + 1)
        } else {
            // The next tile of the same segment begins after this one's last source, unless it
            // begins anew: a vertex of very many edges has several series of tiles.
            let next = tiles.get(number + 1).filter(|next| {
                (next.interval, next.segment) == (tile.interval, tile.segment)
                    && source(next, 0) > first
            });
            let end = next.map_or(segment + (1 << SEGMENT_BITS), |next| source(next, 0));
            end.min(vertices) - 1
        };
        (first, last)
    }

    /// Number and padded bytes of the chunks of a tile.
    pub fn sizes(&self, tile: usize) -> impl Iterator<Item = (usize, u64)> + Clone {
        let tile = &self.tiles[tile];
        (0..tile.chunks()).map(|chunk| {
            let len = tile.chunk_bytes(chunk).1.next_multiple_of(outercore_storage::PAGE);
            ((tile.first_chunk + chunk) as usize, len as u64)
        })
    }

    /// Those of all tiles.
    pub fn all_sizes(&self) -> impl Iterator<Item = (usize, u64)> {
        (0..self.tiles.len()).flat_map(|tile| self.sizes(tile))
    }

    /// Words of all chunks.
    pub fn words(&self) -> u64 {
        self.tiles.iter().map(Tile::words).sum()
    }

    /// The interval of a vertex.
    pub fn interval_of(&self, vertex: u64) -> usize {
        self.intervals.partition_point(|&bound| bound <= vertex) - 1
    }

    /// Neighboring intervals that one worker has at a time, at most `most`: narrow ones go
    /// together, so that all of their sources' signals come out of memory once for all of them.
    pub fn batches(&self, most: usize) -> Vec<Range<usize>> {
        batches(&self.intervals, most, self.widest())
    }

    /// The most vertices of an interval.
    pub fn widest(&self) -> usize {
        self.intervals.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0) as usize
    }

    /// Bytes that the directory holds.
    pub fn bytes(&self) -> u64 {
        (self.intervals.len() * 8 + self.tiles.len() * 40 + self.chunks.len() * 16) as u64
    }
}

/// Neighboring intervals, as many as `most` together, as long as an array of `widest` has room for
/// them (a power of two each, so that words of any destination are in bounds).
fn batches(bounds: &[u64], most: usize, widest: usize) -> Vec<Range<usize>> {
    let (mut batches, mut start) = (Vec::new(), 0);
    for end in 1..bounds.len() {
        let room = |last: usize| {
            (bounds[last] - bounds[start]) as usize
                + ((bounds[last + 1] - bounds[last]) as usize).next_power_of_two()
                <= widest
        };
        if end + 1 == bounds.len() || end - start >= most || !room(end) {
            batches.push(start..end);
            start = end;
        }
    }
    batches
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn narrow_intervals_go_together() {
        let bounds = [0, 10, 30, 70, 150, 310, 1000, 1500, 1503, 1504];
        assert_eq!(batches(&bounds, 3, 1000), [0..3, 3..5, 5..6, 6..9]);
        assert_eq!(batches(&bounds, 1, 1000).len(), 9);
        assert_eq!(batches(&bounds, 9, 700), [0..5, 5..6, 6..9], "160 vertices may need 256");
        assert_eq!(batches(&[0], 3, 0), []);
    }
}
