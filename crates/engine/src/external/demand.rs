//! On-demand iterations of fully-external runs: the lists of active vertices are read from the
//! rows, and what they send waits in an [`Exchange`] until the interval of the target comes in.
//!
//! Memory: a byte or so for each vertex for the degrees, an eighth for the index, and the exchange,
//! which has a fixed size.

use std::{ops::Range, sync::atomic::Ordering::Relaxed};

use outercore_graph::Graph;
use outercore_storage::Pod;

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
    error::Result,
    exchange::{Exchange, Sender},
    frontier::Frontier,
    limits::Limits,
    monoid::Monoid,
    program::VertexProgram,
    report::Costs,
    session::{OpenSection, Session},
};

/// Seconds of a processor for each message that is passed: measured, on a processor of 2023.
const MESSAGE: f64 = 80e-9;
/// Seconds that all workers wait for one block of a log, at the least: each waits for its own, and
/// there is nothing else in flight. Measured on an SSD of 3 GB/s.
const LOGGED: f64 = 190e-6;

/// What on-demand iterations need.
pub struct Demand<M: Monoid> {
    rows: Rows,
    exchange: Exchange<M>,
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

/// Bytes that on-demand iterations take beside what every fully-external run has.
pub fn bytes<P: VertexProgram>(graph: &Graph, prefix: &str, threads: usize) -> Result<u64> {
    let intervals = graph.grid()?.intervals.len();
    let index = graph.connected() / 8 + 16;
    let sums = ["index", "adjacency"]
        .map(|part| OpenSection::sums_bytes_of(graph, &format!("{prefix}.{part}")));
    Ok(Degrees::narrow_bytes(graph)?
        + Kept::least_bytes(graph.connected())
        + index
        + sums.iter().sum::<u64>()
        + Exchange::<P::Message>::buffers_bytes(intervals)
        + threads as u64 * Exchange::<P::Message>::sender_bytes(intervals)
        + (1 << 20))
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
        Ok(Self { rows, exchange: Exchange::new(session, bounds)?, kept })
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
        let (passed, blocks) = self.exchange.logged(edges);
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
        let sender = |_| (self.exchange.sender(), self.kept.as_ref().map(Kept::shelf));
        let send = |(sender, shelf): &mut (Sender<M>, Option<Shelf>), vertex: u64, list: List| {
            let signal = signals.of(vertex);
            list.neighbors()
                .for_each(|target| self.exchange.send(sender, target, program.carry(signal, 1.0)));
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
        let (senders, shelves): (Vec<_>, Vec<_>) = senders.into_iter().unzip();
        self.exchange.collect(senders)?;
        if let Some(kept) = &self.kept {
            shelves.into_iter().flatten().for_each(|shelf| kept.put_back(shelf));
        }
        Ok(())
    }

    /// Whether something was sent to an interval.
    pub fn waits(&self, interval: usize) -> bool {
        self.exchange.pending(interval)
    }

    /// Hands out what was sent to an interval: vertex and message. Returns whether there was any.
    pub fn receive(&self, interval: usize, take: impl FnMut(u64, M)) -> Result<bool> {
        Ok(self.exchange.drain(interval, take)? > 0)
    }
}
