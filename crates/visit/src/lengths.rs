//! [`Paths`]: visitors that add up the lengths of edges on their way from one vertex.

use outercore_engine::Start;
use outercore_graph::{Graph, PathLengths, Result};

use crate::{Visitor, steps::Steps};

/// Paths from a vertex. A label is a length.
pub struct Paths {
    of: PathLengths,
    source: u64,
    steps: Steps,
}

impl Paths {
    /// From `source`, with lengths of this kind.
    pub fn new(graph: &Graph, of: PathLengths, source: u64) -> Result<Self> {
        Ok(Self { of, source, steps: Steps::of(graph)? })
    }
}

impl Visitor for Paths {
    const WEIGHTED: bool = true;

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
        self.steps.of_length(self.of.number(length))
    }
    #[inline(always)]
    fn rough_priority(&self, length: u64) -> u64 {
        self.steps.of_length_where_read(self.of.number(length))
    }
}
