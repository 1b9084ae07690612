//! `pagerank`: descending PageRank, ties by original id.
//!
//! Twenty iterations, as a run does by itself. Ranks are compared as single-precision numbers:
//! their last digits may depend on the budget, and the order shall not.

use outercore_algorithms::{Algorithm, PageRank};
use outercore_engine::{Cell, IterationReport, RunConfig, RunProgress};
use outercore_graph::{BuildProgress, GraphError, Result};

use crate::{Finder, sorting};

/// The progress of a run, as that of the build that it belongs to.
struct Within<'a>(&'a dyn BuildProgress);

impl RunProgress for Within<'_> {
    fn cancelled(&self) -> bool {
        self.0.cancelled()
    }

    fn iteration(&self, _: &IterationReport) {}
}

impl Finder<'_> {
    /// The connected vertices by PageRank.
    pub fn by_pagerank(&self) -> Result<Vec<u32>> {
        let held = sorting::BYTES * self.graph.connected();
        self.room.beside(held, "sorting vertices")?;
        let config = RunConfig {
            memory: self.room.budget() - held,
            threads: self.threads,
            ..RunConfig::default()
        };
        let algorithm = PageRank { top: 0, ..PageRank::default() };
        let outcome = algorithm.run(self.graph, &config, &Within(self.progress));
        let outcome = outcome.map_err(|error| match error {
            // What is held here is beside what the run wants.
            GraphError::Memory { needed, budget, what } => {
                GraphError::Memory { needed: needed + held, budget: budget + held, what }
            }
            other => other,
        })?;
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
