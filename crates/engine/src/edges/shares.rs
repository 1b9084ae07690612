//! [`Shares`]: which worker reads the lists of which vertices. Each has a share in a row, taken range by range; with stealing, a worker that is done
//! takes ranges of the share of which most is left (Graphene, FAST'17, section 4.2).

use std::{
    ops::Range,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

/// The ranges of all workers.
pub struct Shares {
    /// The next of each share, and its end.
    shares: Vec<(AtomicU64, u64)>,
    grain: u64,
    stealing: bool,
    stolen: AtomicU64,
}

impl Shares {
    /// `len` things in a row for so many workers, to be taken `grain` at a time.
    pub fn new(len: u64, workers: u64, grain: u64, stealing: bool) -> Self {
        let share = len.div_ceil(workers.max(1));
        let shares = (0..workers.max(1)).map(|worker| (AtomicU64::new((worker * share).min(len)), ((worker + 1) * share).min(len)));
        Self { shares: shares.collect(), grain: grain.max(1), stealing, stolen: AtomicU64::new(0) }
    }

    /// The next range for a worker; `None` when there is none for it any more.
    pub fn take(&self, worker: usize) -> Option<Range<u64>> {
        if let Some(range) = self.from(worker) {
            return Some(range);
        }
        if !self.stealing {
            return None;
        }
        loop {
            let (left, victim) = (0..self.shares.len()).map(|share| (self.left(share), share)).max()?;
            if left == 0 {
                return None;
            }
            if let Some(range) = self.from(victim) {
                self.stolen.fetch_add(1, Relaxed);
                return Some(range);
            }
        }
    }

    fn left(&self, share: usize) -> u64 {
        let (next, end) = &self.shares[share];
        end.saturating_sub(next.load(Relaxed))
    }

    fn from(&self, share: usize) -> Option<Range<u64>> {
        let (next, end) = &self.shares[share];
        if self.left(share) == 0 {
            return None;
        }
        let first = next.fetch_add(self.grain, Relaxed);
        (first < *end).then(|| first..(first + self.grain).min(*end))
    }

    /// Ranges that were taken from others.
    pub fn stolen(&self) -> u64 {
        self.stolen.load(Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_range_is_taken_once_and_only_stealing_crosses_shares() {
        for (len, workers, grain) in [(0, 2, 4), (1, 3, 1), (100, 3, 7), (64, 2, 64)] {
            let all = Shares::new(len, workers, grain, true);
            let mut taken: Vec<u64> = std::iter::from_fn(|| all.take(0)).flatten().collect();
            taken.sort_unstable();
            assert_eq!(taken, (0..len).collect::<Vec<_>>());
            assert_eq!(all.stolen() > 0, workers > 1 && len > len.div_ceil(workers));
            let own = Shares::new(len, workers, grain, false);
            let taken: Vec<u64> =
                (0..workers as usize).flat_map(|worker| std::iter::from_fn(|| own.take(worker)).flatten().collect::<Vec<_>>()).collect();
            assert_eq!(taken, (0..len).collect::<Vec<_>>(), "in order, each its own");
            assert_eq!(own.stolen(), 0);
        }
    }
}
