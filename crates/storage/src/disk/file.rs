//! One open file. Direct files move whole aligned pages; what is not aligned is read through a
//! scratch.

use super::{Change, Disk, MAX_INTERRUPTIONS};
use crate::PAGE;
use crate::error::{Result, StorageError};
use crate::fault::Fault;
use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::fs::File;
use std::io;
use std::ops::{Deref, DerefMut};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

/// The largest scratch of an unaligned read.
const SCRATCH: usize = 1 << 20;

/// Sets the way a file is accessed: past the page cache if wanted and possible, and waiting in
/// either case.
pub(super) fn set_direct(file: &File, wanted: bool) -> io::Result<bool> {
    let fd = file.as_raw_fd();
    if wanted {
        // SAFETY: the descriptor is open; the call takes no memory.
        if unsafe { libc::fcntl(fd, libc::F_SETFL, libc::O_DIRECT) } == 0 {
            return Ok(true);
        }
    }
    // SAFETY: as above.
    super::check(unsafe { libc::fcntl(fd, libc::F_SETFL, 0) })?;
    Ok(false)
}

/// An open file. All its operations take `&self` and may run at the same time.
#[derive(Debug)]
pub struct DiskFile {
    disk: Disk,
    open: Arc<OpenFile>,
}

/// What all handles of an open file share.
#[derive(Debug)]
struct OpenFile {
    file: File,
    path: PathBuf,
    direct: AtomicBool,
    /// Of a file without a name: who counts its bytes, and how many were counted.
    scratch: Option<(Disk, AtomicU64)>,
}

impl OpenFile {
    /// Counts the bytes of a file without a name, of which one was written just before `end`.
    fn grow(&self, end: u64) {
        let Some((disk, counted)) = &self.scratch else { return };
        let before = counted.fetch_max(end, Ordering::Relaxed);
        disk.counters().count_scratch(end.saturating_sub(before));
    }
}

impl OpenFile {
    /// Whether a file without a name may have its last byte just before `end`.
    fn admits(&self, end: u64) -> bool {
        self.scratch.as_ref().is_none_or(|(disk, counted)| {
            disk.counters().admits(end.saturating_sub(counted.load(Ordering::Relaxed)))
        })
    }
}

impl Drop for OpenFile {
    fn drop(&mut self) {
        if let Some((disk, counted)) = &self.scratch {
            let counted = counted.load(Ordering::Relaxed);
            disk.counters().scratch_bytes.fetch_sub(counted, Ordering::Relaxed);
        }
    }
}

impl DiskFile {
    pub(super) fn new(disk: Disk, file: File, path: &Path, direct: bool) -> Self {
        let (path, direct) = (path.to_owned(), AtomicBool::new(direct));
        Self { disk, open: Arc::new(OpenFile { file, path, direct, scratch: None }) }
    }

    /// The same file, which has no name; nothing else has it yet.
    pub(super) fn unnamed(mut self) -> Self {
        let scratch = Some((self.disk.clone(), AtomicU64::new(0)));
        Arc::get_mut(&mut self.open).expect("nothing else has it").scratch = scratch;
        self
    }

    /// The same open file, whose reads and writes `disk` counts.
    pub fn counted_by(&self, disk: &Disk) -> Self {
        Self { disk: disk.clone(), open: Arc::clone(&self.open) }
    }

    /// The name it was opened by.
    pub fn path(&self) -> &Path {
        &self.open.path
    }

    /// The disk that counts what this handle moves.
    pub fn disk(&self) -> &Disk {
        &self.disk
    }

    /// Whether it is accessed past the page cache.
    pub fn is_direct(&self) -> bool {
        self.open.direct.load(Ordering::Relaxed)
    }

    /// The descriptor, for requests that are made elsewhere.
    pub fn fd(&self) -> RawFd {
        self.open.file.as_raw_fd()
    }

    /// The length of the file.
    pub fn len(&self) -> Result<u64> {
        self.disk.run("lookup", &self.open.path, || Ok(self.open.file.metadata()?.len()))
    }

    /// Whether the file has no bytes.
    pub fn is_empty(&self) -> Result<bool> {
        Ok(self.len()? == 0)
    }

