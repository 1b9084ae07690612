//! [`Grid`]: full scans of the grid. Tiles are handed to workers in the order of segments, each
//! interval to one worker at a time, each interval's tiles in order: destinations need no atomics, and
//! every sum has one order, whatever the threads or the device do.
//!
//! Some chunks are pinned: they stay in memory after their first reading. They are spread evenly
//! over the scan, so that reading and computing overlap all along.

use std::{
    collections::VecDeque,
    sync::{Arc, Condvar, Mutex, OnceLock, atomic::Ordering::Relaxed},
};

use outercore_graph::format::{GridDirectory, SEGMENT_BITS, Tile};
use outercore_storage::{Arena, Buffer, PAGE};

use super::piece::{Piece, chunk_sources};
use crate::{
    costs::Scan,
    error::{self, EngineError, Result},
    session::{DEPTH, OpenSection, Reader, Session},
};

/// The grid of a graph, ready to be scanned.
pub struct Grid {
    directory: Arc<GridDirectory>,
    words: OpenSection,
    /// Tiles in the order of a scan.
    order: Vec<u32>,
    /// For each chunk its place in memory, once it was read, if it is to stay.
    pinned: Vec<OnceLock<Buffer>>,
    /// Where a pinned chunk lies in the arena; `u64::MAX`: not pinned.
    places: Vec<u64>,
    arena: Option<Arc<Arena>>,
}

/// What the workers of one scan share: who may take which tile, and the destinations of each
/// interval.
struct Schedule<'s, M> {
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

/// A tile that a worker has taken; consecutive tiles of one interval may follow each other in a
/// worker's window.
struct Claim {
    tile: u32,
    chunks: u64,
    next: u64,
}

/// A chunk on its way to a worker.
struct Slot {
    tile: u32,
    chunk: u64,
    last: bool,
    buffer: Option<Buffer>,
    pinned: bool,
    tag: u64,
}

impl Grid {
    /// Prepares scans; up to `cache` bytes of chunks will stay in memory.
    pub fn open(
        session: &Session,
        words: OpenSection,
        directory: Arc<GridDirectory>,
        cache: u64,
    ) -> Result<Self> {
        let mut order: Vec<u32> = (0..directory.tiles.len() as u32).collect();
        order.sort_by_key(|&tile| (directory.tiles[tile as usize].segment, tile));
        let mut grid = Self {
            pinned: (0..directory.chunks.len()).map(|_| OnceLock::new()).collect(),
            places: vec![u64::MAX; directory.chunks.len()],
            directory,
            words,
            order,
            arena: None,
        };
        grid.pin(session, cache)?;
        Ok(grid)
    }

    /// Bytes of a chunk on disk, whole pages.
    fn padded(tile: &Tile, chunk: u64) -> (u64, usize) {
        let (offset, len) = tile.chunk_bytes(chunk);
        (offset, len.next_multiple_of(PAGE))
    }

    /// Chooses the chunks that stay: an even share of every stretch of the scan.
    fn pin(&mut self, session: &Session, cache: u64) -> Result<()> {
        let total: u64 = self
            .directory
            .tiles
            .iter()
            .flat_map(|tile| (0..tile.chunks()).map(|chunk| Self::padded(tile, chunk).1 as u64))
            .sum();
        if total == 0 || cache < PAGE as u64 {
            return Ok(());
        }
        let share = (cache as f64 / total as f64).min(1.0);
        let (mut seen, mut used) = (0u64, 0u64);
        for &index in &self.order {
            let tile = &self.directory.tiles[index as usize];
            for chunk in 0..tile.chunks() {
                let len = Self::padded(tile, chunk).1 as u64;
                seen += len;
                if used + len <= cache
                    && (used + len) as f64 <= seen as f64 * share + len as f64 * 0.5
                {
                    self.places[(tile.first_chunk + chunk) as usize] = used;
                    used += len;
                }
            }
        }
        if used > 0 {
            self.arena = Some(Arena::new(used as usize, session.config.huge_pages.for_streams())?);
        }
        Ok(())
    }

    /// What a scan looks at, and what it asks of the device once everything pinned has been read.
    pub fn a_scan(&self) -> Scan {
        let mut scan = Scan::default();
        for tile in &self.directory.tiles {
            scan.words += tile.words();
            for chunk in (0..tile.chunks())
                .filter(|chunk| self.places[(tile.first_chunk + chunk) as usize] == u64::MAX)
            {
                scan.bytes += Self::padded(tile, chunk).1 as u64;
                scan.requests += 1;
            }
        }
        scan
    }

