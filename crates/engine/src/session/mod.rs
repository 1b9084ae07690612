//! [`Session`]: everything that lasts as long as a run: the graph, the workers, a queue and a
//! buffer pool for each, the sections by name, the plan, and the counts.
//!
//! - `section`: sections whose pages are verified as they are read.
//! - `counters`: what is counted beside the disk's own counts.

mod counters;
mod section;
#[cfg(test)]
mod testing;

use std::{
    path::PathBuf,
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{
            AtomicBool, AtomicU64,
            Ordering::{Relaxed, SeqCst},
        },
    },
    time::{Duration, Instant},
};

use outercore_caches::{CacheReport, SelectedLists};
use outercore_graph::{Graph, GraphError, Result, error::refuse};
use outercore_storage::{
    Bitmap as Frontier, Disk, HugeVec, Limits, PAGE, PageCache, Pod, Reader, Workers,
    device::{Asked, Costs},
    lock, memory,
    reader::{ReaderOptions, Reading, buffers, is_little, open_readers},
};

pub use self::{counters::Counters, section::OpenSection};
use crate::{
    config::{Preset, RunConfig},
    job::Job,
    plan::{Decided, Decision, Plan},
    progress::RunProgress,
    report::{IoReport, IterationReport, ReadMode, VisitReport},
    techniques::{Technique, TechniqueReport},
};

/// Reports of iterations that are kept, beside the last one: there may be as many as vertices.
const KEPT: usize = 4095;

/// A run under way.
pub struct Session<'a> {
    /// The graph.
    pub graph: &'a Graph,
    /// What the user asked.
    pub config: &'a RunConfig,
    /// The threads.
    pub workers: Workers,
    /// The counts.
    pub counters: Arc<Counters>,
    /// Set when the run must end.
    pub stop: AtomicBool,
    progress: &'a dyn RunProgress,
    /// The plan, where there is one.
    pub(crate) plan: Option<Plan>,
    /// What was decided of this run.
    pub decision: Decision,
    /// The graph's: it counts all that goes through the run's handle of the graph, and scratch.
    pub(crate) disk: Disk,
    sections: Vec<OpenSection>,
    readers: Vec<Mutex<Reader>>,
    /// The name of the backend that reads.
    pub(crate) backend: &'static str,
    /// Bytes of a buffer: at most [`BUFFER_BYTES`](outercore_storage::reader::BUFFER_BYTES).
    pub(crate) buffer_bytes: usize,
    /// Whether buffers lie in huge pages.
    pub(crate) huge: bool,
    /// How on-demand requests are made.
    pub(crate) limits: Limits,
    /// Blocks of lists, where they are kept so.
    pub(crate) pages: Option<PageCache>,
    /// Lists of selected vertices, where they were asked for.
    pub(crate) selected: Option<SelectedLists>,
    begun: Instant,
    /// Nanoseconds of loading.
    loading: AtomicU64,
    cpu_begun: Duration,
    iterations: Mutex<Vec<IterationReport>>,
    /// What visitors did, once they have.
    pub visitors: Mutex<Option<VisitReport>>,
}

impl<'a> Session<'a> {
    /// Opens what a plan has decided.
    pub(crate) fn start(decided: Decided<'a>) -> Result<Self> {
        let Decided { job, plan, decision, sections, begun } = decided;
        decision.give_back();
        let mut session = Self::of(job, decision, Some(plan), &sections)?;
        session.begun = begun.unwrap_or(session.begun);
        Ok(session)
    }

    fn of(job: Job<'a>, decision: Decision, plan: Option<Plan>, names: &[String]) -> Result<Self> {
        let (begun, cpu_begun) = (Instant::now(), memory::process_time());
        let Job { graph, config, progress } = job;
        let (mut files, mut sections) = (Vec::new(), Vec::new());
        for name in names {
            sections.push(OpenSection::open(graph, name, &mut files)?);
        }
        let (workers, disk) = (Workers::new(config.threads)?, graph.disk().clone());
        let pages = sections.iter().map(|one| one.pages()).sum();
        let options = reader_options(config, pages, graph.opening(names).1);
        let buffer_bytes = options.buffers.1;
        let (readers, huge) = open_readers((&disk, &workers), &files, &options, begun)?;
        let backend = readers.first().map_or("none", Reader::backend);
        let limits = limits(graph, config, buffer_bytes, &sections)?;
        let caches = (config.static_cache, config.page_cache, limits.block_bytes);
        let means = (workers.count(), config.huge_pages);
        let (selected, pages) =
            SelectedLists::with_pages((graph, names), caches, decision.begins, means)?;
        Ok(Self {
            graph,
            config,
            workers,
            counters: Arc::default(),
            stop: AtomicBool::new(false),
            progress,
            plan,
            decision,
            disk,
            limits,
            pages,
            selected,
            sections,
            readers: readers.into_iter().map(Mutex::new).collect(),
            backend,
            buffer_bytes,
            huge,
            begun,
            loading: AtomicU64::new(0),
            cpu_begun,
            iterations: Mutex::default(),
            visitors: Mutex::default(),
        })
    }