    /// Cuts the file off, or lengthens it with zeros.
    pub fn set_len(&self, len: u64) -> Result<()> {
        let path = &self.open.path;
        self.disk.run("resizing", path, || {
            self.disk.change(Change::Resize(path, len), || self.open.file.set_len(len))
        })
    }

    /// Whether requests of multiples of `granule` bytes can be made: a direct file takes multiples
    /// of its device's logical block. Finds out by reading one.
    pub fn takes(&self, granule: usize) -> Result<bool> {
        if granule >= PAGE || !self.is_direct() {
            return Ok(true);
        }
        let mut scratch = Scratch::new(PAGE);
        self.disk.run("read", &self.open.path, || {
            match self.open.file.read_at(&mut scratch[..granule], granule as u64) {
                Ok(bytes) => {
                    self.disk.counters().count_read(bytes);
                    Ok(true)
                }
                Err(error) if error.raw_os_error() == Some(libc::EINVAL) => Ok(false),
                Err(error) => Err(error),
            }
        })
    }

    /// Makes the content durable. After a failure the content must be considered lost: the call is
    /// never repeated, because a second one would succeed without having written anything.
    pub fn sync(&self) -> Result<()> {
        let path = &self.open.path;
        self.disk.run_once("sync", path, || {
            self.disk.change(Change::Sync(path), || {
                // SAFETY: the descriptor is open; the call takes no memory. (Not `sync_data`, which
                // repeats what a signal interrupts.)
                super::check(unsafe { libc::fdatasync(self.open.file.as_raw_fd()) })
            })
        })
    }

    /// Fills the buffer. [`StorageError::Truncated`] if the file ends before.
    pub fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<()> {
        let mut done = 0;
        let mut scratch = None;
        while done < buffer.len() {
            let read = self.read_part(&mut buffer[done..], offset + done as u64, &mut scratch)?;
            if read == 0 {
                return Err(StorageError::truncated(&self.open.path, offset, buffer.len() as u64));
            }
            done += read;
        }
        Ok(())
    }

    /// Reads some bytes into the front of the buffer and returns how many: 0 only at the end of the
    /// file.
    pub fn read_some_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize> {
        self.read_part(buffer, offset, &mut None)
    }

    /// The content, of at most `max` bytes. What the file says of its size is not trusted.
    pub fn read_all(&self, max: u64) -> Result<Vec<u8>> {
        const STEP: usize = 1 << 16;
        let mut content = Vec::new();
        loop {
            let start = content.len();
            content.resize(start + STEP.max(start).min(1 << 24), 0);
            let read = self.read_some_at(&mut content[start..], start as u64)?;
            content.truncate(start + read);
            if content.len() as u64 > max {
                let error =
                    io::Error::new(io::ErrorKind::InvalidData, format!("larger than {max} bytes"));
                return Err(StorageError::io("read", self.path(), max, error));
            }
            if read == 0 {
                return Ok(content);
            }
        }
    }

    /// One read request, through the scratch if it has to be.
    fn read_part(
        &self,
        buffer: &mut [u8],
        offset: u64,
        scratch: &mut Option<Scratch>,
    ) -> Result<usize> {
        if !self.is_direct() {
            return self.request_read(buffer, offset, 1);
        }
        if is_aligned(buffer.as_ptr(), offset) && buffer.len() >= PAGE {
            let whole = buffer.len() / PAGE * PAGE;
            let read = self.request_read(&mut buffer[..whole], offset, PAGE)?;
            // Part of a page means the end of the file, most likely. Stay aligned, so that the next
            // request is still possible.
            return Ok(if read > PAGE { read / PAGE * PAGE } else { read });
        }
        let skip = (offset % PAGE as u64) as usize;
        let span = (skip + buffer.len()).next_multiple_of(PAGE).min(SCRATCH);
        let scratch = scratch.get_or_insert_with(|| Scratch::new(span));
        let span = span.min(scratch.len());
        let read = self.request_read(&mut scratch[..span], offset - skip as u64, PAGE)?;
        let useful = read.saturating_sub(skip).min(buffer.len());
        buffer[..useful].copy_from_slice(&scratch[skip..skip + useful]);
        Ok(useful)
    }

