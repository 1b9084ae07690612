//! Files and folders. Everything the project does to a file goes through [`Disk`], so that all of
//! it is counted and all of it can be made to fail (see [`crate::fault`]).
//!
//! Memory: reads from direct files into unaligned memory pass through a scratch of at most 1 MiB
//! for each call.

mod file;
mod lock;
mod observer;

pub use file::DiskFile;
pub use lock::DirLock;
pub use observer::{Change, Observer};

use crate::error::{Result, StorageError};
use crate::fault::{Fault, FaultPlan};
use crate::hidden::random_name;
use observer::SharedObserver;
use std::ffi::CString;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How often one operation may be interrupted before it is given up.
const MAX_INTERRUPTIONS: usize = 1000;

/// Files of fewer bytes are read through the page cache: it takes no memory to speak of there, and
/// a small graph's many small sections take no round trip each.
const SMALL: u64 = 512 << 10;

/// What went through a [`Disk`] so far.
#[derive(Debug, Default)]
pub struct IoCounters {
    /// Bytes that arrived from files.
    pub bytes_read: AtomicU64,
    /// Bytes that were asked for in reads of whole pages, where only the caller of
    /// [`StripedFile::read_pages_at`](crate::StripedFile::read_pages_at) knows them.
    pub bytes_wanted: AtomicU64,
    /// Bytes that went to files.
    pub bytes_written: AtomicU64,
    /// Bytes of the files without names that there are, up to the last byte that was written.
    pub scratch_bytes: AtomicU64,
    /// The most that these came to.
    pub peak_scratch_bytes: AtomicU64,
    /// The most that they may come to; 0: as much as there is room for.
    scratch_allowed: AtomicU64,
    /// Read requests, each part of a continued one counted.
    pub read_requests: AtomicU64,
    /// Requests that a thread which computes has handed to an I/O thread.
    pub requests_by_io_threads: AtomicU64,
    /// Write requests, each part of a continued one counted.
    pub write_requests: AtomicU64,
}

impl IoCounters {
    /// Counts one read request that moved `bytes`.
    pub fn count_read(&self, bytes: usize) {
        self.read_requests.fetch_add(1, Ordering::Relaxed);
        self.bytes_read.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Counts `bytes` of what was read as asked for.
    pub fn count_wanted(&self, bytes: usize) {
        self.bytes_wanted.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Counts one write request that moved `bytes`.
    pub fn count_write(&self, bytes: usize) {
        self.write_requests.fetch_add(1, Ordering::Relaxed);
        self.bytes_written.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Whether files without names may grow by `bytes`.
    fn admits(&self, bytes: u64) -> bool {
        let allowed = self.scratch_allowed.load(Ordering::Relaxed);
        let all = self.scratch_bytes.load(Ordering::Relaxed) + bytes;
        bytes == 0 || allowed == 0 || all <= allowed
    }

    /// Counts `bytes` that a file without a name has grown by.
    fn count_scratch(&self, bytes: u64) {
        let all = self.scratch_bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
        self.peak_scratch_bytes.fetch_max(all, Ordering::Relaxed);
    }
}

#[derive(Debug, Default)]
struct Inner {
    counters: IoCounters,
    faults: Option<Arc<FaultPlan>>,
    observer: Option<SharedObserver>,
}

/// Access to files. Clones share the counters and the faults.
#[derive(Clone, Debug, Default)]
pub struct Disk(Arc<Inner>);

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// What it is.
    pub kind: FileKind,
    /// Its number in its file system, which renaming keeps.
    pub inode: u64,
}

/// What an entry of a folder is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// An ordinary file.
    File,
    /// A folder.
    Folder,
    /// A link, a pipe, a device or a socket.
    Other,
}

impl Disk {
    /// Ordinary access.
    pub fn new() -> Self {
        Self::default()
    }

    /// Access where operations fail as planned.
    pub fn with_faults(faults: Arc<FaultPlan>) -> Self {
        Self(Arc::new(Inner { faults: Some(faults), ..Inner::default() }))
    }

    /// Access where every change is seen by an observer, which may refuse it.
    pub fn with_observer(observer: Box<dyn Observer>) -> Self {
        let observer = Some(SharedObserver::new(observer));
        Self(Arc::new(Inner { observer, ..Inner::default() }))
    }

