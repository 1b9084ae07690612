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

use outercore_storage::Buffer;

use super::index::Chunk;
use crate::{
    error::{EngineError, Result},
    session::{Counters, DEPTH, OpenSection, Reader, Session},
};

/// Chunks in memory, before the device.
pub trait ChunkCache: Sync {
    /// The words of a chunk, if they are here. They may be followed by others.
    fn get(&self, chunk: usize) -> Option<Held<'_>>;
    /// Offers the words of a chunk that was just shown; `priority` is what it is worth to have it
    /// in memory in the next pass.
    fn offer(&self, chunk: usize, priority: u64, words: &[u8]);
    /// Where its hits are counted.
    fn hits<'c>(&self, counters: &'c Counters) -> &'c AtomicU64;
}

/// Words in memory.
pub enum Held<'c> {
    /// For as long as the cache lives.
    Pinned(&'c [u8]),
    /// The cache may drop its share.
    Shared(Arc<[u8]>),
}

impl Deref for Held<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Held::Pinned(words) => words,
            Held::Shared(words) => words,
        }
    }
}

/// Chunks that are planned, and those that were requested.
pub struct ChunkStream<'s> {
    session: &'s Session<'s>,
    words: &'s OpenSection,
    reader: &'s mut Reader,
    cache: Option<&'s dyn ChunkCache>,
    planned: VecDeque<Chunk>,
    window: VecDeque<Slot<'s>>,
    sequence: u64,
}

/// A chunk that was requested.
struct Slot<'s> {
    chunk: Chunk,
    tag: u64,
    words: Words<'s>,
}

enum Words<'s> {
    OnTheirWay,
    Read(Buffer),
    Held(Held<'s>),
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
        Self { session, words, reader, cache, planned, window, sequence: 0 }
    }

    /// Plans chunks that come after all others.
    pub(crate) fn plan(&mut self, chunks: impl IntoIterator<Item = Chunk>) {
        self.planned.extend(chunks);
    }

    /// Whether no chunk was requested that was not shown.
    pub(crate) fn is_empty(&self) -> bool {
        self.window.is_empty()
    }

    /// Requests what is planned while there is room; `true`: there is room for more.
    pub(crate) fn request(&mut self) -> Result<bool> {
        let counters = &self.session.counters;
        while self.window.len() < 2 * DEPTH && !self.reader.free.is_empty() {
            let Some(chunk) = self.planned.pop_front() else { return Ok(true) };
            let tag = self.sequence;
            self.sequence += 1;
            let held = self.cache.and_then(|cache| Some((cache, cache.get(chunk.number)?)));
            let words = if let Some((cache, held)) = held {
                cache.hits(counters).fetch_add(1, Relaxed);
                Words::Held(held)
            } else {
                let buffer = self.reader.free.pop_front().expect("checked above");
                let (offset, len) = (chunk.offset, chunk.padded());
                self.reader.submit(self.words, offset, len, buffer, tag)?;
                counters.useful_bytes.fetch_add(chunk.len as u64, Relaxed);
                Words::OnTheirWay
            };
            self.window.push_back(Slot { chunk, tag, words });
        }
        Ok(false)
    }

    /// Waits for the next chunk, verifies it and shows its words; `false`: none was requested.
    /// `show` returns the chunk's priority for the cache.
    pub(crate) fn next(&mut self, show: impl FnOnce(&Chunk, &[u8]) -> Result<u64>) -> Result<bool> {
        let Some(mut slot) = self.window.pop_front() else { return Ok(false) };
        while matches!(slot.words, Words::OnTheirWay) {
            self.wait(&mut slot)?;
        }
        let chunk = slot.chunk;
        let shown = match &slot.words {
            Words::OnTheirWay => unreachable!("it has arrived"),
            Words::Held(words) => self.show(&chunk, &words[..chunk.len], show),
            Words::Read(buffer) => self
                .words
                .verify(chunk.offset, &buffer[..chunk.padded()])
                .and_then(|()| self.show(&chunk, &buffer[..chunk.len], show)),
        };
        if let Words::Read(buffer) = slot.words {
            self.reader.free.push_back(buffer);
        }
        shown?;
        if self.session.stopped() { Err(EngineError::Cancelled) } else { Ok(true) }
    }

    fn show(
        &self,
        chunk: &Chunk,
        words: &[u8],
        show: impl FnOnce(&Chunk, &[u8]) -> Result<u64>,
    ) -> Result<()> {
        let priority = show(chunk, words)?;
        if let Some(cache) = self.cache {
            cache.offer(chunk.number, priority, words);
        }
        Ok(())
    }

    /// Waits for completions and puts each buffer where its slot is; `front` is the slot that was
    /// taken off the window.
    fn wait(&mut self, front: &mut Slot) -> Result<()> {
        let window = &mut self.window;
        self.reader.reap(false, |tag, buffer, _| {
            let read = Words::Read(buffer);
            if front.tag == tag {
                front.words = read;
            } else {
                let slot = window.iter_mut().find(|slot| slot.tag == tag);
                slot.expect("every read has a slot").words = read;
            }
        })
    }

    /// After an error: takes back every buffer that the kernel may still write to, and has the
    /// others stop.
    pub(crate) fn abandon(&mut self) {
        self.session.stop.store(true, Relaxed);
        let mut buffers: Vec<Buffer> = Vec::new();
        for slot in self.window.drain(..) {
            if let Words::Read(buffer) = slot.words {
                buffers.push(buffer);
            }
        }
        self.reader.drain(|buffer| buffers.push(buffer));
        self.reader.free.extend(buffers);
    }
}
