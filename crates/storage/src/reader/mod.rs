//! [`Reader`]: a queue and the memory that it reads into: either buffers of one size, for scans, or
//! a [`Pool`] from which small requests take what they need.
//!
//! - `buffers`: how many, and how large. `pool`: the memory of small requests.
//! - `meter`: [`Meter`], what reading looked like over time.

mod buffers;
mod meter;
mod pool;

use std::{sync::Arc, time::Instant};

pub use self::{
    buffers::{BUFFER_BYTES, buffers, buffers_bytes, is_little, smallest_budget, used_bytes},
    meter::{Meter, Reading},
    pool::Pool,
};
use crate::{
    PAGE,
    arena::{Arena, Buffer, HugePages},
    backend::{Completion, IoBackend, Queue, QueueOptions, ReadRequest, open_queues},
    disk::{Disk, DiskFile},
    error::{Result, StorageError},
    page_cache::PageCache,
    stripe::StripedFile,
    workers::Workers,
};

/// Marks the tags of pieces; the tags of callers are below.
const PIECE: u64 = 1 << 63;

/// A read that crosses stripes: its pieces, as they come back.
struct Split {
    tag: u64,
    len: usize,
    pieces: Vec<Option<Buffer>>,
    missing: usize,
    error: Option<StorageError>,
}

/// How the readers of a run are opened.
pub struct ReaderOptions {
    /// Which way to read.
    pub backend: IoBackend,
    /// The most requests of a reader in flight at once, beside one; a scan has as many as buffers.
    pub queue_depth: usize,
    /// Threads that submit and wait for them.
    pub io_threads: usize,
    /// How many buffers a reader has, and their bytes.
    pub buffers: (usize, usize),
    /// Whether they lie in huge pages.
    pub huge_pages: HugePages,
    /// Whether little is there to be read, see [`is_little`].
    pub little: bool,
}

/// Opens a reader for each worker, which reads these files. Returns whether their memory lies in
/// huge pages, too.
pub fn open_readers(
    (disk, workers): (&Disk, &Workers),
    files: &[Arc<DiskFile>],
    options: &ReaderOptions,
    begun: Instant,
) -> Result<(Vec<Reader>, bool)> {
    let each = options.buffers.0 * options.buffers.1;
    let &ReaderOptions { backend, queue_depth, io_threads, huge_pages: huge, little, .. } = options;
    let depth = (queue_depth + 1).max(buffers::DEPTH);
    let huge = if little { huge.for_streams() } else { huge };
    let arena = Arena::new(workers.count() * each, huge)?;
    // Each worker's come to be where it runs, all at a time: the system may take milliseconds to
    // find a huge page.
    if !little {
        workers.map(|index| {
            let mut buffers = arena.buffer(index * each, each);
            buffers.chunks_mut(PAGE).for_each(|page| page[0] = 0);
        });
    }
    if io_threads > 0 {
        workers.pin();
    }
    // What is registered comes to be, too.
    let registered = (!little).then(|| Arc::clone(&arena)).into_iter().collect();
    let queue = QueueOptions { backend, depth, registered };
    let queues = open_queues(disk, files, &queue, (workers.count(), io_threads))?;
    let reader = |(queue, at)| Reader::new(queue, Arc::clone(&arena), at * each, each, begun);
    Ok((queues.into_iter().zip(0..).map(reader).collect(), arena.is_huge()))
}

/// A queue and the memory that it reads into, for one thread.
pub struct Reader {
    queue: Box<dyn Queue>,
    /// The memory. It is used in turn: the device is slow to write into what a processor has just
    /// read and still holds in its cache.
    pub pool: Pool,
    completions: Vec<Completion>,
    arrived: Vec<Completion>,
    /// Buffers of reads that failed.
    failed: Vec<Buffer>,
    splits: Vec<Option<Split>>,
    meter: Meter,
}

impl Reader {
    /// A reader into `len` bytes of an arena from `start` on.
    pub fn new(
        queue: Box<dyn Queue>,
        arena: Arc<Arena>,
        start: usize,
        len: usize,
        begun: Instant,
    ) -> Self {
        Self {
            queue,
            pool: Pool::new(arena, start, len),
            completions: Vec::new(),
            arrived: Vec::new(),
            failed: Vec::new(),
            splits: Vec::new(),
            meter: Meter::new(begun),
        }
    }

