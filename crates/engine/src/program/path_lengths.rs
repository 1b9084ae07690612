//! [`PathLengths`]: lengths of paths along edges with weights.
//!
//! A length is 64 bits that are ordered like the numbers: whole numbers for whole weights,
//! non-negative doubles otherwise.

use outercore_graph::{Result, WeightKind, error::refuse};

use super::delta_stepping::Lengths;
use crate::{report::Figure, state::VertexArray};

/// What is told of the lengths that were found.
pub struct LengthTotals {
    /// How many vertices have one.
    pub reached: u64,
    /// The largest.
    pub largest: Figure,
    /// All of them together.
    pub sum: Figure,
}

/// Lengths of paths along edges with weights of this kind.
#[derive(Clone, Copy)]
pub struct PathLengths(pub WeightKind);

impl PathLengths {
    /// Whether they are whole numbers.
    pub fn are_whole(self) -> bool {
        self.0 == WeightKind::U32
    }

    /// Adds up the lengths. An error: one is beyond the numbers.
    pub fn totals(self, found: &VertexArray<u64>) -> Result<LengthTotals> {
        let (mut reached, mut largest, mut whole, mut real) = (0, 0, 0u128, 0.0);
        let is_whole = self.are_whole();
        found.for_each(|_, &length| {
            if length < self.unreached() {
                (reached, largest) = (reached + 1, length.max(largest));
                if is_whole {
                    whole += u128::from(length);
                } else {
                    real += f64::from_bits(length);
                }
            }
        })?;
        if is_whole {
            // A sum that is no whole number of 64 bits is told to 16 digits.
            let sum = u64::try_from(whole).map_or_else(|_| (whole as f64).into(), Figure::from);
            return Ok(LengthTotals { reached, largest: largest.into(), sum });
        }
        let largest = f64::from_bits(largest);
        if largest == f64::MAX || !f64::is_finite(real) {
            return refuse(format!(
                "distances are beyond {:e}, the largest number: scale the weights down",
                f64::MAX
            ));
        }
        Ok(LengthTotals { reached, largest: largest.into(), sum: real.into() })
    }
}

impl Lengths for PathLengths {
    fn unreached(self) -> u64 {
        if self.are_whole() { u64::MAX } else { f64::INFINITY.to_bits() }
    }

    #[inline(always)]
    fn add(self, length: u64, weight: u64) -> u64 {
        if self.are_whole() {
            length + weight
        } else {
            self.plus_weight(length, self.0.value(weight))
        }
    }

    #[inline(always)]
    fn plus_weight(self, length: u64, weight: f64) -> u64 {
        if self.are_whole() {
            length + weight as u64
        } else {
            // A sum beyond the largest number is that number, and not unreached.
            (f64::from_bits(length) + weight).min(f64::MAX).to_bits()
        }
    }

    fn number(self, length: u64) -> f64 {
        if self.are_whole() { length as f64 } else { f64::from_bits(length) }
    }

    fn plus(self, length: u64, delta: f64) -> u64 {
        if self.are_whole() {
            length.saturating_add((delta as u64).max(1))
        } else {
            (f64::from_bits(length) + delta).to_bits().max(length + 1)
        }
    }
}
