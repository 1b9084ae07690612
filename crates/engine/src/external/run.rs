//! [`execute`]: iterations of a [`VertexProgram`] with its values on storage.
//!
//! A stripe at a time is in memory: its chunks are read, its messages combined, its values loaded, applied and stored, and its next signals made at once, so that values and
//! degrees are read once in an iteration. Resident for each vertex: a signal and two bits; for each hub a second signal.

use std::{
    path::PathBuf,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

use outercore_graph::{Graph, format::CHUNK_BYTES};
use outercore_storage::{HugeVec, PAGE};

use super::{
    array::DiskArray,
    columns::{Chunk, Columns},
    degrees::StoredDegrees,
    demand::{self, Demand},
    fits_grid,
    pass::{Desk, Pass, Shared, Worker},
    pull::{Pull, Route},
    signals::{NextSignals, Settled},
    stored::Stored,
    sub_blocks::SubBlocks,
};
use crate::{
    config::{CrossIteration, ReadPolicy, RunConfig},
    costs::Scan,
    error::{EngineError, Result},
    frontier::Frontier,
    monoid::Monoid,
    plan::PlanItem,
    program::{Context, Start, VertexProgram},
    report::Costs,
    session::{OpenSection, Session},
};

/// What is known of a stripe between passes.
#[derive(Clone, Copy, Default)]
struct Note {
    aggregate: f64,
    residual: f64,
    key: u64,
    active: u64,
    /// The edges of those that send.
    edges: u64,
    /// Whether its tail signals on scratch are new.
    tail: bool,
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
    columns: Columns,
    values: DiskArray<P::Value>,
    degrees: StoredDegrees,
    /// The next signals of the vertices beyond the hubs.
    tail: DiskArray<P::Signal>,
    /// How lists are read, where that may be worth it.
    demand: Option<Demand<P::Message>>,
    /// Chunks that stay, where there is room.
    pub(super) sub_blocks: Option<SubBlocks>,
    notes: Vec<Mutex<Note>>,
}

/// What a finished run leaves.
pub struct Ended<V: outercore_storage::Pod> {
    /// The final values, by stripe.
    pub values: Stored<V>,
    /// Iterations.
    pub iterations: u64,
    /// The last iteration's residual.
    pub residual: f64,
    /// Seconds of loading.
    pub load_seconds: f64,
}

/// The least that must be resident.
pub fn needs<P: VertexProgram>(program: &P, graph: &Graph, config: &RunConfig) -> Result<Vec<PlanItem>> {
    let directory = graph.grid()?;
    let widest = directory.stripes.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0) as usize;
    let (vertices, stripes) = (graph.connected(), directory.stripes.len() as u64 - 1);
    let sums = [size_of::<P::Value>(), 4, size_of::<P::Signal>(), size_of::<P::Message>()]
        .map(|size| vertices * size as u64 / PAGE as u64 * 4 + stripes * 12);
    let mut needs = vec![
        PlanItem { name: "signals", bytes: vertices * size_of::<P::Signal>() as u64 },
        PlanItem { name: "frontiers", bytes: 2 * Frontier::bytes(vertices) },
        PlanItem { name: "stripes at hand", bytes: config.threads as u64 * Desk::<P>::bytes(widest) },
        PlanItem { name: "directory, checksums", bytes: directory.bytes() + sums.iter().sum::<u64>() },
    ];
    if let Some(route) = lists(program, graph) {
        needs.extend(route.needs(graph)?);
    }
    Ok(needs)
}

/// The lists along which a program's signals come, where the grid does not have its edges.
fn lists<P: VertexProgram>(program: &P, graph: &Graph) -> Option<Route> {
    if fits_grid(program, graph) { None } else { Route::of(program, graph) }
}

