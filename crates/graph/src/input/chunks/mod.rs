//! Cuts an input into chunks of whole records, has them decoded on several threads, and finds the
//! first error.
//!
//! `file`: the workers read it themselves, each taking the next chunk. `stream`: one thread reads
//! and cuts it, and feeds the workers.
//!
//! Lines are counted chunk by chunk, so that an error can name its line although no thread reads
//! from the beginning. After an error in one chunk those before it are still finished, for the
//! first error is the one to be reported.

mod file;
mod stream;

use std::{
    collections::BTreeMap,
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use outercore_storage::{lock, unlocked};

use super::{
    Progress, Sink,
    emit::Emitter,
    record::{Cut, Decoder, Part, RecordChunk, RecordFault, Stop},
    source::{InputBytes, Opened},
};
use crate::error::{GraphError, InputError, Result};

/// Bounds of a chunk's size.
const CHUNK: std::ops::RangeInclusive<usize> = (64 << 10)..=(2 << 20);
/// Bounds of a batch, in edges; an edge that is mirrored may come on top.
const BATCH: std::ops::RangeInclusive<usize> = (1 << 10)..=((1 << 16) - 1);
/// The position of errors that come after everything.
const AT_END: u64 = u64::MAX - 1;

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
        limit: AtomicU64::new(u64::MAX),
        edges: AtomicU64::new(0),
        found: Mutex::default(),
    };
    match opened {
        Opened::File(file, bytes) => {
            job.progress.advance(begin);
            file::read(&run, &file, bytes);
        }
        Opened::Stream(stream) => stream::read(&run, stream),
    }
    run.finish(part.lines)
}

/// One reading of one input.
struct Run<'a> {
    source: &'a InputBytes,
    begin: u64,
    cut: Cut,
    chunk: usize,
    batch: usize,
    decoder: &'a dyn Decoder,
    job: &'a Job<'a>,
    /// Chunks after this one are not wanted any more.
    limit: AtomicU64,
    edges: AtomicU64,
    found: Mutex<FoundInChunks>,
}

/// What the workers found so far.
#[derive(Default)]
struct FoundInChunks {
    /// The first error and its chunk.
    stop: Option<(u64, Stop)>,
    /// Lines of the chunks `0..chunks`.
    lines: u64,
    chunks: u64,
    /// Lines of later chunks.
    later: BTreeMap<u64, u64>,
}

impl Run<'_> {
    /// The batches of one worker.
    fn emitter(&self) -> Emitter<'_> {
        Emitter::new(self.job.sink, self.batch)
    }

    /// Whether chunk `index` comes after the first error.
    fn is_beyond(&self, index: u64) -> bool {
        index > self.limit.load(Relaxed)
    }

    /// Decodes chunk `index`, behind which there is perhaps a fault; false if the worker is to end.
    fn decode(
        &self,
        index: u64,
        chunk: &RecordChunk<'_>,
        behind: Option<RecordFault>,
        out: &mut Emitter<'_>,
    ) -> bool {
        if self.job.progress.cancelled() {
            return self.stop(index, Stop::Other(GraphError::Cancelled));
        }
        match (self.decoder.decode(chunk, out), behind) {
            (Ok(lines), None) => self.done(index, lines),
            (Ok(lines), Some(fault)) => {
                self.stop(index, RecordFault { line: Some(lines), ..fault }.into())
            }
            (Err(stop), _) => self.stop(index, stop),
        }
    }

    /// Notes a decoded chunk.
    fn done(&self, index: u64, lines: u64) -> bool {
        let mut found = lock(&self.found);
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
        let mut found = lock(&self.found);
        if found.stop.as_ref().is_none_or(|(first, _)| index < *first) {
            found.stop = Some((index, stop));
            self.limit.fetch_min(index, Relaxed);
        }
        false
    }

    /// The end of a worker.
    fn leave(&self, mut out: Emitter<'_>) {
        if let Err(error) = out.flush() {
            self.stop(AT_END, error.into());
        }
        self.edges.fetch_add(out.records(), Relaxed);
    }

    /// The result, when all workers have ended. `before` lines precede the first chunk.
    fn finish(self, before: u64) -> Result<u64> {
        let found = unlocked(self.found);
        let by_input = matches!(
            found.stop,
            None | Some((_, Stop::RecordFault(_) | Stop::Other(GraphError::Input(_))))
        );
        if by_input {
            // A file that is written to meanwhile may look wrong: then the writing is the fault.
            self.source.recheck()?;
        }
        let Some((_, stop)) = found.stop else {
            return Ok(self.edges.into_inner());
        };
        match stop {
            Stop::Other(error) => Err(error),
            Stop::RecordFault(RecordFault { line, offset, what, advice }) => {
                // Every chunk before the faulty one was decoded: else one of them would be the
                // first.
                let line = line.map(|line| before + found.lines + line + 1);
                Err(InputError { path: self.source.path.clone(), line, offset, what, advice }
                    .into())
            }
        }
    }
}

/// Grows a buffer, never shrinks it: its content is to be overwritten.
fn resize(buffer: &mut Vec<u8>, len: usize) {
    if buffer.len() < len {
        buffer.resize(len, 0);
    }
}

fn remainder(bytes: u64, record: usize) -> RecordFault {
    let offset = bytes / record as u64 * record as u64;
    let left = bytes - offset;
    RecordFault {
        line: None,
        offset: Some(offset),
        what: format!("an edge takes {record} bytes, and only {left} are left at the end"),
        advice: "the file is cut short, or has another format \
                 (pairs-u32: 8 bytes an edge, pairs-u64: 16)"
            .to_owned(),
    }
}
