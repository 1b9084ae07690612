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
    by_segment::{INTERVAL, Resident},
    cross_iteration::fciu::{HubSignals, Pass},
    on_demand::OnDemand,
    signals::{Parts, Signals, Window},
    workspace::Workspace,
};
use crate::{
    config::Precompute,
    edges::{cache::sub_block_buffer::SubBlockBuffer, grid::index::GridIndex, rows::Rows},
    error::{self, Result},
    frontier::Frontier,
    monoid::Monoid,
    program::{Context, VertexProgram},
    session::{OpenSection, Session},
    state::{DegreesByInterval, Scratch, VertexArray},
};

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

/// The grid as passes read it.
pub(crate) struct GridByInterval {
    pub index: GridIndex,
    pub words: OpenSection,
    /// Chunks that stay, where there is room.
    pub sub_blocks: Option<SubBlockBuffer>,
}

/// What there is memory for.
pub(crate) struct Division {
    /// The bounds of the intervals.
    pub bounds: Arc<[u64]>,
    /// Windows of signals that are in memory together.
    pub windows: Vec<Window>,
    /// Vertices whose signals of the next iteration are in memory beside those of this one.
    pub hubs: u64,
    /// Bytes for arrays that would be on scratch otherwise; what they leave.
    pub near: u64,
}

impl Division {
    /// That of a run with everything in memory.
    pub(crate) fn whole(session: &Session) -> Self {
        let vertices = session.graph.connected();
        let starts = (0..vertices.div_ceil(INTERVAL)).map(|at| at * INTERVAL);
        let bounds: Arc<[u64]> = starts.chain([vertices]).collect();
        let window = Window { intervals: 0..bounds.len() - 1, vertices: 0..vertices, last: true };
        Self { bounds, windows: vec![window], hubs: 0, near: u64::MAX }
    }

    /// The most vertices of an interval.
    fn widest(&self) -> usize {
        self.bounds.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0) as usize
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
    pub bounds: Arc<[u64]>,
    pub edges: Edges<P::Message>,
    /// The lists of active vertices of a run by interval.
    pub lists: Option<OnDemand<'r, P::Message>>,
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
    pub windows: Vec<Window>,
    pub hubs: HubSignals<P::Signal>,
    /// This iteration's signals of a window's vertices beyond the hubs.
    pub signals: Mutex<HugeVec<P::Signal>>,
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
    pub context: &'s Context,
    /// The vertices whose signals these are.
    pub window: &'s Window,
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
        (edges, lists): (Edges<P::Message>, Option<OnDemand<'r, P::Message>>),
        left: Option<VertexArray<P::Value>>,
        division: &mut Division,
    ) -> Result<Self> {
        let (scratch, huge) = (Scratch::of(session), session.config.huge_pages);
        let (vertices, hubs) = (session.graph.connected(), division.hubs);
        let (bounds, several) = (Arc::clone(&division.bounds), division.windows.len() > 1);
        let signals = division.windows.iter().map(Window::len).max().unwrap_or(0) - hubs;
        let widest = division.widest();
        let workspace = |_| Workspace::new(widest, hubs > 0, several, huge).map(Mutex::new);
        let resident = matches!(edges, Edges::Resident(_));
        let in_lists = matches!(&edges, Edges::Resident(edges) if edges.degrees().is_some());
        Ok(Self {
            program,
            session,
            edges,
            lists,
            precompute: None,
            // What moves most bytes for each of its own stays in memory first: what is written and
            // read again in an iteration, then what is read.
            partial: if hubs > 0 || several { Some(division.array(&scratch)?) } else { None },
            values: match (left, resident) {
                (Some(left), _) => left,
                (None, true) => VertexArray::in_memory(Arc::clone(&bounds), huge)?,
                (None, false) => division.array(&scratch)?,
            },
            degrees: match in_lists {
                true => None,
                false => Some(division.degrees(session.graph, &scratch)?),
            },
            tail: match resident {
                true => None,
                false => Some(VertexArray::create(&scratch, Arc::clone(&bounds), &mut 0)?),
            },
            discards_before: 0,
            states: (1..bounds.len()).map(|_| Mutex::default()).collect(),
            workspaces: (0..session.workers.count()).map(workspace).collect::<Result<_>>()?,
            windows: std::mem::take(&mut division.windows),
            hubs: HubSignals::new(hubs, huge)?,
            signals: Mutex::new(HugeVec::zeroed(signals as usize, huge)?),
            sending: Frontier::new(vertices, huge)?,
            next_sending: Frontier::new(vertices, huge)?,
            pass: Pass::PLAIN,
            most: None,
            bounds,
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
        self.bounds[interval]..self.bounds[interval + 1]
    }

    /// How many these are.
    pub(crate) fn len(&self, interval: usize) -> usize {
        (self.bounds[interval + 1] - self.bounds[interval]) as usize
    }

    /// Whether values are not looked at after so many iterations: neither by the next one nor as a
    /// result.
    pub(crate) fn discards(&self, iterations: u64) -> bool {
        iterations < self.discards_before
    }

    /// Does something on every worker.
    pub(crate) fn each_worker(
        &self,
        work: impl Fn(usize, &mut Workspace<P>) -> Result<()> + Sync,
    ) -> Result<()> {
        let body = |index: usize| {
            work(index, &mut self.workspaces[index].lock().expect("each worker has its own"))
        };
        // One interval is not worth waking the others.
        let alone = self.states.len() == 1;
        let results = if alone { vec![body(0)] } else { self.session.workers.map(body) };
        self.session.check()?;
        error::all(results).map(drop)
    }

    /// Hands every interval to a worker.
    pub(crate) fn each_interval(
        &self,
        work: impl Fn(usize, usize, &mut Workspace<P>) -> Result<()> + Sync,
    ) -> Result<()> {
        let next = AtomicUsize::new(0);
        self.each_worker(|index, workspace| {
            loop {
                let interval = next.fetch_add(1, Relaxed);
                if interval >= self.states.len() || self.session.stopped() {
                    return Ok(());
                }
                work(index, interval, workspace)?;
            }
        })
    }

    /// Items of these intervals, one part for each.
    pub(crate) fn parts<'v, T>(&self, items: &'v mut [T], intervals: Range<usize>) -> Parts<'v, T> {
        Parts::cut(items, intervals, |interval| self.len(interval))
    }

    /// The intervals beyond the hubs.
    pub(crate) fn beyond_hubs(&self) -> Range<usize> {
        self.bounds[1..].partition_point(|&end| end <= self.hubs.len())..self.states.len()
    }

    /// A step that reads signals; `others` are those of the window's vertices beyond the hubs.
    pub(crate) fn step<'s>(
        &'s self,
        context: &'s Context,
        window: &'s Window,
        others: &'s [P::Signal],
    ) -> Step<'s, P> {
        Step {
            context,
            window,
            signals: Signals::new(&self.hubs, others, window.vertices.start),
            places: Parts::default(),
            all_send: self.sending.count() == self.sending.len(),
        }
    }

    /// A step that reads no signal: the next ones take the places of those that are in memory at
    /// all times.
    pub(crate) fn step_in_place<'s>(
        &'s self,
        context: &'s Context,
        others: &'s mut [P::Signal],
    ) -> Step<'s, P> {
        let last = self.windows.last().expect("there is one");
        let step = self.step(context, last, &[]);
        if self.windows.len() > 1 {
            return step;
        }
        Step { places: self.parts(others, self.beyond_hubs()), ..step }
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
