//! A sample of keys, from which the bounds of ranges with about equal shares are drawn.

/// Bytes that a distinct key costs in the hash table and in the list that sorts it, beside its own:
/// the table may be half empty.
pub const KEY_COST: u64 = 128;
/// Most keys that are kept; beyond, every other one is dropped and half as many are taken.
const MOST: usize = 1 << 16;
/// Most bytes of them, likewise.
const MOST_BYTES: usize = 4 << 20;
/// Keys taken from each batch at first.
const PER_BATCH: usize = 32;

/// What can be sampled.
pub trait SampleKey: Ord + Clone {
    /// Bytes that a key takes.
    fn bytes(&self) -> usize;
}

impl SampleKey for u64 {
    fn bytes(&self) -> usize {
        size_of::<Self>()
    }
}

impl SampleKey for Vec<u8> {
    fn bytes(&self) -> usize {
        size_of::<Self>() + self.capacity()
    }
}

/// A sample, evenly spaced within each batch.
#[derive(Clone, Debug)]
pub struct Sample<K> {
    /// Each with its weight.
    keys: Vec<(K, u64)>,
    bytes: usize,
    batches: u64,
    every: u64,
}

impl<K> Default for Sample<K> {
    fn default() -> Self {
        Self { keys: Vec::new(), bytes: 0, batches: 0, every: 1 }
    }
}

impl<K: SampleKey> Sample<K> {
    /// Sees a batch of `len` keys. `key` returns one of them and its weight.
    pub fn see(&mut self, len: usize, key: impl Fn(usize) -> (K, u64)) {
        self.batches += 1;
        if !self.batches.is_multiple_of(self.every) {
            return;
        }
        // Sources and targets take turns, and may have nothing in common: an even step would see
        // one of the two alone.
        let step = len.div_ceil(PER_BATCH) | 1;
        for index in (0..len).step_by(step) {
            self.keys.push(key(index));
            self.bytes += self.keys.last().map_or(0, |(key, _)| key.bytes());
        }
        while self.keys.len() > MOST || (self.bytes > MOST_BYTES && self.keys.len() > 1) {
            let mut keep = false;
            self.keys.retain(|_| {
                keep = !keep;
                keep
            });
            self.bytes = self.keys.iter().map(|(key, _)| key.bytes()).sum();
            self.every *= 2;
        }
    }

    /// Bounds that cut the keys into at most `parts` ranges of about equal weight: range `r` begins
    /// at bound `r - 1`.
    pub fn bounds(mut self, parts: usize) -> Vec<K> {
        self.keys.sort_unstable();
        let total: u128 = self.keys.iter().map(|(_, weight)| u128::from(*weight)).sum();
        let (mut bounds, mut part, mut before) = (Vec::new(), 1, 0);
        for (key, weight) in self.keys {
            let due = part;
            while part < parts && before >= part as u128 * total / parts as u128 {
                part += 1;
            }
            if part > due {
                bounds.push(key);
            }
            before += u128::from(weight);
        }
        bounds.dedup();
        bounds
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heavy_keys_have_ranges_of_their_own() {
        let mut sample = Sample::default();
        // Small numbers are many, large ones heavy.
        for batch in 0..1000u64 {
            sample.see(2, |index| if index == 0 { (batch, 1) } else { (1000 + batch, 1000) });
        }
        let bounds = sample.bounds(4);
        assert_eq!(bounds.len(), 3);
        for (bound, expected) in bounds.iter().zip([1250u64, 1500, 1750]) {
            assert!(bound.abs_diff(expected) < 10, "{bound} is far from {expected}");
        }
    }

    #[test]
    fn long_keys_are_fewer() {
        let mut sample = Sample::default();
        for batch in 0..1000u32 {
            sample.see(100, |_| ([batch.to_be_bytes().as_slice(), &[0; 4092]].concat(), 1));
        }
        assert!(sample.keys.iter().map(|(key, _)| key.len()).sum::<usize>() <= MOST_BYTES);
        let bounds = sample.bounds(4);
        assert_eq!(bounds.len(), 3);
        for (bound, expected) in bounds.iter().zip([250u32, 500, 750]) {
            let batch = u32::from_be_bytes(bound[..4].try_into().unwrap());
            assert!(batch.abs_diff(expected) < 50, "{batch} is far from {expected}");
        }
    }

    #[test]
    fn both_ends_of_edges_are_seen() {
        let mut sample = Sample::default();
        for batch in 0..1000u64 {
            sample.see(2048, |index| (index as u64 % 2 * 1_000_000 + batch * 1000, 1));
        }
        let bounds = sample.bounds(4);
        assert!(bounds[0] < 1_000_000 && bounds[2] > 1_000_000, "{bounds:?}");
    }

    #[test]
    fn bounds_cut_even_shares() {
        let mut sample = Sample::default();
        for batch in 0..1000u64 {
            sample.see(1000, |index| ((index as u64 * 7919 + batch * 104_729) % 1_000_000, 1));
        }
        let bounds = sample.bounds(4);
        assert_eq!(bounds.len(), 3);
        for (bound, expected) in bounds.iter().zip([250_000u64, 500_000, 750_000]) {
            assert!(bound.abs_diff(expected) < 20_000, "{bound} is far from {expected}");
        }
    }
}
