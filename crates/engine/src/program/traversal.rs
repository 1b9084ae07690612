//! [`Search`]: breadth-first search, direction-optimizing (Beamer, Asanovic and Patterson, SC'12),
//! over lists read on demand.
//!
//! A level is pushed (the frontier's lists are read) while the frontier is small, and pulled (the
//! lists of unvisited vertices are read) while it is large. Before a list is pulled, the vertex's
//! first in-neighbor is tried: it answers for most vertices, and their lists are never read. Where
//! a large frontier must be pushed, it is read in parts: what one has found, the next pass by.
//! Where no level can be pulled, a large one is a scan of the grid.
//!
//! Memory for each vertex: three bits, and what [`Lists`] and [`Levels`] take.

use std::sync::Mutex;

use outercore_graph::{
    Direction, Result,
    format::{INDEX_GROUP, List, first_edges},
};
use outercore_storage::{bitmap::members, bits_of, lock, unlocked};

use super::lists::{Along, Lists, OpenLists};
use crate::{
    Frontier,
    config::{ReadPolicy, SearchDirection},
    edges::{grid::Grid, heads::Heads},
    job::Job,
    plan::{Planner, Resource},
    report::ReadMode,
    session::Session,
    state::{Found, Levels, OpenLevels},
    techniques::Technique,
};

/// Pull once the frontier's edges exceed this share of the unvisited vertices' (GAPBS: 15).
const ALPHA: u64 = 15;
/// Push again once the frontier is smaller than this share of the vertices (GAPBS: 18).
const BETA: u64 = 18;

/// Where levels are not pulled, all edges are scanned once the frontier has this share of them.
const DENSE: u64 = 4;

/// Parts of a large frontier: how far each goes, as a shift of the number of vertices. What is
/// first finds most where hubs are first.
const PARTS: &[u32] = &[12, 9, 6, 3, 0];

const BOTH: &[Direction] = &[Direction::Out, Direction::In];

/// Searches, as a resource of a plan.
pub struct Search {
    lists: Lists,
    levels: Levels,
    /// Edges are followed both ways, and there are many searches.
    undirected: bool,
    /// Whether incoming lists can be read.
    pulls: bool,
    /// Levels with so many edges are scans of all edges; `u64::MAX`: none is.
    dense: u64,
}

impl Search {
    /// One search along outgoing edges, which finds levels and parents: of the in-neighbors on the
    /// level before, the parent is the one with the smallest internal id. Each level is an
    /// iteration of the report.
    pub fn along_edges(job: Job) -> Self {
        let graph = job.graph;
        // A grid that lacks edges is no use: the lists have them all.
        let (has_grid, read) = (graph.has_whole_grid(), job.config.read);
        let scans = read.scans() && has_grid;
        let pushes = scans || job.config.direction == SearchDirection::Push;
        let pulls = !pushes && graph.rows(Direction::In).is_some();
        let mut lists = Lists::along(&BOTH[..1 + usize::from(pulls)]);
        lists.heads = pulls;
        // Few frontiers are pushed; else a vertex may be found along every edge.
        let records = if pulls { 2 * graph.connected() } else { graph.manifest().arcs };
        if scans {
            lists.can = &[Technique::OnDemand];
        }
        let dense = match graph.manifest().arcs / DENSE + 1 {
            _ if scans => 0,
            some if has_grid && !pushes && !pulls && read == ReadPolicy::Auto => some,
            _ => u64::MAX,
        };
        Self {
            lists,
            levels: Levels { parents: true, records, weight: 0 },
            undirected: false,
            pulls,
            dense,
        }
    }

    /// Searches along edges of both directions, which find levels alone. Each search is an
    /// iteration of the report.
    pub fn undirected(job: Job) -> Self {
        Self {
            lists: Lists { slides: true, ..Lists::along(BOTH) },
            levels: Levels { parents: false, records: job.graph.connected(), weight: 1 },
            undirected: true,
            pulls: job.config.direction != SearchDirection::Push,
            dense: u64::MAX,
        }
    }
}

impl Resource for Search {
    type Opened = OpenSearch;

