//! Peeling with what is left of each vertex's neighbors in memory: every list is read once, when
//! its vertex departs.
//!
//! At level k whoever has at most k neighbors left departs and takes one from each neighbor with
//! more than k; who comes down to k departs next, at the same level. A count never falls below the
//! level at which its vertex departs: in the end the counts are the core numbers. Those who may
//! depart in the next [`SPAN`] levels are kept as a set, so that a level does not look at all
//! vertices (buckets as in Julienne, SPAA 2017, one at a time).

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use outercore_engine::{
    HugeVec, MemoryModel, Result, RunConfig, RunProgress,
    edges::{degrees::Degrees, io_iterator::IoIterator, rows::Rows},
    frontier::Frontier,
    plan::Needs,
    plan::PlanItem,
    session::Session,
};
use outercore_graph::{Direction, Graph};

use super::Peeled;
use crate::finish::{open, row_sections};

/// Levels whose candidates are gathered at once.
const SPAN: u32 = 16;
/// Words of a set that a worker looks through at a time.
const PART: u64 = 1 << 8;

/// What this needs.
pub fn needs(name: &'static str, graph: &Graph) -> Result<Needs> {
    let vertices = graph.connected();
    Ok(Needs {
        algorithm: name,
        method: "peeling level by level, each list read once".to_owned(),
        resident: vec![
            PlanItem { name: "neighbors left", bytes: vertices * 4 },
            PlanItem { name: "frontiers, members", bytes: 4 * Frontier::bytes(vertices) },
            PlanItem { name: "row index", bytes: Rows::index_bytes(graph) },
        ],
        external: Some(vec![
            PlanItem { name: "neighbors left", bytes: vertices * 4 },
            PlanItem { name: "frontiers, members", bytes: 4 * Frontier::bytes(vertices) },
            PlanItem {
                name: "row index",
                bytes: Degrees::narrow_bytes(graph)? + vertices / 8 + 16,
            },
        ]),
        edges: row_sections(graph, Direction::Out, false)?.split_off(2),
        scans: Some(1),
        ..Needs::default()
    })
}

struct Peel<'p, 's> {
    session: &'p Session<'s>,
    rows: &'p Rows,
    left: HugeVec<AtomicU32>,
    /// Who may depart before `horizon`.
    near: Frontier,
    horizon: u32,
    current: Frontier,
    next: Frontier,
}

/// How many depart, and their edges.
#[derive(Clone, Copy, Default)]
struct Departing {
    vertices: u64,
    edges: u64,
}

fn sum(parts: Vec<Departing>) -> Departing {
    parts.into_iter().fold(Departing::default(), |a, b| Departing {
        vertices: a.vertices + b.vertices,
        edges: a.edges + b.edges,
    })
}

impl Peel<'_, '_> {
    /// Peels everything off; returns the last level and the number of steps.
    fn run(&mut self) -> Result<(u32, u64)> {
        let (mut level, mut last, mut steps, mut remaining) = (0, 0, 0, self.left.len() as u64);
        while remaining > 0 {
            if level >= self.horizon {
                level = self.gather(level);
            }
            let mut mark = self.session.mark();
            let mut departing = self.select(level);
            while departing.vertices > 0 {
                (last, steps, remaining) = (level, steps + 1, remaining - departing.vertices);
                let after = self.depart(level, departing.edges)?;
                self.session.end_iteration(&mark, departing.vertices, "on-demand");
                mark = self.session.mark();
                std::mem::swap(&mut self.current, &mut self.next);
                self.next.clear();
                departing = after;
            }
            level += 1;
        }
        Ok((last, steps))
    }

