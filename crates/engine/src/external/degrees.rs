//! [`StoredDegrees`]: degrees on scratch, or in memory where there is room, each interval's in as few
//! bytes as its largest takes: vertices are ordered by degree, so most intervals need one.

use std::{
    path::Path,
    sync::atomic::{AtomicU8, Ordering::Relaxed},
};

use outercore_graph::Graph;
use outercore_storage::{Disk, PAGE};

use super::array::{Block, DiskArray};
use crate::{edges::degrees::Degrees, error::Result, session::Counters};

/// The degrees of all vertices, by interval.
pub struct StoredDegrees {
    array: DiskArray<u32>,
    /// Bytes of a degree, by interval.
    widths: Vec<AtomicU8>,
}

impl StoredDegrees {
    /// Interval `s` has the vertices `bounds[s]..bounds[s + 1]`. It must be stored before it is
    /// loaded. With `in_memory`, nothing goes to scratch.
    pub fn create(disk: &Disk, folder: &Path, bounds: &[u64], in_memory: bool) -> Result<Self> {
        let widths = (1..bounds.len()).map(|_| AtomicU8::new(0)).collect();
        // What a interval's degrees do not take of its block is never touched, and costs nothing.
        Ok(Self {
            array: DiskArray::create_near(
                disk,
                folder,
                bounds,
                &mut if in_memory { u64::MAX } else { 0 },
            )?,
            widths,
        })
    }

    /// Bytes of memory for all of a graph's degrees.
    pub fn memory(graph: &Graph, intervals: usize) -> Result<u64> {
        Ok(Degrees::narrow_bytes(graph)? + (intervals * 2 * PAGE) as u64)
    }

    /// Writes the degrees of a interval of `len` vertices; `block` has them before and after.
    pub fn store(
        &self,
        counters: &Counters,
        interval: usize,
        len: usize,
        block: &mut Block<u32>,
    ) -> Result<()> {
        let width = match block.items(len).iter().max() {
            Some(0..=0xff) | None => 1,
            Some(0x100..=0xffff) => 2,
            _ => 4,
        };
        self.widths[interval].store(width as u8, Relaxed);
        pack(block.items(len), width);
        self.array.store(counters, interval, (len * width).div_ceil(4), block)?;
        unpack(block.items(len), width);
        Ok(())
    }

    /// Reads the degrees of a interval of `len` vertices.
    pub fn load(
        &self,
        counters: &Counters,
        interval: usize,
        len: usize,
        block: &mut Block<u32>,
    ) -> Result<()> {
        let width = self.widths[interval].load(Relaxed) as usize;
        self.array.load(counters, interval, (len * width).div_ceil(4), block)?;
        unpack(block.items(len), width);
        Ok(())
    }
}

/// Brings degrees together at the front, in `width` bytes each: what is written lies at or before
/// what is read next.
fn pack(degrees: &mut [u32], width: usize) {
    match width {
        1 => gather::<1>(degrees),
        2 => gather::<2>(degrees),
        _ => {}
    }
}

fn gather<const WIDTH: usize>(degrees: &mut [u32]) {
    // In steps of 64, whose copy lets the compiler use vectors.
    for first in (0..degrees.len()).step_by(64) {
        let count = (degrees.len() - first).min(64);
        let mut narrow = [[0; WIDTH]; 64];
        for (narrow, wide) in narrow.iter_mut().zip(&degrees[first..first + count]) {
            narrow.copy_from_slice(&wide.to_le_bytes()[..WIDTH]);
        }
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(degrees);
        bytes[WIDTH * first..WIDTH * (first + count)]
            .copy_from_slice(narrow[..count].as_flattened());
    }
}

/// Spreads degrees of `width` bytes, which lie at the front, to four bytes each: the last one
/// first.
fn unpack(degrees: &mut [u32], width: usize) {
    match width {
        1 => spread::<1>(degrees),
        2 => spread::<2>(degrees),
        _ => {}
    }
}

fn spread<const WIDTH: usize>(degrees: &mut [u32]) {
    let len = degrees.len();
    let bytes: &mut [u8] = bytemuck::cast_slice_mut(degrees);
    // In steps of 64, whose copy lets the compiler use vectors.
    let mut end = len;
    while end > 0 {
        let first = (end - 1) / 64 * 64;
        let mut narrow = [[0; WIDTH]; 64];
        let count = end - first;
        narrow[..count].as_flattened_mut().copy_from_slice(&bytes[WIDTH * first..WIDTH * end]);
        for (wide, narrow) in
            bytes[4 * first..4 * end].as_chunks_mut::<4>().0.iter_mut().zip(&narrow[..count])
        {
            *wide = [0; 4];
            wide[..WIDTH].copy_from_slice(narrow);
        }
        end = first;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_degrees_take_fewer_bytes_and_come_back() {
        let folder = tempfile::tempdir().unwrap();
        let bounds = [0u64, 9_000, 18_000, 27_001, 27_001];
        let stored = StoredDegrees::create(&Disk::new(), folder.path(), &bounds, false).unwrap();
        let degree = |vertex: u64| {
            [u32::MAX - 5, 65_535, 255][(vertex / 9_000).min(2) as usize]
                .saturating_sub(vertex as u32 % 200)
        };
        let mut block = Block::new(9_001).unwrap();
        let mut written = Vec::new();
        for (interval, pair) in bounds.windows(2).enumerate() {
            let len = (pair[1] - pair[0]) as usize;
            let counters = Counters::default();
            block
                .items(len)
                .iter_mut()
                .zip(pair[0]..)
                .for_each(|(slot, vertex)| *slot = degree(vertex));
            stored.store(&counters, interval, len, &mut block).unwrap();
            assert!(
                block
                    .items(len)
                    .iter()
                    .zip(pair[0]..)
                    .all(|(&slot, vertex)| slot == degree(vertex)),
                "the block keeps them"
            );
            written.push(counters.bytes_written.load(Relaxed));
        }
        assert_eq!(written, [36_864, 20_480, 12_288, 0]);
        for (interval, pair) in bounds.windows(2).enumerate() {
            let len = (pair[1] - pair[0]) as usize;
            stored.load(&Counters::default(), interval, len, &mut block).unwrap();
            assert!(
                block
                    .items(len)
                    .iter()
                    .zip(pair[0]..)
                    .all(|(&slot, vertex)| slot == degree(vertex)),
                "interval {interval}"
            );
        }
    }
}