    /// The name of the backend that reads.
    pub fn backend(&self) -> &'static str {
        self.queue.name()
    }

    /// Asks for `len` bytes of `file` from `offset` on (both multiples of a sector) into `buffer`,
    /// under a tag below 2^63. The number is that of the file's first stripe among the queue's
    /// files. A range that crosses stripes becomes several requests; the buffer comes back once,
    /// when all have arrived.
    ///
    /// # Panics
    /// If the range is empty.
    pub fn submit(
        &mut self,
        (file, first): (&StripedFile, usize),
        offset: u64,
        len: usize,
        buffer: Buffer,
        tag: u64,
    ) {
        assert!(len > 0, "an empty request");
        let pieces: Vec<_> = file.pieces(offset, len).collect();
        self.meter.started(pieces.len());
        if let [(file, offset, _, _)] = pieces[..] {
            self.queue.submit(ReadRequest { file: first + file, offset, buffer, len, tag });
        } else {
            let pieces: Vec<_> = pieces
                .into_iter()
                .map(|(file, offset, _, len)| (Some(file), offset, len))
                .collect();
            self.submit_pieces(first, &pieces, buffer, len, tag);
        }
    }

    /// The same through a page cache, where there is one: what that has is not asked for. Where it
    /// has all, the buffer comes back at once.
    pub fn submit_through(
        &mut self,
        cache: Option<&PageCache>,
        (file, first): (&StripedFile, usize),
        offset: u64,
        (len, mut buffer): (usize, Buffer),
        tag: u64,
    ) -> Option<Buffer> {
        let ranges = cache.map(|cache| cache.copy(first, offset, &mut buffer[..len]));
        let Some(ranges) = ranges.filter(|ranges| ranges[..] != [0, len]) else {
            self.submit((file, first), offset, len, buffer, tag);
            return None;
        };
        if ranges[0] == len {
            return Some(buffer);
        }
        let mut pieces = Vec::new();
        let mut at = offset;
        for (range, turn) in ranges.into_iter().zip(0..).filter(|&(range, _)| range > 0) {
            if turn % 2 == 0 {
                pieces.push((None, 0, range));
            } else {
                let parts = file.pieces(at, range);
                pieces.extend(parts.map(|(file, offset, _, len)| (Some(file), offset, len)));
            }
            at += range as u64;
        }
        self.meter.started(pieces.iter().filter(|piece| piece.0.is_some()).count());
        self.submit_pieces(first, &pieces, buffer, len, tag);
        None
    }

    /// Requests pieces that follow each other; those without a file are there already.
    fn submit_pieces(
        &mut self,
        first: usize,
        pieces: &[(Option<usize>, u64, usize)],
        buffer: Buffer,
        len: usize,
        tag: u64,
    ) {
        let split = Split {
            tag,
            len,
            pieces: pieces.iter().map(|_| None).collect(),
            missing: pieces.iter().filter(|piece| piece.0.is_some()).count(),
            error: None,
        };
        let slot = self.splits.iter().position(Option::is_none).unwrap_or(self.splits.len());
        if slot == self.splits.len() {
            self.splits.push(None);
        }
        self.splits[slot] = Some(split);
        let mut rest = Some(buffer);
        for (index, &(file, offset, len)) in pieces.iter().enumerate() {
            let whole = rest.take().expect("only the last piece leaves nothing");
            // The last piece keeps what is left of the buffer.
            let (buffer, after) =
                if index + 1 == pieces.len() { (whole, None) } else { pair(whole.split(len)) };
            rest = after;
            let Some(file) = file else {
                let split = self.splits[slot].as_mut().expect("it was put there");
                split.pieces[index] = Some(buffer);
                continue;
            };
            let tag = PIECE | (slot as u64) << 16 | index as u64;
            self.queue.submit(ReadRequest { file: first + file, offset, buffer, len, tag });
        }
    }

    /// Reads in flight.
    pub fn pending(&self) -> usize {
        self.queue.in_flight()
    }

    /// Waits for completions, and puts pieces together.
    fn wait(&mut self, at_least: usize) -> Result<()> {
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
    pub fn reap(&mut self, poll: bool, mut take: impl FnMut(u64, Buffer, usize)) -> Result<()> {
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
        first_error.map_or(Ok(()), Err)
    }

    /// Reads `len` bytes of a file from `offset` on, as [`Reader::submit`] takes them, into a
    /// buffer of the pool, which is to be given back. Nothing else may be in flight.
    pub fn read(&mut self, file: (&StripedFile, usize), offset: u64, len: usize) -> Result<Buffer> {
        debug_assert!(self.pool.is_whole(), "a step gives everything back");
        let buffer = self.pool.take(len).expect("the pool is at rest between steps");
        self.submit(file, offset, len, buffer, 0);
        let mut arrived = None;
        let read = self.reap(false, |_, buffer, _| arrived = Some(buffer));
        arrived.ok_or_else(|| {
            self.drain();
            read.err().unwrap_or(StorageError::Interrupted)
        })
    }

    /// Waits for everything in flight, forgets it and takes its buffers back: after an error,
    /// before the reader is used again or dropped.
    pub fn drain(&mut self) {
        while self.queue.in_flight() > 0 {
            if self.wait(1).is_err() {
                break;
            }
        }
        self.completions
            .drain(..)
            .map(|completion| completion.buffer)
            .chain(self.failed.drain(..))
            .for_each(|buffer| self.pool.give(buffer));
    }

    /// What reading looked like.
    pub fn meter(&self) -> &Meter {
        &self.meter
    }
}

fn pair((first, second): (Buffer, Buffer)) -> (Buffer, Option<Buffer>) {
    (first, Some(second))
}