    /// A section that the plan has declared.
    ///
    /// # Panics
    /// If it has not.
    pub(crate) fn section(&self, name: &str) -> OpenSection {
        let found = self.sections.iter().find(|section| section.name == name);
        found.unwrap_or_else(|| panic!("section {name} was not declared")).clone()
    }

    /// These sections.
    pub(crate) fn sections(&self, names: &[String]) -> Vec<OpenSection> {
        names.iter().map(|name| self.section(name)).collect()
    }

    /// Bytes asked of the devices so far.
    pub(crate) fn bytes_read(&self) -> u64 {
        self.disk.counters().bytes_read.load(Relaxed)
    }

    /// Items of zeros, in such pages as were asked for.
    pub fn zeroed<T: Pod>(&self, items: u64) -> Result<HugeVec<T>> {
        Ok(HugeVec::zeroed(items as usize, self.config.huge_pages)?)
    }

    /// An empty set of vertices.
    pub fn no_vertices(&self) -> Result<Frontier> {
        Ok(Frontier::new(self.graph.connected(), self.config.huge_pages)?)
    }

    /// Notes that everything is loaded that the first program of the run needs.
    pub fn loaded(&self) {
        let nanos = self.begun.elapsed().as_nanos() as u64;
        if self.loading.compare_exchange(0, nanos, SeqCst, SeqCst).is_ok() {
            self.decision.give_back();
        }
    }

    /// Seconds of loading.
    pub(crate) fn load_seconds(&self) -> f64 {
        self.loading.load(SeqCst) as f64 / 1e9
    }

