//! Counting the edges that a simple graph does not have, while sorted records go by.

use crate::format::Extra;

/// What was counted of the records so far.
#[derive(Clone, Copy, Default)]
pub struct Extras {
    /// The record before, plus one; 0 at the beginning of a bucket.
    before: u64,
    repeated: u64,
    loops: u64,
    repeated_loops: u64,
}

impl Extras {
    /// Counts the next record of a bucket.
    #[inline(always)]
    pub fn count(&mut self, key: u64, is_loop: bool) {
        let repeats = self.before == key + 1;
        self.repeated += u64::from(repeats);
        self.loops += u64::from(is_loop);
        self.repeated_loops += u64::from(is_loop & repeats);
        self.before = key + 1;
    }

    /// Another bucket begins, and none of its records repeats one before.
    pub fn begin(&mut self) {
        self.before = 0;
    }

    /// Adds what another worker has counted.
    pub fn add(&mut self, other: Self) {
        self.repeated += other.repeated;
        self.loops += other.loops;
        self.repeated_loops += other.repeated_loops;
    }

    /// The edges that the records stand for.
    pub fn edges(self, directed: bool) -> Extra {
        // Of an undirected edge there is a record from each end, of a self-loop there is one.
        let ends = if directed { 1 } else { 2 };
        let duplicates = (self.repeated - self.repeated_loops) / ends;
        Extra { duplicates, self_loops: self.loops }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeats_are_within_a_bucket_and_loops_are_no_duplicates() {
        let mut extras = Extras::default();
        for (key, is_loop) in [(0, true), (0, true), (3, false), (3, false), (3, false)] {
            extras.count(key, is_loop);
        }
        extras.begin();
        extras.count(3, false);
        let mut sum = Extras::default();
        sum.add(extras);
        assert_eq!(sum.edges(true), Extra { duplicates: 2, self_loops: 2 });
        assert_eq!(sum.edges(false), Extra { duplicates: 1, self_loops: 2 });
    }
}
