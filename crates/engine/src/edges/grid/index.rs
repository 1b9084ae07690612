//! [`GridIndex`]: the grid, interval by interval, and what each chunk may serve.
//!
//! Intervals are updated in order, up or down. When interval `j` is at hand, sources that were
//! updated well before it already have their next values: a chunk all of whose sources are such can
//! serve the next iteration in the same reading (GraphSD, ICPP'22, Algorithm 3). "Well before"
//! leaves a lag of some intervals, the same for any number of workers, so that they need not wait
//! for each other and every sum has one order.

use std::{collections::VecDeque, ops::Range, sync::Arc};

use outercore_graph::format::{
    CHUNK_BYTES, EdgeBlock, GridDirectory, GridWeights, SEGMENT_BITS, WordCode,
};

use crate::edges::piece_stream::Piece;

/// Where a chunk's sources lie, seen from its interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// All in intervals well before it.
    Before,
    /// Near it, on both sides, or beyond the hubs; or the interval does not cross.
    Near,
    /// All in intervals well after it.
    After,
}

/// A chunk of an interval, or a piece of its weights.
#[derive(Clone, Copy, Debug)]
pub struct Chunk {
    /// Its number in the directory.
    pub number: usize,
    /// Its interval.
    pub interval: usize,
    /// The first vertex of its source segment.
    pub segment: u64,
    /// Its first and last source.
    pub sources: (u64, u64),
    /// The numbers of its first edge, and of the first behind it.
    pub edges: (u64, u64),
    /// 0: `grid.words`, 1: `grid.weights`.
    section: usize,
    /// First byte in that section.
    pub offset: u64,
    /// Bytes of words or weights.
    pub len: usize,
    /// What the words are like.
    code: WordCode,
    /// Where its sources lie.
    pub side: Side,
}

impl Piece for Chunk {
    fn number(&self) -> usize {
        self.number
    }

    fn section(&self) -> usize {
        self.section
    }

    fn place(&self) -> (u64, usize) {
        (self.offset, self.len)
    }
}

impl Chunk {
    /// Words, skips included.
    pub(crate) fn words(&self) -> u64 {
        self.code.words(self.len as u64)
    }
}

/// The grid's directory, by interval.
pub struct GridIndex {
    /// The directory.
    pub directory: Arc<GridDirectory>,
    /// How many vertices there are.
    pub vertices: u64,
    /// Vertices below this are hubs: both of their signals, this iteration's and the next one's,
    /// are in memory.
    hubs: u64,
    /// Chunks of the intervals before this one may serve two iterations.
    pub(crate) crossing: usize,
    /// The weights that are read along.
    pub weights: GridWeights,
}

impl GridIndex {
    /// Prepares the directory of a graph with `vertices` connected vertices.
    pub(crate) fn new(directory: Arc<GridDirectory>, vertices: u64, hubs: u64) -> Self {
        let crossing = usize::MAX;
        Self { directory, vertices, hubs, crossing, weights: GridWeights::default() }
    }

    /// The same, with intervals that serve two iterations only as far as chunks before one save
    /// more bytes than its sums cost, which are so many for each vertex.
    pub(crate) fn crossing(self, sum: u64) -> Self {
        let saves = |interval: &usize| {
            let before = self.chunks(*interval, |chunk| chunk.side == Side::Before);
            let vertices = self.directory.interval(*interval as u32);
            let saved: u64 = before.into_iter().map(|chunk| self.read(chunk)).sum();
            saved > sum * (vertices.end - vertices.start)
        };
        let crossing = (0..self.intervals()).rfind(saves).map_or(0, |last| last + 1);
        Self { crossing, ..self }
    }

    /// The same with these weights, which are read along.
    pub(crate) fn weighing(self, weights: GridWeights) -> Self {
        Self { weights, ..self }
    }

