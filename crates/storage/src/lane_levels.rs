//! [`LaneLevels`]: for each number its level in each of a few lanes, which several workers change;
//! and a set of the numbers whose levels are due soon: where there are many levels, none of them
//! looks at all numbers.

use std::ops::Range;

use crate::{
    AtomicItem, HugePages, HugeVec, LaneValues,
    bitmap::{Bitmap, members},
    error::Result,
    memory,
    workers::Workers,
};

/// Numbers that a worker looks through at a time.
const PART: u64 = 1 << 14;
/// The levels of so many numbers of a group are looked at one by one.
const FEW: u32 = 16;

/// The levels of numbers in `L` lanes share a word of type `W`, the first in its lowest bits. A
/// level of 0 is none; all ones: the lane is idle.
pub struct LaneLevels<W: AtomicItem, const L: usize> {
    words: HugeVec<W::Cell>,
    near: Bitmap,
}

impl<W: AtomicItem, const L: usize> LaneLevels<W, L> {
    /// Bits of a level.
    const BITS: u32 = (8 * size_of::<W>() / L) as u32;
    /// The bits of a lane.
    const LANE: u64 = (1 << Self::BITS) - 1;
    /// The deepest level that a lane holds.
    pub const DEEPEST: u64 = Self::LANE - 1;
    /// The lanes that a word of 64 bits has beside those of `W`.
    const BEYOND: u64 = if size_of::<W>() == 8 { 0 } else { !0 << (8 * size_of::<W>()) };

    /// No levels of the numbers below `len`, none of which is near.
    pub fn new(len: u64, huge: HugePages) -> Result<Self> {
        let near = Bitmap::new(len, huge)?;
        Ok(Self { words: HugeVec::zeroed(len as usize, huge)?, near })
    }

    /// The levels of a number.
    #[inline(always)]
    pub fn get(&self, number: u64) -> u64 {
        W::load(self.cell(number)).into() | Self::BEYOND
    }

    #[inline(always)]
    fn cell(&self, number: u64) -> &W::Cell {
        &self.words[number as usize]
    }

    /// Asks for the levels of a number, which are wanted soon.
    #[inline(always)]
    pub fn prefetch(&self, number: u64) {
        memory::prefetch(self.cell(number));
    }

    /// Sets them.
    #[inline(always)]
    pub fn set(&self, number: u64, levels: u64) {
        W::store(self.cell(number), W::of_bits(levels));
    }

    /// Sets them and brings the number near; no other worker does so at the same time.
    #[inline(always)]
    fn bring(&self, number: u64, levels: u64) {
        self.set(number, levels);
        self.near.insert_alone(number);
    }

    /// The level of a lane.
    #[inline(always)]
    pub fn level(levels: u64, lane: usize) -> u64 {
        levels >> (Self::BITS * lane as u32) & Self::LANE
    }

    /// One level in its lane.
    #[inline(always)]
    pub fn at(level: u64, lane: usize) -> u64 {
        level << (Self::BITS * lane as u32)
    }

    /// Not zero if one of the lanes is at `level`.
    #[inline(always)]
    fn matches(levels: u64, level: u64) -> u64 {
        const ONES: u64 = 0x0101_0101_0101_0101;
        if L == 1 {
            return (Self::level(levels, 0) == level).into();
        }
        // Whether a byte of the difference is zero.
        let other = levels ^ (ONES * level);
        other.wrapping_sub(ONES) & !other & (ONES << 7)
    }

    /// Whether one of the lanes is at `level`.
    #[inline(always)]
    fn has(levels: u64, level: u64) -> bool {
        Self::matches(levels, level) != 0
    }

    /// Adds to `sums` the values of a number in the lanes in which it is at `level`.
    #[inline(always)]
    pub fn add_up(&self, number: u64, level: u64, values: &LaneValues<L>, sums: &mut [f64; L]) {
        let levels = self.get(number);
        if Self::has(levels, level) {
            values.add(number, sums, |lane| Self::level(levels, lane) == level);
        }
    }

    /// Puts a number that has no level in a lane on this one, and near; no other worker does so at
    /// the same time. Returns whether it did; `None`: it has another level there.
    #[inline(always)]
    pub fn reach(&self, number: u64, lane: usize, level: u64) -> Option<bool> {
        let levels = self.get(number);
        match Self::level(levels, lane) {
            0 => {
                self.bring(number, levels | Self::at(level, lane));
                Some(true)
            }
            other => (other == level).then_some(false),
        }
    }

