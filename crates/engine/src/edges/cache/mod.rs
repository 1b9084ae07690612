//! What was read and stays in memory.
//!
//! - [`ListCache`]: lists, before the device. `prefix`: those at the front of the rows;
//!   `sciu` of the iterations: those that the last iteration has read.
//! - `pinned_chunks`: chunks of the grid that stay from their first reading on; `sub_block_buffer`:
//!   those with the most active edges, from one pass to the next.

use outercore_graph::format::{Group, List, RowIndex};

use crate::techniques::Technique;

pub(crate) mod pinned_chunks;
pub(crate) mod prefix;
pub(crate) mod sub_block_buffer;

/// Lists in memory, before the device. Several caches form a chain: the first one that holds a list
/// shows it, and what none holds is read.
///
/// Pages of the rows are kept by the rows themselves, for lists that must come in order too.
pub trait ListCache: Sync {
    /// Of a group's vertices, those whose whole lists are here, as bits. Vertices without edges may
    /// be among them.
    fn held(&self, index: &RowIndex, group: Group) -> u64;

    /// Shows lists that are held to a worker; returns the hits.
    fn show(
        &self,
        index: &RowIndex,
        group: Group,
        worker: usize,
        visit: &mut dyn FnMut(u64, List),
    ) -> u64;

    /// The technique whose hits these are.
    fn technique(&self) -> Technique;

    /// Whether it takes lists that were read.
    fn takes_lists(&self) -> bool {
        false
    }

    /// Offers the whole list of a vertex, which a worker has read.
    fn offer(&self, _worker: usize, _vertex: u64, _list: List) {}
}
