//! [`ChunkStream`]: chunks of the grid on their way to one worker, in the order in which it wants
//! them. What a [`ChunkCache`] holds is not read.

use std::{
    collections::VecDeque,
    ops::Deref,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use outercore_storage::{Buffer, Reader};

use super::index::Chunk;
use crate::session::{Counters, DEPTH, OpenSection, Session};
use outercore_graph::{GraphError, Result};

/// Chunks in memory, before the device.
pub trait ChunkCache: Send + Sync {
    /// Where its hits are counted.
    fn hits<'c>(&self, counters: &'c Counters) -> &'c AtomicU64;
    /// The words of a chunk, if they are here. They may be followed by others.
    fn get(&self, chunk: usize) -> Option<Held>;
    /// Offers the words of a chunk that was just shown; `priority` is what it is worth to have it
    /// in memory in the next pass.
    fn offer(&self, chunk: usize, priority: u64, words: &[u8]);
}

/// Words in memory, which are freed with the last handle.
pub type Held = Arc<dyn Deref<Target = [u8]> + Send + Sync>;

/// Chunks that are planned, and those that were requested.
pub struct ChunkStream<'s> {
    session: &'s Session<'s>,
    words: &'s OpenSection,
    reader: &'s mut Reader,
    /// What need not be read.
    cache: Option<&'s dyn ChunkCache>,
    planned: VecDeque<Chunk>,
    window: VecDeque<Slot>,
    /// Chunks that were requested before those of the window: its first one's tag.
    shown: u64,
}

/// A chunk that was requested.
struct Slot {
    chunk: Chunk,
    words: Words,
}

enum Words {
    OnTheirWay,
    Read(Buffer),
    Held(Held),
}

impl<'s> ChunkStream<'s> {
    /// Nothing planned yet; `words` is `grid.words`.
    pub(crate) fn new(
        session: &'s Session<'s>,
        words: &'s OpenSection,
        reader: &'s mut Reader,
        cache: Option<&'s dyn ChunkCache>,
    ) -> Self {
        let (planned, window) = (VecDeque::new(), VecDeque::new());
        Self { session, words, reader, cache, planned, window, shown: 0 }
    }

    /// Plans chunks that come after all others.
    pub(crate) fn plan(&mut self, chunks: impl IntoIterator<Item = Chunk>) {
        self.planned.extend(chunks);
    }

    /// Shows all chunks that `more` plans. It is told whether nothing else is on its way, and
    /// `None` means that there is nothing, now or any more.
    pub(crate) fn run<C: IntoIterator<Item = Chunk>>(
        &mut self,
        mut more: impl FnMut(bool) -> Option<C>,
        mut show: impl FnMut(&Chunk, &[u8]),
    ) -> Result<()> {
        loop {
            while self.request()? {
                let Some(chunks) = more(self.window.is_empty()) else { break };
                self.plan(chunks);
            }
            let shown = self.next(|chunk, words| {
                show(chunk, words);
                Ok(0)
            })?;
            if !shown {
                return Ok(());
            }
        }
    }

    /// Requests what is planned while there is room; `true`: there is room for more.
    pub(crate) fn request(&mut self) -> Result<bool> {
        while self.window.len() < 2 * DEPTH && !self.reader.free.is_empty() {
            let Some(chunk) = self.planned.pop_front() else { return Ok(true) };
            let held = self.cache.and_then(|cache| Some((cache, cache.get(chunk.number)?)));
            let words = if let Some((cache, held)) = held {
                cache.hits(&self.session.counters).fetch_add(1, Relaxed);
                Words::Held(held)
            } else {
                let buffer = self.reader.free.pop_front().expect("checked above");
                let (offset, len) = (chunk.offset, chunk.padded());
                let tag = self.shown + self.window.len() as u64;
                self.reader.submit(self.words.queued(), offset, len, buffer, tag);
                self.session.counters.useful_bytes.fetch_add(chunk.len as u64, Relaxed);
                Words::OnTheirWay
            };
            self.window.push_back(Slot { chunk, words });
        }
        Ok(false)
    }

    /// Waits for the next chunk, verifies it and shows its words; `false`: none was requested.
    /// `show` returns the chunk's priority for the cache.
    pub(crate) fn next(&mut self, show: impl FnOnce(&Chunk, &[u8]) -> Result<u64>) -> Result<bool> {
        while matches!(self.window.front(), Some(Slot { words: Words::OnTheirWay, .. })) {
            let (window, shown) = (&mut self.window, self.shown);
            self.reader.reap(false, |tag, buffer, _| {
                window[(tag - shown) as usize].words = Words::Read(buffer);
            })?;
        }
        let Some(slot) = self.window.pop_front() else { return Ok(false) };
        self.shown += 1;
        let shown = self.show(&slot, show);
        if let Words::Read(buffer) = slot.words {
            self.reader.free.push_back(buffer);
        }
        shown?;
        if self.session.stopped() { Err(GraphError::Cancelled) } else { Ok(true) }
    }

    fn show(&self, slot: &Slot, show: impl FnOnce(&Chunk, &[u8]) -> Result<u64>) -> Result<()> {
        let chunk = &slot.chunk;
        let words: &[u8] = match &slot.words {
            Words::OnTheirWay => unreachable!("it has arrived"),
            Words::Held(words) => words,
            Words::Read(buffer) => {
                self.words.verify(chunk.offset, &buffer[..chunk.padded()])?;
                buffer
            }
        };
        let words = &words[..chunk.len];
        let priority = show(chunk, words)?;
        if let Some(cache) = self.cache {
            cache.offer(chunk.number, priority, words);
        }
        Ok(())
    }

    /// After an error: takes back every buffer that the kernel may still write to, and has the
    /// others stop.
    pub(crate) fn abandon(&mut self) {
        self.session.stop.store(true, Relaxed);
        let mut back = Vec::new();
        self.reader.drain(|buffer| back.push(buffer));
        self.reader.free.extend(back);
        for slot in self.window.drain(..) {
            if let Words::Read(buffer) = slot.words {
                self.reader.free.push_back(buffer);
            }
        }
    }
}
