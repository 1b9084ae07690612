//! Counts of many items in as few bytes as most of them take: [`CompactCounters`], to which workers
//! add, [`Remaining`], from which they take, and [`CompactNumbers`], which stay as they are.
//!
//! Where large counts are at the front, the front has four bytes for each item and the others have
//! one. Of those, the few that do not fit are kept apart.

use std::{
    collections::HashMap,
    ops::Range,
    sync::{
        Mutex,
        atomic::{AtomicU8, AtomicU32, Ordering::Relaxed},
    },
};

use crate::{
    HugePages, HugeVec,
    error::{Result, StorageError},
    memory::prefetch,
    monitor::{lock, locked},
};

/// How many items have four bytes, and how many one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Widths {
    wide: u64,
    narrow: u64,
}

impl Widths {
    /// Those for counts of nothing.
    pub const NONE: Self = Self { wide: 0, narrow: 0 };

    /// Those of `items` items, the first `wide` of which have four bytes.
    pub fn new(wide: u64, items: u64) -> Self {
        Self { wide, narrow: items - wide }
    }

    /// Bytes of memory.
    pub fn bytes(self) -> u64 {
        self.wide * 4 + self.narrow
    }

    fn zeros(self, huge: HugePages) -> Result<(HugeVec<AtomicU32>, HugeVec<AtomicU8>)> {
        let wide = HugeVec::zeroed(self.wide as usize, huge)?;
        Ok((wide, HugeVec::zeroed(self.narrow as usize, huge)?))
    }
}

/// A count for each item, to which several workers add.
pub struct CompactCounters {
    wide: HugeVec<AtomicU32>,
    narrow: HugeVec<AtomicU8>,
    /// How often each count has run over.
    carries: Mutex<HashMap<u64, u64>>,
}

impl CompactCounters {
    /// Zeros.
    pub fn new(widths: Widths, huge: HugePages) -> Result<Self> {
        let (wide, narrow) = widths.zeros(huge)?;
        Ok(Self { wide, narrow, carries: Mutex::default() })
    }

    /// Adds to the count of `item`.
    #[inline(always)]
    pub fn add(&self, item: u64, count: u64) {
        if count == 0 {
            return;
        }
        let carry = match (item as usize).checked_sub(self.wide.len()) {
            Some(at) => {
                let before = self.narrow[at].fetch_add(count as u8, Relaxed);
                (u64::from(before) + count) >> 8
            }
            None => {
                let before = self.wide[item as usize].fetch_add(count as u32, Relaxed);
                (u64::from(before) + count) >> 32
            }
        };
        if carry > 0 {
            self.carry(item, carry);
        }
    }

    #[cold]
    fn carry(&self, item: u64, times: u64) {
        *lock(&self.carries).entry(item).or_default() += times;
    }

    /// The count of an item, between steps.
    pub fn get(&mut self, item: u64) -> u64 {
        let (count, bits) = match (item as usize).checked_sub(self.wide.len()) {
            Some(at) => (u64::from(*self.narrow[at].get_mut()), 8),
            None => (u64::from(*self.wide[item as usize].get_mut()), 32),
        };
        let carries = locked(&mut self.carries);
        count + (carries.get(&item).copied().unwrap_or(0) << bits)
    }
}

/// Stands for a count that is kept apart.
const LARGE: u8 = u8::MAX;

/// A count for each item, from which several workers take.
pub struct Remaining {
    front: HugeVec<AtomicU32>,
    others: HugeVec<AtomicU8>,
    large: HashMap<u64, AtomicU32>,
}

impl Remaining {
    /// The most that an item behind the front has, as a rule.
    pub const SMALL: u64 = LARGE as u64 - 1;

    /// Counts that begin with these, which are asked for in their order.
    pub fn new<E: From<StorageError>>(
        widths: Widths,
        huge: HugePages,
        mut count: impl FnMut(u64) -> std::result::Result<u64, E>,
    ) -> std::result::Result<Self, E> {
        let (mut front, mut others) = widths.zeros(huge)?;
        let (mut large, wide) = (HashMap::new(), widths.wide);
        for (place, item) in front.iter_mut().zip(0..) {
            *place = AtomicU32::new(count(item)? as u32);
        }
        for (place, item) in others.iter_mut().zip(wide..) {
            let count = count(item)?;
            *place = AtomicU8::new(count.min(LARGE.into()) as u8);
            if count > Self::SMALL {
                large.insert(item, AtomicU32::new(count as u32));
            }
        }
        Ok(Self { front, others, large })
    }

    /// The count of an item.
    #[inline(always)]
    pub fn get(&self, item: u64) -> u32 {
        self.update::<true>(item, |_| None)
    }

