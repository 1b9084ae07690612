//! [`ChunkScan`]: the chunks of the grid that are wanted, in the order of the disk, on all workers,
//! with nothing kept.

use std::{
    collections::VecDeque,
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};

use outercore_graph::Graph;

use super::{columns::Columns, stream::ChunkStream};
use crate::{
    edges::piece::Piece,
    error::{self, Result},
    session::{OpenSection, Session},
};

/// The grid of a graph, to be scanned chunk by chunk.
pub struct ChunkScan {
    words: OpenSection,
    columns: Columns,
}

/// What a scan shows: the edges of one chunk.
pub struct Seen<'a> {
    /// The first vertex of the interval that the edges lead into.
    pub interval: u64,
    /// The edges.
    pub piece: Piece<'a>,
}

impl ChunkScan {
    /// Prepares scans; `words` is `grid.words`, opened.
    pub fn new(graph: &Graph, words: OpenSection) -> Result<Self> {
        Ok(Self { words, columns: Columns::new(graph.grid()?, graph.connected(), 0) })
    }

    /// The bounds of the intervals.
    pub fn bounds(&self) -> &[u64] {
        &self.columns.directory.intervals
    }

    /// Shows every chunk for which `wanted` says so of its sources (first and last) and its
    /// interval's vertices (first and last).
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
            let mut stream = ChunkStream::new(session, &self.words, &mut reader, None);
            let result = self.work(&mut stream, &next, &wanted, &mut |seen| {
                session.counters.edges.fetch_add(seen.piece.words(), Relaxed);
                visit(&mut state, seen)
            });
            if result.is_err() {
                stream.abandon();
            }
            result.map(|()| state)
        });
        session.check()?;
        error::all(results)
    }

    /// All that one worker does: interval after interval, the reads of the next one behind those of the
    /// one at hand.
    fn work(
        &self,
        stream: &mut ChunkStream,
        next: &AtomicUsize,
        wanted: &impl Fn((u64, u64), (u64, u64)) -> bool,
        visit: &mut impl FnMut(Seen) -> Result<()>,
    ) -> Result<()> {
        // The first vertex of each chunk's interval, in the order of the chunks.
        let mut intervals = VecDeque::new();
        loop {
            while stream.ask()? {
                let index = next.fetch_add(1, Relaxed);
                if index >= self.columns.intervals() {
                    break;
                }
                let range = self.columns.vertices(index);
                let chunks = self
                    .columns
                    .chunks(index, |chunk| wanted(chunk.sources, (range.start, range.end - 1)));
                intervals.extend(std::iter::repeat_n(range.start, chunks.len()));
                stream.want(chunks);
            }
            let shown = stream.next(|chunk, words| {
                let interval = intervals.pop_front().expect("every chunk has a interval");
                visit(Seen { interval, piece: self.columns.piece(chunk, words) }).map(|()| 0)
            })?;
            if !shown {
                return Ok(());
            }
        }
    }
}
