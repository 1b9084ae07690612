//! Records (key, position, weight), by range of keys.

use super::{Dictionary, SINGLE};
use crate::{
    build::bins::{BinWriter, Bins, LEAST_BLOCK, block_of, field},
    error::Result,
};

/// Bytes of a record before weight and key: the position and the key's length.
const HEADER: usize = 12;

/// Records by range of keys.
pub struct Records {
    bins: Bins,
    /// Where ranges begin, but for the first.
    bounds: Vec<Vec<u8>>,
    key_bytes: u64,
    weighted: bool,
}

/// One thread's way there.
pub struct RecordWriter<'a> {
    records: &'a Records,
    writer: BinWriter<'a>,
}

impl Records {
    /// For keys of at most `longest` bytes, if they may be longer than numbers. Tables of all keys
    /// take `key_bytes` at the worst.
    pub fn create(
        dictionary: &Dictionary,
        bounds: Vec<Vec<u8>>,
        key_bytes: u64,
        longest: usize,
    ) -> Result<Self> {
        let Dictionary { disk, scratch, workers, memory, cutting, .. } = *dictionary;
        let count = bounds.len() + 1;
        let block = block_of(memory / 2, workers, count).unwrap_or(LEAST_BLOCK);
        let bins = Bins::create(disk, scratch, count, block, longest)?;
        Ok(Self { bins, bounds, key_bytes, weighted: cutting.weighted })
    }

    /// What tables of all keys take at the worst.
    pub fn key_bytes(&self) -> u64 {
        self.key_bytes
    }

    /// How many ranges of keys there are.
    pub fn partitions(&self) -> usize {
        self.bins.len()
    }

    /// A writer for one thread.
    pub fn writer(&self) -> RecordWriter<'_> {
        RecordWriter { records: self, writer: self.bins.writer() }
    }

    /// Hands every record of a partition to `visit`: key, position, weight.
    pub fn read(
        &self,
        partition: usize,
        mut visit: impl FnMut(&[u8], u64, f64) -> Result<()>,
    ) -> Result<()> {
        self.bins.reader().for_each(partition, |mut bytes| {
            while let Some((header, rest)) = bytes.split_at_checked(HEADER) {
                let position = field(header, 0);
                let len = u32::from_le_bytes(header[8..].try_into().expect("four bytes")) as usize;
                let (weight, rest) = if self.weighted {
                    (f64::from_bits(field(rest, 0)), &rest[8..])
                } else {
                    (0.0, rest)
                };
                let (key, rest) = rest.split_at(len);
                visit(key, position, weight)?;
                bytes = rest;
            }
            Ok(())
        })
    }
}

impl RecordWriter<'_> {
    /// A vertex that is no edge's end.
    pub fn single(&mut self, key: &[u8]) -> Result<()> {
        self.push(key, SINGLE, 0.0)
    }

    /// A record.
    pub fn push(&mut self, key: &[u8], position: u64, weight: f64) -> Result<()> {
        let Records { bounds, weighted, .. } = self.records;
        let partition = bounds.partition_point(|bound| bound.as_slice() <= key);
        let bytes = HEADER + if *weighted { 8 } else { 0 } + key.len();
        let block = self.writer.room(partition, bytes)?;
        block.extend_from_slice(&position.to_le_bytes());
        block.extend_from_slice(&(key.len() as u32).to_le_bytes());
        if *weighted {
            block.extend_from_slice(&weight.to_le_bytes());
        }
        block.extend_from_slice(key);
        self.writer.settle(partition)
    }

    /// Hands over what is gathered.
    pub fn finish(self) -> Result<()> {
        self.writer.finish()
    }
}
