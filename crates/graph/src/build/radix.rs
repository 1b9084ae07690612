//! Sorting inside a bucket: radix sort of records by a few bits of a 64-bit key, by the most
//! significant digit until parts are in a cache, then from the least significant one on. Stable,
//! two arrays, no allocation beyond the histograms.

use crate::error::Result;

/// A fixed-size thing with a 64-bit sort key.
pub trait Record: Copy + Send + Sync + Default {
    /// The sort key.
    fn key(&self) -> u64;
    /// The weight's bits; 0 where there is none.
    fn payload(&self) -> u64;
    /// A record of this key and payload.
    fn new(key: u64, payload: u64) -> Self;
}

impl Record for u64 {
    #[inline(always)]
    fn key(&self) -> u64 {
        *self
    }
    #[inline(always)]
    fn payload(&self) -> u64 {
        0
    }
    #[inline(always)]
    fn new(key: u64, _: u64) -> Self {
        key
    }
}

/// A key with a weight.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Weighted {
    /// The sort key.
    pub key: u64,
    /// The weight's bits.
    pub weight: u64,
}

impl Record for Weighted {
    #[inline(always)]
    fn key(&self) -> u64 {
        self.key
    }
    #[inline(always)]
    fn payload(&self) -> u64 {
        self.weight
    }
    #[inline(always)]
    fn new(key: u64, payload: u64) -> Self {
        Weighted { key, weight: payload }
    }
}

/// The records of a bucket, in order, without what is not to be written.
pub trait InOrder<R> {
    /// Appends records until there are `most`. Returns whether there are no others.
    fn fill(&mut self, records: &mut Vec<R>, most: usize) -> Result<bool>;
}

/// Digits of at most this many bits: 2,048 counters stay in the first-level cache.
const DIGIT_BITS: u32 = 11;
/// The same of records that are in the second-level cache: so many places to write to are in the
/// first-level one.
const NEAR_DIGIT_BITS: u32 = 8;
/// Bytes of records that stay in the second-level cache, with as many of scratch.
const NEAR: usize = 256 << 10;
/// Records that are sorted by inserting one after the other.
const FEW: usize = 48;

/// Sorts `records` by bits `low..high` of their keys. Returns the sorted slice and the other one
/// (the two arguments, perhaps swapped).
///
/// Records that no cache holds are moved by their highest digit first, once, into parts that one
/// holds.
pub fn sort<'a, R: Record>(
    records: &'a mut [R],
    scratch: &'a mut [R],
    low: u32,
    high: u32,
) -> (&'a mut [R], &'a mut [R]) {
    assert_eq!(records.len(), scratch.len());
    let bits = high.saturating_sub(low);
    if bits == 0 || records.len() < 2 {
        return (records, scratch);
    }
    if records.len() <= FEW {
        insert_each(records, (u64::MAX >> (64 - bits)) << low);
        return (records, scratch);
    }
    let parts = size_of_val(records) / NEAR;
    if parts == 0 || bits <= NEAR_DIGIT_BITS {
        return by_lowest(records, scratch, low, high);
    }
    // Twice as many parts as would be enough if they were all as long.
    let first = (parts.ilog2() + 2).clamp(NEAR_DIGIT_BITS, DIGIT_BITS).min(bits);
    let shift = high - first;
    let Some(ends) = scatter(records, scratch, shift, first) else {
        return sort(records, scratch, low, shift);
    };
    let (mut start, others) = (0, records);
    for end in ends {
        let (part, other) = (&mut scratch[start..end], &mut others[start..end]);
        let here = part.as_ptr();
        let (sorted, free) = sort(part, other, low, shift);
        if sorted.as_ptr() != here {
            free.copy_from_slice(sorted);
        }
        start = end;
    }
    (scratch, others)
}

/// Least significant digits first.
fn by_lowest<'a, R: Record>(
    records: &'a mut [R],
    scratch: &'a mut [R],
    low: u32,
    high: u32,
) -> (&'a mut [R], &'a mut [R]) {
    let passes = (high - low).div_ceil(NEAR_DIGIT_BITS);
    let width = (high - low).div_ceil(passes);
    let (mut from, mut to) = (records, scratch);
    for shift in (low..high).step_by(width as usize) {
        if scatter(from, to, shift, width.min(high - shift)).is_some() {
            std::mem::swap(&mut from, &mut to);
        }
    }
    (from, to)
}

/// Sorts a few records by the bits of their keys in `mask`.
fn insert_each<R: Record>(records: &mut [R], mask: u64) {
    for next in 1..records.len() {
        let (record, mut at) = (records[next], next);
        while at > 0 && records[at - 1].key() & mask > record.key() & mask {
            records[at] = records[at - 1];
            at -= 1;
        }
        records[at] = record;
    }
}

/// One pass; returns where the records of each digit end. `None` when all records share the digit
/// and nothing had to move.
fn scatter<R: Record>(from: &[R], to: &mut [R], shift: u32, bits: u32) -> Option<Vec<usize>> {
    let mask = (1u64 << bits) - 1;
    let mut counts = vec![0usize; 1 << bits];
    for record in from {
        counts[((record.key() >> shift) & mask) as usize] += 1;
    }
    if counts.contains(&from.len()) {
        return None;
    }
    let mut next = 0;
    for count in &mut counts {
        next += std::mem::replace(count, next);
    }
    for record in from {
        let slot = &mut counts[((record.key() >> shift) & mask) as usize];
        to[*slot] = *record;
        *slot += 1;
    }
    Some(counts)
}

/// Orders records of equal key by their payload, so that the result does not depend on the order of
/// the input.
pub fn order_payloads<R: Record>(sorted: &mut [R]) {
    let mut start = 0;
    while start < sorted.len() {
        let key = sorted[start].key();
        let mut end = start + 1;
        while end < sorted.len() && sorted[end].key() == key {
            end += 1;
        }
        if end - start > 1 {
            sorted[start..end].sort_unstable_by_key(Record::payload);
        }
        start = end;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn sorts_like_the_standard_library(
            keys in prop::collection::vec(0u64..1 << 40, 0..500),
            low in 0u32..20,
            narrow in 0u32..40,
            copies in prop_oneof![Just(1usize), Just(100)],
        ) {
            let keys: Vec<u64> = (0..copies as u64)
                .flat_map(|copy| keys.iter().map(move |key| (key ^ (copy * 0x9E37)) >> narrow))
                .collect();
            let mut records: Vec<Weighted> =
                (0..).zip(&keys).map(|(weight, &key)| Weighted { key, weight }).collect();
            let mut expected = records.clone();
            expected.sort_by_key(|record| record.key >> low);
            let mut scratch = vec![Weighted::default(); records.len()];
            let (sorted, _) = sort(&mut records, &mut scratch, low, 40);
            prop_assert_eq!(&*sorted, &expected[..]);
        }
    }

    #[test]
    fn equal_keys_are_ordered_by_payload() {
        let mut records = vec![Weighted::new(1, 9), Weighted::new(1, 3), Weighted::new(2, 1)];
        order_payloads(&mut records);
        assert_eq!(records, vec![Weighted::new(1, 3), Weighted::new(1, 9), Weighted::new(2, 1)]);
    }
}
