//! What can go wrong between a process and its devices. Every error names the file, the place in
//! it, and what the system said.

use std::fmt::{self, Write as _};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// What standard output is called in errors.
const STANDARD_OUTPUT: &str = "standard output";

/// An error of the storage layer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StorageError {
    /// An operation failed on a file.
    #[error("{operation} of {}{}: {source}{}", Shown(path), At(operation, *offset), Advice(source))]
    Io {
        /// What was attempted: `read`, `write`, `open`, `sync`, ...
        operation: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// Where in the file; 0 for operations on whole files.
        offset: u64,
        /// What the system said.
        source: io::Error,
    },
    /// The device, the quota or the file size limit is exhausted.
    #[error("no space left for {}{}: {source}", More(*needed), Shown(path))]
    Full {
        /// The file that could not grow.
        path: PathBuf,
        /// Bytes that the failed request still had to write; 0 where it was not a write.
        needed: u64,
        /// What the system said.
        source: io::Error,
    },
    /// A page does not have the content that was written.
    #[error(
        "page {page} of {} has a wrong checksum: the file was damaged after it was written",
        Shown(path)
    )]
    Checksum {
        /// The damaged file.
        path: PathBuf,
        /// The first damaged page, in units of 4 KiB.
        page: u64,
    },
    /// A read reached the end of a file that should have been longer.
    #[error("{} ends too early: {wanted} bytes were wanted at offset {offset}", Shown(path))]
    Truncated {
        /// The short file.
        path: PathBuf,
        /// Start of the read.
        offset: u64,
        /// Length of the read.
        wanted: u64,
    },
    /// The system refused memory.
    #[error(
        "the system refuses {bytes} bytes of memory: {source}; give a smaller --memory, or raise \
         the limit of address space (`ulimit -v`)"
    )]
    Memory {
        /// Bytes asked for.
        bytes: u64,
        /// What the system said.
        source: io::Error,
    },
    /// The system refused a thread.
    #[error(
        "the system starts no further thread: {source}; give a smaller --threads, or raise the \
         limit of processes (`ulimit -u`, or pids.max of the control group) or of address space \
         (`ulimit -v`)"
    )]
    Thread {
        /// What the system said.
        source: io::Error,
    },
    /// Another process holds the lock.
    #[error("{} is in use by another process", Shown(path))]
    Locked {
        /// What is locked.
        path: PathBuf,
    },
    /// The system interrupted one operation so often that it was given up.
    #[error("interrupted too often by signals")]
    Interrupted,
}

/// The result of a storage operation.
pub type Result<T> = std::result::Result<T, StorageError>;

impl StorageError {
    /// An error of an operation that does not need space.
    pub fn io(operation: &'static str, path: &Path, offset: u64, source: io::Error) -> Self {
        Self::Io { operation, path: path.to_owned(), offset, source }
    }

    /// An error of an operation that may need space: [`StorageError::Full`] where that is the
    /// cause.
    pub fn write(
        operation: &'static str,
        path: &Path,
        offset: u64,
        needed: u64,
        source: io::Error,
    ) -> Self {
        match source.raw_os_error() {
            Some(libc::ENOSPC | libc::EDQUOT | libc::EFBIG) => {
                Self::Full { path: path.to_owned(), needed, source }
            }
            // A direct write that reaches into the limit of a file's size moves nothing at all.
            None if source.kind() == io::ErrorKind::WriteZero => {
                let source = io::Error::from_raw_os_error(libc::EFBIG);
                Self::Full { path: path.to_owned(), needed, source }
            }
            _ => Self::io(operation, path, offset, source),
        }
    }

    /// Standard output could not be written: nobody reads it, or it is a file on a full disk.
    pub fn standard_output(source: io::Error) -> Self {
        Self::write("write", Path::new(STANDARD_OUTPUT), 0, 0, source)
    }

    /// Whether nobody reads standard output any more.
    pub fn is_closed_output(&self) -> bool {
        matches!(self, Self::Io { path, source, .. }
            if path == Path::new(STANDARD_OUTPUT) && source.kind() == io::ErrorKind::BrokenPipe)
    }

    /// Whether a file system says that it cannot do this, and may be able to do something simpler.
    pub fn is_unsupported(&self) -> bool {
        let number = match self {
            Self::Io { source, .. } => source.raw_os_error(),
            _ => None,
        };
        matches!(number, Some(libc::EINVAL | libc::ENOSYS))
    }

    /// What the system said, where it said something.
    pub fn kind(&self) -> Option<io::ErrorKind> {
        match self {
            Self::Io { source, .. } => Some(source.kind()),
            _ => None,
        }
    }

    /// Scratch at `offset` is not what was written.
    pub fn scratch(path: &Path, offset: u64) -> Self {
        let what = "scratch came back from the device other than it was written";
        Self::io("read", path, offset, io::Error::other(what))
    }

    /// A read of `wanted` bytes at `offset` met the end of the file.
    pub fn truncated(path: &Path, offset: u64, wanted: u64) -> Self {
        Self::Truncated { path: path.to_owned(), offset, wanted }
    }

