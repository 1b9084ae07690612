//! [`Lists`]: the adjacency lists of a run, as a resource of its plan. An author says along which
//! edges they lead; the plan decides how their index is kept and what memory caches them.
//!
//! Memory for each vertex and direction: about 4 bytes while values are in memory; about one byte
//! while they are on storage, or nothing where the index slides.

use std::{
    ops::Range,
    sync::{Mutex, MutexGuard, PoisonError},
};

use outercore_graph::{Direction, Graph, format::INDEX_GROUP};

use crate::{
    edges::{
        degrees::Degrees, heads::Heads, io_iterator::IoIterator, list::List, row_index::RowIndex,
        rows::Rows,
    },
    error::{EngineError, Result},
    frontier::Frontier,
    plan::{Planner, Resource},
    session::{OpenSection, Session},
};

/// Vertices of a window of an index that slides.
const WINDOW: u64 = 1 << 18;

/// The adjacency lists of a run.
#[derive(Clone, Debug)]
pub struct Lists {
    directions: Vec<Direction>,
    weighted: bool,
    slides: bool,
    heads: bool,
    cached: bool,
}

impl Lists {
    /// Lists along edges of these directions. In an undirected graph all directions are one.
    pub fn along(directions: &[Direction]) -> Self {
        let [weighted, slides, heads] = [false; 3];
        Self { directions: directions.to_vec(), weighted, slides, heads, cached: true }
    }

    /// With the weights of the edges.
    pub(crate) fn weighted(self) -> Self {
        Self { weighted: true, ..self }
    }

    /// While values are on storage, a window of the index is in memory that slides along: memory
    /// does not grow with the graph, and degrees are not known.
    pub(crate) fn sliding(self) -> Self {
        Self { slides: true, ..self }
    }

    /// With the first incoming neighbor of each vertex.
    pub(crate) fn first_neighbors(self) -> Self {
        Self { heads: true, ..self }
    }

    /// None of them stays in memory.
    pub(crate) fn uncached(self) -> Self {
        Self { cached: false, ..self }
    }

    /// The directions that the graph has lists of.
    fn distinct(&self, graph: &Graph, algorithm: &str) -> Result<Vec<Direction>> {
        let mut distinct = Vec::new();
        for &direction in &self.directions {
            let rows = graph.rows(direction).ok_or_else(|| {
                EngineError::Usage(format!(
                    "{algorithm} needs the incoming edges, and the graph was built with \
                     --transpose off; build it again without"
                ))
            })?;
            if !distinct.contains(&rows) {
                distinct.push(rows);
            }
        }
        Ok(distinct)
    }
}

impl Resource for Lists {
    type Opened = OpenLists;

    fn declare<'a>(&self, planner: &mut Planner<'a>) -> Result<()> {
        let graph = planner.job().graph;
        let (vertices, whole) = (graph.connected(), Rows::index_bytes(graph.connected()));
        let external = if self.slides {
            Rows::index_bytes(WINDOW).min(whole)
        } else {
            Degrees::narrow_bytes(graph)? + vertices / INDEX_GROUP * 8 + 16
        };
        let mut names = Vec::new();
        for (at, direction) in self.distinct(graph, planner.algorithm())?.into_iter().enumerate() {
            let name = if at == 0 { "row index" } else { "incoming index" };
            planner.memory(name, [whole, external]);
            let sections = Rows::sections(direction.name(), self.weighted);
            sections[2..].iter().for_each(|section| planner.edges(section.clone()));
            names.extend(sections);
        }
        if self.heads {
            planner.memory("first neighbors", [Heads::bytes(graph), 0]);
            names.push(Heads::section(graph));
        }
        planner.caches([self.cached.into(); 2]);
        planner.sections(move |_| Ok(names.clone()));
        Ok(())
    }

    fn open(&self, session: &Session) -> Result<OpenLists> {
        let (graph, decision) = (session.graph, session.decision());
        let directions = self.distinct(graph, "a run")?;
        let cache = decision.share(self.cached.into()) / directions.len() as u64;
        let mut sides = Vec::new();
        for &direction in &directions {
            let sections = sections(session, direction, self.weighted);
            sides.push(match (decision.is_external(), self.slides) {
                (false, _) => Side::Whole(Rows::load(session, sections, cache)?),
                (true, false) => Side::Whole(Rows::load_narrow(session, sections, cache)?),
                (true, true) => Side::Sliding(Mutex::new(Rows::sliding(session, sections, cache)?)),
            });
        }
        let heads =
            self.heads.then(|| Heads::open(session, !decision.is_external())).transpose()?;
        Ok(OpenLists { directions, sides, heads })
    }
}

