//! Memory for device transfers and large arrays. The number of separate memory pages in a request
//! limits a device more than its bytes do. So what is read into or scanned lies in pages of 2 MiB,
//! where the system grants them.
//!
//! Memory: what is asked for, rounded up to a page, and to 2 MiB only where huge pages are insisted
//! on. It is charged by the system when it is first touched.

use crate::error::{Result, StorageError};
use crate::fence;
use crate::mapping::{HUGE, Mapping, rounded};
use crate::monitor::lock;
use std::collections::BTreeMap;
use std::io;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64};
use std::sync::{Arc, Mutex};

pub use crate::mapping::{HugePages, READABLE_PAST};

/// Memory that is handed out as [`Buffer`]s, each the exclusive owner of its range.
pub struct Arena {
    mapping: Mapping,
    /// Ranges that have an owner: start to end.
    owned: Mutex<BTreeMap<usize, usize>>,
}

impl std::fmt::Debug for Arena {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Arena").field("len", &self.len()).field("huge", &self.is_huge()).finish()
    }
}

impl Arena {
    /// Maps `bytes`, rounded up to a page. The memory is zero, and [`READABLE_PAST`] bytes after it
    /// can be read.
    pub fn new(bytes: usize, huge: HugePages) -> Result<Arc<Arena>> {
        let (len, huge) = rounded(bytes, huge)?;
        let mapping = Mapping::new(len, huge)?;
        mapping.ends_at(len + READABLE_PAST);
        fence::forbid(mapping.base.as_ptr(), len);
        Ok(Arc::new(Arena { mapping, owned: Mutex::new(BTreeMap::new()) }))
    }

    /// Bytes that buffers can be made of.
    pub fn len(&self) -> usize {
        self.mapping.len
    }

    /// Never: an arena has at least a page.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Whether the system was asked for huge pages and said yes.
    pub fn is_huge(&self) -> bool {
        self.mapping.huge
    }

    /// The address of the first byte, for the registration of the arena with the kernel.
    pub fn as_ptr(&self) -> *mut u8 {
        self.mapping.base.as_ptr()
    }

    /// Takes ownership of a range.
    ///
    /// # Panics
    /// If the range is not inside the arena, or if any of it belongs to a buffer that is alive.
    pub fn buffer(self: &Arc<Self>, offset: usize, len: usize) -> Buffer {
        let end = offset.checked_add(len).filter(|&end| end <= self.len());
        let end = end.unwrap_or_else(|| {
            panic!("{len} bytes at {offset} are outside of an arena of {}", self.len())
        });
        self.own(offset, end);
        // SAFETY: the offset is inside the mapping.
        let start = unsafe { self.mapping.base.add(offset) };
        Buffer { start, len, arena: Arc::clone(self) }
    }

    fn own(&self, start: usize, end: usize) {
        if start == end {
            return;
        }
        let mut owned = lock(&self.owned);
        if let Some((&s, &e)) = owned.range(..end).next_back()
            && e > start
        {
            drop(owned);
            panic!("bytes {start}..{end} of the arena overlap a living buffer at {s}..{e}");
        }
        owned.insert(start, end);
        fence::allow(self.as_ptr().wrapping_add(start), end - start);
    }

    fn disown(&self, start: usize, end: usize) {
        if start < end {
            let mut owned = lock(&self.owned);
            fence::forbid(self.as_ptr().wrapping_add(start), end - start);
            owned.remove(&start);
        }
    }
}

/// An exclusive range of an [`Arena`]. Dropping it gives the range back.
pub struct Buffer {
    start: NonNull<u8>,
    len: usize,
    arena: Arc<Arena>,
}

// SAFETY: a buffer is the only owner of its range (checked by `Arena::own`), like a `Box<[u8]>`.
unsafe impl Send for Buffer {}
// SAFETY: shared access only reads.
unsafe impl Sync for Buffer {}

impl std::fmt::Debug for Buffer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Buffer").field("offset", &self.offset()).field("len", &self.len).finish()
    }
}

impl Buffer {
    /// Where the buffer starts in its arena.
    pub fn offset(&self) -> usize {
        self.start.as_ptr() as usize - self.arena.as_ptr() as usize
    }

    /// The arena it is a part of.
    pub fn arena(&self) -> &Arc<Arena> {
        &self.arena
    }

