//! [`Bitmap`]: a set of numbers, with relaxed atomic bits; iterated in ascending order, a word at a
//! time.

use std::{
    ops::Range,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

use crate::{
    arena::{HugePages, HugeVec},
    error::Result,
    workers::Workers,
};

/// Numbers that are passed over at once where there are no members.
const STRIDE: u64 = 512;

/// A set of numbers below a length. What is short is inlined into the crates that use it: their
/// loops ask for one number after the other.
pub struct Bitmap {
    words: HugeVec<AtomicU64>,
    len: u64,
}

impl Bitmap {
    /// An empty set of numbers below `len`.
    pub fn new(len: u64, huge: HugePages) -> Result<Self> {
        Ok(Self { words: HugeVec::zeroed(len.div_ceil(64).max(1) as usize, huge)?, len })
    }

    /// Bytes for numbers below `len`.
    pub fn bytes(len: u64) -> u64 {
        len.div_ceil(64) * 8
    }

    /// Numbers below this may be members.
    #[inline]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether there is no member.
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|word| word.load(Relaxed) == 0)
    }

    /// Whether `number` is a member.
    #[inline(always)]
    pub fn contains(&self, number: u64) -> bool {
        self.words[(number / 64) as usize].load(Relaxed) >> (number % 64) & 1 == 1
    }

    /// Adds `number`; `true` if it is new.
    #[inline(always)]
    pub fn insert(&self, number: u64) -> bool {
        let (word, bit) = (&self.words[(number / 64) as usize], 1 << (number % 64));
        // Most inserts repeat: a plain load spares the exclusive access.
        word.load(Relaxed) & bit == 0 && word.fetch_or(bit, Relaxed) & bit == 0
    }

    /// Adds `number`, while no other thread changes the set.
    #[inline(always)]
    pub fn insert_alone(&self, number: u64) {
        let word = &self.words[(number / 64) as usize];
        word.store(word.load(Relaxed) | 1 << (number % 64), Relaxed);
    }

    /// Removes `number`.
    #[inline]
    pub fn remove(&self, number: u64) {
        self.words[(number / 64) as usize].fetch_and(!(1 << (number % 64)), Relaxed);
    }

    /// Removes `number`, while no other thread changes the set.
    #[inline(always)]
    pub fn remove_alone(&self, number: u64) {
        let word = &self.words[(number / 64) as usize];
        word.store(word.load(Relaxed) & !(1 << (number % 64)), Relaxed);
    }

    /// Removes the members of another set of the same length, while no other thread changes this
    /// one.
    pub fn remove_all(&self, others: &Bitmap) {
        for (word, other) in self.words.iter().zip(others.words.iter()) {
            word.store(word.load(Relaxed) & !other.load(Relaxed), Relaxed);
        }
    }

    /// Removes all.
    pub fn clear(&mut self) {
        self.words.iter_mut().for_each(|word| *word.get_mut() = 0);
    }

    /// Adds all numbers below the length.
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

    /// Whether a number of `first..=last` is a member.
    #[inline]
    pub fn any(&self, first: u64, last: u64) -> bool {
        self.masks(first, last).any(|(index, mask)| self.word(index) & mask != 0)
    }

    /// Whether every number of `first..=last` is a member.
    #[inline]
    pub fn all(&self, first: u64, last: u64) -> bool {
        self.masks(first, last).all(|(index, mask)| !self.word(index) & mask == 0)
    }

    /// How many of `first..=last` are members.
    #[inline]
    pub fn count_within(&self, first: u64, last: u64) -> u64 {
        let words = self.masks(first, last).map(|(index, mask)| self.word(index) & mask);
        words.map(|word| u64::from(word.count_ones())).sum()
    }

    /// The words with `first..=last`, and their bits in these.
    #[inline]
    pub fn masks(&self, first: u64, last: u64) -> impl Iterator<Item = (u64, u64)> {
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

    /// All words from `index` on, each of 64 members.
    #[inline]
    pub fn words(&self, index: u64) -> &[AtomicU64] {
        &self.words[index as usize..]
    }

    /// The 64 members from `index * 64` on, as bits.
    #[inline(always)]
    pub fn word(&self, index: u64) -> u64 {
        self.words[index as usize].load(Relaxed)
    }

    /// Adds members among the 64 from `index * 64` on.
    #[inline]
    pub fn add(&self, index: u64, bits: u64) {
        self.words[index as usize].fetch_or(bits, Relaxed);
    }

    /// Removes members among the 64 from `index * 64` on.
    #[inline]
    pub fn take(&self, index: u64, bits: u64) {
        self.words[index as usize].fetch_and(!bits, Relaxed);
    }

    /// Replaces the members in a range by those for which `is_member` says so; returns how many.
    /// Others may do the same with other ranges at the same time.
    pub fn replace(&self, range: Range<u64>, mut is_member: impl FnMut(u64) -> bool) -> u64 {
        self.replace_words(range, |part| {
            part.enumerate()
                .fold(0, |bits, (bit, number)| bits | u64::from(is_member(number)) << bit)
        })
    }

    /// Keeps the members for which `keep` says so. All workers look at them.
    pub fn retain(&self, workers: &Workers, keep: impl Fn(u64) -> bool + Sync) {
        workers.each(self.len, 1 << 16, |range| {
            self.replace(range, |number| self.contains(number) && keep(number));
        });
    }

    /// The same as [`Bitmap::replace`], up to 64 members at a time: `members` gets some of the
    /// range, and returns a bit for each, the lowest for the first.
    pub fn replace_words(
        &self,
        range: Range<u64>,
        mut members: impl FnMut(Range<u64>) -> u64,
    ) -> u64 {
        let mut count = 0;
        let mut number = range.start;
        while number < range.end {
            let end = (number / 64 * 64 + 64).min(range.end);
            let mask = u64::MAX >> (64 - (end - number)) << (number % 64);
            let bits = members(number..end) << (number % 64);
            debug_assert_eq!(bits & !mask, 0, "members of the range");
            let word = &self.words[(number / 64) as usize];
            if mask == u64::MAX {
                // A line that stays clean is no other processor's business.
                if bits != 0 || word.load(Relaxed) != 0 {
                    word.store(bits, Relaxed);
                }
            } else {
                word.fetch_and(!mask, Relaxed);
                word.fetch_or(bits, Relaxed);
            }
            count += u64::from(bits.count_ones());
            number = end;
        }
        count
    }

    /// Moves the members of a range for which `moves` says so to another set, which then has no
    /// others in the range; returns how many.
    pub fn move_to(
        &self,
        other: &Bitmap,
        range: Range<u64>,
        mut moves: impl FnMut(u64) -> bool,
    ) -> u64 {
        let (mut count, mut at) = (0, range.start);
        while at < range.end {
            let end = (at / STRIDE * STRIDE + STRIDE).min(range.end);
            // Most of a large set is empty, as a rule.
            let mut words = at / 64..end.div_ceil(64);
            if words.any(|word| self.word(word) | other.word(word) != 0) {
                count += self.move_some(other, at..end, &mut moves);
            }
            at = end;
        }
        count
    }

    fn move_some(
        &self,
        other: &Bitmap,
        range: Range<u64>,
        mut moves: impl FnMut(u64) -> bool,
    ) -> u64 {
        other.replace_words(range, |part| {
            let (group, shift) = (part.start / 64, part.start % 64);
            let all = u64::MAX >> (64 - (part.end - part.start));
            let some = members(group, self.word(group) & all << shift);
            let moved = some
                .fold(0, |moved, number| moved | u64::from(moves(number)) << (number - part.start));
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

/// The numbers of a group of 64 that these bits stand for, ascending.
#[inline(always)]
pub fn members(group: u64, mut bits: u64) -> impl Iterator<Item = u64> {
    std::iter::from_fn(move || {
        (bits != 0).then(|| {
            let bit = u64::from(bits.trailing_zeros());
            bits &= bits - 1;
            group * 64 + bit
        })
    })
}

/// The bits that stand for some numbers of a group of 64.
#[inline(always)]
pub fn bits_of(numbers: impl Iterator<Item = u64>) -> u64 {
    numbers.fold(0, |bits, number| bits | 1 << (number % 64))
}

/// Which numbers of a group of 64 lie in a range, some of whose numbers it has, as bits.
#[inline(always)]
pub fn bits_within(group: u64, range: &Range<u64>) -> u64 {
    let first = group * 64;
    let before = range.start.saturating_sub(first).min(63);
    let after = (first + 64).saturating_sub(range.end).min(63);
    (u64::MAX << before) & (u64::MAX >> after)
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
            let bitmap = Bitmap::new(500, HugePages::Auto).unwrap();
            for &member in &members {
                prop_assert!(bitmap.insert(member));
                prop_assert!(!bitmap.insert(member));
            }
            let range = from..(from + len).min(500);
            let inside = members.iter().copied().filter(|member| range.contains(member));
            let expected: BTreeSet<u64> = inside.collect();
            prop_assert_eq!(bitmap.iter(range.clone()).collect::<BTreeSet<_>>(), expected);
            for group in (range.start / 64..range.end.div_ceil(64)).filter(|_| !range.is_empty()) {
                prop_assert_eq!(bits_of(super::members(group, 0b1011)), 0b1011);
                let within = super::members(group, bits_within(group, &range));
                let all = (group * 64..group * 64 + 64).filter(|number| range.contains(number));
                prop_assert_eq!(within.collect::<Vec<_>>(), all.collect::<Vec<_>>());
            }
            prop_assert_eq!(bitmap.count(), members.len() as u64);
            let last = (from + len).min(499);
            let any = members.iter().any(|&member| (from..=last).contains(&member));
            prop_assert_eq!(bitmap.any(from, last), any);
            let all = (from..=last).all(|number| members.contains(&number));
            prop_assert_eq!(bitmap.all(from, last), all);
            (from..=last).for_each(|number| _ = bitmap.insert(number));
            prop_assert!(bitmap.all(from, last));
        }
    }

    #[test]
    fn a_range_is_replaced_and_nothing_else() {
        let mut bitmap = Bitmap::new(300, HugePages::Off).unwrap();
        bitmap.fill();
        assert_eq!(bitmap.replace(70..203, |number| number % 3 == 0), 44);
        assert!(
            (0..300).all(|number| bitmap.contains(number)
                == (!(70..203).contains(&number) || number % 3 == 0))
        );
    }

    #[test]
    fn members_of_a_range_move_and_no_others() {
        for (first, to) in [(70, 203), (70, 1203), (500, 3000), (1024, 1024 + 512)] {
            // Nothing in some strides, in one set or in both.
            let here = |number: u64| !(900..=2100).contains(&number);
            let (from, other) = (bitmap_of((0..3000).filter(|&n| here(n))), bitmap_of(1500..1600));
            let moves = |number: u64| number.is_multiple_of(3) && (first..to).contains(&number);
            let wanted = (0..3000).filter(|&number| moves(number) && here(number)).count();
            assert_eq!(from.move_to(&other, first..to, moves), wanted as u64);
            for number in 0..3000 {
                let was = (1500..1600).contains(&number) && !(first..to).contains(&number);
                let moved = here(number) && moves(number);
                assert_eq!(from.contains(number), here(number) && !moved, "{number}");
                assert_eq!(other.contains(number), moved || was, "{number}");
            }
        }
    }

    fn bitmap_of(members: impl IntoIterator<Item = u64>) -> Bitmap {
        let bitmap = Bitmap::new(3000, HugePages::Off).unwrap();
        members.into_iter().for_each(|member| _ = bitmap.insert(member));
        bitmap
    }

    #[test]
    fn one_thread_alone_changes_single_members() {
        let bitmap = bitmap_of([3, 64, 65]);
        bitmap.insert_alone(5);
        bitmap.insert_alone(64);
        bitmap.remove_alone(65);
        bitmap.remove_alone(66);
        assert!(bitmap.iter(0..3000).eq([3, 5, 64]));
    }

    #[test]
    fn fills_to_its_length_and_no_further() {
        let mut bitmap = Bitmap::new(70, HugePages::Auto).unwrap();
        bitmap.fill();
        assert_eq!(bitmap.count(), 70);
        bitmap.clear();
        assert!(bitmap.is_empty());
    }
}
