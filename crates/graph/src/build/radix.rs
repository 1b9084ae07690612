//! Sorting inside a bucket: least-significant-digit radix sort of records by a few bits of a 64-bit
//! key. Stable, two arrays, no allocation beyond the histograms.

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

/// Digits of at most this many bits: 2,048 counters stay in the first-level cache.
const DIGIT_BITS: u32 = 11;

/// Sorts `records` by bits `low..high` of their keys. Returns the sorted slice and the other one
/// (the two arguments, perhaps swapped).
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
    let passes = bits.div_ceil(DIGIT_BITS);
    let width = bits.div_ceil(passes);
    let (mut from, mut to) = (records, scratch);
    for pass in 0..passes {
        let shift = low + pass * width;
        let digit_bits = width.min(high - shift);
        if scatter(from, to, shift, digit_bits) {
            std::mem::swap(&mut from, &mut to);
        }
    }
    (from, to)
}

/// One pass; `false` when all records share the digit and nothing had to move.
fn scatter<R: Record>(from: &[R], to: &mut [R], shift: u32, bits: u32) -> bool {
    let mask = (1u64 << bits) - 1;
    let mut counts = vec![0usize; 1 << bits];
    for record in from {
        counts[((record.key() >> shift) & mask) as usize] += 1;
    }
    if counts.contains(&from.len()) {
        return false;
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
    true
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
        ) {
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
