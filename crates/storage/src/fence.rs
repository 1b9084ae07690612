//! What an address sanitizer is told of memory that we map ourselves, of which it knows nothing:
//! bytes that belong to nobody may not be touched. Without `--cfg outercore_asan`
//! (`make sanitize`) nothing is done.

#[cfg(outercore_asan)]
// SAFETY: the sanitizer's own declarations; both mark addresses, and read and write none of them.
unsafe extern "C" {
    /// The bytes belong to nobody from now on.
    #[link_name = "__asan_poison_memory_region"]
    pub(crate) safe fn forbid(start: *const u8, bytes: usize);
    /// The bytes have an owner from now on, or are no longer mapped.
    #[link_name = "__asan_unpoison_memory_region"]
    pub(crate) safe fn allow(start: *const u8, bytes: usize);
}

#[cfg(not(outercore_asan))]
pub(crate) fn forbid(_: *const u8, _: usize) {}

#[cfg(not(outercore_asan))]
pub(crate) fn allow(_: *const u8, _: usize) {}
