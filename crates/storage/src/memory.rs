//! What this process uses and what the machine lets it use. These are the kernel's tables, not
//! files, and so are read without a [`crate::Disk`].

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Bytes in reserved huge pages, now and at the most: the system does not count them as resident.
static RESERVED: [AtomicU64; 2] = [AtomicU64::new(0), AtomicU64::new(0)];

/// The most memory the process ever had resident, in bytes, with that in reserved huge pages; 0 if
/// the system does not say.
pub fn peak_rss_bytes() -> u64 {
    status("VmHWM") + peak_reserved_bytes()
}

/// The most bytes that were in reserved huge pages at a time.
pub fn peak_reserved_bytes() -> u64 {
    RESERVED[1].load(Relaxed)
}

/// So many bytes more are in reserved huge pages.
pub(crate) fn note_reserved(bytes: u64) {
    let now = RESERVED[0].fetch_add(bytes, Relaxed) + bytes;
    RESERVED[1].fetch_max(now, Relaxed);
}

/// So many bytes are no longer in reserved huge pages.
pub(crate) fn give_reserved(bytes: u64) {
    RESERVED[0].fetch_sub(bytes, Relaxed);
}

/// Why `bytes` in reserved pages of `unit` bytes were refused, and what to do.
pub(crate) fn no_reserved_pages(bytes: usize, unit: usize, why: &io::Error) -> io::Error {
    let (pages, kib) = (bytes / unit, unit >> 10);
    let folder = format!("/sys/kernel/mm/hugepages/hugepages-{kib}kB");
    let free = read(Path::new(&folder).join("free_hugepages").as_path());
    let free = free.map_or("none".to_owned(), |text| text.trim().to_owned());
    let size = if unit < 1 << 30 { "2 MiB" } else { "1 GiB" };
    io::Error::new(
        io::ErrorKind::OutOfMemory,
        format!(
            "{pages} reserved pages of {size} are wanted, and {free} of those in {folder} are free \
             ({why}): write a larger number into its nr_hugepages, or give --huge-pages auto"
        ),
    )
}

/// The memory the process has resident now, in bytes; 0 if the system does not say.
pub fn current_rss_bytes() -> u64 {
    status("VmRSS")
}

/// The memory of the process that lies in huge pages now, in bytes; 0 if the system does not say.
pub fn huge_page_bytes() -> u64 {
    read(Path::new("/proc/self/smaps_rollup"))
        .map(|text| {
            let of = |name| field(&text, name).unwrap_or(0);
            of("AnonHugePages") + of("Private_Hugetlb")
        })
        .unwrap_or(0)
}

/// Bytes that a thread takes beside what it asks for by name: its stack, and its part of the heap.
/// Where the system gives huge pages unasked, both begin with one.
pub fn thread_bytes() -> u64 {
    static BYTES: OnceLock<u64> = OnceLock::new();
    *BYTES.get_or_init(|| {
        let enabled = read(Path::new("/sys/kernel/mm/transparent_hugepage/enabled"));
        let unasked = enabled.is_some_and(|text| text.contains("[always]"));
        (1 << 20) + if unasked { 4 << 20 } else { 0 }
    })
}

/// The processor time of the process so far, its own and the system's for it.
pub fn process_time() -> Duration {
    clock(libc::CLOCK_PROCESS_CPUTIME_ID)
}

/// The processor time of the calling thread so far, its own and the system's for it.
pub fn thread_time() -> Duration {
    clock(libc::CLOCK_THREAD_CPUTIME_ID)
}

fn clock(clock: libc::clockid_t) -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes one `timespec`, which is ours.
    let answer = unsafe { libc::clock_gettime(clock, &raw mut time) };
    if answer == 0 {
        Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
    } else {
        Duration::ZERO
    }
}

