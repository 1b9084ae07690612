//! [`Run`]: a run of a program, and how its iterations get their messages. Vertices apply interval
//! by interval, and make their next signals at once.

use std::{
    iter::Sum,
    ops::Range,
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

use outercore_graph::Graph;
use outercore_storage::{HugeVec, Pod};

use super::{
    cross_iteration::fciu::{HubSignals, Pass},
    on_demand::{OnDemand, Role},
    signals::{Parts, Signals},
    workspace::Workspace,
};
use crate::{
    config::Precompute,
    edges::{
        cache::sub_block_buffer::SubBlockBuffer,
        grid::{Grid, index::GridIndex},
        rows::Rows,
    },
    error::{self, Result},
    frontier::Frontier,
    monoid::Monoid,
    program::{Context, VertexProgram},
    report::Costs,
    session::{OpenSection, Session},
    state::{DegreesByInterval, Scratch, VertexArray},
};

/// Vertices of an interval where all are in memory: a fixed size, so that sums are grouped alike
/// whatever the graph's partition is.
pub(crate) const INTERVAL: u64 = 1 << 14;

/// How an iteration read edges, and what was predicted where there was a choice.
pub(crate) type Delivered = (&'static str, Option<Costs>);

/// What is known of an interval between iterations.
#[derive(Clone, Copy, Default)]
pub(crate) struct IntervalState {
    pub aggregate: f64,
    pub residual: f64,
    pub key: u64,
    pub active: u64,
    /// The edges of the vertices that send.
    pub edges: u64,
    /// Whether its signals on scratch are new.
    pub tail: bool,
    /// Whether earlier windows of this iteration sent it something.
    pub summed: bool,
}

/// Where the edges of an iteration come from.
pub(crate) enum Edges<M: Monoid> {
    /// The grid by segment, or lists; messages have memory of their own.
    Resident(Resident<M>),
    /// The grid by interval.
    Grid(GridByInterval),
    /// The lists along which signals come.
    Lists(Box<Rows>),
}

/// The edges of a run with everything in memory, and the messages of an iteration.
pub(crate) struct Resident<M: Monoid> {
    /// By direction.
    pub edges: Vec<(Option<Rows>, Option<Grid>)>,
    pub inbox: Mutex<HugeVec<M>>,
}

/// The grid as passes read it.
pub(crate) struct GridByInterval {
    pub index: GridIndex,
    pub words: OpenSection,
    /// Chunks that stay, where there is room.
    pub sub_blocks: Option<SubBlockBuffer>,
}

impl<M: Monoid> Edges<M> {
    /// Those of a run with everything in memory.
    pub(crate) fn resident(&self) -> Option<&Resident<M>> {
        if let Edges::Resident(edges) = self { Some(edges) } else { None }
    }

    /// Degrees along the first direction, where lists in memory have them.
    pub(crate) fn degrees(&self) -> Option<&[u32]> {
        self.resident()?.edges[0].0.as_ref()?.degrees.as_slice()
    }
}

/// What there is memory for.
pub(crate) struct Division {
    /// The bounds of the intervals.
    pub bounds: Arc<[u64]>,
    /// Vertices whose signals are in memory together: windows of all vertices, in order.
    pub windows: Vec<Range<u64>>,
    /// Vertices whose signals of the next iteration are in memory beside those of this one.
    pub hubs: u64,
    /// Bytes for arrays that would be on scratch otherwise; what they leave.
    pub near: u64,
}

impl Division {
    /// That of a run with everything in memory.
    pub(crate) fn whole(vertices: u64) -> Self {
        let starts = (0..vertices).step_by(INTERVAL as usize);
        let bounds = starts.chain([vertices]).collect();
        Self { bounds, windows: vec![0..vertices], hubs: 0, near: u64::MAX }
    }

    fn array<T: Pod + Copy>(&mut self, scratch: &Scratch) -> Result<VertexArray<T>> {
        VertexArray::create(scratch, Arc::clone(&self.bounds), &mut self.near)
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
pub(crate) struct Run<'r, P: VertexProgram> {
    pub program: &'r mut P,
    pub session: &'r Session<'r>,
    pub context: Context,
    pub edges: Edges<P::Message>,
    /// The lists of active vertices of a run by interval.
    pub lists: Option<OnDemand<P::Message>>,
    /// Which vertices are computed early.
    pub precompute: Option<Precompute>,
    pub values: VertexArray<P::Value>,
    /// Values are not looked at after fewer iterations.
    pub discards_before: u64,
    /// `None`: the lists have them.
    pub degrees: Option<DegreesByInterval>,
    /// Messages for this iteration that the last pass has made, and for the next one; or those of
    /// earlier windows.
    pub partial: Option<VertexArray<P::Message>>,
    pub states: Vec<Mutex<IntervalState>>,
    pub workspaces: Vec<Mutex<Workspace<P>>>,
    pub windows: Vec<Range<u64>>,
    pub hubs: HubSignals<P::Signal>,
    /// This iteration's signals of a window's vertices beyond the hubs.
    signals: Mutex<HugeVec<P::Signal>>,
    /// The next signals of vertices beyond the hubs, where others still read this iteration's.
    pub tail: Option<VertexArray<P::Signal>>,
    pub sending: Frontier,
    pub next_sending: Frontier,
    pub pass: Pass,
    /// The most iterations, where there is a limit.
    pub most: Option<u64>,
}

/// What the workers of a step share.
pub(crate) struct Step<'s, P: VertexProgram> {
    /// The vertices whose signals these are.
    pub window: &'s Range<u64>,
    /// This iteration's signals, and the hubs' of the next one.
    pub signals: Signals<'s, P::Signal>,
    /// Memory where next signals take the places of this iteration's, by interval.
    pub places: Parts<'s, P::Signal>,
    /// Whether all vertices send.
    pub all_send: bool,
}

impl<'r, P: VertexProgram> Run<'r, P> {
    /// A run with these edges and this memory, and with the values that another program has left
    /// if there are some.
    pub(crate) fn open(
        program: &'r mut P,
        session: &'r Session<'r>,
        (edges, lists): (Edges<P::Message>, Option<OnDemand<P::Message>>),
        left: Option<VertexArray<P::Value>>,
        division: &mut Division,
    ) -> Result<Self> {
        let (scratch, huge) = (Scratch::of(session), session.config.huge_pages);
        let (vertices, hubs) = (session.graph.connected(), division.hubs);
        let windows = std::mem::take(&mut division.windows);
        let (bounds, several) = (Arc::clone(&division.bounds), windows.len() > 1);
        let signals = windows.iter().map(|window| window.end - window.start).max().unwrap_or(0);
        let resident = edges.resident().is_some();
        // What moves most bytes for each of its own stays in memory first: what is written and
        // read again in an iteration, then what is read.
        let partial = (hubs > 0 || several).then(|| division.array(&scratch)).transpose()?;
        let values = match left {
            Some(left) => left,
            None if resident => VertexArray::in_memory(Arc::clone(&bounds), huge)?,
            None => division.array(&scratch)?,
        };
        let workspace = |worker| {
            Workspace::new(worker, values.widest(), (hubs > 0, several), huge).map(Mutex::new)
        };
        let workspaces = (0..session.workers.count()).map(workspace).collect::<Result<_>>()?;
        let degrees = edges.degrees().is_none().then(|| division.degrees(session.graph, &scratch));
        let tail = (!resident).then(|| VertexArray::on_scratch(&scratch, Arc::clone(&bounds)));
        Ok(Self {
            program,
            session,
            context: Context::default(),
            lists,
            precompute: None,
            discards_before: 0,
            degrees: degrees.transpose()?,
            edges,
            partial,
            states: (1..bounds.len()).map(|_| Mutex::default()).collect(),
            workspaces,
            values,
            windows,
            hubs: HubSignals::new(hubs, huge)?,
            signals: Mutex::new(HugeVec::zeroed((signals - hubs) as usize, huge)?),
            tail: tail.transpose()?,
            sending: Frontier::new(vertices, huge)?,
            next_sending: Frontier::new(vertices, huge)?,
            pass: Pass::PLAIN,
            most: None,
        })
    }

    /// The state of an interval.
    pub(crate) fn state(&self, interval: usize) -> MutexGuard<'_, IntervalState> {
        self.states[interval].lock().expect("no holder panics")
    }

    /// A sum over all intervals, in their order.
    pub(crate) fn total<T: Sum>(&self, part: impl Fn(&IntervalState) -> T) -> T {
        (0..self.states.len()).map(|interval| part(&self.state(interval))).sum()
    }

    /// The vertices of an interval.
    pub(crate) fn vertices(&self, interval: usize) -> Range<u64> {
        let bounds = self.values.bounds();
        bounds[interval]..bounds[interval + 1]
    }

    /// How many these are.
    pub(crate) fn len(&self, interval: usize) -> usize {
        self.values.items(interval)
    }

    /// Whether this window is an iteration's last.
    pub(crate) fn is_last(&self, window: &Range<u64>) -> bool {
        window.end == self.sending.len()
    }

    /// Whether all vertices send.
    pub(crate) fn all_send(&self) -> bool {
        self.sending.count() == self.sending.len()
    }

    /// Whether one of these vertices sends.
    pub(crate) fn sends(&self, vertices: &Range<u64>) -> bool {
        !vertices.is_empty() && self.sending.any(vertices.start, vertices.end - 1)
    }

    /// The lists of edges that the grid does not have.
    pub(crate) fn beside(&self) -> Option<&OnDemand<P::Message>> {
        self.lists.as_ref().filter(|lists| lists.role == Role::Beside)
    }

    /// This iteration's signals of a window's vertices beyond the hubs.
    pub(crate) fn signals(&self) -> MutexGuard<'_, HugeVec<P::Signal>> {
        self.signals.lock().expect("no holder panics")
    }

    /// Does something on every worker.
    pub(crate) fn each_worker(
        &self,
        work: impl Fn(&mut Workspace<P>) -> Result<()> + Sync,
    ) -> Result<()> {
        let body = |index: usize| {
            work(&mut self.workspaces[index].lock().expect("each worker has its own"))
        };
        // One interval is not worth waking the others.
        let alone = self.states.len() == 1;
        let results = if alone { vec![body(0)] } else { self.session.workers.map(body) };
        self.session.check()?;
        error::all(results).map(drop)
    }

    /// Hands every interval to a worker.
    pub(crate) fn each_interval<R>(
        &self,
        work: impl Fn(&mut Workspace<P>) -> Result<R> + Sync,
    ) -> Result<()> {
        let next = AtomicUsize::new(0);
        self.each_worker(|workspace| {
            loop {
                let interval = next.fetch_add(1, Relaxed);
                if interval >= self.states.len() || self.session.stopped() {
                    return Ok(());
                }
                workspace.turn_to(interval, self.vertices(interval), 0);
                work(workspace)?;
            }
        })
    }

    /// Items of these vertices, a part for each of their intervals.
    pub(crate) fn parts<'v, T>(&self, items: &'v mut [T], vertices: &Range<u64>) -> Parts<'v, T> {
        Parts::cut(items, self.values.within(vertices), |interval| self.len(interval))
    }

    /// The vertices beyond the hubs.
    pub(crate) fn beyond_hubs(&self) -> Range<u64> {
        self.hubs.len()..self.sending.len()
    }

    /// A step that reads signals; `others` are those of the window's vertices beyond the hubs.
    pub(crate) fn step<'s>(
        &'s self,
        window: &'s Range<u64>,
        others: &'s [P::Signal],
    ) -> Step<'s, P> {
        Step {
            window,
            signals: Signals::new(&self.hubs, others, window.start),
            places: Parts::default(),
            all_send: self.all_send(),
        }
    }

    /// A step that reads no signal, where the next ones of some intervals have these places.
    pub(crate) fn step_in_place<'s>(&'s self, places: Parts<'s, P::Signal>) -> Step<'s, P> {
        Step { places, ..self.step(&self.windows[0], &[]) }
    }

    /// Hands every interval to a worker, in a step that reads no signal: the next ones take the
    /// places of those that are in memory at all times.
    pub(crate) fn each_in_place<R>(
        &self,
        work: impl Fn(&Step<P>, &mut Workspace<P>) -> Result<R> + Sync,
    ) -> Result<()> {
        let mut signals = self.signals();
        let step = self.step_in_place(match self.windows.len() {
            1 => self.parts(&mut signals, &self.beyond_hubs()),
            _ => Parts::default(),
        });
        self.each_interval(|workspace| work(&step, workspace))
    }

    /// The next signals become this iteration's.
    pub(crate) fn turn(&mut self) {
        self.hubs.turn();
        std::mem::swap(&mut self.sending, &mut self.next_sending);
        if self.precompute.is_some() {
            self.next_sending.clear();
        }
    }
}
