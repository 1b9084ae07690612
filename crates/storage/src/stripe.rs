//! One logical file over several physical ones, so that several devices share its bytes. The only
//! place that knows which file and offset hold a logical byte: the logical file is cut into units,
//! and unit `u` is the `u / n`-th unit of file `u % n`.

use crate::PAGE;
use crate::disk::{Disk, DiskFile};
use crate::error::{Result, StorageError};
use std::path::PathBuf;
use std::sync::Arc;

/// How a logical file is cut, where nothing else is asked for: as large as a device's best request.
pub const DEFAULT_UNIT: u64 = 1 << 20;

/// The arithmetic of stripes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StripeLayout {
    /// Bytes in a row in one file; a multiple of a page.
    pub unit: u64,
}

impl Default for StripeLayout {
    fn default() -> Self {
        Self { unit: DEFAULT_UNIT }
    }
}

impl StripeLayout {
    /// A layout with this unit.
    ///
    /// # Panics
    /// If the unit is not a positive multiple of a page.
    pub fn new(unit: u64) -> Self {
        assert!(
            unit > 0 && unit.is_multiple_of(PAGE as u64),
            "a stripe unit of {unit} bytes is not a multiple of a page"
        );
        Self { unit }
    }

    /// The file (of `files`) that holds a logical byte, and where in it.
    pub fn locate(self, files: usize, offset: u64) -> (usize, u64) {
        if files == 1 {
            return (0, offset);
        }
        let (unit, inside) = (offset / self.unit, offset % self.unit);
        ((unit % files as u64) as usize, unit / files as u64 * self.unit + inside)
    }

    /// How many of the first `len` logical bytes are in this file (of `files`).
    pub fn share(self, files: usize, file: usize, len: u64) -> u64 {
        let (rows, rest) = (len / (self.unit * files as u64), len % (self.unit * files as u64));
        rows * self.unit + rest.saturating_sub(file as u64 * self.unit).min(self.unit)
    }

    /// The parts of a logical range, in order: file, offset in the file, logical offset, length.
    pub fn pieces(
        self,
        files: usize,
        offset: u64,
        len: usize,
    ) -> impl Iterator<Item = (usize, u64, u64, usize)> {
        let end = offset + len as u64;
        let mut at = offset;
        std::iter::from_fn(move || {
            if at >= end {
                return None;
            }
            let (file, inside) = self.locate(files, at);
            let unit_end = if files == 1 { end } else { (at / self.unit + 1) * self.unit };
            let piece = (file, inside, at, (unit_end.min(end) - at) as usize);
            at += piece.3 as u64;
            Some(piece)
        })
    }
}

/// A logical file, opened for reading.
#[derive(Debug)]
pub struct StripedFile {
    files: Vec<Arc<DiskFile>>,
    layout: StripeLayout,
    len: u64,
}

impl StripedFile {
    /// Opens a logical file of `len` bytes for direct reading. The files must hold it up to the end
    /// of its last page: [`StorageError::Truncated`] if one is too short.
    ///
    /// # Panics
    /// If there is no file, or the unit is not a positive multiple of a page.
    pub fn open(disk: &Disk, paths: &[PathBuf], unit: u64, len: u64) -> Result<Self> {
        Self::of(paths.iter().map(|path| disk.open(path)).collect::<Result<_>>()?, unit, len)
    }

    /// The logical file of `len` bytes that these opened ones are.
    ///
    /// # Panics
    /// As [`StripedFile::open`].
    pub fn of(files: Vec<DiskFile>, unit: u64, len: u64) -> Result<Self> {
        assert!(!files.is_empty(), "a logical file needs a physical one");
        let layout = StripeLayout::new(unit);
        let padded = len.next_multiple_of(PAGE as u64);
        for (i, file) in files.iter().enumerate() {
            let (has, needs) = (file.len()?, layout.share(files.len(), i, padded));
            if has < needs {
                return Err(StorageError::truncated(file.path(), has, needs - has));
            }
        }
        Ok(Self { files: files.into_iter().map(Arc::new).collect(), layout, len })
    }

    /// The same open files, whose reads `disk` counts.
    pub fn counted_by(&self, disk: &Disk) -> Self {
        let files = self.files.iter().map(|file| Arc::new(file.counted_by(disk))).collect();
        Self { files, layout: self.layout, len: self.len }
    }

    /// The length of the logical file, without the padding of its last page.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether the logical file has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The physical files.
    pub fn files(&self) -> &[Arc<DiskFile>] {
        &self.files
    }

    /// The layout.
    pub fn layout(&self) -> StripeLayout {
        self.layout
    }

    /// The parts of a logical range, in order: file, offset in the file, logical offset, length.
    /// The range may reach to the end of the last page.
    pub fn pieces(
        &self,
        offset: u64,
        len: usize,
    ) -> impl Iterator<Item = (usize, u64, u64, usize)> + use<> {
        debug_assert!(offset + len as u64 <= self.len.next_multiple_of(PAGE as u64));
        self.layout.pieces(self.files.len(), offset, len)
    }