/// The sections that a run opens, which has `room` bytes beside its least.
pub fn sections<P: VertexProgram>(program: &P, graph: &Graph, config: &RunConfig, room: u64) -> Result<Vec<String>> {
    if let Some(route) = lists(program, graph) {
        let mut names = vec![format!("{}.degrees", route.degrees.name())];
        names.extend(route.sections());
        return Ok(names);
    }
    let mut names = vec!["out.degrees".to_owned(), "grid.words".to_owned()];
    if !program.is_selective() || config.read == ReadPolicy::Full {
        return Ok(names);
    }
    let needed = demand::bytes::<P>(graph, config.threads)?;
    if needed <= room {
        names.extend(Demand::<P::Message>::sections());
    } else if config.read == ReadPolicy::OnDemand {
        let what = "reading on demand, fully externally".to_owned();
        return Err(EngineError::Memory { needed: config.memory - room + needed, budget: config.memory, what });
    }
    Ok(names)
}

/// Bytes of scratch that a run takes.
pub fn disk_bytes<P: VertexProgram>(graph: &Graph) -> u64 {
    graph.connected() * (size_of::<P::Value>() + 4 + size_of::<P::Signal>() + size_of::<P::Message>()) as u64
}

/// Runs `program` to its end. `sections` are those of [`sections`], opened; `room` bytes are left for the hubs' second signals.
pub fn execute<'r, P: VertexProgram>(
    program: &'r P,
    session: &'r Session<'r>,
    sections: Vec<OpenSection>,
    room: u64,
    scans: Option<u64>,
) -> Result<Ended<P::Value>> {
    let mut sections = sections.into_iter();
    let degrees = sections.next().expect("opened");
    let graph = session.graph;
    let edges = match lists(program, graph) {
        Some(_) => Edges::Lists(Box::new(Pull::new(session, sections.by_ref().collect())?)),
        None => Edges::Grid(sections.next().expect("opened")),
    };
    let on_grid = matches!(edges, Edges::Grid(_));
    let directory = graph.grid()?;
    let bounds = directory.stripes.clone();
    let cross = on_grid && session.config.cross_iteration.in_passes() && program.applies_always() && matches!(program.start(), Start::All);
    let (mut room, mut demand) = (room, None);
    if sections.len() > 0 {
        room -= demand::bytes::<P>(graph, session.config.threads)?;
        // Lists, hubs' signals and chunks share what is left.
        let keep = room / 4;
        demand = Some(Demand::new(session, sections.collect(), &bounds, keep)?);
        room -= keep;
    }
    // Hubs end where a stripe does.
    let most = if cross { room / size_of::<P::Signal>() as u64 } else { 0 };
    let hubs = bounds.iter().copied().take_while(|&bound| bound <= most).last().unwrap_or(0);
    // Copies of chunks are blocks of the heap, with what goes with that.
    let left = (room - hubs * size_of::<P::Signal>() as u64) / 4 * 3;
    let sub_blocks = (on_grid && session.config.sub_blocks && left >= 2 * CHUNK_BYTES).then(|| SubBlocks::new(left));
    let columns = Columns::new(directory, graph.connected(), hubs);
    let (disk, folder) = (graph.disk(), folder(graph));
    let stripes = columns.stripes();
    let run = External {
        program,
        session,
        edges,
        values: DiskArray::create(disk, &folder, &bounds)?,
        degrees: StoredDegrees::create(disk, &folder, &bounds)?,
        tail: DiskArray::create(disk, &folder, &bounds)?,
        demand,
        sub_blocks,
        notes: (0..stripes).map(|_| Mutex::default()).collect(),
        columns,
    };
    let partial = if cross && hubs > 0 { Some(DiskArray::create(disk, &folder, &bounds)?) } else { None };
    let (iterations, residual, load_seconds) = run.iterate(&degrees, hubs, partial.as_ref(), scans)?;
    Ok(Ended { values: Stored::new(run.values, bounds)?, iterations, residual, load_seconds })
}

/// Where scratch goes: beside the graph.
pub fn folder(graph: &Graph) -> PathBuf {
    graph.path().parent().filter(|folder| !folder.as_os_str().is_empty()).map_or_else(|| PathBuf::from("."), PathBuf::from)
}

