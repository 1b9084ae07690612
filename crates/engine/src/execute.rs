//! The executor of [`VertexProgram`]s: iterations over a frontier, each reading all edges from the
//! grid or the lists of active vertices from the rows, whichever is predicted to cost less.
//!
//! Memory for each vertex: a value, a signal, a message, a degree, two bits. A full scan combines
//! messages into an interval that one worker owns; on demand, messages are gathered by range and
//! combined under the range's lock, in the order of the rows where the monoid is not exact.

use std::sync::{
    Mutex,
    atomic::{AtomicU64, Ordering::Relaxed},
};

use outercore_graph::{Direction, Graph, WeightKind};
use outercore_storage::HugeVec;

use crate::{
    config::{ReadPolicy, RunConfig},
    costs::{self, Lists, Scan},
    edges::{
        grid::{Grid, combine::combine_all},
        io_iterator::IoIterator,
        rows::Rows,
        table::load_table,
    },
    error::{EngineError, Result},
    exchange::InMemory,
    external::{self, early::Early},
    frontier::Frontier,
    job::Job,
    monoid::Monoid,
    plan::{Plan, Planner},
    program::{Context, Monotone, Start, VertexProgram},
    progress::{RunProgress, Silent},
    report::Costs,
    session::Session,
    state::VertexArray,
};

/// Vertices of a part in vertex-parallel steps: a fixed size, so that sums are grouped alike
/// whatever the number of workers.
const PART: u64 = 1 << 14;

/// Seconds of a processor for each edge of a list whose message is gathered and combined under a
/// range's lock: about four times what an interval's owner pays.
const COMBINED: f64 = 16e-9;

/// A finished run of a program, with its session.
pub struct Finished<'a, V: outercore_storage::Pod> {
    /// The final values.
    pub values: VertexArray<V>,
    /// The session, for the report.
    pub session: Session<'a>,
    /// The plan that ran.
    pub plan: Plan,
    /// Iterations.
    pub iterations: u64,
    /// The last iteration's residual.
    pub residual: f64,
    /// Seconds of loading.
    pub load_seconds: f64,
}

/// What a program leaves.
pub struct Ended<V: outercore_storage::Pod> {
    /// The final values.
    pub values: VertexArray<V>,
    /// Iterations.
    pub iterations: u64,
    /// The last iteration's residual.
    pub residual: f64,
}

/// How edges of one direction are reached.
struct Channel {
    rows: Option<Rows>,
    grid: Option<Grid>,
}

/// A program and how it is to run, as a resource of a plan.
pub struct Iterations<P> {
    /// The number of iterations, where it is known.
    scans: Option<u64>,
    /// The most iterations, where there is a limit: the last one prepares nothing for another.
    most: Option<u64>,
    early: Option<Early<P>>,
}

impl<P: VertexProgram> Iterations<P> {
    /// Declares what `program` needs; `scans` is the number of iterations, where it is known.
    pub fn declare(planner: &mut Planner, program: &P, scans: Option<u64>) -> Result<Self> {
        let this = Self { scans, most: scans, early: None };
        this.price(planner, program)?;
        Ok(this)
    }

    /// The same for a program whose vertices may be computed early, if that was asked for.
    pub fn declare_monotone(planner: &mut Planner, program: &P) -> Result<Self>
    where
        P: Monotone,
    {
        let early = Early::new(planner.job().config.early());
        let this = Self { scans: None, most: None, early };
        this.price(planner, program)?;
        Ok(this)
    }

    /// There are at most so many iterations.
    pub fn at_most(self, iterations: u64) -> Self {
        Self { most: Some(iterations), ..self }
    }

    fn price(&self, planner: &mut Planner, program: &P) -> Result<()> {
        let Job { graph, config, .. } = planner.job();
        let (vertices, routes) = (graph.connected(), routes(program, graph, config)?);
        let values = [
            ("values", size_of::<P::Value>()),
            ("signals", size_of::<P::Signal>()),
            ("messages", size_of::<P::Message>()),
        ];
        for (name, size) in values {
            planner.in_turn(name, vertices * size as u64);
        }
        planner.in_turn("frontiers", 3 * Frontier::bytes(vertices));
        for route in &routes {
            match route.rows {
                Some(_) => planner.in_turn("row index", Rows::index_bytes(graph)),
                None => planner.in_turn("degrees", vertices * 4),
            }
            route.edges().into_iter().for_each(|section| planner.edges(section));
        }
        planner.scans(self.scans);
        planner.method(if routes.iter().all(|route| route.rows.is_none()) {
            "full scans of the grid"
        } else {
            "iterations over a frontier; the cheaper of grid and rows for each"
        });
        if self.early.is_some() {
            planner.computes_early();
        }
        let resident: Vec<String> = routes.iter().flat_map(Route::sections).collect();
        let external = external::needs::declare(planner, program, self.early.as_ref())?;
        planner.sections(move |decision| match &external {
            Some(external) if decision.is_external() || decision.in_passes => {
                external.names(decision.room)
            }
            _ => Ok(resident.clone()),
        });
        Ok(())
    }

