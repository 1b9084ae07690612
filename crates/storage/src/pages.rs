//! Which blocks of a file are wanted, and the requests that fetch them: near blocks are merged,
//! because a request costs as much as the transfer of some tens of kilobytes.
//!
//! Memory: one bit for each block.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

const BITS: u64 = 64;

/// How wanted blocks become requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MergePolicy {
    /// The most unwanted blocks in a row that are read along.
    pub max_gap: u64,
    /// The most blocks of a request (at least 1).
    pub max_run: u64,
}

/// Blocks in a row. The first and the last one are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageRun {
    /// The first block.
    pub first: u64,
    /// How many.
    pub count: u64,
}

/// A set of blocks of a file. Several threads may mark at once. A reader must know by other means
/// that they are done.
#[derive(Debug)]
pub struct PageSet {
    words: Vec<AtomicU64>,
    blocks: u64,
}

impl PageSet {
    /// An empty set of blocks below `blocks`.
    pub fn new(blocks: u64) -> Self {
        let words = (0..blocks.div_ceil(BITS)).map(|_| AtomicU64::new(0)).collect();
        Self { words, blocks }
    }

    /// Every block of the set is below this.
    pub fn blocks(&self) -> u64 {
        self.blocks
    }

    /// Adds a block.
    ///
    /// # Panics
    /// If there is no such block.
    pub fn mark(&self, block: u64) {
        assert!(block < self.blocks, "block {block} of {}", self.blocks);
        self.set(block / BITS, 1 << (block % BITS));
    }

    /// Adds the blocks from `first` to `last`, both included.
    ///
    /// # Panics
    /// If there is no such block as `last`, or if it is before `first`.
    pub fn mark_range(&self, first: u64, last: u64) {
        assert!(first <= last && last < self.blocks, "blocks {first} to {last} of {}", self.blocks);
        let (low, high) = (first / BITS, last / BITS);
        let (from, to) = (!0 << (first % BITS), !0 >> (BITS - 1 - last % BITS));
        if low == high {
            return self.set(low, from & to);
        }
        self.set(low, from);
        for word in &self.words[low as usize + 1..high as usize] {
            word.store(!0, Ordering::Relaxed);
        }
        self.set(high, to);
    }

    fn set(&self, word: u64, bits: u64) {
        let word = &self.words[word as usize];
        // Most blocks are marked many times, and a load is much cheaper than an atomic write.
        if word.load(Ordering::Relaxed) & bits != bits {
            word.fetch_or(bits, Ordering::Relaxed);
        }
    }

    /// Whether a block is in the set.
    pub fn contains(&self, block: u64) -> bool {
        block < self.blocks && self.word(block / BITS) >> (block % BITS) & 1 == 1
    }

    /// Removes all blocks.
    pub fn clear(&self) {
        self.words.iter().for_each(|word| word.store(0, Ordering::Relaxed));
    }

    /// The number of blocks in the set.
    pub fn count(&self) -> u64 {
        self.words.iter().map(|word| u64::from(word.load(Ordering::Relaxed).count_ones())).sum()
    }

    /// The number of blocks of a range that are in the set.
    pub fn count_in(&self, range: Range<u64>) -> u64 {
        let words = range.start / BITS..range.end.min(self.blocks).div_ceil(BITS);
        let within = |word: u64| {
            let (first, end) = (word * BITS, (word + 1) * BITS);
            let (low, high) = (range.start.max(first) - first, end - range.end.min(end));
            self.word(word) & (!0 << low) & (!0 >> high)
        };
        words.map(|word| u64::from(within(word).count_ones())).sum()
    }

