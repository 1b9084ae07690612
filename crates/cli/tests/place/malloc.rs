//! Memory that is refused: loaded before the C library, it lets the n-th request for memory fail
//! that a command makes once it is ready (which is when it has a handler for SIGABRT).
//! `OUTERCORE_REFUSE` is n, or `n+`: that one and all that follow. When the command ends, the file
//! `OUTERCORE_REFUSED` has the number of requests.

use std::{
    ffi::{c_char, c_int, c_long, c_void},
    sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
};

type Memory = *mut c_void;

// SAFETY: declared as the C library declares them.
unsafe extern "C" {
    fn __libc_malloc(len: usize) -> Memory;
    fn __libc_calloc(count: usize, len: usize) -> Memory;
    fn __libc_realloc(memory: Memory, len: usize) -> Memory;
    fn __libc_memalign(alignment: usize, len: usize) -> Memory;
    fn __sigaction(signal: c_int, new: *const c_void, old: *mut c_void) -> c_int;
    fn __errno_location() -> *mut c_int;
    fn atexit(call: extern "C" fn()) -> c_int;
    fn creat(path: *const c_char, mode: c_int) -> c_int;
    fn dprintf(file: c_int, format: *const c_char, ...) -> c_int;
    fn getenv(name: *const c_char) -> *const c_char;
    fn strtoul(text: *const c_char, end: *mut *const c_char, base: c_int) -> u64;
    fn syscall(number: c_long, ...) -> c_long;
}

const SIGABRT: c_int = 6;
const ENOMEM: c_int = 12;
const EINVAL: c_int = 22;
const SYS_MMAP: c_long = if cfg!(target_arch = "aarch64") { 222 } else { 9 };

static READY: AtomicBool = AtomicBool::new(false);
static ALWAYS: AtomicBool = AtomicBool::new(false);
static WANTED: AtomicU64 = AtomicU64::new(0);
static SEEN: AtomicU64 = AtomicU64::new(0);

fn is_refused() -> bool {
    if !READY.load(Relaxed) {
        return false;
    }
    let (number, wanted) = (SEEN.fetch_add(1, Relaxed) + 1, WANTED.load(Relaxed));
    let refused = number == wanted || ALWAYS.load(Relaxed) && number > wanted;
    if refused {
        // SAFETY: the place of this thread's error number can be written.
        unsafe { *__errno_location() = ENOMEM };
    }
    refused
}

extern "C" fn report() {
    // SAFETY: it is asked of the C library as the caller asks it.
    unsafe {
        let file = creat(getenv(c"OUTERCORE_REFUSED".as_ptr()), 0o600);
        dprintf(file, c"%lu".as_ptr(), SEEN.load(Relaxed));
    }
}

// SAFETY: of the type of the C library's function, whose place it takes.
#[unsafe(no_mangle)]
extern "C" fn sigaction(signal: c_int, new: *const c_void, old: *mut c_void) -> c_int {
    if signal == SIGABRT && !new.is_null() {
        // SAFETY: it is asked of the C library as the caller asks it.
        unsafe {
            let mut end = std::ptr::null();
            let text = getenv(c"OUTERCORE_REFUSE".as_ptr());
            WANTED.store(strtoul(text, &raw mut end, 10), Relaxed);
            ALWAYS.store(*end as u8 == b'+', Relaxed);
            atexit(report);
        }
        READY.store(true, Relaxed);
    }
    // SAFETY: it is asked of the C library as the caller asks it.
    unsafe { __sigaction(signal, new, old) }
}

#[unsafe(no_mangle)]
extern "C" fn malloc(len: usize) -> Memory {
    // SAFETY: it is asked of the C library as the caller asks it.
    if is_refused() { std::ptr::null_mut() } else { unsafe { __libc_malloc(len) } }
}

#[unsafe(no_mangle)]
extern "C" fn calloc(count: usize, len: usize) -> Memory {
    // SAFETY: it is asked of the C library as the caller asks it.
    if is_refused() { std::ptr::null_mut() } else { unsafe { __libc_calloc(count, len) } }
}

#[unsafe(no_mangle)]
extern "C" fn realloc(memory: Memory, len: usize) -> Memory {
    // SAFETY: it is asked of the C library as the caller asks it.
    if is_refused() { std::ptr::null_mut() } else { unsafe { __libc_realloc(memory, len) } }
}

#[unsafe(no_mangle)]
extern "C" fn posix_memalign(memory: *mut Memory, alignment: usize, len: usize) -> c_int {
    if is_refused() {
        return ENOMEM;
    }
    // SAFETY: it is asked of the C library as the caller asks it.
    let found = unsafe { __libc_memalign(alignment, len) };
    // SAFETY: it is asked of the C library as the caller asks it.
    unsafe { *memory = found };
    if found.is_null() { EINVAL } else { 0 }
}

#[unsafe(no_mangle)]
extern "C" fn aligned_alloc(alignment: usize, len: usize) -> Memory {
    // SAFETY: it is asked of the C library as the caller asks it.
    if is_refused() { std::ptr::null_mut() } else { unsafe { __libc_memalign(alignment, len) } }
}

#[unsafe(no_mangle)]
extern "C" fn mmap(
    at: Memory,
    len: usize,
    kind: c_int,
    how: c_int,
    file: c_int,
    from: i64,
) -> Memory {
    // Files that are mapped are no memory.
    if file < 0 && is_refused() {
        return -1isize as Memory;
    }
    // SAFETY: it is asked of the C library as the caller asks it.
    unsafe { syscall(SYS_MMAP, at, len, kind, how, file, from) as Memory }
}

#[unsafe(no_mangle)]
extern "C" fn mmap64(
    at: Memory,
    len: usize,
    kind: c_int,
    how: c_int,
    file: c_int,
    from: i64,
) -> Memory {
    mmap(at, len, kind, how, file, from)
}
