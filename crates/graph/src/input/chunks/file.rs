//! Chunks of a file. A chunk owns the lines that begin in it.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use outercore_storage::{DiskFile, threads};

use super::{Run, remainder, resize};
use crate::input::{
    fields::{MAX_LINE, long_line},
    record::{Cut, RecordChunk, RecordFault, SLACK, Stop},
};

/// What is read beyond a chunk at first, to complete its last line.
const BEYOND: usize = 4 << 10;

/// Reads a file of `bytes` bytes.
pub(super) fn read(run: &Run<'_>, file: &DiskFile, bytes: u64) {
    if let Cut::Records(record) = run.cut
        && !(bytes - run.begin).is_multiple_of(record as u64)
    {
        run.stop(0, remainder(bytes, record).into());
        return;
    }
    let chunks = bytes.saturating_sub(run.begin).div_ceil(run.chunk as u64);
    let workers = (run.job.threads as u64).clamp(1, chunks.max(1));
    let reading = Reading { run, file, bytes, next: AtomicU64::new(0) };
    if let Err(error) = threads::at_once(workers as usize, |_| reading.work()) {
        run.stop(0, Stop::Other(error.into()));
    }
}

/// One reading of one file.
struct Reading<'r> {
    run: &'r Run<'r>,
    file: &'r DiskFile,
    /// Its length.
    bytes: u64,
    /// The next chunk.
    next: AtomicU64,
}

/// A part of the file.
struct Span {
    from: u64,
    to: u64,
    first: bool,
}

impl Reading<'_> {
    fn work(&self) {
        let run = self.run;
        let mut out = run.emitter();
        let mut buffer = Vec::new();
        loop {
            let index = self.next.fetch_add(1, Relaxed);
            let from = run.begin + index * run.chunk as u64;
            if run.is_beyond(index) || from >= self.bytes {
                break;
            }
            let to = (from + run.chunk as u64).min(self.bytes);
            let span = Span { from, to, first: index == 0 };
            let goes_on = match self.load(&span, &mut buffer) {
                Ok((start, end, behind)) => {
                    let offset =
                        from + start as u64 - u64::from(index > 0 && run.cut == Cut::Lines);
                    let chunk = RecordChunk { bytes: &buffer[start..], end: end - start, offset };
                    run.decode(index, &chunk, behind, &mut out)
                }
                Err(stop) => run.stop(index, stop),
            };
            if !goes_on {
                break;
            }
            run.job.progress.advance(to - from);
        }
        run.leave(out);
    }

    /// Reads the records that begin in a part of a file; returns where they begin and end in the
    /// buffer, and what is wrong behind them.
    fn load(
        &self,
        span: &Span,
        buffer: &mut Vec<u8>,
    ) -> std::result::Result<(usize, usize, Option<RecordFault>), Stop> {
        let failed = |error| Stop::Other(self.run.source.file_error(error));
        if self.run.cut != Cut::Lines {
            let end = (span.to - span.from) as usize;
            resize(buffer, end + SLACK);
            self.file.read_at(&mut buffer[..end], span.from).map_err(failed)?;
            return Ok((0, end, None));
        }
        // One byte before, to know whether a line begins here.
        let from = span.from - u64::from(!span.first);
        let until = (span.to + BEYOND as u64).min(self.bytes);
        let mut len = (until - from) as usize;
        resize(buffer, len + SLACK);
        self.file.read_at(&mut buffer[..len], from).map_err(failed)?;
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
            if from + len as u64 == self.bytes {
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
            let more = (self.bytes - from - len as u64).min(64 << 10) as usize;
            resize(buffer, len + more + SLACK);
            self.file.read_at(&mut buffer[len..len + more], from + len as u64).map_err(failed)?;
            len += more;
        }
    }
}
