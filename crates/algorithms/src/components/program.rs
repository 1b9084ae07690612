//! Components as a program whose vertices may be computed early: labels spread along lists until
//! each vertex has the smallest of its component, which is what Seraph (FAST'24) runs. For
//! undirected graphs: signals travel along outgoing edges.

use outercore_engine::{
    Outcome, Result, RunConfig, RunProgress,
    execute::{Finished, execute_monotone},
    monoid::Min,
    program::{Context, Monotone, Start, VertexProgram},
};
use outercore_graph::Graph;

use super::external::found;
use crate::finish::Done;

/// Bytes for the sizes of components, which are counted range by range.
const SIZES: u64 = 1 << 20;

/// The spreading of labels.
pub struct Program;

impl VertexProgram for Program {
    type Value = u32;
    type Signal = u32;
    type Message = Min<u32>;

    fn start(&self) -> Start {
        Start::All
    }

    fn init(&self, vertex: u64, _: u32) -> u32 {
        vertex as u32
    }

    fn scatter(&self, _: u64, label: &u32, _: u32) -> Option<u32> {
        Some(*label)
    }

    #[inline(always)]
    fn carry(&self, signal: u32, _: f64) -> Min<u32> {
        Min(signal)
    }

    fn apply(&self, _: &Context, _: u64, label: &mut u32, message: Min<u32>) -> bool {
        let better = message.0 < *label;
        *label = message.0.min(*label);
        better
    }
}

impl Monotone for Program {}

/// Runs it, and makes its results those of [`Components`].
pub fn run(graph: &Graph, config: &RunConfig, progress: &dyn RunProgress) -> Result<Outcome> {
    let Finished { values, session, plan, iterations, load_seconds, .. } =
        execute_monotone(&Program, "components", graph, config, progress)?;
    let mut roots = 0;
    values.for_each(|vertex, &label| roots += u64::from(u64::from(label) == vertex))?;
    found(
        &Done { session: &session, plan: &plan, iterations, load_seconds },
        graph,
        values,
        roots,
        SIZES,
    )
}
