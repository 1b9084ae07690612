//! [`Log`]: blocks of records on scratch, by interval.
//!
//! Memory: that of a [`Spill`], and 8 bytes for each interval and epoch.

use std::{
    path::Path,
    sync::{Arc, Mutex, atomic::Ordering::Relaxed},
};

use outercore_storage::{Disk, Spill};

use crate::{
    error::{EngineError, Result},
    session::Counters,
};

/// Blocks by interval. An interval's blocks are either taken or replayed.
pub(super) struct Log {
    spill: Spill,
    counters: Arc<Counters>,
    /// How many blocks each interval had at the end of each epoch.
    epochs: Vec<Vec<usize>>,
    /// The first error of an append.
    failed: Mutex<Option<EngineError>>,
}

impl Log {
    /// An empty log of blocks of at most `block` bytes.
    pub(crate) fn create(
        counters: Arc<Counters>,
        (disk, folder): (&Disk, &Path),
        intervals: usize,
        block: usize,
    ) -> Result<Self> {
        let spill = Spill::create(disk, folder, intervals, block)?;
        Ok(Self { spill, counters, epochs: Vec::new(), failed: Mutex::new(None) })
    }

    /// Appends a block. The first error is kept for [`Log::check`].
    pub(crate) fn append(&self, interval: usize, block: &[u8]) {
        if let Err(error) = self.spill.append(interval, block) {
            self.failed.lock().expect("no holder panics").get_or_insert(error.into());
        }
    }

    /// The first error so far, once.
    pub(crate) fn check(&self) -> Result<()> {
        self.failed.lock().expect("no holder panics").take().map_or(Ok(()), Err)
    }

    /// Whether an interval has a block.
    pub(crate) fn pending(&self, interval: usize) -> bool {
        self.spill.partition_bytes(interval) > 0
    }

    /// Hands out the blocks of an interval in the order in which they came, and frees them.
    pub(crate) fn take(&self, interval: usize, mut sink: impl FnMut(&[u8])) -> Result<()> {
        let (extents, mut reader) = (self.spill.take(interval), self.spill.reader());
        for &extent in &extents {
            sink(self.counted(reader.read(extent)?));
        }
        self.spill.free(extents);
        Ok(())
    }

    /// Shows the blocks of an interval in the order in which they came, with their epochs. The
    /// blocks stay.
    pub(crate) fn replay(&self, interval: usize, mut show: impl FnMut(usize, &[u8])) -> Result<()> {
        let (extents, mut reader) = (self.spill.extents(interval), self.spill.reader());
        let mut epoch = 0;
        for (number, extent) in extents.into_iter().enumerate() {
            while self.epochs.get(epoch).is_some_and(|ends| ends[interval] <= number) {
                epoch += 1;
            }
            show(epoch, self.counted(reader.read(extent)?));
        }
        Ok(())
    }

    /// Ends an epoch.
    pub(crate) fn end_epoch(&mut self) {
        let ends = (0..self.spill.partitions()).map(|at| self.spill.extents(at).len());
        self.epochs.push(ends.collect());
    }

    /// Counts a block that was read, of which every byte is useful.
    fn counted<'b>(&self, block: &'b [u8]) -> &'b [u8] {
        self.counters.useful_bytes.fetch_add(block.len() as u64, Relaxed);
        block
    }
}
