//! [`DiskArray`]: an array on scratch, in blocks. Every block begins at a page, so that workers
//! write neighboring blocks without sharing one; every page has a checksum in memory, so that what
//! comes back is what was written, or an error. Its first blocks stay in memory where there is
//! room.
//!
//! Memory: 4 bytes for each page, and the blocks that stay.

use std::{
    path::Path,
    sync::{
        Mutex,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
};

use outercore_storage::{
    Disk, DiskFile, HugePages, HugeVec, PAGE, Pod, StorageError, checksum::page_sum,
};

use crate::{error::Result, session::Counters};

/// An array of fixed length on scratch. The file has no name: it goes with the process, however
/// that ends.
pub struct DiskArray<T: Pod> {
    file: DiskFile,
    /// The first blocks, which never leave memory.
    kept: Vec<Mutex<HugeVec<T>>>,
    /// First byte of each block in the file; one more than blocks.
    offsets: Vec<u64>,
    sums: Vec<AtomicU32>,
}

/// Memory for one block on its way from or to a [`DiskArray`].
pub struct Block<T: Pod> {
    memory: HugeVec<T>,
}

impl<T: Pod> Block<T> {
    /// Room for `items` items.
    pub fn new(items: usize) -> Result<Self> {
        Ok(Self { memory: HugeVec::zeroed(padded::<T>(items) / size_of::<T>(), HugePages::Off)? })
    }

    /// Bytes of memory of a block of `items` items.
    pub fn bytes(items: usize) -> u64 {
        padded::<T>(items) as u64
    }

    /// The first `items` items.
    pub fn items(&mut self, items: usize) -> &mut [T] {
        &mut self.memory[..items]
    }

    /// All of its room.
    pub fn all(&mut self) -> &mut [T] {
        &mut self.memory
    }
}

/// Bytes of `items` items, in whole pages that hold whole items.
fn padded<T>(items: usize) -> usize {
    const { assert!(PAGE.is_multiple_of(size_of::<T>()) || size_of::<T>().is_multiple_of(8)) };
    let bytes = (items * size_of::<T>()).next_multiple_of(PAGE);
    // A block's memory is cut into items: with odd sizes it takes a few pages more.
    if bytes.is_multiple_of(size_of::<T>()) {
        bytes
    } else {
        bytes.next_multiple_of(PAGE * size_of::<T>())
    }
}

/// The bytes of `items`, and of what pads them to whole pages.
fn bytes_of<T: Pod>(block: &mut Block<T>, items: usize) -> &mut [u8] {
    let bytes = (items * size_of::<T>()).next_multiple_of(PAGE);
    debug_assert!(bytes <= block.memory.len() * size_of::<T>());
    // SAFETY: the block's memory is that long, belongs to it alone for the length of the borrow,
    // and any bytes are valid items of a `Pod`.
    unsafe { std::slice::from_raw_parts_mut(block.memory.as_mut_ptr().cast::<u8>(), bytes) }
}

impl<T: Pod + Copy> DiskArray<T> {
    /// An array in a new file without a name in `folder`; block `b` has items
    /// `bounds[b]..bounds[b + 1]`. It must be stored before it is loaded.
    pub fn create(disk: &Disk, folder: &Path, bounds: &[u64]) -> Result<Self> {
        Self::create_near(disk, folder, bounds, &mut 0)
    }

    /// As [`DiskArray::create`]; as many of its first blocks as `room` bytes hold stay in memory,
    /// which is taken from `room`.
    pub fn create_near(disk: &Disk, folder: &Path, bounds: &[u64], room: &mut u64) -> Result<Self> {
        let mut kept = Vec::new();
        for pair in bounds.windows(2) {
            let items = (pair[1] - pair[0]) as usize;
            let bytes = Self::kept_bytes(items);
            if bytes > *room {
                break;
            }
            *room -= bytes;
            kept.push(Mutex::new(HugeVec::zeroed(items, HugePages::Off)?));
        }
        let file = disk.create_unnamed(folder, ".outercore-scratch")?;
        let mut offsets = vec![0];
        for pair in bounds.windows(2) {
            offsets.push(
                offsets[offsets.len() - 1]
                    + ((pair[1] - pair[0]) * size_of::<T>() as u64).next_multiple_of(PAGE as u64),
            );
        }
        let pages = offsets[offsets.len() - 1] / PAGE as u64;
        Ok(Self { file, kept, offsets, sums: (0..pages).map(|_| AtomicU32::new(0)).collect() })
    }

    /// Whether block `index` never leaves memory.
    pub fn is_kept(&self, index: usize) -> bool {
        index < self.kept.len()
    }

    /// Bytes of memory of a block of `items` items that stays.
    pub fn kept_bytes(items: usize) -> u64 {
        ((items * size_of::<T>()).next_multiple_of(PAGE) + PAGE) as u64
    }

    /// Bytes of memory for an array of `items` items in `blocks` blocks.
    pub fn memory(items: u64, blocks: u64) -> u64 {
        (items * size_of::<T>() as u64 / PAGE as u64 + blocks) * 4 + blocks * 8
    }

    /// Bytes of scratch on disk.
    pub fn disk_bytes(items: u64, blocks: u64) -> u64 {
        items * size_of::<T>() as u64 + blocks * PAGE as u64
    }

    /// Shows the first `items` items of block `index`, which are those that were written, in
    /// `block` unless they are in memory.
    pub fn read<R>(
        &self,
        counters: &Counters,
        index: usize,
        items: usize,
        block: &mut Block<T>,
        see: impl FnOnce(&[T]) -> R,
    ) -> Result<R> {
        if let Some(kept) = self.kept.get(index) {
            return Ok(see(&kept.lock().expect("no holder panics")[..items]));
        }
        self.load(counters, index, items, block)?;
        Ok(see(block.items(items)))
    }

    /// Writes `items` items of block `index`, all of which `make` makes; what it finds in their
    /// place means nothing.
    pub fn write<R>(
        &self,
        counters: &Counters,
        index: usize,
        items: usize,
        block: &mut Block<T>,
        make: impl FnOnce(&mut [T]) -> R,
    ) -> Result<R> {
        if let Some(kept) = self.kept.get(index) {
            return Ok(make(&mut kept.lock().expect("no holder panics")[..items]));
        }
        let result = make(block.items(items));
        self.store(counters, index, items, block)?;
        Ok(result)
    }

    /// Changes `items` items of block `index`, which are all that it has.
    pub fn update<R>(
        &self,
        counters: &Counters,
        index: usize,
        items: usize,
        block: &mut Block<T>,
        change: impl FnOnce(&mut [T]) -> R,
    ) -> Result<R> {
        if let Some(kept) = self.kept.get(index) {
            return Ok(change(&mut kept.lock().expect("no holder panics")[..items]));
        }
        self.load(counters, index, items, block)?;
        let result = change(block.items(items));
        self.store(counters, index, items, block)?;
        Ok(result)
    }

    /// Reads the first `items` items of block `index`, which are those that were written.
    pub fn load(
        &self,
        counters: &Counters,
        index: usize,
        items: usize,
        into: &mut Block<T>,
    ) -> Result<()> {
        if let Some(kept) = self.kept.get(index) {
            into.items(items).copy_from_slice(&kept.lock().expect("no holder panics")[..items]);
            return Ok(());
        }
        let (offset, bytes) = (self.offsets[index], bytes_of(into, items));
        debug_assert!(bytes.len() as u64 <= self.offsets[index + 1] - offset);
        self.file.read_at(bytes, offset)?;
        counters.bytes_read.fetch_add(bytes.len() as u64, Relaxed);
        counters.useful_bytes.fetch_add((items * size_of::<T>()) as u64, Relaxed);
        counters.requests.fetch_add(1, Relaxed);
        let first = offset / PAGE as u64;
        for (page, content) in (first..).zip(bytes.chunks_exact(PAGE)) {
            if page_sum(content) != self.sums[page as usize].load(Relaxed) {
                let damaged = std::io::Error::other(
                    "scratch came back from the device other than it was written",
                );
                return Err(StorageError::io(
                    "read",
                    self.file.path(),
                    page * PAGE as u64,
                    damaged,
                )
                .into());
            }
        }
        Ok(())
    }

    /// Writes `items` items of block `index`: all of it, or its front. What is behind them in
    /// `from`, up to a page, becomes zeros.
    pub fn store(
        &self,
        counters: &Counters,
        index: usize,
        items: usize,
        from: &mut Block<T>,
    ) -> Result<()> {
        if let Some(kept) = self.kept.get(index) {
            kept.lock().expect("no holder panics")[..items].copy_from_slice(from.items(items));
            return Ok(());
        }
        let bytes = bytes_of(from, items);
        bytes[items * size_of::<T>()..].fill(0);
        let offset = self.offsets[index];
        for (page, content) in (offset / PAGE as u64..).zip(bytes.chunks_exact(PAGE)) {
            self.sums[page as usize].store(page_sum(content), Relaxed);
        }
        self.file.write_at(bytes, offset)?;
        counters.bytes_written.fetch_add(bytes.len() as u64, Relaxed);
        Ok(())
    }
}
