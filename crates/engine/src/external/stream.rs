//! [`ChunkStream`]: chunks of the grid on their way to one worker, in the order in which it wants
//! them.

use std::{
    collections::VecDeque,
    sync::{Arc, atomic::Ordering::Relaxed},
};

use outercore_storage::Buffer;

use super::{columns::Chunk, sub_blocks::SubBlocks};
use crate::{
    error::{EngineError, Result},
    session::{DEPTH, OpenSection, Reader, Session},
};

/// Chunks that are wanted, and those that were asked for.
pub struct ChunkStream<'s> {
    session: &'s Session<'s>,
    words: &'s OpenSection,
    reader: &'s mut Reader,
    /// Chunks that may be in memory.
    near: Option<&'s SubBlocks>,
    wanted: VecDeque<Chunk>,
    window: VecDeque<Slot>,
    sequence: u64,
}

struct Slot {
    chunk: Chunk,
    tag: u64,
    buffer: Option<Buffer>,
    /// The words, where they were in memory.
    held: Option<Arc<[u8]>>,
}

impl<'s> ChunkStream<'s> {
    /// Nothing wanted yet; `words` is `grid.words`; chunks in `near` are not read.
    pub fn new(
        session: &'s Session<'s>,
        words: &'s OpenSection,
        reader: &'s mut Reader,
        near: Option<&'s SubBlocks>,
    ) -> Self {
        Self {
            session,
            words,
            reader,
            near,
            wanted: VecDeque::new(),
            window: VecDeque::new(),
            sequence: 0,
        }
    }

    /// Chunks that come after all others.
    pub fn want(&mut self, chunks: impl IntoIterator<Item = Chunk>) {
        self.wanted.extend(chunks);
    }

    /// Asks for what is wanted while there is room; `true`: there is room for more.
    pub fn ask(&mut self) -> Result<bool> {
        let counters = &self.session.counters;
        while self.window.len() < 2 * DEPTH && !self.reader.free.is_empty() {
            let Some(chunk) = self.wanted.pop_front() else { return Ok(true) };
            if let Some(held) = self.near.and_then(|near| near.get(chunk.number)) {
                counters.chunk_hits.fetch_add(1, Relaxed);
                self.window.push_back(Slot {
                    chunk,
                    tag: self.sequence,
                    buffer: None,
                    held: Some(held),
                });
                self.sequence += 1;
                continue;
            }
            let buffer = self.reader.free.pop_front().expect("checked above");
            self.reader.submit(
                counters,
                self.words,
                chunk.offset,
                chunk.padded(),
                buffer,
                self.sequence,
            )?;
            counters.useful_bytes.fetch_add(chunk.len as u64, Relaxed);
            self.window.push_back(Slot { chunk, tag: self.sequence, buffer: None, held: None });
            self.sequence += 1;
        }
        Ok(false)
    }

    /// Waits for the next chunk, verifies it and shows its words; `false`: none was asked for.
    /// `show` returns what it is worth to have the chunk in memory in the next pass.
    pub fn next(&mut self, show: impl FnOnce(&Chunk, &[u8]) -> Result<u64>) -> Result<bool> {
        let Some(mut slot) = self.window.pop_front() else { return Ok(false) };
        while slot.buffer.is_none() && slot.held.is_none() {
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
        let chunk = slot.chunk;
        let shown = match (&slot.buffer, &slot.held) {
            (Some(buffer), _) => self
                .words
                .verify(chunk.offset, &buffer[..chunk.padded()])
                .and_then(|()| show(&chunk, &buffer[..chunk.len])),
            (None, held) => show(&chunk, held.as_ref().expect("it is here or has arrived")),
        };
        if let (Some(near), Ok(worth)) = (self.near, &shown) {
            near.offer(
                chunk.number,
                *worth,
                slot.buffer.as_ref().map_or_else(
                    || slot.held.as_deref().unwrap_or(&[]),
                    |buffer| &buffer[..chunk.len],
                ),
            );
        }
        self.reader.free.extend(slot.buffer.take());
        shown?;
        if self.session.stopped() { Err(EngineError::Cancelled) } else { Ok(true) }
    }

    /// After an error: takes back every buffer that the kernel may still write to, and has the
    /// others stop.
    pub fn abandon(&mut self) {
        self.session.stop.store(true, Relaxed);
        let mut buffers: Vec<Buffer> =
            self.window.drain(..).filter_map(|mut slot| slot.buffer.take()).collect();
        self.reader.drain(|buffer| buffers.push(buffer));
        self.reader.free.extend(buffers);
    }
}