    /// Fills the buffer from a logical offset.
    pub fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<()> {
        for (file, inside, at, len) in self.layout.pieces(self.files.len(), offset, buffer.len()) {
            let start = (at - offset) as usize;
            self.files[file].read_at(&mut buffer[start..start + len], inside)?;
        }
        Ok(())
    }

    /// The same of whole pages, `wanted` bytes of which were asked for.
    pub fn read_pages_at(&self, pages: &mut [u8], offset: u64, wanted: usize) -> Result<()> {
        self.read_at(pages, offset)?;
        self.files[0].disk().counters().count_wanted(wanted);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::sync::atomic::Ordering::Relaxed;

    const UNIT: u64 = PAGE as u64;

    proptest! {
        #[test]
        fn pieces_cover_the_range_once(
            files in 1usize..6,
            units in 1u64..4,
            offset in 0u64..100_000,
            len in 0usize..100_000,
        ) {
            let layout = StripeLayout::new(units * UNIT);
            let mut at = offset;
            for (file, inside, logical, piece) in layout.pieces(files, offset, len) {
                prop_assert_eq!(logical, at);
                prop_assert!(piece > 0);
                for byte in [0, piece as u64 - 1] {
                    prop_assert_eq!(layout.locate(files, logical + byte), (file, inside + byte));
                }
                at += piece as u64;
            }
            prop_assert_eq!(at, offset + len as u64);
        }

        #[test]
        fn shares_add_up_and_hold_their_bytes(
            files in 1usize..6,
            units in 1u64..4,
            len in 0u64..300_000,
        ) {
            let layout = StripeLayout::new(units * UNIT);
            let shares: Vec<u64> = (0..files).map(|file| layout.share(files, file, len)).collect();
            prop_assert_eq!(shares.iter().sum::<u64>(), len);
            if len > 0 {
                let (file, inside) = layout.locate(files, len - 1);
                prop_assert_eq!(shares[file], inside + 1);
            }
        }

        #[test]
        fn reads_what_the_formula_says(
            files in 1usize..4,
            len in 1u64..60_000,
            from in 0.0f64..1.0,
            to in 0.0f64..1.0,
        ) {
            let dir = tempfile::tempdir().unwrap();
            let unit = 2 * UNIT;
            let byte = |b: u64| (b % 251) as u8 ^ (b / 4096) as u8;
            let padded = len.next_multiple_of(UNIT);
            let mut content = vec![Vec::new(); files];
            for b in 0..padded {
                content[(b / unit) as usize % files].push(byte(b));
            }
            let paths: Vec<PathBuf> = (0..files).map(|i| dir.path().join(i.to_string())).collect();
            for (path, content) in paths.iter().zip(&content) {
                std::fs::write(path, content).unwrap();
            }
            let file = StripedFile::open(&Disk::new(), &paths, unit, len).unwrap();
            let (a, b) = ((from * len as f64) as u64, (to * len as f64) as u64);
            let (start, end) = (a.min(b), a.max(b));
            let mut buffer = vec![0; (end - start) as usize];
            file.read_at(&mut buffer, start).unwrap();
            prop_assert!(buffer.iter().enumerate().all(|(i, &x)| x == byte(start + i as u64)));
            prop_assert_eq!(file.len(), len);
        }
    }

    #[test]
    fn a_short_file_is_noticed_when_opened() {
        let dir = tempfile::tempdir().unwrap();
        let paths = [dir.path().join("a"), dir.path().join("b")];
        std::fs::write(&paths[0], vec![0; 8192]).unwrap();
        std::fs::write(&paths[1], vec![0; 4096]).unwrap();
        assert!(StripedFile::open(&Disk::new(), &paths, UNIT, 3 * UNIT - 5).is_ok());
        let error = StripedFile::open(&Disk::new(), &paths, UNIT, 3 * UNIT + 1).unwrap_err();
        let StorageError::Truncated { path, offset, wanted } = error else { panic!("{error}") };
        assert_eq!((&path, offset, wanted), (&paths[1], 4096, 4096));
        assert!(StripedFile::open(&Disk::new(), &[dir.path().join("none")], UNIT, 0).is_err());
    }

    #[test]
    fn what_is_read_counts_for_the_disk_of_its_handle() {
        let dir = tempfile::tempdir().unwrap();
        let paths = [dir.path().join("a"), dir.path().join("b")];
        paths.iter().for_each(|path| std::fs::write(path, vec![0; 8192]).unwrap());
        let (opener, run) = (Disk::new(), Disk::new());
        let file = StripedFile::open(&opener, &paths, UNIT, 4 * UNIT).unwrap();
        file.counted_by(&run).read_pages_at(&mut vec![0; 3 * PAGE], 0, 100).unwrap();
        let moved = |disk: &Disk| {
            let counters = disk.counters();
            [&counters.bytes_read, &counters.bytes_wanted].map(|count| count.load(Relaxed))
        };
        assert_eq!((moved(&opener), moved(&run)), ([0, 0], [3 * UNIT, 100]));
    }
}
