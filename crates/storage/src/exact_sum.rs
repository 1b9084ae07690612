//! [`ExactSum`]: a sum that is the same in whatever order it is made.

use crate::arena::Pod;

/// One, in units of a sum.
const ONE: f64 = (1u64 << 60) as f64;

/// A sum of numbers of at least 0, in units of 2^-60, up to 2^68. Each number is rounded down to
/// units, and the sum of these is exact.
#[derive(Clone, Copy, Default)]
#[repr(transparent)]
pub struct ExactSum(u128);

// SAFETY: a transparent wrapper of a number.
unsafe impl Pod for ExactSum {}

impl ExactSum {
    /// Adds a number. Infinity, and what is no number, make the sum none.
    pub fn add(&mut self, number: f64) {
        let units = if number.is_finite() { (number * ONE) as u128 } else { u128::MAX };
        self.0 = self.0.saturating_add(units);
    }

    /// The sum; [`f64::NAN`] if it is none.
    pub fn total(&self) -> f64 {
        if self.0 == u128::MAX { f64::NAN } else { self.0 as f64 / ONE }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sum(numbers: impl IntoIterator<Item = f64>) -> f64 {
        let mut sum = ExactSum::default();
        numbers.into_iter().for_each(|number| sum.add(number));
        sum.total()
    }

    proptest! {
        #[test]
        fn the_order_leaves_no_trace(numbers in prop::collection::vec(0.0..1e15, 0..50)) {
            let there = sum(numbers.iter().copied());
            prop_assert_eq!(there.to_bits(), sum(numbers.iter().rev().copied()).to_bits());
            let plain: f64 = numbers.iter().sum();
            prop_assert!((there - plain).abs() <= plain * 1e-14 + 1e-15);
        }
    }

    #[test]
    fn plain_sums_would_differ_by_order() {
        let numbers = [0.1, 0.2, 0.3];
        let plain = |numbers: &mut dyn Iterator<Item = f64>| numbers.sum::<f64>().to_bits();
        assert_ne!(
            plain(&mut numbers.into_iter()),
            plain(&mut numbers.into_iter().rev()),
            "or the test above would prove nothing"
        );
    }

    #[test]
    fn what_is_no_number_makes_the_sum_none() {
        for number in [f64::NAN, f64::INFINITY, 1e30] {
            assert!(sum([1.0, number, 2.0]).is_nan(), "{number}");
        }
        assert_eq!(sum([]), 0.0);
        assert_eq!(sum([(1u64 << 60) as f64, 0.5]), (1u64 << 60) as f64 + 0.5);
    }
}
