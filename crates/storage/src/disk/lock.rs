//! Locks, and what a locked folder holds. A folder that is locked stays open: what is opened in it
//! is of this folder, whatever its name has come to stand for.

use super::{Disk, DiskFile, SMALL, check};
use crate::error::{Result, StorageError};
use std::ffi::CString;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// A lock on a folder or file; dropping it, or the end of the process, releases it.
#[derive(Debug)]
pub struct DirLock {
    file: File,
    path: PathBuf,
}

impl DirLock {
    /// The name that it was locked by.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Disk {
    /// Locks a folder or file against every other lock. [`StorageError::Locked`] if there is one:
    /// it does not wait.
    pub fn lock_exclusive(&self, path: &Path) -> Result<DirLock> {
        self.lock(path, libc::LOCK_EX)
    }

    /// Locks a folder or file against exclusive locks. [`StorageError::Locked`] if there is one: it
    /// does not wait.
    pub fn lock_shared(&self, path: &Path) -> Result<DirLock> {
        self.lock(path, libc::LOCK_SH)
    }

    fn lock(&self, path: &Path, kind: libc::c_int) -> Result<DirLock> {
        let locked = self.run("locking", path, || {
            let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
            // SAFETY: the descriptor is open; the call takes no memory.
            check(unsafe { libc::flock(file.as_raw_fd(), kind | libc::LOCK_NB) })?;
            Ok(DirLock { file, path: path.to_owned() })
        });
        match locked {
            Err(StorageError::Io { source, .. })
                if source.raw_os_error() == Some(libc::EWOULDBLOCK) =>
            {
                Err(StorageError::Locked { path: path.to_owned() })
            }
            other => other,
        }
    }

    /// Opens a file of a locked folder for reading, past the page cache where the file system can
    /// do that and the file has at least 512 KiB.
    pub fn open_in(&self, folder: &DirLock, name: &str) -> Result<DiskFile> {
        self.open_at(folder, name, Some(SMALL))
    }

    /// The same through the page cache.
    pub fn open_buffered_in(&self, folder: &DirLock, name: &str) -> Result<DiskFile> {
        self.open_at(folder, name, None)
    }

    fn open_at(&self, folder: &DirLock, name: &str, direct: Option<u64>) -> Result<DiskFile> {
        let text = CString::new(name);
        self.opened("open", &folder.path.join(name), direct, || {
            let text = text.as_ref().map_err(|_| io::Error::from_raw_os_error(libc::EINVAL))?;
            let flags = libc::O_RDONLY | libc::O_NONBLOCK | libc::O_CLOEXEC;
            // SAFETY: the folder's descriptor is open, and the name ends in a zero.
            let fd = unsafe { libc::openat(folder.file.as_raw_fd(), text.as_ptr(), flags) };
            check(fd)?;
            // SAFETY: the call has just opened it, and nothing else knows it.
            Ok(unsafe { File::from_raw_fd(fd) })
        })
    }

    /// Whether the locked folder's name still leads to it, and not to another one or nowhere.
    pub fn is_in_place(&self, folder: &DirLock) -> Result<bool> {
        self.run("lookup", &folder.path, || {
            let locked = folder.file.metadata()?;
            match std::fs::metadata(&folder.path) {
                Ok(named) => Ok((named.dev(), named.ino()) == (locked.dev(), locked.ino())),
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
                Err(error) => Err(error),
            }
        })
    }
}
