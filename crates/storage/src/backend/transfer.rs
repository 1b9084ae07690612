//! One request on its way, whatever carries it: which bytes to ask for next, and what an answer
//! means.

use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use super::{Completion, MAX_REQUEST, ReadRequest};
use crate::PAGE;
use crate::disk::Disk;
use crate::error::{Result, StorageError};
use crate::fault::Fault;

/// How often a request that the kernel refuses for want of resources is tried again (pauses grow to
/// 128 ms: about 2 s).
const MAX_REFUSALS: u32 = 20;

/// The smallest unit a direct read may be cut at on common devices.
const SECTOR: usize = 512;

/// What to do next for a request.
pub(super) enum Step {
    /// Read [`Transfer::window`] from [`Transfer::offset`].
    Read,
    /// Read, but only after this long.
    Pause(Duration),
    /// The request is finished.
    Done(Result<()>),
}

/// A request and how much of it has arrived.
pub(super) struct Transfer {
    request: ReadRequest,
    /// Bytes at the buffer's front that are right.
    done: usize,
    /// What the next read covers. It starts at the last page boundary before `done`, because a
    /// direct read may not start in the middle of a sector and a short one may end there.
    window: Range<usize>,
    refusals: u32,
    /// Answered parts and their bytes, for the counters.
    parts: u64,
    bytes: u64,
}

