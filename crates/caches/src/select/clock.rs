//! [`Clock`]: which pages a page cache would have, without their bytes. It stands for
//! [`outercore_storage::PageCache`]: pages are given up in the same way.

use outercore_storage::SecondChance;

/// Requests that are on their way together: what one of them brings, those beside it do not find.
const TOGETHER: usize = 64;
/// Bytes of a request.
const REQUEST: u64 = 256 << 10;
const NONE: u32 = u32::MAX;

/// Names of pages in frames.
pub(super) struct Clock {
    /// The frame of each page.
    frames: Vec<u32>,
    /// The page of each frame.
    pages: Vec<u32>,
    chances: SecondChance,
    /// Pages of a request.
    longest: usize,
}

impl Clock {
    /// No pages, of so many that there are, and room for `most`.
    pub fn new(pages: usize, most: u64, block: u64) -> Self {
        Self {
            frames: vec![NONE; pages],
            pages: Vec::new(),
            chances: SecondChance::new(most as usize),
            longest: (REQUEST / block).max(1) as usize,
        }
    }

    /// Asks for pages in ascending order. Hands those that must be read to `read`, and whether a
    /// request begins with them. Pages that are there leave no request in two: they are mostly at
    /// its ends, as what was read last.
    pub fn want(&mut self, mut pages: &[u32], mut read: impl FnMut(u32, bool)) {
        while !pages.is_empty() {
            let (now, rest) = pages.split_at(self.together(pages));
            let (mut next, mut len, mut begins) = (NONE, 0, true);
            let mut missing = Vec::new();
            for &page in now {
                len = if page == next && len < self.longest { len + 1 } else { 1 };
                (next, begins) = (page + 1, begins || len == 1);
                if !self.has(page) {
                    missing.push((page, std::mem::take(&mut begins)));
                }
            }
            for (page, begins) in missing {
                read(page, begins);
                self.put(page);
            }
            pages = rest;
        }
    }

    /// How many of the first pages are asked for together.
    fn together(&self, pages: &[u32]) -> usize {
        let (mut requests, mut len) = (0, 0);
        for (at, &page) in pages.iter().enumerate() {
            if len == 0 || len == self.longest || pages[at - 1] + 1 != page {
                if requests == TOGETHER {
                    return at;
                }
                (requests, len) = (requests + 1, 0);
            }
            len += 1;
        }
        pages.len()
    }

    fn has(&mut self, page: u32) -> bool {
        let frame = self.frames[page as usize];
        if frame != NONE {
            self.chances.touch(frame as usize);
        }
        frame != NONE
    }

    fn put(&mut self, page: u32) {
        if self.chances.is_empty() {
            return;
        }
        let frame = self.chances.place();
        if frame == self.pages.len() {
            self.pages.push(page);
        } else {
            let before = std::mem::replace(&mut self.pages[frame], page);
            self.frames[before as usize] = NONE;
        }
        self.frames[page as usize] = frame as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_that_are_asked_for_together_do_not_find_each_other() {
        let mut clock = Clock::new(10_000, 3, 8192);
        let mut read = |pages: &[u32]| {
            let mut missing = Vec::new();
            clock.want(pages, |page, _| missing.push(page));
            missing
        };
        assert_eq!(read(&[1, 2, 3]), [1, 2, 3]);
        assert_eq!(read(&[2, 3, 4]), [4], "in the place of 1");
        assert_eq!(read(&[1, 2, 3]), [1], "2 and 3 had a second chance");
        // 66 requests: the last one is made when others have been answered.
        let far: Vec<u32> = (0..66).map(|at| 100 + 2 * at).collect();
        assert_eq!(read(&far).len(), 66);
        assert_eq!(read(&far[63..]).len(), 0, "the last three");
        assert_eq!(read(&far[62..]).len(), 1);
        let mut clock = Clock::new(100, 3, 8192);
        clock.want(&[5], |_, _| ());
        let mut requests = Vec::new();
        clock.want(&[4, 5, 6, 8], |page, begins| requests.push((page, begins)));
        assert_eq!(requests, [(4, true), (6, false), (8, true)]);
    }
}
