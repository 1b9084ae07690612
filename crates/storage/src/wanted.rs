//! [`WantedBlocks`]: the blocks of a file that are wanted next, and the requests that fetch them
//! (Graphene, FAST'17, section 3). [`IoScheduling`] says how requests are made of what is wanted:
//!
//! - `bitmap`: blocks are marked in a window of a bitmap. Marking sorts and drops duplicates; near
//!   blocks merge over the whole window.
//! - `list`: ranges of blocks are collected in a long list, which is sorted, freed of duplicates
//!   and merged as a whole. The paper compares the bitmap with it.
//! - `pluglist`: the same in batches of [`PLUG`] ranges, as the block layer of Linux does.

use std::ops::Range;

use crate::pages::{MergePolicy, PageSet};

crate::named! {
    /// How requests are made of the blocks that are wanted (Graphene, FAST'17, section 3).
    #[derive(Default)]
    pub enum IoScheduling: "way to make requests" {
        /// Wanted blocks are marked in a bitmap, which sorts them and drops duplicates, and merged
        /// over the whole of it.
        #[default]
        Bitmap = "bitmap",
        /// Wanted lists are collected, sorted, freed of duplicates and merged, thousands at a time.
        List = "list",
        /// Fixed small batches of lists, sorted and merged within each, as Linux does.
        Pluglist = "pluglist",
    }
}

crate::named! {
    /// Bytes of a block of on-demand reading.
    #[derive(Default)]
    pub enum BlockSize: "size of blocks" {
        /// A sector.
        Sector = "512",
        /// A page.
        #[default]
        Page = "4096",
        /// Two pages.
        TwoPages = "8192",
    }
}

impl BlockSize {
    /// In bytes.
    pub fn bytes(self) -> u64 {
        match self {
            BlockSize::Sector => 512,
            BlockSize::Page => 4096,
            BlockSize::TwoPages => 8192,
        }
    }
}

/// Blocks of the bitmap's window.
const WINDOW: u64 = 1 << 16;
/// Ranges of the long list.
const LIST: usize = 1 << 14;
/// Ranges of a batch: Linux plugs 16 requests.
pub const PLUG: usize = 16;

/// The blocks of a file that are wanted next.
pub struct WantedBlocks {
    how: IoScheduling,
    /// Which blocks are read together.
    pub policy: MergePolicy,
    /// An entry of the file ends with a block at each multiple of so many blocks.
    whole: u64,
    /// The window of the bitmap; empty until something is marked.
    set: PageSet,
    /// The block of the bitmap's first bit.
    base: u64,
    /// One past the last marked bit.
    marked: u64,
    /// Ranges, where there is no bitmap.
    ranges: Vec<Range<u64>>,
}

impl WantedBlocks {
    /// None yet, of a file whose entries have `width` bytes.
    pub fn new(how: IoScheduling, policy: MergePolicy, width: u64) -> Self {
        // Blocks are powers of two.
        let whole = width >> width.trailing_zeros();
        Self { how, policy, whole, set: PageSet::new(0), base: 0, marked: 0, ranges: Vec::new() }
    }

    /// Forgets everything that is wanted.
    pub fn clear(&mut self) {
        self.set.clear();
        self.marked = 0;
        self.ranges.clear();
    }

    /// Whether every range is to be added by itself, as a request of its own to begin with.
    pub fn takes_ranges(&self) -> bool {
        self.how != IoScheduling::Bitmap
    }

    /// Wants a range of blocks. `false`: there is no room before requests are made of what is
    /// there; where nothing is, the range is too long for a window.
    #[inline]
    pub fn add(&mut self, blocks: &Range<u64>) -> bool {
        let most = match self.how {
            IoScheduling::Bitmap => return self.mark(blocks),
            IoScheduling::List => LIST,
            IoScheduling::Pluglist => PLUG,
        };
        let fits = self.ranges.len() < most;
        if fits {
            self.ranges.push(blocks.clone());
        }
        fits
    }

