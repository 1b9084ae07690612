//! The sections of an opened graph: files that are open, and the checksums to verify them by.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use outercore_storage::{DirLock, Disk, DiskFile, PAGE, PageSums, StorageError, StripedFile};

use crate::{
    error::{GraphError, Result, is_odd, of_part},
    format::{Manifest, SectionEntry, sums_file},
};

/// A section's file, and that of its checksums. Where there is none, or something else in its
/// place, the error is kept for whoever reads the section.
pub(super) type OpenedSection = (StripedFile, std::result::Result<DiskFile, StorageError>);

/// A section whose pages are verified as they are read.
pub struct Table {
    /// The section.
    pub section: SectionFile,
    pub(super) sums: Arc<PageSums>,
}

/// A section opened for reading, with the means to verify it.
pub struct SectionFile {
    /// The bytes.
    pub file: Arc<StripedFile>,
    /// Its name.
    pub name: String,
    /// Length in bytes, without the padding to a page.
    pub bytes: u64,
    pub(super) sums: std::result::Result<DiskFile, StorageError>,
    pub(super) sums_crc: u32,
}

/// The manifest of a locked graph, and the files of its sections.
pub(super) fn open_sections(
    disk: &Disk,
    folder: &DirLock,
) -> Result<(Manifest, Vec<OpenedSection>)> {
    let manifest = Manifest::read_in(disk, folder)?;
    let mut files = Vec::with_capacity(manifest.sections.len());
    for entry in &manifest.sections {
        let section = open_files(disk, folder, &manifest, entry)?;
        let sums = match disk.open_buffered_in(folder, &sums_file(&entry.name)) {
            // Another graph may have the name by now.
            Err(error) if is_odd(&error) && disk.is_in_place(folder)? => Err(error),
            sums => Ok(sums.map_err(of_part)?),
        };
        files.push((section, sums));
    }
    Ok((manifest, files))
}

fn open_files(
    disk: &Disk,
    folder: &DirLock,
    manifest: &Manifest,
    entry: &SectionEntry,
) -> Result<StripedFile> {
    let stripes: &[PathBuf] = if entry.striped { &manifest.stripes } else { &[] };
    if let Some(missing) = stripes.iter().find(|stripe| !stripe.is_dir()) {
        let path = folder.path().to_owned();
        return Err(GraphError::StripeMissing { path, stripe: missing.clone() });
    }
    let padded = entry.bytes.next_multiple_of(PAGE as u64);
    let files = if stripes.is_empty() {
        vec![disk.open_in(folder, &entry.name).map_err(of_part)?]
    } else {
        let open = |stripe: &PathBuf| disk.open(&stripe.join(&entry.name));
        stripes.iter().map(open).collect::<outercore_storage::Result<_>>().map_err(of_part)?
    };
    let section = StripedFile::of(files, manifest.stripe_unit, padded).map_err(of_part)?;
    for (at, file) in section.files().iter().enumerate() {
        let wanted = section.layout().share(section.files().len(), at, padded);
        let has = file.len()?;
        if has != wanted {
            let what = format!("it has {has} bytes instead of {wanted}");
            return Err(GraphError::Corrupt { path: file.path().to_owned(), what });
        }
    }
    Ok(section)
}

impl Table {
    /// Reads whole pages from page `first` on, verified.
    pub fn read_pages(&self, first: u64, bytes: &mut [u8]) -> Result<()> {
        self.section.file.read_pages_at(bytes, first * PAGE as u64, bytes.len())?;
        self.section.verify(&self.sums, first, bytes)
    }

    /// `len` bytes from `start` on.
    pub fn read(&self, start: u64, len: usize) -> Result<Vec<u8>> {
        self.section.read_verified(&self.sums, start, len)
    }
}

impl SectionFile {
    /// `len` bytes from `start` on, verified by the section's own checksums.
    pub fn read_verified(&self, sums: &PageSums, start: u64, len: usize) -> Result<Vec<u8>> {
        const PAGE_BYTES: u64 = PAGE as u64;
        if start.checked_add(len as u64).is_none_or(|end| end > self.bytes) {
            let what =
                format!("it has {} bytes, and {len} are wanted from byte {start} on", self.bytes);
            return Err(GraphError::Corrupt { path: self.path().to_owned(), what });
        }
        let (first, end) = (start / PAGE_BYTES, (start + len as u64).div_ceil(PAGE_BYTES));
        let mut bytes = vec![0; ((end.max(first) - first) * PAGE_BYTES) as usize];
        self.file.read_pages_at(&mut bytes, first * PAGE_BYTES, len)?;
        self.verify(sums, first, &bytes)?;
        let lead = (start - first * PAGE_BYTES) as usize;
        if lead > 0 {
            bytes.copy_within(lead..lead + len, 0);
        }
        bytes.truncate(len);
        Ok(bytes)
    }

    /// Pages, the padded last one included.
    pub fn pages(&self) -> u64 {
        self.bytes.div_ceil(PAGE as u64)
    }

    /// The section's page checksums, themselves verified against the manifest; `disk` counts what
    /// is read.
    pub fn sums(&self, disk: &Disk) -> Result<PageSums> {
        let file = match &self.sums {
            Ok(file) => file.counted_by(disk),
            Err(error) => return Err(of_part(error.duplicate())),
        };
        let sums = PageSums::read(&file, self.pages()).map_err(|error| match error {
            // What there is, and what there should be.
            StorageError::Truncated { path, offset, wanted } => {
                let what = format!("it has {offset} bytes instead of {wanted}");
                GraphError::Corrupt { path, what }
            }
            other => of_part(other),
        })?;
        if sums.seal() != self.sums_crc {
            return Err(GraphError::Corrupt {
                path: file.path().to_owned(),
                what: "its checksum does not match the manifest".to_owned(),
            });
        }
        Ok(sums)
    }

    /// Compares pages that were read, the first of which is page `first`, with their sums. The
    /// error names the file of the stripes that has the page, and the page's number there.
    pub fn verify(&self, sums: &PageSums, first: u64, bytes: &[u8]) -> Result<()> {
        let located = |error| match error {
            StorageError::Checksum { page, .. } => {
                let (path, page) = self.place(page);
                StorageError::Checksum { path: path.to_owned(), page }
            }
            other => other,
        };
        Ok(sums.verify(first, bytes, self.path()).map_err(located)?)
    }

    /// Which file has a page, and which page of that it is.
    pub(crate) fn place(&self, page: u64) -> (&Path, u64) {
        let files = self.file.files();
        let (file, offset) =
            self.file.layout().locate(files.len().max(1), page.saturating_mul(PAGE as u64));
        (files.get(file).map_or(Path::new(""), |file| file.path()), offset / PAGE as u64)
    }

    /// The file that a fault of the whole section is reported in: the first of the stripes.
    pub fn path(&self) -> &Path {
        self.file.files().first().map_or(Path::new(""), |file: &Arc<DiskFile>| file.path())
    }

    /// Reads the whole section, verified.
    pub fn read_all(&self, disk: &Disk) -> Result<Vec<u8>> {
        let mut bytes = vec![0; (self.pages() * PAGE as u64) as usize];
        self.file.read_pages_at(&mut bytes, 0, self.bytes as usize)?;
        self.verify(&self.sums(disk)?, 0, &bytes)?;
        bytes.truncate(self.bytes as usize);
        Ok(bytes)
    }
}
