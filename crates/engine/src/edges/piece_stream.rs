//! [`PieceStream`]: pieces of sections, such as chunks of the grid, on their way to one worker, in
//! the order in which it wants them. Of the first section, what a [`ChunkCache`] holds is not read.

use std::{collections::VecDeque, sync::atomic::Ordering::Relaxed};

use outercore_caches::{ChunkCache, Held};
use outercore_storage::{Buffer, Reader};

use crate::session::{OpenSection, Session};
use outercore_graph::{GraphError, Result, error, format::Piece};

/// Most pieces of a stream that were requested and not shown: those that a cache holds, and small
/// ones.
const MOST: usize = 32;

/// Pieces that are planned, and those that were requested.
pub struct PieceStream<'s, P> {
    session: &'s Session<'s>,
    sections: &'s [OpenSection],
    reader: &'s mut Reader,
    /// What need not be read.
    cache: Option<&'s dyn ChunkCache>,
    planned: VecDeque<P>,
    window: VecDeque<Slot<P>>,
    /// Pieces that were requested before those of the window: its first one's tag.
    shown: u64,
}

/// A piece that was requested.
struct Slot<P> {
    piece: P,
    bytes: Bytes,
}

enum Bytes {
    OnTheirWay,
    Read(Buffer),
    Held(Held),
}

impl<'s, P: Piece> PieceStream<'s, P> {
    /// Nothing planned yet.
    pub(crate) fn new(
        session: &'s Session<'s>,
        sections: &'s [OpenSection],
        reader: &'s mut Reader,
        cache: Option<&'s dyn ChunkCache>,
    ) -> Self {
        let (planned, window) = (VecDeque::new(), VecDeque::new());
        Self { session, sections, reader, cache, planned, window, shown: 0 }
    }

    /// Plans pieces that come after all others.
    pub(crate) fn plan(&mut self, pieces: impl IntoIterator<Item = P>) {
        self.planned.extend(pieces);
    }

    /// Shows all pieces that `more` plans. It is told whether nothing else is on its way, and
    /// `None` means that there is nothing, now or any more.
    pub(crate) fn run<C: IntoIterator<Item = P>>(
        &mut self,
        mut more: impl FnMut(bool) -> Option<C>,
        mut show: impl FnMut(P, &[u8]),
    ) -> Result<()> {
        loop {
            while self.request()? {
                let Some(pieces) = more(self.window.is_empty()) else { break };
                self.plan(pieces);
            }
            let shown = self.next(|piece, bytes| {
                show(piece, bytes);
                Ok(0)
            })?;
            if !shown {
                return Ok(());
            }
        }
    }

    /// What knows a piece by its number.
    fn cache(&self, piece: &P) -> Option<&'s dyn ChunkCache> {
        self.cache.filter(|_| piece.section() == 0)
    }

    /// Requests what is planned while there is room; `true`: there is room for more.
    pub(crate) fn request(&mut self) -> Result<bool> {
        while self.window.len() < MOST {
            let Some(piece) = self.planned.front() else { return Ok(true) };
            let cache = self.cache(piece);
            let held = cache.and_then(|cache| Some((cache, cache.get(piece.number())?)));
            let bytes = if let Some((cache, held)) = held {
                let saved = [1, piece.padded() as u64];
                self.session.counters.note(cache.kept(), saved);
                Bytes::Held(held)
            } else {
                let (offset, len) = piece.place();
                let Some(buffer) = self.reader.pool.take(piece.padded()) else { break };
                let tag = self.shown + self.window.len() as u64;
                let section = self.sections[piece.section()].queued();
                self.reader.submit(section, offset, piece.padded(), buffer, tag);
                self.session.counters.useful_bytes.fetch_add(len as u64, Relaxed);
                Bytes::OnTheirWay
            };
            let piece = self.planned.pop_front().expect("seen above");
            self.window.push_back(Slot { piece, bytes });
        }
        Ok(false)
    }

    /// Waits for the next piece, verifies it and shows its bytes; `false`: none was requested.
    /// `show` returns the piece's priority for the cache.
    pub(crate) fn next(&mut self, show: impl FnOnce(P, &[u8]) -> Result<u64>) -> Result<bool> {
        while matches!(self.window.front(), Some(Slot { bytes: Bytes::OnTheirWay, .. })) {
            let (window, shown) = (&mut self.window, self.shown);
            self.reader.reap(false, |tag, buffer, _| {
                window[(tag - shown) as usize].bytes = Bytes::Read(buffer);
            })?;
        }
        let Some(slot) = self.window.pop_front() else { return Ok(false) };
        self.shown += 1;
        let shown = self.show(slot.piece, &slot.bytes, show);
        if let Bytes::Read(buffer) = slot.bytes {
            self.reader.pool.give(buffer);
        }
        shown?;
        if self.session.stopped() { Err(GraphError::Cancelled) } else { Ok(true) }
    }

    fn show(
        &self,
        piece: P,
        bytes: &Bytes,
        show: impl FnOnce(P, &[u8]) -> Result<u64>,
    ) -> Result<()> {
        let (number, (offset, len)) = (piece.number(), piece.place());
        let (before, is_whole) = piece.part();
        let cache = self.cache(&piece).filter(|_| is_whole);
        let bytes: &[u8] = match bytes {
            Bytes::OnTheirWay => unreachable!("it has arrived"),
            Bytes::Held(bytes) => &bytes[before..],
            Bytes::Read(buffer) => {
                self.sections[piece.section()].verify(offset, &buffer[..piece.padded()])?;
                buffer
            }
        };
        let bytes = &bytes[..len];
        let priority = show(piece, bytes)?;
        if let Some(cache) = cache {
            cache.offer(number, priority, bytes);
        }
        Ok(())
    }

    /// After an error: takes back every buffer that the kernel may still write to, and has the
    /// others stop.
    pub(crate) fn abandon(&mut self) {
        self.session.stop.store(true, Relaxed);
        self.reader.drain();
        for slot in self.window.drain(..) {
            if let Bytes::Read(buffer) = slot.bytes {
                self.reader.pool.give(buffer);
            }
        }
    }
}

/// Has every worker do its part of the reading of a section, each with a state.
pub(crate) fn on_workers<P: Piece, S: Send>(
    session: &Session,
    section: &OpenSection,
    cache: Option<&dyn ChunkCache>,
    state: impl Fn(usize) -> S + Sync,
    work: impl Fn(&mut PieceStream<P>, &mut S) -> Result<()> + Sync,
) -> Result<Vec<S>> {
    let results = session.workers.map(|index| {
        let (mut state, mut reader) = (state(index), session.reader(index));
        let sections = std::slice::from_ref(section);
        let mut stream = PieceStream::new(session, sections, &mut reader, cache);
        let result = work(&mut stream, &mut state);
        if result.is_err() {
            stream.abandon();
        }
        result.map(|()| state)
    });
    session.check()?;
    error::all(results)
}