    /// Gathers who may depart in the next levels; returns the first level at which somebody does.
    fn gather(&mut self, level: u32) -> u32 {
        let left = &self.left;
        let smallest = self.session.workers.over(
            left.len() as u64,
            1 << 16,
            |_| u32::MAX,
            |smallest, range| {
                let counts = left[range.start as usize..range.end as usize]
                    .iter()
                    .map(|count| count.load(Relaxed));
                // Below the level are those who have departed.
                *smallest = counts.filter(|&count| count >= level).fold(*smallest, u32::min);
            },
        );
        let first = smallest.into_iter().min().unwrap_or(level);
        self.horizon = first.saturating_add(SPAN);
        let (near, horizon) = (&self.near, self.horizon);
        self.session.workers.over(
            left.len() as u64,
            1 << 16,
            |_| (),
            |(), range| {
                near.replace(range, |vertex| {
                    (first..horizon).contains(&left[vertex as usize].load(Relaxed))
                });
            },
        );
        first
    }

    /// Those near who have no more than `level` neighbors left become the frontier.
    fn select(&mut self, level: u32) -> Departing {
        let this = &*self;
        let parts = this.session.workers.over(
            (this.near.len()).div_ceil(64),
            PART,
            |_| Departing::default(),
            |departing, groups| {
                for group in groups {
                    let (mut near, mut bits) = (this.near.word(group), 0);
                    while near != 0 {
                        let bit = near & near.wrapping_neg();
                        near ^= bit;
                        let vertex = (group * 64 + u64::from(bit.trailing_zeros())) as usize;
                        if this.left[vertex].load(Relaxed) <= level {
                            bits |= bit;
                            departing.vertices += 1;
                            departing.edges += u64::from(this.rows.degree(vertex as u64));
                        }
                    }
                    this.current.set_word(group, bits);
                    this.near.set_word(group, this.near.word(group) & !bits);
                }
            },
        );
        sum(parts)
    }

    /// The frontier departs: returns who follows at the same level.
    fn depart(&self, level: u32, edges: u64) -> Result<Departing> {
        let parts = IoIterator::new(self.session, self.rows).for_each(
            edges,
            |group| self.current.word(group),
            |_| Departing::default(),
            |departing, _, list| {
                for neighbor in list.neighbors() {
                    let count = &self.left[neighbor as usize];
                    let taken = count
                        .fetch_update(Relaxed, Relaxed, |count| (count > level).then(|| count - 1));
                    match taken {
                        Ok(before) if before == level + 1 => {
                            self.next.insert(neighbor);
                            self.near.remove(neighbor);
                            departing.vertices += 1;
                            departing.edges += u64::from(self.rows.degree(neighbor));
                        }
                        Ok(before) if before == self.horizon => drop(self.near.insert(neighbor)),
                        _ => {}
                    }
                }
            },
        )?;
        Ok(sum(parts))
    }
}

/// Peels `graph`, which is undirected and simple; `cache` bytes keep the front of the adjacency.
pub fn run<'a>(
    graph: &'a Graph,
    config: &'a RunConfig,
    progress: &'a dyn RunProgress,
    plan: outercore_engine::Plan,
    cache: u64,
    k: Option<u64>,
) -> Result<Peeled<'a>> {
    let (session, sections) =
        open(graph, config, progress, &row_sections(graph, Direction::Out, false)?)?;
    let load = if plan.memory_model == MemoryModel::FullyExternal {
        Rows::load_narrow
    } else {
        Rows::load
    };
    let rows = load(&session, sections, cache)?;
    let (len, huge) = (graph.connected(), config.huge_pages);
    let left: HugeVec<AtomicU32> = HugeVec::zeroed(len as usize, huge)?;
    for (count, vertex) in left.iter().zip(0..) {
        count.store(rows.degree(vertex), Relaxed);
    }
    let load_seconds = session.seconds();
    let set = || Frontier::new(len, huge);
    let mut peel = Peel {
        session: &session,
        rows: &rows,
        left,
        near: set()?,
        horizon: 0,
        current: set()?,
        next: set()?,
    };
    let (degeneracy, iterations) = peel.run()?;
    let cores = peel.left.into_plain();
    let members = set()?;
    members.replace(0..len, |vertex| k.is_some_and(|k| u64::from(cores[vertex as usize]) >= k));
    Ok(Peeled {
        plan,
        iterations,
        load_seconds,
        degeneracy: degeneracy.into(),
        members,
        cores: cores.into(),
        session,
    })
}
