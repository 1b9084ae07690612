//! [`Lists`]: the adjacency lists of a run, as a resource of its plan. An author says along which
//! edges they lead; the plan decides how their index is kept and what memory caches them.
//!
//! Memory for each vertex and direction: about 4 bytes while values are in memory; about one byte
//! while they are on storage, or nothing where the index slides.

use std::{ops::Range, sync::Mutex};

use outercore_graph::{
    Direction, Graph, Result,
    error::refuse,
    format::{INDEX_GROUP, List, RowIndex},
};

use outercore_storage::{PAGE, lock, locked, unlocked};

use crate::{
    Frontier,
    edges::{
        heads::Heads,
        io_iterator::IoIterator,
        rows::{Rows, SMALL},
    },
    plan::{Planner, Resource},
    session::Session,
    techniques::{Technique, some_lists},
};

/// The adjacency lists of a run.
#[derive(Clone, Debug, Default)]
pub struct Lists {
    pub(super) directions: &'static [Direction],
    /// With the weights of the edges.
    pub weighted: bool,
    /// While values are on storage, a window of the index is in memory that slides along: memory
    /// does not grow with the graph, and degrees are not known.
    pub slides: bool,
    /// With the first incoming neighbor of each vertex.
    pub(super) heads: bool,
    /// Whether what memory is left keeps some of them.
    pub cached: bool,
    /// Bytes for that beside their share.
    pub(super) spare: u64,
    /// Whether it keeps the last ones instead of the first ones.
    pub last: bool,
    /// The techniques that reading them may use.
    pub can: &'static [Technique],
}

impl Lists {
    /// Lists along edges of these directions. In an undirected graph all directions are one.
    pub fn along(directions: &'static [Direction]) -> Self {
        Self { directions, cached: true, can: some_lists(true), ..Self::default() }
    }

    /// The directions that the graph has lists of; `None`: one is missing.
    fn distinct(&self, graph: &Graph) -> Option<Vec<Direction>> {
        let rows = self.directions.iter().map(|&direction| graph.rows(direction));
        let mut distinct = rows.collect::<Option<Vec<_>>>()?;
        distinct.dedup();
        Some(distinct)
    }

    /// Opens the directions that are not open yet. All of them share the memory that is for lists:
    /// those that are open keep less, and begin anew.
    pub(super) fn widen(&self, session: &Session, lists: &mut OpenLists) -> Result<()> {
        let decision = session.decision;
        let directions = self.distinct(session.graph).expect("the plan found them");
        let room = decision.share(self.cached.into()) + self.spare;
        let cache = room / directions.len() as u64;
        for (_, side) in &mut lists.sides {
            if let OneWay::Whole(rows) = side {
                rows.make_room(session, cache)?;
            }
        }
        for &direction in &directions[lists.sides.len()..] {
            let side = self.side(session, direction, cache, decision.is_external())?;
            lists.sides.push((direction, side));
        }
        Ok(())
    }

    /// Opens one direction, `cache` bytes of which may stay in memory.
    fn side(
        &self,
        session: &Session,
        direction: Direction,
        cache: u64,
        external: bool,
    ) -> Result<OneWay> {
        let sections = session.sections(&Rows::sections(direction.name(), self.weighted));
        let window = Rows::index_bytes(RowIndex::WINDOW);
        // The place of a window may hold an index of all vertices, which need not slide.
        if external && self.slides && Rows::small_bytes(session.graph)? > window {
            let rows = Rows::sliding(session, sections, cache)?;
            return Ok(OneWay::Sliding(Mutex::new(rows)));
        }
        let mut rows = Rows::load(session, sections, cache, self.cached || external)?;
        if self.last {
            rows.prefix.turn_to_end();
        }
        // What looks at first neighbors wants few lists.
        if !self.heads {
            rows.keep(session, SMALL)?;
        }
        Ok(OneWay::Whole(rows))
    }
}

impl Resource for Lists {
    type Opened = OpenLists;

