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
