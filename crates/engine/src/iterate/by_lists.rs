//! Iterations by lists, where an interval of vertices at a time is at hand.
//!
//! - Vertices that are active send along their lists. What they send waits in an [`Exchange`] until
//!   the interval of the target comes in. Memory: a byte or so for each vertex for the degrees, an
//!   eighth for the index, and the exchange, which has a fixed size.
//! - Vertices take what their neighbors send, for edges that the grid does not have: those with
//!   weights, and those against their direction. The lists of an interval's vertices, of the
//!   direction from which signals come, are read in order. A vertex's messages are combined in the
//!   order of its list.

use std::{ops::Range, sync::Mutex};

use outercore_caches::RetainedLists;
use outercore_graph::{Graph, Result, WeightKind, format::List};

use outercore_storage::{LogShape, RecordLog, lock};

use super::{Run, Step, Workspace, signals::Signals};
use crate::{
    Frontier, Monoid,
    edges::{
        io_iterator::{IoIterator, SHARES},
        rows::Rows,
    },
    exchange::{Exchange, Sender},
    program::VertexProgram,
    session::Session,
};

/// Iterations over so many edges are done in shares, where the order of messages matters.
const SHARED: u64 = 1 << 18;

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
    retained: Option<Mutex<RetainedLists>>,
}

impl Role {
    /// Names of the sections.
    pub(crate) fn sections(self, weights: bool) -> Vec<String> {
        Rows::sections(if self == Role::Beside { "row" } else { "out" }, weights)
    }

    /// Bytes that they take beside what every run by interval has.
    pub(crate) fn bytes<M: Monoid>(
        self,
        graph: &Graph,
        (threads, weights): (usize, bool),
    ) -> Result<u64> {
        let grid = graph.grid()?;
        let (parts, widest) = (grid.intervals.len(), grid.widest() as u64);
        let shape = LogShape { threads, parts, widest };
        // Beside those of the degrees.
        let sums = graph.sums_bytes(&self.sections(weights)[1..]);
        Ok(Rows::small_bytes(graph)?
            // The vertices of retained lists.
            + Frontier::bytes(graph.connected())
            + sums
            + RecordLog::<M>::bytes(shape, 0)
            + (1 << 20))
    }
}

impl<M: Monoid> OnDemand<M> {
    /// Opens them; `keep` bytes are for lists that stay, `more` for messages.
    pub(crate) fn open(
        session: &Session,
        (role, weights): (Role, bool),
        bounds: &[u64],
        (keep, more): (u64, u64),
    ) -> Result<Self> {
        let rows = Rows::load_small(session, session.sections(&role.sections(weights)), 0)?;
        let retains = M::EXACT && session.config.cross_iteration.in_lists();
        let retained = retains.then(|| {
            // The entries' vector doubles, and then its old memory is there too.
            let (vertices, workers) = (session.graph.connected(), session.workers.count());
            let widths = [rows.width, rows.weight_width];
            let all = session.graph.manifest().arcs * (widths[0] + widths[1]) as u64;
            let most = (keep / 4 / workers as u64).min(all);
            RetainedLists::new(vertices, workers, most as usize, widths).map(Mutex::new)
        });
        let (retained, exchange) = (retained.transpose()?, Exchange::new(session, bounds, more)?);
        Ok(Self { role, rows, exchange, retained })
    }
}

