//! [`EdgeBlock`]: the edges of a chunk, decoded from its words.

use super::{WordCode, WordKind};

/// How far ahead of the edge at hand signals are brought near, in bytes: far enough for main
/// memory, within the next page.
const AHEAD: usize = 2048;

/// Edges from one segment of sources into one interval of targets: those of a chunk.
pub struct EdgeBlock<'a> {
    /// The first source of the segment.
    pub segment: u64,
    /// The first vertex of the interval.
    pub interval: u64,
    /// The source, within the segment, to which the first delta or gap is added.
    source: u64,
    /// The destination to which the first gap is added, within the interval.
    target: u64,
    /// The last source that there may be, within the segment.
    last: u64,
    code: WordCode,
    bytes: &'a [u8],
}

impl<'a> EdgeBlock<'a> {
    /// The block with these words. Its segment and its interval begin at the first two vertices;
    /// its sources are in `sources`, within the segment.
    #[inline]
    pub fn new(
        (segment, interval): (u64, u64),
        sources: (u64, u64),
        code: WordCode,
        bytes: &'a [u8],
    ) -> Self {
        Self { segment, interval, source: sources.0, target: 0, last: sources.1, code, bytes }
    }

    /// The same, but the first gap is added to a destination that is not the interval's first.
    #[inline]
    #[must_use]
    pub fn from_target(self, target: u64) -> Self {
        Self { target, ..self }
    }

    /// Its edges in parts of so many words, which end with whole bytes: each is a block that
    /// begins where the one before has ended. `show` gets the part, and returns that end.
    #[inline(always)]
    pub(super) fn parts(&self, words: u64, mut show: impl FnMut(&EdgeBlock) -> u64) {
        let Self { segment, interval, last, code, .. } = *self;
        let mut place = (self.source << code.low_bits) | self.target;
        for bytes in self.bytes.chunks(code.bytes(words) as usize) {
            let [source, target] = code.ends(place);
            let part = Self { segment, interval, source, target, last, code, bytes };
            place = show(&part);
        }
    }

    /// The first source that there may be, within the segment.
    #[inline]
    pub fn first(&self) -> usize {
        self.source as usize
    }

    /// The vertices among which its sources are.
    #[inline]
    pub fn sources(&self) -> (u64, u64) {
        (self.segment + self.source, self.segment + self.last)
    }

    /// Words, skips included: about the edges.
    #[inline]
    pub fn words(&self) -> u64 {
        self.code.words(self.bytes.len() as u64)
    }

    /// Destinations are below this.
    #[inline]
    pub fn targets(&self) -> usize {
        1 << self.code.low_bits
    }

    /// Hands every edge to `visit`: source and destination.
    #[inline(always)]
    pub fn edges(&self, mut visit: impl FnMut(u64, u64)) {
        let (segment, interval) = (self.segment, self.interval);
        self.for_each(|source, target| visit(segment + source as u64, interval + target as u64));
    }

    /// Hands every edge to `visit`: the source within the segment, and the destination within the
    /// interval. Returns the place at which the words end.
    #[inline(always)]
    pub fn for_each(&self, visit: impl FnMut(usize, usize)) -> u64 {
        self.decode_from(self.first(), usize::MAX, |_| {}, visit)
    }

    /// The same with sources counted from [`first`](Self::first): all that `visit` gets are below
    /// `len`, or this panics, and all destinations below [`targets`](Self::targets). `near` gets
    /// some places where sources will be soon; `stride` is the bytes between what is looked up for
    /// neighboring sources.
    #[inline(always)]
    pub fn for_each_near(
        &self,
        len: usize,
        stride: usize,
        mut near: impl FnMut(usize),
        visit: impl FnMut(usize, usize),
    ) {
        let far = AHEAD / stride;
        self.decode_from(0, len, |source| near(source + far), visit);
    }

    #[inline(always)]
    fn decode_from(
        &self,
        first: usize,
        len: usize,
        near: impl FnMut(usize),
        visit: impl FnMut(usize, usize),
    ) -> u64 {
        // A loop of its own for each length of a word, in which offsets and shifts are constants.
        match (self.code.kind, self.code.bits) {
            (WordKind::Gaps, 8) => self.decode_gaps::<8>(first, len, near, visit),
            (WordKind::Gaps, 12) => self.decode_gaps::<12>(first, len, near, visit),
            (WordKind::Gaps, 16) => self.decode_gaps::<16>(first, len, near, visit),
            (WordKind::Gaps, 20) => self.decode_gaps::<20>(first, len, near, visit),
            (WordKind::Gaps, _) => self.decode_gaps::<24>(first, len, near, visit),
            (WordKind::Deltas, 12) => self.decode_deltas::<12>(first, len, near, visit),
            (WordKind::Deltas, 16) => self.decode_deltas::<16>(first, len, near, visit),
            (WordKind::Deltas, 20) => self.decode_deltas::<20>(first, len, near, visit),
            (WordKind::Deltas, _) => self.decode_deltas::<24>(first, len, near, visit),
        }
    }

