//! A file that appears whole under its name, or not at all: written beside it under a hidden name,
//! synced, renamed.

use std::{
    io::{self, Write},
    path::{Path, PathBuf},
};

use outercore_graph::{GraphError, Result, error::refuse, format::check_outside_of_graphs};
use outercore_storage::{DirLock, Disk, DiskFile, StorageError, hidden};

/// Bytes gathered before they are written.
const BUFFER: usize = 1 << 20;

/// A file being written. Dropped before [`Publication::publish`], it leaves nothing.
pub(crate) struct Publication {
    disk: Disk,
    target: PathBuf,
    hidden: PathBuf,
    file: Option<(DiskFile, DirLock)>,
    buffer: Vec<u8>,
    /// Bytes that have left the buffer.
    written: u64,
}

/// Says no to names that a file cannot be published under, before any work is done.
pub(crate) fn check_target(path: &Path) -> Result<()> {
    let refuse = |why: &str| refuse(format!("{} cannot be written: {why}", path.display()));
    if path.file_name().is_none() {
        return refuse("it is not the name of a file");
    }
    match std::fs::metadata(path) {
        Ok(found) if found.is_dir() => refuse("there is a folder of that name"),
        Ok(found) if !found.is_file() => {
            refuse("it is a device or a pipe; give the name of a file, or - for standard output")
        }
        _ if !folder(path).is_dir() => refuse("its folder does not exist"),
        _ => check_outside_of_graphs(path),
    }
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

impl Publication {
    /// Creates the hidden file.
    pub(crate) fn begin(disk: &Disk, target: &Path) -> Result<Self> {
        check_target(target)?;
        hidden::sweep_beside(disk, target);
        let (hidden, file, lock) = hidden::create_beside(disk, target)?;
        Ok(Self {
            disk: disk.clone(),
            target: target.to_owned(),
            hidden,
            file: Some((file, lock)),
            buffer: Vec::with_capacity(BUFFER),
            written: 0,
        })
    }

    /// Writes over bytes that were written before.
    pub(crate) fn patch(&mut self, bytes: &[u8], offset: u64) -> Result<()> {
        self.drain()?;
        Ok(self.file().write_at(bytes, offset)?)
    }

    /// Makes the content durable and gives the file its name; what had the name before is replaced
    /// in one step. After an error the name is what it was.
    pub(crate) fn publish(mut self) -> Result<()> {
        self.drain()?;
        self.file().sync()?;
        hidden::publish_beside(&self.disk, &self.hidden, &self.target)?;
        self.file = None;
        Ok(())
    }

    fn file(&self) -> &DiskFile {
        &self.file.as_ref().expect("only publishing closes the file, and consumes it").0
    }

    fn drain(&mut self) -> outercore_storage::Result<()> {
        if !self.buffer.is_empty() {
            self.file().write_at(&self.buffer, self.written)?;
            self.written += self.buffer.len() as u64;
            self.buffer.clear();
        }
        Ok(())
    }
}

impl Write for Publication {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.buffer.len() + bytes.len() > BUFFER {
            self.drain().map_err(io::Error::other)?;
        }
        if bytes.len() >= BUFFER {
            self.file().write_at(bytes, self.written).map_err(io::Error::other)?;
            self.written += bytes.len() as u64;
        } else {
            self.buffer.extend_from_slice(bytes);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Publication {
    fn drop(&mut self) {
        if self.file.take().is_some() {
            // An error here cannot be reported: the one that led here is on its way.
            let _ = self.disk.remove_file(&self.hidden);
        }
    }
}

/// An error of writing that went through [`Write`].
pub(crate) fn write_error(path: &Path, error: io::Error) -> GraphError {
    match error.downcast::<StorageError>() {
        Ok(storage) => storage.into(),
        Err(error) => StorageError::io("write", path, 0, error).into(),
    }
}

/// An error of writing that went through Parquet's writer.
pub(crate) fn parquet_write_error(path: &Path, error: parquet::errors::ParquetError) -> GraphError {
    let error = match error {
        parquet::errors::ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(io) => *io,
            Err(inner) => io::Error::other(inner),
        },
        other => io::Error::other(other),
    };
    write_error(path, error)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use outercore_storage::{Fault, FaultPlan};

    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(folder).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    fn put(disk: &Disk, target: &Path, content: &[u8]) -> Result<()> {
        let mut file = Publication::begin(disk, target)?;
        file.write_all(content).map_err(|error| write_error(target, error))?;
        file.publish()
    }

    #[test]
    fn appears_whole_and_replaces() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("a.csv");
        let disk = Disk::new();
        put(&disk, &target, b"first").unwrap();
        let long = vec![7; BUFFER * 2 + 5];
        put(&disk, &target, &long).unwrap();
        assert!(std::fs::read(&target).unwrap() == long);
        assert_eq!(names(dir.path()), ["a.csv"]);
    }

    #[test]
    fn a_dropped_file_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let mut file = Publication::begin(&Disk::new(), &dir.path().join("a.csv")).unwrap();
        file.write_all(b"x").unwrap();
        drop(file);
        assert!(names(dir.path()).is_empty());
    }

    #[test]
    fn whatever_fails_the_old_content_or_the_new_is_there() {
        let count = Arc::new(FaultPlan::count_only());
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("a.csv");
        std::fs::write(&target, b"old").unwrap();
        put(&Disk::with_faults(count.clone()), &target, b"new").unwrap();
        assert!(count.operations() >= 5);
        for number in 0..count.operations() + 2 {
            let dir = tempfile::tempdir().unwrap();
            let target = dir.path().join("a.csv");
            std::fs::write(&target, b"old").unwrap();
            let disk =
                Disk::with_faults(Arc::new(FaultPlan::nth(number, Fault::Error(libc_enospc()))));
            let done = put(&disk, &target, b"new");
            let found = std::fs::read(&target).unwrap();
            assert!(found == if done.is_ok() { b"new" } else { b"old" }, "operation {number}");
            assert_eq!(names(dir.path()), ["a.csv"], "operation {number}");
        }
    }

    #[test]
    fn what_dead_writers_left_goes_and_what_others_write_stays() {
        let dir = tempfile::tempdir().unwrap();
        let (target, disk) = (dir.path().join("a.csv"), Disk::new());
        let dead = dir.path().join(format!(".a.csv.{}.tmp", "0f".repeat(16)));
        let others = [".a.csv.1-0.tmp", ".a.csv.note.tmp", ".b.csv.tmp"];
        let alive = Publication::begin(&disk, &target).unwrap();
        std::fs::write(&dead, b"half").unwrap();
        others.iter().for_each(|name| std::fs::write(dir.path().join(name), b"mine").unwrap());
        put(&disk, &target, b"new").unwrap();
        assert!(!dead.exists() && alive.hidden.exists());
        assert!(others.iter().all(|name| dir.path().join(name).exists()));
        alive.publish().unwrap();
    }

    #[test]
    fn names_that_cannot_be_exchanged_are_renamed() {
        let count = Arc::new(FaultPlan::count_only());
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("a.csv");
        std::fs::write(&target, b"old").unwrap();
        put(&Disk::with_faults(count.clone()), &target, b"new").unwrap();
        let (mut renamed, invalid) = (0, Fault::Error(22));
        for number in 0..count.operations() {
            std::fs::write(&target, b"old").unwrap();
            let plan = FaultPlan::nth(number, invalid);
            let done = put(&Disk::with_faults(Arc::new(plan)), &target, b"new");
            let found = std::fs::read(&target).unwrap();
            assert!(found == if done.is_ok() { b"new" } else { b"old" }, "operation {number}");
            renamed += usize::from(done.is_ok());
        }
        assert!(renamed > 0);
    }

    /// ENOSPC.
    fn libc_enospc() -> i32 {
        28
    }

    #[test]
    fn bad_names_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        assert!(check_target(dir.path()).is_err());
        assert!(check_target(&dir.path().join("no/where.csv")).is_err());
        assert!(check_target(Path::new("/dev/null")).is_err());
        check_target(Path::new("result.csv")).unwrap();
    }
}
