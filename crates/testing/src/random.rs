//! Random numbers that are the same on every machine.

/// SplitMix64: a generator of numbers that is ten lines long and never changes.
pub struct Random(u64);

impl Random {
    /// The sequence that belongs to `seed`.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number of `0..limit`.
    pub fn below<T: Into<u64> + TryFrom<u64>>(&mut self, limit: T) -> T {
        // The high half of a product, instead of a remainder, has no bias worth naming at these
        // limits.
        let scaled = u128::from(self.bits()) * u128::from(limit.into());
        let Ok(number) = T::try_from((scaled >> 64) as u64) else {
            unreachable!("a number below a limit has the limit's type")
        };
        number
    }

    /// Yes or no.
    pub fn coin(&mut self) -> bool {
        self.below(2u32) == 0
    }

    /// The numbers `0..n` in random order.
    pub fn permutation(&mut self, n: u32) -> Vec<u32> {
        let mut order: Vec<u32> = (0..n).collect();
        for last in (1..n).rev() {
            order.swap(last as usize, self.below(last + 1) as usize);
        }
        order
    }
}

#[cfg(test)]
mod tests {
    use super::Random;

    #[test]
    fn random_numbers_are_those_of_splitmix64() {
        let mut random = Random::new(1_234_567);
        let published = [6_457_827_717_110_365_317, 3_203_168_211_198_807_973];
        assert_eq!([random.bits(), random.bits()], published);
    }
}
