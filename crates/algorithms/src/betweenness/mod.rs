//! Betweenness (Brandes, 2001): for a batch of sources one program counts shortest paths forwards,
//! level by level, and a second one gathers dependencies backwards; one scan serves all sources of
//! the batch, side by side.
//!
//! `resident` searches fewer sources at once, for whom it keeps less, on the lists. `external` runs
//! two programs as here, with what a vertex keeps on storage.
//!
//! Unnormalised; halved in an undirected graph, where each path is found from both ends. Parallel
//! edges are paths of their own.

mod external;
mod resident;

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use outercore_engine::{
    Column, EngineError, Figure, HugeVec, Isolated, Meaning, MemoryModel, Outcome, Plan, Pod,
    Result, RunConfig, RunProgress, Values,
    execute::{Finished, execute, plan},
    monoid::{Monoid, Sums},
    plan::PlanItem,
    program::{Context, Start, VertexProgram},
};
use outercore_graph::{Direction, Graph};
use outercore_storage::memory::process_time;

use crate::{
    algorithm::{Algorithm, Source},
    finish::{Done, Summary, locate, open, outcome, top, utility},
    lists,
};
use resident::Resident;

/// Betweenness of all vertices, from some sources or all of them.
#[derive(Clone, Debug, Default)]
pub struct Betweenness {
    /// The sources; none: every vertex.
    pub sources: Vec<Source>,
    /// Rows of the summary.
    pub top: usize,
}

/// What a vertex keeps on the way forwards, lane by lane.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Counted<const L: usize> {
    /// Shortest paths from the source.
    paths: [f64; L],
    /// One more than the level; 0: not reached.
    depth: [u32; L],
    /// The lanes in which it was reached in the last iteration, as bits.
    fresh: u64,
}

// SAFETY: numbers of 64 bits, and of 32 bits an even number (see `Forward::of`): no padding; every
// bit pattern valid, nothing to drop.
unsafe impl<const L: usize> Pod for Counted<L> {}

struct Forward<const L: usize> {
    /// One for each lane; `u64::MAX`: none.
    sources: [u64; L],
}

impl<const L: usize> Forward<L> {
    /// From up to `L` sources.
    fn of(batch: &[u64]) -> Self {
        const {
            assert!(
                L.is_multiple_of(2),
                "an odd number of lanes would leave a gap between what a vertex keeps"
            )
        };
        Self { sources: std::array::from_fn(|lane| batch.get(lane).copied().unwrap_or(u64::MAX)) }
    }
}

impl<const L: usize> VertexProgram for Forward<L> {
    type Value = Counted<L>;
    type Signal = Sums<L>;
    type Message = Sums<L>;

    fn start(&self) -> Start {
        Start::Vertices(self.sources.to_vec())
    }

    /// The counts are looked up by the second program.
    fn is_self_contained(&self) -> bool {
        false
    }

    fn init(&self, vertex: u64, _: u32) -> Counted<L> {
        let mut counted = Counted { paths: [0.0; L], depth: [0; L], fresh: 0 };
        for lane in (0..L).filter(|&lane| self.sources[lane] == vertex) {
            (counted.paths[lane], counted.depth[lane]) = (1.0, 1);
            counted.fresh |= 1 << lane;
        }
        counted
    }

    #[inline(always)]
    fn scatter(&self, _: u64, value: &Counted<L>, _: u32) -> Option<Sums<L>> {
        Some(Sums(std::array::from_fn(|lane| {
            if value.fresh >> lane & 1 == 1 { value.paths[lane] } else { 0.0 }
        })))
    }

    #[inline(always)]
    fn carry(&self, signal: Sums<L>, _: f64) -> Sums<L> {
        signal
    }

    #[inline(always)]
    fn apply(&self, context: &Context, _: u64, value: &mut Counted<L>, message: Sums<L>) -> bool {
        value.fresh = 0;
        for lane in 0..L {
            if value.depth[lane] == 0 && message.0[lane] > 0.0 {
                (value.paths[lane], value.depth[lane]) =
                    (message.0[lane], context.iteration as u32 + 2);
                value.fresh |= 1 << lane;
            }
        }
        value.fresh != 0
    }
}

/// From the deepest level to the sources: a vertex of the level below sends (1 + dependency) /
/// paths to its predecessors.
struct Backward<'f, const L: usize> {
    counted: &'f [Counted<L>],
    deepest: u32,
    /// The depth that sends in this iteration.
    sending: AtomicU32,
}

