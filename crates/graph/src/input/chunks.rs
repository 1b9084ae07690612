//! Cuts an input into chunks of whole records, has them decoded on several threads, and finds the
//! first error.
//!
//! A file is read by the workers themselves, each taking the next chunk: a chunk owns the lines
//! that begin in it. A stream is read by one thread, which cuts it and feeds the workers. Lines are
//! counted chunk by chunk, so that an error can name its line although nobody reads from the
//! beginning. After an error in one chunk those before it are still finished, for the first error
//! is the one to be reported.

use std::{
    collections::BTreeMap,
    io,
    path::Path,
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use crossbeam_channel::{Receiver, Sender};
use outercore_storage::DiskFile;

use super::{
    Progress, Sink,
    emit::Emitter,
    fields::MAX_LINE,
    reader::Part,
    source::{Opened, Source, Stream},
};
use crate::error::{GraphError, InputError, Result};

/// Readable bytes behind the end of each chunk, so that decoders may load whole words.
pub(super) const SLACK: usize = 32;
/// Bounds of a chunk's size.
const CHUNK: std::ops::RangeInclusive<usize> = (64 << 10)..=(2 << 20);
/// Bounds of a batch, in edges; an edge that is mirrored may come on top.
const BATCH: std::ops::RangeInclusive<usize> = (1 << 10)..=((1 << 16) - 1);
/// What is read beyond a chunk at first, to complete its last line.
const BEYOND: usize = 4 << 10;
/// The position of errors that come after everything.
const AT_END: u64 = u64::MAX - 1;

/// Where records end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cut {
    /// At newlines.
    Lines,
    /// Every so many bytes.
    Records(usize),
}

/// Whole records.
pub(super) struct Chunk<'a> {
    /// The records and at least [`SLACK`] bytes more.
    pub(super) bytes: &'a [u8],
    /// Where the records end; with [`Cut::Lines`] the byte before is a newline.
    pub(super) end: usize,
    /// Where they begin in the input.
    pub(super) offset: u64,
}

/// Turns a chunk into batches.
pub(super) trait Decoder: Send + Sync {
    /// Decodes every record and returns the number of lines.
    fn decode(&self, chunk: &Chunk<'_>, out: &mut Emitter<'_>) -> std::result::Result<u64, Stop>;
}

/// Why decoding ends early.
#[derive(Debug)]
pub(super) enum Stop {
    /// The input is at fault.
    Fault(Fault),
    /// Anything else.
    Other(GraphError),
}

impl From<Fault> for Stop {
    fn from(fault: Fault) -> Self {
        Stop::Fault(fault)
    }
}

/// A fault in a chunk.
#[derive(Debug, Default)]
pub(super) struct Fault {
    /// The line, from 0 at the beginning of the chunk.
    pub(super) line: Option<u64>,
    /// The byte in the input.
    pub(super) offset: Option<u64>,
    pub(super) what: String,
    pub(super) advice: String,
}

/// What reading needs from the caller.
pub(super) struct Job<'a> {
    pub(super) threads: usize,
    pub(super) memory: usize,
    pub(super) progress: &'a dyn Progress,
    pub(super) sink: Sink<'a>,
}

/// Reads a part of the input. Returns the number of edges.
pub(super) fn run(part: &Part, job: &Job<'_>) -> Result<u64> {
    let Part { source, begin, cut, .. } = part;
    let (begin, cut) = (*begin, *cut);
    let (opened, used) = source.start(job.memory as u64)?;
    let share = (job.memory as u64).saturating_sub(used) as usize / 4 / (job.threads + 2);
    let chunk = share.clamp(*CHUNK.start(), *CHUNK.end());
    let chunk = if let Cut::Records(bytes) = cut { chunk / bytes * bytes } else { chunk };
    let batch = (share / 24).clamp(*BATCH.start(), *BATCH.end());
    let run = Run {
        source,
        begin,
        cut,
        chunk,
        batch,
        decoder: part.decoder.as_ref(),
        job,
        next: AtomicU64::new(0),
        limit: AtomicU64::new(u64::MAX),
        edges: AtomicU64::new(0),
        found: Mutex::default(),
    };
    match opened {
        Opened::File(file, bytes) => {
            job.progress.advance(begin);
            run.file(&file, bytes);
        }
        Opened::Stream(stream) => run.stream(stream),
    }
    run.finish(part.lines)
}