    fn declare(&self, planner: &mut Planner) -> Result<()> {
        let graph = planner.job.graph;
        let frontiers = 3 * Frontier::bytes(graph.connected());
        self.levels.declare(planner)?;
        planner.memory("frontiers", [frontiers; 2]);
        self.lists.declare(planner)?;
        let pushes = self.dense > 0;
        let turns = pushes && graph.rows(Direction::In).is_some();
        let scans = !self.undirected && graph.has_whole_grid();
        planner.can(move |_| {
            let can = [
                scans.then_some(Technique::FullPasses),
                pushes.then_some(Technique::Push),
                turns.then_some(Technique::Direction),
            ];
            Ok(can.into_iter().flatten().collect())
        });
        if self.dense < u64::MAX {
            planner.sections(|_| Ok(vec!["grid.words".to_owned()]));
        }
        if !self.undirected && pushes {
            // Frontiers of more are pulled, where the first neighbors are hubs that answer, or
            // scanned: on RMAT that takes two fifths of the lists' bytes.
            let share = match self.dense {
                _ if !graph.has_hubs() => 2,
                _ if self.pulls => ALPHA,
                0 | u64::MAX => 2,
                _ => 5,
            };
            planner.guess(0);
            planner.reads(2 * graph.list_bytes() / share);
        }
        planner.method(match self.dense {
            _ if self.pulls => "pushes small frontiers, pulls large ones",
            u64::MAX => "pushes every frontier",
            0 => "scans all edges",
            _ => "pushes small frontiers, scans all edges",
        });
        Ok(())
    }

    fn open(&self, session: &Session) -> Result<OpenSearch> {
        // Incoming lists are opened once a level pulls. Until then outgoing ones have all memory,
        // for their end: frontiers are small, and in one of many levels pages of short lists are
        // wanted again and again.
        let first = Lists { directions: &BOTH[..1], last: true, ..self.lists.clone() };
        let search = OpenSearch {
            lists: if first.heads { &first } else { &self.lists }.open(session)?,
            heads: None,
            others: first.heads.then(|| self.lists.clone()),
            grid: (self.dense < u64::MAX)
                .then(|| Grid::open(session, session.section("grid.words"), 0))
                .transpose()?,
            levels: self.levels.open(session)?,
            undirected: self.undirected,
            pulls: self.pulls,
            dense: self.dense,
            is_fresh: true,
            current: session.no_vertices()?,
            next: session.no_vertices()?,
            unvisited: session.no_vertices()?,
        };
        session.loaded();
        Ok(search)
    }
}

/// Searches that are ready to run, one after the other.
pub struct OpenSearch {
    lists: OpenLists,
    /// What is opened for the first level that pulls.
    others: Option<Lists>,
    heads: Option<Heads>,
    grid: Option<Grid>,
    dense: u64,
    /// What the last search has found.
    pub levels: OpenLevels,
    undirected: bool,
    pulls: bool,
    is_fresh: bool,
    current: Frontier,
    next: Frontier,
    /// The vertices that are on no level up to that of the frontier. After a search along edges of
    /// both directions: those that it has not reached.
    pub unvisited: Frontier,
}