impl Transfer {
    /// Accepts a request, checked; the disk's fault plan decides what happens first. `files` is the
    /// number of files and `path` gives a file's name.
    pub(super) fn begin<'p>(
        request: ReadRequest,
        disk: &Disk,
        files: usize,
        path: impl Fn(usize) -> &'p Path,
    ) -> (Transfer, Step) {
        assert!(
            request.len <= request.buffer.len().min(MAX_REQUEST),
            "a read longer than its buffer"
        );
        assert!(request.file < files, "a read of file {} of {files}", request.file);
        let path = path(request.file);
        let window = 0..request.len;
        let mut transfer = Transfer { request, done: 0, window, refusals: 0, parts: 0, bytes: 0 };
        if transfer.request.len == 0 {
            return (transfer, Step::Done(Ok(())));
        }
        let step = match disk.start_operation() {
            None => Step::Read,
            Some(Fault::Error(errno)) => {
                transfer.arrived(Err(io::Error::from_raw_os_error(errno)), path)
            }
            Some(Fault::Interrupted) => {
                transfer.arrived(Err(io::ErrorKind::Interrupted.into()), path)
            }
            Some(Fault::Stall(time)) => Step::Pause(time),
            Some(Fault::Short) => {
                transfer.window.end = Fault::half(transfer.request.len, SECTOR);
                Step::Read
            }
        };
        (transfer, step)
    }

    /// The file to read.
    pub(super) fn file(&self) -> usize {
        self.request.file
    }

    /// Where in the file the next read starts.
    pub(super) fn offset(&self) -> u64 {
        self.request.offset + self.window.start as u64
    }

    /// The part of the buffer the next read fills.
    pub(super) fn window(&mut self) -> &mut [u8] {
        &mut self.request.buffer[self.window.clone()]
    }

    /// Takes the answer to the last read: the number of bytes, 0 at the end of the file.
    pub(super) fn arrived(&mut self, answer: io::Result<usize>, path: &Path) -> Step {
        match answer {
            Ok(bytes) => self.advance(bytes.min(self.window.len()), path),
            Err(error) => self.refused(error, path),
        }
    }

    fn advance(&mut self, bytes: usize, path: &Path) -> Step {
        (self.refusals, self.parts, self.bytes) = (0, self.parts + 1, self.bytes + bytes as u64);
        let reached = self.window.start + bytes;
        if reached == self.request.len {
            return Step::Done(Ok(()));
        }
        if reached <= self.done {
            return Step::Done(Err(StorageError::truncated(
                path,
                self.request.offset,
                self.request.len as u64,
            )));
        }
        self.done = reached;
        self.window = reached / PAGE * PAGE..self.request.len;
        Step::Read
    }

    fn refused(&mut self, source: io::Error, path: &Path) -> Step {
        let passing = matches!(source.raw_os_error(), Some(libc::EAGAIN | libc::EBUSY));
        let interrupted = source.kind() == io::ErrorKind::Interrupted;
        if (passing || interrupted) && self.refusals < MAX_REFUSALS {
            self.refusals += 1;
            // A first interruption is retried at once; whatever keeps coming back is given time,
            // never spun on.
            return match (interrupted, self.refusals) {
                (true, 1) => Step::Read,
                (_, n) => Step::Pause(Duration::from_millis(1 << (n - 1).min(7))),
            };
        }
        self.parts += 1;
        Step::Done(Err(StorageError::io("read", path, self.offset(), source)))
    }

    /// Gives the buffer back, and counts the read.
    pub(super) fn complete(self, result: Result<()>, disk: &Disk) -> Completion {
        let counters = disk.counters();
        counters.read_requests.fetch_add(self.parts, Relaxed);
        counters.bytes_read.fetch_add(self.bytes, Relaxed);
        let ReadRequest { buffer, len, tag, .. } = self.request;
        Completion { tag, buffer, len, result }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arena::{Arena, HugePages};

    const LEN: usize = 5 * PAGE;

    fn transfer() -> Transfer {
        let buffer = Arena::new(LEN, HugePages::Auto).unwrap().buffer(0, LEN);
        let request = ReadRequest { file: 0, offset: 8192, buffer, len: LEN, tag: 1 };
        let (transfer, step) = Transfer::begin(request, &Disk::new(), 1, |_| Path::new("x"));
        assert!(matches!(step, Step::Read));
        transfer
    }

    fn answer(transfer: &mut Transfer, bytes: usize) -> Step {
        transfer.arrived(Ok(bytes), Path::new("x"))
    }

    fn refusal(transfer: &mut Transfer, errno: i32) -> Step {
        transfer.arrived(Err(io::Error::from_raw_os_error(errno)), Path::new("x"))
    }

    #[test]
    fn continues_at_the_page_where_a_read_broke_off() {
        let mut transfer = transfer();
        assert!(matches!(answer(&mut transfer, PAGE + 100), Step::Read));
        assert_eq!((transfer.offset(), transfer.window().len()), (8192 + PAGE as u64, LEN - PAGE));
        assert!(matches!(answer(&mut transfer, 2 * PAGE + 1), Step::Read));
        assert_eq!(transfer.offset(), 8192 + 3 * PAGE as u64);
        assert!(matches!(answer(&mut transfer, 2 * PAGE), Step::Done(Ok(()))));
    }

    #[test]
    fn no_progress_means_the_end_of_the_file() {
        for last in [0, 50, 100] {
            let mut transfer = transfer();
            assert!(matches!(answer(&mut transfer, PAGE + 100), Step::Read));
            let step = answer(&mut transfer, last);
            let Step::Done(Err(StorageError::Truncated { offset, wanted, .. })) = step else {
                panic!("{last} bytes more are no progress");
            };
            assert_eq!((offset, wanted), (8192, LEN as u64));
        }
    }

    #[test]
    fn refusals_are_given_time_and_an_end() {
        for errno in [libc::EAGAIN, libc::EBUSY, libc::EINTR] {
            let mut transfer = transfer();
            let mut waited = Duration::ZERO;
            for attempt in 0..MAX_REFUSALS {
                match refusal(&mut transfer, errno) {
                    Step::Read => assert!(errno == libc::EINTR && attempt == 0),
                    Step::Pause(time) => waited += time,
                    Step::Done(_) => panic!("given up after {attempt}"),
                }
            }
            assert!(waited > Duration::from_secs(1));
            assert!(matches!(
                refusal(&mut transfer, errno),
                Step::Done(Err(StorageError::Io { .. }))
            ));
        }
        let mut transfer = transfer();
        assert!(matches!(refusal(&mut transfer, libc::EAGAIN), Step::Pause(_)));
        assert!(matches!(answer(&mut transfer, PAGE), Step::Read));
        assert!(
            matches!(refusal(&mut transfer, libc::EINTR), Step::Read),
            "progress starts afresh"
        );
    }
}