    /// Runs the program to its end in a session whose plan it is part of.
    pub fn run(&self, session: &Session, program: &P) -> Result<Ended<P::Value>> {
        let decision = session.decision();
        if decision.is_external() || decision.in_passes {
            return external::run::execute(program, session, (self.most, self.early));
        }
        let routes = routes(program, session.graph, session.config)?;
        let total = routes.iter().map(Route::ways).sum::<u64>();
        let (mut channels, mut degrees) = (Vec::new(), None);
        for route in &routes {
            let open =
                |names: Vec<String>| names.iter().map(|name| session.section(name)).collect();
            let rows = match route.rows {
                Some(rows) => {
                    let sections = open(Rows::sections(rows, route.weights));
                    Some(Rows::load(session, sections, decision.room / total)?)
                }
                None => {
                    let section = session.section(&route.degrees());
                    let len = session.graph.connected() as usize;
                    degrees.get_or_insert(load_table(session, &section, len)?);
                    None
                }
            };
            let grid = if route.grid {
                let words = session.section("grid.words");
                Some(Grid::open(session, words, decision.room / total)?)
            } else {
                None
            };
            channels.push(Channel { rows, grid });
        }
        session.loaded();
        let run = Run::new(program, session, &channels, degrees.as_deref())?;
        let (values, iterations, residual) = run.iterate()?;
        Ok(Ended { values: values.into(), iterations, residual })
    }
}

/// What a program needs: the plan, and the bytes that may cache edges.
pub fn plan<P: VertexProgram>(
    program: &P,
    name: &'static str,
    graph: &Graph,
    config: &RunConfig,
    scans: Option<u64>,
) -> Result<(Plan, u64)> {
    let mut planner = Planner::new(name, Job { graph, config, progress: &Silent });
    Iterations::declare(&mut planner, program, scans)?;
    let decided = planner.decide()?;
    Ok((decided.plan, decided.decision.room))
}

/// The same for a program whose vertices may be computed early, if `config` says so.
pub fn plan_monotone<P: Monotone>(
    program: &P,
    name: &'static str,
    graph: &Graph,
    config: &RunConfig,
) -> Result<(Plan, u64)> {
    let mut planner = Planner::new(name, Job { graph, config, progress: &Silent });
    Iterations::declare_monotone(&mut planner, program)?;
    let decided = planner.decide()?;
    Ok((decided.plan, decided.decision.room))
}

/// The sections by which one direction's edges are reached.
struct Route {
    grid: bool,
    rows: Option<Direction>,
    degrees: Direction,
    weights: bool,
}

impl Route {
    fn degrees(&self) -> String {
        format!("{}.degrees", self.degrees.name())
    }

    /// The sections that a run opens.
    fn sections(&self) -> Vec<String> {
        let mut names = match self.rows {
            Some(rows) => Rows::sections(rows, self.weights),
            None => vec![self.degrees()],
        };
        names.extend(self.grid.then(|| "grid.words".to_owned()));
        names
    }

    /// Those of them that have edges.
    fn edges(&self) -> Vec<String> {
        let mut names: Vec<String> =
            self.grid.then(|| "grid.words".to_owned()).into_iter().collect();
        let rows = self.rows.map(|rows| Rows::sections(rows, self.weights));
        names.extend(rows.into_iter().flatten().skip(2));
        names
    }

    /// The ways that share what is left of the budget.
    fn ways(&self) -> u64 {
        u64::from(self.grid) + u64::from(self.rows.is_some())
    }
}

