//! [`Reader`]: a worker's queue and the memory that it reads into: either buffers of one size, for
//! scans, or a [`Pool`] from which on-demand requests take what they need.

use std::{collections::VecDeque, sync::Arc, time::Instant};

use outercore_storage::{
    Arena, Buffer, PAGE, StorageError,
    backend::{Completion, Queue, ReadRequest},
};

use crate::{
    error::{EngineError, Result},
    session::OpenSection,
    session::meter::Meter,
};

/// Marks the tags of pieces; the tags of callers are below.
const PIECE: u64 = 1 << 63;

/// A range of an arena, handed out in pieces of any length, in a ring: what was taken first is used
/// again first.
pub struct Pool {
    arena: Arc<Arena>,
    start: usize,
    len: usize,
    /// Where the next piece begins, from `start`.
    head: usize,
    /// Pieces in the order in which they were taken: place, and whether it came back.
    taken: VecDeque<(usize, bool)>,
}

impl Pool {
    /// A pool of `len` bytes of an arena from `start` on, none of which belongs to a buffer.
    fn new(arena: Arc<Arena>, start: usize, len: usize) -> Self {
        Self { arena, start, len, head: 0, taken: VecDeque::new() }
    }

    /// A buffer of `len` bytes, a multiple of a page; `None` when there is no room now.
    pub(crate) fn take(&mut self, len: usize) -> Option<Buffer> {
        debug_assert!(len.is_multiple_of(PAGE) && len > 0);
        let place = match self.taken.front() {
            None => (len <= self.len).then_some(0),
            // The head never meets the oldest piece, so that a full ring is told from an empty one.
            Some(&(tail, _)) if self.head > tail => {
                if self.head + len <= self.len {
                    Some(self.head)
                } else {
                    (len < tail).then_some(0)
                }
            }
            Some(&(tail, _)) => (self.head + len < tail).then_some(self.head),
        }?;
        self.head = place + len;
        self.taken.push_back((place, false));
        Some(self.arena.buffer(self.start + place, len))
    }

    /// Takes a buffer back.
    pub(crate) fn give(&mut self, buffer: Buffer) {
        let place = buffer.offset() - self.start;
        drop(buffer);
        if let Some(entry) = self.taken.iter_mut().find(|entry| entry.0 == place && !entry.1) {
            entry.1 = true;
        }
        while self.taken.front().is_some_and(|&(_, back)| back) {
            self.taken.pop_front();
        }
    }

    /// Whether everything came back.
    fn is_whole(&self) -> bool {
        self.taken.is_empty()
    }
}

/// A read that crosses stripes: its pieces, as they come back.
struct Split {
    tag: u64,
    len: usize,
    pieces: Vec<Option<Buffer>>,
    missing: usize,
    error: Option<StorageError>,
}

/// A worker's means of reading.
pub struct Reader {
    queue: Box<dyn Queue>,
    /// Buffers at rest, all of one size. They are used in turn: the device is slow to write into
    /// memory that a processor has just read and still holds in its cache.
    pub free: VecDeque<Buffer>,
    pub(crate) pool: Pool,
    completions: Vec<Completion>,
    arrived: Vec<Completion>,
    /// Buffers of reads that failed.
    failed: Vec<Buffer>,
    splits: Vec<Option<Split>>,
    meter: Meter,
    /// Buffers, and the bytes of each.
    buffers: (usize, usize),
}

impl Reader {
    /// A reader with `count` buffers of `bytes` each, from `start` of an arena on.
    pub(crate) fn new(
        queue: Box<dyn Queue>,
        arena: Arc<Arena>,
        start: usize,
        (count, bytes): (usize, usize),
        begun: Instant,
    ) -> Self {
        Self {
            queue,
            free: VecDeque::new(),
            pool: Pool::new(arena, start, count * bytes),
            completions: Vec::new(),
            arrived: Vec::new(),
            failed: Vec::new(),
            splits: Vec::new(),
            meter: Meter::new(begun),
            buffers: (count, bytes),
        }
    }

