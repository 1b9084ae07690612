//! [`Frontier`]: a set of vertices as a bitmap with relaxed atomic bits; iterated in ascending
//! order, a word at a time.

use std::{
    ops::Range,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

use outercore_storage::{HugePages, HugeVec};

use crate::session::Workers;
use outercore_graph::Result;

/// A set of vertices.
pub struct Frontier {
    words: HugeVec<AtomicU64>,
    len: u64,
}

impl Frontier {
    /// An empty set of vertices below `len`.
    pub fn new(len: u64, huge: HugePages) -> Result<Self> {
        Ok(Self { words: HugeVec::zeroed(len.div_ceil(64).max(1) as usize, huge)?, len })
    }

    /// Bytes for `len` vertices.
    pub fn bytes(len: u64) -> u64 {
        len.div_ceil(64) * 8
    }

    /// Vertices below this may be members.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether there is no member.
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|word| word.load(Relaxed) == 0)
    }

    /// Whether `vertex` is a member.
    #[inline(always)]
    pub fn contains(&self, vertex: u64) -> bool {
        self.words[(vertex / 64) as usize].load(Relaxed) >> (vertex % 64) & 1 == 1
    }

    /// Adds `vertex`; `true` if it is new.
    #[inline(always)]
    pub fn insert(&self, vertex: u64) -> bool {
        let (word, bit) = (&self.words[(vertex / 64) as usize], 1 << (vertex % 64));
        // Most inserts repeat: a plain load spares the exclusive access.
        word.load(Relaxed) & bit == 0 && word.fetch_or(bit, Relaxed) & bit == 0
    }

    /// Removes `vertex`.
    pub fn remove(&self, vertex: u64) {
        self.words[(vertex / 64) as usize].fetch_and(!(1 << (vertex % 64)), Relaxed);
    }

    /// Removes the members of another set of the same length.
    pub(crate) fn remove_all(&mut self, others: &Frontier) {
        for (word, other) in self.words.iter_mut().zip(others.words.iter()) {
            *word.get_mut() &= !other.load(Relaxed);
        }
    }

    /// Removes all.
    pub fn clear(&mut self) {
        self.words.iter_mut().for_each(|word| *word.get_mut() = 0);
    }

    /// Adds all vertices.
    pub fn fill(&mut self) {
        let len = self.len;
        for (index, word) in self.words.iter_mut().enumerate() {
            let left = len.saturating_sub(index as u64 * 64);
            *word.get_mut() = if left >= 64 { u64::MAX } else { (1u64 << left) - 1 };
        }
    }

    /// How many members there are.
    pub fn count(&self) -> u64 {
        self.words.iter().map(|word| u64::from(word.load(Relaxed).count_ones())).sum()
    }

    /// Whether a vertex of `first..=last` is a member.
    pub fn any(&self, first: u64, last: u64) -> bool {
        self.masks(first, last).any(|(index, mask)| self.word(index) & mask != 0)
    }

    /// Whether every vertex of `first..=last` is a member.
    pub(crate) fn all(&self, first: u64, last: u64) -> bool {
        self.masks(first, last).all(|(index, mask)| !self.word(index) & mask == 0)
    }

    /// The words with `first..=last`, and their bits in these.
    pub(crate) fn masks(&self, first: u64, last: u64) -> impl Iterator<Item = (u64, u64)> {
        let last = last.min(self.len - 1);
        let (low, high) = (first / 64, last / 64);
        let (from, to) = (u64::MAX << (first % 64), u64::MAX >> (63 - last % 64));
        (low..=high).map(move |index| {
            (
                index,
                if index == low { from } else { u64::MAX }
                    & if index == high { to } else { u64::MAX },
            )
        })
    }

    /// The 64 members from `index * 64` on, as bits.
    #[inline(always)]
    pub fn word(&self, index: u64) -> u64 {
        self.words[index as usize].load(Relaxed)
    }

    /// Adds members among the 64 from `index * 64` on.
    pub(crate) fn add(&self, index: u64, bits: u64) {
        self.words[index as usize].fetch_or(bits, Relaxed);
    }

    /// Removes members among the 64 from `index * 64` on.
    pub(crate) fn take(&self, index: u64, bits: u64) {
        self.words[index as usize].fetch_and(!bits, Relaxed);
    }

    /// Replaces the members in a range by those for which `is_member` says so; returns how many.
    /// Others may do the same with other ranges at the same time.
    pub fn replace(&self, range: Range<u64>, mut is_member: impl FnMut(u64) -> bool) -> u64 {
        self.replace_words(range, |part| {
            part.enumerate()
                .fold(0, |bits, (bit, vertex)| bits | u64::from(is_member(vertex)) << bit)
        })
    }

    /// Keeps the members for which `keep` says so. All workers look at them.
    pub fn retain(&self, workers: &Workers, keep: impl Fn(u64) -> bool + Sync) {
        workers.each(self.len, 1 << 16, |range| {
            self.replace(range, |vertex| self.contains(vertex) && keep(vertex));
        });
    }

    /// The same as [`Frontier::replace`], up to 64 members at a time: `members` gets some of the
    /// range, and returns a bit for each, the lowest for the first.
    pub(crate) fn replace_words(
        &self,
        range: Range<u64>,
        mut members: impl FnMut(Range<u64>) -> u64,
    ) -> u64 {
        let mut count = 0;
        let mut vertex = range.start;
        while vertex < range.end {
            let end = (vertex / 64 * 64 + 64).min(range.end);
            let mask = u64::MAX >> (64 - (end - vertex)) << (vertex % 64);
            let bits = members(vertex..end) << (vertex % 64);
            debug_assert_eq!(bits & !mask, 0, "members of the range");
            let word = &self.words[(vertex / 64) as usize];
            if mask == u64::MAX {
                word.store(bits, Relaxed);
            } else {
                word.fetch_and(!mask, Relaxed);
                word.fetch_or(bits, Relaxed);
            }
            count += u64::from(bits.count_ones());
            vertex = end;
        }
        count
    }

    /// Moves the members of a range for which `moves` says so to another set, which then has no
    /// others in the range; returns how many.
    pub fn move_to(
        &self,
        other: &Frontier,
        range: Range<u64>,
        mut moves: impl FnMut(u64) -> bool,
    ) -> u64 {
        other.replace_words(range, |part| {
            let (group, shift) = (part.start / 64, part.start % 64);
            let all = u64::MAX >> (64 - (part.end - part.start));
            let some = members(group, self.word(group) & all << shift);
            let moved = some
                .fold(0, |moved, vertex| moved | u64::from(moves(vertex)) << (vertex - part.start));
            if moved != 0 {
                self.take(group, moved << shift);
            }
            moved
        })
    }

    /// The members in a range, ascending.
    pub fn iter(&self, range: Range<u64>) -> impl Iterator<Item = u64> + '_ {
        let end = range.end.min(self.len);
        let words = (range.start < end).then(|| self.masks(range.start, end - 1));
        words
            .into_iter()
            .flatten()
            .flat_map(|(index, mask)| members(index, self.word(index) & mask))
    }
}

