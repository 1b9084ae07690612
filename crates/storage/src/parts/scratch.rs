//! [`ScratchFile`]: parts of one array in a file without a name, which goes with the process,
//! however that ends. Every part begins at a page, so threads write neighboring parts without
//! sharing one. Every page has a checksum in memory: what comes back is what was written, or an
//! error.
//!
//! Memory: 4 bytes for each page.

use std::{
    path::Path,
    sync::Arc,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
};

use crate::{
    PAGE,
    checksum::page_sum,
    disk::{Disk, DiskFile},
    error::{Result, StorageError},
};

/// Parts of an array.
pub struct ScratchFile {
    /// The file.
    pub file: Arc<DiskFile>,
    /// First byte of each part; one more than parts.
    offsets: Vec<u64>,
    sums: Vec<AtomicU32>,
}

impl ScratchFile {
    /// A file in a folder for parts of so many bytes.
    pub fn create(disk: &Disk, folder: &Path, parts: impl Iterator<Item = u64>) -> Result<Self> {
        let file = disk.create_unnamed(folder, ".outercore-scratch")?;
        let mut offsets = vec![0];
        for bytes in parts {
            offsets.push(offsets[offsets.len() - 1] + bytes.next_multiple_of(PAGE as u64));
        }
        let pages = offsets[offsets.len() - 1] / PAGE as u64;
        let file = Arc::new(file);
        Ok(Self { file, offsets, sums: (0..pages).map(|_| AtomicU32::new(0)).collect() })
    }

    /// Reads the first pages of a part, as many as `pages` holds.
    pub fn read(&self, part: usize, pages: &mut [u8]) -> Result<()> {
        self.file.read_at(pages, self.place(part, pages))?;
        self.verify(part, pages)
    }

    /// Compares the first pages of a part with their checksums.
    pub(super) fn verify(&self, part: usize, pages: &[u8]) -> Result<()> {
        let offset = self.place(part, pages);
        for (page, content) in (offset / PAGE as u64..).zip(pages.chunks_exact(PAGE)) {
            if page_sum(content) != self.sums[page as usize].load(Relaxed) {
                return Err(StorageError::scratch(self.file.path(), page * PAGE as u64));
            }
        }
        Ok(())
    }

    /// Writes the first pages of a part.
    pub fn write(&self, part: usize, pages: &[u8]) -> Result<()> {
        let offset = self.place(part, pages);
        for (page, content) in (offset / PAGE as u64..).zip(pages.chunks_exact(PAGE)) {
            self.sums[page as usize].store(page_sum(content), Relaxed);
        }
        self.file.write_at(pages, offset)
    }

    /// Where a part begins.
    pub(super) fn place(&self, part: usize, pages: &[u8]) -> u64 {
        let offset = self.offsets[part];
        debug_assert!(pages.len() as u64 <= self.offsets[part + 1] - offset);
        offset
    }
}
