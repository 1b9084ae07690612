//! [`Record`]: what is sent to a number, and how it may become less on its way.

use crate::{
    arena::{Pod, items_of},
    monoid::Monoid,
};

/// Where a record stands that names a step: a place that no part has.
pub const STEP: u64 = u32::MAX as u64;

/// What is sent to a number.
///
/// There are two ways to write less. Records that merge are added up in memory where that is likely
/// to meet others. Of the others a sender may remember the last ones, and drop what adds nothing to
/// one of them.
pub trait Record: Pod + Copy + Send + Sync {
    /// Bytes on scratch: the number, counted from the first one of its part, of which there are at
    /// most 2^32, and the record.
    const BYTES: usize = size_of::<u32>() + size_of::<Self>();
    /// How many records a sender remembers: a power of two, or 0.
    const REMEMBERED: usize = 0;
    /// What merges with any record without changing it; `None`: records do not merge.
    const NOTHING: Option<Self> = None;
    /// Whether the order in which they merge matters.
    const ORDERED: bool = false;

    /// What stands before the records of a step, as a record to [`STEP`]; `None`: no one asks for
    /// steps. Not for records that merge.
    fn of_step(_number: u32) -> Option<Self> {
        None
    }

    /// Merges a record that was sent later to the same number into this one.
    #[inline(always)]
    fn merge(&mut self, _later: Self) {}

    /// Whether this is what merges without a change.
    #[inline(always)]
    fn is_nothing(&self) -> bool {
        false
    }

    /// Whether `later`, sent to the same number, adds nothing to this one.
    #[inline(always)]
    fn covers(&self, _later: &Self) -> bool {
        false
    }

    /// Where a sender remembers this record. Records that cover each other have the same place.
    #[inline(always)]
    fn place(&self, number: u64) -> u64 {
        number
    }

    /// The key of this record, where the smallest key that waits for a part is asked for; not for
    /// records that merge.
    #[inline(always)]
    fn key(&self) -> Option<u64> {
        None
    }
}

impl<M: Monoid> Record for M {
    const NOTHING: Option<Self> = Some(M::IDENTITY);
    const ORDERED: bool = !M::EXACT;

    #[inline(always)]
    fn merge(&mut self, later: Self) {
        self.combine(later);
    }

    #[inline(always)]
    fn is_nothing(&self) -> bool {
        *self == M::IDENTITY
    }
}

/// A number for one that gets no other.
impl Record for f64 {}

/// The same of bits.
impl Record for u64 {}

/// A number that does not merge, in a step.
impl Record for u32 {
    fn of_step(number: u32) -> Option<Self> {
        Some(number)
    }
}

/// Shows the records of a block of a part that begins with `first`: number and record.
#[inline(always)]
pub(super) fn for_each<R: Record>(block: &[u8], first: u64, mut show: impl FnMut(u64, R)) {
    for entry in block.chunks_exact(R::BYTES) {
        let (at, record) = entry.split_first_chunk().expect("an entry begins with its number");
        let number = first + u64::from(u32::from_le_bytes(*at));
        items_of(record).for_each(|record| show(number, record));
    }
}
