//! Records on scratch, gathered in bins: each writer has a block of memory for each bin, and
//! appends it when it is full.

use std::path::Path;

use outercore_storage::{Disk, Spill, SpillReader};

use crate::error::Result;

/// Blocks are not smaller than this: a page is the least that can be written.
pub const LEAST_BLOCK: usize = 4 << 10;
/// Blocks are not larger than this: a device does not need it.
const MOST_BLOCK: usize = 64 << 10;

/// Bytes of a block, so that `threads` writers with a block for each of `bins` bins fit `memory`;
/// `None`: they do not.
pub fn block_of(memory: u64, threads: usize, bins: usize) -> Option<usize> {
    let block = memory as usize / (threads * bins) / LEAST_BLOCK * LEAST_BLOCK;
    (block >= LEAST_BLOCK).then_some(block.min(MOST_BLOCK))
}

/// Records of bytes, by bin.
pub struct Bins {
    spill: Spill,
    block: usize,
}

/// One thread's blocks.
pub struct BinWriter<'a> {
    bins: &'a Bins,
    blocks: Vec<Vec<u8>>,
}

/// One thread's way to read bins.
pub struct BinReader<'a> {
    bins: &'a Bins,
    reader: SpillReader<'a>,
}

impl Bins {
    /// So many empty bins, written in blocks of `block` bytes. A block is longer, by up to
    /// `longest` bytes, if it has one record and that is longer.
    pub fn create(
        disk: &Disk,
        scratch: &Path,
        bins: usize,
        block: usize,
        longest: usize,
    ) -> Result<Self> {
        Ok(Self { spill: Spill::create(disk, scratch, bins, block + longest)?, block })
    }

    /// How many bins there are.
    pub fn len(&self) -> usize {
        self.spill.partitions()
    }

    /// A writer for one thread.
    pub fn writer(&self) -> BinWriter<'_> {
        BinWriter { bins: self, blocks: vec![Vec::new(); self.len()] }
    }

    /// A reader for one thread.
    pub fn reader(&self) -> BinReader<'_> {
        BinReader { bins: self, reader: self.spill.reader() }
    }
}

impl BinWriter<'_> {
    /// The block of `bin`, to which a record of `bytes` bytes is to be appended.
    #[inline]
    pub fn room(&mut self, bin: usize, bytes: usize) -> Result<&mut Vec<u8>> {
        let whole = self.bins.block;
        if self.blocks[bin].len() + bytes > whole {
            self.flush(bin)?;
        }
        let block = &mut self.blocks[bin];
        if block.capacity() < whole {
            // Once and exactly: growth by doubling would take memory that the budget does not have.
            block.reserve_exact(whole);
        }
        Ok(block)
    }

    /// Hands over the block of `bin`, if a record has made it longer than blocks are: many such
    /// blocks would be more than the budget.
    #[inline]
    pub fn settle(&mut self, bin: usize) -> Result<()> {
        if self.blocks[bin].len() > self.bins.block { self.flush(bin) } else { Ok(()) }
    }

    fn flush(&mut self, bin: usize) -> Result<()> {
        let block = &mut self.blocks[bin];
        self.bins.spill.append(bin, block)?;
        block.clear();
        // One very long record does not leave a very long block.
        block.shrink_to(self.bins.block);
        Ok(())
    }

    /// Hands over every block.
    pub fn finish(mut self) -> Result<()> {
        (0..self.blocks.len()).try_for_each(|bin| self.flush(bin))
    }
}

impl BinReader<'_> {
    /// Hands every block of `bin` to `visit`: whole records.
    pub fn for_each(
        &mut self,
        bin: usize,
        mut visit: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        for extent in self.bins.spill.extents(bin) {
            visit(self.reader.read(extent)?)?;
        }
        Ok(())
    }
}

/// The number at `at`.
#[inline(always)]
pub fn field(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}
