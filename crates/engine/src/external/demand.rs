//! On-demand iterations of fully-external runs: the lists of active vertices are read from the
//! rows, and what they send waits in passing buffers, one for each interval, until the interval comes
//! in (vertex passing, Seraph, FAST'24, section 3.3). A buffer that is full goes to a log on
//! scratch.
//!
//! Memory: a byte or so for each vertex for the degrees, an eighth for the index, and buffers of a
//! fixed size.

use std::{
    ops::Range,
    sync::{Mutex, atomic::Ordering::Relaxed},
};

use outercore_graph::Graph;
use outercore_storage::{Pod, Spill, bytes_of, extend_from_bytes};

use super::{
    kept::{Kept, Shelf},
    signals::Signals,
};
use crate::{
    costs::{self, Lists, Scan},
    edges::{
        degrees::Degrees,
        rows::Rows,
        stream::{IoIterator, List},
    },
    error::{EngineError, Result},
    frontier::Frontier,
    limits::Limits,
    monoid::Monoid,
    program::VertexProgram,
    report::Costs,
    session::{Counters, OpenSection, Session},
};

/// Bytes of all passing buffers together, unless there are so many intervals that each has
/// [`SMALLEST`].
const PASSING: usize = 4 << 20;
/// Bytes of a passing buffer.
const LARGEST: usize = 64 << 10;
const SMALLEST: usize = 4 << 10;
/// Messages that a worker gathers before it sorts them by target.
const OUTBOX: usize = 1 << 14;
/// Seconds of a processor for each message that is passed: measured, on a processor of 2023.
const MESSAGE: f64 = 80e-9;
/// Seconds that all workers wait for one block of a log, at the least: each waits for its own, and
/// there is nothing else in flight. Measured on an SSD of 3 GB/s.
const LOGGED: f64 = 190e-6;

/// What on-demand iterations need.
pub struct Demand<M: Monoid> {
    rows: Rows,
    passing: Passing<M>,
    /// Lists that serve the next iteration too, where the order of messages does not matter.
    kept: Option<Kept>,
}

/// Who sends in a window of vertices.
pub struct Gather<'g, S: Pod> {
    /// The window.
    pub window: Range<u64>,
    /// Its vertices' signals.
    pub signals: Signals<'g, S>,
    /// Who sends.
    pub sending: &'g Frontier,
    /// About how many edges the senders have.
    pub edges: u64,
}

/// Messages on their way, by interval.
struct Passing<M: Monoid> {
    /// Bounds of the intervals.
    bounds: Vec<u64>,
    buffers: Vec<Mutex<Waiting<M>>>,
    logs: Spill,
    /// Messages of a full buffer.
    most: usize,
}

/// Messages to the vertices of one interval, in the order in which they were sent.
struct Waiting<M> {
    targets: Vec<u32>,
    messages: Vec<M>,
    /// Whether earlier ones are in the log.
    spilled: bool,
}

/// A worker's messages until they are sorted.
struct Outbox<'o, M: Monoid> {
    passing: &'o Passing<M>,
    counters: &'o Counters,
    messages: Vec<(u64, M)>,
    failed: Option<EngineError>,
}

/// Bytes that on-demand iterations take beside what every fully-external run has.
pub fn bytes<P: VertexProgram>(graph: &Graph, prefix: &str, threads: usize) -> Result<u64> {
    let intervals = graph.grid()?.intervals.len();
    let index = graph.connected() / 8 + 16;
    let sums = ["index", "adjacency"]
        .map(|part| OpenSection::sums_bytes_of(graph, &format!("{prefix}.{part}")));
    let outbox = threads * OUTBOX * size_of::<(u64, P::Message)>() * 2;
    Ok(Degrees::narrow_bytes(graph)?
        + Kept::least_bytes(graph.connected())
        + index
        + sums.iter().sum::<u64>()
        + (intervals * block_bytes(intervals) * 5 / 4 + outbox) as u64
        + (1 << 20))
}

/// Bytes of one passing buffer where there are so many.
fn block_bytes(intervals: usize) -> usize {
    (PASSING / intervals.max(1)).clamp(SMALLEST, LARGEST) / SMALLEST * SMALLEST
}

