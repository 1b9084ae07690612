//! What was read and stays in memory.
//!
//! - [`ListCache`]: lists, before the device. `prefix`: those at the front of the rows;
//!   `sciu` of the iterations: those that the last iteration has read.
//! - `pinned_chunks`: chunks of the grid that stay from their first reading on; `sub_block_buffer`:
//!   those with the most active edges, from one pass to the next.

use std::{ops::Range, sync::atomic::AtomicU64};

use outercore_storage::PAGE;

use super::{
    list::List,
    row_index::{Group, RowIndex},
};
use crate::session::Counters;

pub(crate) mod pinned_chunks;
pub(crate) mod prefix;
pub(crate) mod sub_block_buffer;

/// A section of the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    /// The neighbors.
    Neighbors,
    /// Their weights.
    Weights,
}

/// The pages that some entries of a section lie in, each of so many bytes.
#[inline]
pub(super) fn pages_of(entries: &Range<u64>, width: u64) -> Range<u64> {
    entries.start * width / PAGE as u64..(entries.end * width).div_ceil(PAGE as u64)
}

/// Lists in memory, before the device. Several caches form a chain: the first one that holds a list
/// shows it, and what none holds is read.
///
/// A cache keeps whole lists, or pages of a section. One of pages is also asked for the pages of
/// lists that must come in order.
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

    /// Where hits are counted.
    fn hits<'c>(&self, counters: &'c Counters) -> &'c AtomicU64;

    /// Whether it takes lists that were read.
    fn takes_lists(&self) -> bool {
        false
    }

    /// Offers the whole list of a vertex, which a worker has read.
    fn offer(&self, _worker: usize, _vertex: u64, _list: List) {}

    /// Pages of a section before this one are worth keeping: they are read whole.
    fn kept_pages(&self, _section: Section) -> u64 {
        0
    }

    /// Offers pages that were read and verified, from page `first` on.
    fn offer_pages(&self, _section: Section, _first: u64, _bytes: &[u8]) {}

    /// Pages of a section, if all of them are here.
    fn pages(&self, _section: Section, _pages: Range<u64>) -> Option<&[u8]> {
        None
    }
}
