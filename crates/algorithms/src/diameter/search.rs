//! Hop counts in the undirected view: a breadth-first search along edges of both directions, direction-optimizing, that keeps nothing but levels.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use outercore_engine::{
    HugeVec, MemoryModel, Result,
    edges::{rows::Rows, stream::IoIterator},
    frontier::Frontier,
    session::{OpenSection, Session},
};

use crate::lists;

/// No level.
pub const UNREACHED: u32 = u32::MAX;
/// Pull once the frontier has more than this share of the edges that nobody has looked at (GAPBS: 15).
const ALPHA: u64 = 15;
/// Push again once the frontier is smaller than this share of the vertices (GAPBS: 18).
const BETA: u64 = 18;
/// Vertices of a window of a row index that slides.
const WINDOW: u64 = 1 << 18;

/// A search, ready to run from any vertex, again and again.
pub struct Search<'s> {
    session: &'s Session<'s>,
    rows: Vec<Rows>,
    slides: bool,
    /// Edges of the rows, both directions together.
    edges: u64,
    /// Each vertex's level in the last search.
    pub levels: HugeVec<AtomicU32>,
    current: Frontier,
    next: Frontier,
    /// Who was not reached in the last search.
    pub unvisited: Frontier,
}

/// What a search found.
#[derive(Clone, Copy, Debug)]
pub struct Reach {
    /// Vertices, the source among them.
    pub vertices: u64,
    /// The last level: the source's eccentricity.
    pub depth: u32,
    /// A vertex of the last level, the one with the smallest internal id.
    pub farthest: u64,
}

/// What a worker finds in a level.
#[derive(Clone, Copy, Default)]
struct Found {
    vertices: u64,
    edges: u64,
}

impl<'s> Search<'s> {
    /// Bytes for each vertex, in eighths: levels and three bitmaps.
    pub const EIGHTHS: u64 = 4 * 8 + 3;

    /// A search over what [`lists::sections`] named; `cache` bytes keep the front of the adjacency.
    pub fn open(
        session: &'s Session<'s>,
        sections: &mut impl Iterator<Item = OpenSection>,
        model: MemoryModel,
        cache: u64,
    ) -> Result<Self> {
        let directions = lists::directions(session.graph).len();
        let slides = model == MemoryModel::FullyExternal;
        let mut rows = Vec::new();
        for _ in 0..directions {
            let parts = sections.by_ref().take(3).collect();
            let load = if slides { Rows::sliding } else { Rows::load };
            rows.push(load(session, parts, cache / directions as u64)?);
        }
        let (len, huge) = (session.graph.connected(), session.config.huge_pages);
        Ok(Self {
            session,
            rows,
            slides,
            edges: session.graph.manifest().arcs * directions as u64,
            levels: HugeVec::zeroed(len as usize, huge)?,
            current: Frontier::new(len, huge)?,
            next: Frontier::new(len, huge)?,
            unvisited: Frontier::new(len, huge)?,
        })
    }

    /// Searches from `source`.
    pub fn run(&mut self, source: u64) -> Result<Reach> {
        let (session, len) = (self.session, self.session.graph.connected());
        let mark = session.mark();
        let levels = &self.levels;
        let forget = |range: std::ops::Range<u64>| range.for_each(|vertex| levels[vertex as usize].store(UNREACHED, Relaxed));
        session.workers.over(len, 1 << 16, |_| (), |(), range| forget(range));
        self.unvisited.fill();
        self.current.clear();
        self.current.insert(source);
        self.unvisited.remove(source);
        self.levels[source as usize].store(0, Relaxed);
        let mut reach = Reach { vertices: 1, depth: 0, farthest: source };
        let mut frontier = Found { vertices: 1, edges: self.edges_of(source) };
        let (mut unexplored, mut pulling) = (self.edges, false);
        loop {
            unexplored = unexplored.saturating_sub(frontier.edges);
            pulling = if pulling { frontier.vertices > len / BETA } else { frontier.edges > unexplored / ALPHA };
            let expected = if pulling { unexplored } else { frontier.edges };
            self.next.clear();
            let found = self.step(pulling, expected, reach.depth)?;
            if found.vertices == 0 {
                session.end_iteration(&mark, reach.vertices, "on-demand");
                return Ok(reach);
            }
            std::mem::swap(&mut self.current, &mut self.next);
            reach.depth += 1;
            reach.vertices += found.vertices;
            reach.farthest = self.current.iter(0..len).next().expect("somebody was found");
            frontier = found;
        }
    }

    /// The edges of a vertex; with an index that slides, those of an average one.
    fn edges_of(&self, vertex: u64) -> u64 {
        if self.slides {
            return self.edges / self.session.graph.connected().max(1) + 1;
        }
        self.rows.iter().map(|rows| u64::from(rows.degree(vertex))).sum()
    }

    /// One level: those on `level` reach their neighbors.
    fn step(&mut self, pulling: bool, expected: u64, level: u32) -> Result<Found> {
        let len = self.session.graph.connected();
        let window = if self.slides { WINDOW } else { len };
        let mut sum = Found::default();
        for direction in 0..self.rows.len() {
            for first in (0..len).step_by(window.max(1) as usize) {
                let range = first..(first + window).min(len);
                let active = if pulling { &self.unvisited } else { &self.current };
                if self.slides {
                    if !active.any(range.start, range.end - 1) {
                        continue;
                    }
                    self.rows[direction].slide(self.session, range.clone())?;
                }
                let stream = IoIterator::new(self.session, &self.rows[direction]).within(range);
                let found = if pulling { self.pull(&stream, expected, level)? } else { self.push(&stream, expected, level)? };
                for part in found {
                    sum = Found { vertices: sum.vertices + part.vertices, edges: sum.edges + part.edges };
                }
            }
        }
        Ok(sum)
    }

    /// Notes that `vertex` is on the level after `level`, unless somebody else did.
    #[inline(always)]
    fn take(&self, found: &mut Found, vertex: u64, level: u32) {
        if self.levels[vertex as usize].compare_exchange(UNREACHED, level + 1, Relaxed, Relaxed).is_ok() {
            self.next.insert(vertex);
            self.unvisited.remove(vertex);
            found.vertices += 1;
            found.edges += self.edges_of(vertex);
        }
    }

    fn push(&self, stream: &IoIterator, expected: u64, level: u32) -> Result<Vec<Found>> {
        stream.for_each(
            expected,
            |group| self.current.word(group),
            |_| Found::default(),
            |found, _, list| {
                for target in list.neighbors() {
                    if self.levels[target as usize].load(Relaxed) == UNREACHED {
                        self.take(found, target, level);
                    }
                }
            },
        )
    }

    fn pull(&self, stream: &IoIterator, expected: u64, level: u32) -> Result<Vec<Found>> {
        stream.for_each(
            expected,
            |group| self.unvisited.word(group),
            |_| Found::default(),
            |found, vertex, list| {
                if list.neighbors().any(|neighbor| self.current.contains(neighbor)) {
                    self.take(found, vertex, level);
                }
            },
        )
    }
}
