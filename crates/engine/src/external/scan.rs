//! [`ChunkScan`]: the chunks of the grid that are wanted, in the order of the disk, on all workers, with nothing kept.

use std::{
    collections::VecDeque,
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};

use outercore_graph::Graph;
use outercore_storage::Buffer;

use super::columns::{Chunk, Columns};
use crate::{
    edges::grid::Piece,
    error::{EngineError, Result},
    session::{DEPTH, OpenSection, Reader, Session},
};

/// The grid of a graph, to be scanned chunk by chunk.
pub struct ChunkScan {
    words: OpenSection,
    columns: Columns,
}

/// What a scan shows: the edges of one chunk.
pub struct Seen<'a> {
    /// The first vertex of the stripe that the edges lead into.
    pub stripe: u64,
    /// The edges.
    pub piece: Piece<'a>,
}

impl ChunkScan {
    /// Prepares scans; `words` is `grid.words`, opened.
    pub fn new(graph: &Graph, words: OpenSection) -> Result<Self> {
        Ok(Self { words, columns: Columns::new(graph.grid()?, graph.connected(), 0) })
    }

    /// The bounds of the stripes.
    pub fn bounds(&self) -> &[u64] {
        &self.columns.directory.stripes
    }

    /// Shows every chunk for which `wanted` says so of its sources (first and last) and its stripe's vertices (first and last).
    pub fn for_each<S: Send>(
        &self,
        session: &Session,
        wanted: impl Fn((u64, u64), (u64, u64)) -> bool + Sync,
        state: impl Fn(usize) -> S + Sync,
        visit: impl Fn(&mut S, Seen) -> Result<()> + Sync,
    ) -> Result<Vec<S>> {
        let next = AtomicUsize::new(0);
        let results = session.workers.map(|index| {
            let mut state = state(index);
            let mut reader = session.reader(index);
            let mut worker = Worker {
                scan: self,
                session,
                reader: &mut reader,
                next: &next,
                wanted: VecDeque::new(),
                window: VecDeque::new(),
                sequence: 0,
                edges: 0,
            };
            let result = worker.run(&wanted, &mut state, &visit);
            session.counters.edges.fetch_add(worker.edges, Relaxed);
            if result.is_err() {
                worker.abandon();
            }
            result.map(|()| state)
        });
        session.check()?;
        let (mut states, mut cancelled) = (Vec::new(), None);
        for result in results {
            match result {
                Ok(state) => states.push(state),
                Err(EngineError::Cancelled) => cancelled = Some(EngineError::Cancelled),
                Err(error) => return Err(error),
            }
        }
        cancelled.map_or(Ok(states), Err)
    }
}

struct Worker<'w> {
    scan: &'w ChunkScan,
    session: &'w Session<'w>,
    reader: &'w mut Reader,
    next: &'w AtomicUsize,
    /// Chunks of the stripes that this worker took, with the stripe's first vertex, not yet asked for.
    wanted: VecDeque<(u64, Chunk)>,
    window: VecDeque<Slot>,
    sequence: u64,
    edges: u64,
}

struct Slot {
    stripe: u64,
    chunk: Chunk,
    tag: u64,
    buffer: Option<Buffer>,
}

impl Worker<'_> {
    fn run<S>(
        &mut self,
        wanted: &(impl Fn((u64, u64), (u64, u64)) -> bool + Sync),
        state: &mut S,
        visit: &(impl Fn(&mut S, Seen) -> Result<()> + Sync),
    ) -> Result<()> {
        loop {
            self.fill(wanted)?;
            let Some(mut slot) = self.window.pop_front() else { return Ok(()) };
            while slot.buffer.is_none() {
                let window = &mut self.window;
                self.reader.reap(false, |tag, buffer, _| {
                    let slot = if slot.tag == tag {
                        &mut slot
                    } else {
                        window.iter_mut().find(|slot| slot.tag == tag).expect("every read has a slot")
                    };
                    slot.buffer = Some(buffer);
                })?;
            }
            let buffer = slot.buffer.take().expect("it has arrived");
            let result = self.scan.words.verify(slot.chunk.offset, &buffer[..slot.chunk.padded()]).and_then(|()| {
                let source = self.scan.columns.directory.chunks[slot.chunk.number].source;
                let piece = Piece::new(slot.chunk.segment, source, &buffer[..slot.chunk.len]);
                self.edges += piece.words();
                visit(state, Seen { stripe: slot.stripe, piece })
            });
            self.reader.free.push(buffer);
            result?;
            if self.session.stopped() {
                return Err(EngineError::Cancelled);
            }
        }
    }

    fn fill(&mut self, wanted: &impl Fn((u64, u64), (u64, u64)) -> bool) -> Result<()> {
        let counters = &self.session.counters;
        while self.window.len() < 2 * DEPTH && !self.reader.free.is_empty() {
            let Some((stripe, chunk)) = self.wanted.pop_front() else {
                let index = self.next.fetch_add(1, Relaxed);
                if index >= self.scan.columns.stripes() {
                    return Ok(());
                }
                let range = self.scan.columns.vertices(index);
                let chunks = self.scan.columns.chunks(index, |chunk| wanted(chunk.sources, (range.start, range.end - 1)));
                self.wanted.extend(chunks.into_iter().map(|chunk| (range.start, chunk)));
                continue;
            };
            let buffer = self.reader.free.pop().expect("checked above");
            self.reader.submit(counters, &self.scan.words, chunk.offset, chunk.padded(), buffer, self.sequence)?;
            counters.useful_bytes.fetch_add(chunk.len as u64, Relaxed);
            self.window.push_back(Slot { stripe, chunk, tag: self.sequence, buffer: None });
            self.sequence += 1;
        }
        Ok(())
    }

    /// After an error: takes back every buffer that the kernel may still write to.
    fn abandon(&mut self) {
        self.session.stop.store(true, Relaxed);
        let mut buffers: Vec<Buffer> = self.window.drain(..).filter_map(|mut slot| slot.buffer.take()).collect();
        self.reader.drain(|buffer| buffers.push(buffer));
        self.reader.free.extend(buffers);
    }
}