impl<const L: usize> VertexProgram for Backward<'_, L> {
    type Value = Sums<L>;
    type Signal = Sums<L>;
    type Message = Sums<L>;

    fn start(&self) -> Start {
        let deepest = |vertex: &u64| self.counted[*vertex as usize].depth.contains(&self.deepest);
        Start::Vertices((0..self.counted.len() as u64).filter(deepest).collect())
    }

    fn is_self_contained(&self) -> bool {
        false
    }

    fn directions(&self) -> &'static [Direction] {
        &[Direction::In]
    }

    fn applies_always(&self) -> bool {
        true
    }

    fn init(&self, _: u64, _: u32) -> Sums<L> {
        Sums::IDENTITY
    }

    #[inline(always)]
    fn scatter(&self, vertex: u64, dependency: &Sums<L>, _: u32) -> Option<Sums<L>> {
        let (counted, sending) = (&self.counted[vertex as usize], self.sending.load(Relaxed));
        let share = |lane: usize| {
            if counted.depth[lane] == sending {
                (1.0 + dependency.0[lane]) / counted.paths[lane]
            } else {
                0.0
            }
        };
        Some(Sums(std::array::from_fn(share)))
    }

    #[inline(always)]
    fn carry(&self, signal: Sums<L>, _: f64) -> Sums<L> {
        signal
    }

    #[inline(always)]
    fn apply(&self, _: &Context, vertex: u64, dependency: &mut Sums<L>, message: Sums<L>) -> bool {
        let (counted, sending) = (&self.counted[vertex as usize], self.sending.load(Relaxed));
        let mut next = false;
        for lane in 0..L {
            if counted.depth[lane] + 1 == sending {
                dependency.0[lane] = counted.paths[lane] * message.0[lane];
                next = true;
            }
        }
        next
    }

    fn finished(&self, _: &Context, _: f64, _: u64) -> bool {
        // The sources themselves, at depth 1, have no dependency.
        self.sending.fetch_sub(1, Relaxed) <= 3
    }
}

/// Sources of a batch.
const BATCH: usize = 16;

impl Betweenness {
    /// The column and the summary of a run from so many sources.
    fn finish(&self, graph: &Graph, sources: usize, values: Values) -> Result<(Summary, Column)> {
        let column = Column {
            name: "betweenness",
            values,
            isolated: Isolated::Value(0.0),
            meaning: Meaning::Number,
            exceptions: Vec::new(),
        };
        let mut summary = Summary::new();
        summary.insert("sources", Figure::Integer(sources as u64));
        summary.insert("top", top(graph, &column, self.top)?);
        Ok((summary, column))
    }

    fn sources(&self, graph: &Graph) -> Result<Vec<u64>> {
        if self.sources.is_empty() {
            Ok((0..graph.connected()).collect())
        } else {
            self.sources.iter().map(|source| locate(graph, source)).collect()
        }
    }

    fn suits(graph: &Graph) -> Result<()> {
        let what = "betweenness needs the incoming edges, and the graph was built with --transpose";
        let rows = graph.rows(Direction::In);
        rows.map(drop).ok_or_else(|| EngineError::Usage(format!("{what} off")))
    }

    /// Bytes that stay while a program runs: the scores, and while the second one does, the counts
    /// of the first.
    fn kept<const L: usize>(graph: &Graph) -> [u64; 2] {
        [graph.connected() * 8, graph.connected() * (8 + size_of::<Counted<L>>() as u64)]
    }

    /// The plan with batches of `L`: that of the program that needs more.
    fn plan_batch<const L: usize>(graph: &Graph, config: &RunConfig) -> Result<Plan> {
        let [scores, counts] = Self::kept::<L>(graph);
        let with = |kept: u64, plan: &dyn Fn(&RunConfig) -> Result<(Plan, u64)>| -> Result<Plan> {
            let rest = RunConfig { memory: config.memory.saturating_sub(kept), ..config.clone() };
            let mut plan = plan(&rest)
                .map_err(|error| match error {
                    EngineError::Memory { needed, what, .. } => {
                        EngineError::Memory { needed: needed + kept, budget: config.memory, what }
                    }
                    error => error,
                })?
                .0;
            plan.memory.push(PlanItem { name: "scores, counts", bytes: kept });
            plan.memory_budget_bytes = config.memory;
            plan.smallest_budget_bytes += kept;
            plan.in_memory_budget_bytes += kept;
            Ok(plan)
        };
        let forward =
            with(scores, &|rest| plan(&Forward::<L>::of(&[]), "betweenness", graph, rest, None))?;
        let idle = Backward::<L> { counted: &[], deepest: 0, sending: AtomicU32::new(0) };
        let backward = with(counts, &|rest| plan(&idle, "betweenness", graph, rest, None))?;
        let whole = forward.in_memory_budget_bytes.max(backward.in_memory_budget_bytes);
        let mut larger = if backward.smallest_budget_bytes > forward.smallest_budget_bytes {
            backward
        } else {
            forward
        };
        larger.in_memory_budget_bytes = whole;
        larger.method = format!(
            "batches of {L} sources: each scan counts paths, or gathers dependencies, for all \
             of them"
        );
        Ok(larger)
    }