    /// Scans all edges. `inbox` holds a value for each vertex; `visit` gets a worker's state, the
    /// inbox of the piece's interval, the interval's first vertex, and the piece.
    pub fn scan<M: Send, S: Send>(
        &self,
        session: &Session,
        inbox: &mut [M],
        state: impl Fn(usize) -> S + Sync,
        visit: impl Fn(&mut S, &mut [M], u64, &Piece) + Sync,
    ) -> Result<Vec<S>> {
        let mut intervals = Vec::with_capacity(self.directory.intervals.len());
        let mut rest = inbox;
        for bounds in self.directory.intervals.windows(2) {
            let (interval, after) = rest.split_at_mut((bounds[1] - bounds[0]) as usize);
            intervals.push(Some(interval));
            rest = after;
        }
        let tiles =
            Tiles { first: 0, taken: vec![false; self.order.len()], intervals, failed: false };
        let schedule = Schedule { state: Mutex::new(tiles), freed: Condvar::new() };
        let results = session.workers.map(|index| {
            let mut state = state(index);
            let mut reader = session.reader(index);
            let mut worker = Worker {
                grid: self,
                session,
                schedule: &schedule,
                reader: &mut reader,
                window: VecDeque::new(),
                claim: None,
                held: Vec::new(),
                sequence: 0,
            };
            let result = worker.run(&mut state, &visit);
            if result.is_err() {
                worker.abandon();
            }
            result.map(|()| state)
        });
        session.check()?;
        error::all(results)
    }
}

impl<'s, M> Schedule<'s, M> {
    /// Takes the next tile whose interval is free, or one that `held` names (its worker has the
    /// interval already). With `wait`, sleeps until there is one; `None`: nothing now, or with
    /// `wait`, nothing any more.
    fn claim(&self, grid: &Grid, held: &mut Vec<Held<'s, M>>, wait: bool) -> Result<Option<u32>> {
        let mut tiles = self.state.lock().expect("no holder panics");
        loop {
            if tiles.failed {
                return Err(EngineError::Cancelled);
            }
            while tiles.first < grid.order.len() && tiles.taken[tiles.first] {
                tiles.first += 1;
            }
            if tiles.first == grid.order.len() {
                return Ok(None);
            }
            // Intervals whose earlier tile is still untaken cannot occur: a interval's tiles stand in
            // order, and a free interval's first untaken tile comes first.
            for position in tiles.first..grid.order.len().min(tiles.first + 4096) {
                if tiles.taken[position] {
                    continue;
                }
                let tile = grid.order[position];
                let interval = grid.directory.tiles[tile as usize].interval;
                if let Some(mine) = held.iter_mut().find(|held| held.interval == interval) {
                    mine.tiles += 1;
                    tiles.taken[position] = true;
                    return Ok(Some(tile));
                }
                if let Some(inbox) = tiles.intervals[interval as usize].take() {
                    held.push(Held { interval, inbox, tiles: 1 });
                    tiles.taken[position] = true;
                    return Ok(Some(tile));
                }
            }
            if !wait {
                return Ok(None);
            }
            tiles = self.freed.wait(tiles).expect("no holder panics");
        }
    }

    fn release(&self, interval: u32, inbox: &'s mut [M]) {
        self.state.lock().expect("no holder panics").intervals[interval as usize] = Some(inbox);
        self.freed.notify_all();
    }

    fn fail(&self) {
        self.state.lock().expect("no holder panics").failed = true;
        self.freed.notify_all();
    }
}

/// A interval that a worker has, and how many of its tiles are in the worker's window.
struct Held<'s, M> {
    interval: u32,
    inbox: &'s mut [M],
    tiles: u32,
}

struct Worker<'g, 's, 'r, M> {
    grid: &'g Grid,
    session: &'g Session<'g>,
    schedule: &'g Schedule<'s, M>,
    reader: &'r mut Reader,
    window: VecDeque<Slot>,
    claim: Option<Claim>,
    held: Vec<Held<'s, M>>,
    sequence: u64,
}