    fn declare(&self, planner: &mut Planner) -> Result<()> {
        let graph = planner.job.graph;
        // Where little memory is left, a window that slides leaves more of it for other things.
        let whole = if self.cached {
            Rows::small_bytes(graph)?
        } else {
            Rows::index_bytes(graph.connected())
        };
        let window = if self.slides { Rows::index_bytes(RowIndex::WINDOW) } else { whole };
        let Some(directions) = self.distinct(graph) else {
            return refuse(format!(
                "{} needs the incoming edges, and the graph was built with --transpose off; build \
                 it again without",
                planner.algorithm()
            ));
        };
        let mut names = Vec::new();
        for (at, direction) in directions.into_iter().enumerate() {
            let name = if at == 0 { "row index" } else { "incoming index" };
            planner.memory(name, [whole, window.min(whole)]);
            let sections = Rows::sections(direction.name(), self.weighted);
            sections[2..].iter().for_each(|section| planner.edges(section.clone()));
            names.extend(sections);
        }
        if self.heads {
            planner.memory("first neighbors", [Heads::bytes(graph), 0]);
            names.push(Heads::section(graph));
        }
        let can = self.can;
        planner.can(move |_| Ok(can.to_vec()));
        planner.caches([self.cached.into(); 2]);
        planner.sections(move |_| Ok(names.clone()));
        Ok(())
    }

    fn open(&self, session: &Session) -> Result<OpenLists> {
        let mut lists = OpenLists { sides: Vec::new() };
        self.widen(session, &mut lists)?;
        Ok(lists)
    }
}

/// Lists that are open.
pub struct OpenLists {
    sides: Vec<(Direction, OneWay)>,
}

/// The lists of one direction.
pub(super) enum OneWay {
    /// The index of all vertices is in memory.
    Whole(Rows),
    /// That of a window is.
    Sliding(Mutex<Rows>),
}

impl OpenLists {
    /// Lists of one direction beside what was planned for: with a window of the index that slides,
    /// or with an index of all vertices, about a byte for each.
    pub(super) fn beside(session: &Session, direction: Direction, slides: bool) -> Result<Self> {
        let side = Lists { slides, ..Lists::along(&[]) }.side(session, direction, 0, true)?;
        Ok(Self { sides: vec![(direction, side)] })
    }

    /// The index of each direction; if it slides, its window has `vertex` from now on, if there is
    /// such a vertex.
    pub(super) fn indexes_at(
        &mut self,
        session: &Session,
        vertex: u64,
    ) -> impl Iterator<Item = Result<&RowIndex>> {
        self.sides.iter_mut().map(move |(_, side)| {
            let rows = match side {
                OneWay::Whole(rows) => rows,
                OneWay::Sliding(rows) => locked(rows),
            };
            let total = session.graph.connected();
            if vertex < total {
                rows.slide(session, rows.window_at(vertex, total))?;
            }
            Ok(&**rows)
        })
    }

    /// The edges of a vertex, in all directions: for vertices one after the other.
    pub fn degree(&mut self, session: &Session, vertex: u64) -> Result<u64> {
        if let [(_, OneWay::Whole(rows))] = &self.sides[..] {
            return Ok(rows.degree(vertex).into());
        }
        let indexes = self.indexes_at(session, vertex);
        indexes.map(|index| Ok(u64::from(index?.degree(vertex)))).sum()
    }

    /// The lists of one direction that was declared.
    ///
    /// # Panics
    /// If it was not.
    pub fn along<'l>(&'l self, session: &'l Session<'l>, direction: Direction) -> Along<'l> {
        let rows = session.graph.rows(direction);
        let at = self.sides.iter().position(|&(direction, _)| Some(direction) == rows);
        let at = at.unwrap_or_else(|| panic!("{direction:?} lists were not declared"));
        Along::of(session, &self.sides[at..=at])
    }

    /// The lists of all directions that were declared, one direction after the other.
    pub fn all<'l>(&'l self, session: &'l Session<'l>) -> Along<'l> {
        Along::of(session, &self.sides)
    }
}

/// Lists of one direction or of several, of all vertices or of some.
#[derive(Clone)]
pub struct Along<'l> {
    pub(super) session: &'l Session<'l>,
    pub(super) sides: &'l [(Direction, OneWay)],
    pub(super) vertices: Range<u64>,
    /// Lists come in ascending order of their vertices, to one worker: for sums whose order
    /// matters.
    pub(super) ordered: bool,
}

impl<'l> Along<'l> {
    fn of(session: &'l Session<'l>, sides: &'l [(Direction, OneWay)]) -> Self {
        Self { session, sides, vertices: 0..session.graph.connected(), ordered: false }
    }

