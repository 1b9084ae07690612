//! Breadth-first search as a program whose vertices may be computed early: what Seraph (FAST'24)
//! runs.
//!
//! A value is a level and a parent in one number, the smaller one the better, so that messages may
//! come in any order; the levels and parents are those of every other way.

use outercore_engine::{
    Column, Figure, Isolated, Meaning, Outcome, Result, RunConfig, RunProgress, Values,
    execute::{Finished, execute_monotone},
    monoid::Min,
    program::{Context, Monotone, Start, VertexProgram},
};
use outercore_graph::Graph;

use crate::finish::{Done, Summary, outcome};

/// A search from one vertex.
pub struct Program {
    /// Where it starts, by internal id.
    pub source: u64,
}

/// Not reached.
const NOWHERE: u64 = u64::MAX;

impl VertexProgram for Program {
    type Value = u64;
    type Signal = u64;
    type Message = Min<u64>;

    fn start(&self) -> Start {
        Start::Vertices(vec![self.source])
    }

    fn init(&self, vertex: u64, _: u32) -> u64 {
        if vertex == self.source { vertex } else { NOWHERE }
    }

    fn scatter(&self, vertex: u64, value: &u64, _: u32) -> Option<u64> {
        Some(((value >> 32) + 1) << 32 | vertex)
    }

    #[inline(always)]
    fn carry(&self, signal: u64, _: f64) -> Min<u64> {
        Min(signal)
    }

    fn apply(&self, _: &Context, _: u64, value: &mut u64, message: Min<u64>) -> bool {
        // Another parent on the same level is nobody else's concern.
        let better = message.0 >> 32 < *value >> 32;
        *value = message.0.min(*value);
        better
    }
}

impl Monotone for Program {}

/// Runs it, and makes its results those of [`Bfs`](super::Bfs).
pub fn run(
    program: &Program,
    graph: &Graph,
    config: &RunConfig,
    progress: &dyn RunProgress,
) -> Result<Outcome> {
    let finished = execute_monotone(program, "bfs", graph, config, progress)?;
    let (mut reached, mut last, mut level_sum) = (0, 0, 0);
    let isolated = program.source >= graph.connected();
    finished.values.for_each(|_, &value| {
        if value != NOWHERE {
            reached += 1;
            last = last.max(value >> 32);
            level_sum += value >> 32;
        }
    })?;
    let mut summary = Summary::new();
    summary.insert("source", Figure::Key(graph.key_of(program.source)?));
    summary.insert("reached", Figure::Integer(if isolated { 1 } else { reached }));
    summary.insert("levels", Figure::Integer(last + 1));
    summary.insert("level_sum", Figure::Integer(level_sum));
    let Finished { values, session, plan, iterations, load_seconds, .. } = finished;
    let part = |take: fn(u64) -> u64| {
        values
            .map(move |&value| if value == NOWHERE { u32::MAX } else { take(value) as u32 })
            .map(Values::from)
    };
    let (levels, parents) =
        (part(|value| value >> 32)?, part(|value| value & u64::from(u32::MAX))?);
    let own = |value: f64| Vec::from_iter(isolated.then_some((program.source, value)));
    let level = Column {
        name: "level",
        values: levels,
        isolated: Isolated::Null,
        meaning: Meaning::Number,
        exceptions: own(0.0),
    };
    let parent = Column {
        name: "parent",
        values: parents,
        isolated: Isolated::Null,
        meaning: Meaning::Vertex,
        exceptions: own(program.source as f64),
    };
    Ok(outcome(
        &Done { session: &session, plan: &plan, iterations, load_seconds },
        summary,
        vec![level, parent],
        false,
    ))
}