    /// The requests that fetch the set, in ascending order.
    pub fn runs(&self, policy: &MergePolicy) -> impl Iterator<Item = PageRun> + '_ {
        self.runs_in(0..self.blocks, policy)
    }

    /// The requests that fetch what the set has in a range of blocks, in ascending order.
    pub fn runs_in(
        &self,
        range: Range<u64>,
        policy: &MergePolicy,
    ) -> impl Iterator<Item = PageRun> + '_ {
        let policy = MergePolicy { max_run: policy.max_run.max(1), ..*policy };
        let end = range.end.min(self.blocks);
        let mut at = range.start;
        std::iter::from_fn(move || {
            let first = self.next(at, end, 0)?;
            let limit = first.saturating_add(policy.max_run).min(end);
            let mut run_end = self.next(first, limit, !0).unwrap_or(limit);
            while run_end < limit {
                let reach = run_end.saturating_add(policy.max_gap).saturating_add(1).min(limit);
                let Some(more) = self.next(run_end, reach, 0) else {
                    break;
                };
                run_end = self.next(more, limit, !0).unwrap_or(limit);
            }
            at = run_end;
            Some(PageRun { first, count: run_end - first })
        })
    }

    fn word(&self, word: u64) -> u64 {
        self.words[word as usize].load(Ordering::Relaxed)
    }

    /// The first block in `from..end` that is in the set (`flip` all zeros) or not in it (`flip`
    /// all ones).
    fn next(&self, from: u64, end: u64, flip: u64) -> Option<u64> {
        if from >= end {
            return None;
        }
        let mut word = from / BITS;
        let mut bits = (self.word(word) ^ flip) & (!0 << (from % BITS));
        while bits == 0 {
            word += 1;
            if word * BITS >= end {
                return None;
            }
            bits = self.word(word) ^ flip;
        }
        Some(word * BITS + u64::from(bits.trailing_zeros())).filter(|&block| block < end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// What `runs_in` must give, block by block.
    fn plain_runs(marked: &BTreeSet<u64>, range: Range<u64>, policy: MergePolicy) -> Vec<PageRun> {
        let mut runs: Vec<PageRun> = Vec::new();
        for &block in marked.iter().filter(|&block| range.contains(block)) {
            match runs.last_mut() {
                Some(run)
                    if block - (run.first + run.count) <= policy.max_gap
                        && block - run.first < policy.max_run.max(1) =>
                {
                    run.count = block - run.first + 1;
                }
                _ => runs.push(PageRun { first: block, count: 1 }),
            }
        }
        runs
    }

    proptest! {
        #[test]
        fn runs_are_those_of_the_plain_algorithm(
            blocks in 1u64..700,
            marks in prop::collection::vec((0u64..700, 0u64..90), 0..40),
            max_gap in prop_oneof![0u64..5, 0u64..200, Just(u64::MAX)],
            max_run in prop_oneof![0u64..5, 1u64..300, Just(u64::MAX)],
            start in 0u64..700, end in 0u64..800,
        ) {
            let (set, mut plain) = (PageSet::new(blocks), BTreeSet::new());
            for (first, more) in marks {
                let first = first % blocks;
                let last = (first + more).min(blocks - 1);
                if more == 0 { set.mark(first) } else { set.mark_range(first, last) }
                plain.extend(first..=last);
            }
            let policy = MergePolicy { max_gap, max_run };
            prop_assert_eq!(set.count(), plain.len() as u64);
            let (whole, part): (Vec<_>, Vec<_>) =
                (set.runs(&policy).collect(), set.runs_in(start..end, &policy).collect());
            prop_assert_eq!(whole, plain_runs(&plain, 0..blocks, policy));
            if start <= end {
                prop_assert_eq!(set.count_in(start..end), plain.range(start..end).count() as u64);
            }
            prop_assert_eq!(part, plain_runs(&plain, start..end, policy));
            let agrees = |block| set.contains(block) == plain.contains(&block);
            prop_assert!((0..blocks + 70).all(agrees));
            set.clear();
            prop_assert_eq!((set.count(), set.runs(&policy).next()), (0, None));
        }
    }

    #[test]
    fn threads_mark_at_once() {
        let set = PageSet::new(10_000);
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let set = &set;
                scope.spawn(move || (thread..10_000).step_by(4).for_each(|block| set.mark(block)));
            }
        });
        assert_eq!(set.count(), 10_000);
        let all = set.runs(&MergePolicy { max_gap: 0, max_run: u64::MAX }).collect::<Vec<_>>();
        assert_eq!(all, [PageRun { first: 0, count: 10_000 }]);
    }

    #[test]
    fn an_empty_file_has_an_empty_set() {
        let set = PageSet::new(0);
        assert_eq!(
            (set.count(), set.runs(&MergePolicy { max_gap: 1, max_run: 1 }).count()),
            (0, 0)
        );
        assert!(std::panic::catch_unwind(|| PageSet::new(64).mark(64)).is_err());
    }
}
