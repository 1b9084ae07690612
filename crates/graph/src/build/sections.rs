//! Creating the sections of a graph under construction: where each file goes, and what the manifest
//! will say of it.

use std::path::PathBuf;

use outercore_storage::{Disk, SectionWriter};

use crate::{
    error::Result,
    format::{SectionEntry, section_files, sums_file},
};

/// Where the files of a graph under construction go.
#[derive(Clone, Debug)]
pub struct Folders {
    /// All file operations.
    pub disk: Disk,
    /// The folder that will become the graph.
    pub folder: PathBuf,
    /// The folders of the stripes; empty when nothing is striped.
    pub stripes: Vec<PathBuf>,
    /// Bytes of a stripe unit.
    pub unit: u64,
    /// Bytes of each of the two write-behind buffers of a section that is written in bulk.
    pub bulk: usize,
}

/// What these have in ample budgets.
pub const BULK: usize = 1 << 20;
/// The same for small sections.
pub const SMALL: usize = 64 << 10;

/// One section being written.
pub struct Section {
    name: String,
    striped: bool,
    writer: SectionWriter,
}

impl Folders {
    /// Begins a section; `bulk` ones are striped and have large buffers.
    pub fn section(&self, name: &str, bulk: bool) -> Result<Section> {
        let striped = bulk && !self.stripes.is_empty();
        let files = section_files(&self.folder, if striped { &self.stripes } else { &[] }, name);
        let writer = SectionWriter::create(
            &self.disk,
            &files,
            self.unit,
            &self.folder.join(sums_file(name)),
            if bulk { self.bulk } else { SMALL.min(self.bulk) },
        )?;
        Ok(Section { name: name.to_owned(), striped, writer })
    }
}

impl Section {
    /// Appends bytes.
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        Ok(self.writer.write(bytes)?)
    }

    /// Pads with zeros to a multiple of `bytes`.
    pub fn align_to(&mut self, bytes: usize) -> Result<()> {
        Ok(self.writer.align_to(bytes)?)
    }

    /// Bytes so far.
    pub fn position(&self) -> u64 {
        self.writer.position()
    }

    /// Ends sections, all of which become durable at the same time.
    pub fn finish_all(mut sections: Vec<Self>) -> Result<Vec<SectionEntry>> {
        sections.iter_mut().try_for_each(|section| section.writer.end())?;
        sections.into_iter().map(Self::finish).collect()
    }

    /// Ends the section, synced.
    pub fn finish(self) -> Result<SectionEntry> {
        let summary = self.writer.finish()?;
        Ok(SectionEntry {
            name: self.name,
            bytes: summary.bytes,
            sums_crc: summary.sums_crc,
            striped: self.striped,
        })
    }
}
