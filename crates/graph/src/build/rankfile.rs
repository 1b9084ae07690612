//! A scratch file of one u64 for each rank, written and read in order: degrees and maps that memory
//! cannot hold.

use std::path::{Path, PathBuf};

use outercore_storage::{Disk, DiskFile, SectionWriter};

use crate::error::Result;

/// The finished file.
pub struct RankFile {
    file: DiskFile,
    len: u64,
}

/// The file while it is written.
pub struct RankFileWriter {
    disk: Disk,
    path: PathBuf,
    writer: SectionWriter,
    bytes: Vec<u8>,
    len: u64,
}

/// Entries read at once.
const BATCH: usize = 1 << 16;

impl RankFile {
    /// Begins a file of that name in `scratch`.
    pub fn create(disk: &Disk, scratch: &Path, name: &str) -> Result<RankFileWriter> {
        let path = scratch.join(name);
        let writer = SectionWriter::create(
            disk,
            std::slice::from_ref(&path),
            1 << 20,
            &scratch.join(format!("{name}.crc")),
            256 << 10,
        )?;
        Ok(RankFileWriter {
            disk: disk.clone(),
            path,
            writer,
            bytes: Vec::with_capacity(BATCH * 8),
            len: 0,
        })
    }

    /// Entries.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Its entries, one after the other.
    pub fn reader(&self) -> RankReader<'_> {
        RankReader { file: self, first: 0, at: 0, entries: Vec::new() }
    }

    /// Hands every entry to `visit`, in order.
    pub fn for_each(&self, mut visit: impl FnMut(u64) -> Result<()>) -> Result<()> {
        let mut entries = Vec::new();
        let mut first = 0;
        while first < self.len {
            self.read(first, (self.len - first).min(BATCH as u64) as usize, &mut entries)?;
            entries.iter().try_for_each(|&entry| visit(entry))?;
            first += entries.len() as u64;
        }
        Ok(())
    }

    /// Reads `count` entries from `first` on.
    pub fn read(&self, first: u64, count: usize, entries: &mut Vec<u64>) -> Result<()> {
        entries.clear();
        entries.resize(count, 0);
        Ok(self.file.read_at(bytemuck::cast_slice_mut(entries), first * 8)?)
    }
}

/// Reads entries one after the other.
pub struct RankReader<'f> {
    file: &'f RankFile,
    /// Of the entries that are at hand.
    first: u64,
    at: usize,
    entries: Vec<u64>,
}

impl RankReader<'_> {
    /// The next entry; `None`: there is no more.
    #[inline(always)]
    pub fn read_next(&mut self) -> Result<Option<u64>> {
        if self.at == self.entries.len() {
            self.first += self.at as u64;
            let left = self.file.len - self.first;
            self.file.read(self.first, left.min(BATCH as u64) as usize, &mut self.entries)?;
            self.at = 0;
        }
        let entry = self.entries.get(self.at).copied();
        self.at += usize::from(entry.is_some());
        Ok(entry)
    }
}

impl RankFileWriter {
    /// The next rank's entry.
    pub fn push(&mut self, entry: u64) -> Result<()> {
        self.bytes.extend_from_slice(&entry.to_le_bytes());
        self.len += 1;
        if self.bytes.len() == BATCH * 8 {
            self.writer.write(&self.bytes)?;
            self.bytes.clear();
        }
        Ok(())
    }

    /// Ends the file.
    pub fn finish(mut self) -> Result<RankFile> {
        self.writer.write(&self.bytes)?;
        self.writer.finish()?;
        Ok(RankFile { file: self.disk.open(&self.path)?, len: self.len })
    }
}
