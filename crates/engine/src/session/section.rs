//! [`OpenSection`]: a section as a session reads it, with the means to verify its pages.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering::Relaxed},
};

use outercore_graph::{Graph, SectionFile};
use outercore_storage::{DiskFile, PageSums};

use crate::error::Result;

const PAGE: u64 = outercore_storage::PAGE as u64;

/// A section as a session reads it; cheap to share.
#[derive(Clone)]
pub struct OpenSection(Arc<Inner>);

struct Inner {
    section: SectionFile,
    first_file: usize,
    /// Checksums of its pages, and which pages were verified already in this run.
    sums: PageSums,
    verified: Vec<AtomicU64>,
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
        let verified = (0..section.pages().div_ceil(64)).map(|_| AtomicU64::new(0)).collect();
        Ok(Self(Arc::new(Inner { section, first_file, sums, verified })))
    }

    /// The number of its first file in the queues.
    pub(crate) fn first_file(&self) -> usize {
        self.0.first_file
    }

    /// Whether a page was verified already.
    fn is_known(&self, page: u64) -> bool {
        self.0.verified[(page / 64) as usize].load(Relaxed) >> (page % 64) & 1 == 1
    }

    /// Verifies whole pages that were just read, each once in a run. `offset` is that of the first
    /// byte, a multiple of the page.
    pub(crate) fn verify(&self, offset: u64, bytes: &[u8]) -> Result<()> {
        let (first, count) = (offset / PAGE, bytes.len() as u64 / PAGE);
        let mut page = first;
        while page < first + count {
            if self.is_known(page) {
                page += 1;
                continue;
            }
            let mut end = page + 1;
            while end < first + count && !self.is_known(end) {
                end += 1;
            }
            let at = ((page - first) * PAGE) as usize;
            let read = &bytes[at..at + ((end - page) * PAGE) as usize];
            self.0.section.verify(&self.0.sums, page, read)?;
            (page..end).for_each(|page| {
                self.0.verified[(page / 64) as usize].fetch_or(1 << (page % 64), Relaxed);
            });
            page = end;
        }
        Ok(())
    }

    /// Verifies what was just read from `offset` on, a multiple of a sector: whole pages against
    /// their checksums, each once in a run. Returns the bytes of the pages at the ends that are
    /// there in part and were not verified before.
    pub(crate) fn verify_blocks(&self, offset: u64, bytes: &[u8]) -> Result<u64> {
        let end = offset + bytes.len() as u64;
        let (first, last) = (offset.next_multiple_of(PAGE), end / PAGE * PAGE);
        if first < last {
            self.verify(first, &bytes[(first - offset) as usize..(last - offset) as usize])?;
        }
        let part = |from: u64, to: u64| {
            if from < to && !self.is_known(from / PAGE) { to - from } else { 0 }
        };
        Ok(if last < first {
            part(offset, end)
        } else {
            part(offset, first.min(end)) + part(last.max(offset), end)
        })
    }

    /// Bytes of memory that the checksums of a graph's section take.
    pub(crate) fn sums_bytes_of(graph: &Graph, name: &str) -> u64 {
        Self::sums_bytes(
            graph.manifest().section(name).map_or(0, |section| section.bytes.div_ceil(PAGE)),
        )
    }

    /// Bytes of memory that its checksums take.
    pub(crate) fn sums_bytes(pages: u64) -> u64 {
        pages * 4 + pages.div_ceil(64) * 8
    }
}
