//! [`RecordLog`]: records on their way to numbers of which a part is in memory at a time. They wait
//! until the part of their number comes into memory.
//!
//! ```text
//! sender of a thread                    for all threads            scratch
//! records that merge: sums of numbers
//!   that are likely to get many   \
//! what they leave, and others:     ->  a block for each part  ->  log of the part
//!   a chunk for each part         /     what is full is written behind
//! ```
//!
//! A block that is full goes to the log, and nothing else does: a log has whole blocks, however few
//! records a step sends. A thread of its own writes them. When a part is read, the next blocks are
//! on their way while one is shown. What waits for a part is either drained or replayed.
//!
//! Records to one number arrive in the order in which one sender sent them; between senders there
//! is no order. Where the order matters ([`Record::ORDERED`]), senders may be those of shares of
//! the work: those of each share have blocks of their own, and arrive in the order of the shares,
//! whatever threads did them.
//!
//! - `record`: [`Record`], what is sent. `sender`: [`Sender`], what a thread sends with.
//! - `expected`: what a step will write.
//! - `writer`: blocks on their way to the log; `reader`: and back. `places`: which part is whose.
//!
//! Memory: blocks, the sums and chunks of every sender, and 16 bytes for each block on scratch, at
//! most 32.

mod expected;
mod places;
mod reader;
mod record;
mod sender;
#[cfg(test)]
mod tests;
mod writer;

use std::{
    path::Path,
    sync::{
        Mutex,
        atomic::{AtomicU32, AtomicU64, Ordering::Relaxed},
    },
    thread::{ThreadId, current},
};

pub use self::{
    expected::{Leads, Sent},
    record::{Record, STEP},
    sender::Sender,
};
use self::{
    places::Places,
    reader::{BlockReader, DEPTH},
    record::for_each,
    sender::sums_bytes,
    writer::{Writer, memory},
};
use crate::{
    PAGE,
    backend::IoBackend,
    carries::Carries,
    disk::Disk,
    error::Result,
    memory::thread_bytes,
    monitor::lock,
    spill::{Extent, Spill},
};

/// Bytes of all blocks together, unless there are so many that each has [`SMALLEST`].
const BLOCKS: u64 = 2 << 20;
/// Bytes of a block, at most and at least.
const LARGEST: u64 = 256 << 10;
const SMALLEST: u64 = PAGE as u64;
/// Bytes of a chunk.
const CHUNK: usize = 1 << 10;
/// Bytes of memory beside them: where blocks are.
const BESIDE: u64 = 512 << 10;

/// What a log is for.
#[derive(Clone, Copy, Debug)]
pub struct LogShape {
    /// How many threads send and take at once.
    pub threads: usize,
    /// How many parts there are.
    pub parts: usize,
    /// Numbers of the widest part.
    pub widest: u64,
}

/// Records on their way to numbers, by part.
pub struct RecordLog<R: Record> {
    /// The number of the step that is under way, for records that are of one.
    pub step: u32,
    places: Places,
    /// Bytes of a full block, and of a full chunk: whole records.
    block: usize,
    chunk: usize,
    backend: IoBackend,
    /// The block of each part that is being filled.
    open: Vec<Mutex<Vec<u8>>>,
    /// The smallest key that waits for each part.
    smallest: Vec<AtomicU64>,
    writer: Writer,
    /// Readers that are not in use, and who had them last: a queue changes threads at a cost.
    readers: Mutex<Vec<(ThreadId, BlockReader)>>,
    /// Senders that are not in use.
    idle: Mutex<Vec<Sender<R>>>,
    /// The number of the next share.
    next_share: AtomicU32,
}

impl<R: Record> RecordLog<R> {
    /// Blocks of memory that are filled or shown.
    fn blocks(LogShape { threads, parts, .. }: LogShape) -> u64 {
        (parts * if R::ORDERED { threads + 1 } else { 1 } + DEPTH * threads) as u64
    }