impl OpenSearch {
    /// Searches from `source`. `each` is told of every level that has vertices, in order: its
    /// number, which is 0 for that of the source, how many vertices are on it, and which; and says
    /// whether to go on. Returns whether it did to the end.
    pub fn run(
        &mut self,
        session: &Session,
        source: u64,
        mut each: impl FnMut(u64, u64, &Frontier) -> bool,
    ) -> Result<bool> {
        let (search_mark, edges) = (session.mark(), self.push_lists(session).edges());
        self.begin(session, source)?;
        let mut goes_on = each(0, 1, &self.current);
        let (mut number, mut reached, mut vertices) = (0, 1, 1);
        let mut leaving = self.push_lists(session).degree(source);
        let (mut unexplored, mut pulling) = (edges.saturating_sub(leaving), false);
        while goes_on {
            let mark = session.mark();
            pulling = self.pulls
                && match pulling {
                    _ if session.config.direction == SearchDirection::Pull => true,
                    true => vertices > session.graph.connected() / BETA,
                    false => leaving > unexplored / ALPHA,
                };
            if pulling && let Some(others) = self.others.take() {
                others.widen(session, &mut self.lists)?;
                self.heads = Some(Heads::open(session, !session.decision.is_external())?);
            }
            let pushed = self.push_lists(session);
            let mut level = OneLevel { search: self, session, pushed, number: number as u32 + 1 };
            let grid = self.grid.as_ref().filter(|_| leaving >= self.dense);
            let mode = grid.map_or(ReadMode::OnDemand, |_| ReadMode::Full);
            let parts = match grid {
                Some(grid) => level.scan(grid)?,
                None if pulling => level.pull(unexplored, leaving)?,
                None => level.push(leaving)?,
            };
            let before = vertices;
            (vertices, leaving) = self.end_level(parts)?;
            if !self.undirected {
                session.end_iteration(&mark, before, mode);
            }
            if vertices == 0 {
                break;
            }
            (number, reached) = (number + 1, reached + vertices);
            unexplored = unexplored.saturating_sub(leaving);
            goes_on = each(number, vertices, &self.current);
        }
        if self.undirected {
            session.end_iteration(&search_mark, reached, ReadMode::OnDemand);
        }
        Ok(goes_on)
    }

    /// The lists, and what was found.
    pub fn into_parts(self) -> (OpenLists, OpenLevels) {
        (self.lists, self.levels)
    }

    /// The vertices that were found become the frontier. Returns how many, and their edges.
    fn end_level(&mut self, parts: Vec<Findings>) -> Result<(u64, u64)> {
        let vertices = parts.iter().map(|part| part.vertices).sum();
        let edges = parts.iter().map(|part| part.edges).sum();
        self.levels.end_level(parts.into_iter().map(|part| part.found))?;
        if !self.undirected {
            self.unvisited.remove_all(&self.next);
        }
        std::mem::swap(&mut self.current, &mut self.next);
        self.next.clear();
        Ok((vertices, edges))
    }

    /// The lists along which it searches.
    fn push_lists<'l>(&'l self, session: &'l Session<'l>) -> Along<'l> {
        if self.undirected {
            self.lists.all(session)
        } else {
            self.lists.along(session, Direction::Out)
        }
    }

    /// Nothing is found but the source.
    fn begin(&mut self, session: &Session, source: u64) -> Result<()> {
        if !std::mem::take(&mut self.is_fresh) {
            self.levels.forget(session)?;
        }
        self.unvisited.fill();
        self.unvisited.remove(source);
        self.current.clear();
        self.current.insert(source);
        let mut found = None;
        self.levels.find(&mut found, Some(0), source, source);
        self.levels.end_level([found])
    }
}

/// What a worker finds in a level.
#[derive(Default)]
struct Findings {
    vertices: u64,
    edges: u64,
    found: Found,
}

/// A level that is under way.
struct OneLevel<'l> {
    search: &'l OpenSearch,
    session: &'l Session<'l>,
    pushed: Along<'l>,
    number: u32,
}

