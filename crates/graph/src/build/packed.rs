//! Records on scratch, packed into the fewest bytes, in blocks.
//!
//! A record is the vertex within its bucket, shifted over the neighbor, then the weight. Sorted by
//! that number, a bucket's records are its rows. A block is a header of 8 bytes (where its records
//! end), then the records.

use outercore_storage::{Extent, PAGE, SpillReader};

use super::{
    buckets::{Bucket, Buckets},
    radix::Record,
    weights::WeightCode,
};
use crate::error::Result;

/// Bytes of a block's header.
pub const HEADER: usize = 8;
/// Bytes that one store or load takes, however few a record has.
const WORD: usize = 8;

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

    /// Bytes of a record.
    pub fn bytes(&self) -> usize {
        self.key_bytes + self.weight_bytes
    }

    /// The key of an edge between `vertex` of `bucket` and `other`.
    #[inline(always)]
    pub fn key(&self, bucket: &Bucket, vertex: u64, other: u64) -> u64 {
        ((vertex - bucket.first) << self.other_bits) | other
    }

    /// Bits of a key that can differ within `bucket`.
    pub fn bits(&self, bucket: &Bucket) -> u32 {
        self.other_bits + 64 - (bucket.end - bucket.first - 1).leading_zeros()
    }

    /// Stores a record at `at`, where there is room for it ([`RecordCode::has_room`]); returns
    /// where it ends.
    #[inline(always)]
    pub fn store(&self, block: &mut [u8], at: usize, key: u64, weight: u64) -> usize {
        block[at..at + WORD].copy_from_slice(&key.to_le_bytes());
        if self.weight_bytes > 0 {
            let at = at + self.key_bytes;
            block[at..at + WORD].copy_from_slice(&weight.to_le_bytes());
        }
        at + self.bytes()
    }

    /// Whether a block of `block_bytes` that is filled up to `filled` has room for a record: its
    /// last store must stay inside the block.
    #[inline(always)]
    pub fn has_room(&self, filled: usize, block_bytes: usize) -> bool {
        filled + self.bytes() + WORD <= block_bytes
    }

    /// The most records of a block of `block_bytes`.
    pub fn most_records(&self, block_bytes: usize) -> usize {
        (block_bytes - HEADER - WORD) / self.bytes()
    }
}

/// A block whose records end at `filled`, with its header: as many whole pages as it takes.
pub fn sealed(block: &mut [u8], filled: usize) -> &[u8] {
    block[..HEADER].copy_from_slice(&(filled as u64).to_le_bytes());
    // A reader's last load stays inside the block too.
    let whole = (filled + WORD).next_multiple_of(PAGE).min(block.len());
    &block[..whole]
}

/// Reads the records of some blocks, as many at a time as there is room for.
pub struct BlockReader<'s> {
    reader: SpillReader<'s>,
    cursor: BlockCursor,
    code: RecordCode,
}

/// Where in a row of blocks a reader is.
pub struct BlockCursor {
    blocks: std::vec::IntoIter<Extent>,
    current: Option<Extent>,
    /// Where the current block's next record begins.
    at: usize,
}

impl<'s> BlockReader<'s> {
    /// Reads `blocks`, of records of `code`.
    pub fn new(reader: SpillReader<'s>, blocks: Vec<Extent>, code: RecordCode) -> Self {
        Self { reader, cursor: BlockCursor::new(blocks), code }
    }

    /// Appends the next records until there are `most`, or no more.
    pub fn fill<R: Record>(&mut self, records: &mut Vec<R>, most: usize) -> Result<()> {
        while records.len() < most
            && self.cursor.append(&mut self.reader, &self.code, records, most)?
        {}
        Ok(())
    }
}

impl BlockCursor {
    /// At the beginning of `blocks`.
    pub fn new(blocks: Vec<Extent>) -> Self {
        let mut blocks = blocks.into_iter();
        Self { current: blocks.next(), blocks, at: HEADER }
    }

    /// Appends records of the current block until there are `most`, or it ends; `false`: there was
    /// no block.
    pub fn append<R: Record>(
        &mut self,
        reader: &mut SpillReader,
        code: &RecordCode,
        records: &mut Vec<R>,
        most: usize,
    ) -> Result<bool> {
        let Some(block) = self.current else { return Ok(false) };
        let bytes = reader.read(block)?;
        let end = load(bytes, 0) as usize;
        let count = ((end - self.at) / code.bytes()).min(most - records.len());
        let (key_mask, weight_mask) = (mask(code.key_bytes), mask(code.weight_bytes));
        records.extend((0..count).map(|index| {
            let start = self.at + index * code.bytes();
            let key = load(bytes, start) & key_mask;
            let weight = if code.weight_bytes == 0 {
                0
            } else {
                load(bytes, start + code.key_bytes) & weight_mask
            };
            R::new(key, weight)
        }));
        self.at += count * code.bytes();
        if self.at >= end {
            (self.current, self.at) = (self.blocks.next(), HEADER);
        }
        Ok(true)
    }
}

/// The low `bytes` bytes.
fn mask(bytes: usize) -> u64 {
    if bytes >= WORD { u64::MAX } else { (1 << (8 * bytes)) - 1 }
}

#[inline(always)]
fn load(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + WORD].try_into().expect("eight bytes"))
}
