//! [`Monoid`]: numbers that merge on their way; [`Idempotent`]: those that may be merged twice.
//!
//! What merges twice asks for `Idempotent`, so doing that with a sum does not compile.

use crate::arena::Pod;

/// Numbers that merge, in any grouping, with a neutral element.
pub trait Monoid: Pod + Copy + PartialEq + Send + Sync {
    /// The neutral element: nothing came.
    const IDENTITY: Self;
    /// Whether merging in another order gives the same bits; floating-point sums do not.
    const EXACT: bool;
    /// Merges `other` into this one.
    fn combine(&mut self, other: Self);
}

/// Numbers for which receiving one twice is the same as once.
pub trait Idempotent: Monoid {}

/// The sum.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sum<T>(pub T);

/// The smallest.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Min<T>(pub T);

/// All bits.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Or<T>(pub T);

macro_rules! monoid {
    ($name:ident<$t:ty>, $identity:expr, $exact:expr, $combine:path) => {
        // SAFETY: a transparent wrapper of a number: no padding, every bit pattern valid, nothing
        // to drop.
        unsafe impl Pod for $name<$t> {}
        impl Monoid for $name<$t> {
            const IDENTITY: Self = $name($identity);
            const EXACT: bool = $exact;
            #[inline(always)]
            fn combine(&mut self, other: Self) {
                self.0 = $combine(self.0, other.0);
            }
        }
    };
}

monoid!(Sum<f64>, 0.0, false, std::ops::Add::add);
monoid!(Sum<u32>, 0, true, u32::wrapping_add);
monoid!(Sum<u64>, 0, true, u64::wrapping_add);
monoid!(Min<u32>, u32::MAX, true, Ord::min);
monoid!(Min<u64>, u64::MAX, true, Ord::min);
monoid!(Min<u128>, u128::MAX, true, Ord::min);
monoid!(Or<u32>, 0, true, std::ops::BitOr::bitor);
monoid!(Or<u64>, 0, true, std::ops::BitOr::bitor);

impl Idempotent for Min<u32> {}
impl Idempotent for Min<u64> {}
impl Idempotent for Or<u32> {}
impl Idempotent for Or<u64> {}

/// Several sums side by side.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sums<const LANES: usize>(pub [f64; LANES]);

// SAFETY: an array of numbers, without padding; every bit pattern valid, nothing to drop.
unsafe impl<const LANES: usize> Pod for Sums<LANES> {}

impl<const LANES: usize> Monoid for Sums<LANES> {
    const IDENTITY: Self = Sums([0.0; LANES]);
    const EXACT: bool = false;
    #[inline(always)]
    fn combine(&mut self, other: Self) {
        for (sum, other) in self.0.iter_mut().zip(other.0) {
            *sum += other;
        }
    }
}

/// 128 bits, all of which merge.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lanes(pub [u64; 2]);

// SAFETY: two numbers without padding; every bit pattern valid, nothing to drop.
unsafe impl Pod for Lanes {}

impl Monoid for Lanes {
    const IDENTITY: Self = Lanes([0; 2]);
    const EXACT: bool = true;
    #[inline(always)]
    fn combine(&mut self, other: Self) {
        self.0[0] |= other.0[0];
        self.0[1] |= other.0[1];
    }
}

impl Idempotent for Lanes {}

/// A set of lanes: a bit for each.
pub trait LaneSet: Monoid {
    /// With this lane too.
    fn with(self, lane: usize) -> Self;
    /// Without those of another set.
    fn without(self, other: Self) -> Self;
    /// How many there are.
    fn count(self) -> u32;
}

macro_rules! lane_set {
    ($($bits:ty),*) => {
        $(impl LaneSet for Or<$bits> {
            #[inline(always)]
            fn with(self, lane: usize) -> Self {
                Or(self.0 | 1 << lane)
            }
            #[inline(always)]
            fn without(self, other: Self) -> Self {
                Or(self.0 & !other.0)
            }
            #[inline(always)]
            fn count(self) -> u32 {
                self.0.count_ones()
            }
        })*
    };
}

lane_set!(u32, u64);

impl LaneSet for Lanes {
    #[inline(always)]
    fn with(mut self, lane: usize) -> Self {
        self.0[lane / 64] |= 1 << (lane % 64);
        self
    }
    #[inline(always)]
    fn without(self, other: Self) -> Self {
        Lanes([self.0[0] & !other.0[0], self.0[1] & !other.0[1]])
    }
    #[inline(always)]
    fn count(self) -> u32 {
        self.0[0].count_ones() + self.0[1].count_ones()
    }
}

/// The smallest in each of several lanes.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mins<const LANES: usize>(pub [u64; LANES]);

// SAFETY: an array of numbers, without padding; every bit pattern valid, nothing to drop.
unsafe impl<const LANES: usize> Pod for Mins<LANES> {}

impl<const LANES: usize> Mins<LANES> {
    /// Numbers made of these; a lane that has none stays so.
    #[inline(always)]
    pub fn map(self, make: impl Fn(u64) -> u64) -> Self {
        Mins(self.0.map(|number| if number == u64::MAX { number } else { make(number) }))
    }

    /// The numbers that there are.
    pub fn present(self) -> impl Iterator<Item = u64> {
        self.0.into_iter().filter(|&number| number != u64::MAX)
    }
}

impl<const LANES: usize> Monoid for Mins<LANES> {
    const IDENTITY: Self = Mins([u64::MAX; LANES]);
    const EXACT: bool = true;
    #[inline(always)]
    fn combine(&mut self, other: Self) {
        for (least, other) in self.0.iter_mut().zip(other.0) {
            *least = other.min(*least);
        }
    }
}

impl<const LANES: usize> Idempotent for Mins<LANES> {}

#[cfg(test)]
mod tests {
    use super::*;

    fn lanes_of<S: LaneSet + std::fmt::Debug>(lanes: usize) {
        let all = (0..lanes).fold(S::IDENTITY, S::with);
        assert_eq!((all.count(), all.without(all)), (lanes as u32, S::IDENTITY));
        let last = S::IDENTITY.with(lanes - 1);
        assert_eq!((last.count(), all.without(last).count()), (1, lanes as u32 - 1));
        assert_eq!(all.without(last).with(lanes - 1), all);
    }

    #[test]
    fn sets_have_their_lanes() {
        lanes_of::<Or<u32>>(32);
        lanes_of::<Or<u64>>(64);
        lanes_of::<Lanes>(128);
    }

    #[test]
    fn the_smallest_of_each_lane_counts() {
        let mut least = Mins::<3>::IDENTITY;
        for others in [[4, 9, u64::MAX], [5, 2, u64::MAX]] {
            least.combine(Mins(others));
            least.combine(Mins::IDENTITY);
        }
        assert_eq!(least, Mins([4, 2, u64::MAX]));
        let larger = least.map(|number| number + 1);
        assert_eq!((larger.0[2], larger.present().sum()), (u64::MAX, 8u64));
    }
}
