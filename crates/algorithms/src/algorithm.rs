//! What the faces call: an algorithm with its parameters, which can be planned and run.

use outercore_engine::{
    Job, Outcome, Plan, Result, RunConfig, RunProgress, Silent, plan::Prepared, settings,
};
use outercore_graph::{Graph, Key};

/// How a start vertex is named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// By its original id.
    Key(Key),
    /// The vertex with the largest out-degree.
    MaxDegree,
    /// A vertex with edges, drawn by this seed.
    Random(u64),
}

impl std::str::FromStr for Source {
    type Err = std::convert::Infallible;

    /// `max-degree`, `random:SEED`, or an original id: a number where it is one, else a name.
    fn from_str(text: &str) -> std::result::Result<Self, Self::Err> {
        Ok(match (text, text.strip_prefix("random:").map(str::parse)) {
            ("max-degree", _) => Source::MaxDegree,
            (_, Some(Ok(seed))) => Source::Random(seed),
            _ => Source::Key(text.parse().map_or_else(|_| Key::Name(text.to_owned()), Key::Number)),
        })
    }
}

/// An algorithm and its parameters, ready to be planned or run on a graph.
pub trait Algorithm: Send + Sync {
    /// Its name on the command line.
    fn name(&self) -> &'static str;
    /// Whether a run gives a value for each vertex.
    fn has_columns(&self) -> bool {
        true
    }
    /// A plan that runs.
    fn prepare<'a>(&'a self, job: Job<'a>) -> Result<Prepared<'a>> {
        let plan = self.plan(job.graph, job.config)?;
        Ok(Prepared::new(plan, move || self.run(job.graph, job.config, job.progress)))
    }
    /// What a run would do.
    fn plan(&self, graph: &Graph, config: &RunConfig) -> Result<Plan> {
        Ok(self.prepare(Job { graph, config, progress: &Silent })?.into_plan())
    }
    /// Plans and runs it.
    fn run(
        &self,
        graph: &Graph,
        config: &RunConfig,
        progress: &dyn RunProgress,
    ) -> Result<Outcome> {
        self.prepare(Job { graph, config, progress })?.run()
    }
}

impl settings::Value for Source {
    const KIND: settings::Kind = settings::Kind::Text;

    fn parse(_: &str, text: &str) -> std::result::Result<Self, String> {
        let Ok(source) = text.parse();
        Ok(source)
    }
}

settings! {
    /// The parameters that a face collects; each algorithm takes those it has, and refuses those it
    /// has not.
    pub struct Request {
        /// Where a traversal starts: an original id, max-degree, or random:SEED.
        source: Option<Source> = ("source", "ID", ""),
        /// Where a traversal from many vertices starts.
        sources: Vec<Source> = ("sources", "ID,ID,...", ""),
        /// Exactly so many iterations.
        iterations: Option<u64> = ("iterations", "N", ""),
        /// Stop at an L1 change below this.
        tolerance: Option<f64> = ("tolerance", "T", ""),
        /// The damping factor of pagerank.
        damping: Option<f64> = ("damping", "D", "0.85"),
        /// The width of a window of distance in sssp.
        delta: Option<f64> = ("delta", "D", ""),
        /// The k of one k-core.
        k: Option<u64> = ("k", "K", ""),
        /// Prove the diameter, instead of giving bounds of it.
        exact: bool = ("exact", "", ""),
        /// Show the K best rows, where rows have a rank.
        top: Option<usize> = ("top", "K", "10"),
    }
}
