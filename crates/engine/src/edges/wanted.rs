//! [`Wanted`]: the blocks that active vertices want, and the requests that fetch them (Graphene,
//! FAST'17, section 3).
//!
//! - `bitmap`: blocks are marked in a window of a bitmap. Marking sorts and drops duplicates; near
//!   blocks merge over the whole window.
//! - `pluglist`: lists are collected in batches of [`PLUG`], as the block layer of Linux does,
//!   sorted and merged within the batch. What the bitmap replaces, kept to measure it.
//!
//! Beside the blocks stand the vertices that want them, as bits of their groups of 64, so that
//! nothing is kept for each list.

use std::{ops::Range, sync::OnceLock, time::Duration};

use outercore_storage::{MergePolicy, PageSet, memory::thread_time};

use crate::config::IoScheduling;

/// Blocks of the bitmap's window.
const WINDOW: u64 = 1 << 16;

/// Groups of vertices before requests are made, whatever room the window has left.
const GROUPS: usize = 1 << 13;

/// Lists of a batch of the pluglist (Graphene, section 3.1: Linux plugs 16 requests).
pub const PLUG: usize = 16;

/// 64 vertices, and which of them are meant.
pub type Group = (u64, u64);

/// What a worker wants to read next.
pub struct Wanted {
    scheduling: IoScheduling,
    policy: MergePolicy,
    set: PageSet,
    /// The block of the bitmap's first bit.
    base: u64,
    /// One past the last marked bit.
    marked: u64,
    /// The pluglist's ranges of blocks.
    plugged: Vec<Range<u64>>,
    /// Who wants them, ascending.
    groups: Vec<Group>,
}

impl Default for Wanted {
    fn default() -> Self {
        Self {
            scheduling: IoScheduling::Bitmap,
            policy: MergePolicy { max_gap: 0, max_run: 1 },
            set: PageSet::new(WINDOW),
            base: 0,
            marked: 0,
            plugged: Vec::new(),
            groups: Vec::new(),
        }
    }
}

impl Wanted {
    /// Begins anew.
    pub fn reset(&mut self, scheduling: IoScheduling, policy: MergePolicy) {
        self.clear();
        (self.scheduling, self.policy) = (scheduling, policy);
    }

    /// Forgets everything that is wanted.
    pub fn clear(&mut self) {
        if self.marked > 0 {
            self.set.clear();
        }
        self.marked = 0;
        self.plugged.clear();
        self.groups.clear();
    }

    /// Who wants something.
    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// Wants blocks for a vertex. `false`: there is no room before requests are made of what is
    /// there.
    #[inline]
    pub fn add(&mut self, (group, bits): Group, blocks: &Range<u64>) -> bool {
        let last = self.groups.last().map(|last| last.0);
        // Groups ascend, as blocks do: a worker that went on to an earlier share begins anew.
        if last.is_some_and(|last| last > group || (last < group && self.groups.len() >= GROUPS)) {
            return false;
        }
        let fits = match self.scheduling {
            IoScheduling::Bitmap => self.mark(blocks),
            IoScheduling::Pluglist => self.plug(blocks),
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
        }
        if blocks.start < self.base || blocks.end - self.base > WINDOW {
            return false;
        }
        let (first, end) = (blocks.start - self.base, blocks.end - self.base);
        self.set.mark_range(first, end - 1);
        self.marked = self.marked.max(end);
        true
    }

    fn plug(&mut self, blocks: &Range<u64>) -> bool {
        let fits = self.plugged.len() < PLUG;
        if fits {
            self.plugged.push(blocks.clone());
        }
        fits
    }

    /// Whether a range of blocks is too long for an empty window.
    pub fn is_too_long(&self, blocks: &Range<u64>) -> bool {
        self.scheduling == IoScheduling::Bitmap && blocks.end - blocks.start > WINDOW
    }

    /// Sorts what has to be sorted, before [`Wanted::next`].
    pub fn seal(&mut self) {
        self.plugged.sort_unstable_by_key(|range| range.start);
    }

    /// The blocks of the next request, from block `from` on.
    pub fn next(&self, from: u64) -> Option<Range<u64>> {
        match self.scheduling {
            IoScheduling::Bitmap => {
                let run = self
                    .set
                    .runs_in(from.saturating_sub(self.base)..self.marked, &self.policy)
                    .next()?;
                Some(self.base + run.first..self.base + run.first + run.count)
            }
            IoScheduling::Pluglist => {
                let mut rest = self.plugged.iter().skip_while(|range| range.end <= from);
                let first = rest.next()?;
                let start = first.start.max(from);
                let limit = start + self.policy.max_run;
                let mut end = first.end.min(limit);
                for range in rest {
                    if end == limit
                        || range.start > end + self.policy.max_gap
                        || range.start >= limit
                    {
                        break;
                    }
                    end = end.max(range.end).min(limit);
                }
                Some(start..end)
            }
        }
    }

