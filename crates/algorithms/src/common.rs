//! What the algorithms have in common: what most of them are made of, how they refuse what cannot
//! be done, and results that several of them have.

use outercore_engine::{Preset, RunConfig, Values};

pub use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

pub use outercore_engine::{
    Activity, Column, Context, Frontier, Isolated, IterationEnd, Iterations, Job, Next, Outcome,
    Planner, Pod, Prepared, ReadMode, Resource, Session, Start, Sum, VertexArray, VertexProgram,
    named,
};
pub use outercore_visit::Executing;

pub use outercore_graph::{
    Direction, Graph, Result, Source,
    error::{refuse, too_small},
};

pub use crate::algorithm::Algorithm;

/// A plan of an algorithm that names vertices by 32 bits. Refuses graphs that have too many.
pub fn plan_32_bits<'a>(name: &'static str, job: Job<'a>) -> Result<Planner<'a>> {
    match job.graph.connected() {
        fits if fits < u64::from(u32::MAX) - 1 => Ok(Planner::new(name, job)),
        many => refuse(format!(
            "{name} holds at most 4294967293 connected vertices, and the graph has {many}"
        )),
    }
}

/// A run shows so many of its largest values with their ids, all of which are in memory at once.
pub fn largest(planner: &mut Planner, count: usize) {
    /// Bytes of a row as it is found, named and shown. So many rows are not worth an item.
    const ROW: u64 = 128;
    const FEW: u64 = 512;
    let graph = planner.job.graph;
    let rows = graph.connected().min(count as u64);
    planner.memory("largest values", [rows.saturating_sub(FEW) * ROW; 2]);
    planner.reads(rows * graph.key_bytes());
}

/// The method that was asked for, or the usual one of this run; and why.
pub fn method<M>(asked: Option<M>, usual: (M, &'static str)) -> (M, &'static str) {
    asked.map_or(usual, |method| (method, "as asked"))
}

/// Lowers a value to another one, if that is lower; returns whether it is.
pub fn lower<T: Copy + Ord>(value: &mut T, to: T) -> bool {
    to < std::mem::replace(value, to.min(*value))
}

/// Whether edges are streamed, or vertices may be computed early: then labels spread.
pub fn spreads(config: &RunConfig) -> bool {
    config.wants_monotone() || [Preset::Streaming, Preset::Graphsd].contains(&config.preset)
}

/// A column of numbers; isolated vertices have 0.
pub fn or_zero(name: &'static str, values: impl Into<Values>) -> Column {
    Column::new(name, values).isolated(Isolated::Value(0.0))
}

/// The results of labels that say to which group a vertex belongs: how many groups there are, and
/// how many vertices the largest has, of those with edges. Of the others each is a group of its
/// own. `graph`: the one that was asked about; the run may have had a view of it.
pub fn groups(
    (session, graph): (&Session, &Graph),
    iterations: u64,
    [groups, label]: [&'static str; 2],
    [count, largest]: [u64; 2],
    labels: impl Into<Values>,
) -> Outcome {
    let isolated = graph.isolated();
    session
        .results(iterations)
        .on(graph)
        .figure(groups, count + isolated)
        .figure("largest", largest.max(isolated.min(1)))
        .column(Column::of_vertices(label, labels).isolated(Isolated::Own))
        .outcome()
}
