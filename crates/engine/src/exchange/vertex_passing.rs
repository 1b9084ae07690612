//! [`Exchange`]: records on their way to vertices that are on storage. They wait until the interval
//! of their vertex comes into memory (vertex passing, Seraph, FAST'24, section 3.3).
//!
//! ```text
//! sender of a worker           for all workers               scratch
//! records that merge:
//!   one batch, sorted, merged  -> a buffer for each interval -> log of the interval
//! other records:
//!   a batch for each interval, less what is remembered       -> log of the interval
//!   what is left of batches    -> a buffer for each interval -> log of the interval
//! ```
//!
//! A buffer or batch that is full goes to the log, and nothing else does: a log has whole blocks,
//! however few records a step sends. Records to one vertex arrive in the order in which one sender
//! sent them; between senders there is no order.
//!
//! Intervals here are those of the grid or windows of several of them. What waits for one is
//! either drained or replayed.
//!
//! Memory: that of a [`Spill`], the buffers, and the batches of every sender: the more there are,
//! the smaller each is.

use std::{
    marker::PhantomData,
    slice::from_ref,
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use outercore_storage::{Extent, Spill, bytes_of, lock};

use super::record::{Record, STEP, for_each};
use crate::{
    job::Job,
    plan::Planner,
    session::{Counters, Session},
    state::Scratch,
    techniques::Technique,
};
use outercore_graph::{GraphError, Result};

/// Bytes of all buffers and batches together, unless there are so many that each has [`SMALLEST`].
const BLOCKS: usize = 2 << 20;
/// Bytes of a buffer or batch, at most and at least.
const LARGEST: usize = 64 << 10;
const SMALLEST: usize = 4 << 10;
/// Bytes of memory beside them: blocks on their way, and where blocks are.
const BESIDE: u64 = 1 << 20;
/// Records that merge: how many a sender gathers before it sorts them.
const GATHERED: usize = 1 << 14;

/// Records on their way to vertices, by interval.
pub struct Exchange<R: Record> {
    /// Bounds of the intervals.
    pub(crate) bounds: Vec<u64>,
    /// The number of the step that is under way, for records that are of one.
    pub(crate) step: u32,
    /// The logs: blocks of records.
    spill: Spill,
    counters: Arc<Counters>,
    /// The first error of an append.
    failed: Mutex<Option<GraphError>>,
    /// Bytes of a full buffer or batch: whole records.
    block: usize,
    /// The buffer of each interval.
    buffers: Vec<Mutex<Vec<u8>>>,
    /// The smallest key that waits for each interval.
    smallest: Vec<AtomicU64>,
    records: PhantomData<fn(R)>,
}

/// A worker's records that nothing but it knows of, until they are collected.
#[must_use = "what is not collected does not arrive"]
pub struct Sender<R> {
    /// Records that merge.
    gathered: Vec<(u64, R)>,
    /// Other records, by interval, as they are in the log.
    batches: Vec<Vec<u8>>,
    /// The smallest key that was sent to each interval.
    smallest: Vec<u64>,
    /// The last record at each place.
    remembered: Vec<(u64, R)>,
}

/// Bytes of a buffer or batch where there are so many.
fn block_bytes(blocks: usize) -> usize {
    (BLOCKS / blocks).clamp(SMALLEST, LARGEST) / SMALLEST * SMALLEST
}

impl<R: Record> Exchange<R> {
    /// Buffers and batches of so many intervals.
    fn blocks(threads: usize, intervals: usize) -> usize {
        intervals * if R::MERGES { 1 } else { threads + 1 }
    }

    /// Bytes of memory of an exchange between so many intervals, and of a sender for each of some
    /// threads.
    pub(crate) fn bytes(threads: usize, intervals: usize) -> u64 {
        let (item, blocks) = (size_of::<(u64, R)>(), Self::blocks(threads, intervals));
        // Sorting takes half as much again.
        let sender = item * if R::MERGES { GATHERED * 2 } else { R::REMEMBERED };
        (blocks * block_bytes(blocks) + threads * sender) as u64 + BESIDE
    }

    /// States what an exchange takes between intervals of the grid or at most so many windows of
    /// them, while values are on storage.
    pub(crate) fn declare(planner: &mut Planner, most: usize, records: u64) -> Result<()> {
        let Job { graph, config, .. } = planner.job;
        let intervals = graph.grid()?.intervals.len().min(most);
        planner.memory("logs", [0, Self::bytes(config.threads, intervals)]);
        planner.scratch(records * R::BYTES as u64);
        Ok(())
    }

    /// An exchange between the intervals with these bounds; its log is in the graph's scratch
    /// folder.
    pub(crate) fn new(session: &Session, bounds: &[u64]) -> Result<Self> {
        let blocks = Self::blocks(session.workers.count(), bounds.len());
        Self::create(&Scratch::of(session), bounds, block_bytes(blocks) / R::BYTES)
    }

    /// The same with blocks of so many records.
    pub(super) fn create(scratch: &Scratch, bounds: &[u64], records: usize) -> Result<Self> {
        let intervals = bounds.len().max(2) - 1;
        Ok(Self {
            bounds: bounds.to_vec(),
            step: 0,
            spill: Spill::create(&scratch.disk, &scratch.folder, intervals, records * R::BYTES)?,
            counters: Arc::clone(&scratch.counters),
            failed: Mutex::default(),
            block: records * R::BYTES,
            buffers: (0..intervals).map(|_| Mutex::default()).collect(),
            smallest: (0..intervals).map(|_| AtomicU64::new(u64::MAX)).collect(),
            records: PhantomData,
        })
    }

    /// Bytes and blocks that go to the logs, at most, when so many records are sent.
    pub(crate) fn logged(&self, records: u64) -> (u64, f64) {
        let bytes = (records * R::BYTES as u64).saturating_sub(BLOCKS as u64);
        (bytes, bytes as f64 / self.block as f64)
    }

    /// What a worker sends with.
    pub(crate) fn sender(&self) -> Sender<R> {
        let batches = if R::MERGES { 0 } else { self.smallest.len() };
        Sender {
            gathered: Vec::with_capacity(if R::MERGES { GATHERED } else { 0 }),
            batches: vec![Vec::new(); batches],
            smallest: vec![u64::MAX; batches],
            remembered: Vec::new(),
        }
    }

    /// Sends a record to a vertex.
    #[inline(always)]
    pub(crate) fn send(&self, sender: &mut Sender<R>, vertex: u64, record: R) {
        if R::MERGES {
            if sender.gathered.len() == GATHERED {
                self.merge(sender);
            }
            sender.gathered.push((vertex, record));
            return;
        }
        if R::REMEMBERED > 0 {
            if sender.remembered.is_empty() {
                sender.remembered.resize(R::REMEMBERED, (u64::MAX, record));
            }
            let place = record.place(vertex) as usize % R::REMEMBERED;
            let slot = &mut sender.remembered[place];
            if slot.0 == vertex && slot.1.covers(&record) {
                return;
            }
            *slot = (vertex, record);
        }
        let interval = self.interval_of(vertex);
        if let Some(key) = record.key() {
            sender.smallest[interval] = sender.smallest[interval].min(key);
        }
        self.put(interval, &mut sender.batches[interval], vertex, record);
    }

    /// Puts a record into the buffer or a batch of its interval.
    #[inline(always)]
    fn put(&self, interval: usize, block: &mut Vec<u8>, vertex: u64, record: R) {
        if block.is_empty() {
            block.reserve_exact(self.block);
            if let Some(step) = R::of_step(self.step) {
                block.extend_from_slice(&(STEP as u32).to_le_bytes());
                block.extend_from_slice(bytes_of(from_ref(&step)));
            }
        }
        let at = (vertex - self.bounds[interval]) as u32;
        block.extend_from_slice(&at.to_le_bytes());
        block.extend_from_slice(bytes_of(from_ref(&record)));
        if block.len() == self.block {
            self.append(interval, block);
            block.clear();
        }
    }

    /// Takes what the senders still have. Returns the first error since the last call.
    pub(crate) fn collect(&self, senders: impl IntoIterator<Item = Sender<R>>) -> Result<()> {
        for mut sender in senders {
            self.merge(&mut sender);
            for (interval, batch) in sender.batches.iter().enumerate() {
                let mut buffer = self.buffer(interval);
                for_each(batch, self.bounds[interval], |vertex, record| {
                    self.put(interval, &mut buffer, vertex, record);
                });
            }
            for (known, key) in self.smallest.iter().zip(sender.smallest) {
                known.fetch_min(key, Relaxed);
            }
        }
        self.check()
    }

    /// Whether records wait for an interval.
    pub(crate) fn pending(&self, interval: usize) -> bool {
        !self.buffer(interval).is_empty() || self.spill.partition_bytes(interval) > 0
    }

    /// The smallest key of the records that were collected for an interval and wait there;
    /// `u64::MAX`: there is none.
    pub(crate) fn smallest_key(&self, interval: usize) -> u64 {
        self.smallest[interval].load(Relaxed)
    }

    /// Hands out the records of an interval, which then wait no more: vertex and record. Returns
    /// how many there were. `take` may send records that do not merge.
    pub(crate) fn drain(&self, interval: usize, mut take: impl FnMut(u64, R)) -> Result<u64> {
        self.smallest[interval].store(u64::MAX, Relaxed);
        let (first, mut bytes) = (self.bounds[interval], 0);
        let blocks = self.spill.take(interval);
        self.read(&blocks, |block| {
            bytes += block.len();
            for_each(block, first, &mut take);
        })?;
        self.spill.free(blocks);
        let mut buffer = self.buffer(interval);
        bytes += buffer.len();
        for_each(&buffer, first, &mut take);
        buffer.clear();
        let records = (bytes / R::BYTES) as u64;
        self.counters.note(Technique::VertexPassing, [records, 0]);
        Ok(records)
    }

    /// Shows the records of an interval, which stay: vertex and record.
    pub(crate) fn replay(&self, interval: usize, mut show: impl FnMut(u64, R)) -> Result<()> {
        let first = self.bounds[interval];
        self.read(&self.spill.extents(interval), |block| for_each(block, first, &mut show))?;
        for_each(&self.buffer(interval), first, show);
        Ok(())
    }

    /// Shows blocks, of which every byte is useful.
    fn read(&self, blocks: &[Extent], mut show: impl FnMut(&[u8])) -> Result<()> {
        let mut reader = self.spill.reader();
        for &block in blocks {
            let block = reader.read(block)?;
            self.counters.useful_bytes.fetch_add(block.len() as u64, Relaxed);
            show(block);
        }
        Ok(())
    }

    /// Appends a block to the log of an interval. The first error is kept.
    fn append(&self, interval: usize, block: &[u8]) {
        if let Err(error) = self.spill.append(interval, block) {
            lock(&self.failed).get_or_insert(error.into());
        }
    }

    /// The first error so far, once.
    fn check(&self) -> Result<()> {
        lock(&self.failed).take().map_or(Ok(()), Err)
    }

    fn buffer(&self, interval: usize) -> MutexGuard<'_, Vec<u8>> {
        lock(&self.buffers[interval])
    }

    #[inline(always)]
    fn interval_of(&self, vertex: u64) -> usize {
        // Beyond them all where a list lies: there is no such interval, and its use is a panic.
        self.bounds.partition_point(|&bound| bound <= vertex) - 1
    }

    /// Sorts gathered records by vertex, keeping the order of those to one vertex, merges them, and
    /// passes them on.
    fn merge(&self, sender: &mut Sender<R>) {
        sender.gathered.sort_by_key(|&(vertex, _)| vertex);
        sender.gathered.dedup_by(|later, first| {
            let same = later.0 == first.0;
            if same {
                first.1.merge(later.1);
            }
            same
        });
        let mut rest = sender.gathered.as_slice();
        while let Some(&(vertex, _)) = rest.first() {
            let interval = self.interval_of(vertex);
            let end = self.bounds[interval + 1];
            let (own, after) = rest.split_at(rest.partition_point(|&(vertex, _)| vertex < end));
            let mut buffer = self.buffer(interval);
            own.iter().for_each(|&(at, record)| self.put(interval, &mut buffer, at, record));
            rest = after;
        }
        sender.gathered.clear();
    }
}