/// The memory a process may count on now, in bytes: what the machine has available, or the lowest
/// limit of the control groups it is in. What other processes of a group use already is not
/// subtracted. Where none of this can be read, what is free.
pub fn machine_memory() -> u64 {
    let available = read(Path::new("/proc/meminfo")).and_then(|text| field(&text, "MemAvailable"));
    let groups = read(Path::new("/proc/self/cgroup")).unwrap_or_default();
    // A group without a limit says a very large number.
    let limit = group_limit(&groups, Path::new("/sys/fs/cgroup"));
    available.unwrap_or_else(free_memory).min(limit.unwrap_or(u64::MAX))
}

/// The memory that nobody uses; asking for it opens no file.
fn free_memory() -> u64 {
    // SAFETY: all zeros is a valid `sysinfo`.
    let mut info: libc::sysinfo = unsafe { std::mem::zeroed() };
    // SAFETY: `info` outlives the call, which fills it.
    unsafe { libc::sysinfo(&raw mut info) };
    info.freeram as u64 * u64::from(info.mem_unit)
}

/// The processors this process may use at once.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// The text of a table. Its size is not known before: without room at the beginning, it would come
/// in many small pieces.
fn read(path: &Path) -> Option<String> {
    let mut text = String::with_capacity(4096);
    File::open(path).and_then(|mut table| table.read_to_string(&mut text)).ok()?;
    Some(text)
}

fn status(name: &str) -> u64 {
    read(Path::new("/proc/self/status")).and_then(|text| field(&text, name)).unwrap_or(0)
}

/// The value, in bytes, of a line like `VmHWM:     1234 kB`.
fn field(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// The lowest limit of the groups named in `/proc/self/cgroup` and of the groups around them,
/// whichever version they have.
fn group_limit(groups: &str, root: &Path) -> Option<u64> {
    let mut limits = Vec::new();
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else {
            continue;
        };
        let (mounts, file) = match controllers {
            "" => (vec![root.to_owned(), root.join("unified")], "memory.max"),
            list if list.split(',').any(|name| name == "memory") => {
                (vec![root.join("memory")], "memory.limit_in_bytes")
            }
            _ => continue,
        };
        // In a container the path may be that of the host: then only its front, the mount itself,
        // exists.
        for (mount, group) in
            mounts.iter().flat_map(|mount| ancestors(path).map(move |group| (mount, group)))
        {
            // "max", version 2's word for no limit, is not a number.
            limits.extend(
                read(&mount.join(group).join(file))
                    .and_then(|text| text.trim().parse::<u64>().ok()),
            );
        }
    }
    limits.into_iter().min()
}

/// A group and all groups around it, relative to the mount. Groups outside of the mount (`/..`) are
/// not visible.
fn ancestors(path: &str) -> impl Iterator<Item = PathBuf> {
    let inside =
        if path.split('/').any(|part| part == "..") { "" } else { path.trim_start_matches('/') };
    Path::new(inside).ancestors().map(Path::to_owned).collect::<Vec<_>>().into_iter()
}

/// Gives what was freed back to the system, and has large blocks go back as soon as they are freed,
/// in this process from now on. Left alone, the C library keeps blocks of up to 32 MiB once such a
/// block was freed, and small ones for good: a budget would have to hold them twice. The code that
/// has run so far is given back too.
pub fn give_back_freed_memory() {
    give_back_code();
    #[cfg(target_env = "gnu")]
    {
        static ONCE: std::sync::Once = std::sync::Once::new();
        // SAFETY: sets a parameter of the allocator; any thread may at any time.
        ONCE.call_once(|| unsafe {
            libc::mallopt(libc::M_MMAP_THRESHOLD, 128 << 10);
        });
        // SAFETY: looks for pages that no block is in; any thread may at any time.
        unsafe { libc::malloc_trim(0) };
    }
}

