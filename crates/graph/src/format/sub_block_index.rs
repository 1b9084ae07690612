//! [`SubBlockIndex`]: where in a chunk of the grid the edges of which sources are, so that a pass
//! reads those of active ones alone (GraphSD, ICPP'22, section 3.2: the index of a sub-block).
//!
//! Words are gaps: whoever decodes them must know at which place they begin. The format says so of
//! chunks. Of their parts it is noted here when they are decoded for the first time. Memory: eight
//! bytes for a part, which has 8,192 words, and for a chunk.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::{CHUNK_WORDS, EdgeBlock, GridChunk, GridDirectory, Tile};

/// Words of a part: whole pages, whatever the bits of a word.
const PART: u64 = 1 << 13;
/// Bits of a place within a segment and an interval.
const PLACE_BITS: u32 = super::SEGMENT_BITS + super::STRIPE_BITS;
/// Where a part begins is known.
const KNOWN: u64 = 1 << 63;

/// Where the parts of all chunks begin, as far as they were decoded.
#[derive(Debug, Default)]
pub struct SubBlockIndex {
    /// Of each chunk, the parts before its own; then all. The first part of a chunk is not counted.
    before: Vec<u64>,
    /// The place at which each of these parts begins, and above it the edges of the chunk before.
    begins: Vec<AtomicU64>,
}

/// Of each chunk of a tile, its parts but the first.
fn parts(tile: &Tile) -> impl Iterator<Item = u64> + use<> {
    let words = tile.words();
    let chunks = (0..words).step_by(CHUNK_WORDS as usize);
    chunks.map(move |first| ((words - first).min(CHUNK_WORDS) - 1) / PART)
}

impl SubBlockIndex {
    /// Nothing is known yet.
    pub fn new(directory: &GridDirectory) -> Self {
        let (mut before, mut all) = (Vec::with_capacity(directory.chunks.len() + 1), 0);
        for parts in directory.tiles.iter().flat_map(parts) {
            before.push(all);
            all += parts;
        }
        before.push(all);
        Self { before, begins: (0..all).map(|_| AtomicU64::new(0)).collect() }
    }

    /// Bytes of memory.
    pub fn bytes(directory: &GridDirectory) -> u64 {
        let begins: u64 = directory.tiles.iter().flat_map(parts).sum();
        (directory.chunks.len() as u64 + 1 + begins) * 8
    }

    /// Where the parts of a chunk begin, but the first.
    fn begins(&self, chunk: &GridChunk) -> &[AtomicU64] {
        match self.before[chunk.number.min(self.before.len())..] {
            [first, end, ..] => &self.begins[first as usize..end as usize],
            _ => &[],
        }
    }

    /// Hands the edges of a chunk to `visit`: the source within the segment, the destination within
    /// the interval, and how many edges were before. Notes where its parts begin if it is whole.
    #[inline(always)]
    pub fn for_each(
        &self,
        chunk: &GridChunk,
        block: &EdgeBlock,
        mut visit: impl FnMut(usize, usize, usize),
    ) {
        let mut begins = self.begins(chunk).iter().filter(|_| chunk.is_whole());
        let mut edges = 0;
        block.parts(PART, |part| {
            let place = part.for_each(|source, target| {
                visit(source, target, edges);
                edges += 1;
            });
            if let Some(begin) = begins.next() {
                let place = place & ((1 << PLACE_BITS) - 1);
                begin.store(KNOWN | (edges as u64) << PLACE_BITS | place, Relaxed);
            }
            place
        });
    }