/// The vertices of a group of 64 that these bits stand for, ascending.
#[inline(always)]
pub(crate) fn members(group: u64, mut bits: u64) -> impl Iterator<Item = u64> {
    std::iter::from_fn(move || {
        (bits != 0).then(|| {
            let bit = u64::from(bits.trailing_zeros());
            bits &= bits - 1;
            group * 64 + bit
        })
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn is_a_set(
            members in prop::collection::btree_set(0u64..500, 0..60),
            from in 0u64..500,
            len in 0u64..500,
        ) {
            let frontier = Frontier::new(500, HugePages::Auto).unwrap();
            for &member in &members {
                prop_assert!(frontier.insert(member));
                prop_assert!(!frontier.insert(member));
            }
            let range = from..(from + len).min(500);
            let inside = members.iter().copied().filter(|member| range.contains(member));
            let expected: BTreeSet<u64> = inside.collect();
            prop_assert_eq!(frontier.iter(range).collect::<BTreeSet<_>>(), expected);
            prop_assert_eq!(frontier.count(), members.len() as u64);
            let last = (from + len).min(499);
            let any = members.iter().any(|&member| (from..=last).contains(&member));
            prop_assert_eq!(frontier.any(from, last), any);
            let all = (from..=last).all(|vertex| members.contains(&vertex));
            prop_assert_eq!(frontier.all(from, last), all);
            (from..=last).for_each(|vertex| _ = frontier.insert(vertex));
            prop_assert!(frontier.all(from, last));
        }
    }

    #[test]
    fn a_range_is_replaced_and_nothing_else() {
        let mut frontier = Frontier::new(300, HugePages::Off).unwrap();
        frontier.fill();
        assert_eq!(frontier.replace(70..203, |vertex| vertex % 3 == 0), 44);
        assert!(
            (0..300).all(|vertex| frontier.contains(vertex)
                == (!(70..203).contains(&vertex) || vertex % 3 == 0))
        );
    }

    #[test]
    fn members_of_a_range_move_and_no_others() {
        let (from, to) = (frontier_of(0..300), frontier_of(150..160));
        assert_eq!(from.move_to(&to, 70..203, |vertex| vertex % 3 == 0), 44);
        for vertex in 0..300 {
            let moved = (70..203).contains(&vertex) && vertex % 3 == 0;
            assert_eq!((from.contains(vertex), to.contains(vertex)), (!moved, moved), "{vertex}");
        }
    }

    fn frontier_of(members: Range<u64>) -> Frontier {
        let frontier = Frontier::new(300, HugePages::Off).unwrap();
        members.for_each(|member| _ = frontier.insert(member));
        frontier
    }

    #[test]
    fn fills_to_its_length_and_no_further() {
        let mut frontier = Frontier::new(70, HugePages::Auto).unwrap();
        frontier.fill();
        assert_eq!(frontier.count(), 70);
        frontier.clear();
        assert!(frontier.is_empty());
    }
}
