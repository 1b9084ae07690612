//! Betweenness (Brandes, 2001): for each source one program counts shortest paths forwards, level by level, and a second one gathers dependencies backwards.
//!
//! Unnormalised; halved in an undirected graph, where each path is found from both ends. Parallel edges are paths of their own.

use outercore_engine::{
    Column, EngineError, Figure, FinalValues, HugeVec, Isolated, Meaning, Outcome, Plan, Pod, Result, RunConfig, RunProgress, Values,
    execute::{Finished, execute, plan},
    monoid::Sum,
    program::{Context, Start, VertexProgram},
};
use outercore_graph::{Direction, Graph};

use crate::{
    algorithm::{Algorithm, Source},
    finish::{Done, Summary, locate, outcome, top},
};

/// Betweenness of all vertices, from some sources or all of them.
#[derive(Clone, Debug, Default)]
pub struct Betweenness {
    /// The sources; none: every vertex.
    pub sources: Vec<Source>,
    /// Rows of the summary.
    pub top: usize,
}

/// What a vertex keeps on the way forwards.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct Counted {
    /// Shortest paths from the source.
    paths: f64,
    /// One more than the level; 0: not reached.
    depth: u64,
}

// SAFETY: two 64-bit numbers without padding; every bit pattern valid, nothing to drop.
unsafe impl Pod for Counted {}

struct Forward {
    source: u64,
}

impl VertexProgram for Forward {
    type Value = Counted;
    type Signal = f64;
    type Message = Sum<f64>;

    fn start(&self) -> Start {
        Start::Vertices(vec![self.source])
    }

    /// The counts are looked up by the second program.
    fn is_self_contained(&self) -> bool {
        false
    }

    fn init(&self, vertex: u64, _: u32) -> Counted {
        if vertex == self.source { Counted { paths: 1.0, depth: 1 } } else { Counted::default() }
    }

    fn scatter(&self, _: u64, value: &Counted, _: u32) -> Option<f64> {
        Some(value.paths)
    }

    #[inline(always)]
    fn carry(&self, signal: f64, _: f64) -> Sum<f64> {
        Sum(signal)
    }

    fn apply(&self, context: &Context, _: u64, value: &mut Counted, message: Sum<f64>) -> bool {
        let first = value.depth == 0;
        if first {
            *value = Counted { paths: message.0, depth: context.iteration + 2 };
        }
        first
    }
}

/// From the deepest level to the source: a vertex of the level below sends (1 + dependency) / paths to its predecessors.
struct Backward<'f> {
    counted: &'f [Counted],
    deepest: u64,
}

impl Backward<'_> {
    /// The depth that sends in this iteration.
    fn sending(&self, iteration: u64) -> u64 {
        self.deepest - iteration
    }
}

impl VertexProgram for Backward<'_> {
    type Value = f64;
    type Signal = f64;
    type Message = Sum<f64>;

    fn start(&self) -> Start {
        Start::Vertices((0..self.counted.len() as u64).filter(|&vertex| self.counted[vertex as usize].depth == self.deepest).collect())
    }

    fn is_self_contained(&self) -> bool {
        false
    }

    fn directions(&self) -> &'static [Direction] {
        &[Direction::In]
    }

    fn applies_always(&self) -> bool {
        true
    }

    fn init(&self, _: u64, _: u32) -> f64 {
        0.0
    }

    fn scatter(&self, vertex: u64, dependency: &f64, _: u32) -> Option<f64> {
        Some((1.0 + dependency) / self.counted[vertex as usize].paths)
    }

    #[inline(always)]
    fn carry(&self, signal: f64, _: f64) -> Sum<f64> {
        Sum(signal)
    }

    fn apply(&self, context: &Context, vertex: u64, dependency: &mut f64, message: Sum<f64>) -> bool {
        let counted = &self.counted[vertex as usize];
        let next = counted.depth + 1 == self.sending(context.iteration);
        if next {
            *dependency = counted.paths * message.0;
        }
        next
    }

    fn finished(&self, context: &Context, _: f64, _: u64) -> bool {
        // The source itself, at depth 1, has no dependency.
        self.sending(context.iteration) <= 2
    }
}

