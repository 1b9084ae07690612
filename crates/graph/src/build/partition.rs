//! Partitioning: every edge to the bucket of its target (for the grid and the `in` rows) and, in a
//! directed graph, to that of its source (for the `out` rows), packed into the fewest bytes.
//!
//! A record is the vertex within its bucket, shifted over the neighbor, then the weight. Sorted by
//! that number, a bucket's records are its rows.

use std::path::Path;

use outercore_storage::{Arena, Buffer, Disk, HugePages, Spill};

use super::{
    buckets::{Bucket, Buckets},
    radix::Record,
    weights::WeightCode,
};
use crate::error::Result;

/// Bytes of a block's header: how many records follow.
const HEADER: usize = 8;

/// How records are packed.
#[derive(Clone, Copy, Debug)]
pub struct RecordCode {
    /// Bits of a neighbor.
    pub other_bits: u32,
    /// Bytes of the key.
    pub key_bytes: usize,
    /// Bytes of the weight.
    pub weight_bytes: usize,
}

impl RecordCode {
    /// For vertices below `connected`, in these buckets.
    pub fn new(connected: u64, buckets: &Buckets, weights: WeightCode) -> Self {
        let widest =
            buckets.list().iter().map(|bucket| bucket.end - bucket.first).max().unwrap_or(1);
        let other_bits = 64 - connected.saturating_sub(1).leading_zeros();
        let vertex_bits = 64 - widest.saturating_sub(1).leading_zeros();
        assert!(other_bits + vertex_bits <= 64, "a bucket's ids and a neighbor fit 64 bits");
        Self {
            other_bits,
            key_bytes: (other_bits + vertex_bits).div_ceil(8).max(1) as usize,
            weight_bytes: weights.spill_bytes(),
        }
    }

    fn bytes(&self) -> usize {
        self.key_bytes + self.weight_bytes
    }

    /// The key of an edge between `vertex` of `bucket` and `other`.
    #[inline(always)]
    fn key(&self, bucket: &Bucket, vertex: u64, other: u64) -> u64 {
        ((vertex - bucket.first) << self.other_bits) | other
    }

    /// Bits of a key that can differ within `bucket`.
    pub fn bits(&self, bucket: &Bucket) -> u32 {
        self.other_bits + 64 - (bucket.end - bucket.first - 1).leading_zeros()
    }
}

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

    /// Reads the records of `bucket` into `records`, whose length is [`Partition::records`].
    pub fn read<R: Record>(&self, bucket: usize, records: &mut [R]) -> Result<()> {
        let mut reader = self.spill.reader();
        let mut at = 0;
        let mask =
            if self.code.key_bytes == 8 { u64::MAX } else { (1 << (8 * self.code.key_bytes)) - 1 };
        let weight_mask = if self.code.weight_bytes == 8 {
            u64::MAX
        } else {
            (1u64 << (8 * self.code.weight_bytes)) - 1
        };
        for extent in &self.spill.extents(bucket) {
            let bytes = reader.read(*extent)?;
            let filled =
                u64::from_le_bytes(bytes[..HEADER].try_into().expect("eight bytes")) as usize;
            let count = (filled - HEADER) / self.code.bytes();
            for (index, record) in records[at..at + count].iter_mut().enumerate() {
                let start = HEADER + index * self.code.bytes();
                let key = load(bytes, start) & mask;
                let payload = if self.code.weight_bytes == 0 {
                    0
                } else {
                    load(bytes, start + self.code.key_bytes) & weight_mask
                };
                *record = R::new(key, payload);
            }
            at += count;
        }
        debug_assert_eq!(at, records.len());
        Ok(())
    }
}

#[inline(always)]
fn load(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

impl PartitionWriter<'_> {
    /// Adds an edge between `vertex` (by which it is partitioned) and `other`.
    #[inline(always)]
    pub fn push(&mut self, buckets: &Buckets, vertex: u64, other: u64, weight: u64) -> Result<()> {
        let index = buckets.find(vertex, other);
        let code = self.partition.code;
        let key = code.key(&buckets.list()[index], vertex, other);
        let at = self.filled[index] as usize;
        let block = &mut self.blocks[index];
        block[at..at + 8].copy_from_slice(&key.to_le_bytes());
        if code.weight_bytes > 0 {
            let at = at + code.key_bytes;
            block[at..at + 8].copy_from_slice(&weight.to_le_bytes());
        }
        let filled = at + code.bytes();
        self.filled[index] = filled as u32;
        // The next record's last 8-byte store must stay inside the block.
        if filled + code.bytes() + 8 > self.partition.block_bytes {
            self.flush(index)
        } else {
            Ok(())
        }
    }

    fn flush(&mut self, index: usize) -> Result<()> {
        let filled = self.filled[index] as usize;
        if filled > HEADER {
            let block = &mut self.blocks[index];
            block[..HEADER].copy_from_slice(&(filled as u64).to_le_bytes());
            // A reader's last 8-byte load stays inside the block too.
            let whole = (filled + 8).next_multiple_of(outercore_storage::PAGE).min(block.len());
            let records = ((filled - HEADER) / self.partition.code.bytes()) as u64;
            self.partition.counts[index].fetch_add(records, std::sync::atomic::Ordering::Relaxed);
            self.partition.spill.append(index, &block[..whole])?;
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
    let share = memory / (writers * buckets) as u64 / 4096 * 4096;
    (share >= 4096).then(|| share.min(256 << 10) as usize)
}
