//! [`execute`]: iterations of a [`VertexProgram`] with its values on storage.
//!
//! An interval at a time is in memory: its chunks are read, its messages combined, its values
//! loaded, applied and stored, and its next signals made at once, so that values and degrees are
//! read once in an iteration. Resident for each vertex: two bits and a signal, for each hub a
//! second one; where not even one fits, a window of signals at a time, and what each window sends
//! waits on scratch for the others.

use std::sync::{Arc, Mutex, atomic::AtomicUsize};

use outercore_graph::format::CHUNK_BYTES;
use outercore_storage::{HugePages, HugeVec};

use super::{
    demand::{self, Demand, Gather},
    desk::Desk,
    early::Early,
    needs::{Sections, crosses, lists_of_passes, signal_bytes, smallest_window},
    pass::{Pass, Shared, Worker},
    pull::Pull,
    signals::{HubSignals, Settled, Signals, Window},
};
use crate::{
    config::Preset,
    edges::{cache::sub_block_buffer::SubBlockBuffer, grid::index::GridIndex},
    error::Result,
    frontier::Frontier,
    program::{Context, Ended, VertexProgram},
    session::{OpenSection, Session},
    state::{DegreesByInterval, Scratch, VertexArray},
};

/// What is known of an interval between passes.
#[derive(Clone, Copy, Default)]
pub(super) struct Note {
    pub aggregate: f64,
    pub residual: f64,
    pub key: u64,
    pub active: u64,
    /// The edges of those that send.
    pub edges: u64,
    /// Whether its tail signals on scratch are new.
    pub tail: bool,
    /// Whether earlier windows of this iteration sent it something.
    pub summed: bool,
}

/// Where edges come from.
pub(super) enum Edges {
    /// The words of the grid.
    Grid(OpenSection),
    /// The lists along which signals come.
    Lists(Box<Pull>),
}

/// A fully-external run of a program.
pub struct External<'r, P: VertexProgram> {
    pub(super) program: &'r P,
    pub(super) session: &'r Session<'r>,
    pub(super) edges: Edges,
    pub(super) columns: GridIndex,
    /// Whose signals are in memory together.
    pub(super) windows: Vec<Window>,
    pub(super) values: VertexArray<P::Value>,
    pub(super) degrees: DegreesByInterval,
    /// The next signals of the vertices beyond the hubs.
    pub(super) tail: VertexArray<P::Signal>,
    /// How lists are read, where that may be worth it.
    pub(super) demand: Option<Demand<P::Message>>,
    /// Whether lists are read in every iteration.
    pub(super) only_lists: bool,
    /// The lists that complete the grid, read in every pass.
    pub(super) rows: Option<Demand<P::Message>>,
    /// Which vertices are computed early.
    early: Option<Early<P>>,
    /// Chunks that stay, where there is room.
    pub(super) sub_blocks: Option<SubBlockBuffer>,
    pub(super) notes: Vec<Mutex<Note>>,
    /// A window of all vertices.
    whole: Window,
    /// Of no vertex.
    pub(super) nobody: HubSignals<P::Signal>,
}

/// What the bytes beside the least are for, given out in this order.
struct Shares {
    windows: Vec<Window>,
    /// Bytes for lists that serve the next iteration too.
    lists: u64,
    /// Vertices whose signals of the next iteration are in memory beside those of this one.
    hubs: u64,
    /// Bytes that are left: for what is on scratch otherwise, and for chunks.
    rest: u64,
}

impl Shares {
    /// Shares `room` bytes; `selects`: the lists of active vertices may be read instead of the
    /// grid.
    fn of<P: VertexProgram>(
        program: &P,
        session: &Session,
        early: Option<&Early<P>>,
        selects: bool,
        mut room: u64,
    ) -> Result<Self> {
        let (graph, config) = (session.graph, session.config);
        let directory = graph.grid()?;
        let signal = size_of::<P::Signal>() as u64;
        room -= if selects { demand::bytes::<P>(graph, "out", config.threads)? } else { 0 };
        let least = smallest_window(graph, early)?;
        let windows = Window::cut(&directory.intervals, (least + room) / signal.max(1));
        let one = windows.len() == 1;
        room -= if one { signal_bytes::<P>(graph) - least } else { room };
        // Lists, hubs' signals and chunks share what is left.
        let lists = if selects { room / 4 } else { 0 };
        room -= lists;
        let two = config.threads as u64 * Desk::<P>::two_bytes(directory.widest());
        let cross = one && crosses(program, graph, config) && two <= room;
        room -= if cross { two } else { 0 };
        // Hubs end where an interval does.
        let most = if cross { room / signal } else { 0 };
        let hubs = directory
            .intervals
            .iter()
            .copied()
            .take_while(|&bound| bound <= most)
            .last()
            .unwrap_or(0);
        Ok(Self { windows, lists, hubs, rest: room - hubs * signal })
    }
}