    /// The reader of worker `index`, for the length of a step.
    pub(crate) fn reader(&self, index: usize) -> MutexGuard<'_, Reader> {
        lock(&self.readers[index])
    }

    /// The readers of all workers.
    pub(crate) fn all_readers(&self) -> Vec<MutexGuard<'_, Reader>> {
        (0..self.readers.len()).map(|index| self.reader(index)).collect()
    }

    /// An error when the user wants to stop.
    pub(crate) fn check(&self) -> Result<()> {
        if self.progress.cancelled() { Err(GraphError::Cancelled) } else { Ok(()) }
    }

    /// Whether some worker failed or the user wants to stop.
    pub fn stopped(&self) -> bool {
        self.stop.load(Relaxed) || self.progress.cancelled()
    }

    /// Notes the end of an iteration.
    pub fn end_iteration(&self, mark: &Mark, active: u64, mode: ReadMode) {
        self.end_predicted(mark, active, mode, None);
    }

    /// The same with what was predicted of the iteration.
    pub(crate) fn end_predicted(
        &self,
        mark: &Mark,
        active: u64,
        mode: ReadMode,
        predicted: Option<Costs>,
    ) {
        let mut iterations = lock(&self.iterations);
        for (technique, acted) in [
            (Technique::FullPasses, mode != ReadMode::OnDemand),
            (Technique::OnDemand, mode != ReadMode::Full),
            (Technique::StateAware, predicted.is_some()),
        ] {
            self.counters.note(technique, [acted.into(), 0]);
        }
        let report = IterationReport {
            iteration: iterations.last().map_or(0, |last| last.iteration + 1),
            active,
            read_mode: mode.name(),
            seconds: mark.begun.elapsed().as_secs_f64(),
            bytes_read: self.bytes_read() - mark.bytes,
            edges: self.workers.total_work() - mark.edges,
            predicted,
        };
        self.progress.iteration(&report);
        // More and more seldom: what an iteration runs is mostly what the one before has run.
        if (report.iteration + 1).is_power_of_two() {
            self.decision.give_back();
        }
        iterations.truncate(KEPT);
        iterations.push(report);
        if iterations.len() == 1 {
            self.note_huge_pages();
        }
    }

    /// What a run keeps is there after its first iteration, and may be gone before its report.
    /// Asking the kernel takes milliseconds for each hundred megabytes of the whole process, so it
    /// is done once, and not where not even the buffers are large enough for such pages.
    fn note_huge_pages(&self) {
        if self.huge {
            self.counters.note_most(Technique::Huge, memory::huge_page_bytes());
        }
    }

    /// Notes the beginning of an iteration.
    pub fn mark(&self) -> Mark {
        Mark { begun: Instant::now(), bytes: self.bytes_read(), edges: self.workers.total_work() }
    }

    /// Seconds since the session was opened.
    pub(crate) fn seconds(&self) -> f64 {
        self.begun.elapsed().as_secs_f64()
    }

    /// The iterations so far.
    pub(crate) fn take_iterations(&self) -> Vec<IterationReport> {
        std::mem::take(&mut *lock(&self.iterations))
    }

    /// Cache hits so far.
    pub(crate) fn cache(&self) -> CacheReport {
        let hits = |technique| self.counters.of(technique)[0];
        CacheReport {
            page_hits: hits(Technique::ListCache),
            static_hits: hits(Technique::StaticCache),
            retained_hits: hits(Technique::Sciu),
            pinned_hits: hits(Technique::GridCache),
            sub_block_hits: hits(Technique::SubBlocks),
            pages: self.pages.as_ref().map(PageCache::uses),
            selected: self.selected.as_ref().map(|selected| selected.report),
        }
    }

    /// What became of each technique of the plan.
    pub(crate) fn techniques(&self, plan: &Plan) -> Vec<TechniqueReport> {
        let moved = self.disk.counters();
        if self.backend == "uring" {
            self.counters.note_most(Technique::AsyncIo, moved.read_requests.load(Relaxed));
        }
        let handed_over = moved.requests_by_io_threads.load(Relaxed);
        self.counters.note_most(Technique::IoThreads, handed_over);
        if let Some(pages) = &self.pages {
            let hits = pages.uses().hits;
            self.counters.note(Technique::PageCache, [hits, hits * self.limits.block_bytes]);
        }
        let done = |planned: &TechniqueReport| planned.done(self.counters.of(planned.name));
        plan.techniques.iter().map(done).collect()
    }

    /// How the run read, beside the totals.
    pub(crate) fn io_report(&self) -> IoReport {
        let counters = &self.counters;
        if counters.of(Technique::Huge)[0] == 0 {
            self.note_huge_pages();
        }
        let meters = self.all_readers().into_iter().map(|reader| reader.meter().clone());
        let cpu_seconds = memory::process_time().saturating_sub(self.cpu_begun).as_secs_f64();
        let prepare_seconds = counters.prepare_nanos.load(Relaxed) as f64 / 1e9;
        IoReport {
            scheduling: self.config.io_scheduling,
            limits: self.limits,
            reading: Reading::of(meters),
            prepare_seconds,
            prepare_share: prepare_seconds / cpu_seconds.max(1e-9),
            cpu_seconds,
            unverified_bytes: counters.unverified_bytes.load(Relaxed),
            huge_page_bytes: counters.of(Technique::Huge)[0],
            stealing: self.config.stealing,
            stolen: counters.of(Technique::WorkStealing)[0],
            worker_busy_seconds: self.workers.busy_seconds(),
            worker_edges: self.workers.work(),
        }
    }
}

/// The state of the counts when an iteration began.
pub struct Mark {
    begun: Instant,
    bytes: u64,
    edges: u64,
}

/// How readers are opened of so many pages, the largest section of which has so many.
fn reader_options(config: &RunConfig, pages: u64, largest: u64) -> ReaderOptions {
    ReaderOptions {
        backend: config.io,
        queue_depth: config.queue_depth,
        io_threads: config.io_threads,
        buffers: buffers((config.threads, config.memory), config.max_request, largest),
        huge_pages: config.huge_pages,
        little: is_little(pages),
    }
}

/// How on-demand requests are made: what was asked for, then what the device's profile says, then
/// what suits most devices.
fn limits(
    graph: &Graph,
    config: &RunConfig,
    buffer_bytes: usize,
    sections: &[OpenSection],
) -> Result<Limits> {
    let &RunConfig { mut block, max_gap, max_request, .. } = config;
    let files = sections.iter().flat_map(|section| section.file.files());
    for file in files.filter(|_| block < PAGE as u64) {
        if !file.takes(block as usize)? {
            if config.preset == Preset::Graphene {
                block = PAGE as u64;
                break;
            }
            return refuse(format!(
                "--block {block}: the device of {} reads larger blocks only; give --block 4096",
                file.path().display()
            ));
        }
    }
    // The lists are where the stripes are.
    let place = graph.manifest().stripes.first().map_or(graph.path(), PathBuf::as_path);
    let asked = Asked { block, max_gap, max_request };
    Ok(Limits::of_folder(graph.disk(), place, asked, buffer_bytes as u64))
}
