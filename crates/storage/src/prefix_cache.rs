//! [`PrefixCache`]: the front of a file, or its end, kept in memory page by page as it is read. Any
//! thread may bring a page, and what is there never changes.

use std::{
    ops::Range,
    sync::atomic::{
        AtomicBool, AtomicU8, AtomicU64,
        Ordering::{AcqRel, Acquire, Relaxed, Release},
    },
};

use crate::{HugePages, HugeVec, PAGE, error::Result};

const ABSENT: u8 = 0;
const FILLING: u8 = 1;
const PRESENT: u8 = 2;

/// The first or last pages of a file of entries, each kept from its first reading on.
pub struct PrefixCache {
    bytes: HugeVec<u8>,
    states: Vec<AtomicU8>,
    /// How many are present.
    present: AtomicU64,
    /// The number of its first page, and the pages of the file.
    first: u64,
    all: u64,
    /// Bytes of an entry.
    pub width: u64,
    /// Whether nothing more is kept, and whether that was so before.
    passes: [AtomicBool; 2],
}

// SAFETY: a page's bytes are written only by the thread that moved its state from ABSENT to
// FILLING, and read only after the state is PRESENT (release and acquire), after which they never
// change.
unsafe impl Sync for PrefixCache {}

impl PrefixCache {
    /// Room, in so many bytes of memory, for the first pages of a file that has `all` pages and
    /// whose entries have `width` bytes.
    pub fn new(bytes: u64, all: u64, width: u64, huge: HugePages) -> Result<Self> {
        let pages = (bytes / Self::PAGE_COST).min(all);
        Ok(Self {
            bytes: HugeVec::zeroed(pages as usize * PAGE, huge)?,
            states: (0..pages).map(|_| AtomicU8::new(ABSENT)).collect(),
            present: AtomicU64::new(0),
            first: 0,
            all,
            width,
            passes: [false; 2].map(AtomicBool::new),
        })
    }

    /// Memory for each page.
    const PAGE_COST: u64 = PAGE as u64 + 1;

    /// Pages.
    pub fn size(&self) -> u64 {
        self.states.len() as u64
    }

    /// Keeps nothing more, until [`PrefixCache::keep`] is called. `false`: it has been asked for
    /// before, and keeps on keeping.
    pub fn pass_once(&self) -> bool {
        let is_first = !self.passes[1].swap(true, Relaxed);
        self.passes[0].store(is_first, Relaxed);
        is_first
    }

    /// Keeps pages again.
    pub fn keep(&self) {
        self.passes[0].store(false, Relaxed);
    }

    /// The pages that some entries lie in.
    #[inline]
    pub fn pages(&self, entries: &Range<u64>) -> Range<u64> {
        entries.start * self.width / PAGE as u64..(entries.end * self.width).div_ceil(PAGE as u64)
    }

    /// Keeps as many pages of the file's end, instead of the first ones. None has come yet.
    pub fn turn_to_end(&mut self) {
        self.first = self.all - self.size();
    }

    /// Whether pages of some entries are kept once they have come.
    #[inline]
    pub fn wants(&self, entries: &Range<u64>) -> bool {
        let pages = self.pages(entries);
        pages.start < self.first + self.size() && pages.end > self.first
    }

    /// The same of the page that a byte lies in.
    #[inline]
    pub fn wants_byte(&self, byte: u64) -> bool {
        (byte / PAGE as u64).checked_sub(self.first).is_some_and(|page| page < self.size())
    }

    /// The bytes of pages, if all of them are present.
    #[inline]
    pub fn get(&self, pages: &Range<u64>) -> Option<&[u8]> {
        let start = pages.start.checked_sub(self.first)? as usize;
        let end = start + (pages.end - pages.start) as usize;
        let states = self.states.get(start..end)?;
        let all = self.present.load(Acquire) == self.all;
        let present = all || states.iter().all(|state| state.load(Acquire) == PRESENT);
        present.then(|| &self.bytes[start * PAGE..end * PAGE])
    }

    /// All bytes of the file, if every page is present.
    #[inline]
    pub fn whole(&self) -> Option<&[u8]> {
        (self.present.load(Acquire) == self.all).then_some(&self.bytes[..])
    }

    /// Whether some page of these entries is present.
    pub fn has_some(&self, entries: &Range<u64>) -> bool {
        let pages = self.pages(entries);
        let end = pages.end.min(self.first + self.size());
        let mut some = pages.start.max(self.first)..end;
        some.any(|page| self.states[(page - self.first) as usize].load(Acquire) == PRESENT)
    }

