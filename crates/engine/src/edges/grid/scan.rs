//! [`Grid`]: full scans of the grid, in one of two orders.
//!
//! - By segment of sources, with an inbox for every interval in memory. Each interval belongs to
//!   one worker at a time, and its tiles come in order: destinations need no atomics, and every sum
//!   has one order, whatever the threads or the device do.
//! - By interval, in the order of the disk: every edge once, with nothing kept.

use std::sync::{
    Condvar, Mutex, OnceLock,
    atomic::{AtomicUsize, Ordering::Relaxed},
};

use super::{
    chunk_stream::{ChunkCache, ChunkStream},
    edge_block::EdgeBlock,
    index::GridIndex,
};
use crate::{
    edges::cache::pinned_chunks::PinnedChunks,
    error::{self, EngineError, Result},
    iterate::io_scheduling::Scan,
    session::{OpenSection, Session},
};

/// The grid of a graph, ready to be scanned.
pub struct Grid {
    index: GridIndex,
    words: OpenSection,
    /// Tiles in the order of a scan by segment.
    order: OnceLock<Vec<u32>>,
    pinned: Option<PinnedChunks>,
    a_scan: Scan,
}

/// What the workers of one scan by segment share: which of them may take which tile, and the
/// destinations of each interval.
struct Schedule<'s, M> {
    grid: &'s Grid,
    state: Mutex<Tiles<'s, M>>,
    freed: Condvar,
}

struct Tiles<'s, M> {
    /// Everything before this position of the order is taken.
    first: usize,
    taken: Vec<bool>,
    /// Each interval's destinations; `None` while a worker has them.
    intervals: Vec<Option<&'s mut [M]>>,
    failed: bool,
}

/// An interval that a worker has, and how many chunks of it are still to come.
struct HeldInterval<'s, M> {
    interval: usize,
    inbox: &'s mut [M],
    chunks: u64,
}

impl Grid {
    /// Prepares scans; `words` is `grid.words`. Up to `cache` bytes of chunks will stay in memory.
    pub(crate) fn open(session: &Session, words: OpenSection, cache: u64) -> Result<Self> {
        let graph = session.graph;
        let index = GridIndex::new(graph.grid()?, graph.connected(), 0);
        let (order, a_scan) = (OnceLock::new(), Scan::default());
        let mut grid = Self { index, words, order, pinned: None, a_scan };
        if cache > 0 {
            let (index, huge) = (&grid.index, session.config.huge_pages.for_streams());
            let sizes = grid.order().iter().flat_map(|&tile| index.sizes(tile as usize));
            let count = index.directory.chunks.len();
            grid.pinned = PinnedChunks::choose(sizes, count, cache, huge)?;
        }
        grid.a_scan = grid.cost();
        Ok(grid)
    }

    /// Tiles in the order of a scan by segment.
    fn order(&self) -> &[u32] {
        let tiles = &self.index.directory.tiles;
        self.order.get_or_init(|| {
            let mut order: Vec<u32> = (0..tiles.len() as u32).collect();
            order.sort_by_key(|&tile| (tiles[tile as usize].segment, tile));
            order
        })
    }

    /// The bounds of the intervals.
    fn bounds(&self) -> &[u64] {
        &self.index.directory.intervals
    }

    /// What a scan looks at, and what it asks of the device once everything pinned has been read.
    pub(crate) fn a_scan(&self) -> Scan {
        self.a_scan
    }

    fn cost(&self) -> Scan {
        let mut scan = Scan { words: self.index.words(), ..Scan::default() };
        for (chunk, len) in
            (0..self.index.directory.tiles.len()).flat_map(|tile| self.index.sizes(tile))
        {
            if !self.pinned.as_ref().is_some_and(|pinned| pinned.has(chunk)) {
                scan.bytes += len;
                scan.requests += 1;
            }
        }
        scan
    }

    /// Scans all edges by segment. `inbox` holds a value for each vertex; `visit` gets a worker's
    /// state, the inbox of a block's interval, and the block.
    pub(crate) fn scan<M: Send, S: Send>(
        &self,
        session: &Session,
        inbox: &mut [M],
        state: impl Fn(usize) -> S + Sync,
        visit: impl Fn(&mut S, &mut [M], &EdgeBlock) + Sync,
    ) -> Result<Vec<S>> {
        let schedule = Schedule::new(self, inbox);
        self.on_workers(session, state, |stream, state| {
            let result = schedule.work(stream, |inbox, block| {
                session.counters.edges.fetch_add(block.words(), Relaxed);
                visit(state, inbox, block);
            });
            if result.is_err() {
                schedule.fail();
            }
            result
        })
    }

    /// Shows every chunk for which `wanted` says so of its sources (first and last) and its
    /// interval's vertices (first and last), in the order of the disk.
    pub(crate) fn for_each<S: Send>(
        &self,
        session: &Session,
        wanted: impl Fn((u64, u64), (u64, u64)) -> bool + Sync,
        state: impl Fn(usize) -> S + Sync,
        visit: impl Fn(&mut S, &EdgeBlock) + Sync,
    ) -> Result<Vec<S>> {
        let next = AtomicUsize::new(0);
        self.on_workers(session, state, |stream, state| {
            self.by_interval(stream, &next, &wanted, |block| {
                session.counters.edges.fetch_add(block.words(), Relaxed);
                visit(state, block);
            })
        })
    }

