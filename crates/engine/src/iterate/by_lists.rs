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
use outercore_graph::{
    Graph, Result, WeightKind,
    format::{GridDirectory, List},
};

use outercore_storage::{Carries, Fronted, LogShape, RecordLog, Sent, lock, promote};

use super::{Run, Step, Workspace};
use crate::{
    Frontier, Monoid,
    edges::{
        io_iterator::{IoIterator, SHARES},
        rows::Rows,
    },
    exchange::Exchange,
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

/// Lists, what carries the messages that are sent along them, and lists that were kept.
pub(crate) type Gathering<'l, R, E> = (R, &'l E, Option<&'l Mutex<RetainedLists>>);

/// The lists of active vertices, read where they are needed.
pub(crate) struct OnDemand<M: Monoid> {
    pub role: Role,
    pub rows: Rows,
    pub exchange: Exchange<M>,
    /// Lists that serve the next iteration too, where the order of messages does not matter.
    retained: Option<Mutex<RetainedLists>>,
}

impl Role {
    fn rows(self) -> &'static str {
        if self == Role::Beside { "row" } else { "out" }
    }

    /// Names of the sections.
    pub(crate) fn sections(self, weights: bool) -> Vec<String> {
        Rows::sections(self.rows(), weights)
    }

    /// About how many bytes are written to logs if all vertices send along them, with `more` memory
    /// for messages than the least; `early`: interval by interval, each of which is drained in its
    /// turn, too.
    pub(crate) fn logged<M: Monoid>(
        self,
        graph: &Graph,
        (threads, more, early): (usize, u64, bool),
    ) -> Result<u64> {
        let (grid, rows) = (graph.grid()?, self.rows());
        let (bounds, records) = (&grid.intervals, graph.edges_in(rows));
        let leads = graph.leads(rows, RecordLog::<M>::front(graph.connected()), bounds)?;
        let (collects, drains) = if early { (bounds.len() as u64 - 1, 2) } else { (1, 1) };
        let shares = (!M::EXACT && records >= SHARED).then_some(SHARES);
        let leads = &leads;
        let sent = Sent { bounds, records, leads, collects, shares, drains };
        Ok(RecordLog::<M>::expected(shape(&grid, threads), more, &sent))
    }

    /// Bytes that they take beside what every run by interval has.
    pub(crate) fn bytes<M: Monoid>(
        self,
        graph: &Graph,
        (threads, weights): (usize, bool),
    ) -> Result<u64> {
        let shape = shape(&*graph.grid()?, threads);
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

/// That of the log of a grid's intervals.
fn shape(grid: &GridDirectory, threads: usize) -> LogShape {
    LogShape { threads, parts: grid.intervals.len() - 1, widest: grid.widest() as u64 }
}

impl<M: Monoid> OnDemand<M> {
    /// Opens them; `keep` bytes are for lists that stay, `more` for messages.
    pub(crate) fn open(
        session: &Session,
        (role, weights): (Role, bool),
        bounds: &[u64],
        (keep, more): (u64, u64),
    ) -> Result<Self> {
        let rows = Rows::load(session, session.sections(&role.sections(weights)), 0, true)?;
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
        let (mut signals, edges) = (self.signals(), self.total(|state| state.edges));
        let (rows, retained) = (&[&lists.rows][..], lists.retained.as_ref());
        self.gather_all((rows, &*lists.exchange, retained), window.clone(), &mut signals, edges)
    }

    /// Those vertices of a window that are in the intervals of `split` send along their lists, and
    /// then send no more. Meanwhile the others are set aside, where the next ones will be.
    pub(crate) fn send_some(
        &self,
        lists: &OnDemand<P::Message>,
        window: &Range<u64>,
        split: &[bool],
    ) -> Result<()> {
        let (mut edges, intervals) = (0, self.values.within(window));
        for interval in intervals.clone() {
            let range = self.vertices(interval);
            self.next_sending.replace_words(range.clone(), |_| 0);
            if split[interval] {
                edges += self.state(interval).edges;
            } else {
                promote(&self.next_sending, &self.sending, range, true);
            }
        }
        let along = (&lists.rows, &*lists.exchange, lists.retained.as_ref());
        let gathered = self.gather(along, window.clone(), &self.signals(), edges);
        for interval in intervals {
            let range = self.vertices(interval);
            self.sending.replace_words(range.clone(), |_| 0);
            promote(&self.sending, &self.next_sending, range, true);
        }
        gathered
    }

    /// These vertices send along lists of several directions; some of them early, where that was
    /// asked for.
    pub(crate) fn gather_all(
        &self,
        lists: Gathering<&[&Rows], impl Carries<P::Message>>,
        vertices: Range<u64>,
        signals: &mut [P::Signal],
        edges: u64,
    ) -> Result<()> {
        if self.precompute.is_some() {
            return self.gather_early(lists, vertices, signals);
        }
        let (rows, exchange, retained) = lists;
        rows.iter().try_for_each(|&rows| {
            self.gather((rows, exchange, retained), vertices.clone(), signals, edges)
        })
    }

    /// Reads the lists of those of these vertices that send, and passes their messages on; they
    /// have about so many edges. `signals` are those of the vertices that are no hubs.
    pub(crate) fn gather<E: Carries<P::Message>>(
        &self,
        (rows, exchange, retained): Gathering<&Rows, E>,
        vertices: Range<u64>,
        signals: &[P::Signal],
        edges: u64,
    ) -> Result<()> {
        let signals = Fronted::new(&self.hubs, signals, vertices.start);
        let mut retained = retained.map(lock);
        let graph = self.session.graph;
        let kind = if P::WEIGHTED { graph.weights() } else { WeightKind::None };
        let stream = IoIterator::new(self.session, rows).ordered(!P::Message::EXACT);
        let mut stream = stream.within(vertices);
        if let Some(retained) = &mut retained {
            retained.turn();
            stream = stream.behind(&**retained);
        }
        let (edges, sending) = (edges.min(rows.edges()), |group| self.sending.word(group));
        let send = |sender: &mut E::Sender, vertex, list: List| {
            let signal = signals.of(vertex);
            exchange.turn_to(sender, vertex);
            list.for_each_weighted(|target, weight| {
                let message = self.program.carry(signal, kind.value(weight));
                exchange.send(sender, target, message);
            });
        };
        let shared = !P::Message::EXACT && edges >= SHARED;
        let Some(first) = shared.then(|| exchange.shares(SHARES)).flatten() else {
            let senders = stream.for_each(edges, sending, |_| exchange.sender(), send)?;
            return Ok(exchange.collect(senders)?);
        };
        let sender = |share| exchange.sender_of(first + share);
        let end = |sender| Ok(exchange.collect([sender])?);
        stream.for_each_share(edges, sending, sender, send, end)
    }

    /// The messages that were passed to an interval become its total, and reach its vertices.
    pub(crate) fn collect(
        &self,
        exchange: &impl Carries<P::Message>,
        step: &Step<P>,
        workspace: &mut Workspace<P>,
    ) -> Result<bool> {
        workspace.total().fill(P::Message::IDENTITY);
        let touched = self.receive(exchange, workspace)?;
        self.apply(step, touched, workspace)
    }

    /// Combines what waits for an interval with its total. Returns whether there was any.
    pub(crate) fn receive(
        &self,
        exchange: &impl Carries<P::Message>,
        workspace: &mut Workspace<P>,
    ) -> Result<bool> {
        let (interval, first, total) = (workspace.interval, workspace.first, workspace.total());
        let combine = |target, message| total[(target - first) as usize].combine(message);
        Ok(self.session.counters.passed(exchange.drain(interval, combine)?) > 0)
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
        list.for_each_weighted(|neighbor, weight| {
            if step.window.contains(&neighbor) && self.sending.contains(neighbor) {
                touched = true;
                sum.combine(self.program.carry(step.signals.of(neighbor), weights.value(weight)));
            }
        });
        touched
    }
}
