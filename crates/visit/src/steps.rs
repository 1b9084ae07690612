//! [`Steps`]: the priorities of lengths.

use outercore_graph::{Graph, Result};

/// Lengths that differ by less than a step have the same priority.
///
/// A step is half of the lightest edge of a vertex; where lists are read from storage, at least a
/// small part of a mean edge's share.
pub struct Steps {
    /// Steps of each unit of length, and where lists are read from storage.
    per_unit: [f64; 2],
}

/// The lightest step that counts, of a mean one.
const LEAST: f64 = 1.0 / (1 << 20) as f64;
/// The same where lists are read: with it a fifth fewer bytes are, and up to a fifth more lists.
const NEAR: f64 = 1.0 / 160.0;

impl Steps {
    /// Those of a graph with weights.
    pub fn of(graph: &Graph) -> Result<Self> {
        let (mean, light) = (graph.mean_step()?, graph.light_step()?);
        // Many edges may weigh nothing.
        let step = |least| 1.0 / (light / 2.0).max(mean * least).max(f64::MIN_POSITIVE);
        Ok(Self { per_unit: [LEAST, NEAR].map(step) })
    }

    /// The priority of a length.
    #[inline(always)]
    pub fn of_length(&self, length: f64) -> u64 {
        (length * self.per_unit[0]) as u64
    }

    /// The same where lists are read from storage.
    #[inline(always)]
    pub fn of_length_where_read(&self, length: f64) -> u64 {
        (length * self.per_unit[1]) as u64
    }
}
