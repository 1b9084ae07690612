//! [`BitmapIo`]: the blocks that lists lie in, of which [`WantedBlocks`] makes requests (Graphene,
//! FAST'17, section 3); by a bitmap, or by what the paper compares with it.
//!
//! Beside the blocks stand the lists that want them, as bits of their groups of 64, so that nothing
//! is kept for each list.

use std::ops::Range;

use crate::WantedBlocks;

/// Groups of lists before requests are made, whatever room the blocks have left.
const GROUPS: usize = 1 << 13;

/// What a worker wants to read next.
pub struct BitmapIo {
    /// The blocks.
    pub wanted: WantedBlocks,
    /// The lists that want blocks: numbers of groups, ascending, and bits.
    pub groups: Vec<(u64, u64)>,
    /// How often blocks were marked.
    pub marks: u64,
    /// Blocks in requests that nobody wants.
    pub along: u64,
    /// Requests that end before a block that is wanted, too.
    pub cut: u64,
}

impl BitmapIo {
    /// Nothing wanted yet.
    pub fn new(wanted: WantedBlocks) -> Self {
        Self { wanted, groups: Vec::new(), marks: 0, along: 0, cut: 0 }
    }

    /// Forgets everything that is wanted.
    pub fn clear(&mut self) {
        self.wanted.clear();
        self.groups.clear();
    }

    /// Wants blocks for lists of a group. `false`: there is no room before requests are made of
    /// what is there.
    #[inline]
    pub fn add(&mut self, (group, bits): (u64, u64), blocks: &Range<u64>) -> bool {
        let last = self.groups.last().map(|last| last.0);
        // Groups ascend, as blocks do: a worker that went on to an earlier share begins anew.
        if last.is_some_and(|last| last > group || (last < group && self.groups.len() >= GROUPS)) {
            return false;
        }
        let fits = self.wanted.add(blocks);
        if fits {
            self.marks += 1;
            match self.groups.last_mut() {
                Some(last) if last.0 == group => last.1 |= bits,
                _ => self.groups.push((group, bits)),
            }
        }
        fits
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{IoScheduling, MergePolicy};

    #[test]
    fn lists_of_a_group_are_wanted_together_and_groups_ascend() {
        let policy = MergePolicy { max_gap: 0, max_run: 8 };
        let mut blocks = BitmapIo::new(WantedBlocks::new(IoScheduling::Bitmap, policy, 3));
        assert!(blocks.add((3, 1), &(7..8)) && blocks.add((3, 2), &(70..71)));
        assert!(blocks.add((4, 8), &(71..72)) && !blocks.add((2, 1), &(80..81)), "an earlier one");
        assert_eq!((&blocks.groups[..], blocks.marks), (&[(3, 3), (4, 8)][..], 3));
        blocks.clear();
        assert!(blocks.add((2, 1), &(1..2)));
    }
}
