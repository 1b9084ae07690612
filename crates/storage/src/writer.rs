//! Writing a section: sequential, past the page cache, checksummed, on a thread behind the caller.
//!
//! Memory: two buffers of the size the caller chooses (together rounded up to 2 MiB), and 64 KiB of
//! checksums on their way out.

use crate::PAGE;
use crate::arena::{Arena, Buffer, HugePages};
use crate::checksum::{Running, page_sum};
use crate::disk::{Disk, DiskFile};
use crate::error::{Result, StorageError};
use crate::stripe::StripeLayout;
use crossbeam_channel::{Receiver, Sender, bounded};
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;

/// Checksums that are collected before they are written.
const SUMS_BUFFER: usize = 1 << 16;

/// What was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SectionSummary {
    /// Bytes of the section, without the zeros after them.
    pub bytes: u64,
    /// Pages of the section, the padded one counted.
    pub pages: u64,
    /// CRC-32C of the checksum file.
    pub sums_crc: u32,
}

/// Writes one section. Dropping it without [`SectionWriter::finish`] leaves incomplete files
/// behind.
///
/// After an error every later call returns the same error.
pub struct SectionWriter {
    /// The buffer that is being filled, and how far it is.
    buffer: Option<Buffer>,
    filled: usize,
    position: u64,
    full: Option<Sender<(Buffer, usize)>>,
    empty: Receiver<Buffer>,
    thread: Option<JoinHandle<Result<NewSums>>>,
    error: Option<StorageError>,
}

impl SectionWriter {
    /// Creates the section's files (which must not exist), striped in units of `stripe_unit` bytes,
    /// and the file of its checksums. Each of the two buffers has `buffer_bytes`, rounded up to a
    /// page; 1 MiB or more is fast.
    ///
    /// # Panics
    /// If there is no file, or the unit is not a positive multiple of a page.
    pub fn create(
        disk: &Disk,
        files: &[PathBuf],
        stripe_unit: u64,
        sums: &Path,
        buffer_bytes: usize,
    ) -> Result<Self> {
        assert!(!files.is_empty(), "a section needs a file");
        let layout = StripeLayout::new(stripe_unit);
        let files = files.iter().map(|path| disk.create(path)).collect::<Result<Vec<_>>>()?;
        let sums_file = disk.create_buffered(sums)?;
        let size = buffer_bytes.max(1).next_multiple_of(PAGE);
        let arena = Arena::new(2 * size, HugePages::Auto)?;
        let (full, jobs) = bounded(1);
        let (done, empty) = bounded(2);
        let behind = WriteBehind { files, layout, sums: NewSums::new(sums_file), offset: 0 };
        done.send(arena.buffer(size, size)).expect("the channel has room for both buffers");
        let thread = std::thread::Builder::new()
            .name("section-writer".into())
            .spawn(move || behind.run(&jobs, &done));
        let thread = thread.map_err(|source| StorageError::Thread { source })?;
        Ok(Self {
            buffer: Some(arena.buffer(0, size)),
            filled: 0,
            position: 0,
            full: Some(full),
            empty,
            thread: Some(thread),
            error: None,
        })
    }

    /// Bytes written so far.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Appends bytes. An error may be one of an earlier call.
    pub fn write(&mut self, mut bytes: &[u8]) -> Result<()> {
        while !bytes.is_empty() {
            let room = self.room()?;
            let len = bytes.len().min(room.len());
            room[..len].copy_from_slice(&bytes[..len]);
            self.advance(len);
            bytes = &bytes[len..];
        }
        Ok(())
    }

    /// Appends zeros up to a multiple of `alignment`.
    pub fn align_to(&mut self, alignment: usize) -> Result<()> {
        let mut missing = self.position.next_multiple_of(alignment as u64) - self.position;
        while missing > 0 {
            let room = self.room()?;
            let len = (room.len() as u64).min(missing) as usize;
            room[..len].fill(0);
            self.advance(len);
            missing -= len as u64;
        }
        Ok(())
    }

    /// What is left of the current buffer: at least one byte.
    fn room(&mut self) -> Result<&mut [u8]> {
        self.check()?;
        if self.buffer.as_ref().is_none_or(|buffer| buffer.len() == self.filled) {
            self.hand_over()?;
        }
        let filled = self.filled;
        Ok(self.buffer.as_mut().map(|buffer| &mut buffer[filled..]).unwrap_or_default())
    }