    /// How so many sources are searched: in batches where there are enough sources and memory, with
    /// what a vertex keeps on storage where it must be.
    fn way(graph: &Graph, config: &RunConfig, wanted: usize) -> Result<Way> {
        if config.model == Some(MemoryModel::FullyExternal) {
            return Ok(Way::External);
        }
        if wanted > BATCH / 2
            && let Ok(plan) = Self::plan_batch::<BATCH>(graph, config)
        {
            return Ok(Way::Batches(plan));
        }
        match resident::choose(graph, config, wanted) {
            Ok((lanes, plan, room)) => Ok(Way::Lists(lanes, plan, room)),
            Err(EngineError::Memory { .. }) if config.model.is_none() => Ok(Way::External),
            Err(error) => Err(error),
        }
    }

    /// The sums of the dependencies of all `sources`, which have edges, by vertex.
    fn scores(
        graph: &Graph,
        config: &RunConfig,
        progress: &dyn RunProgress,
        sources: &[u64],
        totals: &mut Totals,
    ) -> Result<HugeVec<f64>> {
        let mut scores: HugeVec<f64> =
            HugeVec::zeroed(graph.connected() as usize, config.huge_pages)?;
        for batch in sources.chunks(BATCH) {
            Self::add::<BATCH>(batch, graph, config, progress, &mut scores, totals)?;
        }
        Ok(scores)
    }

    /// Adds the dependencies of up to `L` sources.
    fn add<const L: usize>(
        batch: &[u64],
        graph: &Graph,
        config: &RunConfig,
        progress: &dyn RunProgress,
        scores: &mut [f64],
        totals: &mut Totals,
    ) -> Result<()> {
        let [first, second] = Self::kept::<L>(graph)
            .map(|kept| RunConfig { memory: config.memory.saturating_sub(kept), ..config.clone() });
        let program = Forward::<L>::of(batch);
        let forward = execute(&program, "betweenness", graph, &first, progress, None)?;
        totals.add(&forward);
        // Its buffers go before the second program makes its own.
        let Finished { values: counted, .. } = forward;
        let counted = counted.resident().expect("the program runs with its values in memory");
        let deepest = counted.iter().flat_map(|value| value.depth).max().unwrap_or(0);
        if deepest < 3 {
            return Ok(());
        }
        let sources = program.sources;
        let program = Backward { counted, deepest, sending: AtomicU32::new(deepest) };
        let backward = execute(&program, "betweenness", graph, &second, progress, None)?;
        totals.add(&backward);
        backward.values.for_each(|vertex, dependency| {
            for lane in (0..L).filter(|&lane| sources[lane] != vertex) {
                scores[vertex as usize] += dependency.0[lane];
            }
        })
    }
}

/// What the programs of all sources did together.
#[derive(Default)]
struct Totals {
    iterations: u64,
    bytes_read: u64,
    useful_bytes: u64,
    bytes_written: u64,
    requests: u64,
    edges: u64,
    busy: Vec<f64>,
}

impl Totals {
    fn add<V: Pod>(&mut self, finished: &Finished<V>) {
        let (counters, disk) = (&finished.session.counters, finished.session.disk().counters());
        self.iterations += finished.iterations;
        self.bytes_read += disk.bytes_read.load(Relaxed);
        self.useful_bytes += counters.useful_bytes.load(Relaxed);
        self.bytes_written += disk.bytes_written.load(Relaxed);
        self.requests += disk.read_requests.load(Relaxed);
        self.edges += counters.edges.load(Relaxed);
        let busy = finished.session.workers.busy_seconds();
        self.busy.resize(busy.len(), 0.0);
        self.busy.iter_mut().zip(busy).for_each(|(sum, busy)| *sum += busy);
    }
}

