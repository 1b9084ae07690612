//! The lists of active vertices in a run by interval. What vertices send waits in an [`Exchange`]
//! until the interval of the target comes in.
//!
//! Memory: a byte or so for each vertex for the degrees, an eighth for the index, and the exchange,
//! which has a fixed size.

use std::ops::Range;

use outercore_graph::Graph;

use super::{
    cross_iteration::sciu::{RetainedLists, Turn},
    io_scheduling::{self, Scan},
    signals::Signals,
};
use crate::{
    edges::{degrees::Degrees, io_iterator::IoIterator, rows::Rows},
    error::Result,
    exchange::Exchange,
    frontier::Frontier,
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

/// What lists of active vertices are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// They are read where that is cheaper than the grid.
    Choice,
    /// They are read in every iteration: there is no grid, or vertices are computed early.
    Instead,
    /// They have the edges that the grid does not have, and are read in every iteration.
    Beside,
}

/// The lists of active vertices, read where they are needed.
pub(crate) struct OnDemand<'r, M: Monoid> {
    pub role: Role,
    session: &'r Session<'r>,
    rows: Rows,
    exchange: Exchange<M>,
    /// Lists that serve the next iteration too, where the order of messages does not matter.
    retained: Option<RetainedLists>,
}

impl Role {
    /// The beginning of the lists' names.
    fn prefix(self) -> &'static str {
        if self == Role::Beside { "row" } else { "out" }
    }

    /// Names of the sections.
    pub(crate) fn sections(self) -> Vec<String> {
        Rows::sections(self.prefix(), false)
    }

    /// Bytes that they take beside what every run by interval has.
    pub(crate) fn bytes<P: VertexProgram>(self, graph: &Graph, threads: usize) -> Result<u64> {
        let intervals = graph.grid()?.intervals.len();
        let sums = ["index", "adjacency"]
            .map(|part| OpenSection::sums_bytes_of(graph, &format!("{}.{part}", self.prefix())));
        Ok(Degrees::narrow_bytes(graph)?
            + RetainedLists::least_bytes(graph.connected())
            + graph.connected() / 8
            + 16
            + sums.iter().sum::<u64>()
            + Exchange::<P::Message>::bytes(threads, intervals)
            + (1 << 20))
    }
}

impl<'r, M: Monoid> OnDemand<'r, M> {
    /// Opens them; `keep` bytes are for lists that stay.
    pub(crate) fn open(
        session: &'r Session<'r>,
        role: Role,
        bounds: &[u64],
        keep: u64,
    ) -> Result<Self> {
        let rows = Rows::load_narrow(session, session.sections(&role.sections()), 0)?;
        let retains = M::EXACT && session.config.cross_iteration.in_lists();
        let retained =
            if retains { Some(RetainedLists::new(session, keep, rows.width)?) } else { None };
        Ok(Self { role, session, rows, exchange: Exchange::new(session, bounds)?, retained })
    }

    /// What the next iteration is predicted to take: `count` active vertices with `edges` edges
    /// between them, against what the grid would be.
    pub(crate) fn costs(&self, count: u64, edges: u64, grid: Scan) -> Costs {
        let lists = (&self.rows, count, edges, MESSAGE);
        let mut costs = io_scheduling::predict::<M>(self.session, grid, lists);
        let limits = self.session.limits();
        let (passed, blocks) = self.exchange.logged(edges);
        costs.on_demand_seconds += 2.0
            * (io_scheduling::reading(limits, passed, 0)
                + blocks * LOGGED.max(limits.request_seconds()));
        costs
    }

    /// Reads the lists of those of these vertices that send, and passes their messages on; they
    /// have about so many edges.
    pub(crate) fn gather<P: VertexProgram<Message = M>>(
        &self,
        program: &P,
        vertices: Range<u64>,
        signals: Signals<P::Signal>,
        sending: &Frontier,
        edges: u64,
    ) -> Result<()> {
        let turn = self.retained.as_ref().map(|lists| lists.turn(self.session.workers.count()));
        let mut stream =
            IoIterator::new(self.session, &self.rows).ordered(!M::EXACT).within(vertices);
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

    /// Whether messages wait for an interval.
    pub(crate) fn pending(&self, interval: usize) -> bool {
        self.exchange.pending(interval)
    }

    /// Combines what waits for an interval with the sums of its vertices, from `first` on. Returns
    /// whether there was any.
    pub(crate) fn receive(&self, interval: usize, first: u64, sums: &mut [M]) -> Result<bool> {
        let combine = |target, message| sums[(target - first) as usize].combine(message);
        Ok(self.exchange.drain(interval, combine)? > 0)
    }
}