    /// Bytes of a block where all of them may take so many.
    fn block_bytes(shape: LogShape, bytes: u64) -> u64 {
        (bytes / Self::blocks(shape)).clamp(SMALLEST, LARGEST) / SMALLEST * SMALLEST
    }

    /// Bytes of memory of a log, and of a sender for each thread, with `more` than the least.
    pub fn bytes(shape: LogShape, more: u64) -> u64 {
        let LogShape { threads, parts, widest } = shape;
        let block = Self::block_bytes(shape, BLOCKS + more);
        let sender =
            parts * CHUNK + sums_bytes::<R>(widest) + size_of::<(u64, R)>() * R::REMEMBERED;
        let written = memory(block as usize) as u64;
        // And the thread that writes.
        Self::blocks(shape) * block + written + (threads * sender) as u64 + BESIDE + thread_bytes()
    }

    /// A log of the parts with these bounds for some threads, in a scratch file in a folder, with
    /// `more` memory than the least.
    pub fn create(
        (disk, backend): (&Disk, IoBackend),
        folder: &Path,
        bounds: &[u64],
        (threads, more): (usize, u64),
    ) -> Result<Self> {
        let places = Places::new(bounds);
        let shape = LogShape { threads, parts: places.parts(), widest: places.widest() };
        let block = Self::block_bytes(shape, BLOCKS + more) as usize / R::BYTES;
        Self::with_blocks((disk, backend), folder, bounds, block)
    }

    /// The same with blocks of so many records.
    pub fn with_blocks(
        (disk, backend): (&Disk, IoBackend),
        folder: &Path,
        bounds: &[u64],
        records: usize,
    ) -> Result<Self> {
        let places = Places::new(bounds);
        let (parts, block) = (places.parts(), records * R::BYTES);
        let spill = Spill::create(disk, folder, parts, block)?;
        Ok(Self {
            step: 0,
            places,
            block,
            chunk: (CHUNK / R::BYTES).min(records).max(2) * R::BYTES,
            backend,
            open: (0..parts).map(|_| Mutex::default()).collect(),
            smallest: (0..parts).map(|_| AtomicU64::new(u64::MAX)).collect(),
            writer: Writer::new(spill, block)?,
            readers: Mutex::default(),
            idle: Mutex::default(),
            next_share: AtomicU32::new(1),
        })
    }

    /// How many parts there are.
    pub fn parts(&self) -> usize {
        self.places.parts()
    }

    /// Bounds of the parts.
    pub fn bounds(&self) -> &[u64] {
        &self.places.bounds
    }

    /// Bytes and blocks that go to the logs, at most, when so many records are sent.
    pub fn logged(&self, records: u64) -> (u64, u64) {
        let kept = (self.open.len() * self.block) as u64;
        let bytes = (records * R::BYTES as u64).saturating_sub(kept);
        (bytes, bytes / self.block as u64)
    }

    /// The number of the first of so many shares, which arrive behind those of earlier ones.
    pub fn shares(&self, count: u32) -> u32 {
        self.next_share.fetch_add(count, Relaxed)
    }

    /// Takes what the senders still have. Returns the first error since the last call.
    pub fn collect(&self, senders: impl IntoIterator<Item = Sender<R>>) -> Result<()> {
        for mut sender in senders {
            self.empty(&mut sender);
            for (known, key) in self.smallest.iter().zip(&mut sender.smallest) {
                known.fetch_min(std::mem::replace(key, u64::MAX), Relaxed);
            }
            lock(&self.idle).push(sender);
        }
        self.writer.check()
    }

    /// Whether records wait for a part.
    pub fn pending(&self, part: usize) -> bool {
        !lock(&self.open[part]).is_empty()
            || self.writer.has(part)
            || self.writer.spill().partition_bytes(part) > 0
    }

    /// The smallest key of the records that were collected for a part and wait there; `u64::MAX`:
    /// there is none.
    pub fn smallest_key(&self, part: usize) -> u64 {
        self.smallest[part].load(Relaxed)
    }

