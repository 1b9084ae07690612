//! One input as bytes: looked into when it is opened, read when the edges are wanted.
//!
//! A regular file is opened twice, and must be the same file with the same size and time at the
//! second opening and at the end. Pipes and standard input are opened once; the bytes looked at are
//! kept and given out again.

use std::{
    fs::Metadata,
    io::{self, BufRead, BufReader, Cursor, Read},
    os::unix::fs::{FileTypeExt, MetadataExt},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use outercore_storage::{Disk, DiskFile, StorageError};

use super::{
    compressed::{Compression, LARGEST_WINDOW, Windows},
    fault,
    pipe::{Pipe, Stopped, is_interrupted},
};
use crate::error::{GraphError, InputError, Result};

/// How much of the beginning is looked at, if it has enough lines of data.
const HEAD: usize = 1 << 20;
/// How much at most, where it is all comments.
const LONGEST_HEAD: usize = 4 << 20;
/// Lines of data that are enough.
pub(super) const ENOUGH_LINES: usize = 1000;
/// The unit in which compressed bytes and the head are read.
const STEP: usize = 256 << 10;

/// One input.
pub(super) struct InputBytes {
    pub(super) path: PathBuf,
    disk: Disk,
    pub(super) compression: Compression,
    /// Bytes as stored, of a regular file.
    pub(super) stored: Option<u64>,
    stamp: Option<Stamp>,
    windows: Arc<Windows>,
    /// The beginning, uncompressed.
    pub(super) head: Vec<u8>,
    /// Whether the head is everything.
    pub(super) whole: bool,
    /// The rest of what can be read once only.
    once: Mutex<Option<Stream>>,
    piped: bool,
}

/// What identifies the content of a file, as far as one can know without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    device: u64,
    inode: u64,
    bytes: u64,
    modified: (i64, i64),
}

impl From<&Metadata> for Stamp {
    fn from(of: &Metadata) -> Self {
        Self {
            device: of.dev(),
            inode: of.ino(),
            bytes: of.size(),
            modified: (of.mtime(), of.mtime_nsec()),
        }
    }
}

/// Uncompressed bytes in their order.
pub(super) struct Stream {
    reader: Box<dyn Read + Send>,
    /// Stored bytes that were consumed.
    pub(super) consumed: Arc<AtomicU64>,
}

/// An input opened for reading.
pub(super) enum Opened {
    /// Read it anywhere: this many bytes.
    File(DiskFile, u64),
    /// Read it from the beginning.
    Stream(Stream),
}

impl Opened {
    /// From the beginning.
    pub(super) fn into_stream(self) -> Stream {
        match self {
            Opened::Stream(stream) => stream,
            Opened::File(file, _) => {
                Stream { reader: Box::new(FileReader { file, at: 0 }), consumed: Arc::default() }
            }
        }
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.reader.read(buffer)
    }
}

impl InputBytes {
    /// Opens an input and looks at its beginning.
    pub(super) fn open(disk: &Disk, path: &Path, stopped: Option<Stopped>) -> Result<Self> {
        let (mut raw, stamp) = open_raw(disk, path, stopped)?;
        let consumed = Arc::new(AtomicU64::new(0));
        let counted = Counting { inner: &mut raw, count: consumed.clone() };
        let mut start = Vec::new();
        counted.take(64).read_to_end(&mut start).map_err(|error| raw_error(path, error))?;
        let compression = Compression::recognize(&start).map_err(|(name, command)| {
            let advice =
                format!("decompress it on the way: `{command} FILE | outercore build - -o GRAPH`");
            fault(path, format!("this is compressed with {name}, which is not supported"), &advice)
        })?;
        let windows = Arc::default();
        let rest = BufReader::with_capacity(STEP, Counting { inner: raw, count: consumed.clone() });
        let raw: Box<dyn BufRead + Send> = Box::new(Cursor::new(start).chain(rest));
        let reader = compression.undo(raw, &windows);
        let mut source = Self {
            path: path.to_owned(),
            disk: disk.clone(),
            compression,
            stored: stamp.map(|stamp| stamp.bytes),
            stamp,
            windows,
            head: Vec::new(),
            whole: false,
            once: Mutex::new(None),
            piped: stamp.is_none(),
        };
        let mut stream = Stream { reader, consumed };
        source.look(&mut stream)?;
        if source.piped {
            source.once = Mutex::new(Some(stream));
        }
        Ok(source)
    }

