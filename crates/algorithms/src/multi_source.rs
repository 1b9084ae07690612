//! Breadth-first search from up to 128 vertices at once: a bit for each source, so that one reading
//! of a list serves all of them (Then et al., VLDB 2015).

use std::collections::BTreeMap;

use outercore_engine::{Lanes, Monoid};

use crate::common::*;

/// Hop counts from many vertices.
#[derive(Clone, Debug)]
pub struct MultiSource {
    /// Where they start, at most [`MOST`].
    pub sources: Vec<Source>,
}

/// Most sources.
pub const MOST: usize = 128;

/// What a vertex keeps.
#[repr(C)]
#[derive(Clone, Copy)]
struct Reached {
    /// The sources that have reached it.
    seen: Lanes,
    /// Those that did in the last iteration.
    fresh: Lanes,
    /// The sum of its distances from them.
    distances: u64,
}

// SAFETY: five 64-bit numbers without padding; every bit pattern valid, nothing to drop.
unsafe impl Pod for Reached {}

/// A search from these vertices, by lane.
struct Program(Vec<u64>);

/// How many sources there are.
fn count(lanes: Lanes) -> u32 {
    lanes.0[0].count_ones() + lanes.0[1].count_ones()
}

impl VertexProgram for Program {
    type Value = Reached;
    type Signal = Lanes;
    type Message = Lanes;

    fn start(&self) -> Start {
        Start::Vertices(self.0.clone())
    }

    fn init(&self, vertex: u64, _: u32) -> Reached {
        let mut lanes = Lanes::IDENTITY;
        for (lane, _) in self.0.iter().enumerate().filter(|&(_, &source)| source == vertex) {
            lanes.0[lane / 64] |= 1 << (lane % 64);
        }
        Reached { seen: lanes, fresh: lanes, distances: 0 }
    }

    fn scatter(&self, _: u64, value: &Reached, _: u32) -> Option<Lanes> {
        Some(value.fresh)
    }

    #[inline(always)]
    fn carry(&self, signal: Lanes, _: f64) -> Lanes {
        signal
    }

    fn apply(&self, context: &Context, _: u64, value: &mut Reached, message: Lanes) -> bool {
        value.fresh = Lanes([message.0[0] & !value.seen.0[0], message.0[1] & !value.seen.0[1]]);
        value.seen.combine(value.fresh);
        let count = u64::from(count(value.fresh));
        value.distances += count * (context.iteration + 1);
        count > 0
    }
}

impl Algorithm for MultiSource {
    fn name(&self) -> &'static str {
        "multi-source"
    }

    fn prepare<'a>(&'a self, job: Job<'a>) -> Result<Prepared<'a>> {
        let (graph, sources) = (job.graph, self.sources.len());
        if !(1..=MOST).contains(&sources) {
            return refuse(format!("multi-source takes 1 to {MOST} sources, not {sources}"));
        }
        let mut program = Program(locate_all(graph, &self.sources)?);
        let mut planner = Planner::new(self.name(), job);
        let iterations = Iterations::declare(&mut planner, &program, None)?;
        Ok(planner.decide()?.prepared(move |session| {
            let ended = iterations.run(session, &mut program, None)?;
            let (mut pairs, mut distance_sum) = (0, 0);
            let reached = ended.values.map(|value| {
                let reached = count(value.seen);
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
