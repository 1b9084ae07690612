//! [`DeltaStepping`]: the smallest lengths of paths from one vertex, by windows of length (Meyer
//! and Sanders, 2003). Of the vertices whose length fell since their edges were last read, those
//! within `delta` of the smallest one are read together.
//!
//! A relaxation is one atomic minimum, so lengths do not depend on the order of events. While
//! values are on storage, a window of vertices is in memory at a time. A length for a vertex of
//! another window waits until that window comes in (vertex passing, Seraph, FAST'24). Windows in
//! which nothing lies within the bound stay out.
//!
//! Memory for each vertex: 8 bytes and two bits, beside the lists; fully externally the bits alone.

use outercore_graph::{Direction, PathLengths, Result};
use outercore_storage::Pod;

use super::lists::{Along, Lists};
use crate::{
    Frontier, IoIterator,
    exchange::{Exchange, Record},
    plan::{Planner, Resource},
    report::ReadMode,
    session::Session,
    state::{VertexArray, Window},
    techniques::Technique,
};

/// A search for the smallest lengths of paths that a plan has declared.
pub struct DeltaStepping {
    lists: Lists,
    /// Bytes of logs.
    logs: u64,
}

/// Vertices of a part of a parallel step.
const PART: u64 = 1 << 20;

impl DeltaStepping {
    /// Declares what a search along outgoing edges needs.
    pub fn declare(planner: &mut Planner) -> Result<Self> {
        planner.method("windows of distance (delta-stepping), lists read on demand");
        planner.external_method(Some(
            "windows of distance (delta-stepping), a window of vertices at a time",
        ));
        let graph = planner.job.graph;
        let frontiers = 2 * Frontier::bytes(graph.connected());
        planner.memory("frontiers", [frontiers; 2]);
        VertexArray::<u64>::declare(planner, "distances")?;
        Window::<u64>::declare(planner);
        let logs = Exchange::<Shorter>::declare(planner, usize::MAX, graph.manifest().arcs)?;
        planner.can(|decision| {
            Ok(Vec::from_iter(decision.is_external().then_some(Technique::VertexPassing)))
        });
        let lists = Lists { weighted: true, ..Lists::along(&[Direction::Out]) };
        Ok(Self { lists: planner.declare(lists)?, logs })
    }

    /// Searches from `source` in windows of `delta`, or of what suits weights and degrees. Returns
    /// the number of rounds, and the lengths. While they are in memory, `is_over` gets the vertices
    /// of each round. If it says so, `other` goes on: along the lists, from the lengths so far and
    /// the vertices to be followed.
    pub fn run(
        &self,
        session: &Session,
        (of, source, delta): (PathLengths, u64, Option<f64>),
        is_over: impl FnMut(u64) -> bool,
        other: impl FnOnce(Vec<IoIterator>, Window<u64>, Frontier) -> Result<VertexArray<u64>>,
    ) -> Result<(u64, VertexArray<u64>)> {
        let window = Window::open(session, VertexArray::of(session)?, of.unreached())?;
        let count = window.windows.len() - 1;
        // Lengths that are all at hand are not logged: lists have that memory.
        let spare = if session.decision.is_external() && count == 1 { self.logs } else { 0 };
        let lists = Lists { spare, ..self.lists.clone() }.open(session)?;
        let lists = lists.all(session);
        let mut search = WindowSearch {
            session,
            of,
            delta: delta
                .map_or_else(|| session.graph.mean_step().map(|step| step * 16.0), Ok)?
                .max(f64::MIN_POSITIVE),
            exchange: (count > 1)
                .then(|| Exchange::new(session, &window.windows, 0))
                .transpose()?,
            lists,
            window,
            current: 0,
            smallest: vec![u64::MAX; count],
            fell: session.no_vertices()?,
            active: session.no_vertices()?,
        };
        session.loaded();
        let (rounds, ended) = search.run(source, is_over)?;
        let WindowSearch { lists, window, fell, .. } = search;
        let found =
            if ended { window.give_back() } else { other(lists.on_request(), window, fell) };
        Ok((rounds, found?))
    }
}

/// A length on its way to a vertex of another window.
#[repr(transparent)]
#[derive(Clone, Copy)]
struct Shorter(u64);

// SAFETY: a number.
unsafe impl Pod for Shorter {}

impl Record for Shorter {
    const REMEMBERED: usize = 1 << 14;

    #[inline(always)]
    fn covers(&self, later: &Self) -> bool {
        self.0 <= later.0
    }

    #[inline(always)]
    fn key(&self) -> Option<u64> {
        Some(self.0)
    }
}

/// A search under way.
struct WindowSearch<'s> {
    session: &'s Session<'s>,
    of: PathLengths,
    delta: f64,
    lists: Along<'s>,
    window: Window<u64>,
    /// The number of the window in memory.
    current: usize,
    /// The smallest length in each window that fell.
    smallest: Vec<u64>,
    /// Lengths for other windows; `None`: there is no other.
    exchange: Option<Exchange<Shorter>>,
    /// Vertices whose length fell since their edges were last read.
    fell: Frontier,
    /// Those of them whose edges are read now.
    active: Frontier,
}

