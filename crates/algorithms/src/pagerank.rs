//! PageRank: the stationary distribution of a walker who follows an edge with probability d and
//! else, or from a vertex without out-edges, jumps anywhere.
//!
//! A program of the synchronous executor: a rank of 64 bits, a signal of 32 (rank over out-degree,
//! rounded once), sums of 64 in one fixed order. The walker's jumps from dangling vertices are one
//! number for each iteration. All isolated vertices have one rank, which is kept beside the array.
//!
//! Conventions as in igraph and networkx: damping 0.85, dangling rank spread uniformly, ranks sum
//! to 1.

use outercore_engine::{
    Activity, Column, Context, Isolated, IterationEnd, Iterations, Job, Next, Planner, Prepared,
    Result, Sum, VertexProgram,
};

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
    isolated_rank: f64,
    /// What every vertex gets in this iteration, whatever its neighbors are: a jump's share, and
    /// the shares of vertices without out-edges.
    base: f64,
}

impl VertexProgram for Program {
    type Value = f64;
    type Signal = f32;
    type Message = Sum<f64>;

    const ACTIVITY: Activity = Activity::AllSend;

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

    #[inline(always)]
    fn apply(&self, _: &Context, _: u64, rank: &mut f64, message: Sum<f64>) -> bool {
        *rank = self.base + self.damping * message.0;
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

    fn begin_iteration(&mut self, context: &Context) {
        let dangling = context.aggregate + self.isolated * self.isolated_rank;
        self.base = (1.0 - self.damping + self.damping * dangling) / self.vertices;
    }

    fn end_iteration(&mut self, end: &IterationEnd) -> Next {
        let moved = self.isolated * (self.base - self.isolated_rank).abs();
        self.isolated_rank = self.base;
        let done = end.iterations >= self.iterations || end.residual + moved < self.tolerance;
        if done { Next::End } else { Next::Iteration }
    }
}

impl Algorithm for PageRank {
    fn name(&self) -> &'static str {
        "pagerank"
    }

    fn prepare<'a>(&'a self, job: Job<'a>) -> Result<Prepared<'a>> {
        let Self { damping, iterations: most, tolerance, top } = *self;
        let vertices = job.graph.vertices() as f64;
        let mut program = Program {
            damping,
            vertices,
            isolated: job.graph.isolated() as f64,
            tolerance: tolerance.unwrap_or(0.0),
            iterations: most,
            isolated_rank: 1.0 / vertices,
            base: 0.0,
        };
        let mut planner = Planner::new(self.name(), job);
        let scans = tolerance.is_none().then_some(most);
        let mut iterations = Iterations::declare(&mut planner, &program, scans)?;
        // A rank comes from messages alone; the last two are compared, once.
        let compared = if program.tolerance == 0.0 { most.saturating_sub(1) } else { 0 };
        (iterations.most, iterations.discards_values_before) = (Some(most), compared);
        Ok(planner.decide()?.prepared(move |session| {
            let ended = iterations.run(session, &mut program, None)?;
            let isolated = program.isolated_rank;
            let mut sum = isolated * program.isolated;
            ended.values.for_each(|_, rank| sum += rank)?;
            let scores = Column::new("score", ended.values);
            let results = session
                .results(ended.iterations)
                .figure("residual", ended.residual)
                .figure("sum", sum)
                .column(scores.isolated(Isolated::Value(isolated)));
            Ok(results.ranked(top)?.outcome())
        }))
    }
}
