//! What the faces call: an algorithm with its parameters, which can be planned and run.

use outercore_engine::{
    EngineError, Job, Outcome, Plan, Prepared, Result, RunConfig, RunProgress, Silent, settings,
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

impl From<&str> for Source {
    /// `max-degree`, `random:SEED`, or an original id: a number where it is one, else a name.
    fn from(text: &str) -> Self {
        match (text, text.strip_prefix("random:").map(str::parse)) {
            ("max-degree", _) => Source::MaxDegree,
            (_, Some(Ok(seed))) => Source::Random(seed),
            _ => Source::Key(text.parse().map_or_else(|_| Key::Name(text.to_owned()), Key::Number)),
        }
    }
}

impl settings::Value for Source {
    const KIND: settings::Kind = settings::Kind::Text;

    fn parse(_: &str, text: &str) -> std::result::Result<Self, String> {
        Ok(text.into())
    }
}

/// The error of a user's mistake.
pub(crate) fn refuse<T>(why: impl Into<String>) -> Result<T> {
    Err(EngineError::Usage(why.into()))
}

/// The internal id of a start vertex.
pub(crate) fn locate(graph: &Graph, source: &Source) -> Result<u64> {
    match source {
        Source::Key(key) => graph.find(key)?.map_or_else(
            || refuse(format!("there is no vertex {key} in {}", graph.path().display())),
            Ok,
        ),
        Source::MaxDegree if graph.connected() > 0 => Ok(graph.manifest().max_out_degree.1),
        Source::Random(seed) if graph.connected() > 0 => {
            let mixed = (seed ^ (seed >> 31)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            Ok((mixed ^ (mixed >> 29)) % graph.connected())
        }
        _ => refuse("the graph has no edges, and so no such start vertex"),
    }
}

/// The internal ids of start vertices.
pub(crate) fn locate_all(graph: &Graph, sources: &[Source]) -> Result<Vec<u64>> {
    sources.iter().map(|source| locate(graph, source)).collect()
}

/// Refuses graphs whose vertices do not fit the 32-bit state that the traversals keep.
pub(crate) fn fits_32_bits(graph: &Graph, name: &str) -> Result<()> {
    match graph.connected() {
        fits if fits < u64::from(u32::MAX) - 1 => Ok(()),
        many => refuse(format!(
            "{name} holds at most 4294967293 connected vertices in this version, and the graph \
             has {many}"
        )),
    }
}

/// The method that was asked for, or the usual one of this run; and why.
pub(crate) fn method<M>(asked: Option<M>, usual: (M, &'static str)) -> (M, &'static str) {
    asked.map_or(usual, |method| (method, "as asked"))
}

/// An algorithm and its parameters, ready to be planned or run on a graph.
pub trait Algorithm: Send + Sync {
    /// Its name on the command line.
    fn name(&self) -> &'static str;
    /// Whether a run gives a value for each vertex.
    fn has_columns(&self) -> bool {
        true
    }
    /// A plan that runs. The report counts what goes through the job's handle of the graph: a
    /// handle that is used for more than one run is to be [counted apart](Graph::counted_apart).
    fn prepare<'a>(&'a self, job: Job<'a>) -> Result<Prepared<'a>>;
    /// What a run would do.
    fn plan(&self, graph: &Graph, config: &RunConfig) -> Result<Plan> {
        Ok(self.prepare(Job { graph, config, progress: &Silent })?.plan)
    }
    /// Plans and runs it.
    fn run(
        &self,
        graph: &Graph,
        config: &RunConfig,
        progress: &dyn RunProgress,
    ) -> Result<Outcome> {
        let graph = &graph.counted_apart();
        self.prepare(Job { graph, config, progress })?.run()
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
        /// The way to compute it, where the algorithm has several.
        method: Option<String> = ("method", "NAME", "chosen by the plan"),
        /// Show the K best rows, where rows have a rank.
        top: Option<usize> = ("top", "K", "10"),
    }
}