/// Runs `program` to its end, in a session whose plan has declared it. `scans` is the most
/// iterations, where there is a limit.
pub fn execute<'r, P: VertexProgram>(
    program: &'r P,
    session: &'r Session<'r>,
    (scans, early): (Option<u64>, Option<Early<P>>),
) -> Result<Ended<P::Value>> {
    let (graph, room) = (session.graph, session.decision().room);
    let sections = Sections::of(program, graph, session.config, early.as_ref())?;
    let open = |names: &[String]| names.iter().map(|name| session.section(name)).collect();
    let degrees = session.section(&sections.degrees);
    let edges = match &sections.pull {
        Some(lists) => Edges::Lists(Box::new(Pull::new(session, open(lists))?)),
        None => Edges::Grid(session.section("grid.words")),
    };
    let on_grid = matches!(edges, Edges::Grid(_));
    let in_passes = lists_of_passes(graph, early.as_ref());
    let lists = sections.lists(room)?;
    let selects = lists.is_some() && in_passes.is_none();
    let shares = Shares::of(program, session, early.as_ref(), selects, room)?;
    let bounds: Arc<[u64]> = graph.grid()?.intervals.as_slice().into();
    let lists = match lists {
        Some(names) => Some(Demand::new(session, open(names), &bounds, shares.lists)?),
        None => None,
    };
    // Complete lists leave nothing for a pass.
    let (rows, demand) = if in_passes == Some("row") { (lists, None) } else { (None, lists) };
    let columns = GridIndex::new(graph.grid()?, graph.connected(), shares.hubs);
    let scratch = Scratch::of(session);
    let intervals = columns.intervals();
    // What moves most bytes for each of its own stays in memory first: what is written and read
    // again in an iteration, then what is read.
    let keeps = session.config.preset != Preset::Streaming;
    let mut near = if keeps { shares.rest } else { 0 };
    let summed = shares.hubs > 0 || shares.windows.len() > 1;
    let partial = if summed {
        Some(VertexArray::create(&scratch, Arc::clone(&bounds), &mut near)?)
    } else {
        None
    };
    let values = VertexArray::create(&scratch, Arc::clone(&bounds), &mut near)?;
    let near_degrees = DegreesByInterval::memory(graph, intervals)?;
    let degrees_near = keeps && near_degrees <= near;
    let rest = if keeps { near - if degrees_near { near_degrees } else { 0 } } else { shares.rest };
    // Copies of chunks are blocks of the heap, with what goes with that.
    let left = rest / 4 * 3;
    let run = External {
        program,
        session,
        edges,
        windows: shares.windows,
        values,
        degrees: DegreesByInterval::create(&scratch, &bounds, degrees_near)?,
        tail: VertexArray::on_scratch(&scratch, bounds)?,
        demand,
        only_lists: in_passes == Some("out"),
        rows,
        early,
        sub_blocks: (on_grid && session.config.sub_blocks && left >= 2 * CHUNK_BYTES)
            .then(|| SubBlockBuffer::new(left)),
        notes: (0..intervals).map(|_| Mutex::default()).collect(),
        whole: Window { intervals: 0..intervals, vertices: 0..graph.connected(), last: true },
        nobody: HubSignals::new(0, HugePages::Off)?,
        columns,
    };
    let (iterations, residual) = run.iterate(&degrees, shares.hubs, partial.as_ref(), scans)?;
    Ok(Ended { values: run.values, iterations, residual })
}

/// What one iteration goes by.
pub(super) struct Step<'s, P: VertexProgram> {
    pub context: &'s Context,
    pub pass: Pass,
    pub sending: &'s Frontier,
    pub next_sending: &'s Frontier,
    pub partial: Option<&'s VertexArray<P::Message>>,
}

impl<'r, P: VertexProgram> External<'r, P> {
    fn iterate(
        &self,
        degrees: &OpenSection,
        hubs: u64,
        partial: Option<&VertexArray<P::Message>>,
        scans: Option<u64>,
    ) -> Result<(u64, f64)> {
        let (session, program, huge) = (self.session, self.program, self.session.config.huge_pages);
        let len = session.graph.connected();
        let widest = self
            .windows
            .iter()
            .map(|window| window.vertices.end - window.vertices.start)
            .max()
            .unwrap_or(0);
        let mut hub_signals = HubSignals::new(hubs, huge)?;
        let mut signals: HugeVec<P::Signal> = HugeVec::zeroed((widest - hubs) as usize, huge)?;
        let (mut sending, mut next_sending) =
            (Frontier::new(len, huge)?, Frontier::new(len, huge)?);
        let mut desks = self.desks(hubs > 0)?;
        let mut active = self.begin(degrees, &hub_signals, &mut signals, &sending, &mut desks)?;
        hub_signals.turn();
        session.loaded();
        let (mut context, mut residual) = (Context::default(), 0.0);
        let mut pass = Pass { up: true, whole: true, ahead: false };
        loop {
            let mark = session.mark();
            if active == 0 && !program.applies_always() {
                active = self.next_phase(&mut context, &mut signals, &sending, &mut desks)?;
                if active == 0 {
                    break;
                }
            }
            context.aggregate = self.total(|note| note.aggregate);
            context.prepared = program.prepare(&context);
            pass = self.choose(pass, context.iteration, hubs > 0, scans);
            let predicted = self.predict(&sending, pass);
            // What a pass does ahead binds the next iteration to the grid.
            pass.ahead &= !self.is_on_demand(predicted, 2.0);
            let demand =
                self.demand.as_ref().filter(|_| pass.whole && self.is_on_demand(predicted, 1.0));
            pass.ahead &= demand.is_none();
            let step = Step {
                context: &context,
                pass,
                sending: &sending,
                next_sending: &next_sending,
                partial,
            };
            match demand {
                Some(demand) => {
                    self.by_lists(demand, &step, &mut hub_signals, &mut signals, &mut desks)?
                }
                None => self.by_passes(&step, &mut hub_signals, &mut signals, &mut desks)?,
            }
            residual = self.total(|note| note.residual);
            let listed = demand.is_some() || self.rows.is_some();
            session.end_predicted(
                &mark,
                active,
                if listed { "on-demand" } else { "full" },
                predicted,
            );
            session.check()?;
            std::mem::swap(&mut sending, &mut next_sending);
            if self.early.is_some() {
                next_sending.clear();
            }
            active =
                self.notes.iter().map(|note| note.lock().expect("no holder panics").active).sum();
            context.iteration += 1;
            if program.finished(&context, residual, active)
                && (active > 0 || self.phase_key() == u64::MAX)
            {
                break;
            }
        }
        Ok((context.iteration, residual))
    }