    /// All that one worker does of a scan by interval: the reads of the next interval are behind
    /// those of the one at hand.
    fn by_interval(
        &self,
        stream: &mut ChunkStream,
        next: &AtomicUsize,
        wanted: &impl Fn((u64, u64), (u64, u64)) -> bool,
        mut visit: impl FnMut(&EdgeBlock),
    ) -> Result<()> {
        loop {
            while stream.request()? {
                let interval = next.fetch_add(1, Relaxed);
                if interval >= self.index.intervals() {
                    break;
                }
                let range = self.index.vertices(interval);
                let targets = (range.start, range.end - 1);
                stream.plan(self.index.chunks(interval, |chunk| wanted(chunk.sources, targets)));
            }
            let shown = stream.next(|chunk, words| {
                visit(&self.index.block(chunk, words));
                Ok(0)
            })?;
            if !shown {
                return Ok(());
            }
        }
    }

    /// Has every worker do its part of a scan.
    fn on_workers<S: Send>(
        &self,
        session: &Session,
        state: impl Fn(usize) -> S + Sync,
        work: impl Fn(&mut ChunkStream, &mut S) -> Result<()> + Sync,
    ) -> Result<Vec<S>> {
        let cache = self.pinned.as_ref().map(|pinned| pinned as &dyn ChunkCache);
        let results = session.workers.map(|index| {
            let (mut state, mut reader) = (state(index), session.reader(index));
            let mut stream = ChunkStream::new(session, &self.words, &mut reader, cache);
            let result = work(&mut stream, &mut state);
            if result.is_err() {
                stream.abandon();
            }
            result.map(|()| state)
        });
        session.check()?;
        error::all(results)
    }
}

impl<'s, M> Schedule<'s, M> {
    fn new(grid: &'s Grid, inbox: &'s mut [M]) -> Self {
        let (mut intervals, mut rest) = (Vec::with_capacity(grid.index.intervals()), inbox);
        for bounds in grid.bounds().windows(2) {
            let (interval, after) = rest.split_at_mut((bounds[1] - bounds[0]) as usize);
            intervals.push(Some(interval));
            rest = after;
        }
        let taken = vec![false; grid.order().len()];
        let tiles = Tiles { first: 0, taken, intervals, failed: false };
        Self { grid, state: Mutex::new(tiles), freed: Condvar::new() }
    }

    /// All that one worker does.
    fn work(
        &self,
        stream: &mut ChunkStream,
        mut visit: impl FnMut(&mut [M], &EdgeBlock),
    ) -> Result<()> {
        let (index, mut held) = (&self.grid.index, Vec::new());
        loop {
            while stream.request()? {
                let Some(tile) = self.claim(&mut held, stream.is_empty())? else { break };
                stream.plan(index.tile(tile));
            }
            let mut at = 0;
            let shown = stream.next(|chunk, words| {
                at = held
                    .iter()
                    .position(|held| held.interval == chunk.interval)
                    .expect("a claimed tile's interval is held");
                visit(held[at].inbox, &index.block(chunk, words));
                Ok(0)
            })?;
            if !shown {
                return Ok(());
            }
            held[at].chunks -= 1;
            if held[at].chunks == 0 {
                self.release(held.swap_remove(at));
            }
        }
    }

    /// Takes the next tile whose interval is free, or is in `held` (its worker has the interval
    /// already). With `wait`, sleeps until there is one; `None`: nothing now, or with `wait`,
    /// nothing any more.
    fn claim(&self, held: &mut Vec<HeldInterval<'s, M>>, wait: bool) -> Result<Option<usize>> {
        let (order, all) = (self.grid.order(), &self.grid.index.directory.tiles);
        let mut tiles = self.state.lock().expect("no holder panics");
        loop {
            if tiles.failed {
                return Err(EngineError::Cancelled);
            }
            while tiles.first < order.len() && tiles.taken[tiles.first] {
                tiles.first += 1;
            }
            if tiles.first == order.len() {
                return Ok(None);
            }
            // Intervals whose earlier tile is still untaken cannot occur: an interval's tiles stand
            // in order, and a free interval's first untaken tile comes first.
            #[allow(clippy::needless_range_loop)]
            for position in tiles.first..order.len().min(tiles.first + 4096) {
                if tiles.taken[position] {
                    continue;
                }
                let tile = order[position] as usize;
                let (interval, chunks) = (all[tile].interval as usize, all[tile].chunks());
                if let Some(mine) = held.iter_mut().find(|held| held.interval == interval) {
                    mine.chunks += chunks;
                } else if let Some(inbox) = tiles.intervals[interval].take() {
                    held.push(HeldInterval { interval, inbox, chunks });
                } else {
                    continue;
                }
                tiles.taken[position] = true;
                return Ok(Some(tile));
            }
            if !wait {
                return Ok(None);
            }
            tiles = self.freed.wait(tiles).expect("no holder panics");
        }
    }

    /// Gives an interval back none of whose chunks is to come.
    fn release(&self, held: HeldInterval<'s, M>) {
        let mut tiles = self.state.lock().expect("no holder panics");
        tiles.intervals[held.interval] = Some(held.inbox);
        drop(tiles);
        self.freed.notify_all();
    }

    /// Lets the others go, after an error.
    fn fail(&self) {
        self.state.lock().expect("no holder panics").failed = true;
        self.freed.notify_all();
    }
}
