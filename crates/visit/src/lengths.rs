//! [`Paths`]: visitors that add up the lengths of edges on their way from one vertex.

use outercore_engine::{Lengths, Start};

use crate::Visitor;

/// With lengths of this kind, from this vertex. A label is a length.
pub struct Paths<L>(pub L, pub u64);

impl<L: Lengths> Visitor for Paths<L> {
    const WEIGHTED: bool = true;

    fn start(&self) -> Start {
        Start::Vertices(vec![self.1])
    }

    fn first(&self, _: u64) -> u64 {
        0
    }

    fn unreached(&self) -> u64 {
        self.0.unreached()
    }

    #[inline(always)]
    fn along(&self, _: u64, length: u64, weight: u64) -> u64 {
        self.0.add(length, weight)
    }
}