    /// Four words at a time: places ascend, so that one comparison tells whether all four sources
    /// are in bounds, and one place brought near is enough for them.
    #[inline(always)]
    fn decode_gaps<const BITS: usize>(
        &self,
        first: usize,
        len: usize,
        mut near: impl FnMut(usize),
        mut visit: impl FnMut(usize, usize),
    ) -> u64 {
        let (low_bits, first_skip) = (self.code.low_bits, WordCode::first_skip(BITS as u32));
        let low_mask = (1u64 << low_bits) - 1;
        let edge = |place: u64| ((place >> low_bits) as usize, (place & low_mask) as usize);
        let (mut place, mut rest) = (((first as u64) << low_bits) | self.target, self.bytes);
        while rest.len() >= BITS / 2 + 4 {
            let four = four_words::<BITS>(&rest[..BITS / 2 + 4]);
            if four.iter().fold(false, |any, &word| any | (word >= first_skip)) {
                for word in four {
                    advance::<BITS>(&mut place, (low_bits, len), word, &mut visit);
                }
            } else {
                let one = place + u64::from(four[0]);
                let two = one + u64::from(four[1]);
                let three = two + u64::from(four[2]);
                place = three + u64::from(four[3]);
                assert!(edge(place).0 < len, "no such source");
                visit(edge(one).0, edge(one).1);
                visit(edge(two).0, edge(two).1);
                visit(edge(three).0, edge(three).1);
                visit(edge(place).0, edge(place).1);
            }
            near(edge(place).0);
            rest = &rest[BITS / 2..];
        }
        let mut last = [0; 32];
        last[..rest.len()].copy_from_slice(rest);
        (0..rest.len() * 8 / BITS).for_each(|at| {
            advance::<BITS>(&mut place, (low_bits, len), word::<BITS>(&last, at), &mut visit)
        });
        place
    }

    /// The same of graphs up to version 3.
    #[inline(always)]
    fn decode_deltas<const BITS: usize>(
        &self,
        first: usize,
        len: usize,
        mut near: impl FnMut(usize),
        mut visit: impl FnMut(usize, usize),
    ) -> u64 {
        let (low_bits, low_mask, skip) =
            (self.code.low_bits, (1 << self.code.low_bits) - 1, self.code.skip());
        let (mut source, mut rest) = (first, self.bytes);
        while rest.len() >= BITS / 2 + 4 {
            let four = four_words::<BITS>(&rest[..BITS / 2 + 4]);
            let (delta, low) =
                (|at| four[at] >> low_bits, |at: usize| (four[at] & low_mask) as usize);
            if four.iter().fold(false, |any, &word| any | (word >> low_bits == skip)) {
                for at in 0..4 {
                    step(&mut source, len, (delta(at), low(at)), skip, &mut visit);
                }
            } else {
                let one = source + delta(0) as usize;
                let two = one + delta(1) as usize;
                let three = two + delta(2) as usize;
                source = three + delta(3) as usize;
                assert!(source < len, "no such source");
                visit(one, low(0));
                visit(two, low(1));
                visit(three, low(2));
                visit(source, low(3));
            }
            near(source);
            rest = &rest[BITS / 2..];
        }
        let mut last = [0; 32];
        last[..rest.len()].copy_from_slice(rest);
        for at in 0..rest.len() * 8 / BITS {
            let word = word::<BITS>(&last, at);
            step(
                &mut source,
                len,
                (word >> low_bits, (word & low_mask) as usize),
                skip,
                &mut visit,
            );
        }
        (source as u64) << low_bits
    }
}

/// The first four words. Written out, as all that is done with four words: without the compiler's
/// best effort, adapters of arrays are calls.
#[inline(always)]
fn four_words<const BITS: usize>(bytes: &[u8]) -> [u32; 4] {
    [word::<BITS>(bytes, 0), word::<BITS>(bytes, 1), word::<BITS>(bytes, 2), word::<BITS>(bytes, 3)]
}

/// The word at place `at`.
#[inline(always)]
fn word<const BITS: usize>(bytes: &[u8], at: usize) -> u32 {
    let (byte, bit) = (at * BITS / 8, at * BITS % 8);
    u32::from_le_bytes(bytes[byte..byte + 4].try_into().expect("four bytes")) >> bit
        & ((1 << BITS) - 1)
}

/// A gap that may be a skip.
#[inline(always)]
fn advance<const BITS: usize>(
    place: &mut u64,
    (low_bits, len): (u32, usize),
    word: u32,
    visit: &mut impl FnMut(usize, usize),
) {
    if word >= WordCode::first_skip(BITS as u32) {
        *place += WordCode::skipped(BITS as u32, word);
    } else {
        *place += u64::from(word);
        let source = (*place >> low_bits) as usize;
        assert!(source < len, "no such source");
        visit(source, (*place & ((1 << low_bits) - 1)) as usize);
    }
}