impl<M> Worker<'_, '_, '_, M> {
    fn run<S>(
        &mut self,
        state: &mut S,
        visit: &(impl Fn(&mut S, &mut [M], u64, &Piece) + Sync),
    ) -> Result<()> {
        loop {
            self.fill()?;
            let Some(mut slot) = self.window.pop_front() else { return Ok(()) };
            while slot.buffer.is_none() && !(slot.pinned && self.is_resident(&slot)) {
                self.reap(&mut slot)?;
            }
            self.process(&mut slot, state, visit)?;
            if self.session.stopped() {
                return Err(EngineError::Cancelled);
            }
        }
    }

    fn chunk_number(&self, slot: &Slot) -> usize {
        (self.grid.directory.tiles[slot.tile as usize].first_chunk + slot.chunk) as usize
    }

    fn is_resident(&self, slot: &Slot) -> bool {
        self.grid.pinned[self.chunk_number(slot)].get().is_some()
    }

    /// Keeps the window full: the chunk to be processed and the reads behind it.
    fn fill(&mut self) -> Result<()> {
        while self.window.len() < 2 * DEPTH
            && (self.window.is_empty() || !self.reader.free.is_empty())
        {
            let wait = self.window.is_empty();
            if self.claim.is_none() {
                let Some(tile) = self.schedule.claim(self.grid, &mut self.held, wait)? else {
                    return Ok(());
                };
                self.claim = Some(Claim {
                    tile,
                    chunks: self.grid.directory.tiles[tile as usize].chunks(),
                    next: 0,
                });
            }
            let claim = self.claim.as_mut().expect("just made");
            let (tile, chunk) = (claim.tile, claim.next);
            claim.next += 1;
            let last = claim.next == claim.chunks;
            if last {
                self.claim = None;
            }
            self.start(Slot {
                tile,
                chunk,
                last,
                buffer: None,
                pinned: false,
                tag: self.sequence,
            })?;
            self.sequence += 1;
        }
        Ok(())
    }

    /// Begins to read a chunk, unless it is in memory.
    fn start(&mut self, mut slot: Slot) -> Result<()> {
        let grid = self.grid;
        let number = self.chunk_number(&slot);
        slot.pinned = grid.places[number] != u64::MAX;
        if slot.pinned && self.is_resident(&slot) {
            self.session.counters.chunk_hits.fetch_add(1, Relaxed);
        } else {
            let (offset, len) = Grid::padded(&grid.directory.tiles[slot.tile as usize], slot.chunk);
            let buffer =
                self.reader.free.pop_front().expect("the window never holds more than the buffers");
            self.reader.submit(
                &self.session.counters,
                &grid.words,
                offset,
                len,
                buffer,
                slot.tag,
            )?;
            self.session.counters.useful_bytes.fetch_add(
                grid.directory.tiles[slot.tile as usize].chunk_bytes(slot.chunk).1 as u64,
                Relaxed,
            );
        }
        self.window.push_back(slot);
        Ok(())
    }

    /// Waits for completions and puts each buffer where its slot is; `front` is the slot that was
    /// taken off the window.
    fn reap(&mut self, front: &mut Slot) -> Result<()> {
        let window = &mut self.window;
        self.reader.reap(false, |tag, buffer, _| {
            let slot = if front.tag == tag {
                &mut *front
            } else {
                window.iter_mut().find(|slot| slot.tag == tag).expect("every read has a slot")
            };
            slot.buffer = Some(buffer);
        })
    }

    fn process<S>(
        &mut self,
        slot: &mut Slot,
        state: &mut S,
        visit: &(impl Fn(&mut S, &mut [M], u64, &Piece) + Sync),
    ) -> Result<()> {
        let grid = self.grid;
        let tile = &grid.directory.tiles[slot.tile as usize];
        let number = self.chunk_number(slot);
        let (offset, len) = tile.chunk_bytes(slot.chunk);
        let fresh = slot.buffer.take();
        if let Some(buffer) = &fresh {
            grid.words.verify(offset, &buffer[..len.next_multiple_of(PAGE)])?;
        }
        if let (Some(buffer), true, Some(arena)) = (&fresh, slot.pinned, &grid.arena) {
            // Copied, not read into: the device is fast into the buffers, whose memory is there, in
            // huge pages, and known to it.
            let mut kept = arena.buffer(grid.places[number] as usize, len.next_multiple_of(PAGE));
            kept.copy_from_slice(&buffer[..len.next_multiple_of(PAGE)]);
            // Each chunk belongs to one tile, and a tile to one worker: nobody else can have set
            // it.
            let _ = grid.pinned[number].set(kept);
        }
        let bytes =
            fresh.as_ref().or_else(|| grid.pinned[number].get()).ok_or(EngineError::Cancelled)?;
        let held = self
            .held
            .iter_mut()
            .find(|held| held.interval == tile.interval)
            .expect("a claimed tile's interval is held");
        let sources = chunk_sources(
            &grid.directory,
            slot.tile as usize,
            slot.chunk,
            self.session.graph.connected(),
        );
        let piece = Piece::new(
            u64::from(tile.segment) << SEGMENT_BITS,
            sources,
            tile.code(),
            &bytes[..len],
        );
        visit(state, held.inbox, grid.directory.intervals[tile.interval as usize], &piece);
        self.session.counters.edges.fetch_add(piece.words(), Relaxed);
        if let Some(buffer) = fresh {
            self.reader.free.push_back(buffer);
        }
        if slot.last {
            self.finish_tile(tile.interval);
        }
        Ok(())
    }

    /// Gives the interval back when none of its tiles is left in the window.
    fn finish_tile(&mut self, interval: u32) {
        let at = self
            .held
            .iter()
            .position(|held| held.interval == interval)
            .expect("a claimed tile's interval is held");
        self.held[at].tiles -= 1;
        if self.held[at].tiles == 0 {
            let held = self.held.swap_remove(at);
            self.schedule.release(held.interval, held.inbox);
        }
    }

    /// After an error: lets the others go, and takes back every buffer that the kernel may still
    /// write to.
    fn abandon(&mut self) {
        self.schedule.fail();
        self.session.stop.store(true, Relaxed);
        let mut buffers: Vec<Buffer> =
            self.window.drain(..).filter_map(|mut slot| slot.buffer.take()).collect();
        self.reader.drain(|buffer| buffers.push(buffer));
        self.reader.free.extend(buffers);
    }
}
