//! `pagerank`: descending PageRank, ties by original id.
//!
//! Twenty iterations, as a run does by itself. Ranks are compared as single-precision numbers:
//! their last digits may depend on the budget, and the order shall not.

use outercore_algorithms::{Algorithm, PageRank};
use outercore_engine::{Cell, IterationReport, RunConfig, RunProgress};
use outercore_graph::{BuildProgress, Graph, GraphError, Result};

use crate::{Finder, sorting};

/// The progress of a run, as that of the build that it belongs to.
struct Within<'a>(&'a dyn BuildProgress);

impl RunProgress for Within<'_> {
    fn cancelled(&self) -> bool {
        self.0.cancelled()
    }

    fn iteration(&self, _: &IterationReport) {}
}

/// Bytes that are held beside a run.
fn held(connected: u64) -> u64 {
    sorting::BYTES * connected
}

/// The run, in so much memory.
fn run(memory: u64, threads: usize) -> (PageRank, RunConfig) {
    (
        PageRank { top: 0, ..PageRank::default() },
        RunConfig { memory, threads, ..RunConfig::default() },
    )
}

/// The smallest budget in which PageRank runs on `graph`, beside what is held: one thread takes the
/// least.
pub fn smallest(graph: &Graph) -> Result<u64> {
    let (algorithm, config) = run(1, 1);
    match algorithm.plan(graph, &config) {
        Ok(plan) => Ok(plan.smallest_budget_bytes + held(graph.connected())),
        Err(GraphError::Memory { needed, .. }) => Ok(needed + held(graph.connected())),
        Err(error) => Err(error),
    }
}

/// A budget in which it certainly runs on graphs of so many vertices: values in memory, and buffers
/// of one thread.
pub fn certain(connected: u64) -> u64 {
    (64 << 20) + 32 * connected + held(connected)
}

impl Finder<'_> {
    /// The connected vertices by PageRank.
    pub fn by_pagerank(&self) -> Result<Vec<u32>> {
        let memory = self.memory.saturating_sub(held(self.graph.connected()));
        // As many threads as the budget has room for.
        let (mut algorithm, mut config) = run(memory, self.threads);
        while config.threads > 1 && algorithm.plan(self.graph, &config).is_err() {
            (algorithm, config) = run(memory, config.threads / 2);
        }
        let outcome = algorithm.run(self.graph, &config, &Within(self.progress))?;
        let mut ranks = Vec::with_capacity(self.graph.connected() as usize);
        outcome.columns[0].for_each(|_, cell| {
            let rank = if let Cell::Float(rank) = cell { rank as f32 } else { 0.0 };
            // The bits of positive numbers are in the order of the numbers.
            ranks.push(rank.to_bits());
        })?;
        drop(outcome);
        self.descending(&ranks)
    }
}
