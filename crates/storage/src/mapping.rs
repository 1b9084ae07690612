//! [`Mapping`]: memory of the system's, in pages of one size or another ([`HugePages`]).

use std::io;
use std::ptr::NonNull;
use std::sync::OnceLock;

use crate::PAGE;
use crate::error::{Result, StorageError};
use crate::fence;
use crate::memory;

/// The size and alignment of a huge page.
pub(crate) const HUGE: usize = 2 << 20;
/// The same of the largest ones, which must be reserved.
pub(crate) const GIANT: usize = 1 << 30;

/// Bytes past the end of an arena that may be read (vector loads run over the end of the last
/// buffer).
pub const READABLE_PAST: usize = 64;

crate::named! {
    /// Whether memory is to be backed by huge pages.
    #[derive(Default)]
    pub enum HugePages: "way to take memory" {
        /// Where the system grants them.
        #[default]
        Auto = "auto",
        /// Always, or an error.
        On = "on",
        /// Of the pages of 2 MiB that are reserved for programs that ask (`vm.nr_hugepages`), or an
        /// error. They are there from the beginning, and are never taken apart.
        Reserved = "reserved",
        /// The same, with pages of 1 GiB in what is that large.
        Giant = "reserved-1g",
        /// Never.
        Off = "off",
    }
}

impl HugePages {
    /// The same for memory that is written once and read in a row: huge pages gain nothing there,
    /// and a virtual machine whose host has to find memory for each of them pays dearly.
    pub fn for_streams(self) -> Self {
        if self == HugePages::Auto { HugePages::Off } else { self }
    }
}

/// Bytes of a mapping for `bytes` bytes, and its pages. What is smaller than a huge page is in
/// ordinary ones, and what is left behind the last huge page too: many small arrays would take
/// several times their bytes. Where huge pages are insisted on, everything is in them.
pub(crate) fn rounded(bytes: usize, huge: HugePages) -> Result<(usize, HugePages)> {
    let (unit, huge) = match huge {
        HugePages::On => (HUGE, huge),
        HugePages::Auto | HugePages::Reserved | HugePages::Giant if bytes >= HUGE => (PAGE, huge),
        _ => (PAGE, HugePages::Off),
    };
    let len = bytes.max(1).checked_next_multiple_of(unit).ok_or_else(|| StorageError::Memory {
        bytes: bytes as u64,
        source: io::Error::from_raw_os_error(libc::ENOMEM),
    })?;
    Ok((len, huge))
}

/// One anonymous mapping, zeroed by the kernel.
pub(crate) struct Mapping {
    /// Where it begins.
    pub base: NonNull<u8>,
    /// Bytes that belong to the user.
    pub len: usize,
    /// Bytes mapped: `len` and a page to overrun into.
    pub mapped: usize,
    /// Whether it has huge pages, as far as the system says.
    pub huge: bool,
    /// Bytes in reserved pages.
    reserved: usize,
}

