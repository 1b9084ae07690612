//! Synchronous iterations of [`VertexProgram`]s: one loop, and the strategies that it runs.
//!
//! - [`iterations`]: [`Iterations`], a program as a resource of a plan.
//! - [`Run`]: what a run has in memory. Vertices apply interval by interval, and make their next
//!   signals at once. [`apply`]: what happens to the vertices of an interval.
//! - [`by_segment`]: everything in memory: the grid by segment, or lists.
//! - [`by_interval`]: an interval of vertices at a time at hand. [`interval_memory`]: what that
//!   needs, and what it does with more; [`full_pass`] and [`by_lists`]: how it reads edges.
//! - [`edge_path`]: the sections along which a program's signals travel.
//! - [`io_scheduling`]: what reading will cost (GraphSD, section 4.1); [`fciu`]: one
//!   reading for two iterations (GraphSD, section 4.2); [`precompute`]: vertices of the next
//!   iteration that are computed in this one (Seraph, section 3.4).

mod apply;
mod by_interval;
mod by_lists;
mod by_segment;
mod edge_path;
mod fciu;
mod full_pass;
mod interval_memory;
pub(crate) mod io_scheduling;
mod iterations;
mod precompute;

use std::{
    iter::{Sum, once},
    ops::Range,
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

use outercore_caches::ChunkCache;
use outercore_graph::{
    Graph, Result, error,
    format::{GridIndex, GridPass, SubBlockIndex},
};
use outercore_storage::{
    Block, CutSlice, Fronted, HugePages, HugeVec, Pairs, Pod, device::Costs, lock,
};

use self::by_lists::OnDemand;
use crate::{
    Frontier, Monoid,
    config::Precompute,
    edges::{grid::Grid, rows::Rows},
    program::{Context, VertexProgram},
    report::ReadMode,
    session::{OpenSection, Session},
    state::{DegreesByInterval, Scratch, VertexArray},
};

pub use self::iterations::Iterations;

/// Vertices of an interval where all are in memory: a fixed size, so that sums are grouped alike
/// whatever the graph's partition is.
const INTERVAL: u64 = 1 << 14;

/// Sources are not asked where at least one in so many sends.
const QUIET: u64 = 8;

/// How an iteration read edges, and what was predicted where there was a choice.
type Delivered = (ReadMode, Option<Costs>);

/// What is known of an interval between iterations.
#[derive(Clone, Copy, Default)]
struct IntervalState {
    aggregate: f64,
    residual: f64,
    key: u64,
    active: u64,
    /// The edges of the vertices that send.
    edges: u64,
    /// Whether its signals on scratch are new.
    tail: bool,
    /// Whether earlier windows of this iteration sent it something.
    summed: bool,
}

/// Where the edges of an iteration come from.
enum EdgeSource<M: Monoid> {
    /// The grid by segment, or lists; messages have memory of their own.
    Resident(Resident<M>),
    /// The grid by interval.
    Grid(GridByInterval),
    /// The lists along which signals come.
    Lists(Box<Rows>),
}

/// The edges of a run with everything in memory, and the messages of an iteration.
struct Resident<M: Monoid> {
    /// By direction.
    edges: Vec<(Option<Rows>, Option<Grid>)>,
    /// Whether lists are those of targets.
    takes: bool,
    inbox: Mutex<HugeVec<M>>,
}

/// The grid as passes read it.
struct GridByInterval {
    index: GridIndex,
    parts: SubBlockIndex,
    /// The words, and the weights if they are wanted.
    sections: Vec<OpenSection>,
    /// Chunks that stay, where there is room.
    cache: Option<Box<dyn ChunkCache>>,
}

impl<M: Monoid> EdgeSource<M> {
    /// Those of a run with everything in memory.
    fn resident(&self) -> Option<&Resident<M>> {
        if let EdgeSource::Resident(edges) = self { Some(edges) } else { None }
    }

    /// Degrees along the first direction, where lists in memory have them.
    fn degrees(&self) -> Option<&[u32]> {
        self.resident().filter(|resident| !resident.takes)?.edges[0].0.as_ref()?.degrees.as_slice()
    }
}

/// What there is memory for.
struct Division {
    /// The bounds of the intervals.
    bounds: Arc<[u64]>,
    /// Vertices whose signals are in memory together: windows of all vertices, in order.
    windows: Vec<Range<u64>>,
    /// Vertices whose signals of the next iteration are in memory beside those of this one.
    hubs: u64,
    /// Bytes for arrays that would be on scratch otherwise; what they leave.
    near: u64,
    /// The most of them for messages that wait, for values, and for next signals.
    most: [u64; 3],
}

impl Division {
    /// That of a run with everything in memory, by intervals of so many vertices.
    fn whole(vertices: u64, interval: u64) -> Self {
        let starts = (0..vertices).step_by(interval as usize);
        let bounds = starts.chain([vertices]).collect();
        Self { bounds, windows: once(0..vertices).collect(), hubs: 0, near: u64::MAX, most: [0; 3] }
    }

    /// An array on scratch, but for its first intervals, which may take so many bytes.
    fn array<T: Pod>(&mut self, scratch: &Scratch, most: u64) -> Result<VertexArray<T>> {
        let mut room = self.near.min(most);
        self.near -= room;
        let array = VertexArray::create(scratch, Arc::clone(&self.bounds), &mut room)?;
        self.near += room;
        Ok(array)
    }

    /// Degrees are in memory all together or not at all.
    fn degrees(&mut self, graph: &Graph, scratch: &Scratch) -> Result<DegreesByInterval> {
        let bytes = DegreesByInterval::memory(graph, self.bounds.len() - 1)?;
        let stay = bytes <= self.near;
        self.near -= if stay { bytes } else { 0 };
        DegreesByInterval::create(scratch, &self.bounds, stay)
    }
}

/// A run of a program.
struct Run<'r, P: VertexProgram> {
    program: &'r mut P,
    session: &'r Session<'r>,
    context: Context,
    edges: EdgeSource<P::Message>,
    /// The lists of active vertices of a run by interval.
    lists: Option<OnDemand<P::Message>>,
    /// Which vertices are computed early.
    precompute: Option<Precompute>,
    values: VertexArray<P::Value>,
    /// Values are not looked at after fewer iterations.
    discards_before: u64,
    /// `None`: the lists have them.
    degrees: Option<DegreesByInterval>,
    /// Messages for this iteration that the last pass has made, and for the next one; or those of
    /// earlier windows.
    partial: Option<VertexArray<P::Message>>,
    states: Vec<Mutex<IntervalState>>,
    workspaces: Vec<Mutex<Workspace<P>>>,
    windows: Vec<Range<u64>>,
    hubs: Pairs<P::Signal>,
    /// This iteration's signals of a window's vertices beyond the hubs.
    signals: Mutex<HugeVec<P::Signal>>,
    /// The next signals of vertices beyond the hubs, where others still read this iteration's.
    tail: Option<VertexArray<P::Signal>>,
    sending: Frontier,
    next_sending: Frontier,
    pass: GridPass,
    /// The most iterations, where there is a limit.
    most: Option<u64>,
}

