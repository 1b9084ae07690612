//! [`Trees`]: sets of numbers that pairs of them join: union-find that threads work on together.
//!
//! Every number has a parent that is smaller, or is the root of its tree. A link hangs the larger
//! of two roots under the smaller one by compare-and-swap (Shiloach and Vishkin's hooking, as in
//! GAPBS), so a set ends up named by its smallest number.
//!
//! Parents are of a window of the numbers. What lies below it is its own parent, and stays so.
//! [`Joined`] knows which links would join nothing.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crate::Workers;

/// Numbers of a part in parallel steps.
const PART: u64 = 1 << 16;
/// Numbers of which [`Joined`] knows something together.
const BLOCK: u64 = 1 << 12;
/// Numbers that are looked at to find the largest tree.
const SAMPLE: u64 = 1 << 10;

/// The trees of a window of numbers; with `WHOLE`, it has all of them.
#[derive(Clone, Copy)]
pub struct Trees<'w, const WHOLE: bool> {
    first: u32,
    parents: &'w [AtomicU32],
}

impl<'w, const WHOLE: bool> Trees<'w, WHOLE> {
    /// Every number from `first` on a tree of its own.
    pub fn alone(workers: &Workers, first: u64, parents: &'w [AtomicU32]) -> Self {
        let trees = Self { first: first as u32, parents };
        trees.each(workers, |number| trees.cell(number).store(number, Relaxed));
        trees
    }

    /// Hangs every number of the window where its tree does, on all workers.
    pub fn flatten(&self, workers: &Workers) {
        self.each(workers, |number| _ = self.root(number));
    }

    fn each(&self, workers: &Workers, visit: impl Fn(u32) + Sync) {
        workers.each(self.parents.len() as u64, PART, |range| {
            range.for_each(|at| visit(self.first + at as u32));
        });
    }

    #[inline(always)]
    fn cell(&self, number: u32) -> &AtomicU32 {
        &self.parents[if WHOLE { number } else { number - self.first } as usize]
    }

    /// The parent of a number; a root is its own, and so is what lies below the window.
    #[inline(always)]
    fn parent(&self, number: u32) -> u32 {
        if !WHOLE && number < self.first { number } else { self.cell(number).load(Relaxed) }
    }

    /// Joins the trees of `a` and `b`; `Some`: both hang from below the window, from these two
    /// numbers, the larger one first.
    #[inline(always)]
    pub fn link(&self, a: u32, b: u32) -> Option<(u32, u32)> {
        let (mut a, mut b) = (self.parent(a), self.parent(b));
        while a != b {
            let (high, low) = if a > b { (a, b) } else { (b, a) };
            if !WHOLE && high < self.first {
                return Some((high, low));
            }
            let parent = self.parent(high);
            if parent == low
                || (parent == high
                    && self.cell(high).compare_exchange(high, low, Relaxed, Relaxed).is_ok())
            {
                return None;
            }
            a = self.parent(self.parent(high));
            b = self.parent(low);
            if !WHOLE {
                // The path is halved: windows are scanned again and again.
                self.cell(high).store(a, Relaxed);
            }
        }
        None
    }

    /// The root of a number's tree, or the number below the window from which the tree hangs. The
    /// number is hung there.
    #[inline(always)]
    pub fn root(&self, number: u32) -> u32 {
        let first = self.parent(number);
        let mut root = first;
        loop {
            let parent = self.parent(root);
            if parent == root {
                break;
            }
            root = parent;
        }
        if root != first {
            self.cell(number).store(root, Relaxed);
        }
        root
    }
}

impl Trees<'_, true> {
    /// A number of the largest tree, as far as a sample tells which that is.
    pub fn of_the_largest(&self) -> u32 {
        let len = self.parents.len() as u64;
        let count = SAMPLE.min(len);
        let mut sample: Vec<u32> =
            (0..count).map(|at| self.root((at * len / count) as u32)).collect();
        sample.sort_unstable();
        sample.chunk_by(|a, b| a == b).max_by_key(|group| group.len()).map_or(0, |group| group[0])
    }
}

/// Which neighboring numbers are in one tree: links between them would join nothing. Trees only
/// grow, so what is known stays true.
pub struct Joined<'w> {
    trees: Trees<'w, true>,
    /// Of each block: how many of its numbers, from the first on, are in one tree.
    known: Vec<AtomicU32>,
}

impl<'w> Joined<'w> {
    /// Nothing is known. Memory: a thousandth of that of the trees.
    pub fn new(trees: Trees<'w, true>) -> Self {
        let blocks = trees.parents.len().div_ceil(BLOCK as usize);
        Self { trees, known: (0..blocks).map(|_| AtomicU32::new(1)).collect() }
    }

    /// Whether one tree has all numbers of both ranges (first and last of each). It may have them
    /// when `false` says that this is not known.
    pub fn has(&self, ranges: [(u64, u64); 2]) -> bool {
        let root = self.trees.root(ranges[0].0 as u32);
        // Where the largest trees are first, the last numbers join them last.
        let blocks = ranges.map(|(first, last)| (first / BLOCK..=last / BLOCK).rev());
        blocks.into_iter().flatten().all(|block| self.has_block(block, root))
    }