    /// The address of the first byte, valid as long as the buffer and not moved with it.
    pub fn as_mut_ptr(&mut self) -> *mut u8 {
        self.start.as_ptr()
    }

    /// Cuts the buffer in two.
    ///
    /// # Panics
    /// If `at` is past the end.
    pub fn split(self, at: usize) -> (Buffer, Buffer) {
        let (offset, len, arena) = (self.offset(), self.len, Arc::clone(&self.arena));
        assert!(at <= len, "cannot cut a buffer of {len} bytes at {at}");
        drop(self);
        (arena.buffer(offset, at), arena.buffer(offset + at, len - at))
    }

    /// Makes one buffer of this and the one right behind it: the reverse of [`Buffer::split`].
    ///
    /// # Panics
    /// If `next` does not begin where this one ends.
    pub fn join(self, next: Buffer) -> Buffer {
        let (offset, len, arena) = (self.offset(), self.len, Arc::clone(&self.arena));
        assert!(
            Arc::ptr_eq(&arena, &next.arena) && offset + len == next.offset(),
            "only neighbors become one buffer"
        );
        let whole = len + next.len;
        drop((self, next));
        arena.buffer(offset, whole)
    }
}

impl Deref for Buffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the range is mapped, zeroed at first, and no one else writes to it while the
        // buffer is borrowed.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: the range is mapped, zeroed at first, and this buffer is its only owner.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let offset = self.offset();
        self.arena.disown(offset, offset + self.len);
    }
}

/// Plain old data: any bit pattern is a value, all zeros too, and nothing happens when it is
/// dropped.
///
/// # Safety
/// The type must have no padding, no invalid bit patterns, no `Drop`, and an alignment of at most
/// 4096.
pub unsafe trait Pod: 'static {}

macro_rules! pod {
    ($($t:ty),*) => { $(
        // SAFETY: a number without padding; every bit pattern is valid.
        unsafe impl Pod for $t {}
    )* };
}
// SAFETY: items in a row, each plain, with nothing between them.
unsafe impl<T: Pod, const N: usize> Pod for [T; N] {}
pod!(u8, u16, u32, u64, u128, usize, i8, i16, i32, i64, f32, f64);
pod!(AtomicU8, AtomicU16, AtomicU32, AtomicU64);

/// The bytes of plain items, as they are in memory.
pub fn bytes_of<T: Pod + Copy>(items: &[T]) -> &[u8] {
    // SAFETY: the items have no padding (`Pod`), and do not change while they are borrowed: what is
    // `Copy` has no interior mutability.
    unsafe { std::slice::from_raw_parts(items.as_ptr().cast(), size_of_val(items)) }
}

/// The items whose bytes these are, as [`bytes_of`] made them; what is left over of an item is
/// ignored.
#[inline(always)]
pub fn items_of<T: Pod + Copy>(bytes: &[u8]) -> impl Iterator<Item = T> + '_ {
    let items = bytes.chunks_exact(size_of::<T>());
    // SAFETY: the bytes are that long, and any bytes are an item (`Pod`); they need not be aligned.
    items.map(|item| unsafe { item.as_ptr().cast::<T>().read_unaligned() })
}

/// An array of fixed length in a mapping of its own, in huge pages where it is large enough to gain
/// from them.
pub struct HugeVec<T: Pod> {
    mapping: Mapping,
    len: usize,
    kind: PhantomData<Vec<T>>,
}

// SAFETY: it owns its elements like a `Vec`.
unsafe impl<T: Pod + Send> Send for HugeVec<T> {}
// SAFETY: it shares its elements like a `Vec`.
unsafe impl<T: Pod + Sync> Sync for HugeVec<T> {}

impl<T: Pod> HugeVec<T> {
    /// `len` zeros. Small arrays (less than 2 MiB) use ordinary pages whatever `huge` says, to cost
    /// no more than they need.
    pub fn zeroed(len: usize, huge: HugePages) -> Result<Self> {
        let oversize = || StorageError::Memory {
            bytes: u64::MAX,
            source: io::Error::from_raw_os_error(libc::ENOMEM),
        };
        let bytes = len.checked_mul(size_of::<T>()).ok_or_else(oversize)?;
        let (room, huge) = rounded(bytes, if bytes < HUGE { HugePages::Off } else { huge })?;
        let mapping = Mapping::new(room, huge)?;
        mapping.ends_at(bytes);
        Ok(Self { mapping, len, kind: PhantomData })
    }