    /// Reads the head.
    fn look(&mut self, stream: &mut Stream) -> Result<()> {
        let mut lines = 0;
        while self.head.len() < HEAD || (lines == 0 && self.head.len() < LONGEST_HEAD) {
            let from = self.head.len();
            self.head.resize(from + STEP, 0);
            let read = stream
                .fill(&mut self.head[from..])
                .map_err(|(read, error)| self.error(from as u64 + read as u64, error))?;
            self.head.truncate(from + read);
            self.whole = read < STEP;
            lines += data_lines(&self.head[from..]);
            if self.whole || lines > ENOUGH_LINES {
                break;
            }
        }
        Ok(())
    }

    /// Shows the head to `look`, and forgets it. It is read again if it was forgotten before.
    pub(super) fn with_head<T>(&mut self, look: impl FnOnce(&Self) -> Result<T>) -> Result<T> {
        self.recall_head()?;
        let seen = look(self)?;
        self.forget_head();
        Ok(seen)
    }

    /// Reads the head again, if it was forgotten.
    fn recall_head(&mut self) -> Result<()> {
        if !self.head.is_empty() || self.piped {
            return Ok(());
        }
        let mut stream = self.start(LARGEST_WINDOW)?.0.into_stream();
        self.look(&mut stream)
    }

    /// Forgets the head, if it can be read again.
    pub(super) fn forget_head(&mut self) {
        if !self.piped {
            self.head = Vec::new();
        }
    }

    /// Whether the memory that reading takes is known only when it is read: each frame of a zstd
    /// stream says how large a window it needs.
    pub(super) fn has_windows(&self) -> bool {
        self.compression == Compression::Zstd
    }

    /// What has to be given for the largest window that a frame has asked for so far: the first
    /// was seen when it was opened, and others are seldom larger.
    pub(super) fn largest_window(&self) -> u64 {
        self.windows.asked.load(Relaxed).div_ceil(7) * 8
    }

    /// Whether it is a regular file that is not compressed.
    pub(super) fn is_plain_file(&self) -> bool {
        self.stamp.is_some() && self.compression == Compression::None && !self.piped
    }

    /// The name without the extension of the compression.
    pub(super) fn bare_name(&self) -> PathBuf {
        let extension = self.path.extension().and_then(|extension| extension.to_str());
        if extension.is_some_and(|extension| {
            matches!(extension.to_ascii_lowercase().as_str(), "gz" | "zst" | "zstd" | "gzip")
        }) {
            self.path.with_extension("")
        } else {
            self.path.clone()
        }
    }

    /// The last extension but that of the compression, in lower case.
    pub(super) fn extension(&self) -> String {
        self.bare_name()
            .extension()
            .and_then(|extension| extension.to_str())
            .unwrap_or("")
            .to_ascii_lowercase()
    }

