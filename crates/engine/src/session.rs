//! [`Session`]: everything that lasts as long as a run: the graph, the workers, a queue and a buffer pool for each, and the counts.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    time::Instant,
};

use outercore_graph::Graph;
use outercore_storage::{
    Arena, Buffer, DiskFile,
    backend::{Completion, Queue, QueueOptions, ReadRequest, open_queue},
};

pub use outercore_storage::memory::peak_rss_bytes;

use crate::{
    config::{RunConfig, RunProgress},
    error::{EngineError, Result},
    report::{CacheReport, IterationReport},
    workers::Workers,
};

/// Bytes of a buffer: the largest request.
pub const BUFFER_BYTES: usize = outercore_graph::format::CHUNK_BYTES as usize;
/// The smallest buffer.
const SMALLEST_BUFFER: usize = 32 << 10;
/// Requests that a worker keeps in flight.
pub const DEPTH: usize = 6;

/// What is counted while a run goes.
#[derive(Debug, Default)]
pub struct Counters {
    /// Bytes asked of the devices.
    pub bytes_read: AtomicU64,
    /// Bytes written to scratch.
    pub bytes_written: AtomicU64,
    /// Bytes of what was read that were wanted.
    pub useful_bytes: AtomicU64,
    /// Requests.
    pub requests: AtomicU64,
    /// Edges looked at.
    pub edges: AtomicU64,
    /// Pages of rows served from memory.
    pub page_hits: AtomicU64,
    /// Grid chunks served from memory.
    pub chunk_hits: AtomicU64,
}

/// A worker's means of reading.
pub struct Reader {
    queue: Box<dyn Queue>,
    /// Buffers at rest.
    pub free: Vec<Buffer>,
    completions: Vec<Completion>,
}

/// A run under way.
pub struct Session<'a> {
    /// The graph.
    pub graph: &'a Graph,
    /// What the user asked.
    pub config: &'a RunConfig,
    /// The threads.
    pub workers: Workers,
    /// The counts.
    pub counters: Counters,
    /// Set when the run must end.
    pub stop: AtomicBool,
    progress: &'a dyn RunProgress,
    readers: Vec<Mutex<Reader>>,
    files: Files,
    backend: &'static str,
    buffer_bytes: usize,
    huge: bool,
    begun: Instant,
    iterations: Mutex<Vec<IterationReport>>,
}

/// The files that queues know, by number.
#[derive(Default)]
struct Files {
    all: Vec<Arc<DiskFile>>,
}

/// A section as a session reads it.
pub struct OpenSection {
    /// The section.
    pub section: outercore_graph::SectionFile,
    /// The number of its first file in the queues.
    first_file: usize,
    /// Checksums of its pages, and which pages were verified already in this run.
    sums: outercore_storage::PageSums,
    verified: Vec<AtomicU64>,
}

impl<'a> Session<'a> {
    /// Opens `sections` and starts the workers. Returns the sections in the same order.
    pub fn open(
        graph: &'a Graph,
        config: &'a RunConfig,
        progress: &'a dyn RunProgress,
        sections: &[&str],
    ) -> Result<(Self, Vec<OpenSection>)> {
        let begun = Instant::now();
        outercore_storage::memory::give_back_freed_memory();
        let mut files = Files::default();
        let mut opened = Vec::new();
        for name in sections {
            let section = graph.section(name)?;
            let first_file = files.all.len();
            files.all.extend(section.file.files().iter().cloned());
            let sums = section.sums(graph.disk())?;
            let verified = (0..section.pages().div_ceil(64)).map(|_| AtomicU64::new(0)).collect();
            opened.push(OpenSection { section, first_file, sums, verified });
        }
        let count = config.threads.max(1);
        let buffer_bytes = buffer_bytes(&opened);
        let arena = Arena::new(count * DEPTH * buffer_bytes, config.huge_pages)?;
        let options = QueueOptions { backend: config.io, depth: DEPTH, registered: vec![arena.clone()] };
        let mut readers = Vec::new();
        let mut backend = "none";
        for index in 0..count {
            let queue = open_queue(graph.disk(), &files.all, &options)?;
            backend = queue.name();
            let free = (0..DEPTH).map(|slot| arena.buffer((index * DEPTH + slot) * buffer_bytes, buffer_bytes)).collect();
            readers.push(Mutex::new(Reader { queue, free, completions: Vec::new() }));
        }
        let session = Self {
            graph,
            config,
            workers: Workers::new(count),
            counters: Counters::default(),
            stop: AtomicBool::new(false),
            progress,
            readers,
            files,
            backend,
            buffer_bytes,
            huge: arena.is_huge(),
            begun,
            iterations: Mutex::default(),
        };
        Ok((session, opened))
    }