/// A worker's arrays. Those of sums are for all intervals of a batch, side by side; the others for
/// one interval at a time.
struct Workspace<P: VertexProgram> {
    /// The worker's number.
    worker: usize,
    /// The interval at hand.
    interval: usize,
    /// Its first vertex.
    first: u64,
    /// How many vertices it has.
    len: usize,
    /// Where it begins among the sums.
    base: usize,
    /// The totals of this iteration.
    total: HugeVec<P::Message>,
    /// The sums along edges that serve two iterations: each adds to both at one place. None from
    /// one batch to the next.
    both: HugeVec<[P::Message; 2]>,
    /// Messages on their way from or to scratch.
    partial: Block<P::Message>,
    /// Values, where they are not in memory.
    values: Block<P::Value>,
    /// Degrees of the interval at hand.
    degrees: Block<u32>,
    /// Signals that the interval at hand makes.
    signals: Block<P::Signal>,
}

impl<P: VertexProgram> Workspace<P> {
    /// Arrays for intervals of at most `widest` vertices, alone or together; with `two`, for passes
    /// that serve two iterations. What is not used is never touched, and costs nothing.
    fn new(worker: usize, widest: usize, two: bool, huge: HugePages) -> Result<Self> {
        let mut both = HugeVec::zeroed(if two { widest } else { 0 }, huge)?;
        both.fill([P::Message::IDENTITY; 2]);
        Ok(Self {
            worker,
            interval: 0,
            first: 0,
            len: 0,
            base: 0,
            total: HugeVec::zeroed(widest, huge)?,
            both,
            partial: Block::new(widest)?,
            values: Block::new(widest)?,
            degrees: Block::new(widest)?,
            signals: Block::new(widest)?,
        })
    }

