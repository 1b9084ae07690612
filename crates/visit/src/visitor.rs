//! [`Visitor`]: what an author of a traversal writes.

use outercore_engine::Start;
use outercore_graph::Direction;

/// A traversal: what visitors bring, and where to.
///
/// A label is a number of 64 bits, and the smaller one is the better one. It may have parts: a
/// level in the upper half and a parent in the lower one make the smallest parent win.
pub trait Visitor: Sync {
    /// The edges along which visitors go: out, in, or both.
    const DIRECTIONS: &'static [Direction] = &[Direction::Out];
    /// Whether edges' weights are wanted.
    const WEIGHTED: bool = false;
    /// The vertices that have visitors at first.
    fn start(&self) -> Start;
    /// What the first visitor of a vertex brings.
    fn first(&self, vertex: u64) -> u64;
    /// The label of a vertex that is not visited; no visitor brings a larger one.
    fn unreached(&self) -> u64 {
        u64::MAX
    }
    /// What a visitor brings along an edge of this weight (its bits, as they are stored) from a
    /// vertex with this label: nothing better than that. [`Visitor::unreached`] is no visitor.
    fn along(&self, vertex: u64, label: u64, weight: u64) -> u64;
    /// Whether neighbors need to know that a label became a better one.
    fn spreads(&self, _old: u64, _new: u64) -> bool {
        true
    }
    /// The smallest comes first.
    fn priority(&self, label: u64) -> u64 {
        label
    }
    /// The same where lists are read from storage: to go back for a slightly better label costs
    /// more there.
    fn rough_priority(&self, label: u64) -> u64 {
        self.priority(label)
    }
}