    /// Of these numbers of a group of 64, those with a lane at `level` that is not `idle`.
    #[inline(always)]
    fn some(&self, group: u64, some: u64, level: u64, idle: u64) -> u64 {
        if some.count_ones() < FEW {
            let has = |number| Self::has(self.get(number) | idle, level);
            let bit = |number| u64::from(has(number)) << (number % 64);
            return members(group, some).fold(0, |bits, number| bits | bit(number));
        }
        let first = group as usize * 64;
        let words = &self.words[first..(first + 64).min(self.words.len())];
        let matches = |word| Self::matches(W::load(word).into() | Self::BEYOND | idle, level);
        // Where there are many levels, most groups have none of one: that is told faster.
        if words.iter().fold(0, |any, word| any | matches(word)) == 0 {
            return 0;
        }
        words.iter().rev().fold(0, |bits, word| bits << 1 | u64::from(matches(word) != 0)) & some
    }

    /// The lanes that are at `level`.
    #[inline(always)]
    pub fn lanes(&self, levels: u64, level: u64) -> impl Iterator<Item = usize> + use<W, L> {
        (0..L).filter(move |&lane| Self::level(levels, lane) == level)
    }

    /// Levels with which all lanes but one are idle.
    pub fn others(&self, lane: usize) -> u64 {
        !Self::at(Self::LANE, lane)
    }

    /// The numbers of a group of 64 that have a lane at `level`, as bits.
    pub fn all(&self, group: u64, level: u64) -> u64 {
        self.some(group, !0, level, 0)
    }

    /// Those of them that are near.
    #[inline]
    pub fn near(&self, group: u64, level: u64) -> u64 {
        match self.near.word(group) {
            0 => 0,
            near => self.some(group, near, level, 0),
        }
    }

    /// The same of lanes that are not `idle`; of the group, those that have one of these at the
    /// next level stay near. One worker asks.
    #[inline]
    pub fn pass(&self, group: u64, level: u64, idle: u64) -> u64 {
        match self.near.word(group) {
            0 => 0,
            near => {
                self.near.take(group, near & !self.some(group, near, level + 1, idle));
                self.some(group, near, level, idle)
            }
        }
    }

    /// Has no level of any number but 1 of these, each in a lane of its own: they are near.
    pub fn begin(&mut self, workers: &Workers, numbers: &[u64]) {
        let idle = (numbers.len()..L).fold(0, |levels, lane| levels | Self::at(Self::LANE, lane));
        workers.each(self.near.len(), PART, |range| {
            range.for_each(|number| self.set(number, idle));
        });
        self.near.clear();
        for (lane, &number) in numbers.iter().enumerate() {
            self.bring(number, self.get(number) | Self::at(1, lane));
        }
    }

    /// One number is near, and no others.
    pub fn bring_alone(&mut self, number: u64) {
        self.near.clear();
        self.near.insert_alone(number);
    }

    /// Adds so much to all levels of each lane, which stay within [`DEEPEST`](Self::DEEPEST).
    pub fn deepen(&self, workers: &Workers, by: [u64; L]) {
        if by == [0; L] {
            return;
        }
        workers.each(self.near.len(), PART, |range| {
            for number in range {
                let levels = self.get(number);
                let has = |&lane: &usize| (1..Self::LANE).contains(&Self::level(levels, lane));
                let more = (0..L).filter(has).map(|lane| Self::at(by[lane], lane));
                self.set(number, levels + more.sum::<u64>());
            }
        });
    }

    /// A number gets level 1 in a lane in which it has one.
    pub fn top(&self, number: u64, lane: usize) {
        self.set(number, self.get(number) & self.others(lane) | Self::at(1, lane));
    }

    /// Brings near the numbers that have a lane at one of these levels, and no others.
    pub fn gather(&self, workers: &Workers, levels: Range<u64>) {
        let is_in = |number| {
            let of = self.get(number);
            (0..L).any(|lane| levels.contains(&Self::level(of, lane)))
        };
        workers.each(self.near.len(), PART, |range| {
            if levels.end - levels.start == 1 {
                self.near.replace_words(range, |part| self.all(part.start / 64, levels.start));
            } else {
                self.near.replace(range, is_in);
            }
        });
    }

