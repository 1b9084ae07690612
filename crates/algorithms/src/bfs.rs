//! Breadth-first search, direction-optimizing (Beamer, Asanovic and Patterson, SC'12), over lists read on demand.
//!
//! A level is pushed (the frontier's out-lists are read) while the frontier is small, and pulled (the in-lists of unvisited vertices are read) while it is large. Before a list is
//! pulled, the vertex's first in-neighbor, its largest hub, is tried in memory: it answers for most, and their lists are never read.
//!
//! A vertex's parent is its in-neighbor of the level before with the smallest internal id, in both directions and whatever the threads do.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use outercore_engine::{
    Column, Figure, HugeVec, Isolated, Meaning, Outcome, Plan, Result, RunConfig, RunProgress, Values,
    budget::Needs,
    edges::{heads::Heads, rows::Rows, stream::IoIterator},
    frontier::Frontier,
    plan::PlanItem,
    session::Session,
};
use outercore_graph::{Direction, Graph};

use crate::{
    algorithm::{Algorithm, Source},
    finish::{Done, Summary, fits_32_bits, locate, open, outcome, row_sections},
};

/// Breadth-first search from one vertex.
#[derive(Clone, Debug)]
pub struct Bfs {
    /// Where it starts.
    pub source: Source,
}

const UNREACHED: u32 = u32::MAX;
/// Pull once the frontier's edges exceed this share of the unvisited vertices' (GAPBS: 15).
const ALPHA: u64 = 15;
/// Push again once the frontier is smaller than this share of the vertices (GAPBS: 18).
const BETA: u64 = 18;

impl Bfs {
    /// Whether levels can be pulled: an undirected graph, or one with its transpose.
    fn pulls(graph: &Graph) -> bool {
        graph.rows(Direction::In).is_some()
    }

    fn needs(&self, graph: &Graph) -> Result<Needs> {
        let vertices = graph.connected();
        let index = Rows::index_bytes(graph);
        let mut resident = vec![
            PlanItem { name: "levels, parents", bytes: vertices * 8 },
            PlanItem { name: "frontiers", bytes: 3 * Frontier::bytes(vertices) },
            PlanItem { name: "row index", bytes: index },
        ];
        let mut edges: Vec<String> = row_sections(graph, Direction::Out, false)?.split_off(2);
        if Self::pulls(graph) {
            resident.push(PlanItem { name: "first neighbors", bytes: Heads::bytes(graph) });
            if graph.directed() {
                resident.push(PlanItem { name: "incoming index", bytes: index });
                edges.extend(row_sections(graph, Direction::In, false)?.split_off(2));
            }
        }
        let method = if Self::pulls(graph) {
            "direction-optimizing: pushes small frontiers, pulls large ones"
        } else {
            "pushes every frontier (no transpose)"
        };
        Ok(Needs { algorithm: self.name(), method: method.to_owned(), resident, external: None, edges, scans: None })
    }
}

/// The state of a search.
struct Search<'s> {
    session: &'s Session<'s>,
    out: &'s Rows,
    incoming: Option<(&'s Rows, &'s Heads)>,
    levels: HugeVec<AtomicU32>,
    parents: HugeVec<AtomicU32>,
    current: Frontier,
    next: Frontier,
    unvisited: Frontier,
}

/// What a worker counts in a level.
#[derive(Clone, Copy, Default)]
struct Found {
    vertices: u64,
    edges: u64,
}

