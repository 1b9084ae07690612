//! The loop of [`VertexProgram`]s whose values are in memory: iterations over a frontier, each
//! reading all edges from the grid or the lists of active vertices, whichever is predicted to cost
//! less.
//!
//! Memory for each vertex: a value, a signal, a message, a degree, two bits. A full scan combines
//! messages into an interval that one worker owns; on demand, messages are gathered by range and
//! combined under the range's lock, in the order of the rows where the monoid is not exact.

use std::sync::{
    Mutex,
    atomic::{AtomicU64, Ordering::Relaxed},
};

use outercore_storage::HugeVec;

use crate::{
    config::ReadPolicy,
    costs::{self, Lists, Scan},
    edges::{
        grid::{Grid, combine::combine_all},
        io_iterator::IoIterator,
        rows::Rows,
    },
    error::Result,
    exchange::InMemory,
    frontier::Frontier,
    monoid::Monoid,
    program::{Context, Start, VertexProgram},
    report::Costs,
    session::Session,
};

/// Vertices of a part in vertex-parallel steps: a fixed size, so that sums are grouped alike
/// whatever the number of workers.
const PART: u64 = 1 << 14;

/// Seconds of a processor for each edge of a list whose message is gathered and combined under a
/// range's lock: about four times what an interval's owner pays.
const COMBINED: f64 = 16e-9;

/// How edges of one direction are reached.
pub(crate) struct Channel {
    /// By lists.
    pub rows: Option<Rows>,
    /// By the grid.
    pub grid: Option<Grid>,
}

/// A run of a program.
pub(crate) struct Run<'r, P: VertexProgram> {
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
    /// First values, and the vertices that are active at first. `degrees` are those of the first
    /// direction, where its lists are not read.
    pub fn new(
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

    /// Runs to the end. Returns the final values, the number of iterations and the last residual.
    pub fn iterate(mut self) -> Result<(HugeVec<P::Value>, u64, f64)> {
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
