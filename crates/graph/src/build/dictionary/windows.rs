//! Records (position, rank, weight), by window of positions.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::{Dictionary, table_share};
use crate::{
    build::{
        BuildProgress,
        bins::{BinWriter, Bins, block_of, field},
        parallel,
        spool::{Spool, SpoolWriter},
    },
    error::Result,
};

/// Records by window of positions.
pub struct PositionWindows {
    bins: Bins,
    edges: u64,
    /// Edges of a window.
    window: u64,
    weighted: bool,
}

/// One thread's way there.
pub struct WindowWriter<'a> {
    windows: &'a PositionWindows,
    writer: BinWriter<'a>,
}

impl PositionWindows {
    /// Windows over the positions of so many edges, each filled in the memory of one of so many
    /// workers: how wide they are, how many, and the bytes of a block; `None`: `memory` bytes are
    /// too few.
    pub fn cut(
        memory: u64,
        workers: usize,
        (edges, weighted): (u64, bool),
    ) -> Option<(u64, usize, usize)> {
        let record = if weighted { 24 } else { 16 };
        let window = table_share(memory, workers) / record;
        let window = window.clamp(1 << 10, edges.max(1 << 10));
        let count = edges.div_ceil(window).max(1) as usize;
        Some((window, count, block_of(memory / 4, workers, count)?))
    }

    /// Windows for so many edges, as they are cut.
    pub fn create(
        dictionary: &Dictionary,
        edges: u64,
        (window, count, block): (u64, usize, usize),
    ) -> Result<Self> {
        let Dictionary { disk, scratch, cutting, .. } = *dictionary;
        let bins = Bins::create(disk, scratch, count, block, 0)?;
        Ok(Self { bins, edges, window, weighted: cutting.weighted })
    }

    /// A writer for one thread.
    pub fn writer(&self) -> WindowWriter<'_> {
        WindowWriter { windows: self, writer: self.bins.writer() }
    }

    fn record(&self) -> usize {
        if self.weighted { 24 } else { 16 }
    }

    /// Turns every window into edges of `spool`; `bases` holds the first rank of each key
    /// partition.
    pub fn drain(
        &self,
        threads: usize,
        bases: &[u64],
        spool: &Spool,
        progress: &dyn BuildProgress,
    ) -> Result<()> {
        let next = AtomicU64::new(0);
        let count = self.edges.div_ceil(self.window);
        parallel(threads, |_| {
            let mut writer = spool.writer();
            loop {
                let window = next.fetch_add(1, Relaxed);
                if window >= count {
                    return writer.flush();
                }
                self.drain_one(window, bases, &mut writer)?;
                progress.advance(self.window.min(self.edges - window * self.window));
                progress.check()?;
            }
        })
    }

    fn drain_one(&self, window: u64, bases: &[u64], writer: &mut SpoolWriter) -> Result<()> {
        let first = window * self.window;
        let count = self.window.min(self.edges - first) as usize;
        let mut pairs = vec![[0u64; 2]; count];
        let mut weights = vec![0.0f64; if self.weighted { count } else { 0 }];
        self.bins.reader().for_each(window as usize, |bytes| {
            for record in bytes.chunks_exact(self.record()) {
                let (position, packed) = (field(record, 0), field(record, 8));
                let edge = (position / 2 - first) as usize;
                pairs[edge][(position % 2) as usize] =
                    bases[(packed >> 40) as usize] + (packed & ((1 << 40) - 1));
                if self.weighted {
                    weights[edge] = f64::from_bits(field(record, 16));
                }
            }
            Ok(())
        })?;
        pairs
            .iter()
            .enumerate()
            .try_for_each(|(index, &pair)| writer.push(pair, weights.get(index).copied()))
    }
}

impl WindowWriter<'_> {
    /// A record. `packed` is a key partition and, in 40 bits, the rank within it.
    pub fn push(&mut self, position: u64, packed: u64, weight: f64) -> Result<()> {
        let window = (position / 2 / self.windows.window) as usize;
        let block = self.writer.room(window, self.windows.record())?;
        block.extend_from_slice(&position.to_le_bytes());
        block.extend_from_slice(&packed.to_le_bytes());
        if self.windows.weighted {
            block.extend_from_slice(&weight.to_le_bytes());
        }
        Ok(())
    }

    /// Hands over what is gathered.
    pub fn finish(self) -> Result<()> {
        self.writer.finish()
    }
}
