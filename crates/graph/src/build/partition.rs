//! Partitioning: every edge goes to the bucket of its target, for the grid and the `in` rows. In a
//! directed graph it also goes to the bucket of its source, for the `out` rows. It is packed into
//! the fewest bytes.

use std::path::Path;

use outercore_storage::{Arena, Buffer, Disk, HugePages, Spill};

use super::{
    buckets::Buckets,
    packed::{BlockReader, HEADER, RecordCode, sealed},
};
use crate::error::Result;

/// The bytes of the smallest blocks.
pub const LEAST_BLOCK: usize = 4096;

/// Edges on scratch, by bucket.
pub struct Partition {
    spill: Spill,
    code: RecordCode,
    counts: Vec<std::sync::atomic::AtomicU64>,
    block_bytes: usize,
}

/// What one thread has gathered for each bucket.
pub struct PartitionWriter<'a> {
    partition: &'a Partition,
    blocks: Vec<Buffer>,
    filled: Vec<u32>,
}

impl Partition {
    /// An empty partition, written in blocks of `block_bytes`.
    pub fn create(
        disk: &Disk,
        scratch: &Path,
        buckets: usize,
        code: RecordCode,
        block_bytes: usize,
    ) -> Result<Self> {
        let counts = (0..buckets).map(|_| Default::default()).collect();
        Ok(Self {
            spill: Spill::create(disk, scratch, buckets, block_bytes)?,
            code,
            counts,
            block_bytes,
        })
    }

    /// A writer for one thread: one block of memory for each bucket.
    pub fn writer(&self) -> Result<PartitionWriter<'_>> {
        let count = self.counts.len();
        let arena = Arena::new(count * self.block_bytes, HugePages::Auto)?;
        let blocks = (0..count)
            .map(|index| arena.buffer(index * self.block_bytes, self.block_bytes))
            .collect();
        Ok(PartitionWriter { partition: self, blocks, filled: vec![HEADER as u32; count] })
    }

    /// Records in `bucket`.
    pub fn records(&self, bucket: usize) -> u64 {
        self.counts[bucket].load(std::sync::atomic::Ordering::Relaxed)
    }

    /// Bytes on scratch of the buckets that a worker cannot sort in memory.
    pub fn overfull_bytes(&self, buckets: &Buckets) -> u64 {
        (0..buckets.list().len())
            .filter(|&bucket| self.records(bucket) > buckets.capacity())
            .map(|bucket| self.spill.partition_bytes(bucket))
            .sum()
    }

    /// Reads the records of `bucket`, in no particular order.
    pub fn reader(&self, bucket: usize) -> BlockReader<'_> {
        BlockReader::new(self.spill.reader(), self.spill.extents(bucket), self.code)
    }
}

impl PartitionWriter<'_> {
    /// Adds an edge between `vertex` (by which it is partitioned) and `other`.
    #[inline(always)]
    pub fn push(&mut self, buckets: &Buckets, vertex: u64, other: u64, weight: u64) -> Result<()> {
        let index = buckets.find(vertex, other);
        let code = self.partition.code;
        let key = code.key(&buckets.list()[index], vertex, other);
        let filled = code.store(&mut self.blocks[index], self.filled[index] as usize, key, weight);
        self.filled[index] = filled as u32;
        if !code.has_room(filled, self.partition.block_bytes) { self.flush(index) } else { Ok(()) }
    }

    fn flush(&mut self, index: usize) -> Result<()> {
        let filled = self.filled[index] as usize;
        if filled > HEADER {
            let records = ((filled - HEADER) / self.partition.code.bytes()) as u64;
            self.partition.counts[index].fetch_add(records, std::sync::atomic::Ordering::Relaxed);
            self.partition.spill.append(index, sealed(&mut self.blocks[index], filled))?;
            self.filled[index] = HEADER as u32;
        }
        Ok(())
    }

    /// Hands over every block.
    pub fn finish(mut self) -> Result<()> {
        (0..self.blocks.len()).try_for_each(|index| self.flush(index))
    }
}

/// Bytes of a block, so that `writers` writers of `buckets` blocks fit into `memory`; `None` when
/// even small blocks do not.
pub fn block_bytes(memory: u64, writers: usize, buckets: usize) -> Option<usize> {
    let least = LEAST_BLOCK as u64;
    let share = memory / (writers * buckets) as u64 / least * least;
    (share >= least).then(|| share.min(256 << 10) as usize)
}