impl Algorithm for Betweenness {
    fn name(&self) -> &'static str {
        "betweenness"
    }

    fn plan(&self, graph: &Graph, config: &RunConfig) -> Result<Plan> {
        Self::suits(graph)?;
        let wanted =
            if self.sources.is_empty() { graph.connected() as usize } else { self.sources.len() };
        let generous = RunConfig { memory: u64::MAX / 4, ..config.clone() };
        let mut plan = match Self::way(graph, config, wanted)? {
            Way::Batches(plan) | Way::Lists(_, plan, _) => plan,
            Way::External => external::choose(graph, config, wanted)?.1,
        };
        plan.smallest_budget_bytes = match config.model {
            Some(MemoryModel::InMemory | MemoryModel::SemiExternal) => {
                resident::choose(graph, &generous, 1)?.1.smallest_budget_bytes
            }
            _ => external::choose(graph, &generous, 1)?.1.smallest_budget_bytes,
        };
        Ok(plan)
    }

    fn run(
        &self,
        graph: &Graph,
        config: &RunConfig,
        progress: &dyn RunProgress,
    ) -> Result<Outcome> {
        Self::suits(graph)?;
        let (begun, cpu_begun) = (std::time::Instant::now(), process_time());
        let (sources, mut totals) = (self.sources(graph)?, Totals::default());
        let with_edges: Vec<u64> =
            sources.iter().copied().filter(|&source| source < graph.connected()).collect();
        let way = Self::way(graph, config, sources.len())?;
        let half = |score: f64| if graph.directed() { score } else { score / 2.0 };
        let in_memory = |mut scores: HugeVec<f64>| {
            scores.iter_mut().for_each(|score| *score = half(*score));
            Values::from(scores)
        };
        let finish = |values| self.finish(graph, sources.len(), values);
        // Of programs, one more, empty, run carries the report.
        let mut result = match way {
            Way::Lists(lanes, plan, room) => {
                let (session, sections) =
                    open(graph, config, progress, &lists::sections(graph, self.name())?)?;
                let resident = Resident::open(&session, sections, room)?;
                let load_seconds = session.seconds();
                let (scores, iterations) = resident.scores(lanes, &with_edges)?;
                let (summary, column) = finish(in_memory(scores))?;
                outcome(
                    &Done { session: &session, plan: &plan, iterations, load_seconds },
                    summary,
                    vec![column],
                    true,
                )
            }
            Way::Batches(_) => {
                let scores = Self::scores(graph, config, progress, &with_edges, &mut totals)?;
                let (summary, column) = finish(in_memory(scores))?;
                let rest = RunConfig {
                    memory: config.memory.saturating_sub(Self::kept::<BATCH>(graph)[0]),
                    ..config.clone()
                };
                report(
                    &execute(
                        &Forward::<BATCH>::of(&[]),
                        self.name(),
                        graph,
                        &rest,
                        progress,
                        None,
                    )?,
                    &totals,
                    summary,
                    column,
                )
            }
            Way::External => {
                let scores = external::scores(graph, config, progress, &with_edges, &mut totals)?;
                let scores =
                    if graph.directed() { scores } else { scores.map(|&score| half(score))? };
                let (summary, column) = finish(scores.into())?;
                report(
                    &external::idle(graph, &external::fully::<1>(graph, config)?, progress)?,
                    &totals,
                    summary,
                    column,
                )
            }
        };
        result.report.seconds = begun.elapsed().as_secs_f64();
        result.report.io.cpu_seconds = process_time().saturating_sub(cpu_begun).as_secs_f64();
        result.report.memory_budget_bytes = config.memory;
        Ok(result)
    }
}

/// How sources are searched.
enum Way {
    /// By programs, [`BATCH`] at once.
    Batches(Plan),
    /// On the lists: so many at once, the plan, and the bytes that may cache edges.
    Lists(usize, Plan, u64),
    /// With what a vertex keeps on storage.
    External,
}

/// An outcome with the figures of all programs.
fn report<V: Pod>(
    last: &Finished<V>,
    totals: &Totals,
    summary: Summary,
    column: Column,
) -> Outcome {
    let done = Done {
        session: &last.session,
        plan: &last.plan,
        iterations: totals.iterations,
        load_seconds: 0.0,
    };
    let mut result = outcome(&done, summary, vec![column], true);
    let report = &mut result.report;
    (report.bytes_read, report.requests, report.edges_processed) =
        (totals.bytes_read, totals.requests, totals.edges);
    report.bytes_written = totals.bytes_written;
    report.useful_bytes_read = totals.useful_bytes.min(totals.bytes_read);
    report.io_utility = utility(totals.bytes_read, totals.useful_bytes);
    report.io.worker_busy_seconds.clone_from(&totals.busy);
    result
}
