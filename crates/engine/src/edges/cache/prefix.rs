//! [`PrefixCache`]: the front of a section, kept in memory page by page as it is read. Vertices are
//! ordered by degree, so the front of the rows holds the lists of the hubs: the pages that are
//! wanted most.

use std::sync::atomic::{
    AtomicU8,
    Ordering::{AcqRel, Acquire, Release},
};

use outercore_storage::{HugePages, HugeVec, PAGE};

use crate::error::Result;

const ABSENT: u8 = 0;
const FILLING: u8 = 1;
const PRESENT: u8 = 2;

/// The first pages of a section.
pub struct PrefixCache {
    bytes: HugeVec<u8>,
    states: Vec<AtomicU8>,
}

// SAFETY: a page's bytes are written only by the thread that moved its state from ABSENT to
// FILLING, and read only after the state is PRESENT (release and acquire), after which they never
// change.
unsafe impl Sync for PrefixCache {}

impl PrefixCache {
    /// Room for the first `pages` pages.
    pub fn new(pages: u64, huge: HugePages) -> Result<Self> {
        Ok(Self {
            bytes: HugeVec::zeroed(pages as usize * PAGE, huge)?,
            states: (0..pages).map(|_| AtomicU8::new(ABSENT)).collect(),
        })
    }

    /// Memory for each page.
    pub const PAGE_COST: u64 = PAGE as u64 + 1;

    /// Pages.
    pub fn pages(&self) -> u64 {
        self.states.len() as u64
    }

    /// Whether all of the pages are present.
    pub fn has(&self, first: u64, count: u64) -> bool {
        first + count <= self.pages()
            && self.states[first as usize..(first + count) as usize]
                .iter()
                .all(|state| state.load(Acquire) == PRESENT)
    }

    /// The bytes of pages that are present.
    ///
    /// # Panics
    /// If one is not.
    pub fn get(&self, first: u64, count: u64) -> &[u8] {
        assert!(self.has(first, count), "only present pages are read");
        &self.bytes[first as usize * PAGE..(first + count) as usize * PAGE]
    }

    /// Keeps those of the pages that belong to the front and are not there yet.
    pub fn put(&self, first: u64, bytes: &[u8]) {
        for (page, content) in (first..self.pages()).zip(bytes.chunks_exact(PAGE)) {
            let state = &self.states[page as usize];
            if state.load(Acquire) == ABSENT
                && state.compare_exchange(ABSENT, FILLING, AcqRel, Acquire).is_ok()
            {
                // SAFETY: the page lies inside the vector; the exchange made this thread the only
                // one that touches it until PRESENT is stored.
                unsafe {
                    let target = self.bytes.as_ptr().add(page as usize * PAGE).cast_mut();
                    std::ptr::copy_nonoverlapping(content.as_ptr(), target, PAGE);
                }
                state.store(PRESENT, Release);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_front_and_nothing_else() {
        let cache = PrefixCache::new(2, HugePages::Off).unwrap();
        assert!(!cache.has(0, 1));
        let bytes: Vec<u8> = (0..3 * PAGE).map(|index| (index / PAGE) as u8 + 1).collect();
        cache.put(1, &bytes);
        assert!(cache.has(1, 1) && !cache.has(0, 2) && !cache.has(2, 1));
        assert!(cache.get(1, 1).iter().all(|&byte| byte == 1));
        cache.put(0, &bytes);
        assert!(cache.get(0, 1).iter().all(|&byte| byte == 1));
        assert!(
            cache.get(1, 1).iter().all(|&byte| byte == 1),
            "a page that is present stays as it is"
        );
    }

    #[test]
    fn threads_fill_it_together() {
        let cache = PrefixCache::new(64, HugePages::Off).unwrap();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..64u64).for_each(|page| cache.put(page, &[page as u8; PAGE])));
            }
        });
        assert!((0..64).all(|page| cache.get(page, 1).iter().all(|&byte| byte == page as u8)));
    }
}