/// A delta that may be a skip.
#[inline(always)]
fn step(
    source: &mut usize,
    len: usize,
    (delta, low): (u32, usize),
    skip: u32,
    visit: &mut impl FnMut(usize, usize),
) {
    if delta == skip {
        *source += low;
    } else {
        *source += delta as usize;
        assert!(*source < len, "no such source");
        visit(*source, low);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The words of a code, packed.
    fn pack(code: WordCode, words: &[u32]) -> Vec<u8> {
        let bits: Vec<u32> =
            words.iter().flat_map(|&word| (0..code.bits).map(move |bit| word >> bit & 1)).collect();
        bits.chunks(8)
            .map(|byte| byte.iter().rev().fold(0, |byte, &bit| (byte << 1) | bit as u8))
            .collect()
    }

    /// Some words of a code and their edges, the first of which are added to source 5; skips at
    /// every place of a group of four, and several in a row.
    fn example(code: WordCode, count: u32) -> (Vec<u32>, Vec<(usize, usize)>) {
        let WordCode { bits, low_bits, kind } = code;
        let (mut words, mut edges, mut source, mut place) =
            (Vec::new(), Vec::new(), 5, 5 << low_bits);
        for at in 0..count {
            let skips = at * at % 7 == 2;
            if kind == WordKind::Deltas {
                let (delta, low) =
                    (if skips { code.skip() } else { at % 3 }, at * 37 % (1 << low_bits));
                words.push(delta << low_bits | low);
                source += if skips { low } else { delta } as usize;
                edges.extend((!skips).then_some((source, low as usize)));
            } else {
                let first_skip = (1 << bits) - 8;
                words.push(if skips { first_skip + at % 2 } else { at * 37 % first_skip });
                place +=
                    if skips { 1 << (bits - 1 + at % 2) } else { u64::from(at * 37 % first_skip) };
                edges.extend((!skips).then_some((
                    (place >> low_bits) as usize,
                    (place & ((1 << low_bits) - 1)) as usize,
                )));
            }
        }
        (words, edges)
    }

    #[test]
    fn every_word_is_an_edge_or_a_skip() {
        let deltas = [(12, 8), (16, 11), (20, 16), (24, 17)].map(|(bits, low_bits)| WordCode {
            bits,
            low_bits,
            kind: WordKind::Deltas,
        });
        let gaps = [(8, 3), (8, 10), (12, 0), (16, 11), (20, 16), (24, 17)]
            .map(|(bits, low_bits)| WordCode { bits, low_bits, kind: WordKind::Gaps });
        for code in deltas.into_iter().chain(gaps) {
            for count in [0, 1, 3, 4, 5, 8, 11, 64, 67] {
                let (words, edges) = example(code, count);
                let bytes = pack(code, &words);
                let block = EdgeBlock::new((1 << 22, 0), (5, 4000), code, &bytes);
                let mut seen = Vec::new();
                block.for_each(|source, target| seen.push((source, target)));
                assert_eq!(seen, edges, "{code:?}, {count} words");
                let (mut near, mut counted) = (0, Vec::new());
                let len = edges.last().map_or(1, |&(source, _)| source - 4);
                block.for_each_near(
                    len,
                    8,
                    |_| near += 1,
                    |source, target| counted.push((source + 5, target)),
                );
                assert_eq!(
                    (counted, near > 0),
                    (edges, count * code.bits >= code.bits * 4 + 32),
                    "{code:?}, {count} words"
                );
                assert_eq!(
                    (block.words(), block.targets()),
                    (u64::from(count), 1 << code.low_bits)
                );
            }
        }
    }

    #[test]
    fn no_source_is_shown_beyond_those_that_there_are() {
        let (deltas, gaps) = (WordKind::Deltas, WordKind::Gaps);
        // The last one of each group is the highest; then one that is left over, and one behind a
        // skip.
        for (kind, words) in [
            (deltas, &[1 << 8, 1 << 8, 1 << 8, 7 << 8, 0, 0][..]),
            (deltas, &[10 << 8]),
            (deltas, &[0, 255 << 8 | 10, 0, 0, 0, 0]),
            (gaps, &[1 << 8, 1 << 8, 1 << 8, 7 << 8, 255, 0]),
            (gaps, &[10 << 8 | 255]),
            (gaps, &[0, (1 << 16) - 8, 0, 0, 0, 0]),
        ] {
            let code = WordCode {
                bits: 16,
                low_bits: if words[1..].contains(&((1 << 16) - 8)) { 12 } else { 8 },
                kind,
            };
            let last = if code.low_bits == 12 { 8 } else { 10 };
            let bytes = pack(code, words);
            let block = EdgeBlock::new((0, 0), (0, 100), code, &bytes);
            let shown = std::panic::catch_unwind(|| {
                block.for_each_near(last, 8, |_| {}, |source, _| assert!(source < last, "shown"))
            });
            let cause = shown.expect_err("there is no such source");
            assert_eq!(cause.downcast_ref::<&str>(), Some(&"no such source"));
            block.for_each_near(last + 1, 8, |_| {}, |source, _| assert!(source <= last));
        }
    }
}