    /// Brings all numbers near.
    pub fn bring_all(&mut self) {
        self.near.fill();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEN: u64 = 6400;

    /// The level of a number in a lane, of so many levels; the last of several lanes is idle.
    fn level<const L: usize>(number: u64, lane: usize, count: u64) -> Option<u64> {
        (L == 1 || lane < L - 1).then(|| 1 + number.abs_diff(777 * lane as u64) % count)
    }

    fn check<W: AtomicItem, const L: usize>(count: u64) {
        let workers = Workers::new(2).unwrap();
        let mut levels = LaneLevels::<W, L>::new(LEN, HugePages::Off).unwrap();
        let sources = (0..L).filter(|&lane| level::<L>(0, lane, count).is_some());
        let sources: Vec<u64> = sources.map(|lane| 777 * lane as u64).collect();
        levels.begin(&workers, &sources);
        for (lane, &source) in sources.iter().enumerate() {
            assert_eq!(LaneLevels::<W, L>::level(levels.get(source), lane), 1);
            assert_ne!(levels.near(source / 64, 1) >> (source % 64) & 1, 0);
        }
        for number in 0..LEN {
            let idle = LaneLevels::<W, L>::LANE;
            let of = |lane| level::<L>(number, lane, count).unwrap_or(idle);
            let all = (0..L).map(|lane| LaneLevels::<W, L>::at(of(lane), lane));
            levels.set(number, all.fold(0, |all, one| all | one));
            let all = levels.get(number);
            assert!((0..L).all(|lane| LaneLevels::<W, L>::level(all, lane) == of(lane)));
        }
        found(&mut levels, &workers, count);
    }

    fn found<W: AtomicItem, const L: usize>(
        levels: &mut LaneLevels<W, L>,
        workers: &Workers,
        count: u64,
    ) {
        let expected = |group: u64, at: u64| {
            let has = |number| (0..L).any(|lane| level::<L>(number, lane, count) == Some(at));
            (0..64).fold(0, |bits, bit| bits | u64::from(has(group * 64 + bit)) << bit)
        };
        let all = |test: &dyn Fn(u64) -> bool| assert!((0..LEN / 64).all(test));
        for at in [1, 2, count / 2, count] {
            all(&|group| levels.all(group, at) == expected(group, at));
        }
        levels.gather(workers, 2..3);
        all(&|group| levels.near(group, 2) == expected(group, 2));
        all(&|group| levels.near(group, count) & !expected(group, 2) == 0);
        levels.gather(workers, 2..7);
        for at in 2..7 {
            all(&|group| levels.near(group, at) == expected(group, at));
        }
        let number = 777.min(LEN - 1);
        levels.bring_alone(number);
        all(&|group| (levels.near.word(group) != 0) == (group == number / 64));
        levels.gather(workers, 2..7);
        // What is passed is no longer near, but for what the next level has.
        all(&|group| levels.pass(group, 3, 0) == expected(group, 3));
        all(&|group| levels.near(group, 4) == expected(group, 4));
        all(&|group| levels.near(group, 6) & !expected(group, 4) == 0);
        levels.bring_all();
        all(&|group| levels.near(group, count) == expected(group, count));
    }

    #[test]
    fn lanes_are_deepened_on_their_own() {
        type Lanes = LaneLevels<u32, 4>;
        let workers = Workers::new(2).unwrap();
        let mut levels = Lanes::new(LEN, HugePages::Off).unwrap();
        levels.begin(&workers, &[5, 6, 5]);
        levels.set(9, levels.get(9) | Lanes::at(3, 1) | Lanes::at(1, 2));
        levels.deepen(&workers, [2, 0, 7, 1]);
        let of = |number| (0..4).map(|lane| Lanes::level(levels.get(number), lane)).collect();
        let all: [Vec<u64>; 4] = [5, 6, 9, 10].map(of);
        assert_eq!(all, [[3, 0, 8, 255], [0, 1, 0, 255], [0, 3, 8, 255], [0, 0, 0, 255]]);
        assert_eq!(levels.lanes(levels.get(9), 8).collect::<Vec<_>>(), [2]);
        levels.top(5, 2);
        let reached =
            [(5, 0, 3), (5, 0, 4), (5, 1, 4)].map(|(at, lane, to)| levels.reach(at, lane, to));
        assert_eq!(reached, [Some(false), None, Some(true)]);
        let of = |number| (0..4).map(|lane| Lanes::level(levels.get(number), lane)).collect();
        let all: Vec<u64> = of(5);
        assert_eq!(all, [3, 4, 1, 255]);
    }

    #[test]
    fn levels_of_every_width_are_found() {
        check::<u8, 1>(250);
        check::<u32, 1>(3000);
        check::<u16, 2>(250);
        check::<u32, 4>(40);
        check::<u64, 8>(9);
    }
}
