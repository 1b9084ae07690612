//! [`LaneValues`]: for each number a value in each of a few lanes, which several workers change.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::{HugePages, HugeVec, error::Result, memory};

/// The values of a number lie side by side.
pub struct LaneValues<const L: usize>(HugeVec<AtomicU64>);

impl<const L: usize> LaneValues<L> {
    /// Zeros for the numbers below `len`.
    pub fn new(len: u64, huge: HugePages) -> Result<Self> {
        Ok(Self(HugeVec::zeroed(len as usize * L, huge)?))
    }

    /// The value of a number in a lane.
    #[inline(always)]
    pub fn get(&self, number: u64, lane: usize) -> f64 {
        f64::from_bits(self.0[number as usize * L + lane].load(Relaxed))
    }

    /// Sets it.
    #[inline(always)]
    pub fn set(&self, number: u64, lane: usize, value: f64) {
        self.0[number as usize * L + lane].store(value.to_bits(), Relaxed);
    }

    /// Asks for the values of a number, which are wanted soon.
    #[inline(always)]
    pub fn prefetch(&self, number: u64) {
        memory::prefetch(&raw const self.0[number as usize * L]);
    }

    /// Adds the values of a number to `sums`, in the lanes for which `is_in` says so: without
    /// branches, which would be guessed wrong.
    #[inline(always)]
    pub fn add(&self, number: u64, sums: &mut [f64; L], is_in: impl Fn(usize) -> bool) {
        let values = &self.0[number as usize * L..][..L];
        for (lane, (sum, value)) in sums.iter_mut().zip(values).enumerate() {
            let all = u64::from(is_in(lane)).wrapping_neg();
            *sum += f64::from_bits(value.load(Relaxed) & all);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_some_lanes_are_added() {
        let values = LaneValues::<3>::new(9, HugePages::Off).unwrap();
        for (at, lane) in [(8, 0), (8, 1), (8, 2), (7, 1)] {
            values.set(at, lane, 0.5 + lane as f64);
        }
        values.prefetch(8);
        let mut sums = [4.0; 3];
        values.add(8, &mut sums, |lane| lane != 1);
        values.add(7, &mut sums, |_| true);
        assert_eq!((sums, values.get(7, 1)), ([4.5, 5.5, 6.5], 1.5));
    }
}