    /// Shows the counts of some items, with their places among these.
    #[inline(always)]
    pub fn each(&self, items: Range<u64>, mut show: impl FnMut(usize, u32)) {
        let first = (items.start as usize).checked_sub(self.front.len());
        let Some(first) = first.filter(|_| self.large.is_empty()) else {
            return items.enumerate().for_each(|(at, item)| show(at, self.get(item)));
        };
        let len = (items.end - items.start) as usize;
        for (at, count) in self.others[first..first + len].iter().enumerate() {
            show(at, count.load(Relaxed).into());
        }
    }

    /// Asks the processor to bring the count of an item into its cache.
    #[inline(always)]
    pub fn prefetch(&self, item: u64) {
        match (item as usize).checked_sub(self.front.len()) {
            Some(at) => prefetch(&raw const self.others[at]),
            None => prefetch(&raw const self.front[item as usize]),
        }
    }

    /// Takes one from the count of an item if it is above `floor`; returns what it was. With
    /// `ALONE`, no other worker takes from any: an update that others may see costs as much as many
    /// that they do not.
    #[inline(always)]
    pub fn take<const ALONE: bool>(&self, item: u64, floor: u32) -> u32 {
        self.update::<ALONE>(item, |count| (count > floor).then(|| count - 1))
    }

    #[inline(always)]
    fn update<const ALONE: bool>(&self, item: u64, step: impl Fn(u32) -> Option<u32>) -> u32 {
        let wide = |cell: &AtomicU32| {
            if ALONE {
                let before = cell.load(Relaxed);
                step(before).into_iter().for_each(|after| cell.store(after, Relaxed));
                return before;
            }
            cell.fetch_update(Relaxed, Relaxed, &step).unwrap_or_else(|before| before)
        };
        let Some(at) = (item as usize).checked_sub(self.front.len()) else {
            return wide(&self.front[item as usize]);
        };
        let cell = &self.others[at];
        let step = |count: u8| (count != LARGE).then(|| step(count.into())).flatten();
        let before = if ALONE {
            let before = cell.load(Relaxed);
            step(before).into_iter().for_each(|after| cell.store(after as u8, Relaxed));
            before
        } else {
            cell.fetch_update(Relaxed, Relaxed, |count| Some(step(count)? as u8))
                .unwrap_or_else(|before| before)
        };
        if before == LARGE { wide(&self.large[&item]) } else { before.into() }
    }
}

/// A number for each item. Large ones are at the front where items are ordered by them, so the
/// front is kept in full; those behind it are looked up.
pub struct CompactNumbers {
    /// Those that fit.
    small: HugeVec<u8>,
    /// Those of the first items.
    front: Vec<u32>,
    /// Large ones behind the front, with their items.
    large: Vec<(u64, u32)>,
}

impl CompactNumbers {
    /// The smallest number that is not small.
    pub const LARGE: u32 = LARGE as u32;

    /// Numbers of which these are small, the others [`CompactNumbers::LARGE`] there: those of the
    /// first items, if it is known how many, and all others with their items.
    pub fn new(small: HugeVec<u8>, front: Option<Vec<u32>>, mut large: Vec<(u64, u32)>) -> Self {
        large.sort_unstable();
        if let Some(front) = front {
            return Self { small, front, large };
        }
        let front = &small[..small.len().min(2 * large.len())];
        let mut front: Vec<u32> = front.iter().map(|&number| u32::from(number)).collect();
        let inside = large.partition_point(|&(item, _)| (item as usize) < front.len());
        large.drain(..inside).for_each(|(item, number)| front[item as usize] = number);
        large.shrink_to_fit();
        Self { small, front, large }
    }

    /// The number of an item.
    #[inline(always)]
    pub fn get(&self, item: u64) -> u32 {
        match self.small[item as usize] {
            LARGE => self.large_one(item),
            small => u32::from(small),
        }
    }

    /// The number of an item, if it is large.
    #[inline]
    fn large_one(&self, item: u64) -> u32 {
        let front = self.front.get(item as usize).copied();
        front
            .unwrap_or_else(|| self.large[self.large.partition_point(|&(other, _)| other < item)].1)
    }

    /// The sum of some items' numbers.
    #[inline(always)]
    pub fn sum(&self, items: Range<u64>) -> u64 {
        let small = &self.small[items.start as usize..items.end as usize];
        match small_sum(small) {
            Some(sum) => sum,
            None => items.map(|item| u64::from(self.get(item))).sum(),
        }
    }
}

/// Bytes whose sum, in four lanes, fits these.
const SUMMED: usize = 1 << 10;

