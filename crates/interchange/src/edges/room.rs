//! Memory that threads share: each takes what it needs for a while, and waits for it.

use outercore_storage::Monitor;

/// Memory to be shared.
pub(super) struct Room {
    bytes: u64,
    /// What is taken from the beginning to the end.
    held: u64,
    taken: Monitor<u64>,
}

/// Memory that was taken; it is given back when this is dropped.
pub(super) struct Taken<'r> {
    room: &'r Room,
    bytes: u64,
}

impl Room {
    /// So many bytes, of which `held` are never free.
    pub(super) fn new(bytes: u64, held: u64) -> Self {
        Self { bytes, held, taken: Monitor::new(held) }
    }

    /// All of it.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Waits until there are `bytes` free, and takes them. A thread that waits has none, so that
    /// those who have some go on. `Err`: there will never be so many; how many there had to be in
    /// all.
    pub(super) fn take(&self, bytes: u64) -> Result<Taken<'_>, u64> {
        let needed = self.held.saturating_add(bytes);
        if needed > self.bytes {
            return Err(needed);
        }
        let free = |taken: &mut u64| {
            let is_free = *taken + bytes <= self.bytes;
            *taken += if is_free { bytes } else { 0 };
            is_free.then_some(())
        };
        self.taken.wait(free).expect("it is never closed: memory is given back whatever happens");
        Ok(Taken { room: self, bytes })
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        self.room.taken.change(|taken| *taken -= self.bytes);
    }
}