    /// The lists of each direction, to be requested one by one. An index that slides has none.
    pub fn on_request(&self) -> Vec<IoIterator<'l>> {
        let whole = |(_, side): &'l (_, OneWay)| match side {
            OneWay::Whole(rows) => Some(IoIterator::new(self.session, rows)),
            OneWay::Sliding(_) => None,
        };
        self.sides.iter().filter_map(whole).collect()
    }

    /// Edges of all vertices.
    pub(crate) fn edges(&self) -> u64 {
        self.session.graph.manifest().arcs * self.sides.len() as u64
    }

    /// How many edges a vertex has. Where the index slides, the mean of all vertices.
    #[inline(always)]
    pub fn degree(&self, vertex: u64) -> u64 {
        let mut sum = 0;
        for (_, side) in self.sides {
            match side {
                OneWay::Whole(rows) => sum += u64::from(rows.degree(vertex)),
                OneWay::Sliding(_) => return self.edges() / self.session.graph.connected() + 1,
            }
        }
        sum
    }

    /// Edges of the members of a set.
    pub(crate) fn edges_of(&self, members: &Frontier) -> u64 {
        let edges = |range| members.iter(range).map(|vertex| self.degree(vertex)).sum();
        self.session.workers.sum(members.len(), 1 << 16, edges)
    }

    /// The index of the first direction.
    ///
    /// # Panics
    /// If it slides.
    pub(crate) fn index(&self) -> &Rows {
        let [(_, OneWay::Whole(rows)), ..] = self.sides else {
            panic!("the index has all vertices")
        };
        rows
    }

    /// How many pages of storage the lists of vertices that are `wanted` take in the first
    /// direction.
    ///
    /// # Panics
    /// If the index slides.
    pub(crate) fn pages(&self, wanted: impl Fn(u64) -> u64 + Sync) -> u64 {
        let (rows, groups) = (self.index(), self.vertices.end.div_ceil(INDEX_GROUP));
        let edges = (PAGE / rows.width) as u64;
        self.session.workers.sum(groups, 1 << 10, |groups| rows.pages(groups, &wanted, edges))
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
        for (_, side) in self.sides {
            side.for_each_window(self.session, &self.vertices, &wanted, |rows, window| {
                let states = IoIterator::new(self.session, rows)
                    .within(window)
                    .ordered(self.ordered)
                    .for_each(
                        expected,
                        &wanted,
                        |index| lock(&rested).pop().unwrap_or_else(|| state(index)),
                        &visit,
                    )?;
                lock(&rested).extend(states);
                Ok(())
            })?;
        }
        Ok(unlocked(rested))
    }

    /// The same on the calling worker alone, in ascending order of the vertices.
    pub(crate) fn for_each_here(
        &self,
        worker: usize,
        wanted: impl Fn(u64) -> u64,
        mut visit: impl FnMut(u64, List),
    ) -> Result<()> {
        self.sides.iter().try_for_each(|(_, side)| {
            side.for_each_window(self.session, &self.vertices, &wanted, |rows, window| {
                let lists = IoIterator::new(self.session, rows).within(window);
                lists.for_each_here(worker, &wanted, &mut visit)
            })
        })
    }
}

impl OneWay {
    /// Shows the index of all `vertices`, or of each window of them of which something is wanted.
    fn for_each_window(
        &self,
        session: &Session,
        vertices: &Range<u64>,
        wanted: impl Fn(u64) -> u64,
        mut show: impl FnMut(&Rows, Range<u64>) -> Result<()>,
    ) -> Result<()> {
        let rows = match self {
            OneWay::Whole(rows) => return show(rows, vertices.clone()),
            OneWay::Sliding(rows) => rows,
        };
        let (mut rows, total) = (lock(rows), session.graph.connected());
        let mut first = vertices.start;
        while first < vertices.end {
            let window = rows.window_at(first, total);
            let part = first..window.end.min(vertices.end);
            first = part.end;
            let groups = part.start / INDEX_GROUP..part.end.div_ceil(INDEX_GROUP);
            if groups.into_iter().any(|group| wanted(group) != 0) {
                rows.slide(session, window)?;
                show(&rows, part)?;
            }
        }
        Ok(())
    }
}