impl OneLevel<'_> {
    /// Puts `vertex` on the level. Several workers may find it: one of them counts it.
    #[inline(always)]
    fn take(&self, part: &mut Findings, vertex: u64, parent: u64) {
        let search = self.search;
        let is_new = search.next.insert(vertex);
        if is_new {
            part.vertices += 1;
            part.edges += self.pushed.degree(vertex);
            if search.undirected {
                // Without parents it is not looked at again.
                search.unvisited.remove(vertex);
            }
        }
        if !search.undirected || is_new {
            search.levels.find(&mut part.found, is_new.then_some(self.number), vertex, parent);
        }
    }

    /// All edges, of which those from the frontier to unvisited vertices count. An interval's come
    /// to one worker, from ascending sources: what was found has no better parent later.
    fn scan(&self, grid: &Grid) -> Result<Vec<Findings>> {
        let OpenSearch { levels, current, next, unvisited, .. } = self.search;
        let mut parts = grid.for_each(
            self.session,
            |from, to| {
                self.session.config.read == ReadPolicy::Full
                    || current.any(from.0, from.1) && unvisited.any(to.0, to.1)
            },
            |_| Findings::default(),
            |part, block| {
                first_edges(block, current, [unvisited, next], &mut |source, target| {
                    part.vertices += 1;
                    levels.find(&mut part.found, Some(self.number), target, source);
                })
            },
        )?;
        parts[0].edges = self.pushed.edges_of(next);
        Ok(parts)
    }

    /// The frontier's lists. Those of a large one are read in [`PARTS`], in ascending order. What
    /// one part has found, later ones have no better parent for: they ask a bit, and not the array.
    fn push(&mut self, edges: u64) -> Result<Vec<Findings>> {
        let (search, rested) = (self.search, Mutex::new(vec![]));
        self.session.counters.note(Technique::Push, [1, 0]);
        let len = search.current.len();
        for bits in if edges > len { PARTS } else { &[0] } {
            let end = (len >> bits).next_multiple_of(INDEX_GROUP).min(len);
            self.pushed.vertices.end = end;
            let parts = self.pushed.for_each(
                edges,
                |group| search.current.word(group),
                |_| lock(&rested).pop().unwrap_or_default(),
                |part, vertex, list| {
                    list.for_each_weighted(|target, _| {
                        if search.unvisited.contains(target) {
                            self.take(part, target, vertex);
                        }
                    });
                },
            )?;
            lock(&rested).extend(parts);
            if *bits > 0 {
                search.unvisited.remove_all(&search.next);
            }
            self.pushed.vertices.start = end;
        }
        Ok(unlocked(rested))
    }

    /// The unvisited vertices: their first in-neighbor, where it is known, then the lists of those
    /// for which it does not answer, or those of the frontier where they take far fewer pages.
    fn pull(&mut self, unexplored: u64, leaving: u64) -> Result<Vec<Findings>> {
        let search = self.search;
        self.session.counters.note(Technique::Direction, [1, 0]);
        let (mut parts, mut edges, mut lists) =
            (Vec::new(), unexplored, search.lists.all(self.session));
        if let Some(heads) = &search.heads {
            parts = self.by_heads(heads)?;
            let found: u64 = parts.iter().map(|part| part.vertices).sum();
            edges = (search.unvisited.count() - found) * 8;
            lists = search.lists.along(self.session, Direction::In);
        }
        let wanted = |group: u64| {
            let bits = search.unvisited.word(group) & !search.next.word(group);
            if search.heads.is_none() {
                return bits;
            }
            // A list of one neighbor holds nothing beyond the head.
            bits_of(members(group, bits).filter(|&vertex| lists.degree(vertex) > 1))
        };
        let frontier = |group| search.current.word(group);
        // What is left after one such level is little, as a rule.
        let _once = search.heads.as_ref().map(|_| lists.index().prefix.pass_once());
        // Of a list that is pushed each edge is looked at, in a quarter of the time that it takes
        // to come to one of a list that is pulled.
        if search.heads.is_some()
            && leaving < 4 * edges
            && self.session.config.direction == SearchDirection::Auto
            && 3 * self.pushed.pages(frontier) < 2 * lists.pages(wanted)
        {
            search.unvisited.remove_all(&search.next);
            parts.extend(self.push(leaving)?);
            return Ok(parts);
        }
        // A long list comes in pieces, each of which may have a parent.
        let look = |part: &mut Findings, vertex, list: List| {
            if let Some(parent) = list.neighbors().find(|&from| search.current.contains(from)) {
                self.take(part, vertex, parent);
            }
        };
        parts.extend(lists.for_each(edges, wanted, |_| Findings::default(), look)?);
        Ok(parts)
    }

    /// The vertices whose first in-neighbor is in the frontier.
    fn by_heads(&self, heads: &Heads) -> Result<Vec<Findings>> {
        let search = self.search;
        heads.for_each_group(
            self.session,
            |group| search.unvisited.word(group) != 0,
            |_| Findings::default(),
            |part, group, heads| {
                for vertex in members(group, search.unvisited.word(group)) {
                    match heads.get(vertex) {
                        Some(head) if search.current.contains(head) => {
                            self.take(part, vertex, head)
                        }
                        Some(_) => {}
                        // Nothing leads to it.
                        None => search.unvisited.remove(vertex),
                    }
                }
            },
        )
    }
}
