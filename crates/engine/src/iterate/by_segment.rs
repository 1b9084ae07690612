//! Iterations with everything in memory. Each of them reads all edges from the grid, by segment of
//! sources, or the lists of active vertices, whichever is predicted to cost less.
//!
//! Memory for each vertex: a message, beside what every run has. A full scan combines messages into
//! an interval that one worker owns; on demand, messages are gathered by range and combined under
//! the range's lock, in the order of the rows where the monoid is not exact.

use std::sync::{
    Mutex,
    atomic::{AtomicU64, Ordering::Relaxed},
};

use outercore_storage::{Inbox, lock};

use super::{Delivered, INTERVAL, Resident, Run, edge_path::EdgePath};
use crate::{
    Monoid,
    config::ReadPolicy,
    edges::{
        grid::{Grid, combine::combine_all},
        io_iterator::IoIterator,
        rows::Rows,
    },
    program::VertexProgram,
    report::ReadMode,
    session::Session,
};
use outercore_graph::{Result, format::EdgeBlock};

/// Seconds of a processor for each edge of a list whose message is gathered and combined under a
/// range's lock: about four times what an interval's owner pays.
const COMBINED: f64 = 16e-9;

impl<M: Monoid> Resident<M> {
    /// Opens the edges, and makes room for messages.
    pub(crate) fn open(session: &Session, paths: &[EdgePath]) -> Result<Self> {
        let ways = |path: &EdgePath| u64::from(path.grid) + u64::from(path.lists.is_some());
        let cache = session.decision.room / paths.iter().map(ways).sum::<u64>();
        let open = |path: &EdgePath| {
            let lists = path.lists.map(|_| session.sections(&path.list_sections()));
            let rows = lists.map(|lists| Rows::load(session, lists, cache, false)).transpose()?;
            let grid = path.grid.then(|| Grid::open(session, session.section("grid.words"), cache));
            Ok((rows, grid.transpose()?))
        };
        let edges = paths.iter().map(open).collect::<Result<_>>()?;
        let mut inbox = session.zeroed(session.graph.connected())?;
        // In parallel: most of the time goes into the memory's first touch.
        let parts: Vec<_> = inbox.chunks_mut(INTERVAL as usize).map(Mutex::new).collect();
        session.workers.each(parts.len() as u64, 1, |part| {
            lock(&parts[part.start as usize]).fill(M::IDENTITY);
        });
        let takes = paths.iter().any(|path| path.takes);
        Ok(Self { edges, takes, inbox: Mutex::new(inbox) })
    }
}