    /// Bytes of memory, whatever the windows.
    fn bytes(widest: usize) -> u64 {
        Self::two_bytes(widest)
            + Block::<P::Value>::bytes(widest)
            + Block::<u32>::bytes(widest)
            + Block::<P::Signal>::bytes(widest)
    }

    /// Bytes of memory that passes which serve two iterations take beside that.
    fn two_bytes(widest: usize) -> u64 {
        2 * Block::<P::Message>::bytes(widest)
    }

    /// Turns to an interval with these vertices, which begins at `base` among the sums.
    fn turn_to(&mut self, interval: usize, vertices: &Range<u64>, base: u64) {
        (self.interval, self.first, self.base) = (interval, vertices.start, base as usize);
        self.len = (vertices.end - vertices.start) as usize;
    }

    /// The vertices of the interval at hand.
    fn vertices(&self) -> Range<u64> {
        self.first..self.first + self.len as u64
    }

    /// The totals of the interval at hand.
    fn total(&mut self) -> &mut [P::Message] {
        &mut self.total[self.base..][..self.len]
    }
}

/// What the workers of a step share.
struct Step<'s, P: VertexProgram> {
    /// The vertices whose signals these are.
    window: &'s Range<u64>,
    /// This iteration's signals, and the hubs' of the next one.
    signals: Fronted<'s, P::Signal>,
    /// Memory where next signals take the places of this iteration's, by interval.
    places: CutSlice<'s, P::Signal>,
}

impl<'r, P: VertexProgram> Run<'r, P> {
    /// A run with these edges and this memory, and with the values that another program has left
    /// if there are some.
    fn open(
        program: &'r mut P,
        session: &'r Session<'r>,
        (edges, lists): (EdgeSource<P::Message>, Option<OnDemand<P::Message>>),
        left: Option<VertexArray<P::Value>>,
        division: &mut Division,
    ) -> Result<Self> {
        let (scratch, huge) = (Scratch::of(session), session.config.huge_pages);
        let (hubs, windows) = (division.hubs, std::mem::take(&mut division.windows));
        let (bounds, most) = (Arc::clone(&division.bounds), division.most);
        let signals = windows.iter().map(|window| window.end - window.start).max().unwrap_or(0);
        let resident = edges.resident().is_some();
        // What moves most bytes for each of its own stays in memory first: what is written and
        // read again in an iteration, then what is read.
        let waits = hubs > 0 || windows.len() > 1;
        let partial = waits.then(|| division.array(&scratch, most[0])).transpose()?;
        let values = match left {
            Some(left) => left.cut(&bounds),
            None if resident => VertexArray::in_memory(Arc::clone(&bounds), huge.for_streams())?,
            None => division.array(&scratch, most[1])?,
        };
        let workspace =
            |worker| Workspace::new(worker, values.widest(), hubs > 0, huge).map(Mutex::new);
        let workspaces = (0..session.workers.count()).map(workspace).collect::<Result<_>>()?;
        let degrees = edges.degrees().is_none().then(|| division.degrees(session.graph, &scratch));
        let degrees = degrees.transpose()?;
        let tail = (!resident).then(|| division.array(&scratch, most[2]));
        Ok(Self {
            program,
            session,
            context: Context::default(),
            lists,
            precompute: None,
            discards_before: 0,
            degrees,
            edges,
            partial,
            states: (1..bounds.len()).map(|_| Mutex::default()).collect(),
            workspaces,
            values,
            windows,
            hubs: Pairs::zeroed(hubs, huge)?,
            signals: Mutex::new(session.zeroed(signals - hubs)?),
            tail: tail.transpose()?,
            sending: session.no_vertices()?,
            next_sending: session.no_vertices()?,
            pass: GridPass::PLAIN,
            most: None,
        })
    }

