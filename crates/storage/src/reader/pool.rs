//! [`Pool`]: memory for requests of any length. What was read into it may be kept: it can be found
//! again until its place is needed.

use std::{
    collections::{BTreeMap, VecDeque},
    ops::Range,
    sync::Arc,
};

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
    /// What is kept, and how many bytes of it were read.
    kept: BTreeMap<Origin, (Buffer, usize)>,
    /// Where what was kept came from, the oldest first, and its place.
    oldest: VecDeque<(Origin, usize)>,
}

/// Where bytes come from: the number of a file, and an offset.
pub type Origin = (usize, u64);

impl Pool {
    /// A pool of `len` bytes of an arena from `start` on, none of which belongs to a buffer.
    pub(super) fn new(arena: Arc<Arena>, start: usize, len: usize) -> Self {
        let (taken, kept, oldest) = <_>::default();
        Self { arena, start, len, head: 0, taken, kept, oldest }
    }

    /// A buffer of `len` bytes, a multiple of a page; `None` when there is no room now, though
    /// nothing is kept.
    pub fn take(&mut self, len: usize) -> Option<Buffer> {
        debug_assert!(len.is_multiple_of(PAGE) && len > 0);
        let place = loop {
            if let Some(place) = self.room(len) {
                break place;
            }
            if !self.let_go() {
                return None;
            }
        };
        self.head = place + len;
        self.taken.push_back((place, false));
        Some(self.arena.buffer(self.start + place, len))
    }

    /// Where there is room for so many bytes.
    fn room(&self, len: usize) -> Option<usize> {
        match self.taken.front() {
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
        }
    }

    /// Takes a buffer back whose first `len` bytes come from there: they are kept until their place
    /// is needed, or others from there are.
    pub fn keep(&mut self, buffer: Buffer, len: usize, from: Origin) {
        self.oldest.push_back((from, buffer.offset()));
        if let Some((before, _)) = self.kept.insert(from, (buffer, len)) {
            self.give(before);
        }
    }

    /// Bytes of a file, if they were read together and are kept.
    pub fn find(&self, file: usize, bytes: &Range<u64>) -> Option<&[u8]> {
        let before = self.kept.range((file, 0)..=(file, bytes.start));
        let (&(_, offset), (buffer, len)) = before.last()?;
        buffer[..*len].get((bytes.start - offset) as usize..(bytes.end - offset) as usize)
    }

    /// Keeps nothing any more.
    pub fn forget(&mut self) {
        while self.let_go() {}
    }

    /// No longer keeps the oldest; `false`: nothing is kept.
    fn let_go(&mut self) -> bool {
        let Some((from, place)) = self.oldest.pop_front() else { return false };
        // Others from there may have been kept since.
        if self.kept.get(&from).is_some_and(|(buffer, _)| buffer.offset() == place)
            && let Some((buffer, _)) = self.kept.remove(&from)
        {
            self.give(buffer);
        }
        true
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

        /// What is found is what was read, and what is kept takes nobody's room.
        #[test]
        fn what_is_kept_is_found_until_its_place_is_needed(
            steps in prop::collection::vec((1usize..12, 0usize..3, 0u64..30), 1..200),
        ) {
            let arena = Arena::new(2 << 20, HugePages::Off).unwrap();
            let mut pool = Pool::new(arena, 0, 40 * PAGE);
            let byte = |file: usize, at: u64| (at / 512 * 7) as u8 ^ file as u8;
            for (pages, file, block) in steps {
                let (len, offset) = (pages * PAGE - 512, block * 512);
                let mut buffer = pool.take(pages * PAGE).expect("what is kept makes room");
                for (at, to) in (offset..).zip(&mut buffer[..len]) {
                    *to = byte(file, at);
                }
                pool.keep(buffer, len, (file, offset));
                let all = offset..offset + len as u64;
                prop_assert_eq!(pool.find(file, &all).map(<[u8]>::len), Some(len));
                for (file, start) in [(0, 100), (file, 9000), (2, offset + 1)] {
                    let found = pool.find(file, &(start..start + 900));
                    let is_right = |found: &[u8]| {
                        found.len() == 900
                            && (start..).zip(found).all(|(at, &found)| found == byte(file, at))
                    };
                    prop_assert!(found.is_none_or(is_right));
                }
            }
            pool.forget();
            prop_assert!(pool.is_whole() && pool.find(0, &(0..1)).is_none());
        }
    }
}
