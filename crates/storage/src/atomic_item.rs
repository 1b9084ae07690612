//! [`AtomicItem`]: numbers that threads change at the same time, and their cells.

use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering::Relaxed};

use crate::arena::{HugeVec, Pod};

/// An item that workers can change at the same time, and a number of 64 bits at most.
pub trait AtomicItem: Pod + Copy + Ord + Send + Sync + Into<u64> {
    /// Its cell.
    type Cell: Pod + Send + Sync;
    /// What a cell holds.
    fn load(cell: &Self::Cell) -> Self;
    /// Puts an item into a cell.
    fn store(cell: &Self::Cell, item: Self);
    /// Puts an item into a cell that holds a larger one; `true` if it did. Most do not: a plain
    /// load spares the exclusive access.
    fn lower(cell: &Self::Cell, item: Self) -> bool;
    /// Items as cells.
    fn cells(items: HugeVec<Self>) -> HugeVec<Self::Cell>;
    /// Cells as items.
    fn items(cells: HugeVec<Self::Cell>) -> HugeVec<Self>;
    /// The item whose bits are the lowest of a number.
    fn of_bits(bits: u64) -> Self;
}

macro_rules! atomic_item {
    ($item:ty, $cell:ty) => {
        impl AtomicItem for $item {
            type Cell = $cell;
            #[inline(always)]
            fn load(cell: &$cell) -> $item {
                cell.load(Relaxed)
            }
            #[inline(always)]
            fn store(cell: &$cell, item: $item) {
                cell.store(item, Relaxed);
            }
            #[inline(always)]
            fn lower(cell: &$cell, item: $item) -> bool {
                item < cell.load(Relaxed) && item < cell.fetch_min(item, Relaxed)
            }
            fn cells(items: HugeVec<$item>) -> HugeVec<$cell> {
                items.into_shared()
            }
            fn items(cells: HugeVec<$cell>) -> HugeVec<$item> {
                cells.into_plain()
            }
            #[inline(always)]
            fn of_bits(bits: u64) -> $item {
                bits as $item
            }
        }
    };
}
atomic_item!(u8, AtomicU8);
atomic_item!(u16, AtomicU16);
atomic_item!(u32, AtomicU32);
atomic_item!(u64, AtomicU64);