impl Betweenness {
    fn sources(&self, graph: &Graph) -> Result<Vec<u64>> {
        if self.sources.is_empty() {
            Ok((0..graph.connected()).collect())
        } else {
            self.sources.iter().map(|source| locate(graph, source)).collect()
        }
    }

    fn suits(graph: &Graph) -> Result<()> {
        if graph.rows(Direction::In).is_none() {
            return Err(EngineError::Usage(
                "betweenness needs the incoming edges, and the graph was built with --transpose off".to_owned(),
            ));
        }
        Ok(())
    }

    /// Adds the dependencies of one source.
    fn add(
        source: u64,
        graph: &Graph,
        config: &RunConfig,
        progress: &dyn RunProgress,
        scores: &mut [f64],
        totals: &mut Totals,
    ) -> Result<()> {
        let forward = execute(&Forward { source }, "betweenness", graph, config, progress, None)?;
        totals.add(&forward);
        let FinalValues::Memory(counted) = &forward.values else { unreachable!("the program runs with its values in memory") };
        let deepest = counted.iter().map(|value| value.depth).max().unwrap_or(0);
        if deepest < 3 {
            return Ok(());
        }
        let backward = execute(&Backward { counted, deepest }, "betweenness", graph, config, progress, None)?;
        totals.add(&backward);
        backward.values.for_each(|vertex, dependency| {
            if vertex != source {
                scores[vertex as usize] += dependency;
            }
        })
    }
}

/// What the programs of all sources did together.
#[derive(Default)]
struct Totals {
    iterations: u64,
    bytes_read: u64,
    requests: u64,
    edges: u64,
}

impl Totals {
    fn add<V: Pod>(&mut self, finished: &Finished<V>) {
        use std::sync::atomic::Ordering::Relaxed;
        let counters = &finished.session.counters;
        self.iterations += finished.iterations;
        self.bytes_read += counters.bytes_read.load(Relaxed);
        self.requests += counters.requests.load(Relaxed);
        self.edges += counters.edges.load(Relaxed);
    }
}

impl Algorithm for Betweenness {
    fn name(&self) -> &'static str {
        "betweenness"
    }

    fn plan(&self, graph: &Graph, config: &RunConfig) -> Result<Plan> {
        Self::suits(graph)?;
        Ok(plan(&Forward { source: 0 }, self.name(), graph, config, None)?.0)
    }

    fn run(&self, graph: &Graph, config: &RunConfig, progress: &dyn RunProgress) -> Result<Outcome> {
        Self::suits(graph)?;
        let begun = std::time::Instant::now();
        let mut scores: HugeVec<f64> = HugeVec::zeroed(graph.connected() as usize, config.huge_pages)?;
        let (sources, mut totals) = (self.sources(graph)?, Totals::default());
        // Scores and the forward counts stay while the second program runs: its budget is what they leave.
        let mut rest = config.clone();
        rest.memory = config.memory.saturating_sub(graph.connected() * 24);
        for &source in sources.iter().filter(|&&source| source < graph.connected()) {
            Self::add(source, graph, &rest, progress, &mut scores, &mut totals)?;
        }
        if !graph.directed() {
            scores.iter_mut().for_each(|score| *score /= 2.0);
        }
        let column = Column {
            name: "betweenness",
            values: Values::F64(scores),
            isolated: Isolated::Value(0.0),
            meaning: Meaning::Number,
            exception: None,
        };
        let mut summary = Summary::new();
        summary.insert("sources", Figure::Integer(sources.len() as u64));
        summary.insert("top", top(graph, &column, self.top)?);
        // One more, empty, run: its session carries the report.
        let last = execute(&Forward { source: u64::MAX }, self.name(), graph, &rest, progress, None)?;
        let done = Done { session: &last.session, plan: &last.plan, iterations: totals.iterations, load_seconds: 0.0 };
        let mut result = outcome(&done, summary, vec![column], true);
        let report = &mut result.report;
        (report.bytes_read, report.requests, report.edges_processed) = (totals.bytes_read, totals.requests, totals.edges);
        report.seconds = begun.elapsed().as_secs_f64();
        report.memory_budget_bytes = config.memory;
        Ok(result)
    }
}