    /// The bytes of entries, if all of their pages are present.
    #[inline]
    pub fn entries(&self, entries: &Range<u64>) -> Option<&[u8]> {
        let pages = self.pages(entries);
        let start = (entries.start * self.width - pages.start * PAGE as u64) as usize;
        let len = ((entries.end - entries.start) * self.width) as usize;
        Some(&self.get(&pages)?[start..start + len])
    }

    /// Keeps those of the pages that it wants and that are not there yet. The last one may be
    /// cut off where its zeros begin.
    pub fn put(&self, first: u64, bytes: &[u8]) {
        if self.passes[0].load(Relaxed) {
            return;
        }
        let before = self.first.saturating_sub(first) as usize;
        let wanted = first.saturating_sub(self.first)..self.size();
        for (page, content) in wanted.zip(bytes.chunks(PAGE).skip(before)) {
            let state = &self.states[page as usize];
            if state.load(Acquire) == ABSENT
                && state.compare_exchange(ABSENT, FILLING, AcqRel, Acquire).is_ok()
            {
                // SAFETY: the page lies inside the vector; the exchange made this thread the only
                // one that touches it until PRESENT is stored.
                unsafe {
                    let target = self.bytes.as_ptr().add(page as usize * PAGE).cast_mut();
                    std::ptr::copy_nonoverlapping(content.as_ptr(), target, content.len());
                }
                state.store(PRESENT, Release);
                self.present.fetch_add(1, Release);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_front_and_nothing_else() {
        let cache = PrefixCache::new(2 * PrefixCache::PAGE_COST + 9, 5, 3, HugePages::Off).unwrap();
        assert!(cache.get(&(0..1)).is_none());
        let bytes: Vec<u8> = (0..3 * PAGE).map(|index| (index / PAGE) as u8 + 1).collect();
        cache.put(1, &bytes);
        let has = |pages| cache.get(&pages).is_some();
        assert!(has(1..2) && !has(0..2) && !has(2..3) && cache.whole().is_none());
        assert!(cache.has_some(&(0..2000)) && !cache.has_some(&(0..1000)));
        let all = |page, is| cache.get(&(page..page + 1)).unwrap().iter().all(|&byte| byte == is);
        assert!(all(1, 1));
        cache.put(0, &bytes);
        assert!(all(0, 1));
        assert!(all(1, 1), "a page that is present stays as it is");
        assert_eq!(cache.entries(&(2..5)), Some(&[1; 9][..]));
        assert!(cache.entries(&(2700..2731)).is_none(), "the last one ends in a third page");
    }

    #[test]
    fn the_end_is_kept_instead_of_the_front() {
        let mut cache = PrefixCache::new(2 * PrefixCache::PAGE_COST, 5, 3, HugePages::Off).unwrap();
        cache.turn_to_end();
        let bytes: Vec<u8> = (0..5 * PAGE).map(|index| (index / PAGE) as u8 + 1).collect();
        cache.put(0, &bytes[..4 * PAGE]);
        let has = |pages| cache.get(&pages).is_some();
        assert!(has(3..4) && !has(2..3) && !has(2..4) && !has(3..5) && !has(4..6));
        assert!(cache.get(&(3..4)).unwrap().iter().all(|&byte| byte == 4));
        let wanted: Vec<u64> = (0..7).filter(|page| cache.wants_byte(page * PAGE as u64)).collect();
        assert_eq!(wanted, [3, 4]);
        // 1365 entries and a third lie in a page.
        assert!(cache.wants(&(4000..4097)) && !cache.wants(&(4000..4096)));
        assert!(cache.has_some(&(0..5000)) && !cache.has_some(&(5462..5500)));
        cache.put(4, &bytes[4 * PAGE..]);
        assert_eq!(cache.entries(&(5461..5462)), Some(&[4, 5, 5][..]));
    }

    #[test]
    fn threads_fill_it_together() {
        let cache = PrefixCache::new(u64::MAX, 64, 4, HugePages::Off).unwrap();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..64u64).for_each(|page| cache.put(page, &[page as u8; PAGE])));
            }
        });
        let bytes = cache.whole().unwrap();
        assert!(bytes.chunks(PAGE).zip(0..).all(|(page, is)| page == [is; PAGE]));
    }
}