    /// What is read of a chunk: its weights, and then its words.
    pub(crate) fn pieces(&self, chunk: Chunk) -> impl Iterator<Item = Chunk> + use<> {
        let weights = self.weights.pieces(chunk.edges);
        weights.map(move |(offset, len)| Chunk { section: 1, offset, len, ..chunk }).chain([chunk])
    }

    /// Bytes that are read for a chunk.
    pub(crate) fn read(&self, chunk: Chunk) -> u64 {
        self.pieces(chunk).map(|piece| piece.padded() as u64).sum()
    }

    /// Batches of intervals, now from one end and now from the other, so that bytes of the sides
    /// that are read and vertices run out together.
    pub(crate) fn mixed(
        &self,
        batches: Vec<Range<usize>>,
        reads: impl Fn(Side) -> bool,
    ) -> Vec<Range<usize>> {
        let bounds = &self.directory.intervals;
        let sized = |batch: Range<usize>| {
            let chunks = batch.clone().flat_map(|at| self.chunks(at, |chunk| reads(chunk.side)));
            let bytes = chunks.map(|chunk| chunk.len).sum::<usize>() as f64;
            (bytes, (bounds[batch.end] - bounds[batch.start]) as f64, batch)
        };
        let mut rest: VecDeque<_> = batches.into_iter().map(sized).collect();
        let all = rest.iter().fold((0.0, 0.0), |all, batch| (all.0 + batch.0, all.1 + batch.1));
        // How far bytes are ahead of vertices.
        let ahead = |batch: &(f64, f64, _)| batch.0 * all.1 - batch.1 * all.0;
        let (mut mixed, mut done) = (Vec::with_capacity(rest.len()), 0.0);
        while let (Some(front), Some(back)) = (rest.front(), rest.back()) {
            let from_front = (ahead(front) >= ahead(back)) == (done <= 0.0);
            let next = if from_front { rest.pop_front() } else { rest.pop_back() };
            let batch = next.expect("there are both ends");
            done += ahead(&batch);
            mixed.push(batch.2);
        }
        mixed
    }

    /// How many intervals there are.
    pub(crate) fn intervals(&self) -> usize {
        self.directory.intervals.len() - 1
    }

    /// The chunks of interval `index` in the order of their sides, within a side in that of their
    /// sources.
    pub(crate) fn chunks(&self, index: usize, wanted: impl Fn(&Chunk) -> bool) -> Vec<Chunk> {
        let tiles = &self.directory.tiles;
        let first = |interval| tiles.partition_point(|tile| (tile.interval as usize) < interval);
        let tiles = (first(index)..first(index + 1)).flat_map(|tile| self.tile(tile));
        let mut all: Vec<_> = tiles.filter(wanted).collect();
        all.sort_by_key(|chunk| chunk.side);
        all
    }

    /// Chunk `index` of a tile.
    fn chunk(&self, number: usize, index: u64) -> Chunk {
        let tiles = &self.directory.tiles;
        let tile = &tiles[number];
        let interval = tile.interval as usize;
        let (first, last) = self.directory.sources((number, index), self.vertices);
        let (offset, len) = tile.chunk_bytes(index);
        debug_assert!(len as u64 <= CHUNK_BYTES);
        Chunk {
            number: (tile.first_chunk + index) as usize,
            interval,
            segment: u64::from(tile.segment) << SEGMENT_BITS,
            sources: (first, last),
            edges: self.directory.edges((number, index)),
            section: 0,
            offset,
            len,
            code: tile.code(),
            side: self.side(interval, first, last),
        }
    }