    #[inline]
    fn mark(&mut self, blocks: &Range<u64>) -> bool {
        if self.marked == 0 {
            self.base = blocks.start;
            if self.set.blocks() == 0 {
                self.set = PageSet::new(WINDOW);
            }
        }
        if blocks.start < self.base || blocks.end - self.base > WINDOW {
            return false;
        }
        let (first, end) = (blocks.start - self.base, blocks.end - self.base);
        self.set.mark_range(first, end - 1);
        self.marked = self.marked.max(end);
        true
    }

    /// Puts what is wanted in order, before requests are made of it. A bitmap always is.
    pub fn sort(&mut self) {
        self.ranges.sort_unstable_by_key(|range| range.start);
        self.ranges.dedup_by(|next, last| {
            let touches = next.start <= last.end;
            if touches {
                last.end = last.end.max(next.end);
            }
            touches
        });
    }

    /// The blocks of the next request, from block `from` on. One that is cut ends with an entry, if
    /// it can: else the next one would have to begin with this one's last block.
    pub fn next(&self, from: u64) -> Option<Range<u64>> {
        let Range { start, end } = self.merged(from)?;
        let whole = end / self.whole * self.whole;
        Some(start..if whole > start.midpoint(end) && self.has(end) { whole } else { end })
    }

    /// Blocks that are read together, from block `from` on.
    fn merged(&self, from: u64) -> Option<Range<u64>> {
        if self.takes_ranges() {
            return self.next_of_ranges(from);
        }
        let window = from.saturating_sub(self.base)..self.marked;
        let run = self.set.runs_in(window, &self.policy).next()?;
        Some(self.base + run.first..self.base + run.first + run.count)
    }

    fn next_of_ranges(&self, from: u64) -> Option<Range<u64>> {
        let at = self.ranges.partition_point(|range| range.end <= from);
        let (first, rest) = self.ranges[at..].split_first()?;
        let start = first.start.max(from);
        let limit = start + self.policy.max_run;
        let mut end = first.end.min(limit);
        for range in rest {
            if end == limit || range.start > end + self.policy.max_gap || range.start >= limit {
                break;
            }
            end = range.end.min(limit);
        }
        Some(start..end)
    }

    /// How many blocks of a request nobody wants.
    pub fn unwanted(&self, request: &Range<u64>) -> u64 {
        let wanted = if self.takes_ranges() {
            let at = self.ranges.partition_point(|range| range.end <= request.start);
            let within = self.ranges[at..].iter().take_while(|range| range.start < request.end);
            within.map(|range| range.end.min(request.end) - range.start.max(request.start)).sum()
        } else {
            self.set.count_in(request.start - self.base..request.end - self.base)
        };
        request.end - request.start - wanted
    }

