//! [`Hops`]: visitors that count the edges of their way from one vertex, and say where they come
//! from.

use outercore_engine::Start;

use crate::Visitor;

/// From this vertex. A label has the edges of the way in its upper half and the vertex before in
/// its lower one; that of the first vertex is itself.
pub struct Hops(pub u64);

impl Visitor for Hops {
    fn start(&self) -> Start {
        Start::Vertices(vec![self.0])
    }

    fn first(&self, vertex: u64) -> u64 {
        vertex
    }

    #[inline(always)]
    fn along(&self, vertex: u64, label: u64, _: u64) -> u64 {
        ((label >> 32) + 1) << 32 | vertex
    }

    /// Another vertex before it matters to no other vertex.
    #[inline(always)]
    fn spreads(&self, old: u64, new: u64) -> bool {
        new >> 32 < old >> 32
    }

    #[inline(always)]
    fn priority(&self, label: u64) -> u64 {
        label >> 32
    }
}
