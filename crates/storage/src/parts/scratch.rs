//! [`ScratchFile`]: parts of one array in a file without a name, which goes with the process,
//! however that ends. Every part begins at a page, so threads write neighboring parts without
//! sharing one. Every page has a checksum in memory: what comes back is what was written, or an
//! error.
//!
//! Memory: 4 bytes for each page.

use std::{
    path::Path,
    sync::{
        Arc, Mutex, OnceLock,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
};

use crate::{
    PAGE,
    checksum::page_sum,
    disk::{Disk, DiskFile},
    error::{Result, StorageError},
    monitor::lock,
};

/// Parts of an array.
pub struct ScratchFile {
    /// The file.
    pub file: Arc<DiskFile>,
    /// First byte of each part; one more than parts.
    offsets: Vec<u64>,
    sums: Vec<AtomicU32>,
    source: OnceLock<Source>,
}

/// What writes files when one of them is read first: then all that is to be in them.
#[derive(Clone)]
pub struct Source(Arc<Mutex<Option<Write>>>);

type Write = Box<dyn Fn() -> Result<()> + Send>;

impl Source {
    /// Files that `write` writes. It must not keep them alive, and is called again if it fails.
    pub fn new(write: impl Fn() -> Result<()> + Send + 'static) -> Self {
        Self(Arc::new(Mutex::new(Some(Box::new(write)))))
    }

    /// Writes the files, unless they are written.
    fn done(&self) -> Result<()> {
        let mut write = lock(&self.0);
        write.as_ref().map_or(Ok(()), |write| write())?;
        *write = None;
        Ok(())
    }
}

impl ScratchFile {
    /// A file in a folder for parts with these bounds, of items of so many bytes.
    pub fn create(disk: &Disk, folder: &Path, bounds: &[u64], item: usize) -> Result<Self> {
        let file = disk.create_unnamed(folder, ".outercore-scratch")?;
        let mut offsets = vec![0];
        for bytes in bounds.windows(2).map(|pair| (pair[1] - pair[0]) * item as u64) {
            offsets.push(offsets[offsets.len() - 1] + bytes.next_multiple_of(PAGE as u64));
        }
        let pages = offsets[offsets.len() - 1] / PAGE as u64;
        let file = Arc::new(file);
        let sums = (0..pages).map(|_| AtomicU32::new(0)).collect();
        Ok(Self { file, offsets, sums, source: OnceLock::new() })
    }

    /// Has the file written when it is read first.
    ///
    /// # Panics
    /// If that is so already.
    pub fn written_by(&self, source: Source) {
        assert!(self.source.set(source).is_ok(), "a file has one source");
    }

    /// Reads the first pages of a part, as many as `pages` holds.
    pub fn read(&self, part: usize, pages: &mut [u8]) -> Result<()> {
        self.source.get().map_or(Ok(()), Source::done)?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::Block;

    #[test]
    fn files_are_written_when_one_of_them_is_read_first() {
        let (folder, disk) = (tempfile::tempdir().unwrap(), Disk::new());
        let file =
            || Arc::new(ScratchFile::create(&disk, folder.path(), &[0, 1, 3], PAGE).unwrap());
        let files = [file(), file()];
        let written = || disk.counters().bytes_written.load(Relaxed);
        let (weak, fails) = (files.each_ref().map(Arc::downgrade), Arc::new(Mutex::new(true)));
        let failing = Arc::clone(&fails);
        let source = Source::new(move || {
            if *lock(&failing) {
                return Err(StorageError::Interrupted);
            }
            let mut block = Block::new(2 * PAGE)?;
            for (number, file) in weak.iter().enumerate() {
                let Some(file) = file.upgrade() else { continue };
                block.store((&file, 0), std::iter::repeat_n(number as u8, PAGE))?;
                block.store((&file, 1), std::iter::repeat_n(number as u8 + 7, 2 * PAGE))?;
            }
            Ok(())
        });
        files.iter().for_each(|file| file.written_by(source.clone()));
        drop(source);
        let mut block = Block::<u8>::new(PAGE).unwrap();
        block.load((&files[1], 1), PAGE).unwrap_err();
        assert_eq!(written(), 0);
        *lock(&fails) = false;
        for (file, part, content) in [(1, 1, 8), (0, 0, 0), (1, 0, 1)] {
            block.load((&files[file], part), PAGE).unwrap();
            assert_eq!((block.items(PAGE)[7], written()), (content, 6 * PAGE as u64));
        }
        assert_eq!(Arc::strong_count(&fails), 1, "the source is gone");
    }
}