    /// The state of an interval.
    fn state(&self, interval: usize) -> MutexGuard<'_, IntervalState> {
        lock(&self.states[interval])
    }

    /// A sum over all intervals, in their order.
    fn total<T: Sum>(&self, part: impl Fn(&IntervalState) -> T) -> T {
        (0..self.states.len()).map(|interval| part(&self.state(interval))).sum()
    }

    /// The vertices of an interval.
    fn vertices(&self, interval: usize) -> Range<u64> {
        let bounds = self.values.bounds();
        bounds[interval]..bounds[interval + 1]
    }

    /// Whether this window is an iteration's last.
    fn is_last(&self, window: &Range<u64>) -> bool {
        window.end == self.sending.len()
    }

    /// Whether all vertices send.
    fn all_send(&self) -> bool {
        self.sending.count() == self.sending.len()
    }

    /// Whether vertices of a window that do not send have signals like none, once it is silenced.
    fn is_quiet(&self) -> bool {
        P::SILENCE.is_some() && self.hubs.size() == 0 && self.precompute.is_none()
    }

    /// Whether edges of sources of which so many send are combined without asking which. Where few
    /// send, asking is faster: most edges then touch no sum.
    fn asks_none(&self, sent: u64, sources: u64) -> bool {
        sent == sources || self.is_quiet() && sent * QUIET >= sources
    }

    /// Vertices of a window that do not send get signals like none.
    fn silence(&self, window: &Range<u64>, signals: &mut [P::Signal]) {
        let Some(nothing) = P::SILENCE.filter(|_| self.is_quiet() && !self.all_send()) else {
            return;
        };
        assert!(self.program.carry(nothing, 1.0) == P::Message::IDENTITY, "SILENCE says something");
        let parts = self.parts(signals, window);
        self.session.workers.each(parts.parts.len() as u64, 1, |range| {
            for at in range {
                let vertices = self.vertices(parts.first + at as usize);
                for (vertex, signal) in vertices.zip(lock(&parts.parts[at as usize]).iter_mut()) {
                    *signal = if self.sending.contains(vertex) { *signal } else { nothing };
                }
            }
        });
    }

    /// Whether one of these vertices sends.
    fn sends(&self, vertices: &Range<u64>) -> bool {
        !vertices.is_empty() && self.sending.any(vertices.start, vertices.end - 1)
    }

    /// This iteration's signals of a window's vertices beyond the hubs.
    fn signals(&self) -> MutexGuard<'_, HugeVec<P::Signal>> {
        lock(&self.signals)
    }

    /// Does something on every worker.
    fn each_worker(&self, work: impl Fn(&mut Workspace<P>) -> Result<()> + Sync) -> Result<()> {
        let body = |index: usize| work(&mut lock(&self.workspaces[index]));
        // One interval is not worth waking the others.
        let alone = self.states.len() == 1;
        let results = if alone { vec![body(0)] } else { self.session.workers.map(body) };
        self.session.check()?;
        error::all(results).map(drop)
    }

    /// Hands every interval to a worker.
    fn each_interval<R>(&self, work: impl Fn(&mut Workspace<P>) -> Result<R> + Sync) -> Result<()> {
        let next = AtomicUsize::new(0);
        self.each_worker(|workspace| {
            loop {
                let interval = next.fetch_add(1, Relaxed);
                if interval >= self.states.len() || self.session.stopped() {
                    return Ok(());
                }
                workspace.turn_to(interval, &self.vertices(interval), 0);
                work(workspace)?;
            }
        })
    }

    /// Items of these vertices, a part for each of their intervals.
    fn parts<'v, T>(&self, mut items: &'v mut [T], vertices: &Range<u64>) -> CutSlice<'v, T> {
        let intervals = self.values.within(vertices);
        let first = intervals.start;
        let take = |interval| {
            let part = items.split_off_mut(..self.values.items(interval));
            Mutex::new(part.expect("long enough"))
        };
        CutSlice { first, parts: intervals.map(take).collect() }
    }

    /// A step that reads signals; `others` are those of the window's vertices beyond the hubs.
    fn step<'s>(&'s self, window: &'s Range<u64>, others: &'s [P::Signal]) -> Step<'s, P> {
        Step {
            window,
            signals: Fronted::new(&self.hubs, others, window.start),
            places: CutSlice::default(),
        }
    }

    /// A step that reads no signal, where the next ones of some intervals have these places.
    fn step_in_place<'s>(&'s self, places: CutSlice<'s, P::Signal>) -> Step<'s, P> {
        Step { places, ..self.step(&self.windows[0], &[]) }
    }

    /// Hands every interval to a worker, in a step that reads no signal: the next ones take the
    /// places of those that are in memory at all times.
    fn each_in_place<R>(
        &self,
        work: impl Fn(&Step<P>, &mut Workspace<P>) -> Result<R> + Sync,
    ) -> Result<()> {
        let mut signals = self.signals();
        let step = self.step_in_place(match self.windows.len() {
            1 => self.parts(&mut signals, &(self.hubs.size()..self.sending.len())),
            _ => CutSlice::default(),
        });
        self.each_interval(|workspace| work(&step, workspace))
    }

    /// The next signals become this iteration's.
    fn turn(&mut self) {
        self.hubs.turn();
        std::mem::swap(&mut self.sending, &mut self.next_sending);
        if self.precompute.is_some() {
            self.next_sending.clear();
        }
    }
}