/// Lists that are open.
pub struct OpenLists {
    directions: Vec<Direction>,
    sides: Vec<Side>,
    heads: Option<Heads>,
}

/// The lists of one direction.
enum Side {
    /// The index of all vertices is in memory.
    Whole(Rows),
    /// That of a window is.
    Sliding(Mutex<Rows>),
}

/// The sections of the lists of one direction, which the plan declared.
fn sections(session: &Session, direction: Direction, weighted: bool) -> Vec<OpenSection> {
    let names = Rows::sections(direction.name(), weighted);
    names.iter().map(|name| session.section(name)).collect()
}

impl OpenLists {
    /// Lists of one direction beside what was planned for, with a window of the index that slides.
    pub(crate) fn sliding(session: &Session, direction: Direction) -> Result<Self> {
        let rows = Rows::sliding(session, sections(session, direction, false), 0)?;
        let sides = vec![Side::Sliding(Mutex::new(rows))];
        Ok(Self { directions: vec![direction], sides, heads: None })
    }

    /// Bytes of memory of such lists.
    pub(crate) fn sliding_bytes(graph: &Graph) -> u64 {
        Rows::index_bytes(WINDOW.min(graph.connected()))
    }

    /// The same with an index of all vertices, about a byte for each.
    pub(crate) fn narrow(session: &Session, direction: Direction) -> Result<Self> {
        let rows = Rows::load_narrow(session, sections(session, direction, false), 0)?;
        Ok(Self { directions: vec![direction], sides: vec![Side::Whole(rows)], heads: None })
    }

    /// The index of each direction; if it slides, its window has `vertex` from now on.
    pub(crate) fn index_at(&mut self, session: &Session, vertex: u64) -> Result<Vec<&RowIndex>> {
        self.sides.iter_mut().map(|side| side.index_at(session, vertex)).collect()
    }

    /// The edges of a vertex, which is in the window of an index that slides from now on.
    pub(crate) fn degree_at(&mut self, session: &Session, vertex: u64) -> Result<u64> {
        self.sides.iter_mut().try_fold(0, |sum, side| {
            Ok(sum + u64::from(side.index_at(session, vertex)?.degree(vertex)))
        })
    }

    /// The lists of one direction that was declared.
    ///
    /// # Panics
    /// If it was not.
    pub fn along<'l>(&'l self, session: &'l Session<'l>, direction: Direction) -> Along<'l> {
        let rows = session.graph.rows(direction);
        let at = self.directions.iter().position(|&other| Some(other) == rows);
        let at = at.unwrap_or_else(|| panic!("{direction:?} lists were not declared"));
        Along::of(session, &self.sides[at..=at])
    }

    /// The lists of all directions that were declared, one direction after the other.
    pub fn all<'l>(&'l self, session: &'l Session<'l>) -> Along<'l> {
        Along::of(session, &self.sides)
    }

    /// The first neighbors, where they were declared.
    pub(crate) fn heads(&self) -> Option<&Heads> {
        self.heads.as_ref()
    }
}

/// Lists of one direction or of several, of all vertices or of some.
#[derive(Clone)]
pub struct Along<'l> {
    session: &'l Session<'l>,
    sides: &'l [Side],
    vertices: Range<u64>,
    ordered: bool,
}

impl<'l> Along<'l> {
    fn of(session: &'l Session<'l>, sides: &'l [Side]) -> Self {
        Self { session, sides, vertices: 0..session.graph.connected(), ordered: false }
    }

    /// Only those of these vertices.
    pub(crate) fn within(self, vertices: Range<u64>) -> Self {
        Self { vertices, ..self }
    }

    /// Lists come in ascending order of their vertices, to one worker: for sums whose order
    /// matters.
    pub(crate) fn ordered(self) -> Self {
        Self { ordered: true, ..self }
    }

    /// Edges of all vertices.
    pub(crate) fn edges(&self) -> u64 {
        self.session.graph.manifest().arcs * self.sides.len() as u64
    }

    /// How many edges a vertex has. Where the index slides, the mean of all vertices.
    #[inline(always)]
    pub fn degree(&self, vertex: u64) -> u64 {
        let mut sum = 0;
        for side in self.sides {
            match side {
                Side::Whole(rows) => sum += u64::from(rows.degree(vertex)),
                Side::Sliding(_) => return self.edges() / self.session.graph.connected() + 1,
            }
        }
        sum
    }