    /// The error of an earlier call, or of one after the end.
    fn check(&self) -> Result<()> {
        match (&self.error, &self.full) {
            (Some(error), _) => Err(error.duplicate()),
            (None, None) => Err(StorageError::Interrupted),
            (None, Some(_)) => Ok(()),
        }
    }

    fn advance(&mut self, len: usize) {
        self.filled += len;
        self.position += len as u64;
    }

    /// Gives the filled buffer to the thread, and waits for an empty one.
    fn hand_over(&mut self) -> Result<()> {
        let filled = std::mem::take(&mut self.filled);
        let sent = match (&self.full, self.buffer.take()) {
            (Some(full), Some(buffer)) => full.send((buffer, filled)).is_ok(),
            _ => true,
        };
        match self.empty.recv() {
            Ok(buffer) if sent => {
                self.buffer = Some(buffer);
                Ok(())
            }
            // The thread has ended, and it does so early only after an error.
            _ => Err(self.join().err().unwrap_or(StorageError::Interrupted)),
        }
    }

    /// Ends the thread and remembers its error.
    fn join(&mut self) -> Result<Option<NewSums>> {
        self.full = None;
        let Some(thread) = self.thread.take() else {
            return Ok(None);
        };
        match thread.join() {
            Ok(Ok(sums)) => Ok(Some(sums)),
            Ok(Err(error)) => {
                self.error = Some(error.duplicate());
                Err(error)
            }
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }

    /// Nothing more comes: pads the last page with zeros, and has the files made durable while the
    /// caller does something else.
    pub fn end(&mut self) -> Result<()> {
        let bytes = self.position;
        self.align_to(PAGE)?;
        self.position = bytes;
        self.check()?;
        let full = self.full.take();
        if self.filled > 0
            && let (Some(full), Some(buffer)) = (full, self.buffer.take())
        {
            // A thread that does not take it has an error, which `join` returns.
            let _ = full.send((buffer, self.filled));
        }
        Ok(())
    }

    /// Ends the section, waits until its files are durable, and says what they hold. (Their names
    /// are durable after [`Disk::sync_dir`].)
    pub fn finish(mut self) -> Result<SectionSummary> {
        if self.full.is_some() || self.error.is_some() {
            self.end()?;
        }
        let bytes = self.position;
        let sums = self.join()?.ok_or(StorageError::Interrupted)?;
        Ok(SectionSummary { bytes, pages: bytes.div_ceil(PAGE as u64), sums_crc: sums.crc.sum() })
    }
}

impl Drop for SectionWriter {
    fn drop(&mut self) {
        self.full = None;
        if let Some(thread) = self.thread.take() {
            // Abandoned: neither its files nor its errors matter any more.
            let _ = thread.join();
        }
    }
}

/// The thread's side.
struct WriteBehind {
    files: Vec<DiskFile>,
    layout: StripeLayout,
    sums: NewSums,
    offset: u64,
}

impl WriteBehind {
    fn run(mut self, jobs: &Receiver<(Buffer, usize)>, done: &Sender<Buffer>) -> Result<NewSums> {
        for (buffer, len) in jobs {
            debug_assert!(len.is_multiple_of(PAGE));
            for (file, inside, at, piece) in self.layout.pieces(self.files.len(), self.offset, len)
            {
                let start = (at - self.offset) as usize;
                self.files[file].write_at(&buffer[start..start + piece], inside)?;
            }
            self.sums.append(&buffer[..len])?;
            self.offset += len as u64;
            // The caller may be gone.
            let _ = done.send(buffer);
        }
        for file in &self.files {
            file.sync()?;
        }
        self.sums.flush()?;
        self.sums.file.sync()?;
        Ok(self.sums)
    }
}

/// The checksum file as it grows.
struct NewSums {
    file: DiskFile,
    pending: Vec<u8>,
    written: u64,
    crc: Running,
}

impl NewSums {
    fn new(file: DiskFile) -> Self {
        Self { file, pending: Vec::with_capacity(SUMS_BUFFER), written: 0, crc: Running::new() }
    }

    fn append(&mut self, pages: &[u8]) -> Result<()> {
        for page in pages.chunks(PAGE) {
            self.pending.extend(page_sum(page).to_le_bytes());
            if self.pending.len() >= SUMS_BUFFER {
                self.flush()?;
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        self.file.write_at(&self.pending, self.written)?;
        self.crc.add(&self.pending);
        self.written += self.pending.len() as u64;
        self.pending.clear();
        Ok(())
    }
}

#[cfg(test)]
mod tests;