/// Takes the code that has run so far out of the process; what runs again comes back from the page
/// cache. Code counts as resident. How much of it is there depends on how the system has read the
/// file: of a program that was just installed several MiB more than of one that was read from a
/// device, and a small budget would not hold them.
fn give_back_code() {
    for line in read(Path::new("/proc/self/maps")).iter().flat_map(|text| text.lines()) {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let [range, "r-xp", _, _, inode, ..] = fields[..] else { continue };
        let bounds = range.split_once('-').map(|(start, end)| {
            [start, end].map(|bound| usize::from_str_radix(bound, 16).unwrap_or(0))
        });
        if let Some([start, end]) = bounds.filter(|&[start, end]| inode != "0" && start < end) {
            // SAFETY: pages of a file that can be executed and not be written: their content is
            // that of the file, from which the system reads them again.
            unsafe {
                let start = std::ptr::with_exposed_provenance_mut::<libc::c_void>(start);
                libc::madvise(start, end - start.addr(), libc::MADV_DONTNEED)
            };
        }
    }
}

/// Asks the processor to bring near what lies at an address, if anything does: for reads whose
/// place is known before they are due.
#[inline(always)]
pub fn prefetch<T>(item: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a hint, which touches no memory: any address may be given to it.
    unsafe {
        core::arch::x86_64::_mm_prefetch::<{ core::arch::x86_64::_MM_HINT_T0 }>(item.cast());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "asks the kernel")]
    fn code_that_has_run_is_given_back() {
        let before = status("RssFile");
        give_back_code();
        let after = status("RssFile");
        assert!(after < before, "{after} of {before}");
    }

    #[test]
    fn this_process_has_memory() {
        let before = current_rss_bytes();
        let memory = std::hint::black_box(vec![1u8; 32 << 20]);
        assert!(peak_rss_bytes() >= 32 << 20);
        assert!(before > 0 && peak_rss_bytes() >= current_rss_bytes());
        assert!(machine_memory() > 1 << 20 && cores() >= 1);
        assert!(free_memory() > 1 << 20 && free_memory() < 1 << 50);
        drop(memory);
    }

    #[test]
    fn a_thread_takes_a_mebibyte_or_two_huge_pages_more() {
        let mode = read(Path::new("/sys/kernel/mm/transparent_hugepage/enabled"));
        let unasked = mode.is_some_and(|mode| mode.contains("[always]"));
        assert_eq!(thread_bytes(), if unasked { 5 << 20 } else { 1 << 20 });
    }

    #[test]
    fn processor_time_passes() {
        let (process, thread) = (process_time(), thread_time());
        std::hint::black_box(
            (0..20_000_000u64).fold(0, |sum: u64, number| sum.wrapping_mul(31) ^ number),
        );
        assert!(
            process_time() > process && thread_time() > thread && process_time() >= thread_time()
        );
    }

    #[test]
    fn reads_fields() {
        let text = "VmPeak:\t  99 kB\nVmHWM:\t  12 kB\nThreads:\t3\n";
        assert_eq!(
            (field(text, "VmHWM"), field(text, "Vm"), field(text, "Threads")),
            (Some(12 * 1024), None, None)
        );
    }

    #[test]
    fn the_lowest_group_limit_counts() {
        let dir = tempfile::tempdir().unwrap();
        let put = |path: &str, text: &str| {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        put("a/memory.max", "5000\n");
        put("a/b/memory.max", "max\n");
        put("memory/memory.limit_in_bytes", "9223372036854771712\n");
        put("memory/c/memory.limit_in_bytes", "7000\n");
        put("unified/d/memory.max", "100\n");
        let limit = |groups| group_limit(groups, dir.path());
        assert_eq!(limit("0::/a/b\n"), Some(5000));
        assert_eq!(limit("0::/\n"), None);
        assert_eq!(limit("0::/../../a\n"), None);
        assert_eq!(limit("0::/d\n"), Some(100));
        assert_eq!(limit("4:memory,cpu:/c/e\n0::/a\n"), Some(5000));
        assert_eq!(limit("4:cpu,memory:/c\n3:freezer:/a\n"), Some(7000));
        assert_eq!(limit("4:memory:/docker/0123\n"), Some(9_223_372_036_854_771_712));
        assert_eq!(limit("garbage\n"), None);
    }
}
