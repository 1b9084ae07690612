//! Hop counts in the undirected view: a breadth-first search along edges of both directions,
//! direction-optimizing, that keeps nothing but levels. These are in memory, or in logs on scratch;
//! who was reached is always known in memory, by a bit for each vertex.

use std::{
    ops::Range,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
};

use outercore_engine::{
    HugeVec, MemoryModel, Result,
    edges::{io_iterator::IoIterator, rows::Rows},
    frontier::Frontier,
    session::{OpenSection, Session},
};

use crate::{
    level_logs::{Batches, LOGS, LevelLogs, UNREACHED},
    lists,
};

/// Pull once the frontier has more than this share of the edges that nobody has looked at (GAPBS:
/// 15).
const ALPHA: u64 = 15;
/// Push again once the frontier is smaller than this share of the vertices (GAPBS: 18).
const BETA: u64 = 18;
/// Vertices of a window of a row index that slides.
const WINDOW: u64 = 1 << 18;

/// Each vertex's level in the last search.
pub enum Levels {
    /// In memory.
    Memory(HugeVec<AtomicU32>),
    /// On scratch.
    Logs {
        /// Of the last search.
        logs: Box<LevelLogs>,
        /// Bytes of memory for windows of vertices when the logs are read.
        room: u64,
    },
}

/// A search, ready to run from any vertex, again and again.
pub struct Search<'s> {
    session: &'s Session<'s>,
    rows: Vec<Rows>,
    slides: bool,
    /// Edges of the rows, both directions together.
    edges: u64,
    /// What the last search found.
    pub levels: Levels,
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
#[derive(Default)]
struct Found {
    vertices: u64,
    edges: u64,
    /// Where levels are logged.
    batches: Option<Batches>,
}

impl<'s> Search<'s> {
    /// Bytes for each vertex, in eighths: levels and three bitmaps.
    pub const EIGHTHS: u64 = 4 * 8 + 3;
    /// The same where levels are logged.
    pub const EIGHTHS_LOGGED: u64 = 3;
    /// Bytes of logs, beside windows of vertices when they are read.
    pub const LOGS: u64 = LOGS;

    /// A search over what [`lists::sections`] named; `room` bytes keep the front of the adjacency,
    /// and where levels are logged half of them are for windows of vertices.
    pub fn open(
        session: &'s Session<'s>,
        sections: &mut impl Iterator<Item = OpenSection>,
        model: MemoryModel,
        room: u64,
    ) -> Result<Self> {
        let directions = lists::directions(session.graph).len();
        let slides = model == MemoryModel::FullyExternal;
        let cache = if slides { room / 2 } else { room };
        let mut rows = Vec::new();
        for _ in 0..directions {
            let parts = sections.by_ref().take(3).collect();
            let load = if slides { Rows::sliding } else { Rows::load };
            rows.push(load(session, parts, cache / directions as u64)?);
        }
        let (len, huge) = (session.graph.connected(), session.config.huge_pages);
        let levels = if slides {
            Levels::Logs { logs: Box::new(LevelLogs::new(session, room / 2)?), room: room / 2 }
        } else {
            Levels::Memory(HugeVec::zeroed(len as usize, huge)?)
        };
        Ok(Self {
            session,
            rows,
            slides,
            edges: session.graph.manifest().arcs * directions as u64,
            levels,
            current: Frontier::new(len, huge)?,
            next: Frontier::new(len, huge)?,
            unvisited: Frontier::new(len, huge)?,
        })
    }

    /// Searches from `source`.
    pub fn run(&mut self, source: u64) -> Result<Reach> {
        let (session, len) = (self.session, self.session.graph.connected());
        let mark = session.mark();
        self.levels.forget(session)?;
        self.unvisited.fill();
        self.next.clear();
        let mut first = self.nothing();
        self.take(&mut first, source, 0);
        std::mem::swap(&mut self.current, &mut self.next);
        self.levels.logged(first.batches);
        self.levels.end_level()?;
        let mut reach = Reach { vertices: 1, depth: 0, farthest: source };
        let mut frontier = Found { vertices: 1, edges: self.edges_of(source), batches: None };
        let (mut unexplored, mut pulling) = (self.edges, false);
        loop {
            unexplored = unexplored.saturating_sub(frontier.edges);
            pulling = if pulling {
                frontier.vertices > len / BETA
            } else {
                frontier.edges > unexplored / ALPHA
            };
            let expected = if pulling { unexplored } else { frontier.edges };
            self.next.clear();
            let found = self.step(pulling, expected, reach.depth + 1)?;
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

    fn nothing(&self) -> Found {
        Found { batches: self.levels.batches(), ..Found::default() }
    }

    /// One level: those on the level before `level` reach their neighbors.
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
                let found = if pulling {
                    self.pull(&stream, expected, level)?
                } else {
                    self.push(&stream, expected, level)?
                };
                for part in found {
                    sum = Found {
                        vertices: sum.vertices + part.vertices,
                        edges: sum.edges + part.edges,
                        batches: None,
                    };
                    self.levels.logged(part.batches);
                }
            }
        }
        self.levels.end_level()?;
        Ok(sum)
    }

    /// Notes that `vertex` is on this level, unless somebody else did.
    #[inline(always)]
    fn take(&self, found: &mut Found, vertex: u64, level: u32) {
        if self.next.insert(vertex) {
            self.unvisited.remove(vertex);
            found.vertices += 1;
            found.edges += self.edges_of(vertex);
            match (&self.levels, &mut found.batches) {
                (Levels::Memory(levels), _) => levels[vertex as usize].store(level, Relaxed),
                (Levels::Logs { logs, .. }, Some(batches)) => logs.push(batches, vertex, 0),
                (Levels::Logs { .. }, None) => unreachable!("batches were made for these logs"),
            }
        }
    }

    fn push(&self, stream: &IoIterator, expected: u64, level: u32) -> Result<Vec<Found>> {
        stream.for_each(
            expected,
            |group| self.current.word(group),
            |_| self.nothing(),
            |found, _, list| {
                for target in list.neighbors() {
                    if self.unvisited.contains(target) {
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
            |_| self.nothing(),
            |found, vertex, list| {
                if list.neighbors().any(|neighbor| self.current.contains(neighbor)) {
                    self.take(found, vertex, level);
                }
            },
        )
    }
}

impl Levels {
    /// Nobody is on any level.
    fn forget(&mut self, session: &Session) -> Result<()> {
        match self {
            Levels::Memory(levels) => {
                let forget = |range: Range<u64>| {
                    range.for_each(|vertex| levels[vertex as usize].store(UNREACHED, Relaxed))
                };
                session.workers.over(
                    session.graph.connected(),
                    1 << 16,
                    |_| (),
                    |(), range| forget(range),
                );
            }
            Levels::Logs { logs, room } => **logs = LevelLogs::new(session, *room)?,
        }
        Ok(())
    }

    fn batches(&self) -> Option<Batches> {
        match self {
            Levels::Memory(_) => None,
            Levels::Logs { logs, .. } => Some(logs.batches()),
        }
    }

    /// Takes what a worker still has to log.
    fn logged(&self, batches: Option<Batches>) {
        if let (Levels::Logs { logs, .. }, Some(batches)) = (self, batches) {
            logs.take(batches);
        }
    }

    fn end_level(&mut self) -> Result<()> {
        match self {
            Levels::Memory(_) => Ok(()),
            Levels::Logs { logs, .. } => logs.end_level(),
        }
    }
}