fn routes<P: VertexProgram>(program: &P, graph: &Graph, config: &RunConfig) -> Result<Vec<Route>> {
    let weights = program.weighted() && graph.weights() != WeightKind::None;
    let dense = matches!(program.start(), Start::All) && program.applies_always();
    let mut done = Vec::new();
    let mut routes = Vec::new();
    for &direction in program.directions() {
        let rows = graph.rows(direction).ok_or_else(|| {
            EngineError::Usage(
                "this needs the incoming edges, and the graph was built with --transpose off"
                    .to_owned(),
            )
        })?;
        if done.contains(&rows) {
            continue;
        }
        done.push(rows);
        // The grid leads from sources to targets, without weights, and does not have all edges in
        // every layout.
        let grid = rows == Direction::Out
            && !weights
            && config.read != ReadPolicy::OnDemand
            && graph.has_whole_grid();
        let wants_rows = !grid || !(dense || config.read == ReadPolicy::Full);
        routes.push(Route { grid, rows: wants_rows.then_some(rows), degrees: rows, weights });
    }
    Ok(routes)
}

/// Runs `program` to its end. `scans` is the number of iterations, where it is known before.
pub fn execute<'a, P: VertexProgram>(
    program: &P,
    name: &'static str,
    graph: &'a Graph,
    config: &'a RunConfig,
    progress: &'a dyn RunProgress,
    scans: Option<u64>,
) -> Result<Finished<'a, P::Value>> {
    let mut planner = Planner::new(name, Job { graph, config, progress });
    let iterations = Iterations::declare(&mut planner, program, scans)?;
    finish(planner, &iterations, program)
}

/// The same for a program whose vertices may be computed early, if `config` says so.
pub fn execute_monotone<'a, P: Monotone>(
    program: &P,
    name: &'static str,
    graph: &'a Graph,
    config: &'a RunConfig,
    progress: &'a dyn RunProgress,
) -> Result<Finished<'a, P::Value>> {
    let mut planner = Planner::new(name, Job { graph, config, progress });
    let iterations = Iterations::declare_monotone(&mut planner, program)?;
    finish(planner, &iterations, program)
}

fn finish<'a, P: VertexProgram>(
    planner: Planner<'a>,
    iterations: &Iterations<P>,
    program: &P,
) -> Result<Finished<'a, P::Value>> {
    let decided = planner.decide()?;
    let plan = decided.plan.clone();
    let session = decided.start()?;
    let Ended { values, iterations, residual } = iterations.run(&session, program)?;
    let load_seconds = session.load_seconds();
    Ok(Finished { values, session, plan, iterations, residual, load_seconds })
}

struct Run<'r, P: VertexProgram> {
    program: &'r P,
    session: &'r Session<'r>,
    channels: &'r [Channel],
    degrees: &'r [u32],
    values: HugeVec<P::Value>,
    signals: HugeVec<P::Signal>,
    inbox: HugeVec<P::Message>,
    current: Frontier,
    next: Frontier,
    sending: Frontier,
}

impl<'r, P: VertexProgram> Run<'r, P> {
    fn new(
        program: &'r P,
        session: &'r Session<'r>,
        channels: &'r [Channel],
        degrees: Option<&'r [u32]>,
    ) -> Result<Self> {
        let len = session.graph.connected();
        let huge = session.config.huge_pages;
        let degrees = degrees
            .or_else(|| channels[0].rows.as_ref().and_then(|rows| rows.degrees.as_slice()))
            .expect("degrees are loaded with or without rows");
        let mut values: HugeVec<P::Value> = HugeVec::zeroed(len as usize, huge)?;
        let mut inbox: HugeVec<P::Message> = HugeVec::zeroed(len as usize, huge)?;
        {
            // In parallel: most of the time goes into the memory's first touch.
            let (values, inbox) = (Parts::new(&mut values), Parts::new(&mut inbox));
            let fill = |(): &mut (), range: std::ops::Range<u64>| {
                inbox.take(range.clone()).fill(P::Message::IDENTITY);
                values
                    .take(range.clone())
                    .iter_mut()
                    .zip(range)
                    .for_each(|(value, at)| *value = program.init(at, degrees[at as usize]));
            };
            session.workers.over(len, PART, |_| (), fill);
        }
        let mut current = Frontier::new(len, huge)?;
        match program.start() {
            Start::All => current.fill(),
            Start::Vertices(vertices) => {
                vertices.into_iter().filter(|&vertex| vertex < len).for_each(|vertex| {
                    current.insert(vertex);
                })
            }
        }
        let (next, sending) = (Frontier::new(len, huge)?, Frontier::new(len, huge)?);
        Ok(Self {
            program,
            session,
            channels,
            degrees,
            values,
            signals: HugeVec::zeroed(len as usize, huge)?,
            inbox,
            current,
            next,
            sending,
        })
    }