    /// The name of the backend that reads.
    pub(crate) fn backend(&self) -> &'static str {
        self.queue.name()
    }

    /// Cuts the pool into buffers, if that is not done.
    pub(crate) fn with_buffers(&mut self) {
        if self.free.is_empty() {
            let (count, bytes) = self.buffers;
            debug_assert!(self.pool.is_whole(), "a stream gives everything back");
            self.free = (0..count)
                .map(|slot| self.pool.arena.buffer(self.pool.start + slot * bytes, bytes))
                .collect();
        }
    }

    /// Makes one pool of the buffers, if that is not done.
    pub(crate) fn with_pool(&mut self) {
        debug_assert!(
            self.free.is_empty() || self.free.len() == self.buffers.0,
            "buffers are at rest between steps"
        );
        self.free.clear();
    }

    /// Asks for `len` bytes of `section` from `offset` on (both multiples of a sector) into
    /// `buffer`, under a tag below 2^63. A range that crosses stripes becomes several requests; the
    /// buffer comes back once, when all have arrived.
    pub(crate) fn submit(
        &mut self,
        section: &OpenSection,
        offset: u64,
        len: usize,
        buffer: Buffer,
        tag: u64,
    ) -> Result<()> {
        let pieces: Vec<_> = section.file.pieces(offset, len).collect();
        self.meter.started(pieces.len());
        match pieces[..] {
            [] => return Err(EngineError::Usage("an empty request".to_owned())),
            [(file, offset, _, _)] => self.queue.submit(ReadRequest {
                file: section.first_file() + file,
                offset,
                buffer,
                len,
                tag,
            }),
            _ => self.submit_pieces(section, &pieces, buffer, len, tag),
        }
        Ok(())
    }

    fn submit_pieces(
        &mut self,
        section: &OpenSection,
        pieces: &[(usize, u64, u64, usize)],
        buffer: Buffer,
        len: usize,
        tag: u64,
    ) {
        let split = Split {
            tag,
            len,
            pieces: pieces.iter().map(|_| None).collect(),
            missing: pieces.len(),
            error: None,
        };
        let slot = self.splits.iter().position(Option::is_none).unwrap_or(self.splits.len());
        if slot == self.splits.len() {
            self.splits.push(None);
        }
        self.splits[slot] = Some(split);
        let mut rest = Some(buffer);
        for (index, &(file, offset, _, len)) in pieces.iter().enumerate() {
            let whole = rest.take().expect("only the last piece leaves nothing");
            // The last piece keeps what is left of the buffer.
            let (buffer, after) =
                if index + 1 == pieces.len() { (whole, None) } else { pair(whole.split(len)) };
            rest = after;
            let tag = PIECE | (slot as u64) << 16 | index as u64;
            self.queue.submit(ReadRequest {
                file: section.first_file() + file,
                offset,
                buffer,
                len,
                tag,
            });
        }
    }

    /// Reads in flight.
    pub(crate) fn pending(&self) -> usize {
        self.queue.in_flight()
    }

    /// Waits for completions, and puts pieces together.
    fn wait(&mut self, at_least: usize) -> outercore_storage::Result<()> {
        let result = self.queue.wait(at_least, &mut self.arrived);
        let bytes = self.arrived.iter().map(|completion| completion.len as u64).sum();
        self.meter.ended(self.arrived.len(), bytes);
        for completion in self.arrived.drain(..) {
            if completion.tag & PIECE == 0 {
                self.completions.push(completion);
                continue;
            }
            let slot = (completion.tag & !PIECE) >> 16;
            let Some(split) = &mut self.splits[slot as usize] else { continue };
            split.pieces[(completion.tag & 0xffff) as usize] = Some(completion.buffer);
            split.missing -= 1;
            split.error = split.error.take().or(completion.result.err());
            if split.missing == 0
                && let Some(split) = self.splits[slot as usize].take()
                && let Some(buffer) = split.pieces.into_iter().flatten().reduce(Buffer::join)
            {
                self.completions.push(Completion {
                    tag: split.tag,
                    buffer,
                    len: split.len,
                    result: split.error.map_or(Ok(()), Err),
                });
            }
        }
        result
    }

    /// Waits for at least one completion unless `poll`, and hands all there are to `take`. Buffers
    /// of failed reads come back with [`Reader::drain`].
    pub(crate) fn reap(
        &mut self,
        poll: bool,
        mut take: impl FnMut(u64, Buffer, usize),
    ) -> Result<()> {
        self.wait(usize::from(!poll))?;
        // Pieces may have arrived without making any read whole.
        while self.completions.is_empty() && !poll && self.queue.in_flight() > 0 {
            self.wait(1)?;
        }
        let mut first_error = None;
        for completion in self.completions.drain(..) {
            match completion.result {
                Ok(()) => take(completion.tag, completion.buffer, completion.len),
                Err(error) => {
                    first_error.get_or_insert(error);
                    self.failed.push(completion.buffer);
                }
            }
        }
        first_error.map_or(Ok(()), |error| Err(error.into()))
    }

    /// Reads `len` bytes of `section` from `offset` on (both multiples of a page), verified, and
    /// shows them to `take`. Nothing else may be in flight.
    pub(crate) fn fetch(
        &mut self,
        section: &OpenSection,
        offset: u64,
        len: usize,
        take: impl FnOnce(&[u8]),
    ) -> Result<()> {
        let buffer = self.free.pop_front().expect("buffers are at rest between steps");
        self.submit(section, offset, len, buffer, 0)?;
        let mut arrived = None;
        let read = self.reap(false, |_, buffer, _| arrived = Some(buffer));
        let Some(buffer) = arrived else {
            let mut back = Vec::new();
            self.drain(|buffer| back.push(buffer));
            self.free.extend(back);
            return read;
        };
        let verified = section.verify(offset, &buffer[..len]);
        if verified.is_ok() {
            take(&buffer[..len]);
        }
        self.free.push_back(buffer);
        verified
    }

    /// Waits for everything in flight and forgets it: after an error, before the reader is used
    /// again or dropped.
    pub(crate) fn drain(&mut self, mut give_back: impl FnMut(Buffer)) {
        while self.queue.in_flight() > 0 {
            if self.wait(1).is_err() {
                break;
            }
        }
        self.completions
            .drain(..)
            .map(|completion| completion.buffer)
            .chain(self.failed.drain(..))
            .for_each(&mut give_back);
    }

    /// What reading looked like.
    pub(crate) fn meter(&self) -> &Meter {
        &self.meter
    }
}