    /// The edges of a chunk, whose words are these.
    pub(crate) fn block<'a>(&self, chunk: &Chunk, words: &'a [u8]) -> EdgeBlock<'a> {
        EdgeBlock::new(
            (chunk.segment, self.directory.intervals[chunk.interval]),
            (chunk.sources.0 - chunk.segment, chunk.sources.1 - chunk.segment),
            chunk.code,
            words,
        )
    }

    /// Interval `index` may use next signals of the intervals well before it, and of those well
    /// after it: these must have been updated before.
    fn side(&self, index: usize, first: u64, last: u64) -> Side {
        let (bounds, lag) = (&self.directory.intervals, self.directory.lag());
        let after = (index + 1 + lag).min(self.intervals());
        if last >= self.hubs || index >= self.crossing {
            Side::Near
        } else if last < bounds[index.saturating_sub(lag)] {
            Side::Before
        } else if first >= bounds[after] {
            Side::After
        } else {
            Side::Near
        }
    }

    /// The chunks of a tile.
    pub(crate) fn tile(&self, number: usize) -> impl Iterator<Item = Chunk> {
        let chunks = 0..self.directory.tiles[number].chunks();
        chunks.map(move |chunk| self.chunk(number, chunk))
    }

    /// Padded bytes of all chunks, and those of their weights.
    pub(crate) fn bytes(&self) -> u64 {
        self.weights.bytes() + self.directory.all_sizes().map(|(_, len)| len).sum::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use outercore_graph::format::{Chunk as ChunkEntry, Tile, WordKind};

    use super::*;

    #[test]
    fn edges_and_vertices_run_out_together() {
        let code = WordCode { bits: 8, low_bits: 10, kind: WordKind::Gaps };
        let tile = |interval: u32, words| {
            Tile {
                segment: 0,
                interval,
                offset: 0,
                packed: 0,
                first_edge: 0,
                first_chunk: interval.into(),
            }
            .with_words(words, code)
        };
        let words = [4000, 4000, 500, 100, 100, 100];
        let directory = GridDirectory {
            intervals: vec![0, 10, 20, 120, 420, 720, 1020],
            tiles: (0..).zip(words).map(|(interval, words)| tile(interval, words)).collect(),
            chunks: words.iter().map(|_| ChunkEntry { source: 0, edge: 0 }).collect(),
        };
        let index = GridIndex::new(Arc::new(directory), 1020, 1020);
        let order = |batches| {
            index.mixed(batches, |_| true).into_iter().map(|batch| batch.start).collect::<Vec<_>>()
        };
        let batches = index.directory.batches(1);
        assert_eq!(order(batches.clone()), [0, 5, 4, 1, 3, 2], "each from the end that is behind");
        assert_eq!(
            order(batches.into_iter().rev().collect()),
            [0, 5, 4, 1, 3, 2],
            "whichever end comes first"
        );
        assert_eq!(
            index.mixed(index.directory.batches(1), |side| side == Side::After).len(),
            6,
            "intervals of which nothing is read are there too"
        );
        assert_eq!(
            [0, 9, 10, 419, 1019].map(|vertex| index.directory.interval_of(vertex)),
            [0, 0, 1, 3, 5]
        );
    }

    #[test]
    fn intervals_serve_two_iterations_as_far_as_that_saves_bytes() {
        let code = WordCode { bits: 8, low_bits: 10, kind: WordKind::Gaps };
        let tile = |number: u32| {
            Tile {
                segment: 0,
                interval: number / 2,
                offset: 0,
                packed: 0,
                first_edge: 0,
                first_chunk: number.into(),
            }
            .with_words(100, code)
        };
        let directory = Arc::new(GridDirectory {
            intervals: vec![0, 10, 20, 30, 1030, 2030],
            tiles: (0..10).map(tile).collect(),
            chunks: (0..10).map(|at| ChunkEntry { source: at % 2 * 10, edge: 0 }).collect(),
        });
        for (sum, crossing) in [(0, 5), (4, 5), (8, 3), (1000, 0)] {
            let index = GridIndex::new(Arc::clone(&directory), 2030, 2030).crossing(sum);
            assert_eq!(index.crossing, crossing, "a page for 10 vertices, and for 1000; {sum}");
            let sides = [2, 3].map(|interval| index.chunks(interval, |_| true)[0].side);
            let expected = |interval| if interval < crossing { Side::Before } else { Side::Near };
            assert_eq!(sides, [expected(2), expected(3)]);
        }
    }
}
