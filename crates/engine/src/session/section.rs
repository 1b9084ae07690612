//! [`OpenSection`]: a section as a session reads it, with the means to verify its pages.

use outercore_graph::{Graph, Result, SectionFile};
use std::sync::Arc;

use outercore_storage::{DiskFile, PageSums, Reader, StripedFile};

const PAGE: u64 = outercore_storage::PAGE as u64;

/// A section as a session reads it; cheap to share.
#[derive(Clone)]
pub struct OpenSection(Arc<Inner>);

struct Inner {
    section: SectionFile,
    first_file: usize,
    /// Checksums of its pages.
    sums: PageSums,
}

impl std::ops::Deref for OpenSection {
    type Target = SectionFile;

    fn deref(&self) -> &SectionFile {
        &self.0.section
    }
}

impl OpenSection {
    /// Opens a section; its files are appended to `files`, which are those that the queues know.
    pub(crate) fn open(graph: &Graph, name: &str, files: &mut Vec<Arc<DiskFile>>) -> Result<Self> {
        let section = graph.section(name)?;
        let first_file = files.len();
        files.extend(section.file.files().iter().cloned());
        let sums = section.sums(graph.disk())?;
        Ok(Self(Arc::new(Inner { section, first_file, sums })))
    }

    /// The section's file, as readers take it.
    pub(crate) fn queued(&self) -> (&StripedFile, usize) {
        (&self.file, self.0.first_file)
    }

    /// Reads `len` bytes from `offset` on (both multiples of a page), verified, and shows them to
    /// `take`. Nothing else may be in flight.
    pub(crate) fn fetch(
        &self,
        reader: &mut Reader,
        offset: u64,
        len: usize,
        take: impl FnOnce(&[u8]),
    ) -> Result<()> {
        let buffer = reader.read(self.queued(), offset, len)?;
        let verified = self.verify(offset, &buffer[..len]);
        if verified.is_ok() {
            take(&buffer[..len]);
        }
        reader.pool.give(buffer);
        verified
    }

    /// Verifies whole pages that were just read, each time they come from the device: what was
    /// right before may be damaged by now. `offset` is that of the first byte, a multiple of the
    /// page.
    pub(crate) fn verify(&self, offset: u64, bytes: &[u8]) -> Result<()> {
        self.0.section.verify(&self.0.sums, offset / PAGE, bytes)
    }

    /// Verifies what was just read from `offset` on, a multiple of a sector: whole pages against
    /// their checksums. Returns the bytes of the pages at the ends that are there in part.
    pub(crate) fn verify_blocks(&self, offset: u64, bytes: &[u8]) -> Result<u64> {
        let end = offset + bytes.len() as u64;
        let (first, last) = (offset.next_multiple_of(PAGE), end / PAGE * PAGE);
        if first >= last {
            return Ok(bytes.len() as u64);
        }
        self.verify(first, &bytes[(first - offset) as usize..(last - offset) as usize])?;
        Ok(first - offset + end - last)
    }
}