impl<M: Monoid> Demand<M> {
    /// The sections that these must be opened with, in this order; the lists' names begin with
    /// `prefix`.
    pub fn sections(prefix: &str) -> Vec<String> {
        Rows::sections_of(prefix, false)
    }

    /// Loads what is needed. `sections` are [`Demand::sections`], opened; `keep` bytes are for
    /// lists that stay.
    pub fn new(
        session: &Session,
        sections: Vec<OpenSection>,
        bounds: &[u64],
        keep: u64,
    ) -> Result<Self> {
        let rows = Rows::load_narrow(session, sections, 0)?;
        let keeps = M::EXACT && session.config.cross_iteration.in_lists();
        let kept = if keeps { Some(Kept::new(session, keep, rows.width)?) } else { None };
        Ok(Self { rows, passing: Passing::new(session.graph, bounds)?, kept })
    }

    /// What the next iteration is predicted to take: `lists` active vertices with `edges` edges
    /// between them, against what the grid would be.
    pub fn costs(
        &self,
        limits: &Limits,
        threads: usize,
        (lists, edges): (u64, u64),
        grid: Scan,
    ) -> Costs {
        let lists = Lists {
            count: lists,
            edges,
            width: self.rows.width as u64,
            adjacency: self.rows.edges() * self.rows.width as u64,
            held: 0,
            edge_seconds: MESSAGE,
            workers: if M::EXACT { threads } else { 1 },
        };
        let mut costs = costs::predict(limits, threads, grid, lists);
        let passed = (edges * (4 + size_of::<M>() as u64)).saturating_sub(PASSING as u64);
        let blocks = passed as f64 / (self.passing.most * (4 + size_of::<M>())) as f64;
        costs.on_demand_seconds += 2.0
            * (costs::reading(limits, passed, 0) + blocks * LOGGED.max(limits.request_seconds()));
        costs
    }

    /// Reads the lists of those who send in a window, and passes what they send on.
    pub fn gather<P: VertexProgram<Message = M>>(
        &self,
        program: &P,
        session: &Session,
        share: &Gather<P::Signal>,
    ) -> Result<()> {
        let &Gather { ref window, signals, sending, edges } = share;
        let sender = |_| {
            let outbox = Outbox {
                passing: &self.passing,
                counters: &session.counters,
                messages: Vec::with_capacity(OUTBOX),
                failed: None,
            };
            (outbox, self.kept.as_ref().map(Kept::shelf))
        };
        let send = |(outbox, shelf): &mut (Outbox<M>, Option<Shelf>), vertex: u64, list: List| {
            let signal = signals.of(vertex);
            list.neighbors().for_each(|target| outbox.push(target, program.carry(signal, 1.0)));
            if let Some(shelf) =
                shelf.as_mut().filter(|_| list.len() == self.rows.degree(vertex) as usize)
            {
                shelf.put(vertex, list);
            }
        };
        let mut senders = Vec::new();
        if let Some(kept) = &self.kept {
            let shelves = kept.take();
            senders = session.workers.over(shelves.len() as u64, 1, sender, |sender, range| {
                for shelf in &shelves[range.start as usize..range.end as usize] {
                    let edges =
                        kept.serve(shelf, sending, |vertex, list| send(sender, vertex, list));
                    session.counters.edges.fetch_add(edges, Relaxed);
                }
            });
        }
        let edges = edges.min(self.rows.edges());
        let stream = IoIterator::new(session, &self.rows).ordered(!M::EXACT).within(window.clone());
        let unserved =
            |group| sending.word(group) & !self.kept.as_ref().map_or(0, |kept| kept.served(group));
        senders.extend(stream.for_each(edges, unserved, sender, send)?);
        for (mut outbox, shelf) in senders {
            outbox.flush();
            outbox.failed.map_or(Ok(()), Err)?;
            self.kept.iter().zip(shelf).for_each(|(kept, shelf)| kept.put_back(shelf));
        }
        Ok(())
    }

    /// Whether something was sent to a interval.
    pub fn waits(&self, interval: usize) -> bool {
        let waiting = self.passing.buffers[interval].lock().expect("no holder panics");
        waiting.spilled || !waiting.targets.is_empty()
    }

    /// Hands out what was sent to a interval: vertex, counted from the interval's first, and message.
    /// Returns whether there was any.
    pub fn receive(
        &self,
        session: &Session,
        interval: usize,
        take: impl FnMut(usize, M),
    ) -> Result<bool> {
        self.passing.take(session, interval, take)
    }
}

