//! [`Pluglist`]: lists are collected in batches of [`PLUG`], as the block layer of Linux does,
//! sorted and merged within the batch (Graphene, FAST'17, section 3.1). What bitmap I/O replaces,
//! kept to measure it.

use std::ops::Range;

use outercore_storage::MergePolicy;

/// Lists of a batch: Linux plugs 16 requests.
pub const PLUG: usize = 16;

/// Ranges of blocks, one for each list.
#[derive(Default)]
pub struct Pluglist(Vec<Range<u64>>);

impl Pluglist {
    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// Adds the blocks of a list, in their order. `false`: there is no room.
    pub(crate) fn add(&mut self, blocks: &Range<u64>) -> bool {
        let fits = self.0.len() < PLUG;
        if fits {
            let at = self.0.partition_point(|other| other.start <= blocks.start);
            self.0.insert(at, blocks.clone());
        }
        fits
    }

    /// The blocks of the next request, from block `from` on.
    pub(crate) fn next(&self, from: u64, policy: &MergePolicy) -> Option<Range<u64>> {
        let mut rest = self.0.iter().skip_while(|range| range.end <= from);
        let first = rest.next()?;
        let start = first.start.max(from);
        let limit = start + policy.max_run;
        let mut end = first.end.min(limit);
        for range in rest {
            if end == limit || range.start > end + policy.max_gap || range.start >= limit {
                break;
            }
            end = end.max(range.end).min(limit);
        }
        Some(start..end)
    }

    /// Whether a block is wanted.
    pub(crate) fn has(&self, block: u64) -> bool {
        self.0.iter().any(|range| range.contains(&block))
    }
}
