//! [`GridIndex`]: the grid, interval by interval, and what each chunk may serve.
//!
//! Intervals are updated in order, up or down. When interval `j` is at hand, sources that were
//! updated well before it already have their next values: a chunk all of whose sources are such can
//! serve two rounds in the same reading (GraphSD, ICPP'22, Algorithm 3). "Well before" leaves a lag
//! of some intervals, the same for any number of workers, so that they need not wait for each other
//! and every sum has one order.

use std::{collections::VecDeque, ops::Range, sync::Arc};

use super::{CHUNK_BYTES, EdgeBlock, GridDirectory, GridWeights, Piece, SEGMENT_BITS, WordCode};

/// Most chunks that a worker takes by turns.
const MOST_BY_TURNS: usize = 1 << 11;

/// Where a chunk's sources lie, seen from its interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ChunkSide {
    /// All in intervals well before it.
    Before,
    /// Near it, on both sides, or beyond the hubs; or the interval does not cross.
    Near,
    /// All in intervals well after it.
    After,
}

/// A chunk of an interval, some of its parts in a row, or a piece of its weights.
#[derive(Clone, Copy, Debug)]
pub struct GridChunk {
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
    pub section: usize,
    /// First byte in that section.
    pub offset: u64,
    /// Bytes of words or weights.
    pub len: usize,
    /// Bytes of the chunk's words before these, and of all of its words.
    pub(super) within: (usize, usize),
    /// The destination in the interval to which the first gap is added.
    pub(super) target: u64,
    /// What the words are like.
    pub(super) code: WordCode,
    /// Where its sources lie.
    pub side: ChunkSide,
}

impl GridChunk {
    /// Words, skips included.
    pub fn words(&self) -> u64 {
        self.code.words(self.len as u64)
    }

    /// Whether it is a whole chunk.
    pub fn is_whole(&self) -> bool {
        self.len == self.within.1
    }

    /// Bytes of the chunk's words before these.
    pub fn before(&self) -> usize {
        self.within.0
    }
}

/// The grid's directory, by interval.
pub struct GridIndex {
    /// The directory.
    pub directory: Arc<GridDirectory>,
    /// How many vertices there are.
    pub vertices: u64,
    /// Vertices below this are hubs: both of their signals, this round's and the next one's,
    /// are in memory.
    hubs: u64,
    /// Chunks of the intervals before this one may serve two rounds.
    pub crossing: usize,
    /// The side whose chunks do so in every second pass; `None`: those of both sides, in turn.
    pub served: Option<ChunkSide>,
    /// The weights that are read along.
    pub weights: GridWeights,
}

impl GridIndex {
    /// Prepares the directory of a graph with `vertices` connected vertices.
    pub fn new(directory: Arc<GridDirectory>, vertices: u64, hubs: u64) -> Self {
        let crossing = usize::MAX;
        let weights = GridWeights::default();
        Self { directory, vertices, hubs, crossing, served: None, weights }
    }

    /// The same, with intervals that serve two rounds only as far as chunks before one save
    /// more bytes than its sums cost, which are so many for each vertex. Where only every second
    /// pass does, chunks after one may do so instead, if they save more: they lead to the hubs,
    /// which have fewer sums.
    pub fn crossing(self, sum: u64, in_turn: bool) -> Self {
        let saved = |side| {
            let saved = |interval| {
                let chunks = self.chunks(interval, |chunk| chunk.side == side);
                let vertices = self.directory.interval(interval as u32);
                let bytes: u64 = chunks.into_iter().map(|chunk| self.read(chunk)).sum();
                bytes as i64 - (sum * (vertices.end - vertices.start)) as i64
            };
            let saved: Vec<i64> = (0..self.intervals()).map(saved).collect();
            let crossing = saved.iter().rposition(|&saved| saved > 0).map_or(0, |last| last + 1);
            (saved[..crossing].iter().sum::<i64>(), crossing, side)
        };
        let before = saved(ChunkSide::Before);
        if in_turn {
            return Self { crossing: before.1, ..self };
        }
        let (_, crossing, served) = before.max(saved(ChunkSide::After));
        Self { crossing, served: Some(served), ..self }
    }

    /// Whether a chunk serves two rounds in some passes, and is not read in others.
    pub fn is_served(&self, chunk: &GridChunk) -> bool {
        chunk.side != ChunkSide::Near && self.served.is_none_or(|side| side == chunk.side)
    }

    /// The same with these weights, which are read along.
    pub fn weighing(self, weights: GridWeights) -> Self {
        Self { weights, ..self }
    }