    fn iterate(mut self) -> Result<(HugeVec<P::Value>, u64, f64)> {
        let mut context = Context::default();
        let mut residual = 0.0;
        loop {
            let mark = self.session.mark();
            let mut active = self.current.count();
            if active == 0 && !self.program.applies_always() {
                active = self.next_phase(&mut context);
                if active == 0 {
                    break;
                }
            }
            let edges = self.send(&mut context)?;
            context.prepared = self.program.prepare(&context);
            let (mut mode, mut predicted) = ("memory", None);
            for channel in self.channels {
                (mode, predicted) = self.deliver(channel, edges)?;
            }
            residual = self.receive(&context);
            std::mem::swap(&mut self.current, &mut self.next);
            self.next.clear();
            self.session.end_predicted(&mark, active, mode, predicted);
            self.session.check()?;
            context.iteration += 1;
            let left = self.current.count();
            if self.program.finished(&context, residual, left)
                && (left > 0 || self.phase_key() == u64::MAX)
            {
                break;
            }
        }
        Ok((self.values, context.iteration, residual))
    }

    /// The smallest phase key of all vertices.
    fn phase_key(&self) -> u64 {
        let (program, values) = (self.program, &*self.values);
        let keys = self.session.workers.over(
            values.len() as u64,
            PART,
            |_| u64::MAX,
            |key, range| {
                values[range.start as usize..range.end as usize]
                    .iter()
                    .for_each(|value| *key = (*key).min(program.phase_key(value)));
            },
        );
        keys.into_iter().min().unwrap_or(u64::MAX)
    }

    /// Begins the next phase, if there is one; returns how many vertices are active in it.
    fn next_phase(&mut self, context: &mut Context) -> u64 {
        let key = self.phase_key();
        if key == u64::MAX {
            return 0;
        }
        context.phase = key;
        let (program, current, context) = (self.program, &self.current, &*context);
        let values = Parts::new(&mut self.values);
        self.session.workers.over(
            current.len(),
            PART,
            |_| (),
            |(), range| {
                let mut values = values.take(range.clone());
                for vertex in range.clone() {
                    if program.wake(context, vertex, &mut values[(vertex - range.start) as usize]) {
                        current.insert(vertex);
                    }
                }
            },
        );
        self.current.count()
    }

    /// Every active vertex makes its signal. Returns the edges that signals will travel.
    fn send(&mut self, context: &mut Context) -> Result<u64> {
        let len = self.session.graph.connected();
        let program = self.program;
        let (values, degrees, current, sending) =
            (&*self.values, self.degrees, &self.current, &self.sending);
        let parts = Parts::new(&mut self.signals);
        let sums: Vec<AtomicU64> = (0..len.div_ceil(PART)).map(|_| AtomicU64::new(0)).collect();
        let edges = self.session.workers.over(
            len,
            PART,
            |_| 0u64,
            |edges, range| {
                let mut signals = parts.take(range.clone());
                let mut sum = 0.0;
                for group in range.start / 64..range.end.div_ceil(64) {
                    let (mut bits, word) = (0u64, current.word(group));
                    for vertex in group * 64..((group + 1) * 64).min(range.end) {
                        let at = vertex as usize;
                        sum += program.aggregate(&values[at], degrees[at]);
                        if word >> (vertex % 64) & 1 == 1
                            && let Some(signal) = program.scatter(vertex, &values[at], degrees[at])
                        {
                            signals[(vertex - range.start) as usize] = signal;
                            bits |= 1 << (vertex % 64);
                            *edges += u64::from(degrees[at]);
                        }
                    }
                    sending.set_word(group, bits);
                }
                sums[(range.start / PART) as usize].store(sum.to_bits(), Relaxed);
            },
        );
        context.aggregate = sums.iter().map(|sum| f64::from_bits(sum.load(Relaxed))).sum();
        Ok(edges.into_iter().sum())
    }

    /// Carries signals along the edges of one direction; returns how edges were read, and what was
    /// predicted where there was a choice.
    fn deliver(&mut self, channel: &Channel, edges: u64) -> Result<(&'static str, Option<Costs>)> {
        let predicted = match (&channel.grid, &channel.rows) {
            (Some(grid), Some(rows)) => Some(self.predict(grid, rows, edges)),
            _ => None,
        };
        let full = predicted.is_none_or(|costs| costs.full_seconds <= costs.on_demand_seconds)
            || self.session.config.read == ReadPolicy::Full;
        if let (true, Some(grid)) = (full, &channel.grid) {
            self.scan(grid)?;
            return Ok(("full", predicted));
        }
        self.on_demand(channel.rows.as_ref().expect("a channel has a grid or rows"), edges)?;
        Ok(("on-demand", predicted))
    }

