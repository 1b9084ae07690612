//! CRC-32C of pages: computed when a section is written, verified when it is read.
//!
//! Memory: [`PageSums`] holds 4 bytes for each page of its range, a thousandth of the section.

use crc_fast::{CrcAlgorithm::Crc32Iscsi, Digest};

use crate::PAGE;
use crate::arena::bytes_of;
use crate::disk::{Disk, DiskFile};
use crate::error::{Result, StorageError};
use std::path::Path;

/// The checksum of any bytes.
pub fn crc32c(bytes: &[u8]) -> u32 {
    crc_fast::checksum(Crc32Iscsi, bytes) as u32
}

/// The checksum of bytes that come one after the other.
pub struct Running(Digest);

impl Running {
    /// Of no bytes.
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        Self(Digest::new(Crc32Iscsi))
    }

    /// Goes on with these bytes.
    pub fn add(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.update(bytes);
        self
    }

    /// The checksum of all so far.
    pub fn sum(&self) -> u32 {
        self.0.finalize() as u32
    }
}

/// The checksum of one page. What is shorter than a page is taken as if zeros followed.
///
/// # Panics
/// If there is more than a page.
pub fn page_sum(page: &[u8]) -> u32 {
    const ZEROS: [u8; PAGE] = [0; PAGE];
    if page.len() == PAGE {
        return crc32c(page);
    }
    Running::new().add(page).add(&ZEROS[page.len()..]).sum()
}

/// The checksums of a range of pages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageSums {
    first: u64,
    sums: Vec<u32>,
}

impl PageSums {
    /// The sums of a section's pages from the first on.
    pub fn new(sums: Vec<u32>) -> Self {
        Self { first: 0, sums }
    }

    /// Reads the sums of all `pages` pages of a section. The file must have exactly so many.
    pub fn load(disk: &Disk, path: &Path, pages: u64) -> Result<Self> {
        Self::read(&disk.open_buffered(path)?, pages)
    }

    /// The same from a file that is open.
    pub fn read(file: &DiskFile, pages: u64) -> Result<Self> {
        let (has, wanted) = (file.len()?, pages.saturating_mul(4));
        if has != wanted {
            return Err(StorageError::truncated(file.path(), has, wanted));
        }
        Self::read_range(file, 0, pages)
    }

    /// Reads the sums of `pages` pages from page `first` on.
    pub fn load_range(disk: &Disk, path: &Path, first: u64, pages: u64) -> Result<Self> {
        Self::read_range(&disk.open_buffered(path)?, first, pages)
    }

    fn read_range(file: &DiskFile, first: u64, pages: u64) -> Result<Self> {
        let end = first.saturating_add(pages).saturating_mul(4);
        if file.len()? < end {
            return Err(StorageError::truncated(
                file.path(),
                first.saturating_mul(4),
                pages.saturating_mul(4),
            ));
        }
        let mut sums = Vec::with_capacity(pages as usize);
        let mut bytes = vec![0; 1 << 16];
        let mut at = first * 4;
        while at < end {
            let len = (end - at).min(bytes.len() as u64) as usize;
            file.read_at(&mut bytes[..len], at)?;
            sums.extend(bytes[..len].as_chunks().0.iter().map(|&sum| u32::from_le_bytes(sum)));
            at += len as u64;
        }
        Ok(Self { first, sums })
    }

    /// The first page of the range.
    pub fn first(&self) -> u64 {
        self.first
    }

    /// The sums, in the order of the pages.
    pub fn sums(&self) -> &[u32] {
        &self.sums
    }

    /// The CRC-32C of the sums as they are in the file, which seals the file itself.
    pub fn seal(&self) -> u32 {
        crc32c(bytes_of(&self.sums))
    }

