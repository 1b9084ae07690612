//! What an address sanitizer is told of memory that we map ourselves, of which it knows nothing:
//! bytes that belong to nobody may not be touched. Without `--cfg outercore_asan`
//! (`make sanitize`) nothing is done.

#[cfg(outercore_asan)]
unsafe extern "C" {
    fn __asan_poison_memory_region(start: *const u8, bytes: usize);
    fn __asan_unpoison_memory_region(start: *const u8, bytes: usize);
}

/// The bytes belong to nobody from now on.
#[inline(always)]
pub(crate) fn forbid(start: *const u8, bytes: usize) {
    #[cfg(outercore_asan)]
    // SAFETY: marks addresses, and reads and writes none of them.
    unsafe {
        __asan_poison_memory_region(start, bytes);
    }
    let _ = (start, bytes);
}

/// The bytes have an owner from now on, or are no longer mapped.
#[inline(always)]
pub(crate) fn allow(start: *const u8, bytes: usize) {
    #[cfg(outercore_asan)]
    // SAFETY: as above.
    unsafe {
        __asan_unpoison_memory_region(start, bytes);
    }
    let _ = (start, bytes);
}
