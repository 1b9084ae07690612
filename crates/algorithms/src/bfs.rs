//! Breadth-first search: the distance in edges of every vertex from one, and a parent on the level
//! before.
//!
//! `direction-optimizing` (Beamer, Asanovic and Patterson, SC'12) is a [`Search`] of the engine: it
//! pushes small frontiers and pulls large ones. `program` is what Seraph (FAST'24) runs: a program
//! whose messages may come in any order, so that vertices may be computed early.
//!
//! With `--executor async` visitors search (Pearce, Gokhale and Amato, SC'10): no level waits for
//! the one before. That is for graphs with many small levels: by itself a search goes over to
//! visitors once it has had many of them.
//!
//! A vertex's parent is its in-neighbor of the level before with the smallest internal id, with
//! any method and whatever the threads do.
//!
//! Memory for each vertex: 8 bytes for level and parent, and three bits; beside the lists.
//!
//! In a message level and parent are one number, the level in the upper half: the smaller one is
//! the better one.

use outercore_engine::{MemoryModel, Min, Monotone, Search, SearchDirection};
use outercore_visit::{self as visit, SmallSteps, hops::Hops};

use crate::common::*;

/// Breadth-first search from one vertex.
#[derive(Clone, Debug)]
pub struct Bfs {
    /// Where it starts.
    pub source: Source,
    /// How it goes about it; `None`: the plan decides.
    pub method: Option<BfsMethod>,
    /// Whether it waits at the end of each level.
    pub executing: Executing,
}

named! {
    /// How a search goes about it.
    pub enum BfsMethod: "method" {
        /// Small frontiers are pushed, large ones pulled.
        DirectionOptimizing = "direction-optimizing",
        /// Vertices send their levels to their neighbors.
        Program = "program",
    }
}

/// A search from this vertex, by messages.
struct BfsProgram(u64);

/// Not reached.
const NOWHERE: u64 = u64::MAX;

impl VertexProgram for BfsProgram {
    type Value = u64;
    type Signal = u64;
    type Message = Min<u64>;

    const SILENCE: Option<u64> = Some(NOWHERE);

    fn start(&self) -> Start {
        Start::Vertices(vec![self.0])
    }

    fn init(&self, vertex: u64, _: u32) -> u64 {
        if vertex == self.0 { vertex } else { NOWHERE }
    }

    fn scatter(&self, vertex: u64, value: &u64, _: u32) -> Option<u64> {
        Some(((value >> 32) + 1) << 32 | vertex)
    }

    #[inline(always)]
    fn carry(&self, signal: u64, _: f64) -> Min<u64> {
        Min(signal)
    }

    fn apply(&self, _: &Context, _: u64, value: &mut u64, message: Min<u64>) -> bool {
        // Another parent on the same level matters to no other vertex.
        let better = message.0 >> 32 < *value >> 32;
        *value = message.0.min(*value);
        better
    }
}

impl Monotone for BfsProgram {}

/// What a search reached.
#[derive(Default)]
struct Reach {
    vertices: u64,
    /// The last level.
    last: u64,
    /// The sum of all levels.
    sum: u64,
}

impl Reach {
    fn add(&mut self, level: u64, vertices: u64) {
        self.vertices += vertices;
        self.last = self.last.max(level);
        self.sum += level * vertices;
    }
}

