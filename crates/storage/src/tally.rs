//! [`Tally`]: the most frequent of some numbers.

use std::cmp::Reverse;

/// Places of a worker's table; longer lists are sorted.
const TABLE: usize = 1 << 16;
/// Lists up to this length are sorted, too: that is faster.
const SHORT: usize = 16;
/// Of so few, each is compared with each.
const FEW: usize = 8;
/// A free place of the table: a label that does not come, counted 0 times.
const FREE: u64 = u64::MAX << 32;

/// Finds the most frequent of some labels.
pub struct Tally {
    /// The labels, none of which is `u32::MAX`.
    pub labels: Vec<u32>,
    /// Labels, above their counts.
    table: Vec<u64>,
}

impl Tally {
    /// Bytes of memory for at most so many labels.
    pub fn bytes(longest: u64) -> u64 {
        longest * 4 + TABLE as u64 * 8
    }

    /// Room for at most so many labels.
    pub fn new(longest: u64) -> Self {
        Self { labels: Vec::with_capacity(longest as usize), table: vec![FREE; TABLE] }
    }

    /// The most frequent of `labels`, of equally frequent ones the smallest; there is at least one.
    pub fn winner(&mut self) -> u32 {
        let (first, len) = (self.labels[0], self.labels.len());
        let votes = |wanted| self.labels.iter().filter(|&&label| label == wanted).count();
        if len <= FEW {
            let all = self.labels.iter().map(|&label| (votes(label), Reverse(label)));
            return all.max().map_or(0, |(_, label)| label.0);
        }
        // That of the first neighbor, a hub, is often that of more than half.
        if 2 * votes(first) > len {
            return first;
        }
        // Only this one may be, else (Boyer and Moore, 1981).
        let (mut candidate, mut lead) = (first, 0u32);
        for &label in &self.labels {
            if lead == 0 {
                candidate = label;
            }
            lead = if label == candidate { lead + 1 } else { lead - 1 };
        }
        if 2 * votes(candidate) > len {
            candidate
        } else if len <= SHORT || len > TABLE / 2 {
            self.by_sorting()
        } else {
            self.by_counting()
        }
    }

    fn by_sorting(&mut self) -> u32 {
        self.labels.sort_unstable();
        let runs = self.labels.chunk_by(|a, b| a == b);
        // The first of the longest: labels ascend.
        runs.rev().max_by_key(|run| run.len()).map_or(0, |run| run[0])
    }

    fn by_counting(&mut self) -> u32 {
        let places = (2 * self.labels.len()).next_power_of_two();
        let table = &mut self.table[..places];
        table.fill(FREE);
        // The largest count, above what is larger for smaller labels.
        let mut best = 0;
        for &label in &self.labels {
            let mut at = (label.wrapping_mul(0x9e37_79b1) >> 7) as usize & (places - 1);
            while table[at] != FREE && (table[at] >> 32) as u32 != label {
                at = (at + 1) & (places - 1);
            }
            let count = u64::from(table[at] as u32) + 1;
            table[at] = u64::from(label) << 32 | count;
            best = best.max(count << 32 | u64::from(!label));
        }
        !(best as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every way to find the winner finds the same.
    #[test]
    fn winners() {
        let mut state = 1u32;
        for length in 1..300 {
            let mut tally = Tally::new(300);
            tally.labels = (0..length)
                .map(|_| {
                    state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    (state >> 16) % (1 + length / 3) * 65_536
                })
                .collect();
            let all = tally.labels.clone();
            let votes = |label: u32| all.iter().filter(|&&other| other == label).count();
            let expected =
                all.iter().copied().max_by_key(|&label| (votes(label), Reverse(label))).unwrap();
            let counted = tally.by_counting();
            assert_eq!(
                (tally.winner(), counted, tally.by_sorting()),
                (expected, expected, expected),
                "{length} labels"
            );
        }
    }
}