/// The sum of some bytes, if they are at most [`SUMMED`] and none of them is [`LARGE`]: eight at a
/// time, every second one in a lane of 16 bits.
#[inline(always)]
fn small_sum(bytes: &[u8]) -> Option<u64> {
    const LANES: u64 = 0x00ff_00ff_00ff_00ff;
    const ONES: u64 = 0x0101_0101_0101_0101;
    let (mut sums, mut large) = (0, 0);
    let mut add = |word: u64| {
        sums += (word & LANES) + ((word >> 8) & LANES);
        // A bit is left of each byte of ones: its complement is below one.
        large |= (!word).wrapping_sub(ONES) & word & (ONES << 7);
    };
    let (words, rest) = bytes.as_chunks();
    words.iter().for_each(|&word| add(u64::from_le_bytes(word)));
    match (bytes.last_chunk(), rest.len()) {
        (_, 0) => {}
        // The last eight, without those that were added.
        (Some(&last), len) => add(u64::from_le_bytes(last) >> (64 - 8 * len)),
        (None, _) => add(rest.iter().rev().fold(0, |word, &byte| (word << 8) | u64::from(byte))),
    }
    let lanes = (sums & 0xffff_0000_ffff) + ((sums >> 16) & 0xffff_0000_ffff);
    (large == 0 && bytes.len() <= SUMMED).then_some((lanes & 0xffff_ffff) + (lanes >> 32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_any_size_come_back() {
        let widths = Widths { wide: 3, narrow: 3 };
        let mut counts = CompactCounters::new(widths, HugePages::Off).unwrap();
        let added = [0, u64::from(u32::MAX), 1 << 40, 255, 256, 12_345_678_901];
        for (item, &count) in (0..).zip(&added) {
            counts.add(item, count / 3);
            counts.add(item, count - count / 3);
            counts.add(item, 7);
        }
        let seen: Vec<u64> = (0..6).map(|item| counts.get(item)).collect();
        assert_eq!(seen, added.map(|count| count + 7));
    }

    #[test]
    fn taking_ends_at_the_floor() {
        let counts = [7, 300, 254, 255, 256, 70_000];
        // Some large counts are where they are few.
        let count = |item| Ok::<_, StorageError>(counts[item as usize]);
        let left = Remaining::new(Widths::new(2, 6), HugePages::Off, count).unwrap();
        for (item, &count) in (0..).zip(&counts) {
            assert_eq!(left.get(item), count as u32);
            let mut seen = Vec::new();
            left.each(item..6, |at, count| seen.push((at, count)));
            assert!(seen.into_iter().eq((item..6).map(|item| left.get(item)).enumerate()));
            for floor in [count as u32 - 2, 5, 3] {
                let take = [Remaining::take::<true>, Remaining::take::<false>];
                for take in take {
                    let before = left.get(item);
                    assert_eq!(take(&left, item, floor), before);
                    assert_eq!(left.get(item), if before > floor { before - 1 } else { before });
                }
            }
            while left.take::<true>(item, 3) > 3 {}
            assert_eq!(left.get(item), 3);
        }
    }

    #[test]
    fn sums_of_small_numbers_are_exact_and_large_ones_are_seen() {
        assert_eq!(small_sum(&[0; SUMMED + 1]), None);
        for len in 0..=SUMMED {
            let bytes: Vec<u8> = (0..len).map(|at| 254 - (at * at % 5) as u8).collect();
            let sum = bytes.iter().map(|&byte| u64::from(byte)).sum();
            assert_eq!(small_sum(&bytes), Some(sum), "{len}");
        }
        for at in 0..20 {
            let mut bytes = [254; 20];
            bytes[at] = LARGE;
            assert_eq!(small_sum(&bytes), None, "{at}");
        }
    }

    #[test]
    fn numbers_that_stay_are_the_same_with_any_front() {
        let numbers = [300u32, 254, 70_000, 255, 3, 256, 0, 9];
        for known in [None, Some(0), Some(4), Some(8)] {
            let mut small: HugeVec<u8> = HugeVec::zeroed(numbers.len(), HugePages::Off).unwrap();
            let mut large = Vec::new();
            for (item, &number) in numbers.iter().enumerate() {
                small[item] = number.min(CompactNumbers::LARGE) as u8;
                if number >= CompactNumbers::LARGE && known.is_none_or(|front| item >= front) {
                    large.insert(0, (item as u64, number));
                }
            }
            let front = known.map(|front| numbers[..front].to_vec());
            let compact = CompactNumbers::new(small, front, large);
            for first in 0..8 {
                assert_eq!(compact.get(first), numbers[first as usize]);
                let sum: u64 = numbers[first as usize..].iter().map(|&n| u64::from(n)).sum();
                assert_eq!(compact.sum(first..8), sum, "{known:?}");
            }
        }
    }
}