impl Search<'_> {
    /// Runs to the end; returns vertices reached and the number of the last level.
    fn run(&mut self, source: u64) -> Result<(u64, u64)> {
        self.levels[source as usize].store(0, Relaxed);
        self.parents[source as usize].store(source as u32, Relaxed);
        self.current.insert(source);
        self.unvisited.remove(source);
        let mut frontier = Found { vertices: 1, edges: u64::from(self.out.degrees[source as usize]) };
        let (mut reached, mut level, mut unexplored) = (1, 0u64, self.out.edges() - frontier.edges);
        let mut pulling = false;
        loop {
            let mark = self.session.mark();
            let active = frontier.vertices;
            pulling = self.incoming.is_some()
                && if pulling { frontier.vertices > self.session.graph.connected() / BETA } else { frontier.edges > unexplored / ALPHA };
            let found = if pulling { self.pull(level as u32)? } else { self.push(level as u32, frontier.edges)? };
            std::mem::swap(&mut self.current, &mut self.next);
            self.next.clear();
            self.session.end_iteration(&mark, active, "on-demand");
            if found.vertices == 0 {
                return Ok((reached, level));
            }
            reached += found.vertices;
            unexplored = unexplored.saturating_sub(found.edges);
            frontier = found;
            level += 1;
        }
    }

    /// The frontier's out-lists.
    fn push(&self, level: u32, edges: u64) -> Result<Found> {
        let found = IoIterator::new(self.session, self.out).for_each(
            edges,
            |group| self.current.word(group),
            |_| Found::default(),
            |found, vertex, list| {
                for target in list.neighbors() {
                    let at = target as usize;
                    let known = self.levels[at].load(Relaxed);
                    if known <= level {
                        continue;
                    }
                    // Several workers may find the vertex: the level is the same for all, the parent is the smallest.
                    self.parents[at].fetch_min(vertex as u32, Relaxed);
                    if known == UNREACHED && self.levels[at].compare_exchange(UNREACHED, level + 1, Relaxed, Relaxed).is_ok() {
                        self.next.insert(target);
                        self.unvisited.remove(target);
                        found.vertices += 1;
                        found.edges += u64::from(self.out.degrees[at]);
                    }
                }
            },
        )?;
        Ok(sum(found))
    }

    /// The unvisited vertices: their first in-neighbor in memory, then the in-lists of those for which it does not answer.
    fn pull(&self, level: u32) -> Result<Found> {
        let (rows, heads) = self.incoming.expect("pulled only with incoming edges");
        let take = |found: &mut Found, vertex: u64, parent: u64| {
            let at = vertex as usize;
            self.parents[at].store(parent as u32, Relaxed);
            self.levels[at].store(level + 1, Relaxed);
            self.next.insert(vertex);
            found.vertices += 1;
            found.edges += u64::from(self.out.degrees[at]);
        };
        let groups = self.session.graph.connected().div_ceil(64);
        let pending = AtomicU64::new(0);
        let by_head = self.session.workers.over(
            groups,
            1 << 10,
            |_| Found::default(),
            |found, range| {
                for group in range {
                    let mut bits = self.unvisited.word(group);
                    while bits != 0 {
                        let vertex = group * 64 + u64::from(bits.trailing_zeros());
                        bits &= bits - 1;
                        match heads.get(vertex) {
                            Some(head) if self.current.contains(head) => {
                                take(found, vertex, head);
                                self.unvisited.remove(vertex);
                            }
                            Some(_) => {}
                            None => self.unvisited.remove(vertex),
                        }
                    }
                    pending.fetch_add(u64::from(self.unvisited.word(group).count_ones()), Relaxed);
                }
            },
        );
        // A list of one neighbor holds nothing beyond the head.
        let wanted = |group: u64| {
            let mut bits = self.unvisited.word(group);
            let mut rest = bits;
            while rest != 0 {
                let bit = rest.trailing_zeros();
                rest &= rest - 1;
                if rows.degrees[(group * 64) as usize + bit as usize] < 2 {
                    bits &= !(1 << bit);
                }
            }
            bits
        };
        let expected = pending.load(Relaxed) * 8;
        let by_list = IoIterator::new(self.session, rows).for_each(
            expected,
            wanted,
            |_| Found::default(),
            |found, vertex, list| {
                // A long list comes in pieces, perhaps to be found in an earlier one.
                let known = self.levels[vertex as usize].load(Relaxed);
                if known != UNREACHED && known != level + 1 {
                    return;
                }
                let Some(parent) = list.neighbors().find(|&neighbor| self.current.contains(neighbor)) else { return };
                if known == UNREACHED {
                    take(found, vertex, parent);
                } else {
                    self.parents[vertex as usize].fetch_min(parent as u32, Relaxed);
                }
                self.unvisited.remove(vertex);
            },
        )?;
        let (a, b) = (sum(by_head), sum(by_list));
        Ok(Found { vertices: a.vertices + b.vertices, edges: a.edges + b.edges })
    }
}

