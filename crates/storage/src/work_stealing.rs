//! [`WorkShares`]: which worker has which of many things in a row. They are cut into ranges of
//! about the same cost, which go to the workers by turns: each has a part of every region, of what
//! costs much and of the rest. With stealing, a worker that is done takes ranges of the share of
//! which most is left (Graphene, FAST'17, section 4.2).

use std::ops::Range;

use crate::atomic::{AtomicU64, Ordering::Relaxed};

/// The ranges of all workers: `cost` tells what the things before one of them cost together.
pub struct WorkShares<C> {
    /// How many ranges each worker has taken of its own, or others of it.
    taken: Vec<AtomicU64>,
    len: u64,
    ranges: u64,
    cost: C,
    stealing: bool,
    /// Ranges that were taken from others.
    pub stolen: AtomicU64,
}

impl<C: Fn(u64) -> u64> WorkShares<C> {
    /// `len` things in a row for so many workers, in so many ranges; some may be empty.
    pub fn new(len: u64, workers: u64, ranges: u64, stealing: bool, cost: C) -> Self {
        let taken = (0..workers).map(|_| AtomicU64::new(0)).collect();
        Self {
            taken,
            len,
            ranges: if len > 0 { ranges } else { 0 },
            cost,
            stealing,
            stolen: AtomicU64::new(0),
        }
    }

    /// The next range for a worker; `None` when there is none for it any more.
    pub fn take(&self, worker: usize) -> Option<Range<u64>> {
        if let Some(range) = self.from(worker) {
            return Some(range);
        }
        loop {
            let (left, victim) =
                (0..self.taken.len()).map(|share| (self.left(share), share)).max()?;
            if left == 0 || !self.stealing {
                return None;
            }
            if let Some(range) = self.from(victim) {
                self.stolen.fetch_add(1, Relaxed);
                return Some(range);
            }
        }
    }

    /// Ranges that are left of a share: of those whose number leaves the worker's when divided by
    /// the number of workers.
    fn left(&self, share: usize) -> u64 {
        let workers = self.taken.len() as u64;
        let all = (self.ranges + workers - 1 - share as u64) / workers;
        all.saturating_sub(self.taken[share].load(Relaxed))
    }

    fn from(&self, share: usize) -> Option<Range<u64>> {
        let taken = self.taken[share].fetch_add(1, Relaxed);
        let range = taken * self.taken.len() as u64 + share as u64;
        (range < self.ranges).then(|| self.bound(range)..self.bound(range + 1))
    }

    /// Where a range begins: at the first thing before which all cost at least its share.
    fn bound(&self, range: u64) -> u64 {
        let (before, all) = ((self.cost)(0), (self.cost)(self.len));
        let share = u128::from(all - before) * u128::from(range) / u128::from(self.ranges);
        let (mut low, mut high) = if range < self.ranges { (0, self.len) } else { (self.len, 0) };
        while low < high {
            let middle = low.midpoint(high);
            if (self.cost)(middle) < before + share as u64 {
                low = middle + 1
            } else {
                high = middle
            }
        }
        low
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_range_is_taken_once_and_only_stealing_crosses_shares() {
        for (len, workers, ranges) in
            [(0, 2, 4), (1, 3, 1), (100, 3, 7), (64, 2, 1), (20_000, 2, 128)]
        {
            for cost in [|at: u64| at, |at: u64| 100 - 100 / (at + 1), |_| 0] {
                let all = WorkShares::new(len, workers, ranges, true, cost);
                let mut taken: Vec<u64> = std::iter::from_fn(|| all.take(0)).flatten().collect();
                taken.sort_unstable();
                assert_eq!(taken, (0..len).collect::<Vec<_>>());
                assert_eq!(all.stolen.load(Relaxed) > 0, workers > 1 && len > 0 && ranges > 1);
                let own = WorkShares::new(len, workers, ranges, false, cost);
                let mut taken: Vec<Range<u64>> = (0..workers as usize)
                    .flat_map(|worker| std::iter::from_fn(|| own.take(worker)).collect::<Vec<_>>())
                    .collect();
                taken.sort_unstable_by_key(|range| (range.start, range.end));
                assert_eq!(
                    taken.into_iter().flatten().collect::<Vec<_>>(),
                    (0..len).collect::<Vec<_>>()
                );
                assert_eq!(own.stolen.load(Relaxed), 0);
            }
        }
    }

    #[test]
    fn shares_cost_about_the_same_whatever_is_where() {
        // The first ones cost most.
        let cost = |at: u64| 1_000_000 - 1_000_000 / (at / 100 + 1) + at;
        let shares = WorkShares::new(100_000, 2, 64, false, cost);
        let of = |worker| {
            std::iter::from_fn(|| shares.take(worker))
                .map(|range: Range<u64>| cost(range.end) - cost(range.start))
                .sum::<u64>()
        };
        let (one, other) = (of(0), of(1));
        assert_eq!(one + other, cost(100_000));
        // The first hundred are half of everything, and things are not cut.
        assert!(one.abs_diff(other) < 530_000, "{one} {other}");
        let shares = WorkShares::new(100_000, 2, 64, false, |at| at * at);
        let of = |worker| {
            std::iter::from_fn(|| shares.take(worker))
                .map(|range: Range<u64>| range.end * range.end - range.start * range.start)
                .sum::<u64>()
        };
        let (one, other) = (of(0), of(1));
        assert!(one.abs_diff(other) * 20 < one + other, "{one} {other}");
    }
}
