//! The executor of [`VertexProgram`]s: iterations over a frontier, each reading all edges from the
//! grid or the lists of active vertices from the rows, whichever is predicted to cost less.
//!
//! Memory for each vertex: a value, a signal, a message, a degree, two bits. A full scan combines
//! messages into a interval that one worker owns; on demand, messages are gathered by range and
//! combined under the range's lock, in the order of the rows where the monoid is not exact.

use std::sync::{
    Mutex,
    atomic::{AtomicU64, Ordering::Relaxed},
};

use outercore_graph::{Direction, Graph, WeightKind};
use outercore_storage::HugeVec;

use crate::{
    budget::{Needs, pass_over},
    config::{MemoryModel, ReadPolicy, RunConfig, RunProgress},
    costs::{self, Lists, Scan},
    edges::{
        grid::{Grid, combine::combine_all},
        rows::{Rows, load_table},
        stream::IoIterator,
    },
    error::{EngineError, Result},
    external::{self, early::Early, run::Ended},
    frontier::Frontier,
    monoid::Monoid,
    plan::{Plan, PlanItem},
    program::{Context, Monotone, Start, VertexProgram},
    report::Costs,
    session::Session,
    values::FinalValues,
};

/// Vertices of a part in vertex-parallel steps: a fixed size, so that sums are grouped alike
/// whatever the number of workers.
const PART: u64 = 1 << 14;

/// Seconds of a processor for each edge of a list whose message is gathered and combined under a
/// range's lock: about four times what a interval's owner pays.
const COMBINED: f64 = 16e-9;

/// A finished run of a program.
pub struct Finished<'a, V: outercore_storage::Pod> {
    /// The final values.
    pub values: FinalValues<V>,
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

/// How edges of one direction are reached.
struct Channel {
    rows: Option<Rows>,
    grid: Option<Grid>,
}

/// What a program needs: the plan, and the bytes that may cache edges.
pub fn plan<P: VertexProgram>(
    program: &P,
    name: &'static str,
    graph: &Graph,
    config: &RunConfig,
    scans: Option<u64>,
) -> Result<(Plan, u64)> {
    plan_with(program, name, graph, config, (scans, None))
}

/// The same for a program whose vertices may be computed early, if `config` says so.
pub fn plan_monotone<P: Monotone>(
    program: &P,
    name: &'static str,
    graph: &Graph,
    config: &RunConfig,
) -> Result<(Plan, u64)> {
    plan_with(program, name, graph, config, (None, Early::new(config.early())))
}

