//! A sample of keys, from which the bounds of ranges with about equal shares are drawn.

/// Most keys that are kept; beyond, every other one is dropped and half as many are taken.
const MOST: usize = 1 << 16;
/// Keys taken from each batch at first.
const PER_BATCH: usize = 32;

/// A sample, evenly spaced within each batch.
#[derive(Clone, Debug)]
pub struct Sample<K> {
    keys: Vec<K>,
    batches: u64,
    every: u64,
}

impl<K> Default for Sample<K> {
    fn default() -> Self {
        Self { keys: Vec::new(), batches: 0, every: 1 }
    }
}

impl<K: Ord + Clone> Sample<K> {
    /// Sees a batch of `len` keys.
    pub fn see(&mut self, len: usize, key: impl Fn(usize) -> K) {
        self.batches += 1;
        if !self.batches.is_multiple_of(self.every) {
            return;
        }
        let step = len.div_ceil(PER_BATCH).max(1);
        self.keys.extend((0..len).step_by(step).map(key));
        if self.keys.len() > MOST {
            let mut keep = false;
            self.keys.retain(|_| {
                keep = !keep;
                keep
            });
            self.every *= 2;
        }
    }

    /// Bounds that cut the keys into at most `parts` ranges: range `r` begins at bound `r - 1`.
    pub fn bounds(mut self, parts: usize) -> Vec<K> {
        self.keys.sort_unstable();
        let mut bounds: Vec<K> = (1..parts)
            .filter_map(|part| self.keys.get(part * self.keys.len() / parts).cloned())
            .collect();
        bounds.dedup();
        bounds
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_cut_even_shares() {
        let mut sample = Sample::default();
        for batch in 0..1000u64 {
            sample.see(1000, |index| (index as u64 * 7919 + batch * 104_729) % 1_000_000);
        }
        let bounds = sample.bounds(4);
        assert_eq!(bounds.len(), 3);
        for (bound, expected) in bounds.iter().zip([250_000u64, 500_000, 750_000]) {
            assert!(bound.abs_diff(expected) < 20_000, "{bound} is far from {expected}");
        }
    }
}