    /// What is read of a chunk: its weights, and then its words.
    pub fn pieces(&self, chunk: GridChunk) -> impl Iterator<Item = GridChunk> + use<> {
        let weights = self.weights.pieces(chunk.edges);
        weights
            .map(move |(offset, len)| GridChunk { section: 1, offset, len, ..chunk })
            .chain([chunk])
    }

    /// Bytes that are read for a chunk.
    pub fn read(&self, chunk: GridChunk) -> u64 {
        self.pieces(chunk).map(|piece| piece.padded() as u64).sum()
    }

    /// Batches of intervals, now from one end and now from the other, so that bytes of the sides
    /// that are read and vertices run out together.
    pub fn mixed(
        &self,
        batches: Vec<Range<usize>>,
        reads: impl Fn(ChunkSide) -> bool,
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
    pub fn intervals(&self) -> usize {
        self.directory.intervals.len() - 1
    }

    /// The chunks of interval `index` in the order of their sides, within a side in that of their
    /// sources.
    pub fn chunks(&self, index: usize, wanted: impl Fn(&GridChunk) -> bool) -> Vec<GridChunk> {
        let tiles = &self.directory.tiles;
        let first = |interval| tiles.partition_point(|tile| (tile.interval as usize) < interval);
        let tiles = (first(index)..first(index + 1)).flat_map(|tile| self.tile(tile));
        let mut all: Vec<_> = tiles.filter(wanted).collect();
        all.sort_by_key(|chunk| chunk.side);
        all
    }

    /// Of how many intervals a worker takes the chunks by turns: of more than it has chunks on
    /// their way, but not of so many that none are left for others, or that the chunks take more
    /// than a few hundred KiB.
    pub fn turns(&self, workers: usize) -> usize {
        let each = self.directory.chunks.len().div_ceil(self.intervals().max(1));
        let shared = self.intervals().div_ceil(4 * workers);
        (MOST_BY_TURNS / each.max(1)).min(48).min(shared).max(1)
    }

    /// The chunks of `count` intervals from `first` on, by turns: the first ones of all of them,
    /// then the second ones, and so on; `None`: there are no such intervals.
    pub fn by_turns(&self, first: usize, count: usize) -> Option<Vec<GridChunk>> {
        let intervals = first..self.intervals().min(first + count);
        let of = |interval| self.chunks(interval, |_| true).into_iter().enumerate();
        let mut all: Vec<_> = intervals.clone().flat_map(of).collect();
        all.sort_by_key(|&(turn, _)| turn);
        (!intervals.is_empty()).then(|| all.into_iter().map(|(_, chunk)| chunk).collect())
    }

    /// The first and the last vertex of a chunk's interval.
    pub fn targets(&self, chunk: &GridChunk) -> (u64, u64) {
        let [first, end] = [0, 1].map(|next| self.directory.intervals[chunk.interval + next]);
        (first, end - 1)
    }

    /// GridChunk `index` of a tile.
    fn chunk(&self, number: usize, index: u64) -> GridChunk {
        let tiles = &self.directory.tiles;
        let tile = &tiles[number];
        let interval = tile.interval as usize;
        let (first, last) = self.directory.sources((number, index), self.vertices);
        let (offset, len) = tile.chunk_bytes(index);
        debug_assert!(len as u64 <= CHUNK_BYTES);
        GridChunk {
            number: (tile.first_chunk + index) as usize,
            interval,
            segment: u64::from(tile.segment) << SEGMENT_BITS,
            sources: (first, last),
            edges: self.directory.edges((number, index)),
            section: 0,
            offset,
            len,
            within: (0, len),
            target: 0,
            code: tile.code(),
            side: self.side(interval, first, last),
        }
    }

    /// The edges of a chunk, whose words are these.
    pub fn block<'a>(&self, chunk: &GridChunk, words: &'a [u8]) -> EdgeBlock<'a> {
        EdgeBlock::new(
            (chunk.segment, self.directory.intervals[chunk.interval]),
            (chunk.sources.0 - chunk.segment, chunk.sources.1 - chunk.segment),
            chunk.code,
            words,
        )
        .from_target(chunk.target)
    }

    /// Interval `index` may use next signals of the intervals well before it, and of those well
    /// after it: these must have been updated before.
    fn side(&self, index: usize, first: u64, last: u64) -> ChunkSide {
        let (bounds, lag) = (&self.directory.intervals, self.directory.lag());
        let after = (index + 1 + lag).min(self.intervals());
        if last >= self.hubs || index >= self.crossing {
            ChunkSide::Near
        } else if last < bounds[index.saturating_sub(lag)] {
            ChunkSide::Before
        } else if first >= bounds[after] {
            ChunkSide::After
        } else {
            ChunkSide::Near
        }
    }

    /// The chunks of a tile.
    pub fn tile(&self, number: usize) -> impl Iterator<Item = GridChunk> {
        let chunks = 0..self.directory.tiles[number].chunks();
        chunks.map(move |chunk| self.chunk(number, chunk))
    }

    /// Padded bytes of all chunks, and those of their weights.
    pub fn bytes(&self) -> u64 {
        self.weights.bytes() + self.directory.all_sizes().map(|(_, len)| len).sum::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use crate::format::{Chunk as ChunkEntry, Tile, WordKind};

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
            index.mixed(index.directory.batches(1), |side| side == ChunkSide::After).len(),
            6,
            "intervals of which nothing is read are there too"
        );
        assert_eq!(
            [0, 9, 10, 419, 1019].map(|vertex| index.directory.interval_of(vertex)),
            [0, 0, 1, 3, 5]
        );
    }

    /// Intervals with these bounds, each of which has a tile of 100 edges from the first source on,
    /// and one from source `second` on.
    fn two_tiles_each(intervals: Vec<u64>, second: u64) -> Arc<GridDirectory> {
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
        let count = 2 * (intervals.len() as u32 - 1);
        let chunk = |at: u32| ChunkEntry { source: u64::from(at % 2) * second, edge: 0 };
        let (tiles, chunks) = ((0..count).map(tile).collect(), (0..count).map(chunk).collect());
        Arc::new(GridDirectory { intervals, tiles, chunks })
    }

    #[test]
    fn chunks_come_by_turns() {
        let index = GridIndex::new(two_tiles_each(vec![0, 10, 20, 30, 1030, 2030], 10), 2030, 0);
        let turns = |first| {
            let chunks = index.by_turns(first, 3)?.into_iter();
            Some(chunks.map(|chunk| (index.targets(&chunk), chunk.sources.0)).collect::<Vec<_>>())
        };
        let first = [(10, 19), (20, 29), (30, 1029)].map(|targets| (targets, 0));
        let second = first.map(|(targets, _)| (targets, 10));
        assert_eq!(turns(1), Some([first, second].concat()));
        assert_eq!(turns(4), Some(vec![((1030, 2029), 0), ((1030, 2029), 10)]), "the last one");
        assert_eq!(turns(5), None);
        assert_eq!([1, 2, 9].map(|workers| index.turns(workers)), [2, 1, 1]);
    }

    #[test]
    fn intervals_serve_two_rounds_as_far_as_that_saves_bytes() {
        let directory = two_tiles_each(vec![0, 10, 20, 30, 1030, 2030], 10);
        for (sum, crossing) in [(0, 5), (4, 5), (8, 3), (1000, 0)] {
            let index = GridIndex::new(Arc::clone(&directory), 2030, 2030).crossing(sum, true);
            assert_eq!(index.crossing, crossing, "a page for 10 vertices, and for 1000; {sum}");
            let sides = [2, 3].map(|interval| index.chunks(interval, |_| true)[0].side);
            let expected =
                |interval| if interval < crossing { ChunkSide::Before } else { ChunkSide::Near };
            assert_eq!(sides, [expected(2), expected(3)]);
        }
    }

    #[test]
    fn chunks_after_an_interval_serve_where_they_save_more() {
        let directory = two_tiles_each(vec![0, 10, 20, 1020, 2020], 20);
        let index =
            |sum, in_turn| GridIndex::new(directory.clone(), 2020, 2020).crossing(sum, in_turn);
        let turns = |index: &GridIndex| (index.crossing, index.served);
        // A page each: from after the first interval to its 10 vertices, from before the last one
        // to its 1000.
        assert_eq!(turns(&index(8, false)), (1, Some(ChunkSide::After)));
        assert_eq!(turns(&index(8, true)), (0, None));
        assert_eq!(turns(&index(1, true)), (4, None));
        let is_served = |index: &GridIndex| {
            (0..4).map(|at| index.chunks(at, |chunk| index.is_served(chunk)).len()).collect()
        };
        let served: [Vec<usize>; 2] = [is_served(&index(8, false)), is_served(&index(1, true))];
        assert_eq!(served, [[1, 0, 0, 0], [1, 0, 0, 1]]);
    }
}