impl<'r, P: VertexProgram> External<'r, P> {
    fn iterate(
        &self,
        degrees: &OpenSection,
        hubs: u64,
        partial: Option<&DiskArray<P::Message>>,
        scans: Option<u64>,
    ) -> Result<(u64, f64, f64)> {
        let (session, program, huge) = (self.session, self.program, self.session.config.huge_pages);
        let len = session.graph.connected();
        let mut signals: HugeVec<P::Signal> = HugeVec::zeroed(len as usize, huge)?;
        let mut next_signals = NextSignals::new(hubs, huge)?;
        let (mut sending, mut next_sending) = (Frontier::new(len, huge)?, Frontier::new(len, huge)?);
        let mut desks = self.desks()?;
        let mut active = self.begin(degrees, &mut signals, &sending, &mut desks)?;
        let load_seconds = session.seconds();
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
            pass = self.choose(pass, context.iteration, partial.is_some(), scans);
            let predicted = self.predict(&sending, pass);
            // What a pass does ahead binds the next iteration to the grid.
            pass.ahead &= !self.is_on_demand(predicted, 2.0);
            let mut shared = Shared {
                pass,
                context: &context,
                columns: &self.columns,
                signals: &[],
                next_signals: &next_signals,
                sending: &sending,
                next_sending: &next_sending,
                everyone: sending.count() == len,
                partial,
                settled: Settled::new(self.columns.stripes()),
                next: AtomicUsize::new(0),
            };
            let on_demand = pass.whole && self.is_on_demand(predicted, 1.0);
            if let (true, Some(demand)) = (on_demand, &self.demand) {
                (pass.ahead, shared.pass.ahead) = (false, false);
                demand.gather(program, session, &signals, &sending, self.edges())?;
                self.receive(demand, &shared, &mut signals, &mut desks)?;
            } else {
                shared.signals = &signals;
                match &self.edges {
                    Edges::Grid(words) => {
                        self.each_worker(&mut desks, |index, desk| {
                            Worker::new(self, words, &shared, &mut session.reader(index), desk).run()
                        })?;
                    }
                    Edges::Lists(pull) => pull.pass(self, &shared, &mut desks)?,
                }
                signals[..hubs as usize].copy_from_slice(next_signals.all());
                self.fetch_tail(hubs, &mut signals, &mut desks)?;
            }
            residual = self.total(|note| note.residual);
            session.end_predicted(&mark, active, if on_demand { "on-demand" } else { "full" }, predicted);
            session.check()?;
            std::mem::swap(&mut sending, &mut next_sending);
            active = self.notes.iter().map(|note| note.lock().expect("no holder panics").active).sum();
            context.iteration += 1;
            if program.finished(&context, residual, active) && (active > 0 || self.phase_key() == u64::MAX) {
                break;
            }
        }
        Ok((context.iteration, residual, load_seconds))
    }

    /// What the next pass reads: everything, or what the last one has not served yet.
    fn choose(&self, last: Pass, iteration: u64, partial: bool, scans: Option<u64>) -> Pass {
        let more = scans.is_none_or(|scans| iteration + 1 < scans);
        let served = iteration > 0 && last.ahead;
        match self.session.config.cross_iteration {
            _ if !partial => Pass { up: true, whole: true, ahead: false },
            // In a pass down everything before a stripe was served already, and what is read serves the pass after it.
            CrossIteration::On => Pass { up: !served || !last.up, whole: !served, ahead: more },
            _ => Pass { up: !served, whole: !served, ahead: !served && more },
        }
    }

    /// The edges of who sends now.
    fn edges(&self) -> u64 {
        self.notes.iter().map(|note| note.lock().expect("no holder panics").edges).sum()
    }

    /// What both ways of reading will take.
    fn predict(&self, sending: &Frontier, pass: Pass) -> Option<Costs> {
        let demand = self.demand.as_ref()?;
        let threads = self.session.workers.count();
        let cost = |grid| demand.costs(self.session.limits(), threads, (sending.count(), self.edges()), grid);
        // Looking at every chunk costs something too, which is not needed where not even all of them would be worth it.
        let all = Scan { bytes: self.columns.bytes(), requests: self.columns.directory.chunks.len() as u64, words: self.columns.words() };
        let most = cost(all);
        if pass.whole && most.on_demand_seconds < most.full_seconds {
            let wanted = |chunk: &Chunk| sending.any(chunk.sources.0, chunk.sources.1);
            let mut scan = Scan::default();
            for chunk in (0..self.columns.stripes()).flat_map(|stripe| self.columns.chunks(stripe, wanted)) {
                scan.bytes += chunk.padded() as u64;
                scan.requests += 1;
                scan.words += chunk.words();
            }
            return Some(cost(scan));
        }
        Some(most)
    }

    /// Whether reading lists is predicted to take less than so many times what the grid takes, or was asked for.
    fn is_on_demand(&self, predicted: Option<Costs>, times: f64) -> bool {
        let asked = self.session.config.read == ReadPolicy::OnDemand;
        predicted.is_some_and(|costs| asked || costs.on_demand_seconds < times * costs.full_seconds)
    }

    /// What was passed reaches the vertices, stripe by stripe.
    fn receive(
        &self,
        demand: &Demand<P::Message>,
        shared: &Shared<P>,
        signals: &mut [P::Signal],
        desks: &mut [Mutex<Desk<P>>],
    ) -> Result<()> {
        let parts = self.parts(signals);
        self.each_stripe(desks, |_, stripe, desk| {
            let range = self.columns.vertices(stripe);
            let total = desk.empty_total((range.end - range.start) as usize);
            let touched = demand.receive(self.session, stripe, |target, message| total[target].combine(message))?;
            // Nobody reads signals any more in this iteration: the next ones take their places.
            let mut part = parts[stripe].lock().expect("a stripe has one worker");
            self.apply(shared, stripe, touched, desk, Some(&mut part))
        })
    }

    fn desks(&self) -> Result<Vec<Mutex<Desk<P>>>> {
        let widest = self.columns.widest();
        (0..self.session.workers.count()).map(|_| Ok(Mutex::new(Desk::new(widest)?))).collect()
    }

    fn each_worker(&self, desks: &mut [Mutex<Desk<P>>], work: impl Fn(usize, &mut Desk<P>) -> Result<()> + Sync) -> Result<()> {
        let results = self.session.workers.map(|index| work(index, &mut desks[index].lock().expect("each worker has its own desk")));
        self.session.check()?;
        crate::error::all(results).map(drop)
    }

    /// Hands every stripe to a worker.
    pub(super) fn each_stripe(
        &self,
        desks: &mut [Mutex<Desk<P>>],
        work: impl Fn(usize, usize, &mut Desk<P>) -> Result<()> + Sync,
    ) -> Result<()> {
        let next = AtomicUsize::new(0);
        self.each_worker(desks, |index, desk| {
            loop {
                let stripe = next.fetch_add(1, Relaxed);
                if stripe >= self.columns.stripes() || self.session.stopped() {
                    return Ok(());
                }
                work(index, stripe, desk)?;
            }
        })
    }

    fn total(&self, part: impl Fn(&Note) -> f64) -> f64 {
        self.notes.iter().map(|note| part(&note.lock().expect("no holder panics"))).sum()
    }

    fn phase_key(&self) -> u64 {
        self.notes.iter().map(|note| note.lock().expect("no holder panics").key).min().unwrap_or(u64::MAX)
    }

    /// First values, first signals; returns how many are active.
    fn begin(&self, degrees: &OpenSection, signals: &mut [P::Signal], sending: &Frontier, desks: &mut [Mutex<Desk<P>>]) -> Result<u64> {
        let start = self.program.start();
        let starts = |vertex: u64| match &start {
            Start::All => true,
            Start::Vertices(vertices) => vertices.contains(&vertex),
        };
        let parts = self.parts(signals);
        self.each_stripe(desks, |index, stripe, desk| {
            let range = self.columns.vertices(stripe);
            let len = (range.end - range.start) as usize;
            load_degrees(self.session, index, degrees, range.start, desk.degrees.items(len))?;
            self.degrees.store(&self.session.counters, stripe, len, &mut desk.degrees)?;
            let Desk { values, degrees, .. } = desk;
            self.program.init_range(range.start, degrees.items(len), values.items(len))?;
            self.values.store(&self.session.counters, stripe, len, &mut desk.values)?;
            self.wake(stripe, desk, &mut parts[stripe].lock().expect("a stripe has one worker"), sending, |vertex, _| starts(vertex));
            Ok(())
        })?;
        drop(parts);
        Ok(self.notes.iter().map(|note| note.lock().expect("no holder panics").active).sum())
    }

    fn parts<'s>(&self, signals: &'s mut [P::Signal]) -> Vec<Mutex<&'s mut [P::Signal]>> {
        let mut rest = signals;
        (0..self.columns.stripes())
            .map(|stripe| {
                let range = self.columns.vertices(stripe);
                let (part, after) = std::mem::take(&mut rest).split_at_mut((range.end - range.start) as usize);
                rest = after;
                Mutex::new(part)
            })
            .collect()
    }

    /// The vertices of a loaded stripe that `is_active` names make their signals.
    fn wake(
        &self,
        stripe: usize,
        desk: &mut Desk<P>,
        signals: &mut [P::Signal],
        sending: &Frontier,
        mut is_active: impl FnMut(u64, &mut P::Value) -> bool,
    ) {
        let range = self.columns.vertices(stripe);
        let len = (range.end - range.start) as usize;
        let (values, degrees) = (desk.values.items(len), desk.degrees.items(len));
        let mut note = Note { key: u64::MAX, ..Note::default() };
        sending.replace(range.clone(), |vertex| {
            let at = (vertex - range.start) as usize;
            let woken = is_active(vertex, &mut values[at]);
            note.aggregate += self.program.aggregate(&values[at], degrees[at]);
            note.key = note.key.min(self.program.phase_key(&values[at]));
            note.active += u64::from(woken);
            note.edges += if woken { u64::from(degrees[at]) } else { 0 };
            match self.program.scatter(vertex, &values[at], degrees[at]) {
                Some(signal) if woken => {
                    signals[at] = signal;
                    true
                }
                _ => false,
            }
        });
        *self.notes[stripe].lock().expect("no holder panics") = note;
    }

    /// Begins the next phase, if there is one; returns how many vertices are active in it.
    fn next_phase(
        &self,
        context: &mut Context,
        signals: &mut [P::Signal],
        sending: &Frontier,
        desks: &mut [Mutex<Desk<P>>],
    ) -> Result<u64> {
        let key = self.phase_key();
        if key == u64::MAX {
            return Ok(0);
        }
        context.phase = key;
        let context = &*context;
        let parts = self.parts(signals);
        self.each_stripe(desks, |_, stripe, desk| {
            let range = self.columns.vertices(stripe);
            {
                let mut note = self.notes[stripe].lock().expect("a stripe has one worker");
                if note.key > key {
                    (note.active, note.edges) = (0, 0);
                    sending.replace(range, |_| false);
                    return Ok(());
                }
            }
            let len = (range.end - range.start) as usize;
            self.load(stripe, len, desk)?;
            let mut part = parts[stripe].lock().expect("a stripe has one worker");
            self.wake(stripe, desk, &mut part, sending, |vertex, value| self.program.wake(context, vertex, value));
            self.values.store(&self.session.counters, stripe, len, &mut desk.values)
        })?;
        drop(parts);
        Ok(self.notes.iter().map(|note| note.lock().expect("no holder panics").active).sum())
    }

    fn load(&self, stripe: usize, len: usize, desk: &mut Desk<P>) -> Result<()> {
        self.values.load(&self.session.counters, stripe, len, &mut desk.values)?;
        self.degrees.load(&self.session.counters, stripe, len, &mut desk.degrees)
    }

    /// The messages of a stripe reach its vertices, which make their next signals: in `place`, or where a pass keeps them.
    pub fn apply(
        &self,
        shared: &Shared<P>,
        stripe: usize,
        touched: bool,
        desk: &mut Desk<P>,
        place: Option<&mut [P::Signal]>,
    ) -> Result<()> {
        let range = self.columns.vertices(stripe);
        let len = (range.end - range.start) as usize;
        let (program, always) = (self.program, self.program.applies_always());
        let mut note = self.notes[stripe].lock().expect("a stripe has one worker");
        (note.residual, note.active, note.edges, note.tail) = (0.0, 0, 0, false);
        if !always && (!touched || desk.total()[..len].iter().all(|message| *message == P::Message::IDENTITY)) {
            shared.next_sending.replace(range, |_| false);
            return Ok(());
        }
        self.load(stripe, len, desk)?;
        (note.aggregate, note.key) = (0.0, u64::MAX);
        let (total, values, degrees, signals) = desk.columns(len);
        let sent = shared.next_sending.replace(range.clone(), |vertex| {
            let at = (vertex - range.start) as usize;
            let mut active = false;
            if always || total[at] != P::Message::IDENTITY {
                let old = values[at];
                active = program.apply(shared.context, vertex, &mut values[at], total[at]);
                note.residual += program.residual(&old, &values[at]);
            }
            note.aggregate += program.aggregate(&values[at], degrees[at]);
            note.key = note.key.min(program.phase_key(&values[at]));
            note.active += u64::from(active);
            note.edges += if active { u64::from(degrees[at]) } else { 0 };
            match if active { program.scatter(vertex, &values[at], degrees[at]) } else { None } {
                Some(signal) => {
                    signals[at] = signal;
                    true
                }
                None => false,
            }
        });
        self.values.store(&self.session.counters, stripe, len, &mut desk.values)?;
        if let Some(place) = place {
            place.copy_from_slice(desk.signals.items(len));
        } else if range.end <= shared.next_signals.len() {
            // SAFETY: this worker has the stripe, and marks it as settled only later.
            unsafe { shared.next_signals.publish(range.start, desk.signals.items(len)) };
        } else if sent > 0 {
            note.tail = true;
            self.tail.store(&self.session.counters, stripe, len, &mut desk.signals)?;
        }
        Ok(())
    }

    /// Brings the signals of the vertices beyond the hubs back into memory.
    fn fetch_tail(&self, hubs: u64, signals: &mut [P::Signal], desks: &mut [Mutex<Desk<P>>]) -> Result<()> {
        let parts = self.parts(signals);
        self.each_stripe(desks, |_, stripe, desk| {
            let range = self.columns.vertices(stripe);
            if range.end <= hubs || !self.notes[stripe].lock().expect("no holder panics").tail {
                return Ok(());
            }
            let len = (range.end - range.start) as usize;
            self.tail.load(&self.session.counters, stripe, len, &mut desk.signals)?;
            parts[stripe].lock().expect("a stripe has one worker").copy_from_slice(desk.signals.items(len));
            Ok(())
        })
    }
}

/// Reads degrees of consecutive vertices from a graph's section, verified.
fn load_degrees(session: &Session, worker: usize, section: &OpenSection, first: u64, into: &mut [u32]) -> Result<()> {
    let (begin, end) = (first * 4, (first + into.len() as u64) * 4);
    let bytes: &mut [u8] = bytemuck::cast_slice_mut(into);
    let mut reader = session.reader(worker);
    let mut at = begin;
    while at < end {
        let page = at / PAGE as u64 * PAGE as u64;
        let len = ((end - page) as usize).next_multiple_of(PAGE).min(session.buffer_bytes() / PAGE * PAGE);
        let upto = end.min(page + len as u64);
        reader.fetch(&session.counters, section, page, len, |content| {
            bytes[(at - begin) as usize..(upto - begin) as usize].copy_from_slice(&content[(at - page) as usize..(upto - page) as usize]);
        })?;
        at = upto;
    }
    Ok(())
}