    /// One `pread`, repeated when interrupted.
    fn request_read(&self, buffer: &mut [u8], offset: u64, granule: usize) -> Result<usize> {
        let failed = |error| StorageError::io("read", &self.open.path, offset, error);
        let read = self.request(buffer.len(), granule, failed, |len| {
            self.open.file.read_at(&mut buffer[..len], offset)
        })?;
        self.disk.counters().count_read(read);
        Ok(read)
    }

    /// Writes the whole buffer. On a direct file, memory, offset and length must be multiples of a
    /// page.
    pub fn write_at(&self, buffer: &[u8], offset: u64) -> Result<()> {
        let direct = self.is_direct();
        debug_assert!(
            !direct || (is_aligned(buffer.as_ptr(), offset) && buffer.len().is_multiple_of(PAGE))
        );
        if !self.open.admits(offset + buffer.len() as u64) {
            let (path, needed) = (self.open.path.clone(), buffer.len() as u64);
            let source = io::Error::other("the disk budget allows no more");
            return Err(StorageError::Full { path, needed, source });
        }
        let granule = if direct { PAGE } else { 1 };
        let (mut done, mut idle) = (0, 0);
        while done < buffer.len() {
            let (rest, at) = (&buffer[done..], offset + done as u64);
            let failed =
                |error| StorageError::write("write", &self.open.path, at, rest.len() as u64, error);
            let wrote = self.request(rest.len(), granule, failed, |len| {
                let change = Change::Write(&self.open.path, at, &rest[..len]);
                self.disk.change(change, || self.open.file.write_at(&rest[..len], at))
            })?;
            self.disk.counters().count_write(wrote);
            self.open.grow(at + wrote as u64);
            // What ends inside of a page is written again from the start of that page, but not
            // forever.
            let progress = wrote / granule * granule;
            idle = if progress == 0 { idle + 1 } else { 0 };
            if idle > 16 {
                return Err(failed(io::ErrorKind::WriteZero.into()));
            }
            done += progress;
        }
        Ok(())
    }

    /// One request under the plan, repeated when interrupted. A file system that accepts direct
    /// access when a file is opened and refuses it at the first request is used through the page
    /// cache from then on.
    fn request(
        &self,
        len: usize,
        granule: usize,
        failed: impl Fn(io::Error) -> StorageError,
        mut act: impl FnMut(usize) -> io::Result<usize>,
    ) -> Result<usize> {
        for _ in 0..MAX_INTERRUPTIONS {
            let fault = self.disk.start_operation();
            if let Err(error) = fault.map_or(Ok(()), Fault::strike) {
                if error.kind() == io::ErrorKind::Interrupted {
                    continue;
                }
                return Err(failed(error));
            }
            let len = if fault == Some(Fault::Short) { Fault::half(len, granule) } else { len };
            match act(len) {
                Ok(moved) => return Ok(moved),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.raw_os_error() == Some(libc::EINVAL) && self.is_direct() => {
                    set_direct(&self.open.file, false).map_err(&failed)?;
                    self.open.direct.store(false, Ordering::Relaxed);
                }
                Err(error) => return Err(failed(error)),
            }
        }
        Err(StorageError::Interrupted)
    }
}

fn is_aligned(memory: *const u8, offset: u64) -> bool {
    (memory as usize).is_multiple_of(PAGE) && offset.is_multiple_of(PAGE as u64)
}

/// Page-aligned memory for one call.
struct Scratch {
    start: NonNull<u8>,
    layout: Layout,
}

impl Scratch {
    fn new(len: usize) -> Self {
        let layout = Layout::from_size_align(len, PAGE).expect("a scratch is at most 1 MiB");
        // SAFETY: the layout has a size that is not zero: a read of at least one byte touches at
        // least one page.
        let start = unsafe { alloc_zeroed(layout) };
        Self { start: NonNull::new(start).unwrap_or_else(|| handle_alloc_error(layout)), layout }
    }
}

impl Deref for Scratch {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the allocation is this long, was zeroed, and is ours.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.layout.size()) }
    }
}

impl DerefMut for Scratch {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as for `deref`, and we are borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.layout.size()) }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // SAFETY: allocated by `new` with this layout.
        unsafe { dealloc(self.start.as_ptr(), self.layout) };
    }
}
