//! [`Bell`]: what another thread ends a wait with.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::Arc;

/// Ends the wait of a queue early, or the next one if there is none.
pub type Wake = Box<dyn Fn() + Send + Sync>;

/// A bell that a thread hears while it waits for files.
pub(super) struct Bell(OwnedFd);

impl Bell {
    /// One that does not ring.
    pub(super) fn new() -> io::Result<Arc<Self>> {
        // SAFETY: the call takes no memory.
        let file = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
        if file < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor was just made, and has no other owner.
        Ok(Arc::new(Self(unsafe { OwnedFd::from_raw_fd(file) })))
    }

    /// What becomes readable when it rings.
    pub(super) fn file(&self) -> RawFd {
        self.0.as_raw_fd()
    }

    /// Rings, until it is silenced.
    pub(super) fn ring(&self) {
        let one = 1u64.to_ne_bytes();
        // SAFETY: the memory is that of eight bytes. A bell that has rung too often to count still
        // rings.
        unsafe { libc::write(self.file(), one.as_ptr().cast(), one.len()) };
    }

    /// Ends its ringing.
    pub(super) fn silence(&self) {
        let mut count = [0; 8];
        // SAFETY: the memory is that of eight bytes.
        unsafe { libc::read(self.file(), count.as_mut_ptr().cast(), count.len()) };
    }
}