fn sum(found: Vec<Found>) -> Found {
    found.into_iter().fold(Found::default(), |sum, part| Found { vertices: sum.vertices + part.vertices, edges: sum.edges + part.edges })
}

impl Algorithm for Bfs {
    fn name(&self) -> &'static str {
        "bfs"
    }

    fn plan(&self, graph: &Graph, config: &RunConfig) -> Result<Plan> {
        Ok(self.needs(graph)?.plan(graph, config)?.0)
    }

    fn run(&self, graph: &Graph, config: &RunConfig, progress: &dyn RunProgress) -> Result<Outcome> {
        fits_32_bits(graph, self.name())?;
        let (plan, cache) = self.needs(graph)?.plan(graph, config)?;
        let source = locate(graph, &self.source)?;
        let pulls = Self::pulls(graph);
        let both = pulls && graph.directed();
        let mut names = row_sections(graph, Direction::Out, false)?;
        if both {
            names.extend(row_sections(graph, Direction::In, false)?);
        }
        if pulls {
            names.push(Heads::section(graph));
        }
        let (session, sections) = open(graph, config, progress, &names)?;
        let mut sections = sections.into_iter();
        let share = cache / if both { 2 } else { 1 };
        let out = Rows::load(&session, sections.by_ref().take(3).collect(), share)?;
        let incoming = if both { Some(Rows::load(&session, sections.by_ref().take(3).collect(), share)?) } else { None };
        let heads = if pulls { Some(Heads::load(&session, &sections.next().expect("the section was opened"))?) } else { None };
        let (len, huge) = (graph.connected(), config.huge_pages);
        let unreached = || -> Result<HugeVec<AtomicU32>> {
            let array: HugeVec<AtomicU32> = HugeVec::zeroed(len as usize, huge)?;
            session.workers.over(
                len,
                1 << 16,
                |_| (),
                |(), range| array[range.start as usize..range.end as usize].iter().for_each(|entry| entry.store(UNREACHED, Relaxed)),
            );
            Ok(array)
        };
        let mut unvisited = Frontier::new(len, huge)?;
        unvisited.fill();
        let mut search = Search {
            session: &session,
            out: &out,
            incoming: heads.as_ref().map(|heads| (incoming.as_ref().unwrap_or(&out), heads)),
            levels: unreached()?,
            parents: unreached()?,
            current: Frontier::new(len, huge)?,
            next: Frontier::new(len, huge)?,
            unvisited,
        };
        let load_seconds = session.seconds();
        let isolated = source >= len;
        let (reached, last) = if isolated { (1, 0) } else { search.run(source)? };
        let sums = session.workers.over(
            len,
            1 << 16,
            |_| 0u64,
            |sum, range| {
                *sum += range
                    .map(|vertex| search.levels[vertex as usize].load(Relaxed))
                    .filter(|&level| level != UNREACHED)
                    .map(u64::from)
                    .sum::<u64>();
            },
        );
        let mut summary = Summary::new();
        summary.insert("source", Figure::Key(graph.key_of(source)?));
        summary.insert("reached", Figure::Integer(reached));
        summary.insert("levels", Figure::Integer(last + 1));
        summary.insert("level_sum", Figure::Integer(sums.iter().sum()));
        let exception = |value: f64| isolated.then_some((source, value));
        let (levels, parents) = (search.levels, search.parents);
        let level = Column {
            name: "level",
            values: Values::U32(plain(levels)),
            isolated: Isolated::Null,
            meaning: Meaning::Number,
            exception: exception(0.0),
        };
        let parent = Column {
            name: "parent",
            values: Values::U32(plain(parents)),
            isolated: Isolated::Null,
            meaning: Meaning::Vertex,
            exception: exception(source as f64),
        };
        Ok(outcome(&Done { session: &session, plan: &plan, iterations: last + 1, load_seconds }, summary, vec![level, parent], false))
    }
}

/// The same array without atomics.
fn plain(array: HugeVec<AtomicU32>) -> HugeVec<u32> {
    array.into_plain()
}
