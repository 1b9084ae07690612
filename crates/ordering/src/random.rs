//! `random`: every connected vertex has a random place, by a seed.
//!
//! A place is the rank among the connected vertices, encrypted: so it takes no memory.

use outercore_graph::{Places, Result};

use crate::Finder;

/// A permutation of the numbers below some bound.
struct Shuffle {
    len: u64,
    /// Bits of either half of a number.
    half: u32,
    seed: u64,
}

/// Rounds of the permutation.
const ROUNDS: u64 = 4;

/// A number that depends on every bit of another one (the finalizer of SplitMix64).
fn mix(number: u64) -> u64 {
    let number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ number >> 31
}

impl Shuffle {
    fn new(len: u64, seed: u64) -> Self {
        let bits = 64 - len.saturating_sub(1).leading_zeros();
        Self { len, half: bits.div_ceil(2).max(1), seed: mix(seed.wrapping_add(1)) }
    }

    /// Where a number goes: through a Feistel network over an even number of bits, as often as it
    /// leaves the numbers below the bound.
    fn place(&self, mut number: u64) -> u64 {
        let mask = (1u64 << self.half) - 1;
        loop {
            let (mut left, mut right) = (number >> self.half, number & mask);
            for round in 0..ROUNDS {
                let key = mix(self.seed ^ right << 8 ^ round);
                (left, right) = (right, (left ^ key) & mask);
            }
            number = left << self.half | right;
            if number < self.len {
                return number;
            }
        }
    }
}

impl Finder<'_> {
    /// Writes the places of all ranks.
    pub fn random(&self, places: &mut Places) -> Result<()> {
        let connected = self.graph.connected();
        let shuffle = Shuffle::new(connected, self.means.seed);
        let (mut with_edges, mut isolated) = (0, connected);
        self.for_each_rank(|vertex| {
            let number = if vertex < connected { &mut with_edges } else { &mut isolated };
            let place = if vertex < connected { shuffle.place(*number) } else { *number };
            *number += 1;
            places.push(place)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_has_one_place_and_seeds_differ() {
        for len in [1, 2, 3, 5, 64, 65, 1000] {
            let places = |seed| {
                let shuffle = Shuffle::new(len, seed);
                (0..len).map(|number| shuffle.place(number)).collect::<Vec<_>>()
            };
            let mut sorted = places(7);
            sorted.sort_unstable();
            assert_eq!(sorted, (0..len).collect::<Vec<_>>());
            assert!(len < 64 || (places(7) != places(8) && places(7) != sorted), "{len}");
        }
    }
}
