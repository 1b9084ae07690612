//! [`Session`]: everything that lasts as long as a run: the graph, the workers, a queue and a
//! buffer pool for each, and the counts.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use outercore_graph::Graph;
use outercore_storage::{
    Arena, DiskFile,
    backend::{QueueOptions, open_queue},
    device::find_profile,
    memory,
};

pub use outercore_storage::memory::peak_rss_bytes;

pub use crate::reader::Reader;
use crate::{
    config::{RunConfig, RunProgress},
    error::{EngineError, Result},
    limits::Limits,
    meter::Timeline,
    report::{CacheReport, Costs, IoReport, IterationReport, Throughput},
    workers::Workers,
};

/// Bytes of a buffer: the largest request.
pub const BUFFER_BYTES: usize = outercore_graph::format::CHUNK_BYTES as usize;
/// The smallest buffer.
const SMALLEST_BUFFER: usize = 32 << 10;
/// Most buffers of a worker: requests that it keeps in flight in a scan.
pub const DEPTH: usize = 6;
/// The same in a small budget, where memory is worth more than what the last requests add to a
/// device's speed.
const SHALLOW: usize = 3;
/// A small budget, in bytes.
const SMALL: u64 = 64 << 20;
/// Requests that a worker keeps in flight when they are small: a device answers random reads at its
/// full rate only when many are asked for.
pub const QUEUE_DEPTH: usize = 64;

/// Bytes of all workers' buffers. Above a small budget each byte goes to buffers until there are
/// enough, so that what is left for everything else never falls as the budget grows.
pub fn buffers_bytes(threads: usize, memory: u64) -> u64 {
    let of = |depth| ((threads * depth * BUFFER_BYTES) as u64).next_multiple_of(2 << 20);
    (of(SHALLOW) + memory.saturating_sub(SMALL)).min(of(DEPTH))
}

/// The smallest budget that has so many bytes beside the buffers.
pub fn smallest_budget(threads: usize, bytes: u64) -> u64 {
    let shallow = bytes + buffers_bytes(threads, 0);
    if shallow <= SMALL { shallow } else { bytes + buffers_bytes(threads, u64::MAX / 2) }
}

