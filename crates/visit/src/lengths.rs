//! [`Paths`]: visitors that add up the lengths of edges on their way from one vertex.

use outercore_engine::Start;
use outercore_graph::{Graph, PathLengths, Result};

use crate::Visitor;

/// Paths from a vertex. A label is a length.
///
/// Visitors whose lengths differ by less than half of the lightest edge of a vertex have the same
/// priority; where lists are read from storage, also those that differ by less than a small part of
/// a mean edge's share.
pub struct Paths {
    of: PathLengths,
    source: u64,
    /// Priorities of each unit of length, and where lists are read from storage.
    per_unit: [f64; 2],
}

/// The lightest step that counts, of a mean one.
const LEAST: f64 = 1.0 / (1 << 20) as f64;
/// The same where lists are read: with it a fifth fewer bytes are, and up to a fifth more lists.
const NEAR: f64 = 1.0 / 160.0;

impl Paths {
    /// From `source`, with lengths of this kind.
    pub fn new(graph: &Graph, of: PathLengths, source: u64) -> Result<Self> {
        let (mean, light) = (graph.mean_step()?, graph.light_step()?);
        // Many edges may weigh nothing.
        let step = |least| 1.0 / (light / 2.0).max(mean * least).max(f64::MIN_POSITIVE);
        Ok(Self { of, source, per_unit: [LEAST, NEAR].map(step) })
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
        (self.of.number(length) * self.per_unit[0]) as u64
    }

    #[inline(always)]
    fn rough_priority(&self, length: u64) -> u64 {
        (self.of.number(length) * self.per_unit[1]) as u64
    }
}