    fn has_block(&self, block: u64, root: u32) -> bool {
        let first = block * BLOCK;
        let len = BLOCK.min(self.trees.parents.len() as u64 - first) as u32;
        let (first, known) = (first as u32, &self.known[block as usize]);
        if self.trees.root(first) != root {
            return false;
        }
        let before = known.load(Relaxed);
        let now = (before..len).find(|at| self.trees.root(first + at) != root).unwrap_or(len);
        if now > before {
            known.store(now, Relaxed);
        }
        now == len
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEN: u32 = 500;

    /// Pairs that join about half of the numbers to others.
    fn pairs() -> Vec<(u32, u32)> {
        let mut state = 7u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) as u32 % LEN
        };
        (0..LEN / 2).map(|_| (next(), next())).collect()
    }

    /// The smallest number of each one's set: labels spread until nothing changes.
    fn labels(pairs: &[(u32, u32)]) -> Vec<u32> {
        let mut labels: Vec<u32> = (0..LEN).collect();
        loop {
            let before = labels.clone();
            for &(a, b) in pairs {
                let least = labels[a as usize].min(labels[b as usize]);
                (labels[a as usize], labels[b as usize]) = (least, least);
            }
            if before == labels {
                return labels;
            }
        }
    }

    fn cells(len: u32) -> Vec<AtomicU32> {
        (0..len).map(|_| AtomicU32::new(u32::MAX)).collect()
    }

    #[test]
    fn threads_name_sets_by_their_smallest_numbers() {
        let (workers, pairs, cells) = (Workers::new(3).unwrap(), pairs(), cells(LEN));
        let trees = Trees::<true>::alone(&workers, 0, &cells);
        workers.each(pairs.len() as u64, 5, |range| {
            for &(a, b) in &pairs[range.start as usize..range.end as usize] {
                assert_eq!(trees.link(a, b), None);
            }
        });
        trees.flatten(&workers);
        let found: Vec<u32> = cells.into_iter().map(AtomicU32::into_inner).collect();
        let expected = labels(&pairs);
        assert!(expected.iter().zip(0..).any(|(&label, number)| label != number));
        assert_eq!(found, expected);
    }

    #[test]
    fn ranges_that_one_tree_has_are_known() {
        let (workers, len) = (Workers::new(1).unwrap(), 3 * BLOCK as u32 + 10);
        let cells = cells(len);
        let trees = Trees::<true>::alone(&workers, 0, &cells);
        let joined = Joined::new(trees);
        let (all, first, last) = ((0, u64::from(len) - 1), (5, 5), (3 * BLOCK, 3 * BLOCK + 9));
        assert!(!joined.has([first, first]), "its block has others");
        (0..2 * BLOCK as u32 - 1).for_each(|number| _ = trees.link(number, number + 1));
        assert!(joined.has([first, (0, 2 * BLOCK - 1)]) && !joined.has([first, (0, 2 * BLOCK)]));
        (3 * BLOCK as u32..len - 1).for_each(|number| _ = trees.link(number, number + 1));
        assert!(joined.has([last, last]) && !joined.has([first, last]), "two trees");
        trees.link(len - 1, 7);
        assert!(joined.has([first, last]) && joined.has([last, first]) && !joined.has([all, all]));
        (2 * BLOCK as u32..3 * BLOCK as u32).for_each(|number| _ = trees.link(number, 9));
        assert!(joined.has([all, all]));
    }

    #[test]
    fn the_largest_tree_is_found() {
        let (workers, cells) = (Workers::new(1).unwrap(), cells(LEN));
        let trees = Trees::<true>::alone(&workers, 0, &cells);
        (300..LEN).for_each(|number| _ = trees.link(number, 290));
        (0..90).for_each(|number| _ = trees.link(number, number + 1));
        assert_eq!(trees.root(trees.of_the_largest()), 290);
    }

    #[test]
    fn what_hangs_from_below_a_window_is_left_to_the_one_below() {
        let (workers, pairs) = (Workers::new(2).unwrap(), pairs());
        let (low, high) = (cells(LEN / 2), cells(LEN / 2));
        let upper = Trees::<false>::alone(&workers, u64::from(LEN / 2), &high);
        let of = |upper: bool| pairs.iter().filter(move |(a, b)| (*a.max(b) >= LEN / 2) == upper);
        let mut left: Vec<_> = of(true).filter_map(|&(a, b)| upper.link(a, b)).collect();
        upper.flatten(&workers);
        assert!(left.iter().all(|&(high, low)| high < LEN / 2 && low < high) && !left.is_empty());
        left.extend(of(false));
        let lower = Trees::<true>::alone(&workers, 0, &low);
        left.iter().for_each(|&(a, b)| assert_eq!(lower.link(a, b), None));
        lower.flatten(&workers);
        let root = |number: u32| if number < LEN / 2 { lower.root(number) } else { number };
        let found: Vec<u32> = (0..LEN)
            .map(|number| root(if number < LEN / 2 { number } else { upper.root(number) }))
            .collect();
        assert_eq!(found, labels(&pairs));
    }
}
