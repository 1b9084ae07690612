//! Distances in rounds: a vertex whose distance fell sends it on along its edges, and may do so
//! again in a later round (Bellman and Ford's algorithm, with a frontier).

use outercore_engine::{Lengths, Min, Monotone};

use super::Distances;
use crate::common::*;

/// No distance.
const SILENT: u64 = u64::MAX;

/// Distances from one vertex.
pub(super) struct Rounds {
    pub distances: Distances,
    pub source: u64,
}

impl VertexProgram for Rounds {
    type Value = u64;
    type Signal = u64;
    type Message = Min<u64>;

    const SILENCE: Option<u64> = Some(SILENT);
    const WEIGHTED: bool = true;

    fn start(&self) -> Start {
        Start::Vertices(vec![self.source])
    }

    fn init(&self, vertex: u64, _: u32) -> u64 {
        if vertex == self.source { 0 } else { self.distances.unreached() }
    }

    fn scatter(&self, _: u64, distance: &u64, _: u32) -> Option<u64> {
        Some(*distance)
    }

    #[inline(always)]
    fn carry(&self, distance: u64, weight: f64) -> Min<u64> {
        Min(if distance == SILENT { SILENT } else { self.distances.plus_weight(distance, weight) })
    }

    fn apply(&self, _: &Context, _: u64, distance: &mut u64, message: Min<u64>) -> bool {
        let better = message.0 < *distance;
        *distance = message.0.min(*distance);
        better
    }
}

impl Monotone for Rounds {}
