//! [`Job`]: what every run is given.

use outercore_graph::Graph;

use crate::{config::RunConfig, progress::RunProgress};

/// A graph, what the user asked of the run, and who is told how far it is.
#[derive(Clone, Copy)]
pub struct Job<'a> {
    /// The graph.
    pub graph: &'a Graph,
    /// What the user asked.
    pub config: &'a RunConfig,
    /// Is told how far the run is, and may end it.
    pub progress: &'a dyn RunProgress,
}

impl<'a> Job<'a> {
    /// A run of this graph with this configuration.
    pub fn new(graph: &'a Graph, config: &'a RunConfig, progress: &'a dyn RunProgress) -> Self {
        Self { graph, config, progress }
    }
}