impl<P: VertexProgram> Run<'_, P> {
    /// One iteration.
    pub(crate) fn by_segment(&self, resident: &Resident<P::Message>) -> Result<Delivered> {
        let mut inbox = lock(&resident.inbox);
        let done = self.deliver(resident, &mut inbox)?;
        let parts = self.parts(&mut inbox, &(0..self.sending.len()));
        self.each_in_place(|step, workspace| {
            let mut messages = parts.get(workspace.interval).expect("one for each interval");
            let touched = messages.iter().any(|message| *message != P::Message::IDENTITY);
            let total = workspace.total();
            total.fill(P::Message::IDENTITY);
            if touched {
                total.swap_with_slice(&mut messages);
            }
            self.apply(step, touched, workspace)
        })?;
        Ok(done)
    }

    /// Carries the signals of vertices that send along all edges.
    fn deliver(
        &self,
        resident: &Resident<P::Message>,
        inbox: &mut [P::Message],
    ) -> Result<Delivered> {
        let (mut signals, edges) = (self.signals(), self.total(|state| state.edges));
        let (mut done, mut lists) = ((ReadMode::OnDemand, None), Vec::new());
        for (rows, grid) in &resident.edges {
            let both = rows.as_ref().zip(grid.as_ref());
            let sent = self.sends_in_all();
            let costs =
                |sent| both.map(|(rows, grid)| self.costs(grid.a_scan, rows, sent, COMBINED));
            let predicted = costs(sent);
            let by_lists = self.prefers_lists(predicted, 1.0);
            let open = match rows.as_ref().filter(|_| !by_lists) {
                Some(rows) => self.open_vertices(rows)?.and_then(costs),
                None => None,
            };
            done = match (rows, grid) {
                (Some(rows), _) if self.prefers_lists(open, 1.0) => {
                    self.take_all(rows, &signals, inbox, |group| self.next_sending.word(group))?;
                    (ReadMode::OnDemand, open)
                }
                (_, Some(grid)) if !by_lists => {
                    self.silence(&(0..self.sending.len()), &mut signals);
                    self.scan(grid, &signals, inbox)?;
                    (ReadMode::Full, predicted)
                }
                (Some(rows), _) if resident.takes => {
                    self.take_all(rows, &signals, inbox, |_| u64::MAX)?;
                    (ReadMode::Full, None)
                }
                (rows, _) => {
                    lists.push(rows.as_ref().expect("it has a grid or rows"));
                    (ReadMode::OnDemand, predicted)
                }
            };
        }
        if lists.is_empty() {
            return Ok(done);
        }
        let (all, exchange) = (0..self.sending.len(), Inbox::new(inbox));
        self.gather_all((&lists, &exchange, None), all, &mut signals, edges)?;
        Ok(done)
    }

    fn scan(&self, grid: &Grid, signals: &[P::Signal], inbox: &mut [P::Message]) -> Result<()> {
        let (program, sending) = (&*self.program, &self.sending);
        let visit = |(): &mut (), inbox: &mut [P::Message], block: &EdgeBlock| {
            let base = block.segment as usize;
            let (first, last) = block.sources();
            if self.asks_none(sending.count_within(first, last), last - first + 1) {
                combine_all(program, block, &signals[base + block.first()..], inbox);
            } else {
                block.for_each(|source, target| {
                    if sending.contains((base + source) as u64) {
                        inbox[target].combine(program.carry(signals[base + source], 1.0));
                    }
                });
            }
        };
        grid.scan(self.session, inbox, |_| (), visit).map(drop)
    }

    /// Vertices that a message may change, and their edges, where these may be few. Until the next
    /// signals are made they are `next_sending`.
    fn open_vertices(&self, rows: &Rows) -> Result<Option<[u64; 2]>> {
        let session = self.session;
        let [count, edges] = [const { AtomicU64::new(0) }; 2];
        let may = |_: &_| {
            session.config.read == ReadPolicy::Auto
                && !session.graph.manifest().directed
                && self.precompute.is_none()
                && !self.is_by_paper()
                && 2 * self.sending.count() > self.sending.len()
        };
        let Some(is_settled) = P::SETTLED.filter(may) else { return Ok(None) };
        self.each_interval(|workspace| {
            let (range, mut own) = (workspace.vertices(), 0);
            let see = |values: &[P::Value]| {
                self.next_sending.replace(range.clone(), |vertex| {
                    let is_open =
                        !is_settled(self.program, &values[(vertex - range.start) as usize]);
                    own += u64::from(is_open) * u64::from(rows.degree(vertex));
                    is_open
                })
            };
            let open = self.values.read(workspace.interval, &mut workspace.values, see)?;
            count.fetch_add(open, Relaxed);
            edges.fetch_add(own, Relaxed);
            Ok(())
        })?;
        Ok(Some([count, edges].map(AtomicU64::into_inner)))
    }

    /// Some vertices take what the neighbors in their lists send.
    fn take_all(
        &self,
        rows: &Rows,
        signals: &[P::Signal],
        inbox: &mut [P::Message],
        wanted: impl Fn(u64) -> u64 + Sync,
    ) -> Result<()> {
        let all = 0..self.sending.len();
        let (step, parts) = (self.step(&all, signals), self.parts(inbox, &all));
        self.each_interval(|workspace| {
            let (first, worker) = (workspace.first, workspace.worker);
            let mut sums = parts.get(workspace.interval).expect("one for each interval");
            let lists = IoIterator::new(self.session, rows).within(workspace.vertices());
            lists.for_each_here(worker, &wanted, |vertex, list| {
                _ = self.take(&step, &mut sums[(vertex - first) as usize], list)
            })
        })
    }
}