    /// Opens it for reading with decompression in at most `memory` bytes, and says how much of them
    /// that takes.
    pub(super) fn start(&self, memory: u64) -> Result<(Opened, u64)> {
        // The rest is for buffers.
        let granted = if self.has_windows() { memory / 8 * 7 } else { 0 };
        self.windows.granted.store(granted, Relaxed);
        let used = granted + if self.compression == Compression::None { 0 } else { STEP as u64 };
        if self.piped {
            // Its first frame has begun.
            if self.windows.asked.load(Relaxed) > granted {
                return Err(self.window_error());
            }
            let taken = self.once.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).take();
            let rest = taken.ok_or_else(|| {
                GraphError::Usage(format!("{} can be read once only", self.path.display()))
            })?;
            let reader = Box::new(Cursor::new(self.head.clone()).chain(rest.reader));
            return Ok((Opened::Stream(Stream { reader, consumed: rest.consumed }), used));
        }
        let (file, stamp) = open_file(&self.disk, &self.path)?;
        self.compare(stamp)?;
        if self.compression == Compression::None {
            advise_sequential(&file);
            return Ok((Opened::File(file, stamp.bytes), used));
        }
        let consumed = Arc::new(AtomicU64::new(0));
        let counted = Counting { inner: FileReader { file, at: 0 }, count: consumed.clone() };
        let raw = Box::new(BufReader::with_capacity(STEP, counted));
        let reader = self.compression.undo(raw, &self.windows);
        Ok((Opened::Stream(Stream { reader, consumed }), used))
    }

    /// Complains if the file is not the one that was opened, or was written to.
    pub(super) fn recheck(&self) -> Result<()> {
        match self.stamp {
            Some(_) => self.compare(open_file(&self.disk, &self.path)?.1),
            None => Ok(()),
        }
    }

    fn compare(&self, now: Stamp) -> Result<()> {
        if self.stamp == Some(now) {
            return Ok(());
        }
        Err(self.changed())
    }

    fn changed(&self) -> GraphError {
        fault(
            &self.path,
            "the file changed while it was being read",
            "run the command again when nothing writes to it",
        )
    }

    /// A failed read from a [`DiskFile`]. A file that got shorter is the user's fault.
    pub(super) fn file_error(&self, error: StorageError) -> GraphError {
        if matches!(error, StorageError::Truncated { .. }) { self.changed() } else { error.into() }
    }

    /// A failed read from a [`Stream`] after `produced` bytes.
    pub(super) fn error(&self, produced: u64, error: io::Error) -> GraphError {
        let name = self.compression.name();
        if self.compression == Compression::None
            || error.raw_os_error().is_some()
            || is_storage(&error)
            || is_interrupted(&error)
        {
            return raw_error(&self.path, error);
        }
        if error.kind() == io::ErrorKind::OutOfMemory {
            return self.window_error();
        }
        let (what, advice) = if error.kind() == io::ErrorKind::UnexpectedEof
            || error.to_string().contains("incomplete frame")
        {
            ("is cut short".to_owned(), "the file is not complete: copy or download it again")
        } else {
            (
                format!("is damaged ({error})"),
                "copy or download the file again, and test it with `gzip -t` or `zstd -t`",
            )
        };
        let what = format!("the {name} stream {what}, after {produced} bytes of content");
        InputError {
            path: self.path.clone(),
            line: None,
            offset: None,
            what,
            advice: advice.to_owned(),
        }
        .into()
    }

    /// A frame asks for more than is granted.
    fn window_error(&self) -> GraphError {
        let (asked, granted) =
            (self.windows.asked.load(Relaxed), self.windows.granted.load(Relaxed));
        if asked > LARGEST_WINDOW {
            let what = format!("the zstd stream needs a window of {asked} bytes");
            let advice = "zstd reads windows of up to 2 GiB: compress the file again, or \
                          decompress it on the way";
            return fault(&self.path, what, advice);
        }
        let what = format!("the window of the zstd stream {}", self.path.display());
        GraphError::Memory { needed: self.largest_window(), budget: granted / 7 * 8, what }
    }
}

impl Stream {
    /// Fills the buffer; less only at the end. An error comes with the bytes read before it.
    pub(super) fn fill(
        &mut self,
        buffer: &mut [u8],
    ) -> std::result::Result<usize, (usize, io::Error)> {
        let mut done = 0;
        while done < buffer.len() {
            match self.reader.read(&mut buffer[done..]) {
                Ok(0) => break,
                Ok(read) => done += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err((done, error)),
            }
        }
        Ok(done)
    }
}

