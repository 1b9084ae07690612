//! [`WordCode`]: how many bits the edges of a tile take, and what they mean.

/// The words of a tile: each has `bits` bits, of which the low ones are a destination within the stripe, or how far a skip goes, and the others advance the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WordCode {
    /// Bits of a word: one of [`WordCode::LENGTHS`].
    pub bits: u32,
    /// Of these, bits of the destination.
    pub low_bits: u32,
}

impl WordCode {
    /// The words of version 1, and of tiles that name no code.
    pub const FIRST: Self = Self { bits: 24, low_bits: 17 };
    /// Bits that words may have: few lengths, so that each can have a loop of its own to be decoded in.
    pub const LENGTHS: [u32; 4] = [12, 16, 20, 24];
    /// Most bits of a word.
    pub const MOST_BITS: u32 = 24;
    /// Fewest bits of a destination: skips go far enough even where a stripe is a single vertex.
    const FEWEST_LOW_BITS: u32 = 8;
    /// What a skip costs beside its word, in bits: a branch that nobody foresees takes a processor as long as the device takes for so many.
    const SKIP_BITS: u64 = 48;

    /// The source delta that means: advance the source by the low bits, no edge.
    pub const fn skip(self) -> u32 {
        (1 << (self.bits - self.low_bits)) - 1
    }

    /// The largest number that the low bits hold.
    pub const fn most_low(self) -> u64 {
        (1 << self.low_bits) - 1
    }

    /// Bytes of so many words.
    pub const fn bytes(self, words: u64) -> u64 {
        (words * self.bits as u64).div_ceil(8)
    }

    /// Words in so many bytes; the bits that are left over are fewer than a word's.
    pub const fn words(self, bytes: u64) -> u64 {
        bytes * 8 / self.bits as u64
    }

    /// Whether it is one that there may be.
    pub fn is_sound(self) -> bool {
        (Self::FEWEST_LOW_BITS..=super::STRIPE_BITS).contains(&self.low_bits)
            && self.low_bits < self.bits
            && Self::LENGTHS.contains(&self.bits)
    }

    /// The best code for a stripe of `width` vertices. `lengths` counts the edges by the length in bits of one more than their source delta.
    pub fn best(width: u64, lengths: &[u64; 64]) -> Self {
        let low_bits = (64 - width.saturating_sub(1).leading_zeros()).max(Self::FEWEST_LOW_BITS);
        let edges: u64 = lengths.iter().sum();
        let cost = |code: &Self| {
            // A delta from `skip` on needs a skip, or several.
            let beyond = (code.bits - code.low_bits + 1) as usize;
            let skips = lengths.iter().enumerate().skip(beyond).map(|(length, &count)| count * ((1u64 << length) >> code.low_bits).max(1));
            let skips: u64 = skips.sum();
            (edges + skips) * u64::from(code.bits) + skips * Self::SKIP_BITS
        };
        let lengths = Self::LENGTHS.into_iter().filter(|&bits| bits > low_bits);
        lengths.map(|bits| Self { bits, low_bits }).min_by_key(cost).expect("destinations take fewer bits than words")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn narrow_and_dense_stripes_have_short_words() {
        let all = |length: usize| {
            let mut lengths = [0; 64];
            lengths[length] = 1 << 20;
            lengths
        };
        // Deltas of 0 (one bit holds their successor): a bit that says "skip", and the rest for destinations.
        assert_eq!(WordCode::best(1 << 11, &all(1)), WordCode { bits: 12, low_bits: 11 });
        assert_eq!(WordCode::best((1 << 11) + 1, &all(1)), WordCode { bits: 16, low_bits: 12 });
        // Deltas of 3 to 6, beside 7 which is a skip.
        assert_eq!(WordCode::best(1 << 13, &all(3)), WordCode { bits: 16, low_bits: 13 });
        assert_eq!(WordCode::best((1 << 13) + 1, &all(3)), WordCode { bits: 20, low_bits: 14 });
        // A stripe of one vertex still can skip far.
        assert_eq!(WordCode::best(1, &all(4)), WordCode { bits: 12, low_bits: 8 });
        // One edge in a thousand goes far: it skips.
        let mut rare = all(2);
        rare[20] = 1 << 10;
        assert_eq!(WordCode::best(1 << 16, &rare), WordCode { bits: 20, low_bits: 16 });
        for width in [1, 2, 255, 65_536, 1 << 17] {
            (1..23).for_each(|length| assert!(WordCode::best(width, &all(length)).is_sound(), "{width} {length}"));
        }
        let sound = |bits, low_bits| WordCode { bits, low_bits }.is_sound();
        assert!(
            WordCode::FIRST.is_sound()
                && sound(12, 11)
                && !sound(12, 12)
                && !sound(12, 7)
                && !sound(24, 18)
                && !sound(18, 16)
                && !sound(28, 16)
        );
    }

    #[test]
    fn bytes_and_words_are_each_others_inverse() {
        for bits in WordCode::LENGTHS {
            let code = WordCode { bits, low_bits: 8 };
            (0..100).for_each(|words| assert_eq!(code.words(code.bytes(words)), words, "{words} words of {bits} bits"));
        }
    }
}