/// One reading of one input.
struct Run<'a> {
    source: &'a Source,
    begin: u64,
    cut: Cut,
    chunk: usize,
    batch: usize,
    decoder: &'a dyn Decoder,
    job: &'a Job<'a>,
    next: AtomicU64,
    /// Chunks after this one are not wanted any more.
    limit: AtomicU64,
    edges: AtomicU64,
    found: Mutex<Found>,
}

/// What the workers found so far.
#[derive(Default)]
struct Found {
    /// The first error and its chunk.
    stop: Option<(u64, Stop)>,
    /// Lines of the chunks `0..chunks`.
    lines: u64,
    chunks: u64,
    /// Lines of later chunks.
    later: BTreeMap<u64, u64>,
}

/// A chunk of a stream on its way to a worker.
struct Piece {
    index: u64,
    buffer: Vec<u8>,
    end: usize,
    offset: u64,
}

impl Run<'_> {
    /// Decodes chunk `index`, behind which there is perhaps a fault; false if the worker is to end.
    fn decode(
        &self,
        index: u64,
        chunk: &Chunk<'_>,
        behind: Option<Fault>,
        out: &mut Emitter<'_>,
    ) -> bool {
        if self.job.progress.cancelled() {
            return self.stop(index, Stop::Other(GraphError::Cancelled));
        }
        match (self.decoder.decode(chunk, out), behind) {
            (Ok(lines), None) => self.done(index, lines),
            (Ok(lines), Some(fault)) => {
                self.stop(index, Fault { line: Some(lines), ..fault }.into())
            }
            (Err(stop), _) => self.stop(index, stop),
        }
    }

    /// Notes a decoded chunk.
    fn done(&self, index: u64, lines: u64) -> bool {
        let mut found = self.found.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        found.later.insert(index, lines);
        loop {
            let next = found.chunks;
            let Some(lines) = found.later.remove(&next) else { return true };
            found.lines += lines;
            found.chunks += 1;
        }
    }

    /// Notes an error in chunk `index`.
    fn stop(&self, index: u64, stop: Stop) -> bool {
        let mut found = self.found.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if found.stop.as_ref().is_none_or(|(first, _)| index < *first) {
            found.stop = Some((index, stop));
            self.limit.fetch_min(index, Relaxed);
        }
        false
    }

    /// The end of a worker.
    fn leave(&self, mut out: Emitter<'_>) {
        if let Err(stop) = out.flush() {
            self.stop(AT_END, stop);
        }
        self.edges.fetch_add(out.records(), Relaxed);
    }

    /// The result, when all workers have ended. `before` lines precede the first chunk.
    fn finish(self, before: u64) -> Result<u64> {
        let found = self.found.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
        let by_input = matches!(
            found.stop,
            None | Some((_, Stop::Fault(_) | Stop::Other(GraphError::Input(_))))
        );
        if by_input {
            // What is wrong with a file that somebody writes to is that somebody writes to it.
            self.source.recheck()?;
        }
        let Some((_, stop)) = found.stop else {
            return Ok(self.edges.into_inner());
        };
        match stop {
            Stop::Other(error) => Err(error),
            Stop::Fault(Fault { line, offset, what, advice }) => {
                // Every chunk before the faulty one was decoded: else one of them would be the
                // first.
                let line = line.map(|line| before + found.lines + line + 1);
                Err(InputError { path: self.source.path.clone(), line, offset, what, advice }
                    .into())
            }
        }
    }

    /// Reads a file of `bytes` bytes.
    fn file(&self, file: &DiskFile, bytes: u64) {
        if let Cut::Records(record) = self.cut
            && !(bytes - self.begin).is_multiple_of(record as u64)
        {
            self.stop(0, remainder(bytes, record).into());
            return;
        }
        let chunks = bytes.saturating_sub(self.begin).div_ceil(self.chunk as u64);
        let workers = (self.job.threads as u64).clamp(1, chunks.max(1));
        std::thread::scope(|scope| {
            for _ in 0..workers {
                scope.spawn(|| self.file_worker(file, bytes));
            }
        });
    }

    fn file_worker(&self, file: &DiskFile, bytes: u64) {
        let mut out = Emitter::new(self.job.sink, self.batch);
        let mut buffer = Vec::new();
        loop {
            let index = self.next.fetch_add(1, Relaxed);
            let from = self.begin + index * self.chunk as u64;
            if index > self.limit.load(Relaxed) || from >= bytes {
                break;
            }
            let to = (from + self.chunk as u64).min(bytes);
            let span = Span { file, from, to, bytes, first: index == 0 };
            let goes_on = match self.load(&span, &mut buffer) {
                Ok((start, end, behind)) => {
                    let offset =
                        from + start as u64 - u64::from(index > 0 && self.cut == Cut::Lines);
                    self.decode(
                        index,
                        &Chunk { bytes: &buffer[start..], end: end - start, offset },
                        behind,
                        &mut out,
                    )
                }
                Err(stop) => self.stop(index, stop),
            };
            if !goes_on {
                break;
            }
            self.job.progress.advance(to - from);
        }
        self.leave(out);
    }

    /// Reads the records that begin in a part of a file; returns where they begin and end in the
    /// buffer, and what is wrong behind them.
    fn load(
        &self,
        span: &Span<'_>,
        buffer: &mut Vec<u8>,
    ) -> std::result::Result<(usize, usize, Option<Fault>), Stop> {
        let failed = |error| Stop::Other(self.source.file_error(error));
        if self.cut != Cut::Lines {
            let end = (span.to - span.from) as usize;
            resize(buffer, end + SLACK);
            span.file.read_at(&mut buffer[..end], span.from).map_err(failed)?;
            return Ok((0, end, None));
        }
        // One byte before, to know whether a line begins here.
        let from = span.from - u64::from(!span.first);
        let until = (span.to + BEYOND as u64).min(span.bytes);
        let mut len = (until - from) as usize;
        resize(buffer, len + SLACK);
        span.file.read_at(&mut buffer[..len], from).map_err(failed)?;
        let owned = (span.to - from) as usize;
        let start = if span.first {
            0
        } else {
            memchr::memchr(b'\n', &buffer[..owned]).map_or(owned, |at| at + 1)
        };
        if start >= owned {
            return Ok((owned, owned, None));
        }
        // The last line that begins before `owned` ends at or after `owned - 1`.
        let mut searched = owned - 1;
        loop {
            if let Some(at) = memchr::memchr(b'\n', &buffer[searched..len]) {
                return Ok((start, searched + at + 1, None));
            }
            if from + len as u64 == span.bytes {
                resize(buffer, len + 1 + SLACK);
                buffer[len] = b'\n';
                return Ok((start, len + 1, None));
            }
            if len - owned > MAX_LINE {
                let end = memchr::memrchr(b'\n', &buffer[start..owned])
                    .map_or(start, |at| start + at + 1);
                return Ok((start, end, Some(long_line())));
            }
            searched = len;
            let more = (span.bytes - from - len as u64).min(64 << 10) as usize;
            resize(buffer, len + more + SLACK);
            span.file.read_at(&mut buffer[len..len + more], from + len as u64).map_err(failed)?;
            len += more;
        }
    }

    /// Reads a stream.
    fn stream(&self, mut stream: Stream) {
        let workers = self.job.threads.max(1);
        let (send, receive) = crossbeam_channel::bounded::<Piece>(workers);
        let (give_back, take) = crossbeam_channel::bounded::<Vec<u8>>(workers + 2);
        for _ in 0..workers + 2 {
            // Fits: that is the capacity.
            let _ = give_back.send(Vec::new());
        }
        std::thread::scope(|scope| {
            for _ in 0..workers {
                let (receive, give_back) = (receive.clone(), give_back.clone());
                scope.spawn(move || self.stream_worker(&receive, &give_back));
            }
            drop((receive, give_back));
            self.feed(&mut stream, &send, &take);
            drop(send);
        });
    }

    fn stream_worker(&self, receive: &Receiver<Piece>, give_back: &Sender<Vec<u8>>) {
        let mut out = Emitter::new(self.job.sink, self.batch);
        for piece in receive {
            if piece.index > self.limit.load(Relaxed) {
                break;
            }
            let chunk = Chunk { bytes: &piece.buffer, end: piece.end, offset: piece.offset };
            if !self.decode(piece.index, &chunk, None, &mut out) {
                break;
            }
            // Nobody wants it after the end of the stream.
            let _ = give_back.send(piece.buffer);
        }
        self.leave(out);
    }

    /// Cuts the stream and sends the pieces until it ends or nobody wants more.
    fn feed(&self, stream: &mut Stream, send: &Sender<Piece>, take: &Receiver<Vec<u8>>) {
        let mut offset = 0;
        if let Err((read, error)) = skip(stream, self.begin) {
            self.stop(0, Stop::Other(self.source.error(read, error)));
            return;
        }
        let mut rest: Vec<u8> = Vec::new();
        let mut told = 0;
        for index in 0.. {
            let Ok(mut buffer) = take.recv() else { return };
            let (end, ended) = match self.piece(stream, &mut buffer, &mut rest, self.begin + offset)
            {
                Ok(piece) => piece,
                Err(stop) => {
                    self.stop(index, stop);
                    return;
                }
            };
            let consumed = stream.consumed.load(Relaxed);
            self.job.progress.advance(consumed - told);
            told = consumed;
            let unwanted = index > self.limit.load(Relaxed);
            if end > 0
                && (unwanted
                    || send
                        .send(Piece { index, buffer, end, offset: self.begin + offset })
                        .is_err())
            {
                return;
            }
            offset += end as u64;
            if ended {
                return;
            }
        }
    }

    /// Fills a buffer with whole records; what comes after them stays in `rest`. Returns their end
    /// and whether the stream has ended.
    fn piece(
        &self,
        stream: &mut Stream,
        buffer: &mut Vec<u8>,
        rest: &mut Vec<u8>,
        offset: u64,
    ) -> std::result::Result<(usize, bool), Stop> {
        let mut len = rest.len();
        let mut target = self.chunk.max(len);
        resize(buffer, target + 1 + SLACK);
        buffer[..len].copy_from_slice(rest);
        rest.clear();
        loop {
            let read = stream.fill(&mut buffer[len..target]);
            let read = read.map_err(|(read, error)| {
                Stop::Other(self.source.error(offset + (len + read) as u64, error))
            })?;
            len += read;
            let ended = len < target;
            let end = match self.cut {
                Cut::Records(record) => len / record * record,
                Cut::Lines if ended && len > 0 && buffer[len - 1] != b'\n' => {
                    buffer[len] = b'\n';
                    len += 1;
                    len
                }
                Cut::Lines => memchr::memrchr(b'\n', &buffer[..len]).map_or(0, |at| at + 1),
            };
            if let (Cut::Records(record), true) = (self.cut, ended && end < len) {
                return Err(remainder(offset + len as u64, record).into());
            }
            if ended || end > 0 {
                rest.extend_from_slice(&buffer[end..len]);
                return Ok((end, ended));
            }
            if len > MAX_LINE {
                return Err(long_line().into());
            }
            target += self.chunk;
            resize(buffer, target + 1 + SLACK);
        }
    }
}