impl<P: VertexProgram> Run<'_, P> {
    /// Vertices of a window send along their lists.
    pub(crate) fn send_along(
        &self,
        lists: &OnDemand<P::Message>,
        window: &Range<u64>,
    ) -> Result<()> {
        let mut signals = self.signals();
        if self.precompute.is_some() {
            return self.gather_early(lists, &mut signals);
        }
        self.gather(lists, window.clone(), &signals, self.total(|state| state.edges))
    }

    /// Reads the lists of those of these vertices that send, and passes their messages on; they
    /// have about so many edges. `signals` are those of the vertices that are no hubs.
    pub(crate) fn gather(
        &self,
        lists: &OnDemand<P::Message>,
        vertices: Range<u64>,
        signals: &[P::Signal],
        edges: u64,
    ) -> Result<()> {
        let OnDemand { rows, exchange, retained, .. } = lists;
        let signals = Signals::new(&self.hubs, signals, vertices.start);
        let mut retained = retained.as_ref().map(lock);
        let graph = self.session.graph;
        let kind = if P::WEIGHTED { graph.weights() } else { WeightKind::None };
        let stream = IoIterator::new(self.session, rows).ordered(!P::Message::EXACT);
        let mut stream = stream.within(vertices);
        if let Some(retained) = &mut retained {
            retained.turn();
            stream = stream.behind(&**retained);
        }
        let (edges, sending) = (edges.min(rows.edges()), |group| self.sending.word(group));
        let send = |sender: &mut Sender<_>, vertex, list: List| {
            let signal = signals.of(vertex);
            exchange.turn_to(sender, vertex);
            list.for_each_weighted(|target, weight| {
                let message = self.program.carry(signal, kind.value(weight));
                exchange.send(sender, target, message);
            });
        };
        if P::Message::EXACT || edges < SHARED {
            let senders = stream.for_each(edges, sending, |_| exchange.sender(), send)?;
            return exchange.collect(senders);
        }
        let first = exchange.shares(SHARES);
        let sender = |share| exchange.sender_of(first + share);
        stream.for_each_share(edges, sending, sender, send, |sender| exchange.collect([sender]))
    }

    /// The messages that were passed to an interval become its total, and reach its vertices.
    pub(crate) fn collect(
        &self,
        lists: &OnDemand<P::Message>,
        step: &Step<P>,
        workspace: &mut Workspace<P>,
    ) -> Result<bool> {
        workspace.total().fill(P::Message::IDENTITY);
        let touched = self.receive(lists, workspace)?;
        self.apply(step, touched, workspace)
    }

    /// Combines what waits for an interval with its total. Returns whether there was any.
    pub(crate) fn receive(
        &self,
        lists: &OnDemand<P::Message>,
        workspace: &mut Workspace<P>,
    ) -> Result<bool> {
        let (interval, first, total) = (workspace.interval, workspace.first, workspace.total());
        let combine = |target, message| total[(target - first) as usize].combine(message);
        Ok(lists.exchange.drain(interval, combine)? > 0)
    }

    /// One iteration by the lists of targets, or what a window of signals adds to it.
    pub(crate) fn pull(&self, window: &Range<u64>, rows: &Rows) -> Result<()> {
        self.fetch(window)?;
        let mut signals = self.signals();
        self.silence(window, &mut signals);
        let step = &self.step(window, &signals);
        self.each_interval(|workspace| {
            let mut touched = self.resume(workspace)?;
            let (worker, range) = (workspace.worker, workspace.vertices());
            let (first, total) = (range.start, workspace.total());
            let lists = IoIterator::new(self.session, rows).within(range);
            lists.for_each_here(
                worker,
                |_| u64::MAX,
                |vertex, list| {
                    touched |= self.take(step, &mut total[(vertex - first) as usize], list);
                },
            )?;
            self.finish(step, touched, workspace)
        })
    }

    /// Takes what the neighbors of a list send to its vertex, in their order. Returns whether there
    /// was any.
    #[inline(always)]
    pub(crate) fn take(&self, step: &Step<P>, sum: &mut P::Message, list: List) -> bool {
        let weights = self.session.graph.weights();
        let mut touched = false;
        let sends = |&(neighbor, _): &(u64, u64)| {
            step.window.contains(&neighbor) && self.sending.contains(neighbor)
        };
        for (neighbor, weight) in list.weighted().filter(sends) {
            touched = true;
            sum.combine(self.program.carry(step.signals.of(neighbor), weights.value(weight)));
        }
        touched
    }
}