    /// The reader of worker `index`, for the length of a step.
    pub fn reader(&self, index: usize) -> std::sync::MutexGuard<'_, Reader> {
        self.readers[index].lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// An error when the user wants to stop.
    pub fn check(&self) -> Result<()> {
        if self.progress.cancelled() { Err(EngineError::Cancelled) } else { Ok(()) }
    }

    /// Whether some worker failed or the user wants to stop.
    pub fn stopped(&self) -> bool {
        self.stop.load(Relaxed) || self.progress.cancelled()
    }

    /// Notes the end of an iteration.
    pub fn end_iteration(&self, mark: &Mark, active: u64, read_mode: &'static str) {
        let mut iterations = self.iterations.lock().expect("no holder panics");
        let report = IterationReport {
            iteration: iterations.len() as u64,
            active,
            read_mode,
            seconds: mark.begun.elapsed().as_secs_f64(),
            bytes_read: self.counters.bytes_read.load(Relaxed) - mark.bytes,
            edges: self.counters.edges.load(Relaxed) - mark.edges,
        };
        self.progress.iteration(&report);
        iterations.push(report);
    }

    /// Notes the beginning of an iteration.
    pub fn mark(&self) -> Mark {
        Mark { begun: Instant::now(), bytes: self.counters.bytes_read.load(Relaxed), edges: self.counters.edges.load(Relaxed) }
    }

    /// Seconds since the session was opened.
    pub fn seconds(&self) -> f64 {
        self.begun.elapsed().as_secs_f64()
    }

    /// The backend's name.
    pub fn backend(&self) -> &'static str {
        self.backend
    }

    /// Bytes of a buffer: at most [`BUFFER_BYTES`].
    pub fn buffer_bytes(&self) -> usize {
        self.buffer_bytes
    }

    /// Whether buffers lie in huge pages.
    pub fn huge_buffers(&self) -> bool {
        self.huge
    }

    /// The iterations so far.
    pub fn take_iterations(&self) -> Vec<IterationReport> {
        std::mem::take(&mut *self.iterations.lock().expect("no holder panics"))
    }

    /// Cache hits so far.
    pub fn cache(&self) -> CacheReport {
        CacheReport {
            page_hits: self.counters.page_hits.load(Relaxed),
            static_hits: 0,
            sub_block_hits: self.counters.chunk_hits.load(Relaxed),
        }
    }

    /// Files that the queues know.
    pub fn open_files(&self) -> usize {
        self.files.all.len()
    }
}

/// The state of the counts when an iteration began.
pub struct Mark {
    begun: Instant,
    bytes: u64,
    edges: u64,
}

impl Reader {
    /// Asks for `len` bytes of `section` from `offset` on (both multiples of a sector) into `buffer`. One tag may become several requests when the
    /// range crosses stripes: then the buffer comes back once, when all have arrived.
    pub fn submit(&mut self, counters: &Counters, section: &OpenSection, offset: u64, len: usize, buffer: Buffer, tag: u64) -> Result<()> {
        let mut pieces = section.section.file.pieces(offset, len);
        let first = pieces.next().ok_or_else(|| EngineError::Usage("an empty request".to_owned()))?;
        counters.bytes_read.fetch_add(len as u64, Relaxed);
        if first.3 == len {
            counters.requests.fetch_add(1, Relaxed);
            self.queue.submit(ReadRequest { file: section.first_file + first.0, offset: first.1, buffer, len, tag });
            return Ok(());
        }
        // Rare: only a range that crosses a stripe unit. The pieces are read one after the other, which keeps the buffer whole.
        let mut buffer = buffer;
        section.section.file.read_at(&mut buffer[..len], offset)?;
        counters.requests.fetch_add(1 + pieces.count() as u64, Relaxed);
        self.completions.push(Completion { tag, buffer, len, result: Ok(()) });
        Ok(())
    }