    /// Edges of the members of a set.
    pub fn edges_of(&self, members: &Frontier) -> u64 {
        let sums = self.session.workers.over(
            members.len(),
            1 << 16,
            |_| 0,
            |sum, range| *sum += members.iter(range).map(|vertex| self.degree(vertex)).sum::<u64>(),
        );
        sums.into_iter().sum()
    }

    /// Bounds of at most `count` parts of the vertices that have about equally many edges in the
    /// first direction.
    ///
    /// # Panics
    /// If the index slides.
    pub(crate) fn parts(&self, count: u64) -> Vec<u64> {
        let [Side::Whole(rows), ..] = self.sides else { panic!("the index has all vertices") };
        let (vertices, mut bounds) = (self.session.graph.connected(), vec![0]);
        for part in 1..count {
            let edges = rows.edges() / count * part;
            let (mut low, mut high) = (0, vertices / INDEX_GROUP);
            while low < high {
                let middle = low.midpoint(high);
                if rows.group_offset(middle) < edges { low = middle + 1 } else { high = middle }
            }
            bounds.push(low * INDEX_GROUP);
        }
        bounds.push(vertices);
        bounds.dedup();
        bounds
    }

    /// Shows the lists of vertices that are wanted, on all workers. `wanted` gets the number of a
    /// group of 64 vertices and answers with bits. `expected` is about how many edges there will
    /// be: a small step stays on one worker. `state` makes a worker's state, and all are returned.
    /// A long list comes in pieces, all of them to one worker.
    pub fn for_each<S: Send>(
        &self,
        expected: u64,
        wanted: impl Fn(u64) -> u64 + Sync,
        state: impl Fn(usize) -> S + Sync,
        visit: impl Fn(&mut S, u64, List) + Sync,
    ) -> Result<Vec<S>> {
        let rested: Mutex<Vec<S>> = Mutex::default();
        for side in self.sides {
            side.for_each_window(self.session, &self.vertices, &wanted, |rows, window| {
                let states = IoIterator::new(self.session, rows)
                    .within(window)
                    .ordered(self.ordered)
                    .for_each(
                        expected,
                        &wanted,
                        |index| locked(&rested).pop().unwrap_or_else(|| state(index)),
                        &visit,
                    )?;
                locked(&rested).extend(states);
                Ok(())
            })?;
        }
        Ok(rested.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// The same on the calling worker alone, in ascending order of the vertices.
    pub(crate) fn for_each_here(
        &self,
        worker: usize,
        wanted: impl Fn(u64) -> u64,
        mut visit: impl FnMut(u64, List),
    ) -> Result<()> {
        self.sides.iter().try_for_each(|side| {
            side.for_each_window(self.session, &self.vertices, &wanted, |rows, window| {
                let lists = IoIterator::new(self.session, rows).within(window);
                lists.for_each_here(worker, &wanted, &mut visit)
            })
        })
    }
}

impl Side {
    /// The index; if it slides, its window has `vertex` from now on, if there is such a vertex.
    fn index_at(&mut self, session: &Session, vertex: u64) -> Result<&RowIndex> {
        let rows = match self {
            Side::Whole(rows) => rows,
            Side::Sliding(rows) => rows.get_mut().unwrap_or_else(PoisonError::into_inner),
        };
        let total = session.graph.connected();
        if vertex < total && !rows.window.contains(&vertex) {
            let first = vertex / WINDOW * WINDOW;
            rows.slide(session, first..(first + WINDOW).min(total))?;
        }
        Ok(rows)
    }

    /// Shows the index of all `vertices`, or of each window of them of which something is wanted.
    fn for_each_window(
        &self,
        session: &Session,
        vertices: &Range<u64>,
        wanted: impl Fn(u64) -> u64,
        mut show: impl FnMut(&Rows, Range<u64>) -> Result<()>,
    ) -> Result<()> {
        let rows = match self {
            Side::Whole(rows) => return show(rows, vertices.clone()),
            Side::Sliding(rows) => rows,
        };
        let (mut rows, total) = (locked(rows), session.graph.connected());
        for first in (vertices.start / WINDOW * WINDOW..vertices.end).step_by(WINDOW as usize) {
            let window = first..(first + WINDOW).min(total);
            let part = window.start.max(vertices.start)..window.end.min(vertices.end);
            let groups = part.start / INDEX_GROUP..part.end.div_ceil(INDEX_GROUP);
            if groups.into_iter().any(|group| wanted(group) != 0) {
                if rows.window != window {
                    rows.slide(session, window)?;
                }
                show(&rows, part)?;
            }
        }
        Ok(())
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
