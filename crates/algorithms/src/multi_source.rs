//! Breadth-first search from up to 128 vertices at once: a bit for each source, so that one reading
//! of a list serves all of them (Then et al., VLDB 2015).

use std::{collections::BTreeMap, marker::PhantomData};

use outercore_engine::{Lanes, Monoid, Or};

use crate::common::*;

/// Hop counts from many vertices.
#[derive(Clone, Debug)]
pub struct MultiSource {
    /// Where they start, at most [`MOST`].
    pub sources: Vec<Source>,
}

/// Most sources.
pub const MOST: usize = 128;

/// A set of sources, in as few bits as hold all of them: numbers of 32 or 64 bits.
trait Sources: Monoid {
    /// With source `lane` too.
    fn with(self, lane: usize) -> Self;
    /// Without those of another set.
    fn without(self, other: Self) -> Self;
    /// How many there are.
    fn count(self) -> u32;
}

macro_rules! sources {
    ($($bits:ty),*) => {
        $(impl Sources for Or<$bits> {
            fn with(self, lane: usize) -> Self {
                Or(self.0 | 1 << lane)
            }
            fn without(self, other: Self) -> Self {
                Or(self.0 & !other.0)
            }
            fn count(self) -> u32 {
                self.0.count_ones()
            }
        })*
    };
}

sources!(u32, u64);

impl Sources for Lanes {
    fn with(mut self, lane: usize) -> Self {
        self.0[lane / 64] |= 1 << (lane % 64);
        self
    }
    fn without(self, other: Self) -> Self {
        Lanes([self.0[0] & !other.0[0], self.0[1] & !other.0[1]])
    }
    fn count(self) -> u32 {
        self.0[0].count_ones() + self.0[1].count_ones()
    }
}

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
unsafe impl<S: Sources> Pod for Reached<S> {}

/// A search from these vertices, by lane.
struct MultiSourceProgram<S>(Vec<u64>, PhantomData<fn() -> S>);

impl<S: Sources> VertexProgram for MultiSourceProgram<S> {
    type Value = Reached<S>;
    type Signal = S;
    type Message = S;

    const SILENCE: Option<S> = Some(S::IDENTITY);

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
        match self.sources.len() {
            1..=32 => self.search::<Or<u32>>(job),
            33..=64 => self.search::<Or<u64>>(job),
            65..=MOST => self.search::<Lanes>(job),
            many => refuse(format!("multi-source takes 1 to {MOST} sources, not {many}")),
        }
    }
}

impl MultiSource {
    fn search<'a, S: Sources + 'a>(&'a self, job: Job<'a>) -> Result<Prepared<'a>> {
        let (graph, sources) = (job.graph, self.sources.len());
        let mut program = MultiSourceProgram::<S>(locate_all(graph, &self.sources)?, PhantomData);
        let mut planner = Planner::new(self.name(), job);
        let iterations = Iterations::declare(&mut planner, &program, None)?;
        Ok(planner.decide()?.prepared(move |session| {
            let ended = iterations.run(session, &mut program, None)?;
            let (mut pairs, mut distance_sum) = (0, 0);
            let reached = ended.values.map(|value| {
                let reached = value.seen.count();
                pairs += u64::from(reached);
                reached
            })?;
            let distances = ended.values.map(|value| {
                distance_sum += value.distances;
                value.distances
            })?;
            // Without edges, a source reaches itself and nothing else.
            let mut own = BTreeMap::new();
            for &source in program.0.iter().filter(|&&source| source >= graph.connected()) {
                *own.entry(source).or_insert(0.0) += 1.0;
                pairs += 1;
            }
            Ok(session
                .results(ended.iterations)
                .figure("sources", sources as u64)
                .figure("reached_pairs", pairs)
                .figure("distance_sum", distance_sum)
                .column(or_zero("reached", reached).except(own))
                .column(or_zero("distance_sum", distances))
                .outcome())
        }))
    }
}