fn pair((first, second): (Buffer, Buffer)) -> (Buffer, Option<Buffer>) {
    (first, Some(second))
}

#[cfg(test)]
mod tests {
    use outercore_storage::HugePages;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// The arena refuses overlapping buffers by a panic, so this only has to use the pool.
        #[test]
        fn a_pool_is_a_ring_of_buffers_that_do_not_overlap(
            steps in prop::collection::vec((1usize..20, 0usize..8), 1..300),
        ) {
            let arena = Arena::new(2 << 20, HugePages::Off).unwrap();
            let mut pool = Pool::new(arena, 64 * PAGE, 40 * PAGE);
            let mut held: Vec<Buffer> = Vec::new();
            for (pages, pick) in steps {
                match pool.take(pages * PAGE) {
                    Some(buffer) => {
                        let end = buffer.offset() + buffer.len();
                        prop_assert!(buffer.offset() >= 64 * PAGE && end <= 104 * PAGE);
                        held.push(buffer);
                    }
                    None => {
                        prop_assert!(!held.is_empty(), "an empty pool has room for all that it is");
                        pool.give(held.remove(pick % held.len()));
                    }
                }
            }
            held.into_iter().for_each(|buffer| pool.give(buffer));
            prop_assert!(pool.is_whole());
            prop_assert!(pool.take(40 * PAGE).is_some());
        }
    }
}