// SAFETY: a mapping is plain memory and belongs to no thread. Access to it is governed by `Buffer`
// and `HugeVec`.
unsafe impl Send for Mapping {}
// SAFETY: as above; `Mapping` itself never reads or writes the memory.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps `len` bytes, as [`rounded`] makes them, and a page behind them.
    pub fn new(len: usize, huge: HugePages) -> Result<Self> {
        let failed = |source| StorageError::Memory { bytes: len as u64, source };
        let oversize = || failed(io::Error::from_raw_os_error(libc::ENOMEM));
        let unit = match huge {
            HugePages::Giant if len >= GIANT => GIANT,
            HugePages::Off => PAGE,
            _ => HUGE,
        };
        let mapped = len.checked_add(PAGE).ok_or_else(oversize)?;
        let reserved = mapped.checked_add(unit - PAGE).ok_or_else(oversize)?;
        let base = aligned(mapped, reserved, unit).map_err(failed)?;
        let mut mapping = Self { base, len, mapped, huge: false, reserved: 0 };
        let units: &[usize] = match huge {
            HugePages::Reserved => &[HUGE],
            HugePages::Giant => &[GIANT, HUGE],
            _ => &[],
        };
        for &unit in units {
            if let Err(why) = mapping.reserve(unit) {
                mapping.leave(unit);
                return Err(failed(why));
            }
        }
        if units.is_empty() {
            mapping.advise(huge).map_err(failed)?;
        }
        Ok(mapping)
    }

    /// Bytes that the first whole pages of `unit` bytes hold of what is not in reserved pages yet.
    fn whole(&self, unit: usize) -> usize {
        (self.len - self.reserved) / unit * unit
    }

    /// Puts reserved pages of `unit` bytes where the first whole ones fit that are not in such
    /// pages yet.
    fn reserve(&mut self, unit: usize) -> io::Result<()> {
        let bytes = self.whole(unit);
        if bytes == 0 {
            return Ok(());
        }
        // SAFETY: the range is within this mapping and not used yet; its start has the alignment of
        // these pages, because the mapping has that of its largest ones.
        let placed = unsafe {
            libc::mmap(
                self.base.as_ptr().byte_add(self.reserved).cast(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE
                    | libc::MAP_ANONYMOUS
                    | libc::MAP_FIXED
                    | libc::MAP_HUGETLB
                    | (unit.ilog2() as libc::c_int) << libc::MAP_HUGE_SHIFT,
                -1,
                0,
            )
        };
        if placed == libc::MAP_FAILED {
            return Err(memory::no_reserved_pages(bytes, unit, &io::Error::last_os_error()));
        }
        self.huge = true;
        self.reserved += bytes;
        memory::note_reserved(bytes as u64);
        Ok(())
    }

    /// Gives back what is certainly this mapping's. Pages of `unit` bytes that were refused may
    /// have left a hole, in which another thread's memory may be by now.
    fn leave(self, unit: usize) {
        let this = std::mem::ManuallyDrop::new(self);
        let end = this.reserved + this.whole(unit);
        // SAFETY: what is before and behind the hole is this mapping's, and used by nothing.
        unsafe {
            if this.reserved > 0 {
                libc::munmap(this.base.as_ptr().cast(), this.reserved);
            }
            libc::munmap(this.base.as_ptr().byte_add(end).cast(), this.mapped - end);
        }
        memory::give_reserved(this.reserved as u64);
    }

    /// What lies behind the first `bytes` belongs to nobody.
    pub fn ends_at(&self, bytes: usize) {
        fence::forbid(self.base.as_ptr().wrapping_add(bytes), self.mapped - bytes);
    }

    fn advise(&mut self, huge: HugePages) -> io::Result<()> {
        let advice =
            if huge == HugePages::Off { libc::MADV_NOHUGEPAGE } else { libc::MADV_HUGEPAGE };
        // SAFETY: the range is our own mapping, and the advice does not change its content.
        let done = unsafe { libc::madvise(self.base.as_ptr().cast(), self.mapped, advice) } == 0;
        let error = io::Error::last_os_error();
        self.huge = done && huge != HugePages::Off && huge_pages_enabled();
        match huge {
            HugePages::On if !done => Err(error),
            HugePages::On if !self.huge => {
                Err(io::Error::new(io::ErrorKind::Unsupported, "huge pages are switched off"))
            }
            _ => Ok(()),
        }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        fence::allow(self.base.as_ptr(), self.mapped);
        // SAFETY: the mapping is ours, and everything that borrows from it keeps it alive.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.mapped) };
        memory::give_reserved(self.reserved as u64);
    }
}

/// Maps `mapped` bytes that begin at a multiple of `unit`, out of `reserved` addresses.
fn aligned(mapped: usize, reserved: usize, unit: usize) -> io::Result<NonNull<u8>> {
    let (protection, flags) =
        (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: a fresh anonymous mapping; no existing memory is touched.
    let start = unsafe {
        libc::mmap(std::ptr::null_mut(), reserved, protection, flags | libc::MAP_NORESERVE, -1, 0)
    };
    if start == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    let skip = start.align_offset(unit);
    let tail = reserved - skip - mapped;
    // SAFETY: both ranges are inside the new mapping, page-aligned, and outside of what is
    // kept.
    unsafe {
        if skip > 0 {
            libc::munmap(start, skip);
        }
        if tail > 0 {
            libc::munmap(start.byte_add(skip + mapped), tail);
        }
    }
    // SAFETY: `skip` is less than the length of the mapping, whose address is not null.
    Ok(unsafe { NonNull::new_unchecked(start.byte_add(skip).cast::<u8>()) })
}

/// Whether the system grants huge pages where they are asked for.
fn huge_pages_enabled() -> bool {
    static ENABLED: OnceLock<bool> = OnceLock::new();
    *ENABLED.get_or_init(|| {
        std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled")
            .is_ok_and(|text| !text.contains("[never]"))
    })
}
