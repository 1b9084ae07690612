//! [`BitmapIo`]: the blocks that active vertices want, and the requests that fetch them (Graphene,
//! FAST'17, section 3).
//!
//! Blocks are marked in a window of a bitmap. Marking sorts and drops duplicates; near blocks merge
//! over the whole window. A [`Pluglist`] may stand in the bitmap's place.
//!
//! Beside the blocks stand the vertices that want them, as bits of their groups of 64, so that
//! nothing is kept for each list.

use std::ops::Range;

use outercore_storage::{MergePolicy, PageSet};

use super::{pluglist::Pluglist, row_index::Group};
use crate::config::IoScheduling;

/// Blocks of the bitmap's window.
const WINDOW: u64 = 1 << 16;

/// Groups of vertices before requests are made, whatever room the window has left.
const GROUPS: usize = 1 << 13;

/// What a worker wants to read next.
pub struct BitmapIo {
    /// Which blocks are read together.
    pub policy: MergePolicy,
    /// What takes the bitmap's place.
    pub pluglist: Option<Pluglist>,
    /// The window; empty until something is marked.
    set: PageSet,
    /// The block of the bitmap's first bit.
    base: u64,
    /// One past the last marked bit.
    marked: u64,
    /// The vertices that want blocks, ascending.
    pub groups: Vec<Group>,
}

impl BitmapIo {
    /// Nothing wanted yet.
    pub(crate) fn new(scheduling: IoScheduling, policy: MergePolicy) -> Self {
        let pluglist = (scheduling == IoScheduling::Pluglist).then(Pluglist::default);
        let (set, groups) = (PageSet::new(0), Vec::new());
        Self { policy, pluglist, set, base: 0, marked: 0, groups }
    }

    /// Forgets everything that is wanted.
    pub(crate) fn clear(&mut self) {
        self.set.clear();
        self.marked = 0;
        self.pluglist.iter_mut().for_each(Pluglist::clear);
        self.groups.clear();
    }

    /// Wants blocks for a vertex. `false`: there is no room before requests are made of what is
    /// there.
    #[inline]
    pub(crate) fn add(&mut self, (group, bits): Group, blocks: &Range<u64>) -> bool {
        let last = self.groups.last().map(|last| last.0);
        // Groups ascend, as blocks do: a worker that went on to an earlier share begins anew.
        if last.is_some_and(|last| last > group || (last < group && self.groups.len() >= GROUPS)) {
            return false;
        }
        let fits = match &mut self.pluglist {
            None => self.mark(blocks),
            Some(pluglist) => pluglist.add(blocks),
        };
        if fits {
            match self.groups.last_mut() {
                Some(last) if last.0 == group => last.1 |= bits,
                _ => self.groups.push((group, bits)),
            }
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

    /// Whether a range of blocks is too long for an empty window.
    pub(crate) fn is_too_long(&self, blocks: &Range<u64>) -> bool {
        self.pluglist.is_none() && blocks.end - blocks.start > WINDOW
    }

    /// The blocks of the next request, from block `from` on.
    pub(crate) fn next(&self, from: u64) -> Option<Range<u64>> {
        if let Some(pluglist) = &self.pluglist {
            return pluglist.next(from, &self.policy);
        }
        let window = from.saturating_sub(self.base)..self.marked;
        let run = self.set.runs_in(window, &self.policy).next()?;
        Some(self.base + run.first..self.base + run.first + run.count)
    }

    /// Whether a block is wanted.
    pub(crate) fn has(&self, block: u64) -> bool {
        match &self.pluglist {
            None => block
                .checked_sub(self.base)
                .is_some_and(|at| at < self.marked && self.set.contains(at)),
            Some(pluglist) => pluglist.has(block),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::edges::pluglist::PLUG;

    fn requests(wanted: &BitmapIo) -> Vec<Range<u64>> {
        let (mut from, mut found) = (0, Vec::new());
        while let Some(run) = wanted.next(from) {
            from = run.end;
            found.push(run);
        }
        found
    }

    proptest! {
        /// Both ways ask for every wanted block exactly once, in ascending order, and hold to the
        /// limits.
        #[test]
        fn every_wanted_block_is_in_one_request(
            steps in prop::collection::vec((0u64..40, 1u64..30), 1..PLUG),
            max_gap in 0u64..20, max_run in 2u64..60, base in 0u64..1_000_000,
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
            for scheduling in [IoScheduling::Bitmap, IoScheduling::Pluglist] {
                let mut wanted = BitmapIo::new(scheduling, MergePolicy { max_gap, max_run });
                for (index, range) in ranges.iter().enumerate() {
                    prop_assert!(wanted.add((index as u64, 1), range));
                }
                let found = requests(&wanted);
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
            }
        }
    }

    #[test]
    fn a_batch_is_as_large_as_its_plug_and_a_window_as_its_bitmap() {
        let policy = MergePolicy { max_gap: 0, max_run: 8 };
        let mut wanted = BitmapIo::new(IoScheduling::Pluglist, policy);
        for list in 0..PLUG as u64 {
            assert!(wanted.add((list, 1), &(list * 10..list * 10 + 1)));
        }
        assert!(!wanted.add((99, 1), &(990..991)));
        let mut wanted = BitmapIo::new(IoScheduling::Bitmap, policy);
        assert!(wanted.add((0, 1), &(7..8)) && wanted.add((0, 2), &(WINDOW..WINDOW + 7)));
        assert_eq!(wanted.groups, [(0, 3)]);
        assert!(!wanted.add((1, 1), &(WINDOW + 7..WINDOW + 8)), "past the window");
        assert!(!wanted.add((1, 1), &(6..7)), "before it");
        assert!(wanted.is_too_long(&(0..WINDOW + 1)) && !wanted.is_too_long(&(5..WINDOW + 5)));
    }
}