    /// Whether a block is wanted.
    pub fn has(&self, block: u64) -> bool {
        match self.scheduling {
            IoScheduling::Bitmap => {
                block >= self.base
                    && block - self.base < self.marked
                    && self.set.contains(block - self.base)
            }
            IoScheduling::Pluglist => self.plugged.iter().any(|range| range.contains(&block)),
        }
    }
}

/// Measures the thread's processor time while it runs, without what measuring itself costs.
#[derive(Default)]
pub struct Stopwatch {
    since: Option<Duration>,
    /// Nanoseconds so far.
    pub nanos: u64,
}

impl Stopwatch {
    /// Runs from now on.
    pub fn start(&mut self) {
        self.since = Some(thread_time());
    }

    /// Stands still.
    pub fn stop(&mut self) {
        if let Some(since) = self.since.take() {
            self.nanos += (thread_time() - since).saturating_sub(cost()).as_nanos() as u64;
        }
    }
}

/// What asking for the time costs.
fn cost() -> Duration {
    static COST: OnceLock<Duration> = OnceLock::new();
    *COST.get_or_init(|| {
        let between = |_| {
            let begun = thread_time();
            thread_time() - begun
        };
        (0..16).map(between).min().unwrap_or_default()
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn requests(wanted: &Wanted) -> Vec<Range<u64>> {
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
            steps in prop::collection::vec((0u64..40, 1u64..30), 1..PLUG), max_gap in 0u64..20, max_run in 2u64..60, base in 0u64..1_000_000,
        ) {
            let mut at = base;
            let ranges: Vec<Range<u64>> = steps.into_iter().map(|(gap, len)| { at += gap; let start = at; at += len - 1; start..start + len }).collect();
            let marked: std::collections::BTreeSet<u64> = ranges.iter().cloned().flatten().collect();
            for scheduling in [IoScheduling::Bitmap, IoScheduling::Pluglist] {
                let mut wanted = Wanted::default();
                wanted.reset(scheduling, MergePolicy { max_gap, max_run });
                for (index, range) in ranges.iter().enumerate() {
                    prop_assert!(wanted.add((index as u64, 1), range));
                }
                wanted.seal();
                let found = requests(&wanted);
                prop_assert!(found.windows(2).all(|pair| pair[0].end <= pair[1].start));
                prop_assert!(found.iter().all(|run| !run.is_empty() && run.end - run.start <= max_run));
                prop_assert!(found.iter().all(|run| marked.contains(&run.start)));
                let covered: std::collections::BTreeSet<u64> = found.iter().cloned().flatten().collect();
                prop_assert!(marked.is_subset(&covered));
                // Whatever is read along lies in a gap that may be read along.
                prop_assert!(covered.difference(&marked).all(|block| marked.range(..block).next_back().is_some_and(|before| block - before <= max_gap)));
                prop_assert!(marked.iter().all(|&block| wanted.has(block)));
            }
        }
    }

    #[test]
    fn a_batch_is_as_large_as_its_plug_and_a_window_as_its_bitmap() {
        let mut wanted = Wanted::default();
        wanted.reset(IoScheduling::Pluglist, MergePolicy { max_gap: 0, max_run: 8 });
        for list in 0..PLUG as u64 {
            assert!(wanted.add((list, 1), &(list * 10..list * 10 + 1)));
        }
        assert!(!wanted.add((99, 1), &(990..991)));
        wanted.reset(IoScheduling::Bitmap, MergePolicy { max_gap: 0, max_run: 8 });
        assert!(wanted.add((0, 1), &(7..8)) && wanted.add((0, 2), &(WINDOW..WINDOW + 7)));
        assert_eq!(wanted.groups(), [(0, 3)]);
        assert!(!wanted.add((1, 1), &(WINDOW + 7..WINDOW + 8)), "past the window");
        assert!(!wanted.add((1, 1), &(6..7)), "before it");
        assert!(wanted.is_too_long(&(0..WINDOW + 1)) && !wanted.is_too_long(&(5..WINDOW + 5)));
    }
}
