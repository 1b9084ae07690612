//! Distances in rounds: a vertex whose distance fell sends it on along its edges, and may do so
//! again in a later round (Bellman and Ford's algorithm, with a frontier).
//!
//! Whole distances are kept in 32 bits if these hold all of them: signals take most of the memory
//! of a fully-external run. Those that are too large all become the second largest number, which is
//! larger than any that is right, so no other distance is wrong for it.

use outercore_engine::{Idempotent, Lengths, Min, Monoid, Monotone, PathLengths};

use crate::common::*;

/// Distances from one vertex, as `keep` makes them of 64 bits; the largest number stays that.
pub(super) struct Rounds<F> {
    pub distances: PathLengths,
    pub source: u64,
    pub keep: F,
}

impl<L, F> VertexProgram for Rounds<F>
where
    L: Pod + Copy + Ord + Into<u64> + Send + Sync,
    F: Fn(u64) -> L + Sync,
    Min<L>: Idempotent,
{
    type Value = L;
    type Signal = L;
    type Message = Min<L>;

    const SILENCE: Option<L> = Some(Min::IDENTITY.0);
    const WEIGHTED: bool = true;

    fn start(&self) -> Start {
        Start::Vertices(vec![self.source])
    }

    fn init(&self, vertex: u64, _: u32) -> L {
        (self.keep)(if vertex == self.source { 0 } else { self.distances.unreached() })
    }

    fn scatter(&self, _: u64, distance: &L, _: u32) -> Option<L> {
        Some(*distance)
    }

    #[inline(always)]
    fn carry(&self, distance: L, weight: f64) -> Min<L> {
        match Min(distance) {
            silent if silent == Min::IDENTITY => silent,
            _ => Min((self.keep)(self.distances.plus_weight(distance.into(), weight))),
        }
    }

    fn apply(&self, _: &Context, _: u64, distance: &mut L, message: Min<L>) -> bool {
        let better = message.0 < *distance;
        *distance = message.0.min(*distance);
        better
    }
}

impl<F> Monotone for Rounds<F> where Self: VertexProgram<Message: Idempotent> {}