    /// Bytes of memory it occupies once all of it was touched.
    pub fn bytes(&self) -> u64 {
        self.mapping.len as u64
    }

    /// Whether it is in huge pages.
    pub fn is_huge(&self) -> bool {
        self.mapping.huge
    }
}

impl<T: Pod> HugeVec<T> {
    /// The same bytes as elements of a type of the same size.
    fn cast<U: Pod>(self) -> HugeVec<U> {
        assert_eq!((size_of::<T>(), align_of::<T>()), (size_of::<U>(), align_of::<U>()));
        HugeVec { mapping: self.mapping, len: self.len, kind: PhantomData }
    }
}

macro_rules! shared {
    ($($plain:ty, $shared:ty);*) => { $(
        impl HugeVec<$shared> {
            /// The same numbers, no longer shared.
            pub fn into_plain(self) -> HugeVec<$plain> {
                self.cast()
            }
        }

        impl HugeVec<$plain> {
            /// The same numbers, to be shared.
            pub fn into_shared(self) -> HugeVec<$shared> {
                self.cast()
            }
        }
    )* };
}
shared!(u8, AtomicU8; u16, AtomicU16; u32, AtomicU32; u64, AtomicU64);

impl HugeVec<u64> {
    /// The numbers whose bits these are.
    pub fn into_floats(self) -> HugeVec<f64> {
        self.cast()
    }
}

impl<T: Pod> Deref for HugeVec<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: the mapping has room for `len` elements, is page-aligned, and zeros are valid
        // values of a `Pod`.
        unsafe { std::slice::from_raw_parts(self.mapping.base.as_ptr().cast(), self.len) }
    }
}

impl<T: Pod> DerefMut for HugeVec<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as for `deref`, and we are borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.mapping.base.as_ptr().cast(), self.len) }
    }
}

