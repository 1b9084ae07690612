//! The lists of active vertices in a run by interval. What vertices send waits in an [`Exchange`]
//! until the interval of the target comes in.
//!
//! Memory: a byte or so for each vertex for the degrees, an eighth for the index, and the exchange,
//! which has a fixed size.

use std::sync::Mutex;

use outercore_graph::Graph;

use super::{
    cross_iteration::sciu::RetainedLists,
    io_scheduling::{self, Scan},
};
use crate::{
    edges::{degrees::Degrees, rows::Rows},
    error::Result,
    exchange::Exchange,
    frontier::Frontier,
    monoid::Monoid,
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
pub(crate) struct OnDemand<M: Monoid> {
    pub role: Role,
    pub rows: Rows,
    pub exchange: Exchange<M>,
    /// Lists that serve the next iteration too, where the order of messages does not matter.
    pub retained: Option<Mutex<RetainedLists>>,
}

impl Role {
    /// Names of the sections.
    pub(crate) fn sections(self) -> Vec<String> {
        Rows::sections_of(if self == Role::Beside { "row" } else { "out" }, false)
    }

    /// Bytes that they take beside what every run by interval has.
    pub(crate) fn bytes<M: Monoid>(self, graph: &Graph, threads: usize) -> Result<u64> {
        let intervals = graph.grid()?.intervals.len();
        // Beside those of the degrees.
        let sums = self.sections().into_iter().skip(1);
        Ok(Degrees::narrow_bytes(graph)?
            // The vertices of retained lists.
            + Frontier::bytes(graph.connected())
            + graph.connected() / 8
            + 16
            + sums.map(|name| OpenSection::sums_bytes_of(graph, &name)).sum::<u64>()
            + Exchange::<M>::buffers_bytes(intervals)
            + threads as u64 * Exchange::<M>::sender_bytes(intervals)
            + (1 << 20))
    }
}

impl<M: Monoid> OnDemand<M> {
    /// Opens them; `keep` bytes are for lists that stay.
    pub(crate) fn open(session: &Session, role: Role, bounds: &[u64], keep: u64) -> Result<Self> {
        let rows = Rows::load_narrow(session, session.sections(&role.sections()), 0)?;
        let retains = M::EXACT && session.config.cross_iteration.in_lists();
        let retained = retains.then(|| {
            // The entries' vector doubles, and then its old memory is there too.
            let (vertices, workers) = (session.graph.connected(), session.workers.count());
            let all = session.graph.manifest().arcs * rows.width as u64;
            let most = (keep / 4 / workers as u64).min(all);
            RetainedLists::new(vertices, workers, most as usize, rows.width).map(Mutex::new)
        });
        let (retained, exchange) = (retained.transpose()?, Exchange::new(session, bounds)?);
        Ok(Self { role, rows, exchange, retained })
    }

    /// What the next iteration is predicted to take: `count` active vertices with `edges` edges
    /// between them, against what the grid would be.
    pub(crate) fn costs(&self, session: &Session, count: u64, edges: u64, grid: Scan) -> Costs {
        let lists = (&self.rows, count, edges, MESSAGE);
        let mut costs = io_scheduling::predict::<M>(session, grid, lists);
        let limits = session.limits();
        let (passed, blocks) = self.exchange.logged(edges);
        costs.on_demand_seconds += 2.0
            * (io_scheduling::reading(limits, passed, 0)
                + blocks * LOGGED.max(limits.request_seconds()));
        costs
    }
}
