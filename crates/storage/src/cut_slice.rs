//! [`CutSlice`]: a slice whose parts go to different workers.

use std::sync::{Mutex, MutexGuard};

use crate::lock;

/// A slice cut into parts, each to be borrowed by the one worker that has that part.
pub struct CutSlice<'v, T> {
    /// The number of the first part.
    pub first: usize,
    /// The parts, in their order.
    pub parts: Vec<Mutex<&'v mut [T]>>,
}

impl<T> Default for CutSlice<'_, T> {
    fn default() -> Self {
        Self { first: 0, parts: Vec::new() }
    }
}

impl<'v, T> CutSlice<'v, T> {
    /// A part, if there is one of this number.
    #[inline]
    pub fn get(&self, number: usize) -> Option<MutexGuard<'_, &'v mut [T]>> {
        Some(lock(self.parts.get(number.checked_sub(self.first)?)?))
    }
}
