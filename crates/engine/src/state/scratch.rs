//! [`Scratch`]: where arrays go that do not stay in memory; [`ScratchFile`]: one such array. Every
//! interval begins at a page, so that workers write neighboring intervals without sharing one;
//! every page has a checksum in memory, so that what comes back is what was written, or an error.
//!
//! Memory: 4 bytes for each page.

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
};

use outercore_storage::{Disk, DiskFile, PAGE, StorageError, page_sum};

use crate::{
    error::Result,
    session::{Counters, Session},
};

/// Where the scratch files of a run are made, and where useful bytes of them are counted.
#[derive(Clone)]
pub struct Scratch {
    pub(crate) disk: Disk,
    pub(crate) folder: PathBuf,
    pub(crate) counters: Arc<Counters>,
}

impl Scratch {
    /// Files in `folder`.
    pub(crate) fn new(disk: &Disk, folder: PathBuf, counters: Arc<Counters>) -> Self {
        Self { disk: disk.clone(), folder, counters }
    }

    /// Files beside the session's graph.
    pub(crate) fn of(session: &Session) -> Self {
        Self::new(session.disk(), session.graph.scratch_folder(), Arc::clone(&session.counters))
    }
}

/// Intervals in a file without a name: it goes with the process, however that ends.
pub(super) struct ScratchFile {
    pub scratch: Scratch,
    pub file: DiskFile,
    /// First byte of each interval; one more than intervals.
    offsets: Vec<u64>,
    sums: Vec<AtomicU32>,
}

impl ScratchFile {
    /// A file for the intervals with these bounds, of items of `bytes` bytes.
    pub(crate) fn create(scratch: &Scratch, bounds: &[u64], bytes: usize) -> Result<Self> {
        let file = scratch.disk.create_unnamed(&scratch.folder, ".outercore-scratch")?;
        let mut offsets = vec![0];
        for pair in bounds.windows(2) {
            let length = ((pair[1] - pair[0]) * bytes as u64).next_multiple_of(PAGE as u64);
            offsets.push(offsets[offsets.len() - 1] + length);
        }
        let pages = offsets[offsets.len() - 1] / PAGE as u64;
        let sums = (0..pages).map(|_| AtomicU32::new(0)).collect();
        Ok(Self { scratch: scratch.clone(), file, offsets, sums })
    }

    /// Reads the first pages of an interval, as many as `pages` holds.
    pub(crate) fn read(&self, index: usize, pages: &mut [u8]) -> Result<()> {
        let offset = self.place(index, pages);
        self.file.read_at(pages, offset)?;
        for (page, content) in (offset / PAGE as u64..).zip(pages.chunks_exact(PAGE)) {
            if page_sum(content) != self.sums[page as usize].load(Relaxed) {
                let damaged = std::io::Error::other(
                    "scratch came back from the device other than it was written",
                );
                let (path, at) = (self.file.path(), page * PAGE as u64);
                return Err(StorageError::io("read", path, at, damaged).into());
            }
        }
        Ok(())
    }

    /// Writes the first pages of an interval.
    pub(crate) fn write(&self, index: usize, pages: &[u8]) -> Result<()> {
        let offset = self.place(index, pages);
        for (page, content) in (offset / PAGE as u64..).zip(pages.chunks_exact(PAGE)) {
            self.sums[page as usize].store(page_sum(content), Relaxed);
        }
        Ok(self.file.write_at(pages, offset)?)
    }

    fn place(&self, index: usize, pages: &[u8]) -> u64 {
        let offset = self.offsets[index];
        debug_assert!(pages.len() as u64 <= self.offsets[index + 1] - offset);
        offset
    }
}
