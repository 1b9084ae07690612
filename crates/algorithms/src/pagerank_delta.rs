//! PageRank by differences: a vertex passes on what its rank has gained or lost since it last did,
//! and only when that is worth the reading of its edges (PageRank-delta in Graphene, FAST'17, and
//! GraphSD, ICPP'22; after Zhang, Gao, Gao and Wang, TPDS 2014).
//!
//! Every vertex has a rank and a difference that it has not passed on; the differences' absolute
//! values add up to the residual of [`crate::pagerank`]. A vertex is active while its difference
//! for each edge is at least [`SHARE`] times what the tolerance allows on average; where that
//! leaves too much behind, the bar is halved. Ranks begin uniform, as PageRank's do, so that gains
//! and losses cancel on the way. In the end every difference is added to its rank, and ranks sum to
//! 1.
//!
//! Differences travel as whole numbers of 2^-60: sums are exact, in any order.
//!
//! Where half of the edges of a pass serve two iterations, whole iterations reach the same residual
//! in less time, down to what the rounding of their signals leaves. So they are the usual method.

use outercore_engine::{Pod, Preset};

use crate::{common::*, pagerank::PageRank};

/// PageRank until the residual falls below a tolerance, by differences or by whole iterations.
#[derive(Clone, Debug)]
pub struct PageRankDelta {
    /// The parameters of PageRank.
    pub pagerank: PageRank,
    /// How it goes about it; `None`: the plan decides.
    pub method: Option<DeltaMethod>,
}

named! {
    /// How ranks come to rest.
    pub enum DeltaMethod: "method" {
        /// Vertices pass on what their ranks have gained or lost, where that is worth it.
        Differences = "differences",
        /// All vertices pass on their ranks, as in PageRank.
        Iterations = "iterations",
    }
}

impl Default for PageRankDelta {
    fn default() -> Self {
        let usual = PageRank::default();
        let pagerank = PageRank { iterations: 1000, tolerance: Some(1e-6), ..usual };
        Self { pagerank, method: None }
    }
}

/// The least tolerance that whole iterations meet on any graph.
const ROUNDING: f64 = 2e-7;

/// The first bar: differences for each edge, in units of the tolerance over all edges.
const SHARE: f64 = 2.0;
/// What stands for a difference of 1.
const ONE: f64 = (1u64 << 60) as f64;

/// What a vertex keeps.
#[repr(C)]
#[derive(Clone, Copy)]
struct State {
    rank: f64,
    /// What it has gained, and not passed on.
    difference: f64,
    degree: u32,
    /// Whether it passes the difference on in this iteration.
    active: u32,
}

// SAFETY: two 64-bit numbers and two of 32 bits, without padding; every bit pattern valid, nothing
// to drop.
unsafe impl Pod for State {}

struct DeltaProgram {
    asked: PageRank,
    vertices: f64,
    isolated: f64,
    /// The least difference for each edge that is passed on.
    bar: f64,
    /// Rank and difference of each isolated vertex.
    alone: (f64, f64),
    /// What every vertex gains in this iteration: its share of what dangling vertices pass on, and
    /// at first, of the walker's jumps, less the uniform rank that it begins with.
    gain: f64,
}

impl VertexProgram for DeltaProgram {
    type Value = State;
    type Signal = u64;
    type Message = Sum<u64>;

    const ACTIVITY: Activity = Activity::AllApply;
    const SILENCE: Option<u64> = Some(0);

    fn init(&self, _: u64, degree: u32) -> State {
        State { rank: 0.0, difference: 1.0 / self.vertices, degree, active: 1 }
    }

    #[inline(always)]
    fn scatter(&self, _: u64, state: &State, degree: u32) -> Option<u64> {
        Some((state.difference / f64::from(degree.max(1)) * ONE).round() as i64 as u64)
    }

    #[inline(always)]
    fn carry(&self, signal: u64, _: f64) -> Sum<u64> {
        Sum(signal)
    }

    #[inline(always)]
    fn apply(&self, _: &Context, _: u64, state: &mut State, message: Sum<u64>) -> bool {
        if state.active == 1 {
            state.rank += state.difference;
            state.difference = 0.0;
        }
        state.difference += self.gain + self.asked.damping * (message.0 as i64 as f64 / ONE);
        let worth =
            state.degree > 0 && state.difference.abs() >= self.bar * f64::from(state.degree);
        // A dangling vertex passes everything on, at no cost: see `aggregate`.
        state.active = u32::from(worth || state.degree == 0);
        worth
    }

    #[inline(always)]
    fn aggregate(&self, state: &State, degree: u32) -> f64 {
        if degree == 0 { state.difference } else { 0.0 }
    }

    #[inline(always)]
    fn residual(&self, _: &State, new: &State) -> f64 {
        new.difference.abs()
    }

    fn begin_iteration(&mut self, context: &Context) {
        let damping = self.asked.damping;
        let dangling = context.aggregate + self.isolated * self.alone.1;
        let jumps = if context.iteration == 0 { damping / self.vertices } else { 0.0 };
        self.gain = damping * dangling / self.vertices - jumps;
    }

    fn end_iteration(&mut self, end: &IterationEnd) -> Next {
        self.alone = (self.alone.0 + self.alone.1, self.gain);
        if end.active == 0 {
            self.bar /= 2.0;
        }
        self.asked.next(end.iterations, end.residual + self.isolated * self.gain.abs())
    }
}

impl Algorithm for PageRankDelta {
    fn name(&self) -> &'static str {
        "pagerank-delta"
    }

    fn declare<'a>(&'a self, job: Job<'a>) -> Result<Prepared<'a>> {
        let (asked, graph) = (self.pagerank.clone(), job.graph);
        let usual = if job.config.preset != Preset::Best {
            (DeltaMethod::Differences, "as the preset does")
        } else if asked.tolerance.is_none_or(|tolerance| tolerance < ROUNDING) {
            (DeltaMethod::Differences, "whole iterations round more than the tolerance allows")
        } else {
            (DeltaMethod::Iterations, "whole iterations take less time to the same residual")
        };
        let (method, why) = method(self.method, usual);
        let mut planner = Planner::new(self.name(), job);
        planner.runs(method.name(), why);
        if method == DeltaMethod::Iterations {
            return self.pagerank.iterate(planner);
        }
        let (vertices, isolated) = (graph.vertices() as f64, graph.isolated() as f64);
        let bar = SHARE * asked.tolerance.unwrap_or(0.0) / graph.manifest().arcs.max(1) as f64;
        let (alone, gain) = ((0.0, 1.0 / vertices), 0.0);
        let mut program = DeltaProgram { asked, vertices, isolated, bar, alone, gain };
        let iterations = Iterations::declare(&mut planner, &program, None)?;
        Ok(planner.decide()?.prepared(move |session| {
            let ended = iterations.run(session, &mut program, None)?;
            let (rank, difference) = program.alone;
            let mut sum = (rank + difference) * isolated;
            let score = |state: &State| state.rank + state.difference;
            ended.values.for_each(|_, state| sum += score(state))?;
            let figures = [ended.residual + isolated * difference.abs(), sum];
            let ranks = ended.values.map(score)?;
            self.pagerank.results(session, ended.iterations, figures, ranks, rank + difference)
        }))
    }
}
