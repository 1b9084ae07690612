//! [`Resident`]: the parts of an array that are in memory, in one piece.

use std::{
    ops::Range,
    ptr::NonNull,
    sync::{Arc, OnceLock, RwLock},
};

use crate::{
    arena::{HugePages, HugeVec, Pod},
    error::Result,
};

/// The first parts of an array. Threads change different parts at the same time; once all were
/// shown together, none changes any more.
pub struct Resident<T: Pod> {
    /// Owns what `base` points to, and is not used otherwise.
    memory: HugeVec<T>,
    base: NonNull<T>,
    /// Of all parts, those that are not in memory among them.
    bounds: Arc<[u64]>,
    /// Of each part: whether it stays as it is.
    shown: Vec<RwLock<bool>>,
    all_shown: OnceLock<()>,
}

// SAFETY: it owns its items, like the `HugeVec` behind it.
unsafe impl<T: Pod + Send> Send for Resident<T> {}
// SAFETY: a part's items are read under its lock or after it was marked as shown, and changed
// under the lock, held alone, before it is marked.
unsafe impl<T: Pod + Send + Sync> Sync for Resident<T> {}

impl<T: Pod> Resident<T> {
    /// Zeros for the first `count` of the parts with these bounds.
    pub fn zeroed(bounds: Arc<[u64]>, count: usize, huge: HugePages) -> Result<Self> {
        let items = if count == 0 { 0 } else { bounds[count] };
        Ok(Self::new(HugeVec::zeroed(items as usize, huge)?, bounds, count))
    }

    /// These items, of the first `count` of the parts with these bounds.
    pub fn new(mut memory: HugeVec<T>, bounds: Arc<[u64]>, count: usize) -> Self {
        assert!(count == 0 || bounds[count] == memory.len() as u64, "the parts' items");
        assert!(bounds.is_sorted(), "bounds ascend");
        Self {
            base: NonNull::from(&mut *memory).cast(),
            memory,
            bounds,
            shown: (0..count).map(|_| RwLock::new(false)).collect(),
            all_shown: OnceLock::new(),
        }
    }

    /// The bounds of all parts, those that are not in memory among them.
    pub fn bounds(&self) -> &Arc<[u64]> {
        &self.bounds
    }

    /// How many parts are in memory.
    pub fn count(&self) -> usize {
        self.shown.len()
    }

    /// Shows a part.
    pub fn read<R>(&self, part: usize, see: impl FnOnce(&[T]) -> R) -> R {
        let _shown = self.shown[part].read().expect("no holder panics");
        let items = self.items(part);
        // SAFETY: in bounds (`new`); nothing changes the part while its lock is held.
        see(unsafe { std::slice::from_raw_parts(self.base.as_ptr().add(items.start), items.len()) })
    }

    /// Changes a part.
    ///
    /// # Panics
    /// If all items have been shown.
    pub fn update<R>(&self, part: usize, change: impl FnOnce(&mut [T]) -> R) -> R {
        let shown = self.shown[part].write().expect("no holder panics");
        assert!(!*shown, "an array that was shown whole stays as it is");
        let items = self.items(part);
        // SAFETY: in bounds (`new`); the lock is held alone, parts do not overlap, and no slice
        // of all items was given away.
        change(unsafe {
            std::slice::from_raw_parts_mut(self.base.as_ptr().add(items.start), items.len())
        })
    }

    /// All items, which stay as they are from now on.
    #[inline(always)]
    pub fn all(&self) -> &[T] {
        self.all_shown.get_or_init(|| {
            self.shown.iter().for_each(|shown| *shown.write().expect("no holder panics") = true);
        });
        // SAFETY: every part is marked, so nothing changes any of them without an exclusive
        // borrow.
        unsafe { std::slice::from_raw_parts(self.base.as_ptr(), self.memory.len()) }
    }

    /// The pages that the memory asked for.
    pub fn pages(&self) -> HugePages {
        if self.memory.is_huge() { HugePages::Auto } else { HugePages::Off }
    }

    /// The items.
    pub fn into_memory(self) -> HugeVec<T> {
        self.memory
    }

    /// Where the items of a part are.
    pub fn items(&self, part: usize) -> Range<usize> {
        self.bounds[part] as usize..self.bounds[part + 1] as usize
    }
}