impl Algorithm for Bfs {
    fn name(&self) -> &'static str {
        "bfs"
    }

    fn declare<'a>(&'a self, job: Job<'a>) -> Result<Prepared<'a>> {
        let mut planner = plan_32_bits(self.name(), job)?;
        let source = self.source.locate(job.graph)?;
        let other = self.method.map(|_| "--method");
        if self.executing.is_async(job, other, false)? {
            planner.memory("levels, parents", [job.graph.connected() * 4, 0]);
            return visit::prepared(
                planner,
                &self.executing,
                Hops(source),
                move |session, found| of_values(session, (source, 1), &found),
            );
        }
        // A preset does so where vertices are not all in memory.
        let fits = |it: Prepared| it.plan.memory_model != MemoryModel::FullyExternal;
        let fits = || by_levels(plan_32_bits(self.name(), job)?, source, false).map(fits);
        let early = job.config.wants_monotone();
        let usual = if early && (job.config.precompute.is_some() || !fits().unwrap_or(false)) {
            (BfsMethod::Program, "vertices may be computed early")
        } else {
            (BfsMethod::DirectionOptimizing, "reads fewest lists")
        };
        let (method, why) = method(self.method, usual);
        planner.runs(method.name(), why);
        if method == BfsMethod::DirectionOptimizing {
            let plain = by_levels(planner, source, false)?;
            let either = job.config.direction == SearchDirection::Auto;
            if !either || !self.executing.is_async(job, other, true)? {
                return Ok(plain);
            }
            let mut switching = plan_32_bits(self.name(), job)?;
            switching.runs(method.name(), "reads fewest lists; by visitors, if levels are small");
            return Ok(visit::or_plain(by_levels(switching, source, true), plain));
        }
        let mut program = BfsProgram(source);
        let iterations = Iterations::declare_monotone(&mut planner, &program)?;
        Ok(planner.decide()?.prepared(move |session| {
            let ended = iterations.run(session, &mut program, None)?;
            of_values(session, (source, ended.iterations), &ended.values)
        }))
    }
}

/// A direction-optimizing search. One that `switches` goes by visitors as soon as it has had many
/// small levels.
fn by_levels(mut planner: Planner, source: u64, switches: bool) -> Result<Prepared> {
    let search = planner.declare(Search::along_edges(planner.job))?;
    if switches {
        let vertices = planner.job.graph.connected();
        planner.memory("labels", [vertices * 8, 0]);
        visit::declare_switch(&mut planner);
    }
    // A vertex is logged as found.
    planner.traffic_external([0, planner.job.graph.connected() * 8]);
    Ok(planner.decide()?.prepared(move |session| {
        let (mut reach, mut search) = (Reach::default(), search.open(session)?);
        let switches = switches && !session.decision.is_external();
        let mut small = SmallSteps::of(session.graph.connected());
        let (due, mut ended) = (session.no_vertices()?, true);
        if source < session.graph.connected() {
            ended = search.run(session, source, |level, found, vertices| {
                reach.add(level, found);
                let is_over = switches && small.note(found);
                if is_over {
                    vertices.iter(0..vertices.len()).for_each(|vertex| _ = due.insert(vertex));
                }
                !is_over
            })?;
        }
        let (lists, levels) = search.into_parts();
        if !ended {
            let lists = lists.along(session, Direction::Out);
            let labels = visit::labels(session, |vertex| levels.both(vertex))?;
            drop(levels);
            let found = visit::switch(session, &Hops(source), lists.on_request(), labels, due)?;
            return of_values(session, (source, reach.last + 1), &found);
        }
        // The rest of the search is closed before its levels are read.
        drop(lists);
        let arrays = levels.into_arrays(session)?;
        outcome(session, (source, reach.last + 1), reach, arrays)
    }))
}

/// The results of levels and parents in one number.
fn of_values(session: &Session, of: (u64, u64), values: &VertexArray<u64>) -> Result<Outcome> {
    let mut reach = Reach::default();
    values.for_each(|_, &value| {
        if value != NOWHERE {
            reach.add(value >> 32, 1);
        }
    })?;
    // Of a vertex that is nowhere, both halves are no value.
    let levels = values.map(|value| (value >> 32) as u32)?;
    let parents = values.map(|&value| value as u32)?;
    outcome(session, of, reach, [levels, parents])
}

/// The results of a search from a source in so many iterations. An isolated source reaches itself.
fn outcome(
    session: &Session,
    (source, iterations): (u64, u64),
    mut reach: Reach,
    [levels, parents]: [VertexArray<u32>; 2],
) -> Result<Outcome> {
    let is_isolated = source >= session.graph.connected();
    if is_isolated {
        reach.add(0, 1);
    }
    let own = |value| is_isolated.then_some((source, value));
    Ok(session
        .results(iterations)
        .figure("source", session.graph.key_of(source)?)
        .figure("reached", reach.vertices)
        .figure("levels", reach.last + 1)
        .figure("level_sum", reach.sum)
        .column(Column::new("level", levels).except(own(0.0)))
        .column(Column::of_vertices("parent", parents).except(own(source as f64)))
        .outcome())
}