impl<M: Monoid> Outbox<'_, M> {
    #[inline(always)]
    fn push(&mut self, target: u64, message: M) {
        if self.messages.len() == OUTBOX {
            self.flush();
        }
        self.messages.push((target, message));
    }

    /// Sorts by target, keeping the order of those to one target, merges them, and passes them on.
    fn flush(&mut self) {
        self.messages.sort_by_key(|&(target, _)| target);
        self.messages.dedup_by(|later, first| {
            let same = later.0 == first.0;
            if same {
                first.1.combine(later.1);
            }
            same
        });
        let mut rest = self.messages.as_slice();
        while let Some(&(target, _)) = rest.first() {
            let interval = self.passing.bounds.partition_point(|&bound| bound <= target) - 1;
            let (own, after) = rest.split_at(
                rest.partition_point(|&(target, _)| target < self.passing.bounds[interval + 1]),
            );
            if let Err(error) = self.passing.pass(self.counters, interval, own) {
                self.failed.get_or_insert(error);
            }
            rest = after;
        }
        self.messages.clear();
    }
}

impl<M: Monoid> Passing<M> {
    fn new(graph: &Graph, bounds: &[u64]) -> Result<Self> {
        let intervals = bounds.len() - 1;
        let block = block_bytes(intervals);
        Ok(Self {
            bounds: bounds.to_vec(),
            buffers: (0..intervals)
                .map(|_| {
                    Mutex::new(Waiting {
                        targets: Vec::new(),
                        messages: Vec::new(),
                        spilled: false,
                    })
                })
                .collect(),
            logs: Spill::create(graph.disk(), &graph.scratch_folder(), intervals, block)
                .map_err(EngineError::from)?,
            most: block / (4 + size_of::<M>()),
        })
    }

    fn pass(&self, counters: &Counters, interval: usize, mut messages: &[(u64, M)]) -> Result<()> {
        let mut waiting = self.buffers[interval].lock().expect("no holder panics");
        while !messages.is_empty() {
            let (now, after) =
                messages.split_at(messages.len().min(self.most - waiting.targets.len()));
            waiting
                .targets
                .extend(now.iter().map(|&(target, _)| (target - self.bounds[interval]) as u32));
            waiting.messages.extend(now.iter().map(|&(_, message)| message));
            if waiting.targets.len() == self.most {
                let block = [bytes_of(&waiting.targets), bytes_of(&waiting.messages)].concat();
                self.logs.append(interval, &block).map_err(EngineError::from)?;
                counters.bytes_written.fetch_add(block.len() as u64, Relaxed);
                waiting.spilled = true;
                waiting.targets.clear();
                waiting.messages.clear();
            }
            messages = after;
        }
        Ok(())
    }

    fn take(
        &self,
        session: &Session,
        interval: usize,
        mut take: impl FnMut(usize, M),
    ) -> Result<bool> {
        let extents = self.logs.take(interval);
        let (mut reader, mut block) = (
            self.logs.reader(),
            Waiting { targets: Vec::new(), messages: Vec::new(), spilled: false },
        );
        for &extent in &extents {
            let bytes = reader.read(extent).map_err(EngineError::from)?;
            session.counters.bytes_read.fetch_add(bytes.len() as u64, Relaxed);
            session.counters.useful_bytes.fetch_add(bytes.len() as u64, Relaxed);
            session.counters.requests.fetch_add(1, Relaxed);
            let (targets, messages) = bytes.split_at(self.most * 4);
            block.targets.clear();
            block.messages.clear();
            extend_from_bytes(&mut block.targets, targets);
            extend_from_bytes(&mut block.messages, messages);
            block
                .targets
                .iter()
                .zip(&block.messages)
                .for_each(|(&target, &message)| take(target as usize, message));
        }
        let any = !extents.is_empty();
        self.logs.free(extents);
        let mut waiting = self.buffers[interval].lock().expect("no holder panics");
        waiting.spilled = false;
        let Waiting { targets, messages, .. } = &mut *waiting;
        let any = any || !targets.is_empty();
        targets
            .drain(..)
            .zip(messages.drain(..))
            .for_each(|(target, message)| take(target as usize, message));
        Ok(any)
    }
}