    /// The parts of a chunk of whose first and last source `sends` says that some are active; those
    /// with at most `gap` bytes between them together. All of it, as long as its parts are not
    /// known.
    pub fn active(
        &self,
        chunk: GridChunk,
        sends: impl Fn(u64, u64) -> bool,
        gap: u64,
    ) -> Vec<GridChunk> {
        let begins = self.begins(&chunk).iter().map(|begin| begin.load(Relaxed));
        let begins: Vec<u64> = begins.take_while(|begin| begin & KNOWN != 0).collect();
        if begins.len() < self.begins(&chunk).len() || begins.is_empty() {
            return vec![chunk];
        }
        let (code, each) = (chunk.code, chunk.code.bytes(PART) as usize);
        let first = ([chunk.sources.0 - chunk.segment, 0], chunk.edges.0);
        let begun = begins.iter().map(|begin| {
            let edges = (begin & !KNOWN) >> PLACE_BITS;
            (code.ends(begin & ((1 << PLACE_BITS) - 1)), chunk.edges.0 + edges)
        });
        let last = ([chunk.sources.1 - chunk.segment, 0], chunk.edges.1);
        let bounds: Vec<_> = [first].into_iter().chain(begun).chain([last]).collect();
        let mut active: Vec<GridChunk> = Vec::new();
        for (bound, before) in bounds.windows(2).zip((0..).step_by(each)) {
            let ([source, target], edge) = bound[0];
            // The next part counts from this one's last source.
            let sources = (chunk.segment + source, chunk.segment + bound[1].0[0]);
            if !sends(sources.0, sources.1) {
                continue;
            }
            let end = (before + each).min(chunk.len);
            match active.last_mut() {
                Some(run) if (before - run.within.0 - run.len) as u64 <= gap => {
                    (run.sources.1, run.edges.1) = (sources.1, bound[1].1);
                    run.len = end - run.within.0;
                }
                _ => active.push(GridChunk {
                    sources,
                    edges: (edge, bound[1].1),
                    offset: chunk.offset + before as u64,
                    len: end - before,
                    within: (before, chunk.len),
                    target,
                    ..chunk
                }),
            }
        }
        active
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;
    use crate::format::{Chunk, GridIndex, WordCode, WordKind};

    /// A tile of so many words, about one in a hundred of which skips, and what its only chunk
    /// reads.
    fn tile(code: WordCode, count: u64, seed: u64) -> (GridIndex, Vec<u8>) {
        let mut state = seed;
        let mut random = |below: u64| {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            (state >> 33) % below
        };
        let skip = u64::from(WordCode::first_skip(code.bits));
        let mut bytes = vec![0; code.bytes(count) as usize + 8];
        for at in 0..count {
            // Most gaps are short, so that several edges have one source.
            let word = if random(100) == 0 { skip } else { random(skip.min(90)) };
            for bit in (0..u64::from(code.bits)).filter(|bit| word >> bit & 1 == 1) {
                let place = at * u64::from(code.bits) + bit;
                bytes[(place / 8) as usize] |= 1 << (place % 8);
            }
        }
        bytes.truncate(code.bytes(count) as usize);
        let empty =
            Tile { segment: 0, interval: 0, offset: 0, packed: 0, first_edge: 70, first_chunk: 0 };
        let directory = GridDirectory {
            intervals: vec![0, 1 << code.low_bits],
            tiles: vec![empty.with_words(count, code)],
            chunks: vec![Chunk { source: 3, edge: 0 }],
        };
        (GridIndex::new(Arc::new(directory), 1 << 22, 0), bytes)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]

        /// The parts that are read have every edge of an active source, in their order and with
        /// their numbers, and no pages that are between others.
        #[test]
        fn parts_have_the_edges_of_active_sources(
            bits in prop::sample::select(WordCode::LENGTHS.to_vec()),
            low_bits in 0u32..9,
            count in 1u64..60_000,
            seed: u64,
            active in prop::collection::vec((0u64..100_000, 0u64..300), 1..4),
            gap in prop::sample::select(vec![0, 20 << 10, u64::MAX]),
        ) {
            let code = WordCode { bits, low_bits, kind: WordKind::Gaps };
            let (grid, bytes) = tile(code, count, seed);
            let index = SubBlockIndex::new(&grid.directory);
            let chunk = grid.chunks(0, |_| true)[0];
            let sends = |first: u64, last: u64| {
                active.iter().any(|&(from, len)| from <= last && first <= from + len)
            };
            let edges = |chunk: &GridChunk| {
                let words = &bytes[chunk.before()..][..chunk.len];
                let (mut all, block) = (Vec::new(), grid.block(chunk, words));
                index.for_each(chunk, &block, |source, target, at| {
                    all.push((chunk.edges.0 + at as u64, source, target));
                });
                all
            };
            let before = index.active(chunk, sends, gap);
            prop_assert!(before.len() == 1 && before[0].is_whole(), "nothing is known");
            let mut plain = Vec::new();
            grid.block(&chunk, &bytes).for_each(|source, target| plain.push((source, target)));
            let all = edges(&chunk);
            let ends = all.iter().map(|&(_, source, target)| (source, target));
            prop_assert_eq!(ends.collect::<Vec<_>>(), plain);
            let parts = index.active(chunk, sends, gap);
            let wanted = |mut all: Vec<(u64, usize, usize)>| {
                all.retain(|edge| sends(edge.1 as u64, edge.1 as u64));
                all
            };
            prop_assert_eq!(wanted(parts.iter().flat_map(edges).collect()), wanted(all));
            prop_assert!(parts.iter().all(|part| part.offset.is_multiple_of(4096)));
            let between = |pair: &[GridChunk]| pair[1].before() - pair[0].before() - pair[0].len;
            prop_assert!(parts.windows(2).all(|pair| between(pair) as u64 > gap));
            prop_assert!(index.active(chunk, |_, _| true, gap).iter().all(GridChunk::is_whole));
            prop_assert!(count <= PART || index.active(chunk, |_, _| false, gap).is_empty());
        }
    }
}
