//! PageRank: the stationary distribution of a walker who follows an edge with probability d and
//! else, or from a vertex without out-edges, jumps anywhere.
//!
//! A program of the synchronous executor: a rank of 64 bits, a signal of 32 (rank over out-degree,
//! rounded once), sums of 64 in one fixed order. The walker's jumps from dangling vertices are one
//! number for each iteration. All isolated vertices have one rank, which is kept beside the array.
//!
//! Conventions as in igraph and networkx: damping 0.85, dangling rank spread uniformly, ranks sum
//! to 1.

use std::mem::replace;

use crate::common::*;

/// PageRank and its parameters.
#[derive(Clone, Debug)]
pub struct PageRank {
    /// The probability of following an edge, between 0 and 1.
    pub damping: f64,
    /// At most, and without a tolerance exactly, so many iterations.
    pub iterations: u64,
    /// Stop when the ranks' L1 change falls below this, or no further: signals have 32 bits, which
    /// leaves it between 1e-10 and 1e-7 for ever.
    pub tolerance: Option<f64>,
    /// Rows of the summary.
    pub top: usize,
}

impl Default for PageRank {
    fn default() -> Self {
        Self { damping: 0.85, iterations: 20, tolerance: None, top: 10 }
    }
}

impl PageRank {
    /// What comes after so many iterations, the last of which left this residual.
    pub(crate) fn next(&self, iterations: u64, residual: f64) -> Next {
        let done = iterations >= self.iterations || residual < self.tolerance.unwrap_or(0.0);
        if done { Next::End } else { Next::Iteration }
    }

    /// The results of a run of so many iterations; `alone` is the rank of each isolated vertex.
    pub(crate) fn results(
        &self,
        session: &Session,
        iterations: u64,
        [residual, sum]: [f64; 2],
        ranks: VertexArray<f64>,
        alone: f64,
    ) -> Result<Outcome> {
        let results = session
            .results(iterations)
            .figure("residual", residual)
            .figure("sum", sum)
            .column(Column::new("score", ranks).isolated(Isolated::Value(alone)));
        Ok(results.ranked(self.top)?.outcome())
    }
}

struct RankProgram {
    asked: PageRank,
    vertices: f64,
    isolated: f64,
    /// The rank of each isolated vertex.
    alone: f64,
    /// That of the last iteration.
    residual: f64,
    /// What every vertex gets in this iteration, whatever its neighbors are: a jump's share, and
    /// the shares of vertices without out-edges.
    base: f64,
}

impl VertexProgram for RankProgram {
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
        *rank = self.base + self.asked.damping * message.0;
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
        let damping = self.asked.damping;
        let dangling = context.aggregate + self.isolated * self.alone;
        self.base = (1.0 - damping + damping * dangling) / self.vertices;
    }

    fn end_iteration(&mut self, end: &IterationEnd) -> Next {
        let moved = self.isolated * (self.base - self.alone).abs();
        self.alone = self.base;
        let last = replace(&mut self.residual, end.residual + moved);
        // It shrinks by the damping each time, until rounding is all that is left of it.
        if self.asked.tolerance.is_some() && self.residual >= last {
            return Next::End;
        }
        self.asked.next(end.iterations, self.residual)
    }
}

impl Algorithm for PageRank {
    fn name(&self) -> &'static str {
        "pagerank"
    }

    fn declare<'a>(&'a self, job: Job<'a>) -> Result<Prepared<'a>> {
        self.iterate(Planner::new(self.name(), job))
    }
}

impl PageRank {
    /// Plans whole iterations.
    pub(crate) fn iterate<'a>(&'a self, mut planner: Planner<'a>) -> Result<Prepared<'a>> {
        let graph = planner.job.graph;
        let (most, vertices) = (self.iterations, graph.vertices() as f64);
        let isolated = graph.isolated() as f64;
        let mut program = RankProgram {
            asked: self.clone(),
            vertices,
            isolated,
            alone: 1.0 / vertices,
            residual: f64::MAX,
            base: 0.0,
        };
        let scans = self.tolerance.is_none().then_some(most);
        let mut iterations = Iterations::declare(&mut planner, &program, scans)?;
        // A rank comes from messages alone; the last two are compared, once.
        largest(&mut planner, self.top);
        if let Some(tolerance) = self.tolerance {
            let rate = (self.damping * graph.mixing()).min(0.99);
            planner.guess(most.min((tolerance.ln() / rate.ln()).ceil().max(1.0) as u64));
        }
        let compared = self.tolerance.map_or(most.saturating_sub(1), |_| 0);
        (iterations.most, iterations.discards_values_before) = (Some(most), compared);
        Ok(planner.decide()?.prepared(move |session| {
            let ended = iterations.run(session, &mut program, None)?;
            let alone = program.alone;
            let mut sum = alone * isolated;
            ended.values.for_each(|_, rank| sum += rank)?;
            let figures = [program.residual, sum];
            self.results(session, ended.iterations, figures, ended.values, alone)
        }))
    }
}
