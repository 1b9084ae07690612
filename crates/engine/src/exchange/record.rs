//! [`Record`]: what is sent to a vertex, and how it may become less on its way.

use outercore_storage::{Pod, items_of};

use crate::Monoid;

/// Where a record stands that names a step: a place that no interval has.
pub(crate) const STEP: u64 = u32::MAX as u64;

/// What is sent to a vertex.
///
/// There are two ways to write less. Records that merge are gathered for all intervals together,
/// sorted by vertex and merged. Of the others a sender may remember the last ones, and drop what
/// adds nothing to one of them.
pub trait Record: Pod + Copy + Send + Sync {
    /// Whether records to one vertex merge.
    const MERGES: bool = false;
    /// Bytes on scratch: the vertex, counted from the first one of its interval, of which there are
    /// at most 2^32, and the record.
    const BYTES: usize = size_of::<u32>() + size_of::<Self>();
    /// How many records a sender remembers: a power of two, or 0.
    const REMEMBERED: usize = 0;

    /// What stands in a block before the records of a step, as a record to [`STEP`]; `None`: no one
    /// asks for steps. Not for records that merge.
    fn of_step(_number: u32) -> Option<Self> {
        None
    }

    /// Merges a record that was sent later to the same vertex into this one.
    #[inline(always)]
    fn merge(&mut self, _later: Self) {}

    /// Whether `later`, sent to the same vertex, adds nothing to this one.
    #[inline(always)]
    fn covers(&self, _later: &Self) -> bool {
        false
    }

    /// Where a sender remembers this record. Records that cover each other have the same place.
    #[inline(always)]
    fn place(&self, vertex: u64) -> u64 {
        vertex
    }

    /// The key of this record, where the smallest key that waits for an interval is asked for; not
    /// for records that merge.
    #[inline(always)]
    fn key(&self) -> Option<u64> {
        None
    }
}

impl<M: Monoid> Record for M {
    const MERGES: bool = true;

    #[inline(always)]
    fn merge(&mut self, later: Self) {
        self.combine(later);
    }
}

/// Shows the records of a block of an interval: vertex and record.
#[inline(always)]
pub(crate) fn for_each<R: Record>(block: &[u8], first: u64, mut show: impl FnMut(u64, R)) {
    for entry in block.chunks_exact(R::BYTES) {
        let (at, record) = entry.split_first_chunk().expect("an entry begins with its vertex");
        let vertex = first + u64::from(u32::from_le_bytes(*at));
        items_of(record).for_each(|record| show(vertex, record));
    }
}