impl<T: Pod + std::fmt::Debug> std::fmt::Debug for HugeVec<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        (**self).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PAGE;
    use crate::mapping::GIANT;
    use crate::memory;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    #[test]
    fn items_are_their_bytes_wherever_these_lie() {
        let numbers = [1.5f64, -0.0, f64::INFINITY];
        let bytes = [&[9], bytes_of(&numbers), &[1, 2]].concat();
        let again: Vec<f64> = items_of(&bytes[1..]).collect();
        assert_eq!(bytes_of(&again), bytes_of(&numbers));
    }

    #[test]
    fn is_aligned_zeroed_and_rounded() {
        let arena = Arena::new((3 << 20) - 1, HugePages::Auto).unwrap();
        assert_eq!(arena.len(), 3 << 20);
        assert_eq!(arena.as_ptr() as usize % HUGE, 0);
        let buffer = arena.buffer(0, arena.len());
        assert!(buffer.iter().all(|&b| b == 0));
        // SAFETY: these bytes are past the end, and promised to be readable.
        let past =
            unsafe { std::slice::from_raw_parts(buffer.as_ptr().add(buffer.len()), READABLE_PAST) };
        assert!(past.iter().all(|&b| b == 0));
    }

    #[test]
    fn every_mode_works_or_says_why() {
        assert!(!Arena::new(1, HugePages::Off).unwrap().is_huge());
        match Arena::new(1, HugePages::On) {
            Ok(arena) => assert!(arena.is_huge()),
            Err(error) => assert!(matches!(error, StorageError::Memory { .. })),
        }
        assert!(matches!(
            Arena::new(usize::MAX, HugePages::Auto),
            Err(StorageError::Memory { .. })
        ));
        assert!(matches!(
            Arena::new(usize::MAX / 4, HugePages::Auto),
            Err(StorageError::Memory { .. })
        ));
    }

    /// In pages that are reserved, if there are any: all of it but the end, which is in ordinary
    /// ones. Otherwise the error says how to reserve some.
    #[test]
    #[cfg_attr(miri, ignore = "maps pages that must be reserved")]
    fn reserved_pages_or_how_to_have_some() {
        for huge in [HugePages::Reserved, HugePages::Giant] {
            let bytes = 2 * HUGE + 3 * PAGE;
            match Arena::new(bytes, huge) {
                Ok(arena) => {
                    assert!(arena.is_huge() && arena.len() == bytes);
                    assert!(memory::peak_reserved_bytes() >= 2 * HUGE as u64);
                    let mut buffer = arena.buffer(0, bytes);
                    assert!(buffer.iter().all(|&byte| byte == 0));
                    buffer.fill(7);
                    assert!(memory::huge_page_bytes() >= 2 * HUGE as u64);
                }
                Err(error) => {
                    let said = error.to_string();
                    assert!(said.contains("2 MiB") && said.contains("nr_hugepages"), "{said}");
                }
            }
            assert!(!Arena::new(HUGE - 1, huge).unwrap().is_huge(), "small arrays take none");
        }
        match Arena::new(GIANT + HUGE + PAGE, HugePages::Giant) {
            Ok(arena) => {
                assert!(arena.as_ptr().addr() % GIANT == 0 && arena.len() == GIANT + HUGE + PAGE);
                let mut buffer = arena.buffer(0, arena.len());
                for at in [0, GIANT - 1, GIANT, GIANT + HUGE] {
                    buffer[at] = 1;
                }
            }
            Err(error) => {
                let said = error.to_string();
                assert!(said.contains("1 GiB") || said.contains("2 MiB"), "{said}");
            }
        }
    }

    #[test]
    fn ranges_have_one_owner() {
        let arena = Arena::new(3 * PAGE, HugePages::Auto).unwrap();
        let first = arena.buffer(4096, 4096);
        for (offset, len) in [(4096, 4096), (0, 4097), (8191, 1), (5000, 1), (0, 3 * PAGE)] {
            assert!(
                catch_unwind(AssertUnwindSafe(|| arena.buffer(offset, len))).is_err(),
                "{offset} {len}"
            );
        }
        let (second, third) = (arena.buffer(0, 4096), arena.buffer(8192, 1));
        drop(first);
        drop(arena.buffer(4096, 4096));
        drop((second, third));
        drop(arena.buffer(0, arena.len()));
        assert!(catch_unwind(AssertUnwindSafe(|| arena.buffer(arena.len(), 1))).is_err());
        assert!(catch_unwind(AssertUnwindSafe(|| arena.buffer(usize::MAX, 2))).is_err());
    }

    #[test]
    fn splits_keep_their_content() {
        let arena = Arena::new(1, HugePages::Auto).unwrap();
        let mut whole = arena.buffer(100, 50);
        for (i, b) in whole.iter_mut().enumerate() {
            *b = i as u8;
        }
        let (left, right) = whole.split(20);
        assert_eq!((left.len(), right.len(), right[0], right.offset()), (20, 30, 20, 120));
        let (empty, rest) = left.split(0);
        assert_eq!((empty.len(), rest.len()), (0, 20));
        let joined = empty.join(rest).join(right);
        assert_eq!((joined.offset(), joined.len(), joined[49]), (100, 50, 49));
        assert!(
            catch_unwind(AssertUnwindSafe(|| arena.buffer(149, 1))).is_err(),
            "joined, they have one owner"
        );
        let (left, right) = joined.split(10);
        assert!(catch_unwind(AssertUnwindSafe(|| right.join(left))).is_err(), "in this order only");
        drop(arena.buffer(100, 50));
    }

    #[test]
    fn buffers_move_between_threads() {
        let arena = Arena::new(1 << 20, HugePages::Auto).unwrap();
        let mut buffer = arena.buffer(0, 1 << 20);
        let buffer = std::thread::spawn(move || {
            buffer.fill(7);
            buffer
        });
        drop(arena);
        assert!(buffer.join().unwrap().iter().all(|&b| b == 7));
    }

    #[test]
    fn vectors_are_typed_and_small_ones_are_cheap() {
        let mut small = HugeVec::<u64>::zeroed(10, HugePages::On).unwrap();
        small[9] = 5;
        assert_eq!((small.len(), small[9], small[0], small.bytes()), (10, 5, 0, 4096));
        let large = HugeVec::<f32>::zeroed(1 << 20, HugePages::Auto).unwrap();
        assert_eq!((large.len(), large[(1 << 20) - 1], large.bytes()), (1 << 20, 0.0, 4 << 20));
        assert!(HugeVec::<u8>::zeroed(0, HugePages::Auto).unwrap().is_empty());
        assert!(HugeVec::<u64>::zeroed(usize::MAX, HugePages::Auto).is_err());
    }
}
