//! Asynchronous direct reads: a [`Queue`] takes requests that own their buffers and hands them back
//! filled.
//!
//! - `uring`: the kernel's io_uring with registered files and buffers. The fastest, and the
//!   cheapest in processor time.
//! - `blocking`: a pool of threads that read one request each, for kernels and containers that
//!   forbid io_uring.
//! - `bell`: how another thread ends a wait.
//! - `memory`: bytes in memory, for tests, with completions in a scrambled order.
//!
//! - `dedicated`: any of these on threads of their own, which submit and wait for those that
//!   compute.
//!
//! All three follow a request through the same `transfer`, so short reads, interruptions and
//! planned faults are handled alike. All three ask the fault plan exactly once for each request, in
//! the order of submission.

use std::path::PathBuf;
use std::sync::Arc;

use crate::arena::{Arena, Buffer};
use crate::disk::{Disk, DiskFile};
use crate::error::{Result, StorageError};

mod bell;
mod blocking;
mod dedicated;
mod memory;
mod ring;
mod transfer;
mod uring;

pub use blocking::BlockingQueue;
pub use dedicated::open_queues;
pub use memory::MemoryQueue;
pub use ring::probe_uring;
pub use uring::UringQueue;

/// The largest request a queue takes: its length must fit the kernel's signed 32-bit result with
/// room to spare.
pub const MAX_REQUEST: usize = 1 << 30;

crate::named! {
    /// How reads are submitted.
    #[derive(Default)]
    pub enum IoBackend: "way to read" {
        /// io_uring if the system has it, else blocking.
        #[default]
        Auto = "auto",
        /// io_uring, or an error.
        Uring = "uring",
        /// A pool of threads.
        Blocking = "blocking",
    }
}

/// One read: `len` bytes at `offset` of a file into the front of a buffer.
pub struct ReadRequest {
    /// Index into the files the queue was opened with.
    pub file: usize,
    /// Where in the file; a multiple of the device's sector (4096 is always right) for direct
    /// files.
    pub offset: u64,
    /// Where the bytes go. The queue owns it until completion.
    pub buffer: Buffer,
    /// How many bytes; a multiple of the sector for direct files, at most the buffer's length.
    pub len: usize,
    /// Returned with the completion; means nothing to the queue.
    pub tag: u64,
}

/// A finished read.
pub struct Completion {
    /// The request's tag.
    pub tag: u64,
    /// The request's buffer; its first `len` bytes are the file's if `result` is `Ok`, otherwise
    /// undefined.
    pub buffer: Buffer,
    /// The request's length.
    pub len: usize,
    /// `Ok`: all `len` bytes arrived.
    pub result: Result<()>,
}

/// Reads in flight. Completions come in any order.
///
/// A queue may be sent to another thread while nothing is in flight. While reads are in flight, an
/// io_uring queue can be waited on only by the thread that submitted them.
pub trait Queue: Send {
    /// Takes a request. It is started at the latest by the next [`Queue::wait`]; requests beyond
    /// the depth are held back and started in order as others finish.
    ///
    /// # Panics
    ///
    /// If the request is longer than its buffer or [`MAX_REQUEST`], or names a file the queue does
    /// not have.
    fn submit(&mut self, request: ReadRequest);

    /// Appends completions to `out`, sleeping until at least `at_least` (or all that are in flight,
    /// if fewer) have been appended. With 0, appends what has already finished. An error means the
    /// queue itself failed, not a read.
    fn wait(&mut self, at_least: usize, out: &mut Vec<Completion>) -> Result<()>;

    /// What lets another thread end a wait for one request early; `None`: this queue has no such
    /// thing.
    fn bell(&mut self) -> Option<bell::Wake> {
        None
    }

    /// Requests submitted and not yet handed back.
    fn in_flight(&self) -> usize;

    /// The backend's name, as shown to users.
    fn name(&self) -> &'static str;

    /// How many requests the queue keeps going at once.
    fn depth(&self) -> usize;

    /// What of the backend's optional machinery is in use, for logs and tests.
    fn features(&self) -> String {
        String::new()
    }
}

/// How to open a queue.
#[derive(Clone, Default)]
pub struct QueueOptions {
    /// Which way to read.
    pub backend: IoBackend,
    /// Requests in flight at once, at least 1.
    pub depth: usize,
    /// Arenas whose buffers will be read into: registered with the kernel where its limits allow.
    pub registered: Vec<Arc<Arena>>,
}

/// Opens a queue over `files`.
pub fn open_queue(
    disk: &Disk,
    files: &[Arc<DiskFile>],
    options: &QueueOptions,
) -> Result<Box<dyn Queue>> {
    let blocking = || Box::new(BlockingQueue::new(disk, files, options.depth)) as Box<dyn Queue>;
    let uring =
        || -> Result<Box<dyn Queue>> { Ok(Box::new(UringQueue::new(disk, files, options)?)) };
    match options.backend {
        IoBackend::Uring => uring(),
        IoBackend::Blocking => Ok(blocking()),
        IoBackend::Auto if !probe_uring() => Ok(blocking()),
        IoBackend::Auto => uring().or_else(|error| {
            tracing::warn!(%error, "io_uring refused, reading with threads instead");
            Ok(blocking())
        }),
    }
}

/// An error of the queue as a whole, which has no file or offset of its own.
fn queue_error(operation: &'static str, source: std::io::Error) -> StorageError {
    StorageError::Io { operation, path: PathBuf::from("io_uring"), offset: 0, source }
}