impl WindowSearch<'_> {
    /// Runs to the end, unless the source has no edges, or until `is_over` says so; returns the
    /// number of rounds, and whether nothing is left.
    fn run(&mut self, source: u64, mut is_over: impl FnMut(u64) -> bool) -> Result<(u64, bool)> {
        if source >= self.session.graph.connected() {
            return Ok((0, true));
        }
        self.bring(self.window.windows.partition_point(|&bound| bound <= source) - 1)?;
        self.window.lower(source, 0);
        self.fell.insert(source);
        self.smallest[self.current] = 0;
        let mut rounds = 0;
        while let Some(smallest) = self.smallest() {
            let (mark, bound) = (self.session.mark(), self.of.plus(smallest, self.delta));
            let (mut active, mut read, mut brought) = (0, 0, 0);
            while let Some(window) = self.next(bound) {
                brought += self.bring(window)?;
                let before = self.session.bytes_read();
                active += self.step(bound)?;
                read += self.session.bytes_read() - before;
                if !self.session.decision.is_external() {
                    // The bound follows the smallest length.
                    break;
                }
            }
            if brought > 2 * read {
                // Lengths that move to and fro cost more than lists that are read again.
                self.delta *= 2.0;
            }
            self.session.end_iteration(&mark, active, ReadMode::OnDemand);
            self.session.check()?;
            rounds += 1;
            if !self.session.decision.is_external() && is_over(active) {
                return Ok((rounds, false));
            }
        }
        Ok((rounds, true))
    }

    /// The smallest length with which a window is still to be worked on; else the largest number.
    fn smallest_in(&self, window: usize) -> u64 {
        let sent = self.exchange.as_ref().map_or(u64::MAX, |sent| sent.smallest_key(window));
        self.smallest[window].min(sent)
    }

    fn smallest(&self) -> Option<u64> {
        let windows = 0..self.smallest.len();
        windows.map(|at| self.smallest_in(at)).min().filter(|&smallest| smallest < u64::MAX)
    }

    /// A window with work below `bound`: the one in memory, or else the next in turn, so that what
    /// is sent to a window gathers until all others had their turn.
    fn next(&self, bound: u64) -> Option<usize> {
        let mut turns = (self.current..self.smallest.len()).chain(0..self.current);
        turns.find(|&window| self.smallest_in(window) < bound)
    }

    /// Puts a window into memory, and into it what was sent to it; returns the bytes that moved.
    fn bring(&mut self, window: usize) -> Result<u64> {
        let mut moved = self.window.bring(window)?;
        self.current = window;
        if let Some(exchange) = &self.exchange {
            let (smallest, lengths) = (&mut self.smallest[window], &self.window);
            let records = exchange.drain(window, |vertex, Shorter(length)| {
                if lengths.lower(vertex, length) {
                    self.fell.insert(vertex);
                    *smallest = length.min(*smallest);
                }
            })?;
            moved += records * size_of::<(u64, Shorter)>() as u64;
        }
        Ok(moved)
    }

    /// Relaxes the edges of the window's vertices that fell below `bound`; returns how many there
    /// are.
    fn step(&mut self, bound: u64) -> Result<u64> {
        let range = self.window.vertices.clone();
        let parts = self.session.workers.over(
            range.end - range.start,
            PART,
            |_| (0, 0, u64::MAX),
            |(vertices, edges, smallest), part| {
                let part = range.start + part.start..range.start + part.end;
                *vertices += self.fell.move_to(&self.active, part, |vertex| {
                    let length = self.window.load(vertex);
                    if length < bound {
                        *edges += self.lists.degree(vertex);
                    } else {
                        *smallest = length.min(*smallest);
                    }
                    length < bound
                });
            },
        );
        let (vertices, edges, others) =
            parts.into_iter().fold((0, 0, u64::MAX), |a, b| (a.0 + b.0, a.1 + b.1, b.2.min(a.2)));
        let fell = match self.exchange {
            None => self.relax::<true>(edges)?,
            Some(_) => self.relax::<false>(edges)?,
        };
        self.smallest[self.current] = fell.min(others);
        Ok(vertices)
    }

    /// Relaxes the edges of the active vertices; returns the smallest length in the window that
    /// fell. With `ALL`, the window has all vertices.
    fn relax<const ALL: bool>(&self, edges: u64) -> Result<u64> {
        let (window, exchange) = (&self.window, self.exchange.as_ref());
        let found = Along { vertices: window.vertices.clone(), ..self.lists.clone() }.for_each(
            edges,
            |group| self.active.word(group),
            |_| (u64::MAX, exchange.map(|exchange| exchange.sender())),
            |(smallest, sender), vertex, list| {
                let length = window.load(vertex);
                list.for_each_weighted(|target, weight| {
                    let through = self.of.add(length, weight);
                    if ALL || window.has(target) {
                        if window.lower(target, through) {
                            self.fell.insert(target);
                            *smallest = through.min(*smallest);
                        }
                    } else if let (Some(exchange), Some(sender)) = (exchange, &mut *sender) {
                        exchange.send(sender, target, Shorter(through));
                    }
                });
            },
        )?;
        let (smallest, senders): (Vec<_>, Vec<_>) = found.into_iter().unzip();
        exchange.map_or(Ok(()), |exchange| exchange.collect(senders.into_iter().flatten()))?;
        Ok(smallest.into_iter().min().unwrap_or(u64::MAX))
    }
}