/// Buffers of a worker.
fn depth(config: &RunConfig) -> usize {
    let threads = config.threads.max(1);
    (buffers_bytes(threads, config.memory) / (threads * BUFFER_BYTES) as u64).min(DEPTH as u64)
        as usize
}

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
    /// Grid chunks served from memory where they stay.
    pub pinned_hits: AtomicU64,
    /// Grid chunks served from the sub-block buffer.
    pub sub_block_hits: AtomicU64,
    /// Bytes that were used although their page's checksum could not be computed: blocks smaller
    /// than a page.
    pub unverified_bytes: AtomicU64,
    /// Nanoseconds of all workers that made requests of active vertices: marking and merging.
    pub prepare_nanos: AtomicU64,
    /// Ranges of vertices that workers took from others' shares.
    pub stolen: AtomicU64,
    /// Most bytes of the process that were seen in huge pages.
    pub huge_page_bytes: AtomicU64,
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
    limits: Limits,
    begun: Instant,
    cpu_begun: Duration,
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
    pub(crate) first_file: usize,
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
        let (begun, cpu_begun) = (Instant::now(), memory::process_time());
        memory::give_back_freed_memory();
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
        let depth = depth(config);
        let arena = Arena::new(count * depth * buffer_bytes, config.huge_pages)?;
        let workers = Workers::new(count);
        // Each worker's buffers come to be where it runs, all at a time: the system may take
        // milliseconds to find a huge page.
        workers.map(|index| {
            let mut buffers = arena.buffer(index * depth * buffer_bytes, depth * buffer_bytes);
            buffers.chunks_mut(outercore_storage::PAGE).for_each(|page| page[0] = 0);
        });
        let limits = limits(graph, config, buffer_bytes, &opened)?;
        let options = QueueOptions {
            backend: config.io,
            depth: QUEUE_DEPTH,
            registered: vec![arena.clone()],
        };
        let mut readers = Vec::new();
        let mut backend = "none";
        for index in 0..count {
            let queue = open_queue(graph.disk(), &files.all, &options)?;
            backend = queue.name();
            let start = index * depth * buffer_bytes;
            readers.push(Mutex::new(Reader::new(
                queue,
                arena.clone(),
                start,
                (depth, buffer_bytes),
                begun,
            )));
        }
        let session = Self {
            graph,
            config,
            workers,
            counters: Counters::default(),
            stop: AtomicBool::new(false),
            progress,
            readers,
            files,
            backend,
            buffer_bytes,
            huge: arena.is_huge(),
            limits,
            begun,
            cpu_begun,
            iterations: Mutex::default(),
        };
        Ok((session, opened))
    }

    /// The reader of worker `index`, with its buffers, for the length of a step.
    pub fn reader(&self, index: usize) -> std::sync::MutexGuard<'_, Reader> {
        let mut reader = self.locked(index);
        reader.with_buffers();
        reader
    }

    /// The reader of worker `index`, with a pool in the place of its buffers, for the length of a
    /// step.
    pub(crate) fn pooled_reader(&self, index: usize) -> std::sync::MutexGuard<'_, Reader> {
        let mut reader = self.locked(index);
        reader.with_pool();
        reader
    }

    fn locked(&self, index: usize) -> std::sync::MutexGuard<'_, Reader> {
        self.readers[index].lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// How on-demand requests are made.
    pub fn limits(&self) -> &Limits {
        &self.limits
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
        self.end_predicted(mark, active, read_mode, None);
    }

    /// The same with what was predicted of the iteration.
    pub fn end_predicted(
        &self,
        mark: &Mark,
        active: u64,
        read_mode: &'static str,
        predicted: Option<Costs>,
    ) {
        let mut iterations = self.iterations.lock().expect("no holder panics");
        let report = IterationReport {
            iteration: iterations.len() as u64,
            active,
            read_mode,
            seconds: mark.begun.elapsed().as_secs_f64(),
            bytes_read: self.counters.bytes_read.load(Relaxed) - mark.bytes,
            edges: self.counters.edges.load(Relaxed) - mark.edges,
            predicted,
        };
        self.progress.iteration(&report);
        iterations.push(report);
        if iterations.len() == 1 {
            self.note_huge_pages();
        }
    }

    /// What a run keeps is there after its first iteration, and may be gone before its report.
    /// Asking the kernel takes milliseconds, so not every iteration does.
    fn note_huge_pages(&self) {
        self.counters.huge_page_bytes.fetch_max(memory::huge_page_bytes(), Relaxed);
    }

    /// Notes the beginning of an iteration.
    pub fn mark(&self) -> Mark {
        Mark {
            begun: Instant::now(),
            bytes: self.counters.bytes_read.load(Relaxed),
            edges: self.counters.edges.load(Relaxed),
        }
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
            pinned_hits: self.counters.pinned_hits.load(Relaxed),
            sub_block_hits: self.counters.sub_block_hits.load(Relaxed),
        }
    }

    /// How the run read, beside the totals.
    pub fn io_report(&self) -> IoReport {
        let counters = &self.counters;
        self.note_huge_pages();
        let meters: Vec<_> =
            (0..self.readers.len()).map(|index| self.locked(index).meter().clone()).collect();
        let mut timeline = Timeline::default();
        meters.iter().for_each(|meter| timeline.merge(meter.timeline()));
        let requests = counters.requests.load(Relaxed);
        let cpu_seconds = memory::process_time().saturating_sub(self.cpu_begun).as_secs_f64();
        let prepare_seconds = counters.prepare_nanos.load(Relaxed) as f64 / 1e9;
        IoReport {
            scheduling: self.config.io_scheduling,
            limits: self.limits,
            mean_request_bytes: if requests == 0 {
                0.0
            } else {
                counters.bytes_read.load(Relaxed) as f64 / requests as f64
            },
            mean_queue_depth: meters.iter().map(|meter| meter.mean_depth()).sum(),
            prepare_seconds,
            prepare_share: prepare_seconds / cpu_seconds.max(1e-9),
            cpu_seconds,
            unverified_bytes: counters.unverified_bytes.load(Relaxed),
            huge_page_bytes: counters.huge_page_bytes.load(Relaxed),
            stealing: self.config.stealing,
            stolen: counters.stolen.load(Relaxed),
            worker_busy_seconds: self.workers.busy_seconds(),
            throughput: Throughput {
                bucket_seconds: timeline.width,
                bytes_per_second: timeline
                    .bytes
                    .iter()
                    .map(|&bytes| (bytes as f64 / timeline.width).round())
                    .collect(),
            },
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

/// The largest request is no longer than the largest section: a small graph has small buffers,
/// which are made in no time.
fn buffer_bytes(sections: &[OpenSection]) -> usize {
    let largest =
        sections.iter().map(|section| section.section.pages()).max().unwrap_or(0) as usize;
    (largest * outercore_storage::PAGE).clamp(SMALLEST_BUFFER, BUFFER_BYTES)
}

/// How on-demand requests are made: what was asked for, then what the device's profile says, then
/// what suits most devices.
fn limits(
    graph: &Graph,
    config: &RunConfig,
    buffer_bytes: usize,
    sections: &[OpenSection],
) -> Result<Limits> {
    let files = || sections.iter().flat_map(|section| section.section.file.files());
    for file in files().filter(|_| config.block < outercore_storage::PAGE as u64) {
        if !file.takes(config.block as usize)? {
            let place = file.path().display();
            return Err(EngineError::Usage(format!(
                "--block {}: the device of {place} reads larger blocks only; give --block 4096",
                config.block
            )));
        }
    }
    // The lists are where the stripes are. A profile that cannot be read is as good as none.
    let place = graph
        .manifest()
        .stripes
        .first()
        .map_or(graph.path(), |stripe| std::path::Path::new(stripe));
    let profile = find_profile(graph.disk(), place).unwrap_or_else(|error| {
        tracing::warn!(%error, "no device profile");
        None
    });
    Ok(Limits::new(config, profile.as_ref(), buffer_bytes as u64))
}

impl OpenSection {
    /// Verifies whole pages that were just read, each once in a run. `offset` is that of the first
    /// byte, a multiple of the page.
    pub fn verify(&self, offset: u64, bytes: &[u8]) -> Result<()> {
        const PAGE: u64 = outercore_storage::PAGE as u64;
        let (first, count) = (offset / PAGE, bytes.len() as u64 / PAGE);
        let known =
            |page: u64| self.verified[(page / 64) as usize].load(Relaxed) >> (page % 64) & 1 == 1;
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
            self.section.verify(
                &self.sums,
                page,
                &bytes[at..at + ((end - page) * PAGE) as usize],
            )?;
            (page..end).for_each(|page| {
                self.verified[(page / 64) as usize].fetch_or(1 << (page % 64), Relaxed);
            });
            page = end;
        }
        Ok(())
    }

    /// Verifies what was just read from `offset` on, a multiple of a sector: whole pages against
    /// their checksums, each once in a run. Returns the bytes of the pages at the ends that are
    /// there in part and were not verified before.
    pub fn verify_blocks(&self, offset: u64, bytes: &[u8]) -> Result<u64> {
        const PAGE: u64 = outercore_storage::PAGE as u64;
        let end = offset + bytes.len() as u64;
        let (first, last) = (offset.next_multiple_of(PAGE), end / PAGE * PAGE);
        if first < last {
            self.verify(first, &bytes[(first - offset) as usize..(last - offset) as usize])?;
        }
        let known =
            |page: u64| self.verified[(page / 64) as usize].load(Relaxed) >> (page % 64) & 1 == 1;
        let part =
            |from: u64, to: u64| if from < to && !known(from / PAGE) { to - from } else { 0 };
        Ok(if last < first {
            part(offset, end)
        } else {
            part(offset, first.min(end)) + part(last.max(offset), end)
        })
    }

    /// Bytes of memory that the checksums of a graph's section take.
    pub fn sums_bytes_of(graph: &Graph, name: &str) -> u64 {
        Self::sums_bytes(
            graph
                .manifest()
                .section(name)
                .map_or(0, |section| section.bytes.div_ceil(outercore_storage::PAGE as u64)),
        )
    }

    /// Bytes of memory that its checksums take.
    pub fn sums_bytes(pages: u64) -> u64 {
        pages * 4 + pages.div_ceil(64) * 8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_larger_budget_never_has_less_beside_the_buffers() {
        for threads in [1, 2, 3, 16] {
            let beside = |memory: u64| memory.saturating_sub(buffers_bytes(threads, memory));
            for budget in ((30 << 20)..(200 << 20)).step_by(100_003) {
                assert!(beside(budget + 100_003) >= beside(budget), "{budget}");
                let depth = depth(&RunConfig { threads, memory: budget, ..RunConfig::default() });
                assert!(
                    (SHALLOW..=DEPTH).contains(&depth)
                        && (depth * threads * BUFFER_BYTES) as u64
                            <= buffers_bytes(threads, budget)
                );
                let smallest = smallest_budget(threads, budget);
                assert!(beside(smallest) >= budget && beside(smallest - 1) < budget, "{budget}");
            }
        }
    }
}