    /// The same error for a second reader. `io::Error` is not `Clone`; number, kind and text
    /// survive.
    pub fn duplicate(&self) -> Self {
        match self {
            Self::Io { operation, path, offset, source } => {
                Self::Io { operation, path: path.clone(), offset: *offset, source: copy(source) }
            }
            Self::Full { path, needed, source } => {
                Self::Full { path: path.clone(), needed: *needed, source: copy(source) }
            }
            Self::Checksum { path, page } => Self::Checksum { path: path.clone(), page: *page },
            Self::Truncated { path, offset, wanted } => Self::truncated(path, *offset, *wanted),
            Self::Memory { bytes, source } => Self::Memory { bytes: *bytes, source: copy(source) },
            Self::Thread { source } => Self::Thread { source: copy(source) },
            Self::Locked { path } => Self::Locked { path: path.clone() },
            Self::Interrupted => Self::Interrupted,
        }
    }
}

fn copy(error: &io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(number) => io::Error::from_raw_os_error(number),
        None => io::Error::new(error.kind(), error.to_string()),
    }
}

/// A path for a message, on one line: control characters and bytes that are no text are escaped. A
/// file name must not be able to write to the terminal.
pub struct Shown<'a>(pub &'a Path);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for chunk in self.0.as_os_str().as_bytes().utf8_chunks() {
            for c in chunk.valid().chars() {
                if c.is_control() { write!(f, "{}", c.escape_default())? } else { f.write_char(c)? }
            }
            chunk.invalid().iter().try_for_each(|byte| write!(f, "\\x{byte:02x}"))?;
        }
        Ok(())
    }
}

/// What to do about an error of the system's, where that is known.
struct Advice<'a>(&'a io::Error);

impl fmt::Display for Advice<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.raw_os_error() {
            Some(libc::EMFILE) => f.write_str("; raise the limit: `ulimit -n 4096`"),
            Some(libc::ENFILE) => f.write_str("; the whole system has too many: end something"),
            _ => Ok(()),
        }
    }
}

/// The bytes that have no place, if they are known.
struct More(u64);

impl fmt::Display for More {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 { Ok(()) } else { write!(f, "{} more bytes of ", self.0) }
    }
}

/// The offset, for operations that have one.
struct At(&'static str, u64);

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            "read" | "write" => write!(f, " at offset {}", self.1),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn os(number: i32) -> io::Error {
        io::Error::from_raw_os_error(number)
    }

    #[test]
    fn messages_name_file_and_place() {
        let text = StorageError::io("read", Path::new("a/b"), 4096, os(libc::EIO)).to_string();
        assert!(text.starts_with("read of a/b at offset 4096: "), "{text}");
        let text = StorageError::io("open", Path::new("a/b"), 0, os(libc::ENOENT)).to_string();
        assert!(text.starts_with("open of a/b: "), "{text}");
    }

    #[test]
    fn control_characters_are_escaped() {
        let text = StorageError::Locked { path: PathBuf::from("a\x1b[31m\nb") }.to_string();
        assert!(!text.chars().any(char::is_control), "{text:?}");
        let odd = std::ffi::OsStr::from_bytes(b"caf\xe9\n");
        assert_eq!(Shown(Path::new(odd)).to_string(), "caf\\xe9\\n");
    }

    #[test]
    fn exhausted_space_has_its_own_kind() {
        for number in [libc::ENOSPC, libc::EDQUOT, libc::EFBIG] {
            let error = StorageError::write("write", Path::new("x"), 0, 7, os(number));
            assert!(matches!(error, StorageError::Full { needed: 7, .. }), "{error}");
        }
        let error = StorageError::write("write", Path::new("x"), 0, 7, os(libc::EIO));
        assert!(matches!(error, StorageError::Io { .. }), "{error}");
        let nothing = io::ErrorKind::WriteZero.into();
        let error = StorageError::write("write", Path::new("x"), 0, 7, nothing);
        assert!(matches!(error, StorageError::Full { needed: 7, .. }), "{error}");
    }

    #[test]
    fn a_duplicate_says_the_same() {
        let errors = [
            StorageError::io("read", Path::new("x"), 1, os(libc::EIO)),
            StorageError::io(
                "read",
                Path::new("x"),
                1,
                io::Error::new(io::ErrorKind::InvalidData, "odd"),
            ),
            StorageError::write("write", Path::new("x"), 1, 2, os(libc::ENOSPC)),
            StorageError::Checksum { path: "x".into(), page: 3 },
            StorageError::truncated(Path::new("x"), 1, 2),
            StorageError::Memory { bytes: 1, source: os(libc::ENOMEM) },
            StorageError::Thread { source: os(libc::EAGAIN) },
            StorageError::Locked { path: "x".into() },
            StorageError::Interrupted,
        ];
        for error in errors {
            assert_eq!(error.to_string(), error.duplicate().to_string());
        }
    }
}