    /// Hands out the records of a part, which then wait no more: number and record. Returns how
    /// many there were, and how many bytes of them came from scratch. `take` may send records that
    /// do not merge.
    pub fn drain(&self, part: usize, mut take: impl FnMut(u64, R)) -> Result<[u64; 2]> {
        self.smallest[part].store(u64::MAX, Relaxed);
        self.writer.settle(part)?;
        let first = self.places.bounds[part];
        let blocks = self.writer.spill().take(part);
        let read = self.read(&blocks, |block| for_each(block, first, &mut take))?;
        self.writer.spill().free(blocks);
        // Not under the lock: what is sent may fill a block.
        let mut block = std::mem::take(&mut *lock(&self.open[part]));
        for_each(&block, first, &mut take);
        let records = (read + block.len() as u64) / R::BYTES as u64;
        let mut open = lock(&self.open[part]);
        if open.capacity() == 0 {
            block.clear();
            *open = block;
        }
        Ok([records, read])
    }

    /// Shows the records of a part, which stay: number and record. Returns how many bytes of them
    /// came from scratch.
    pub fn replay(&self, part: usize, mut show: impl FnMut(u64, R)) -> Result<u64> {
        self.writer.settle(part)?;
        let (first, blocks) = (self.places.bounds[part], self.writer.spill().extents(part));
        let read = self.read(&blocks, |block| for_each(block, first, &mut show))?;
        for_each(&lock(&self.open[part]), first, show);
        Ok(read)
    }

    /// Shows blocks, in the order of their tags; returns their bytes.
    fn read(&self, blocks: &[Extent], mut show: impl FnMut(&[u8])) -> Result<u64> {
        if blocks.is_empty() {
            return Ok(0);
        }
        let ordered = in_order(blocks);
        let (spill, here, mut bytes) = (self.writer.spill(), current().id(), 0);
        let mut readers = lock(&self.readers);
        let idle = readers.iter().position(|reader| reader.0 == here);
        let idle = idle.map(|at| readers.swap_remove(at).1);
        drop(readers);
        let new = || BlockReader::new(spill, self.block.next_multiple_of(PAGE), self.backend);
        let mut reader = idle.map_or_else(new, Ok)?;
        reader.read(spill, &ordered, |block| {
            bytes += block.len() as u64;
            show(block);
        })?;
        lock(&self.readers).push((here, reader));
        Ok(bytes)
    }

    /// Puts records into a block of a part; one that is full is written.
    fn append(&self, part: usize, open: &mut Vec<u8>, tag: u32, mut records: &[u8]) {
        if open.capacity() == 0 {
            open.reserve_exact(self.block);
        }
        while !records.is_empty() {
            let (now, later) = records.split_at(records.len().min(self.block - open.len()));
            open.extend_from_slice(now);
            records = later;
            if open.len() == self.block {
                self.writer.write(part, open, tag);
                open.clear();
            }
        }
    }
}

/// Blocks in the order of their tags.
fn in_order(blocks: &[Extent]) -> Vec<Extent> {
    let mut ordered = blocks.to_vec();
    ordered.sort_by_key(|block| block.tag);
    ordered
}

impl<R: Record> Carries<R> for RecordLog<R> {
    type Sender = Sender<R>;

    fn sender(&self) -> Sender<R> {
        self.sender()
    }

    #[inline(always)]
    fn send(&self, sender: &mut Sender<R>, number: u64, record: R) {
        self.send(sender, number, record);
    }

    #[inline(always)]
    fn turn_to(&self, sender: &mut Sender<R>, number: u64) {
        self.turn_to(sender, number);
    }

    fn collect(&self, senders: impl IntoIterator<Item = Sender<R>>) -> Result<()> {
        self.collect(senders)
    }

    fn pending(&self, part: usize) -> bool {
        self.pending(part)
    }

    fn drain(&self, part: usize, take: impl FnMut(u64, R)) -> Result<[u64; 2]> {
        self.drain(part, take)
    }

    fn shares(&self, count: u32) -> Option<u32> {
        Some(self.shares(count))
    }

    fn sender_of(&self, share: u32) -> Sender<R> {
        self.sender_of(share)
    }
}
