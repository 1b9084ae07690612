//! [`Places`]: in which part a number lies.

use crate::parts::widest;

/// Stretches of numbers, at most.
const STRETCHES: u64 = 1 << 12;

/// Parts of numbers, which begin and end at bounds.
pub(super) struct Places {
    pub bounds: Vec<u64>,
    /// The part in which each stretch of 2^`bits` numbers begins.
    begun: Vec<u32>,
    bits: u32,
}

impl Places {
    pub(super) fn new(bounds: &[u64]) -> Self {
        let end = bounds.last().copied().unwrap_or(0);
        let bits = (64 - (end / STRETCHES).leading_zeros()).min(63);
        let starts = (0..end).step_by(1 << bits);
        let part = |start| bounds.partition_point(|&bound| bound <= start) as u32 - 1;
        Self { bounds: bounds.to_vec(), begun: starts.map(part).collect(), bits }
    }

    /// How many parts there are.
    pub(super) fn parts(&self) -> usize {
        self.bounds.len().max(2) - 1
    }

    /// Numbers of the widest part.
    pub(super) fn widest(&self) -> u64 {
        widest(&self.bounds)
    }

    /// The part of a number.
    ///
    /// # Panics
    /// If it is beyond them all.
    #[inline(always)]
    pub(super) fn of(&self, number: u64) -> usize {
        let mut part = self.begun[(number >> self.bits) as usize] as usize;
        while self.bounds[part + 1] <= number {
            part += 1;
        }
        part
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_lies_between_the_bounds_of_its_part() {
        let wide: Vec<u64> = (0..200).map(|at| at * at * 977).collect();
        for bounds in [&[0, 1][..], &[0, 100, 100, 1000, 5000], &[0, 5, 70_000, 70_001], &wide] {
            let places = Places::new(bounds);
            assert_eq!(places.parts(), bounds.len() - 1);
            for number in (0..*bounds.last().unwrap()).step_by(7) {
                let part = places.of(number);
                assert!((bounds[part]..bounds[part + 1]).contains(&number), "{number}");
            }
        }
        assert_eq!((Places::new(&[]).parts(), Places::new(&[0, 0]).widest()), (1, 0));
    }

    #[test]
    #[should_panic]
    fn what_is_beyond_has_no_part() {
        Places::new(&[0, 10, 20]).of(20);
    }
}
