//! Searches from up to 128 vertices at once. In edges: a bit for each source, so that one reading
//! of a list serves all of them (Then et al., VLDB 2015). By weights: see `many_lengths`.

use std::marker::PhantomData;

use outercore_engine::{LaneSet, Lanes, Or, Precompute};
use outercore_graph::PathLengths;

use crate::{
    common::*,
    many_lengths::{by_lengths, outcome},
};

/// Distances from many vertices.
#[derive(Clone, Debug)]
pub struct MultiSource {
    /// Where they start, at most [`MOST`].
    pub sources: Vec<Source>,
    /// Whether distances are sums of weights, not numbers of edges.
    pub weighted: bool,
}

/// Most sources.
pub const MOST: usize = 128;

/// What a vertex keeps.
#[repr(C)]
#[derive(Clone, Copy)]
struct Reached<S> {
    /// The sources that have reached it.
    seen: S,
    /// Those that did in the last iteration.
    fresh: S,
    /// The sum of its distances from them.
    distances: u64,
}

// SAFETY: two sets, each one or two numbers of 32 or 64 bits, and one of 64: no padding; every bit
// pattern valid, nothing to drop.
unsafe impl<S: LaneSet> Pod for Reached<S> {}

/// A search from these vertices, by lane.
struct MultiSourceProgram<S>(Vec<u64>, PhantomData<fn() -> S>);

impl<S: LaneSet> VertexProgram for MultiSourceProgram<S> {
    type Value = Reached<S>;
    type Signal = S;
    type Message = S;

    const SILENCE: Option<S> = Some(S::IDENTITY);
    const SETTLED: Option<fn(&Self, &Reached<S>) -> bool> =
        Some(|search, value| value.seen.count() as usize == search.0.len());

    fn start(&self) -> Start {
        Start::Vertices(self.0.clone())
    }

    fn init(&self, vertex: u64, _: u32) -> Reached<S> {
        let mut seen = S::IDENTITY;
        // Few vertices are sources: one comparison of all of them is the usual end.
        if self.0.contains(&vertex) {
            let own = self.0.iter().enumerate().filter(|&(_, &source)| source == vertex);
            seen = own.fold(seen, |seen, (lane, _)| seen.with(lane));
        }
        Reached { seen, fresh: seen, distances: 0 }
    }

    fn scatter(&self, _: u64, value: &Reached<S>, _: u32) -> Option<S> {
        Some(value.fresh)
    }

    #[inline(always)]
    fn carry(&self, signal: S, _: f64) -> S {
        signal
    }

    fn apply(&self, context: &Context, _: u64, value: &mut Reached<S>, message: S) -> bool {
        value.fresh = message.without(value.seen);
        value.seen.combine(value.fresh);
        let count = u64::from(value.fresh.count());
        value.distances += count * (context.iteration + 1);
        count > 0
    }
}

impl Algorithm for MultiSource {
    fn name(&self) -> &'static str {
        "multi-source"
    }

    fn declare<'a>(&'a self, job: Job<'a>) -> Result<Prepared<'a>> {
        let early = job.config.precompute.is_some_and(|it| it != Precompute::Off);
        match self.sources.len() {
            1..=MOST if self.weighted => by_lengths::<true>(&self.sources, job),
            1..=MOST if early => by_lengths::<false>(&self.sources, job),
            1..=32 => self.search::<Or<u32>>(job),
            33..=64 => self.search::<Or<u64>>(job),
            65..=MOST => self.search::<Lanes>(job),
            many => refuse(format!("multi-source takes 1 to {MOST} sources, not {many}")),
        }
    }
}

impl MultiSource {
    fn search<'a, S: LaneSet + 'a>(&'a self, job: Job<'a>) -> Result<Prepared<'a>> {
        let sources = Source::locate_all(&self.sources, job.graph)?;
        let mut program = MultiSourceProgram::<S>(sources, PhantomData);
        let mut planner = Planner::new(self.name(), job);
        let iterations = Iterations::declare(&mut planner, &program, None)?;
        Ok(planner.decide()?.prepared(move |session| {
            let ended = iterations.run(session, &mut program, None)?;
            let totals = |value: &Reached<S>| (value.seen.count(), value.distances);
            let sources = (&program.0[..], PathLengths::EDGES);
            outcome(session, (ended.iterations, ended.values), sources, totals)
        }))
    }
}