    /// One iteration by the lists of active vertices.
    fn by_lists(
        &self,
        demand: &Demand<P::Message>,
        step: &Step<P>,
        hubs: &mut HubSignals<P::Signal>,
        signals: &mut HugeVec<P::Signal>,
        desks: &mut [Mutex<Desk<P>>],
    ) -> Result<()> {
        for window in self.windows_of(step.sending) {
            self.fetch_window(window, signals, desks)?;
            self.gather(demand, step, window, hubs, signals, desks)?;
        }
        self.receive(demand, &self.in_place(step, hubs), signals, desks)?;
        hubs.turn();
        Ok(())
    }

    /// The windows in which somebody sends, and the last one, after which messages reach their
    /// vertices.
    fn windows_of<'w>(&'w self, sending: &'w Frontier) -> impl Iterator<Item = &'w Window> {
        let sends = |window: &Window| {
            !window.vertices.is_empty()
                && sending.any(window.vertices.start, window.vertices.end - 1)
        };
        self.windows.iter().filter(move |window| window.last || sends(window))
    }

    /// Reads the lists of those who send in a window, and passes what they send on.
    fn gather(
        &self,
        demand: &Demand<P::Message>,
        step: &Step<P>,
        window: &Window,
        hubs: &HubSignals<P::Signal>,
        signals: &mut HugeVec<P::Signal>,
        desks: &mut [Mutex<Desk<P>>],
    ) -> Result<()> {
        if let Some(early) = &self.early {
            return self.gather_early(early, demand, step, signals, desks);
        }
        let signals = Signals::new(hubs, signals, window.vertices.start);
        let share = Gather {
            window: window.vertices.clone(),
            signals,
            sending: step.sending,
            edges: self.edges(),
        };
        demand.gather(self.program, self.session, &share)
    }

    /// One iteration by a pass over all intervals, or by one for each window of signals.
    fn by_passes(
        &self,
        step: &Step<P>,
        hubs: &mut HubSignals<P::Signal>,
        signals: &mut HugeVec<P::Signal>,
        desks: &mut [Mutex<Desk<P>>],
    ) -> Result<()> {
        for window in self.windows_of(step.sending) {
            self.fetch_window(window, signals, desks)?;
            if let Some(rows) = &self.rows {
                self.gather(rows, step, window, hubs, signals, desks)?;
            }
            let shared = self.shared(step, window, hubs, signals);
            match &self.edges {
                Edges::Grid(words) => self.each_worker(desks, |index, desk| {
                    Worker::new(self, words, &shared, &mut self.session.reader(index), desk).run()
                })?,
                Edges::Lists(pull) => pull.pass(self, &shared, desks)?,
            }
        }
        hubs.turn();
        self.fetch_tail(signals, desks)
    }

    /// What is shared where nobody reads signals: the next ones take the places of those in memory.
    pub(super) fn in_place<'s>(
        &'s self,
        step: &Step<'s, P>,
        hubs: &'s HubSignals<P::Signal>,
    ) -> Shared<'s, P> {
        self.shared(step, &self.whole, hubs, &[])
    }

    fn shared<'s>(
        &'s self,
        step: &Step<'s, P>,
        window: &'s Window,
        hubs: &'s HubSignals<P::Signal>,
        signals: &'s [P::Signal],
    ) -> Shared<'s, P> {
        Shared {
            pass: step.pass,
            context: step.context,
            columns: &self.columns,
            window,
            signals: Signals::new(hubs, signals, window.vertices.start),
            sending: step.sending,
            next_sending: step.next_sending,
            everyone: step.sending.count() == step.sending.len(),
            partial: step.partial,
            keeps: self.early.is_some(),
            settled: Settled::new(self.columns.intervals()),
            order: step.pass.order(&self.columns, self.session.workers.count()),
            next: AtomicUsize::new(0),
        }
    }
}
