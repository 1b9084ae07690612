//! [`Lookup`]: items that are looked up by their place, without a comparison for each, and brought
//! near before: a slice, every second item of one ([`EverySecond`]), or two such in a row
//! ([`InARow`]).

use std::{marker::PhantomData, ptr::NonNull};

use crate::memory::prefetch;

/// Items that are looked up by their place.
pub trait Lookup<T>: Copy {
    /// Bytes from one item to the next.
    const STRIDE: usize;
    /// How many there are.
    fn len(self) -> usize;
    /// Whether there is none.
    fn is_empty(self) -> bool {
        self.len() == 0
    }
    /// The item at `index`.
    ///
    /// # Safety
    /// It is below `len`.
    unsafe fn at(self, index: usize) -> T;
    /// Brings it near, if there is one.
    fn prefetch(self, index: usize);
}

impl<T: Copy> Lookup<T> for &[T] {
    const STRIDE: usize = size_of::<T>();

    fn len(self) -> usize {
        self.len()
    }

    // SAFETY: asks of its caller what the trait says.
    #[inline(always)]
    unsafe fn at(self, index: usize) -> T {
        // SAFETY: in bounds (this function's contract).
        unsafe { *self.get_unchecked(index) }
    }

    #[inline(always)]
    fn prefetch(self, index: usize) {
        prefetch(self.as_ptr().wrapping_add(index));
    }
}

/// Every second item in memory: those between may be written meanwhile.
#[derive(Clone, Copy)]
pub struct EverySecond<'s, T> {
    base: NonNull<T>,
    len: usize,
    kind: PhantomData<&'s T>,
}

impl<T: Copy> EverySecond<'_, T> {
    /// `len` items, the first of which is at `base`.
    ///
    /// # Safety
    /// For as long as this lives, every second item from `base` on may be read, and is not
    /// written.
    pub unsafe fn new(base: NonNull<T>, len: usize) -> Self {
        Self { base, len, kind: PhantomData }
    }
}

impl<T: Copy> Lookup<T> for EverySecond<'_, T> {
    const STRIDE: usize = 2 * size_of::<T>();

    fn len(self) -> usize {
        self.len
    }

    // SAFETY: asks of its caller what the trait says.
    #[inline(always)]
    unsafe fn at(self, index: usize) -> T {
        // SAFETY: in bounds (this function's contract), and not written (that of `new`).
        unsafe { self.base.add(2 * index).read() }
    }

    #[inline(always)]
    fn prefetch(self, index: usize) {
        prefetch(self.base.as_ptr().wrapping_add(2 * index));
    }
}

/// The items of one, then those of another.
#[derive(Clone, Copy)]
pub struct InARow<A, B>(pub A, pub B);

impl<T: Copy, A: Lookup<T>, B: Lookup<T>> Lookup<T> for InARow<A, B> {
    const STRIDE: usize = if A::STRIDE > B::STRIDE { A::STRIDE } else { B::STRIDE };

    fn len(self) -> usize {
        self.0.len() + self.1.len()
    }

    // SAFETY: asks of its caller what the trait says.
    #[inline(always)]
    unsafe fn at(self, index: usize) -> T {
        let first = self.0.len();
        // SAFETY: in bounds of the one or the other (this function's contract).
        unsafe { if index < first { self.0.at(index) } else { self.1.at(index - first) } }
    }

    #[inline(always)]
    fn prefetch(self, index: usize) {
        let first = self.0.len();
        if index < first {
            self.0.prefetch(index);
        } else {
            self.1.prefetch(index - first);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_has_its_item() {
        let (pairs, rest) = ([3, 90, 4, 91, 5, 92], [6, 7]);
        // SAFETY: there are three, and none is written.
        let seconds = unsafe { EverySecond::new(NonNull::from(&pairs).cast::<i32>(), 3) };
        let all = InARow(seconds, &rest[..]);
        assert_eq!((all.len(), all.is_empty(), Lookup::<i32>::len(seconds)), (5, false, 3));
        // SAFETY: below the five that there are.
        assert!((0..5).all(|at| unsafe { all.at(at) } == at as i32 + 3));
        (0..9).for_each(|at| all.prefetch(at));
        assert!(InARow::<&[i32], &[i32]>(&[], &[]).is_empty());
    }
}
