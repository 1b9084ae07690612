//! How many vertices have each degree.

use std::collections::BTreeMap;

/// How many vertices have each degree.
#[derive(Clone, Debug, Default)]
pub(crate) struct DegreeCounts {
    small: Vec<u64>,
    large: BTreeMap<u64, u64>,
}

/// Degrees below this have their place in an array.
pub(super) const SMALL: u64 = 1 << 16;

impl DegreeCounts {
    /// Counts one vertex of this degree.
    #[inline(always)]
    pub(crate) fn add(&mut self, degree: u64) {
        if degree < SMALL {
            if self.small.len() <= degree as usize {
                self.small.resize(SMALL as usize, 0);
            }
            self.small[degree as usize] += 1;
        } else {
            *self.large.entry(degree).or_default() += 1;
        }
    }

    /// All vertices.
    pub(crate) fn vertices(&self) -> u64 {
        self.connected() + self.small.first().unwrap_or(&0)
    }

    /// Vertices with a degree above zero.
    pub(crate) fn connected(&self) -> u64 {
        self.descending().map(|(_, count)| count).sum()
    }

    /// The sum of all degrees: twice the edges.
    pub(crate) fn sum(&self) -> u64 {
        self.descending().map(|(degree, count)| degree * count).sum()
    }

    /// Degrees above zero with their counts, descending.
    pub(super) fn descending(&self) -> impl Iterator<Item = (u64, u64)> {
        let large = self.large.iter().rev().map(|(&degree, &count)| (degree, count));
        let small = self
            .small
            .iter()
            .enumerate()
            .skip(1)
            .rev()
            .map(|(degree, &count)| (degree as u64, count));
        large.chain(small).filter(|&(_, count)| count > 0)
    }

    /// The degree of each connected vertex, descending.
    pub(super) fn degrees(&self) -> impl Iterator<Item = u64> {
        self.descending().flat_map(|(degree, count)| std::iter::repeat_n(degree, count as usize))
    }
}