    /// What a scan of the grid and the active lists will take.
    fn predict(&self, grid: &Grid, rows: &Rows, edges: u64) -> Costs {
        let workers = self.session.workers.count();
        let width = rows.width as u64;
        let lists = Lists {
            count: self.sending.count(),
            edges,
            width,
            adjacency: rows.edges() * width,
            held: rows.held_bytes(),
            edge_seconds: COMBINED,
            workers: if P::Message::EXACT { workers } else { 1 },
        };
        let scan = Scan { everyone: self.sending.count() == self.sending.len(), ..grid.a_scan() };
        costs::predict(self.session.limits(), workers, scan, lists)
    }

    fn scan(&mut self, grid: &Grid) -> Result<()> {
        let (program, signals, sending) = (self.program, &*self.signals, &self.sending);
        let everyone = sending.count() == sending.len();
        grid.scan(
            self.session,
            &mut self.inbox,
            |_| (),
            |(), inbox, block| {
                let base = block.segment as usize;
                if everyone {
                    combine_all(program, block, &signals[base + block.first()..], inbox);
                } else {
                    block.for_each(|source, target| {
                        if sending.contains((base + source) as u64) {
                            inbox[target].combine(program.carry(signals[base + source], 1.0));
                        }
                    });
                }
            },
        )?;
        Ok(())
    }

    fn on_demand(&mut self, rows: &Rows, edges: u64) -> Result<()> {
        let (program, signals, sending) = (self.program, &*self.signals, &self.sending);
        let kind = self.session.graph.weights();
        let weighted = rows.weight_width > 0;
        let exchange = InMemory::new(&mut self.inbox);
        let stream = IoIterator::new(self.session, rows).ordered(!P::Message::EXACT);
        let senders = stream.for_each(
            edges,
            |group| sending.word(group),
            |_| exchange.sender(),
            |sender, vertex, list| {
                let signal = signals[vertex as usize];
                if weighted {
                    list.weighted().for_each(|(target, weight)| {
                        let message = program.carry(signal, kind.value(weight));
                        exchange.send(sender, target, message);
                    });
                } else {
                    list.neighbors().for_each(|target| {
                        exchange.send(sender, target, program.carry(signal, 1.0))
                    });
                }
            },
        )?;
        exchange.collect(senders)
    }

    /// Every vertex that has a message, or every vertex, applies. Returns the residual.
    fn receive(&mut self, context: &Context) -> f64 {
        let len = self.session.graph.connected();
        let (program, next) = (self.program, &self.next);
        let always = program.applies_always();
        let (values, inbox) = (Parts::new(&mut self.values), Parts::new(&mut self.inbox));
        let sums: Vec<AtomicU64> = (0..len.div_ceil(PART)).map(|_| AtomicU64::new(0)).collect();
        self.session.workers.over(
            len,
            PART,
            |_| (),
            |(), range| {
                let (mut values, mut inbox) =
                    (values.take(range.clone()), inbox.take(range.clone()));
                let mut residual = 0.0;
                for group in range.start / 64..range.end.div_ceil(64) {
                    let mut bits = 0u64;
                    for vertex in group * 64..((group + 1) * 64).min(range.end) {
                        let at = (vertex - range.start) as usize;
                        let message = std::mem::replace(&mut inbox[at], P::Message::IDENTITY);
                        if always || message != P::Message::IDENTITY {
                            let old = values[at];
                            bits |=
                                u64::from(program.apply(context, vertex, &mut values[at], message))
                                    << (vertex % 64);
                            residual += program.residual(&old, &values[at]);
                        }
                    }
                    next.set_word(group, bits);
                }
                sums[(range.start / PART) as usize].store(residual.to_bits(), Relaxed);
            },
        );
        sums.iter().map(|sum| f64::from_bits(sum.load(Relaxed))).sum()
    }
}

/// A slice cut into parts of [`PART`], each to be borrowed by the one worker that has that part.
struct Parts<'v, T>(Vec<Mutex<&'v mut [T]>>);

impl<'v, T> Parts<'v, T> {
    fn new(slice: &'v mut [T]) -> Self {
        Self(slice.chunks_mut(PART as usize).map(Mutex::new).collect())
    }

    fn take(&self, range: std::ops::Range<u64>) -> std::sync::MutexGuard<'_, &'v mut [T]> {
        self.0[(range.start / PART) as usize].lock().expect("each part has one worker")
    }
}