    /// Whether a block is wanted.
    pub fn has(&self, block: u64) -> bool {
        if self.takes_ranges() {
            let at = self.ranges.partition_point(|range| range.end <= block);
            return self.ranges.get(at).is_some_and(|range| range.contains(&block));
        }
        let at = block.checked_sub(self.base);
        at.is_some_and(|at| at < self.marked && self.set.contains(at))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::Named;

    fn requests(wanted: &mut WantedBlocks) -> Vec<Range<u64>> {
        wanted.sort();
        let (mut from, mut found) = (0, Vec::new());
        while let Some(run) = wanted.next(from) {
            from = run.end;
            found.push(run);
        }
        found
    }

    proptest! {
        /// All ways ask for every wanted block exactly once, in ascending order, and hold to the
        /// limits; and all of them make the same requests of what fits one batch.
        #[test]
        fn every_wanted_block_is_in_one_request(
            steps in prop::collection::vec((0u64..40, 1u64..30), 1..PLUG),
            max_gap in 0u64..20, max_run in 2u64..60, base in 0u64..1_000_000, width in 1u64..9,
        ) {
            let mut at = base;
            let ranges: Vec<Range<u64>> = steps
                .into_iter()
                .map(|(gap, len)| {
                    let start = at + gap;
                    at = start + len - 1;
                    start..start + len
                })
                .collect();
            let marked: BTreeSet<u64> = ranges.iter().cloned().flatten().collect();
            let mut all = Vec::new();
            for &how in IoScheduling::ALL {
                let policy = MergePolicy { max_gap, max_run };
                let mut wanted = WantedBlocks::new(how, policy, width);
                let mut add = |range| assert!(wanted.add(range));
                // Ranges may come in any order; the bitmap's window begins with the first one.
                add(&ranges[0]);
                ranges[1..].iter().rev().for_each(add);
                let found = requests(&mut wanted);
                prop_assert!(found.windows(2).all(|pair| pair[0].end <= pair[1].start));
                let fits = |run: &Range<u64>| (1..=max_run).contains(&(run.end - run.start));
                prop_assert!(found.iter().all(fits));
                prop_assert!(found.iter().all(|run| marked.contains(&run.start)));
                let covered: BTreeSet<u64> = found.iter().cloned().flatten().collect();
                prop_assert!(marked.is_subset(&covered));
                // Whatever is read along lies in a gap that may be read along.
                let in_gap = |block: &u64| {
                    let before = marked.range(..block).next_back();
                    before.is_some_and(|before| block - before <= max_gap)
                };
                prop_assert!(covered.difference(&marked).all(in_gap));
                prop_assert!(marked.iter().all(|&block| wanted.has(block)));
                let along: u64 = found.iter().map(|run| wanted.unwanted(run)).sum();
                prop_assert_eq!(along, (covered.len() - marked.len()) as u64);
                all.push(found);
            }
            prop_assert!(all.windows(2).all(|pair| pair[0] == pair[1]));
        }
    }

    #[test]
    fn requests_that_go_on_end_with_an_entry() {
        let policy = MergePolicy { max_gap: 0, max_run: 64 };
        for &how in IoScheduling::ALL {
            for (width, step) in [(1, 64), (3, 63), (4, 64), (5, 60), (6, 63), (7, 63), (8, 64)] {
                let mut wanted = WantedBlocks::new(how, policy, width);
                assert!(wanted.add(&(0..200)));
                let found = requests(&mut wanted);
                assert!(found[..3].iter().all(|run| run.end - run.start == step), "{width}");
                assert!(found.windows(2).all(|pair| pair[0].end == pair[1].start), "{width}");
            }
        }
        // Short requests are not made much shorter.
        let policy = MergePolicy { max_gap: 0, max_run: 2 };
        let mut wanted = WantedBlocks::new(IoScheduling::Bitmap, policy, 3);
        assert!(wanted.add(&(0..8)));
        assert_eq!(requests(&mut wanted), [0..2, 2..4, 4..6, 6..8]);
    }

    #[test]
    fn a_batch_is_as_large_as_its_plug_and_a_window_as_its_bitmap() {
        let policy = MergePolicy { max_gap: 0, max_run: 8 };
        for (how, most) in [(IoScheduling::Pluglist, PLUG), (IoScheduling::List, LIST)] {
            let mut wanted = WantedBlocks::new(how, policy, 3);
            let add = |list: u64| wanted.add(&(list * 10..list * 10 + 1));
            assert_eq!((0..2 * LIST as u64).map(add).take_while(|&fits| fits).count(), most);
        }
        let mut wanted = WantedBlocks::new(IoScheduling::Bitmap, policy, 3);
        assert!(wanted.add(&(7..8)) && wanted.add(&(WINDOW..WINDOW + 7)));
        assert!(!wanted.add(&(WINDOW + 7..WINDOW + 8)), "past the window");
        assert!(!wanted.add(&(6..7)), "before it");
        wanted.clear();
        assert!(!wanted.add(&(0..WINDOW + 1)) && wanted.add(&(5..WINDOW + 5)), "a window at most");
    }
}
