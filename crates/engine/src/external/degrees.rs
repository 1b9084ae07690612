//! [`StoredDegrees`]: degrees on scratch, each stripe's in as few bytes as its largest takes: vertices are ordered by degree, so most stripes need one.

use std::{
    path::Path,
    sync::atomic::{AtomicU8, Ordering::Relaxed},
};

use outercore_storage::Disk;

use super::array::{Block, DiskArray};
use crate::{error::Result, session::Counters};

/// The degrees of all vertices, by stripe.
pub struct StoredDegrees {
    array: DiskArray<u32>,
    /// Bytes of a degree, by stripe.
    widths: Vec<AtomicU8>,
}

impl StoredDegrees {
    /// Stripe `s` has the vertices `bounds[s]..bounds[s + 1]`. It must be stored before it is loaded.
    pub fn create(disk: &Disk, folder: &Path, bounds: &[u64]) -> Result<Self> {
        let widths = (1..bounds.len()).map(|_| AtomicU8::new(0)).collect();
        Ok(Self { array: DiskArray::create(disk, folder, bounds)?, widths })
    }

    /// Writes the degrees of a stripe of `len` vertices; `block` has them before and after.
    pub fn store(&self, counters: &Counters, stripe: usize, len: usize, block: &mut Block<u32>) -> Result<()> {
        let width = match block.items(len).iter().max() {
            Some(0..=0xff) | None => 1,
            Some(0x100..=0xffff) => 2,
            _ => 4,
        };
        self.widths[stripe].store(width as u8, Relaxed);
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(block.items(len));
        // What is written lies at or before what is read next.
        (0..len).for_each(|at| bytes.copy_within(4 * at..4 * at + width, width * at));
        self.array.store(counters, stripe, (len * width).div_ceil(4), block)?;
        unpack(block.items(len), width);
        Ok(())
    }

    /// Reads the degrees of a stripe of `len` vertices.
    pub fn load(&self, counters: &Counters, stripe: usize, len: usize, block: &mut Block<u32>) -> Result<()> {
        let width = self.widths[stripe].load(Relaxed) as usize;
        self.array.load(counters, stripe, (len * width).div_ceil(4), block)?;
        unpack(block.items(len), width);
        Ok(())
    }
}

/// Spreads degrees of `width` bytes, which lie at the front, to four bytes each: the last one first.
fn unpack(degrees: &mut [u32], width: usize) {
    let len = degrees.len();
    let bytes: &mut [u8] = bytemuck::cast_slice_mut(degrees);
    for at in (0..len).rev() {
        let mut degree = [0; 4];
        degree[..width].copy_from_slice(&bytes[width * at..width * (at + 1)]);
        bytes[4 * at..4 * at + 4].copy_from_slice(&degree);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_degrees_take_fewer_bytes_and_come_back() {
        let folder = tempfile::tempdir().unwrap();
        let bounds = [0u64, 9_000, 18_000, 27_001, 27_001];
        let stored = StoredDegrees::create(&Disk::new(), folder.path(), &bounds).unwrap();
        let degree = |vertex: u64| [u32::MAX - 5, 65_535, 255][(vertex / 9_000).min(2) as usize].saturating_sub(vertex as u32 % 200);
        let mut block = Block::new(9_001).unwrap();
        let mut written = Vec::new();
        for (stripe, pair) in bounds.windows(2).enumerate() {
            let len = (pair[1] - pair[0]) as usize;
            let counters = Counters::default();
            block.items(len).iter_mut().zip(pair[0]..).for_each(|(slot, vertex)| *slot = degree(vertex));
            stored.store(&counters, stripe, len, &mut block).unwrap();
            assert!(block.items(len).iter().zip(pair[0]..).all(|(&slot, vertex)| slot == degree(vertex)), "the block keeps them");
            written.push(counters.bytes_written.load(Relaxed));
        }
        assert_eq!(written, [36_864, 20_480, 12_288, 0]);
        for (stripe, pair) in bounds.windows(2).enumerate() {
            let len = (pair[1] - pair[0]) as usize;
            stored.load(&Counters::default(), stripe, len, &mut block).unwrap();
            assert!(block.items(len).iter().zip(pair[0]..).all(|(&slot, vertex)| slot == degree(vertex)), "stripe {stripe}");
        }
    }
}
