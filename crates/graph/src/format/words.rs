//! [`WordCode`]: how many bits the edges of a tile take, and what they mean.

/// What the words of a tile are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WordKind {
    /// Up to version 3: the low bits of a word are a destination, or how far a skip goes; the
    /// others advance the source.
    Deltas,
    /// The *place* of an edge is its source, shifted by the low bits, and its destination below: a
    /// word advances it.
    Gaps,
}

/// The words of a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WordCode {
    /// Bits of a word: one of [`WordCode::LENGTHS`].
    pub bits: u32,
    /// Bits of a destination within the interval.
    pub low_bits: u32,
    /// What they mean.
    pub kind: WordKind,
}

impl WordCode {
    /// The words of version 1, and of tiles that name no code.
    pub const FIRST: Self = Self { bits: 24, low_bits: 17, kind: WordKind::Deltas };
    /// Bits that words may have: few lengths, so that each can have a loop of its own to be decoded
    /// in.
    pub const LENGTHS: [u32; 5] = [8, 12, 16, 20, 24];
    /// How many words, the highest, are skips in a tile of gaps.
    const SKIPS: u32 = 8;
    /// What a skip costs beside its word, in bits: a mispredicted branch takes as long as
    /// reading so many bits.
    const SKIP_BITS: u64 = 48;

    /// Of deltas, the one that means: advance the source by the low bits, no edge.
    pub const fn skip(self) -> u32 {
        (1 << (self.bits - self.low_bits)) - 1
    }

    /// Of gaps, the lowest word that is a skip: no edge.
    pub const fn first_skip(bits: u32) -> u32 {
        (1 << bits) - Self::SKIPS
    }

    /// By how much a skip of a tile of gaps advances the place: a power of two, half of what a word
    /// can be and up to 2^7 times as much.
    pub const fn skipped(bits: u32, word: u32) -> u64 {
        1 << (bits - 1 + (word - Self::first_skip(bits)))
    }

    /// The longest skip over a gap that no word can be.
    pub fn skip_over(self, gap: u64) -> u32 {
        let step = (63 - gap.leading_zeros()) - (self.bits - 1);
        Self::first_skip(self.bits) + step.min(Self::SKIPS - 1)
    }

    /// Bytes of so many words.
    pub const fn bytes(self, words: u64) -> u64 {
        (words * self.bits as u64).div_ceil(8)
    }

    /// Words in so many bytes; the bits that are left over are fewer than a word's.
    pub const fn words(self, bytes: u64) -> u64 {
        bytes * 8 / self.bits as u64
    }

    /// Source and destination of a place.
    pub const fn ends(self, place: u64) -> [u64; 2] {
        [place >> self.low_bits, place & ((1 << self.low_bits) - 1)]
    }

    /// Whether it is one that there may be.
    pub fn is_sound(self) -> bool {
        let sound = Self::LENGTHS.contains(&self.bits) && self.low_bits <= super::STRIPE_BITS;
        sound && (self.kind == WordKind::Gaps || (self.low_bits >= 8 && self.low_bits < self.bits))
    }

    /// Bits of a destination within an interval of `width` vertices.
    pub const fn low_bits_of(width: u64) -> u32 {
        64 - width.saturating_sub(1).leading_zeros()
    }

    /// The best code for an interval of `width` vertices. `lengths` counts the edges by the length
    /// of their gap in bits.
    pub fn best(width: u64, lengths: &[u64; 64]) -> Self {
        let edges: u64 = lengths.iter().sum();
        let cost = |code: &Self| {
            // The highest bits of a longer gap are skipped, one by one where they are ones; those
            // beyond the longest skip, by that one.
            let skips = lengths.iter().zip(0u32..).map(|(count, length)| {
                match length.checked_sub(code.bits + 1) {
                    Some(beyond) => {
                        count * (2 + u64::from(beyond)) / 2
                            + count * (1u64 << beyond.saturating_sub(Self::SKIPS - 2) >> 1)
                    }
                    None => 0,
                }
            });
            let skips: u64 = skips.sum();
            (edges + skips) * u64::from(code.bits) + skips * Self::SKIP_BITS
        };
        let low_bits = Self::low_bits_of(width);
        let codes = Self::LENGTHS.map(|bits| Self { bits, low_bits, kind: WordKind::Gaps });
        codes.into_iter().min_by_key(cost).expect("there are several")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dense_tiles_have_short_words() {
        let all = |length: usize| {
            let mut lengths = [0; 64];
            lengths[length] = 1 << 20;
            lengths
        };
        let bits = |lengths| WordCode::best(1 << 11, &lengths).bits;
        assert_eq!(
            [0, 8, 9, 12, 13, 16, 17, 20, 21, 24, 25, 39].map(|length| bits(all(length))),
            [8, 8, 12, 12, 16, 16, 20, 20, 24, 24, 24, 24]
        );
        // One edge in a thousand goes far: it skips. One in ten does not.
        for (share, expected) in [(1 << 10, 8), (1 << 17, 16)] {
            let mut rare = all(7);
            rare[14] = share;
            assert_eq!(bits(rare), expected);
        }
        for (width, low_bits) in [(1, 0), (2, 1), (3, 2), (65_536, 16), (1 << 17, 17)] {
            let code = WordCode::best(width, &all(9));
            assert!(code.is_sound() && code.low_bits == low_bits, "{width}: {code:?}");
        }
    }

    #[test]
    fn skips_reach_any_place() {
        for bits in WordCode::LENGTHS {
            let code = WordCode { bits, low_bits: 8, kind: WordKind::Gaps };
            let first = WordCode::first_skip(bits);
            for gap in [u64::from(first), 1 << bits, (1 << bits) + 1, 0x1234_5678, (1 << 39) - 1]
                .into_iter()
                .filter(|&gap| gap >= first.into())
            {
                let (mut left, mut skips) = (gap, 0u64);
                while left >= first.into() {
                    let word = code.skip_over(left);
                    assert!((first..1 << bits).contains(&word));
                    left -= WordCode::skipped(bits, word);
                    skips += 1;
                }
                assert!(
                    skips <= 8 + (gap >> (bits + 6)),
                    "{skips} skips over {gap} in words of {bits} bits"
                );
            }
        }
    }

    #[test]
    fn codes_that_there_may_be() {
        let sound = |bits, low_bits, kind| WordCode { bits, low_bits, kind }.is_sound();
        let deltas = |bits, low_bits| sound(bits, low_bits, WordKind::Deltas);
        assert!(
            WordCode::FIRST.is_sound()
                && deltas(12, 11)
                && sound(8, 17, WordKind::Gaps)
                && sound(24, 0, WordKind::Gaps)
        );
        assert!(
            !deltas(12, 12)
                && !deltas(12, 7)
                && !deltas(24, 18)
                && !deltas(18, 16)
                && !deltas(28, 16)
                && !deltas(8, 8)
        );
        assert!(!sound(8, 18, WordKind::Gaps) && !sound(28, 8, WordKind::Gaps));
    }

    #[test]
    fn bytes_and_words_are_each_others_inverse() {
        for bits in WordCode::LENGTHS {
            let code = WordCode { bits, low_bits: 8, kind: WordKind::Gaps };
            (0..100).for_each(|words| {
                assert_eq!(code.words(code.bytes(words)), words, "{words} words of {bits} bits")
            });
        }
    }
}
