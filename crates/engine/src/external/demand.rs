//! On-demand iterations of fully-external runs: the lists of active vertices are read from the
//! rows, and what they send waits in an [`Exchange`] until the interval of the target comes in.
//!
//! Memory: a byte or so for each vertex for the degrees, an eighth for the index, and the exchange,
//! which has a fixed size.

use std::ops::Range;

use outercore_graph::Graph;
use outercore_storage::Pod;

use super::signals::Signals;
use crate::{
    costs::{self, Lists, Scan},
    edges::{
        cache::retained_lists::{RetainedLists, Turn},
        degrees::Degrees,
        io_iterator::IoIterator,
        rows::Rows,
    },
    error::Result,
    exchange::Exchange,
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
    retained: Option<RetainedLists>,
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
        + RetainedLists::least_bytes(graph.connected())
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
        let retained =
            if keeps { Some(RetainedLists::new(session, keep, rows.width)?) } else { None };
        Ok(Self { rows, exchange: Exchange::new(session, bounds)?, retained })
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
        let turn = self.retained.as_ref().map(|lists| lists.turn(session.workers.count()));
        let mut stream =
            IoIterator::new(session, &self.rows).ordered(!M::EXACT).within(window.clone());
        if let Some(turn) = &turn {
            stream = stream.behind(turn);
        }
        let senders = stream.for_each(
            edges.min(self.rows.edges()),
            |group| sending.word(group),
            |_| self.exchange.sender(),
            |sender, vertex, list| {
                let signal = signals.of(vertex);
                list.neighbors().for_each(|target| {
                    self.exchange.send(sender, target, program.carry(signal, 1.0))
                });
            },
        )?;
        self.exchange.collect(senders)?;
        turn.into_iter().for_each(Turn::end);
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
