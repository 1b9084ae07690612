//! [`Smallest`]: visitors that carry the smallest vertex to all that it is connected with.

use outercore_engine::Start;
use outercore_graph::Direction;

use crate::Visitor;

/// Along edges of both directions. A label is a vertex.
pub struct Smallest;

impl Visitor for Smallest {
    const DIRECTIONS: &'static [Direction] = &[Direction::Out, Direction::In];

    fn start(&self) -> Start {
        Start::All
    }

    fn first(&self, vertex: u64) -> u64 {
        vertex
    }

    #[inline(always)]
    fn along(&self, _: u64, label: u64, _: u64) -> u64 {
        label
    }
}