    /// Lets files without names come to so many bytes together: what would make them larger fails
    /// like a write to a device that is full.
    pub fn allow_scratch(&self, bytes: u64) {
        self.counters().scratch_allowed.store(bytes.max(1), Ordering::Relaxed);
    }

    /// The same access with counters of its own, at zero; faults and observer are shared.
    pub fn counted_apart(&self) -> Self {
        let (faults, observer) = (self.0.faults.clone(), self.0.observer.clone());
        Self(Arc::new(Inner { counters: IoCounters::default(), faults, observer }))
    }

    /// What was moved so far.
    pub fn counters(&self) -> &IoCounters {
        &self.0.counters
    }

    /// Starts an operation. Code that does not go through a method of this type must ask once
    /// before each operation.
    pub fn start_operation(&self) -> Option<Fault> {
        self.0.faults.as_ref().and_then(|plan| plan.start())
    }

    /// Makes a change in sight of the observer.
    fn change<T>(&self, change: Change<'_>, act: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        match &self.0.observer {
            Some(observer) => observer.around(change, act),
            None => act(),
        }
    }

    /// Runs one operation under the plan, repeating it when interrupted.
    fn run<T>(
        &self,
        operation: &'static str,
        path: &Path,
        mut act: impl FnMut() -> io::Result<T>,
    ) -> Result<T> {
        for _ in 0..MAX_INTERRUPTIONS {
            let struck = self.start_operation().map_or(Ok(()), Fault::strike);
            match struck.and_then(|()| act()) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(StorageError::write(operation, path, 0, 0, error)),
                Ok(value) => return Ok(value),
            }
        }
        Err(StorageError::Interrupted)
    }

    /// Runs an operation that must not be repeated: a second `fsync` may succeed although the data
    /// of the first is lost.
    fn run_once(
        &self,
        operation: &'static str,
        path: &Path,
        act: impl FnOnce() -> io::Result<()>,
    ) -> Result<()> {
        let struck = self.start_operation().map_or(Ok(()), Fault::strike);
        struck
            .and_then(|()| act())
            .map_err(|error| StorageError::write(operation, path, 0, 0, error))
    }

    /// Opens a file for reading, past the page cache where the file system can do that and the file
    /// has at least 512 KiB.
    pub fn open(&self, path: &Path) -> Result<DiskFile> {
        self.open_with("open", path, Some(SMALL), OpenOptions::new().read(true))
    }

    /// Opens a file for reading through the page cache: inputs, manifests.
    pub fn open_buffered(&self, path: &Path) -> Result<DiskFile> {
        self.open_with("open", path, None, OpenOptions::new().read(true))
    }

    /// Creates a file that must not exist, for reading and writing past the page cache where the
    /// file system can do that.
    pub fn create(&self, path: &Path) -> Result<DiskFile> {
        self.open_with(
            "create",
            path,
            Some(0),
            OpenOptions::new().read(true).write(true).create_new(true),
        )
    }

    /// Creates a file without a name in a folder, for scratch: it goes with the process, however
    /// that ends. `prefix` begins the name that it has for a moment.
    pub fn create_unnamed(&self, folder: &Path, prefix: &str) -> Result<DiskFile> {
        let path = folder.join(format!("{prefix}-{}", random_name()?));
        // One operation: no error of ours can come between the name's coming and going.
        let (file, direct) = self.run("create", &path, || {
            let mut options = OpenOptions::new();
            options.read(true).write(true);
            // Where the file system has files without a name, there is not even a moment.
            let unnamed = options.clone().custom_flags(libc::O_TMPFILE).open(folder);
            let file = match unnamed {
                Err(error)
                    if matches!(
                        error.raw_os_error(),
                        Some(libc::EOPNOTSUPP | libc::EISDIR | libc::EINVAL | libc::ENOENT)
                    ) =>
                {
                    let file =
                        options.create_new(true).custom_flags(libc::O_NOFOLLOW).open(&path)?;
                    std::fs::remove_file(&path)?;
                    file
                }
                done => done?,
            };
            let direct = file::set_direct(&file, true)?;
            Ok((file, direct))
        })?;
        Ok(DiskFile::new(self.clone(), file, &path, direct).unnamed())
    }

    /// Creates a file that must not exist, for reading and writing through the page cache.
    pub fn create_buffered(&self, path: &Path) -> Result<DiskFile> {
        self.open_with(
            "create",
            path,
            None,
            OpenOptions::new().read(true).write(true).create_new(true),
        )
    }

    /// Opens without blocking, so that a pipe in the place of a file is refused and not waited for.
    /// Files of at least so many bytes as `direct` says go past the page cache.
    fn open_with(
        &self,
        operation: &'static str,
        path: &Path,
        direct: Option<u64>,
        options: &mut OpenOptions,
    ) -> Result<DiskFile> {
        let links = if operation == "create" { libc::O_NOFOLLOW } else { 0 };
        options.custom_flags(links | libc::O_NONBLOCK);
        let open = || options.open(path);
        if operation == "create" {
            let create = || self.change(Change::Create(path), open);
            return self.opened(operation, path, direct, create);
        }
        self.opened(operation, path, direct, open)
    }

    /// What `open` opens, if it is a file.
    fn opened(
        &self,
        operation: &'static str,
        path: &Path,
        direct: Option<u64>,
        open: impl Fn() -> io::Result<File>,
    ) -> Result<DiskFile> {
        let (file, direct) = self.run(operation, path, || {
            let file = open()?;
            let metadata = file.metadata()?;
            let kind = metadata.file_type();
            if kind.is_dir() {
                return Err(io::Error::from_raw_os_error(libc::EISDIR));
            }
            if !kind.is_file() {
                return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
            }
            let direct = direct.is_some_and(|least| metadata.len() >= least);
            let direct = file::set_direct(&file, direct)?;
            Ok((file, direct))
        })?;
        Ok(DiskFile::new(self.clone(), file, path, direct))
    }

    /// Creates a folder, whose parent must exist and which itself must not.
    pub fn create_dir(&self, path: &Path) -> Result<()> {
        self.run("create", path, || {
            self.change(Change::CreateFolder(path), || std::fs::create_dir(path))
        })
    }

    /// Creates a folder and its parents where they do not exist, and makes the names of those that
    /// it makes durable.
    pub fn create_dir_all(&self, path: &Path) -> Result<()> {
        let is_missing = |folder: &&Path| {
            !folder.as_os_str().is_empty() && std::fs::symlink_metadata(folder).is_err()
        };
        let made: Vec<&Path> = path.ancestors().take_while(is_missing).collect();
        self.run("create", path, || {
            for folder in made.iter().rev() {
                self.change(Change::CreateFolder(folder), || std::fs::create_dir_all(folder))?;
            }
            // Refused where it is no folder.
            std::fs::create_dir_all(path)
        })?;
        for folder in made {
            let parent = folder.parent().filter(|parent| !parent.as_os_str().is_empty());
            self.sync_dir(parent.unwrap_or(Path::new(".")))?;
        }
        Ok(())
    }

    /// Removes a file.
    pub fn remove_file(&self, path: &Path) -> Result<()> {
        self.run("removal", path, || {
            self.change(Change::Remove(path), || std::fs::remove_file(path))
        })
    }

    /// Removes a folder and what is in it. Links are removed, not followed.
    pub fn remove_dir_all(&self, path: &Path) -> Result<()> {
        self.run("removal", path, || {
            self.change(Change::RemoveAll(path), || std::fs::remove_dir_all(path))
        })
    }

    /// Makes the names in a folder durable. Never repeated after a failure.
    pub fn sync_dir(&self, path: &Path) -> Result<()> {
        self.run_once("sync", path, || {
            self.change(Change::SyncFolder(path), || {
                let folder = File::open(path)?;
                // SAFETY: the descriptor is open; the call takes no memory. (Not `sync_all`, which
                // repeats what a signal interrupts.)
                check(unsafe { libc::fsync(folder.as_raw_fd()) })
            })
        })
    }

    /// The paths of a folder's entries, sorted.
    pub fn list(&self, path: &Path) -> Result<Vec<PathBuf>> {
        self.run("listing", path, || {
            let mut entries =
                std::fs::read_dir(path)?.map(|e| Ok(e?.path())).collect::<io::Result<Vec<_>>>()?;
            entries.sort();
            Ok(entries)
        })
    }

    /// Whether the name is taken, by anything (a link that leads nowhere too).
    pub fn exists(&self, path: &Path) -> Result<bool> {
        Ok(self.entry(path)?.is_some())
    }

    /// What a name stands for; `None`: nothing has it. Links are not followed.
    pub fn entry(&self, path: &Path) -> Result<Option<Entry>> {
        self.run("lookup", path, || match std::fs::symlink_metadata(path) {
            Ok(found) => {
                let kind = match found.file_type() {
                    kind if kind.is_dir() => FileKind::Folder,
                    kind if kind.is_file() => FileKind::File,
                    _ => FileKind::Other,
                };
                Ok(Some(Entry { kind, inode: found.ino() }))
            }
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                ) =>
            {
                Ok(None)
            }
            Err(error) => Err(error),
        })
    }

    /// Renames; fails if the new name is taken.
    pub fn rename_noreplace(&self, from: &Path, to: &Path) -> Result<()> {
        self.run("renaming", to, || {
            let rename = || match rename(from, to, libc::RENAME_NOREPLACE) {
                // File systems that cannot do it in one step: a name that appears in between would
                // be replaced only by a file or if it is an empty folder.
                Err(error) if matches!(error.raw_os_error(), Some(libc::EINVAL | libc::ENOSYS)) => {
                    match std::fs::symlink_metadata(to) {
                        Ok(_) => Err(io::Error::from_raw_os_error(libc::EEXIST)),
                        Err(_) => std::fs::rename(from, to),
                    }
                }
                done => done,
            };
            self.change(Change::Rename(from, to), rename)
        })
    }

    /// Renames a file; what had the new name is replaced in the same step.
    pub fn rename_over(&self, from: &Path, to: &Path) -> Result<()> {
        self.run("renaming", to, || {
            self.change(Change::Rename(from, to), || std::fs::rename(from, to))
        })
    }

    /// Exchanges two names in one step.
    pub fn exchange(&self, a: &Path, b: &Path) -> Result<()> {
        self.run("renaming", b, || {
            self.change(Change::Exchange(a, b), || rename(a, b, libc::RENAME_EXCHANGE))
        })
    }

    /// Bytes that can still be written to the file system of `path`.
    pub fn free_space(&self, path: &Path) -> Result<u64> {
        self.run("lookup", path, || {
            let name = c_string(path)?;
            let mut stat = std::mem::MaybeUninit::<libc::statvfs>::uninit();
            // SAFETY: the name ends in a zero, and `stat` has room for the answer.
            check(unsafe { libc::statvfs(name.as_ptr(), stat.as_mut_ptr()) })?;
            // SAFETY: the call succeeded and has filled it.
            let stat = unsafe { stat.assume_init() };
            Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
        })
    }

    /// The content of a file of at most `max` bytes. What the file says of its size is not trusted.
    pub fn read_all(&self, path: &Path, max: u64) -> Result<Vec<u8>> {
        self.open_buffered(path)?.read_all(max)
    }

    /// Creates a file with this content and makes the content durable (its name is not before
    /// [`Disk::sync_dir`]).
    pub fn write_all_new(&self, path: &Path, content: &[u8]) -> Result<()> {
        let file = self.create_buffered(path)?;
        file.write_at(content, 0)?;
        file.sync()
    }
}

fn c_string(path: &Path) -> io::Result<CString> {
    CString::new(path.as_os_str().as_bytes())
        .map_err(|_| io::Error::from_raw_os_error(libc::EINVAL))
}

fn check(result: libc::c_int) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn rename(from: &Path, to: &Path, flags: libc::c_uint) -> io::Result<()> {
    let (from, to) = (c_string(from)?, c_string(to)?);
    // SAFETY: both names end in a zero. (By number: not every C library has a function for it.)
    let done = unsafe {
        libc::syscall(
            libc::SYS_renameat2,
            libc::AT_FDCWD,
            from.as_ptr(),
            libc::AT_FDCWD,
            to.as_ptr(),
            flags,
        )
    };
    check(done as libc::c_int)
}

#[cfg(test)]
mod tests;