/// Opens anything that can be read, with its stamp if it is a regular file.
fn open_raw(
    disk: &Disk,
    path: &Path,
    stopped: Option<Stopped>,
) -> Result<(Box<dyn Read + Send>, Option<Stamp>)> {
    let raw_error = |error| raw_error(path, error);
    if path == Path::new("-") {
        return Ok((Box::new(Pipe::standard_input(stopped).map_err(raw_error)?), None));
    }
    let kind = std::fs::metadata(path).map_err(raw_error)?.file_type();
    if kind.is_dir() {
        return Err(fault(path, "this is a folder, not an edge list", "name the files in it"));
    }
    if kind.is_fifo() || kind.is_char_device() {
        return Ok((Box::new(Pipe::open(path, stopped).map_err(raw_error)?), None));
    }
    if !kind.is_file() {
        return Err(fault(path, "this is neither a file nor a pipe", ""));
    }
    let (file, stamp) = open_file(disk, path)?;
    Ok((Box::new(FileReader { file, at: 0 }), Some(stamp)))
}

fn open_file(disk: &Disk, path: &Path) -> Result<(DiskFile, Stamp)> {
    let opened = disk.open_buffered(path);
    let file = opened.map_err(|error| match error {
        StorageError::Io { source, .. } if is_users_fault(&source) => raw_error(path, source),
        other => other.into(),
    })?;
    // By way of the descriptor, so that it is the file that was opened.
    let metadata = std::fs::metadata(format!("/proc/self/fd/{}", file.fd()))
        .or_else(|_| std::fs::metadata(path));
    let stamp = Stamp::from(&metadata.map_err(|error| raw_error(path, error))?);
    Ok((file, stamp))
}

fn is_users_fault(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidInput, IsADirectory, NotADirectory, NotFound, PermissionDenied};
    matches!(
        error.kind(),
        NotFound | PermissionDenied | IsADirectory | NotADirectory | InvalidInput
    )
}

fn is_storage(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<StorageError>())
}

/// What the system said of an input: the user's fault if there is no such file, else the device's.
fn raw_error(path: &Path, error: io::Error) -> GraphError {
    if is_interrupted(&error) {
        return GraphError::Cancelled;
    }
    if is_storage(&error) {
        return match error.downcast::<StorageError>() {
            Ok(storage) => storage.into(),
            Err(error) => StorageError::io("read", path, 0, error).into(),
        };
    }
    match error.kind() {
        io::ErrorKind::NotFound => fault(path, "there is no such file", "check the name"),
        io::ErrorKind::PermissionDenied => {
            fault(path, "it may not be read (permission denied)", "check who may read it")
        }
        _ if is_users_fault(&error) => fault(path, format!("it cannot be opened ({error})"), ""),
        _ => StorageError::io("read", path, 0, error).into(),
    }
}

/// Lets the kernel read further ahead.
fn advise_sequential(file: &DiskFile) {
    // SAFETY: the descriptor is open; the call takes no memory. Its failure changes nothing.
    unsafe { libc::posix_fadvise(file.fd(), 0, 0, libc::POSIX_FADV_SEQUENTIAL) };
}

/// Lines that begin with neither a mark of comments nor nothing: an estimate, to know when the head
/// is enough.
fn data_lines(bytes: &[u8]) -> usize {
    let ends = memchr::memchr_iter(b'\n', bytes);
    ends.filter(|end| {
        bytes.get(end + 1).is_some_and(|first| !matches!(first, b'#' | b'%' | b'/' | b'\r' | b'\n'))
    })
    .count()
}

/// A file as a stream.
struct FileReader {
    file: DiskFile,
    at: u64,
}

impl Read for FileReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_some_at(buffer, self.at).map_err(io::Error::other)?;
        self.at += read as u64;
        Ok(read)
    }
}

/// Counts what passes.
struct Counting<R> {
    inner: R,
    count: Arc<AtomicU64>,
}

impl<R: Read> Read for Counting<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.count.fetch_add(read as u64, Relaxed);
        Ok(read)
    }
}
