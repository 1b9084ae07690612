//! [`Job`]: what every run is given.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use outercore_graph::{BuildProgress, Graph, Result, view};

use crate::{config::RunConfig, progress::RunProgress};

/// A graph, what the user asked of the run, and who is told how far it is.
#[derive(Clone, Copy)]
pub struct Job<'a> {
    /// The graph. The report counts what goes through this handle: one that is used for more than
    /// one run is to be [counted apart](Graph::counted_apart).
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

    /// Does something with the graph's undirected simple view; see [`view::with`].
    pub fn with_simple_view<T>(&self, work: impl FnMut(&Graph) -> Result<T>) -> Result<T> {
        let building = Building { run: self.progress, stopped: AtomicBool::new(false) };
        view::with(self.graph, (self.config.memory, self.config.threads), &building, work)
    }
}

/// A run's progress, for the build of a view.
struct Building<'a> {
    run: &'a dyn RunProgress,
    stopped: AtomicBool,
}

impl BuildProgress for Building<'_> {
    fn stage(&self, _: &'static str, _: Option<u64>) {}
    fn advance(&self, _: u64) {}
    fn cancelled(&self) -> bool {
        if self.run.cancelled() {
            self.stopped.store(true, Relaxed);
        }
        self.stopped.load(Relaxed)
    }
}