    /// Compares pages in memory, the first of which is page `first_page` of the section, with their
    /// sums. The last one may be cut off where its zeros begin. `path` is only for the error. Pages
    /// outside of the range are damaged by definition.
    pub fn verify(&self, first_page: u64, bytes: &[u8], path: &Path) -> Result<()> {
        let damaged = |page| StorageError::Checksum { path: path.to_owned(), page };
        let start = first_page.checked_sub(self.first).ok_or_else(|| damaged(first_page))?;
        let mut sums = usize::try_from(start)
            .ok()
            .and_then(|start| self.sums.get(start..))
            .unwrap_or_default()
            .iter();
        match bytes.chunks(PAGE).position(|content| sums.next() != Some(&page_sum(content))) {
            Some(page) => Err(damaged(first_page.saturating_add(page as u64))),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages(count: usize) -> (Vec<u8>, PageSums) {
        let bytes: Vec<u8> = (0..count * PAGE).map(|i| (i * 31 + i / 4096) as u8).collect();
        let sums = PageSums::new(bytes.chunks(PAGE).map(page_sum).collect());
        (bytes, sums)
    }

    #[test]
    fn is_crc_32c_with_zero_padding() {
        assert_eq!(crc32c(b"123456789"), 0xE306_9283);
        let mut page = vec![0; PAGE];
        page[..3].copy_from_slice(b"abc");
        assert_eq!(page_sum(b"abc"), page_sum(&page));
        assert_eq!(page_sum(&[]), page_sum(&[0; PAGE]));
        assert_ne!(page_sum(b"abc"), page_sum(b"abd"));
    }

    #[test]
    fn names_the_damaged_page() {
        let (mut bytes, sums) = pages(5);
        let path = Path::new("section");
        sums.verify(0, &bytes, path).unwrap();
        sums.verify(2, &bytes[2 * PAGE..4 * PAGE], path).unwrap();
        bytes[3 * PAGE + 17] ^= 4;
        assert!(matches!(
            sums.verify(1, &bytes[PAGE..], path),
            Err(StorageError::Checksum { page: 3, .. })
        ));
        sums.verify(4, &bytes[4 * PAGE..], path).unwrap();
    }

    #[test]
    fn a_page_in_the_wrong_place_or_without_sum_is_damaged() {
        let (bytes, sums) = pages(3);
        let path = Path::new("section");
        assert!(sums.verify(1, &bytes[..PAGE], path).is_err());
        assert!(matches!(
            sums.verify(2, &bytes[2 * PAGE..].repeat(2), path),
            Err(StorageError::Checksum { page: 3, .. })
        ));
        assert!(sums.verify(u64::MAX, &bytes[..PAGE], path).is_err());
    }

    #[test]
    fn loads_all_and_parts() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("sums");
        let all = PageSums::new((0..40_000u32).map(|i| i.wrapping_mul(2_654_435_761)).collect());
        let bytes: Vec<u8> = all.sums().iter().flat_map(|sum| sum.to_le_bytes()).collect();
        let disk = Disk::new();
        disk.write_all_new(&path, &bytes).unwrap();
        assert_eq!(PageSums::load(&disk, &path, 40_000).unwrap(), all);
        assert_eq!(all.seal(), crc32c(&bytes));
        let part = PageSums::load_range(&disk, &path, 30_000, 10_000).unwrap();
        assert_eq!((part.first(), part.sums()), (30_000, &all.sums()[30_000..]));
        for pages in [0, 39_999, 40_001, u64::MAX] {
            assert!(matches!(
                PageSums::load(&disk, &path, pages),
                Err(StorageError::Truncated { .. })
            ));
        }
        assert!(PageSums::load_range(&disk, &path, 39_999, 2).is_err());
        assert!(PageSums::load_range(&disk, &path, u64::MAX, 2).is_err());
    }

    #[test]
    fn a_part_verifies_its_own_pages_only() {
        let (bytes, sums) = pages(4);
        let part = PageSums { first: 2, sums: sums.sums()[2..].to_vec() };
        part.verify(2, &bytes[2 * PAGE..], Path::new("x")).unwrap();
        assert!(matches!(
            part.verify(1, &bytes[PAGE..], Path::new("x")),
            Err(StorageError::Checksum { page: 1, .. })
        ));
    }
}
