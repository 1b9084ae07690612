//! [`Paths`]: visitors that add up the lengths of edges on their way from one vertex.

use outercore_engine::Start;
use outercore_graph::{Graph, PathLengths, Result};

use crate::Visitor;

/// Paths from a vertex. A label is a length.
///
/// Visitors whose lengths are within a mean weight shared among a vertex's edges have the same
/// priority: then many lists are read together, and few vertices are visited again.
pub struct Paths {
    of: PathLengths,
    source: u64,
    /// Priorities of each unit of length.
    per_unit: f64,
}

impl Paths {
    /// From `source`, with lengths of this kind.
    pub fn new(graph: &Graph, of: PathLengths, source: u64) -> Result<Self> {
        Ok(Self { of, source, per_unit: 1.0 / graph.mean_step()?.max(f64::MIN_POSITIVE) })
    }
}

impl Visitor for Paths {
    const WEIGHTED: bool = true;
    // Four times as wide, pages are read a quarter less often, and a few lists more.
    const NEAR: u32 = 2;

    fn start(&self) -> Start {
        Start::Vertices(vec![self.source])
    }

    fn first(&self, _: u64) -> u64 {
        0
    }

    fn unreached(&self) -> u64 {
        self.of.unreached()
    }

    #[inline(always)]
    fn along(&self, _: u64, length: u64, weight: u64) -> u64 {
        self.of.add(length, weight)
    }

    #[inline(always)]
    fn priority(&self, length: u64) -> u64 {
        (self.of.number(length) * self.per_unit) as u64
    }
}
