//! [`Grid`]: full scans of the grid, in one of two orders.
//!
//! - By segment of sources, with an inbox for every interval in memory. Each interval belongs to
//!   one worker at a time, and its tiles come in order: destinations need no atomics, and every sum
//!   has one order, whatever the threads or the device do.
//! - By interval, some of them by turns: every edge once, with nothing kept. What the first chunks
//!   of an interval bring about may spare its later ones.

use std::{
    cell::RefCell,
    collections::VecDeque,
    sync::{
        OnceLock,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

use outercore_caches::{ChunkCache, PinnedChunks};
use outercore_storage::{Monitor, device::Streamed};

use crate::{
    edges::piece_stream::on_workers,
    session::{OpenSection, Session},
};
use outercore_graph::{
    Result,
    format::{EdgeBlock, GridChunk, GridIndex},
};

/// The grid of a graph, ready to be scanned.
pub struct Grid {
    index: GridIndex,
    words: OpenSection,
    /// Tiles in the order of a scan by segment.
    order: OnceLock<Vec<u32>>,
    pinned: Option<PinnedChunks>,
    /// What a scan looks at, and what it asks of the device once everything pinned has been read.
    pub a_scan: Streamed,
}

/// What the workers of one scan by segment share: which of them may take which tile, and the
/// destinations of each interval.
struct Schedule<'s, M> {
    grid: &'s Grid,
    workers: u64,
    tiles: Monitor<Tiles<'s, M>>,
}

struct Tiles<'s, M> {
    /// Those that no worker has taken, in the order of the scan.
    rest: VecDeque<u32>,
    /// Each interval's destinations; `None` while a worker has them.
    intervals: Vec<Option<&'s mut [M]>>,
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
        let a_scan = Streamed { items: index.directory.words(), ..Streamed::default() };
        let mut grid = Self { index, words, order: OnceLock::new(), pinned: None, a_scan };
        if cache > 0 {
            let (index, huge) = (&grid.index, session.config.huge_pages.for_streams());
            let sizes = grid.order().iter().flat_map(|&tile| index.directory.sizes(tile as usize));
            grid.pinned = PinnedChunks::choose(&[sizes.collect()], cache, huge)?;
        }
        let is_pinned = |chunk| grid.pinned.as_ref().is_some_and(|pinned| pinned.has(chunk));
        for (_, len) in grid.index.directory.all_sizes().filter(|&(chunk, _)| !is_pinned(chunk)) {
            grid.a_scan.bytes += len;
            grid.a_scan.requests += 1;
        }
        Ok(grid)
    }

    /// Tiles in the order of a scan by segment.
    fn order(&self) -> &[u32] {
        let tiles = &self.index.directory.tiles;
        self.order.get_or_init(|| {
            let mut order = Vec::from_iter(0..tiles.len() as u32);
            order.sort_by_key(|&tile| (tiles[tile as usize].segment, tile));
            order
        })
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
        let schedule = Schedule::new(self, session.workers.count() as u64, inbox);
        on_workers(session, &self.words, self.cache(), state, |stream, state| {
            let held = RefCell::new(Vec::<HeldInterval<M>>::new());
            let more = |wait| {
                let tile = schedule.claim(&mut held.borrow_mut(), wait)?;
                Some(self.index.tile(tile))
            };
            let show = |chunk: GridChunk, words: &[u8]| {
                let mut held = held.borrow_mut();
                let at =
                    held.iter().position(|held| held.interval == chunk.interval).expect("held");
                visit(state, held[at].inbox, &self.block(session, &chunk, words));
                held[at].chunks -= 1;
                if held[at].chunks == 0 {
                    let done = held.swap_remove(at);
                    schedule
                        .tiles
                        .change(|tiles| tiles.intervals[done.interval] = Some(done.inbox));
                }
            };
            schedule.tiles.attend(|| stream.run(more, show))
        })
    }

    /// Shows every chunk for which `wanted` says so of its sources (first and last) and its
    /// interval's vertices (first and last), just before it is read. An interval's come to one
    /// worker, in the order of their sources.
    pub(crate) fn for_each<S: Send>(
        &self,
        session: &Session,
        wanted: impl Fn((u64, u64), (u64, u64)) -> bool + Sync,
        state: impl Fn(usize) -> S + Sync,
        visit: impl Fn(&mut S, &EdgeBlock) + Sync,
    ) -> Result<Vec<S>> {
        let (next, index) = (AtomicUsize::new(0), &self.index);
        let turns = index.turns(session.workers.count());
        on_workers(session, &self.words, self.cache(), state, |stream, state| {
            let mut chunks = vec![].into_iter();
            let more = |_| loop {
                let wanted = |chunk: &GridChunk| wanted(chunk.sources, index.targets(chunk));
                if let Some(chunk) = chunks.find(wanted) {
                    return Some([chunk]);
                }
                chunks = index.by_turns(next.fetch_add(turns, Relaxed), turns)?.into_iter();
            };
            stream.run(more, |chunk, words| visit(state, &self.block(session, &chunk, words)))
        })
    }

    /// The edges of a chunk, which are counted.
    fn block<'w>(&self, session: &Session, chunk: &GridChunk, words: &'w [u8]) -> EdgeBlock<'w> {
        let block = self.index.block(chunk, words);
        session.workers.worked(block.words());
        block
    }

    /// What is not read.
    fn cache(&self) -> Option<&dyn ChunkCache> {
        self.pinned.as_ref().map(|kept| kept as _)
    }
}

impl<'s, M> Schedule<'s, M> {
    fn new(grid: &'s Grid, workers: u64, mut inbox: &'s mut [M]) -> Self {
        let of = |bounds: &[u64]| inbox.split_off_mut(..(bounds[1] - bounds[0]) as usize);
        let intervals: Vec<_> = grid.index.directory.intervals.windows(2).map(of).collect();
        assert!(intervals.iter().all(Option::is_some), "the inbox has a value for each vertex");
        let rest = grid.order().to_vec().into();
        Self { grid, workers, tiles: Monitor::new(Tiles { rest, intervals }) }
    }

    /// Takes the next tile whose interval is free, or is in `held` (its worker has the interval
    /// already). With `wait`, sleeps until there is one; `None`: nothing now, or with `wait`,
    /// nothing any more. The last tiles are shared out: none is on its way to one worker while
    /// another has nothing to do.
    fn claim(&self, held: &mut Vec<HeldInterval<'s, M>>, wait: bool) -> Option<usize> {
        let all = &self.grid.index.directory.tiles;
        let coming: u64 = held.iter().map(|held| held.chunks).sum();
        self.tiles
            .wait(|Tiles { rest, intervals }| {
                if coming * self.workers > rest.len() as u64 {
                    return Some(None);
                }
                // Intervals whose earlier tile is still untaken cannot occur: an interval's tiles
                // stand in order, and a free interval's first untaken tile comes first.
                for at in 0..rest.len().min(4096) {
                    let tile = rest[at] as usize;
                    let (interval, chunks) = (all[tile].interval as usize, all[tile].chunks());
                    if let Some(mine) = held.iter_mut().find(|held| held.interval == interval) {
                        mine.chunks += chunks;
                    } else if let Some(inbox) = intervals[interval].take() {
                        held.push(HeldInterval { interval, inbox, chunks });
                    } else {
                        continue;
                    }
                    rest.remove(at);
                    return Some(Some(tile));
                }
                (!wait || rest.is_empty()).then_some(None)
            })
            .flatten()
    }
}