    /// Reads in flight or finished and not yet taken.
    pub fn pending(&self) -> usize {
        self.queue.in_flight() + self.completions.len()
    }

    /// Waits for at least one completion unless `poll`, and hands all there are to `take`.
    pub fn reap(&mut self, poll: bool, mut take: impl FnMut(u64, Buffer, usize)) -> Result<()> {
        let least = usize::from(!poll && self.completions.is_empty());
        self.queue.wait(least, &mut self.completions)?;
        let mut failed = None;
        for completion in self.completions.drain(..) {
            match completion.result {
                Ok(()) => take(completion.tag, completion.buffer, completion.len),
                Err(error) => {
                    failed.get_or_insert(error);
                    self.free.push(completion.buffer);
                }
            }
        }
        failed.map_or(Ok(()), |error| Err(error.into()))
    }

    /// Reads `len` bytes of `section` from `offset` on (both multiples of a page), verified, and shows them to `take`. Nothing else may be in flight.
    pub fn fetch(&mut self, counters: &Counters, section: &OpenSection, offset: u64, len: usize, take: impl FnOnce(&[u8])) -> Result<()> {
        let buffer = self.free.pop().expect("buffers are at rest between steps");
        self.submit(counters, section, offset, len, buffer, 0)?;
        let mut arrived = None;
        while arrived.is_none() {
            self.reap(false, |_, buffer, _| arrived = Some(buffer))?;
        }
        let buffer = arrived.expect("the loop ends with it");
        let verified = section.verify(offset, &buffer[..len]);
        if verified.is_ok() {
            take(&buffer[..len]);
        }
        self.free.push(buffer);
        verified
    }

    /// Waits for everything in flight and forgets it: after an error, before the reader is used again or dropped.
    pub fn drain(&mut self, mut give_back: impl FnMut(Buffer)) {
        while self.queue.in_flight() > 0 {
            if self.queue.wait(1, &mut self.completions).is_err() {
                break;
            }
        }
        self.completions.drain(..).for_each(|completion| give_back(completion.buffer));
    }
}

/// The largest request is no longer than the largest section: a small graph has small buffers, which are made in no time.
fn buffer_bytes(sections: &[OpenSection]) -> usize {
    let largest = sections.iter().map(|section| section.section.pages()).max().unwrap_or(0) as usize;
    (largest * outercore_storage::PAGE).clamp(SMALLEST_BUFFER, BUFFER_BYTES)
}

impl OpenSection {
    /// Verifies whole pages that were just read, each once in a run. `offset` is that of the first byte, a multiple of the page.
    pub fn verify(&self, offset: u64, bytes: &[u8]) -> Result<()> {
        const PAGE: u64 = outercore_storage::PAGE as u64;
        let (first, count) = (offset / PAGE, bytes.len() as u64 / PAGE);
        let known = |page: u64| self.verified[(page / 64) as usize].load(Relaxed) >> (page % 64) & 1 == 1;
        let mut page = first;
        while page < first + count {
            if known(page) {
                page += 1;
                continue;
            }
            let mut end = page + 1;
            while end < first + count && !known(end) {
                end += 1;
            }
            let at = ((page - first) * PAGE) as usize;
            let path = self.section.path();
            self.sums.verify(page, &bytes[at..at + ((end - page) * PAGE) as usize], path).map_err(EngineError::from)?;
            (page..end).for_each(|page| {
                self.verified[(page / 64) as usize].fetch_or(1 << (page % 64), Relaxed);
            });
            page = end;
        }
        Ok(())
    }

    /// Bytes of memory that its checksums take.
    pub fn sums_bytes(pages: u64) -> u64 {
        pages * 4 + pages.div_ceil(64) * 8
    }
}