fn plan_with<P: VertexProgram>(
    program: &P,
    name: &'static str,
    graph: &Graph,
    config: &RunConfig,
    (scans, early): (Option<u64>, Option<Early<P>>),
) -> Result<(Plan, u64)> {
    let vertices = graph.connected();
    let sets = routes(program, graph, config)?;
    let item = |name, bytes_each: usize| PlanItem { name, bytes: vertices * bytes_each as u64 };
    let mut resident = vec![
        item("values", size_of::<P::Value>()),
        item("signals", size_of::<P::Signal>()),
        item("messages", size_of::<P::Message>()),
    ];
    resident.push(PlanItem { name: "frontiers", bytes: 3 * Frontier::bytes(vertices) });
    let mut edges = Vec::new();
    for route in &sets {
        if route.rows.is_some() {
            resident.push(PlanItem { name: "row index", bytes: Rows::index_bytes(graph) });
        } else {
            resident.push(item("degrees", 4));
        }
        if route.grid {
            edges.push("grid.words".to_owned());
        }
        if let Some(direction) = route.rows {
            edges.extend(Rows::sections(direction, route.weights).into_iter().skip(2));
        }
    }
    let method = if sets.iter().all(|route| route.rows.is_none()) {
        "full scans of the grid"
    } else {
        "iterations over a frontier; the cheaper of grid and rows for each"
    };
    let external = if external::suits(program, graph) {
        Some(external::needs::least(program, graph, config, early.as_ref())?)
    } else {
        None
    };
    let needs =
        Needs { algorithm: name, method: method.to_owned(), resident, external, edges, scans };
    let (mut plan, mut room) = if early.is_some() {
        needs.plan_early(graph, config)?
    } else {
        needs.plan(graph, config)?
    };
    if plan.memory_model == MemoryModel::FullyExternal {
        plan.method = external::method(program, graph).to_owned();
        plan.disk_bytes = external::needs::disk_bytes::<P>(graph);
    } else if plan.memory_model == MemoryModel::SemiExternal
        && let Some(near) = external::needs::near(program, graph, config)?
    {
        let (whole, share) = (plan.bytes_per_scan + room, external::needs::share(graph)?);
        let kept: u64 = near.iter().map(|item| item.bytes).sum();
        let arrays = [external::needs::least(program, graph, config, None)?, near].concat();
        if pass_over(&mut plan, &mut room, graph, config, arrays, share) {
            // The run itself decides what stays in memory; the plan has seen to it that everything
            // does.
            room += kept;
            plan.method = "passes over the grid, up and down in turn, in which half of the edges serve two iterations".to_owned();
            plan.expected_bytes_read =
                scans.map(|scans| whole + plan.bytes_per_scan * scans.saturating_sub(1));
            plan.in_passes = true;
        }
    }
    Ok((plan, room))
}

/// The sections by which one direction's edges are reached.
struct Route {
    grid: bool,
    rows: Option<Direction>,
    degrees: Direction,
    weights: bool,
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
    execute_with(program, name, graph, config, progress, (scans, None))
}

/// The same for a program whose vertices may be computed early, if `config` says so.
pub fn execute_monotone<'a, P: Monotone>(
    program: &P,
    name: &'static str,
    graph: &'a Graph,
    config: &'a RunConfig,
    progress: &'a dyn RunProgress,
) -> Result<Finished<'a, P::Value>> {
    execute_with(program, name, graph, config, progress, (None, Early::new(config.early())))
}

fn execute_with<'a, P: VertexProgram>(
    program: &P,
    name: &'static str,
    graph: &'a Graph,
    config: &'a RunConfig,
    progress: &'a dyn RunProgress,
    (scans, early): (Option<u64>, Option<Early<P>>),
) -> Result<Finished<'a, P::Value>> {
    let (plan, cache) = plan_with(program, name, graph, config, (scans, early))?;
    if plan.memory_model == MemoryModel::FullyExternal || plan.in_passes {
        let names = external::needs::sections(program, graph, config, early.as_ref(), cache)?;
        let (session, sections) = Session::open(
            graph,
            config,
            progress,
            &names.iter().map(String::as_str).collect::<Vec<_>>(),
        )?;
        let ended = external::run::execute(program, &session, sections, cache, (scans, early))?;
        let Ended { values, iterations, residual, load_seconds } = ended;
        return Ok(Finished {
            values: FinalValues::Stored(values),
            session,
            plan,
            iterations,
            residual,
            load_seconds,
        });
    }
    let routes = routes(program, graph, config)?;
    let mut names: Vec<String> = Vec::new();
    for route in &routes {
        match route.rows {
            Some(direction) => names.extend(Rows::sections(direction, route.weights)),
            None => names.push(format!("{}.degrees", route.degrees.name())),
        }
        if route.grid {
            names.push("grid.words".to_owned());
        }
    }
    let (session, sections) = Session::open(
        graph,
        config,
        progress,
        &names.iter().map(String::as_str).collect::<Vec<_>>(),
    )?;
    let mut sections = sections.into_iter();
    let total: u64 =
        routes.iter().map(|route| u64::from(route.grid) + u64::from(route.rows.is_some())).sum();
    let mut channels = Vec::new();
    let mut degrees = None;
    for route in &routes {
        let rows = match route.rows {
            Some(direction) => {
                let count = Rows::sections(direction, route.weights).len();
                Some(Rows::load(&session, sections.by_ref().take(count).collect(), cache / total)?)
            }
            None => {
                let section = sections.next().expect("the section was opened");
                degrees.get_or_insert(load_table(&session, &section, graph.connected() as usize)?);
                None
            }
        };
        let grid = if route.grid {
            Some(Grid::open(
                &session,
                sections.next().expect("the section was opened"),
                cache / total,
            )?)
        } else {
            None
        };
        channels.push(Channel { rows, grid });
    }
    let load_seconds = session.seconds();
    let run = Run::new(program, &session, &channels, degrees.as_deref())?;
    let (values, iterations, residual) = run.iterate()?;
    Ok(Finished {
        values: FinalValues::Memory(values),
        session,
        plan,
        iterations,
        residual,
        load_seconds,
    })
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
        let ranges = Ranges::new(&mut self.inbox);
        let stream = IoIterator::new(self.session, rows).ordered(!P::Message::EXACT);
        let states = stream.for_each(
            edges,
            |group| sending.word(group),
            |_| ranges.outbox(),
            |outbox, vertex, list| {
                let signal = signals[vertex as usize];
                if weighted {
                    list.weighted().for_each(|(target, weight)| {
                        outbox.push(target, program.carry(signal, weight_value(kind, weight)))
                    });
                } else {
                    list.neighbors()
                        .for_each(|target| outbox.push(target, program.carry(signal, 1.0)));
                }
            },
        )?;
        states.into_iter().for_each(|mut outbox| outbox.flush_all());
        Ok(())
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

