//! [`Pool`]: memory for requests of any length.

use std::{collections::VecDeque, sync::Arc};

use crate::{
    PAGE,
    arena::{Arena, Buffer},
};

/// A range of an arena, handed out in pieces of any length, in a ring: what was taken first is used
/// again first.
pub struct Pool {
    pub(super) arena: Arc<Arena>,
    pub(super) start: usize,
    len: usize,
    /// Where the next piece begins, from `start`.
    head: usize,
    /// Pieces in the order in which they were taken: place, and whether it came back.
    taken: VecDeque<(usize, bool)>,
}

impl Pool {
    /// A pool of `len` bytes of an arena from `start` on, none of which belongs to a buffer.
    pub(super) fn new(arena: Arc<Arena>, start: usize, len: usize) -> Self {
        Self { arena, start, len, head: 0, taken: VecDeque::new() }
    }

    /// A buffer of `len` bytes, a multiple of a page; `None` when there is no room now.
    pub fn take(&mut self, len: usize) -> Option<Buffer> {
        debug_assert!(len.is_multiple_of(PAGE) && len > 0);
        let place = match self.taken.front() {
            None => (len <= self.len).then_some(0),
            // The head never meets the oldest piece, so that a full ring is told from an empty one.
            Some(&(tail, _)) if self.head > tail => {
                if self.head + len <= self.len {
                    Some(self.head)
                } else {
                    (len < tail).then_some(0)
                }
            }
            Some(&(tail, _)) => (self.head + len < tail).then_some(self.head),
        }?;
        self.head = place + len;
        self.taken.push_back((place, false));
        Some(self.arena.buffer(self.start + place, len))
    }

    /// Takes a buffer back.
    pub fn give(&mut self, buffer: Buffer) {
        let place = buffer.offset() - self.start;
        drop(buffer);
        if let Some(entry) = self.taken.iter_mut().find(|entry| entry.0 == place && !entry.1) {
            entry.1 = true;
        }
        while self.taken.front().is_some_and(|&(_, back)| back) {
            self.taken.pop_front();
        }
    }

    /// Whether everything came back.
    pub(super) fn is_whole(&self) -> bool {
        self.taken.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::arena::HugePages;

    proptest! {
        /// The arena refuses overlapping buffers by a panic, so this only has to use the pool.
        #[test]
        fn a_pool_is_a_ring_of_buffers_that_do_not_overlap(
            steps in prop::collection::vec((1usize..20, 0usize..8), 1..300),
        ) {
            let arena = Arena::new(2 << 20, HugePages::Off).unwrap();
            let mut pool = Pool::new(arena, 64 * PAGE, 40 * PAGE);
            let mut held: Vec<Buffer> = Vec::new();
            for (pages, pick) in steps {
                match pool.take(pages * PAGE) {
                    Some(buffer) => {
                        let end = buffer.offset() + buffer.len();
                        prop_assert!(buffer.offset() >= 64 * PAGE && end <= 104 * PAGE);
                        held.push(buffer);
                    }
                    None => {
                        prop_assert!(!held.is_empty(), "an empty pool has room for all that it is");
                        pool.give(held.remove(pick % held.len()));
                    }
                }
            }
            held.into_iter().for_each(|buffer| pool.give(buffer));
            prop_assert!(pool.is_whole());
            prop_assert!(pool.take(40 * PAGE).is_some());
        }
    }
}
