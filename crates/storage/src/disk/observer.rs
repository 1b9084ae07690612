//! Seeing every change that goes through a [`Disk`](super::Disk), in the order in which they
//! happen: for simulated disks, which decide what a crash would have left of it.

use std::{
    fmt, io,
    path::Path,
    sync::{Arc, Mutex},
};

use crate::monitor::lock;

/// A change of files or folders. A file is known by the name that it was created by, also after it
/// was renamed.
#[derive(Clone, Copy, Debug)]
pub enum Change<'a> {
    /// A new, empty file.
    Create(&'a Path),
    /// A new folder.
    CreateFolder(&'a Path),
    /// Bytes of a file, from an offset on.
    Write(&'a Path, u64, &'a [u8]),
    /// The length of a file.
    Resize(&'a Path, u64),
    /// The content of a file is on the device when this is done.
    Sync(&'a Path),
    /// The names in a folder are on the device when this is done.
    SyncFolder(&'a Path),
    /// From, to. What had the new name is gone.
    Rename(&'a Path, &'a Path),
    /// Two names for each other.
    Exchange(&'a Path, &'a Path),
    /// A file goes.
    Remove(&'a Path),
    /// A folder goes, and all that is in it.
    RemoveAll(&'a Path),
}

/// Sees changes. It is asked by one thread at a time, and nothing changes in between.
pub trait Observer: fmt::Debug + Send {
    /// Before a change: an error is what it fails with, without effect.
    fn before(&mut self, change: Change<'_>) -> io::Result<()>;
    /// After it has succeeded.
    fn after(&mut self, change: Change<'_>);
}

/// An observer of several disks.
#[derive(Clone, Debug)]
pub(super) struct SharedObserver(Arc<Mutex<Box<dyn Observer>>>);

impl SharedObserver {
    pub(super) fn new(observer: Box<dyn Observer>) -> Self {
        Self(Arc::new(Mutex::new(observer)))
    }

    pub(super) fn around<T>(
        &self,
        change: Change<'_>,
        act: impl FnOnce() -> io::Result<T>,
    ) -> io::Result<T> {
        let mut observer = lock(&self.0);
        observer.before(change)?;
        let done = act()?;
        observer.after(change);
        Ok(done)
    }
}
