//! [`Block`]: memory for one part of an array on its way from or to scratch.

use crate::{
    PAGE,
    arena::{HugePages, HugeVec, Pod},
    error::Result,
};

/// Memory for the items of one part, and for what pads them to whole pages.
pub struct Block<T: Pod> {
    memory: HugeVec<T>,
}

impl<T: Pod> Block<T> {
    /// Room for `items` items.
    pub fn new(items: usize) -> Result<Self> {
        Ok(Self { memory: HugeVec::zeroed(padded::<T>(items) / size_of::<T>(), HugePages::Off)? })
    }

    /// Bytes of memory of a block of `items` items.
    pub fn bytes(items: usize) -> u64 {
        padded::<T>(items) as u64
    }

    /// The first `items` items.
    pub fn items(&mut self, items: usize) -> &mut [T] {
        &mut self.memory[..items]
    }

    /// The bytes of the first `items` items, and of what pads them to whole pages.
    pub fn pages(&mut self, items: usize) -> &mut [u8] {
        let bytes = (items * size_of::<T>()).next_multiple_of(PAGE);
        assert!(bytes <= self.memory.len() * size_of::<T>(), "the block has room for the part");
        // SAFETY: the block's memory is that long, belongs to it alone for the length of the
        // borrow, and any bytes are valid items of a `Pod`.
        unsafe { std::slice::from_raw_parts_mut(self.memory.as_mut_ptr().cast::<u8>(), bytes) }
    }
}

/// Bytes of `items` items, in whole pages that hold whole items.
fn padded<T>(items: usize) -> usize {
    const { assert!(PAGE.is_multiple_of(size_of::<T>()) || size_of::<T>().is_multiple_of(8)) };
    let bytes = (items * size_of::<T>()).next_multiple_of(PAGE);
    // A block's memory is cut into items: with odd sizes it takes a few pages more.
    if bytes.is_multiple_of(size_of::<T>()) {
        bytes
    } else {
        bytes.next_multiple_of(PAGE * size_of::<T>())
    }
}