/// The value of a stored weight.
#[inline(always)]
pub fn weight_value(kind: WeightKind, bits: u64) -> f64 {
    match kind {
        WeightKind::None => 1.0,
        WeightKind::U32 => bits as f64,
        WeightKind::F32 => f64::from(f32::from_bits(bits as u32)),
        WeightKind::F64 => f64::from_bits(bits),
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

/// The inbox cut into ranges, each under a lock: workers combine whole batches.
struct Ranges<'v, M> {
    ranges: Vec<Mutex<&'v mut [M]>>,
    bits: u32,
}

/// Messages on their way, gathered by range.
struct Outbox<'o, 'v, M> {
    ranges: &'o Ranges<'v, M>,
    batches: Vec<Vec<(u64, M)>>,
}

/// Messages of a batch.
const BATCH: usize = 1 << 10;

impl<'v, M: Monoid> Ranges<'v, M> {
    fn new(inbox: &'v mut [M]) -> Self {
        let bits = (64 - (inbox.len() as u64 / 64).leading_zeros()).max(12);
        Self { ranges: inbox.chunks_mut(1 << bits).map(Mutex::new).collect(), bits }
    }

    fn outbox(&self) -> Outbox<'_, 'v, M> {
        Outbox { ranges: self, batches: vec![Vec::new(); self.ranges.len()] }
    }
}

impl<M: Monoid> Outbox<'_, '_, M> {
    #[inline(always)]
    fn push(&mut self, target: u64, message: M) {
        let range = (target >> self.ranges.bits) as usize;
        let batch = &mut self.batches[range];
        batch.push((target, message));
        if batch.len() == BATCH {
            self.flush(range);
        }
    }

    fn flush(&mut self, range: usize) {
        let mut inbox = self.ranges.ranges[range].lock().expect("no holder panics");
        let mask = (1u64 << self.ranges.bits) - 1;
        for (target, message) in self.batches[range].drain(..) {
            inbox[(target & mask) as usize].combine(message);
        }
    }

    fn flush_all(&mut self) {
        (0..self.batches.len())
            .filter(|&range| !self.batches[range].is_empty())
            .collect::<Vec<_>>()
            .into_iter()
            .for_each(|range| self.flush(range));
    }
}
