//! Ctrl-C and its like: the first asks the work to stop in order, the second ends the process.

use std::sync::atomic::{AtomicI32, Ordering::Relaxed};

/// The signal that asked the process to stop; 0: none.
static SIGNAL: AtomicI32 = AtomicI32::new(0);

/// Whether the process was asked to stop.
pub fn stopped() -> bool {
    SIGNAL.load(Relaxed) != 0
}

/// The exit code of a run that was stopped: 130 for SIGINT, 143 for SIGTERM, 129 for SIGHUP.
pub fn exit_code() -> i32 {
    match SIGNAL.load(Relaxed) {
        0 => 128 + libc::SIGINT,
        signal => 128 + signal,
    }
}

extern "C" fn stop(signal: libc::c_int) {
    if SIGNAL.swap(signal, Relaxed) != 0 {
        // SAFETY: async-signal-safe, and does not return. The user insists, as when an input never
        // comes.
        unsafe { libc::_exit(128 + signal) };
    }
}

/// Installs the handlers; makes writing to a closed pipe and beyond a file size limit errors
/// instead of the end.
pub fn install() {
    for signal in [libc::SIGINT, libc::SIGTERM] {
        set_handler(signal, stop);
    }
    // Who runs it under nohup wants a closed terminal to be nothing.
    if !is_ignored(libc::SIGHUP) {
        set_handler(libc::SIGHUP, stop);
    }
    for signal in [libc::SIGPIPE, libc::SIGXFSZ] {
        set(signal, libc::SIG_IGN);
    }
}

fn is_ignored(signal: libc::c_int) -> bool {
    // SAFETY: all zeros is a valid `sigaction`; without a new one, the call only fills the old one.
    let mut found: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: as above; `found` outlives the call.
    unsafe { libc::sigaction(signal, std::ptr::null(), &raw mut found) };
    found.sa_sigaction == libc::SIG_IGN
}

/// Has a signal call `handler`, which must only do what is safe in one.
pub fn set_handler(signal: libc::c_int, handler: extern "C" fn(libc::c_int)) {
    set(signal, handler as libc::sighandler_t);
}

fn set(signal: libc::c_int, handler: libc::sighandler_t) {
    // SAFETY: all zeros is a valid `sigaction`: no flags, an empty mask, the default handler.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = handler;
    action.sa_flags = libc::SA_RESTART;
    // SAFETY: `action` is initialised and outlives the call; the handler only touches an atomic or
    // ends the process.
    unsafe { libc::sigaction(signal, &raw const action, std::ptr::null_mut()) };
}