/// A part of a file, of `bytes` bytes in all.
struct Span<'a> {
    file: &'a DiskFile,
    from: u64,
    to: u64,
    bytes: u64,
    first: bool,
}

/// Grows a buffer, never shrinks it: its content is to be overwritten.
fn resize(buffer: &mut Vec<u8>, len: usize) {
    if buffer.len() < len {
        buffer.resize(len, 0);
    }
}

fn skip(stream: &mut Stream, bytes: u64) -> std::result::Result<(), (u64, io::Error)> {
    let mut scratch = vec![0; bytes.min(64 << 10) as usize];
    let mut done = 0;
    while done < bytes {
        let step = (bytes - done).min(scratch.len() as u64) as usize;
        let read = stream
            .fill(&mut scratch[..step])
            .map_err(|(read, error)| (done + read as u64, error))?;
        if read == 0 {
            break;
        }
        done += read as u64;
    }
    Ok(())
}

fn long_line() -> Fault {
    Fault {
        line: Some(0),
        offset: None,
        what: format!("the line is longer than {} MiB", MAX_LINE >> 20),
        advice: "an edge list has one edge in each line: is this another format?".to_owned(),
    }
}

fn remainder(bytes: u64, record: usize) -> Fault {
    let offset = bytes / record as u64 * record as u64;
    Fault {
        line: None,
        offset: Some(offset),
        what: format!("an edge takes {record} bytes, and only {} are left at the end", bytes - offset),
        advice: "the file is cut short, or has another format (pairs-u32: 8 bytes an edge, pairs-u64: 16)".to_owned(),
    }
}

impl Fault {
    /// The error, where chunks play no part: `line` counts from the beginning of the input.
    pub(super) fn at(self, path: &Path, before: u64) -> GraphError {
        let line = self.line.map(|line| before + line + 1);
        InputError {
            path: path.to_owned(),
            line,
            offset: self.offset,
            what: self.what,
            advice: self.advice,
        }
        .into()
    }
}
