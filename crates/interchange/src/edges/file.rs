//! A Parquet file's bytes, as the Parquet reader wants them.

use std::{
    fs::Metadata,
    io::{self, BufReader, Read},
    os::unix::fs::MetadataExt,
    path::Path,
    sync::{Arc, Mutex},
};

use ::parquet::{
    errors::ParquetError,
    file::reader::{ChunkReader, Length},
};
use bytes::Bytes;
use outercore_graph::{GraphError, Result};
use outercore_storage::{Disk, DiskFile, StorageError};

use super::fault;

/// What identifies the content of a file, as far as one can know without reading it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp(u64, u64, u64, i64, i64);

impl From<&Metadata> for Stamp {
    fn from(of: &Metadata) -> Self {
        Self(of.dev(), of.ino(), of.size(), of.mtime(), of.mtime_nsec())
    }
}

/// Opens a file. Returns where the device's errors go, and what the file is, too.
pub(super) fn open_file(disk: &Disk, path: &Path) -> Result<(Chunks, Failure, Stamp)> {
    let file = disk.open_buffered(path).map_err(|error| match error {
        StorageError::Io { source, .. }
            if matches!(
                source.kind(),
                io::ErrorKind::NotFound
                    | io::ErrorKind::PermissionDenied
                    | io::ErrorKind::InvalidInput
            ) =>
        {
            fault(
                path,
                format!("it cannot be opened ({source})"),
                "check the name, and who may read it",
            )
        }
        other => other.into(),
    })?;
    // By way of the descriptor, so that it is the file that was opened.
    let metadata = std::fs::metadata(format!("/proc/self/fd/{}", file.fd()))
        .or_else(|_| std::fs::metadata(path));
    let stamp = Stamp::from(&metadata.map_err(|error| StorageError::io("lookup", path, 0, error))?);
    let failure = Failure::default();
    Ok((
        Chunks { len: file.len()?, file: Arc::new(file), failure: failure.clone() },
        failure,
        stamp,
    ))
}

/// The device's error behind a parser's, which keeps only its text.
#[derive(Clone, Default)]
pub(super) struct Failure(Arc<Mutex<Option<StorageError>>>);

impl Failure {
    /// The error, if there was one.
    pub(super) fn take(&self) -> Option<GraphError> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).take().map(GraphError::from)
    }

    fn put(&self, error: StorageError) -> io::Error {
        let text = error.to_string();
        *self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = Some(error);
        io::Error::other(text)
    }
}

/// A file as the Parquet reader wants it.
pub(super) struct Chunks {
    file: Arc<DiskFile>,
    len: u64,
    failure: Failure,
}

impl Chunks {
    /// Bytes of the file.
    pub(super) fn bytes(&self) -> u64 {
        self.len
    }

    /// Fills `buffer` from byte `at` on, as far as the file goes; returns how far.
    pub(super) fn read_at(&self, at: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while filled < buffer.len() {
            let read = self
                .file
                .read_some_at(&mut buffer[filled..], at + filled as u64)
                .map_err(|error| self.failure.put(error))?;
            if read == 0 {
                break;
            }
            filled += read;
        }
        Ok(filled)
    }
}

impl Length for Chunks {
    fn len(&self) -> u64 {
        self.len
    }
}

impl ChunkReader for Chunks {
    type T = BufReader<Tail>;

    fn get_read(&self, start: u64) -> std::result::Result<Self::T, ParquetError> {
        Ok(BufReader::new(Tail {
            file: self.file.clone(),
            at: start,
            failure: self.failure.clone(),
        }))
    }

    fn get_bytes(&self, start: u64, length: usize) -> std::result::Result<Bytes, ParquetError> {
        // What the file says of itself is not trusted with an allocation.
        if start.saturating_add(length as u64) > self.len {
            return Err(ParquetError::EOF(format!(
                "{length} bytes were expected at offset {start}, beyond the end"
            )));
        }
        let mut bytes = vec![0; length];
        self.file
            .read_at(&mut bytes, start)
            .map_err(|error| ParquetError::from(self.failure.put(error)))?;
        Ok(bytes.into())
    }
}

/// A file from some offset on.
pub(super) struct Tail {
    file: Arc<DiskFile>,
    at: u64,
    failure: Failure,
}

impl Read for Tail {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read =
            self.file.read_some_at(buffer, self.at).map_err(|error| self.failure.put(error))?;
        self.at += read as u64;
        Ok(read)
    }
}
