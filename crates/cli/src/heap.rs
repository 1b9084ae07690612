//! Memory that the system refuses, as under `ulimit -v`: an abort says nothing of what to do, so it
//! is turned into a message and an exit code.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    sync::atomic::{AtomicBool, Ordering::Relaxed},
};

use crate::signals;

/// The exit code of a refusal of the system's.
const REFUSED: i32 = 5;
const MESSAGE: &[u8] = b"outercore: the system refuses memory; give a smaller --memory or \
    --threads, or raise the limit of address space (`ulimit -v`)\n";

/// Whether an allocation has failed. Those who ask for memory that they can do without go on.
static FAILED: AtomicBool = AtomicBool::new(false);

/// The system's allocator, which remembers that it failed.
struct Remembering;

#[global_allocator]
static HEAP: Remembering = Remembering;

fn remember(memory: *mut u8) -> *mut u8 {
    if memory.is_null() {
        FAILED.store(true, Relaxed);
    }
    memory
}

// SAFETY: everything is the system's allocator's doing; a flag is all that is added.
unsafe impl GlobalAlloc for Remembering {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the promises that it makes here.
        remember(unsafe { System.alloc(layout) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        remember(unsafe { System.alloc_zeroed(layout) })
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        // SAFETY: as above.
        remember(unsafe { System.realloc(memory, layout, bytes) })
    }
}

/// Has the abort that follows a failed allocation say what to do, and end with the exit code of a
/// refusal.
pub fn install() {
    signals::set_handler(libc::SIGABRT, aborted);
}

extern "C" fn aborted(signal: libc::c_int) {
    // The C library ends the process itself where it is refused memory for a thread.
    // SAFETY: the place of this thread's error number can always be read.
    let of_library = unsafe { *libc::__errno_location() } == libc::ENOMEM;
    if FAILED.load(Relaxed) || of_library {
        refuse();
    }
    // SAFETY: async-signal-safe: the abort goes on as if there were no handler.
    unsafe { libc::signal(signal, libc::SIG_DFL) };
}

/// Ends the process with what to do and the exit code of a refusal; allocates nothing.
pub fn refuse() -> ! {
    // SAFETY: both are async-signal-safe, and the message is as long as is said.
    unsafe {
        libc::write(libc::STDERR_FILENO, MESSAGE.as_ptr().cast(), MESSAGE.len());
        libc::_exit(REFUSED);
    }
}
