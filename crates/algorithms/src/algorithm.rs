//! What the faces call: an algorithm with its parameters, which can be planned and run.

use outercore_engine::{Job, Outcome, Plan, Prepared, RunConfig, RunProgress, Silent, settings};
use outercore_graph::{Graph, Result, Source, Vector};
use outercore_visit::{Executor, Ownership};

/// An algorithm and its parameters, ready to be planned or run on a graph.
pub trait Algorithm: Send + Sync {
    /// Its name on the command line.
    fn name(&self) -> &'static str;
    /// Whether a run gives a value for each vertex.
    fn has_columns(&self) -> bool {
        true
    }
    /// Its plan, and the way to run it.
    fn declare<'a>(&'a self, job: Job<'a>) -> Result<Prepared<'a>>;
    /// A plan that runs. The report counts what goes through the job's handle of the graph: a
    /// handle that is used for more than one run is to be [counted apart](Graph::counted_apart).
    /// What more memory would allow is refused as a budget that is too small; with what would be
    /// refused in any budget, a switch that cannot act, say, that is said first.
    fn prepare<'a>(&'a self, job: Job<'a>) -> Result<Prepared<'a>> {
        let with = |memory| {
            let config = RunConfig { memory, ..job.config.clone() };
            self.declare(Job { config: &config, ..job }).map(drop)
        };
        self.declare(job).map_err(|error| error.in_other_budgets(job.config.memory, with))
    }
    /// What a run would do.
    fn plan(&self, graph: &Graph, config: &RunConfig) -> Result<Plan> {
        Ok(self.prepare(Job::new(graph, config, &Silent))?.plan)
    }
    /// Plans and runs it. Content that contradicts itself, though its checksums fit, is an error.
    fn run(
        &self,
        graph: &Graph,
        config: &RunConfig,
        progress: &dyn RunProgress,
    ) -> Result<Outcome> {
        let graph = &graph.counted_apart();
        graph.blaming(|| self.prepare(Job::new(graph, config, progress))?.run())
    }
}

settings! {
    /// The parameters that a face collects; each algorithm takes those it has, and refuses those it
    /// has not.
    pub struct Request {
        /// Where a traversal starts: an original id, max-degree, or random:SEED. In double
        /// quotation marks, as in CSV, it is an id whatever it says.
        source: Option<Source> = ("source", "ID", ""),
        /// Where a traversal from many vertices starts. Ids with commas stand in double quotation
        /// marks, as in CSV.
        sources: Vec<Source> = ("sources", "ID,ID,...", ""),
        /// At most so many iterations; pagerank without --tolerance runs exactly so many.
        iterations: Option<u64> = ("iterations", "N", ""),
        /// Stop at an L1 change below this.
        tolerance: Option<f64> = ("tolerance", "T", ""),
        /// The damping factor of pagerank.
        damping: Option<f64> = ("damping", "D", "0.85"),
        /// The width of a window of distance in sssp.
        delta: Option<f64> = ("delta", "D", ""),
        /// Distances of multi-source are sums of weights, not numbers of edges.
        weighted: bool = ("weighted", "", ""),
        /// The parent of each vertex in a tree of shortest paths, as a column beside the distances
        /// (bfs always gives it).
        parents: bool = ("parents", "", ""),
        /// The k of one k-core.
        k: Option<u64> = ("k", "K", ""),
        /// Prove the diameter, instead of giving bounds of it.
        exact: bool = ("exact", "", ""),
        /// The way to compute it, where the algorithm has several.
        method: Option<String> = ("method", "NAME", "chosen by the plan"),
        /// Whether a traversal goes in levels or rounds, or by prioritized visitors that wait for
        /// neither.
        executor: Option<Executor> = ("executor", "EXECUTOR", "auto"),
        /// The most visitors of a thread with reads pending.
        in_flight: Option<u64> = ("in-flight", "N", "a sixteenth of those that wait, 256 to 65536"),
        /// Whether a visitor looks at its vertex before it is sent.
        peek: Option<bool> = ("peek", "PEEK", "on"),
        /// What decides which thread visits a vertex.
        ownership: Option<Ownership> = ("ownership", "OWNERSHIP", "group"),
        /// What spmv multiplies by: a file with a number in each line, or an id and its number, in
        /// ascending order of ids, as results are written; text, packed or not, or NPY.
        vector: Option<Vector> = ("vector", "FILE", "ones"),
        /// Show the K best rows, where rows have a rank.
        top: Option<usize> = ("top", "K", "10"),
    }
}
