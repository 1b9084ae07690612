//! [`Resident`]: the edges of iterations with everything in memory. Each iteration reads all edges
//! from the grid, by segment of sources, or the lists of active vertices, whichever is predicted to
//! cost less.
//!
//! Memory for each vertex: a message, beside what every run has. A full scan combines messages into
//! an interval that one worker owns; on demand, messages are gathered by range and combined under
//! the range's lock, in the order of the rows where the monoid is not exact.

use std::sync::{Mutex, MutexGuard};

use outercore_storage::HugeVec;

use super::{
    edge_path::EdgePath,
    io_scheduling::{self, Scan},
    signals::Parts,
};
use crate::{
    config::ReadPolicy,
    edges::{
        grid::{Grid, combine::combine_all},
        io_iterator::IoIterator,
        rows::Rows,
    },
    error::Result,
    exchange::InMemory,
    frontier::Frontier,
    monoid::Monoid,
    program::VertexProgram,
    report::Costs,
    session::Session,
};

/// Vertices of an interval: a fixed size, so that sums are grouped alike whatever the graph's
/// partition is.
pub(crate) const INTERVAL: u64 = 1 << 14;

/// Seconds of a processor for each edge of a list whose message is gathered and combined under a
/// range's lock: about four times what an interval's owner pays.
const COMBINED: f64 = 16e-9;

/// The edges of a run, and the messages of an iteration.
pub(crate) struct Resident<M: Monoid> {
    /// By direction.
    edges: Vec<(Option<Rows>, Option<Grid>)>,
    inbox: Mutex<HugeVec<M>>,
}

impl<M: Monoid> Resident<M> {
    /// Opens the edges, and makes room for messages.
    pub(crate) fn open(session: &Session, paths: &[EdgePath]) -> Result<Self> {
        let cache = session.decision().room / paths.iter().map(EdgePath::ways).sum::<u64>();
        let open = |path: &EdgePath| {
            let rows = path
                .lists
                .map(|_| Rows::load(session, session.sections(&path.list_sections()), cache));
            let grid = path.grid.then(|| Grid::open(session, session.section("grid.words"), cache));
            Ok((rows.transpose()?, grid.transpose()?))
        };
        let edges = paths.iter().map(open).collect::<Result<_>>()?;
        let len = session.graph.connected();
        let mut inbox = HugeVec::zeroed(len as usize, session.config.huge_pages)?;
        // In parallel: most of the time goes into the memory's first touch.
        let intervals = 0..len.div_ceil(INTERVAL) as usize;
        let parts = Parts::cut(&mut inbox, intervals, |at| {
            INTERVAL.min(len - at as u64 * INTERVAL) as usize
        });
        session.workers.over(
            len,
            INTERVAL,
            |_| (),
            |(), range| {
                parts.get((range.start / INTERVAL) as usize).expect("its part").fill(M::IDENTITY);
            },
        );
        Ok(Self { edges, inbox: Mutex::new(inbox) })
    }

    /// Degrees along the first direction, where its lists have them.
    pub(crate) fn degrees(&self) -> Option<&[u32]> {
        self.edges[0].0.as_ref()?.degrees.as_slice()
    }

    /// The messages of an iteration.
    pub(crate) fn inbox(&self) -> MutexGuard<'_, HugeVec<M>> {
        self.inbox.lock().expect("no holder panics")
    }

    /// Carries signals of vertices that send along all edges; these have about `edges` edges.
    /// Returns how edges were read, and what was predicted where there was a choice.
    pub(crate) fn deliver<P: VertexProgram<Message = M>>(
        &self,
        program: &P,
        session: &Session,
        (signals, sending): (&[P::Signal], &Frontier),
        edges: u64,
    ) -> Result<(&'static str, Option<Costs>)> {
        let (mut done, mut inbox) = (("memory", None), self.inbox());
        for way in &self.edges {
            let predicted = match way {
                (Some(rows), Some(grid)) => {
                    let count = sending.count();
                    let scan = Scan { all_send: count == sending.len(), ..grid.a_scan };
                    let lists = (rows, count, edges, COMBINED);
                    Some(io_scheduling::predict::<M>(session, scan, lists))
                }
                _ => None,
            };
            let full = predicted.is_none_or(|costs| costs.full_seconds <= costs.on_demand_seconds)
                || session.config.read == ReadPolicy::Full;
            done = match way {
                (_, Some(grid)) if full => {
                    scan(program, session, grid, (signals, sending), &mut inbox)?;
                    ("full", predicted)
                }
                (rows, _) => {
                    let rows = rows.as_ref().expect("a direction has a grid or rows");
                    on_demand(program, session, rows, (signals, sending, edges), &mut inbox)?;
                    ("on-demand", predicted)
                }
            };
        }
        Ok(done)
    }
}

fn scan<P: VertexProgram>(
    program: &P,
    session: &Session,
    grid: &Grid,
    (signals, sending): (&[P::Signal], &Frontier),
    inbox: &mut [P::Message],
) -> Result<()> {
    let all_send = sending.count() == sending.len();
    grid.scan(
        session,
        inbox,
        |_| (),
        |(), inbox, block| {
            let base = block.segment as usize;
            if all_send {
                combine_all(program, block, &signals[base + block.first()..], inbox);
            } else {
                block.for_each(|source, target| {
                    if sending.contains((base + source) as u64) {
                        inbox[target].combine(program.carry(signals[base + source], 1.0));
                    }
                });
            }
        },
    )
    .map(drop)
}

fn on_demand<P: VertexProgram>(
    program: &P,
    session: &Session,
    rows: &Rows,
    (signals, sending, edges): (&[P::Signal], &Frontier, u64),
    inbox: &mut [P::Message],
) -> Result<()> {
    let (kind, weighted) = (session.graph.weights(), rows.weight_width > 0);
    let exchange = InMemory::new(inbox);
    let stream = IoIterator::new(session, rows).ordered(!P::Message::EXACT);
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
                list.neighbors()
                    .for_each(|target| exchange.send(sender, target, program.carry(signal, 1.0)));
            }
        },
    )?;
    exchange.collect(senders)
}
