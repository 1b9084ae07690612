//! PageRank: the stationary distribution of a walker who follows an edge with probability d and
//! else, or from a vertex without out-edges, jumps anywhere.
//!
//! A program of the synchronous executor: a rank of 64 bits, a signal of 32 (rank over out-degree,
//! rounded once), sums of 64 in one fixed order. The walker's jumps from dangling vertices are one
//! number for each iteration. All isolated vertices have one rank, which is kept beside the array.
//!
//! Conventions as in igraph and networkx: damping 0.85, dangling rank spread uniformly, ranks sum
//! to 1.

use std::sync::Mutex;

use outercore_engine::{
    Column, Isolated, Job, Result,
    execute::Iterations,
    monoid::Sum,
    plan::{Planner, Prepared},
    program::{Context, Start, VertexProgram},
};
use outercore_graph::Graph;

use crate::algorithm::Algorithm;

/// PageRank and its parameters.
#[derive(Clone, Debug)]
pub struct PageRank {
    /// The probability of following an edge, between 0 and 1.
    pub damping: f64,
    /// At most, and without a tolerance exactly, so many iterations.
    pub iterations: u64,
    /// Stop when the ranks' L1 change falls below this.
    pub tolerance: Option<f64>,
    /// Rows of the summary.
    pub top: usize,
}

impl Default for PageRank {
    fn default() -> Self {
        Self { damping: 0.85, iterations: 20, tolerance: None, top: 10 }
    }
}

struct Program {
    damping: f64,
    vertices: f64,
    isolated: f64,
    tolerance: f64,
    iterations: u64,
    /// The rank of each isolated vertex.
    isolated_rank: Mutex<f64>,
}

impl Program {
    fn new(parameters: &PageRank, graph: &Graph) -> Self {
        let vertices = graph.vertices() as f64;
        Self {
            damping: parameters.damping,
            vertices,
            isolated: (graph.vertices() - graph.connected()) as f64,
            tolerance: parameters.tolerance.unwrap_or(0.0),
            iterations: parameters.iterations,
            isolated_rank: Mutex::new(1.0 / vertices),
        }
    }

    /// What every vertex gets whatever its neighbors: a jump's share, and the dangling vertices'
    /// shares. `dangling` is the rank of connected ones.
    fn base(&self, context: &Context, isolated_rank: f64) -> f64 {
        (1.0 - self.damping + self.damping * (context.aggregate + self.isolated * isolated_rank))
            / self.vertices
    }
}

impl VertexProgram for Program {
    type Value = f64;
    type Signal = f32;
    type Message = Sum<f64>;

    fn start(&self) -> Start {
        Start::All
    }

    fn applies_always(&self) -> bool {
        true
    }

    fn everyone_sends(&self) -> bool {
        true
    }

    fn init(&self, _: u64, _: u32) -> f64 {
        1.0 / self.vertices
    }

    #[inline(always)]
    fn scatter(&self, _: u64, rank: &f64, degree: u32) -> Option<f32> {
        // Vertices without edges are never asked for their signal by an edge.
        Some((rank / f64::from(degree.max(1))) as f32)
    }

    #[inline(always)]
    fn carry(&self, signal: f32, _: f64) -> Sum<f64> {
        Sum(f64::from(signal))
    }

    fn prepare(&self, context: &Context) -> f64 {
        self.base(context, *self.isolated_rank.lock().expect("no holder panics"))
    }

    #[inline(always)]
    fn apply(&self, context: &Context, _: u64, rank: &mut f64, message: Sum<f64>) -> bool {
        *rank = context.prepared + self.damping * message.0;
        true
    }

    #[inline(always)]
    fn aggregate(&self, rank: &f64, degree: u32) -> f64 {
        if degree == 0 { *rank } else { 0.0 }
    }

    #[inline(always)]
    fn residual(&self, old: &f64, new: &f64) -> f64 {
        (new - old).abs()
    }

    fn forgets(&self, iterations: u64) -> bool {
        // A rank comes from messages alone; the last two are compared, once.
        self.tolerance == 0.0 && iterations + 1 < self.iterations
    }

    fn finished(&self, context: &Context, residual: f64, _: u64) -> bool {
        let mut state = self.isolated_rank.lock().expect("no holder panics");
        let moved = self.isolated * (context.prepared - *state).abs();
        *state = context.prepared;
        context.iteration >= self.iterations || residual + moved < self.tolerance
    }
}

impl Algorithm for PageRank {
    fn name(&self) -> &'static str {
        "pagerank"
    }

    fn prepare<'a>(&'a self, job: Job<'a>) -> Result<Prepared<'a>> {
        let program = Program::new(self, job.graph);
        let mut planner = Planner::new(self.name(), job);
        let scans = self.tolerance.is_none().then_some(self.iterations);
        let iterations = Iterations::declare(&mut planner, &program, scans)?;
        let iterations = iterations.at_most(self.iterations);
        Ok(planner.decide()?.prepared(move |session| {
            let ended = iterations.run(session, &program)?;
            let isolated = *program.isolated_rank.lock().expect("no holder panics");
            let mut sum = isolated * program.isolated;
            ended.values.for_each(|_, rank| sum += rank)?;
            let scores = Column::new("score", ended.values);
            let results = session
                .results(ended.iterations)
                .figure("residual", ended.residual)
                .figure("sum", sum)
                .column(scores.isolated(Isolated::Value(isolated)));
            Ok(results.ranked(self.top)?.outcome())
        }))
    }
}
