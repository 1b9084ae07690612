//! [`Piece`]: the words of a chunk, on their way to being edges.

use outercore_graph::format::{GridDirectory, SEGMENT_BITS, Tile, WordCode};
use outercore_storage::memory::prefetch;

/// How far ahead of the edge at hand signals are brought near, in bytes: far enough for main memory, within the next page.
const AHEAD: usize = 2048;

/// Words by which sparse words are decoded before they are due.
const WORDS_AHEAD: usize = 32;

/// Brings near what will be due soon after `signals[source]`: sources come in ascending order, but with gaps that the processor's own foresight does not follow.
#[inline(always)]
pub fn look_ahead<T>(signals: &[T], source: usize) {
    prefetch(signals.as_ptr().wrapping_add(source).wrapping_byte_add(AHEAD));
}

/// The first and the last source that a tile's chunk may have, within its segment, in a graph of so many vertices.
pub fn chunk_sources(directory: &GridDirectory, tile: &Tile, index: u64, vertices: u64) -> (u64, u64) {
    let source = |index: u64| directory.chunks[(tile.first_chunk + index) as usize].source;
    // The next chunk counts from this one's last source.
    let end = || (vertices - (u64::from(tile.segment) << SEGMENT_BITS)).min(1 << SEGMENT_BITS) - 1;
    (source(index), if index + 1 < tile.chunks() { source(index + 1) } else { end() })
}

/// A piece of a tile: at most one chunk.
pub struct Piece<'a> {
    /// The first source of the segment.
    pub segment: u64,
    /// The source, within the segment, to which the first delta is added.
    source: u64,
    /// The last source that there may be, within the segment.
    last: u64,
    code: WordCode,
    bytes: &'a [u8],
}

impl<'a> Piece<'a> {
    /// The piece with these words, of a segment that begins at `segment`; its sources are in `sources`, within that.
    pub(crate) fn new(segment: u64, sources: (u64, u64), code: WordCode, bytes: &'a [u8]) -> Self {
        Self { segment, source: sources.0, last: sources.1, code, bytes }
    }

    /// The first source that there may be, within the segment.
    pub fn first(&self) -> usize {
        self.source as usize
    }

    /// The vertices among which its sources are.
    pub fn sources(&self) -> (u64, u64) {
        (self.segment + self.source, self.segment + self.last)
    }

    /// Words, skips included: about the edges.
    pub fn words(&self) -> u64 {
        self.code.words(self.bytes.len() as u64)
    }

    /// Hands every edge to `visit`: the source within the segment, and the destination within the stripe.
    #[inline(always)]
    pub fn for_each(&self, visit: impl FnMut(usize, usize)) {
        // A loop of its own for each length of a word, in which offsets and shifts are constants.
        match self.code.bits {
            12 => self.decode::<12>(visit),
            16 => self.decode::<16>(visit),
            20 => self.decode::<20>(visit),
            _ => self.decode::<24>(visit),
        }
    }

    /// The same, and `near` gets each source some time before it is due, or places about where sources will be; `stride` is the bytes between what is looked up for neighboring sources.
    #[inline(always)]
    pub fn for_each_near(&self, stride: usize, mut near: impl FnMut(usize), mut visit: impl FnMut(usize, usize)) {
        let far = AHEAD / stride;
        let both = |source, target| {
            near(source + far);
            visit(source, target);
        };
        match self.code.bits {
            12 => self.decode::<12>(both),
            16 => self.decode::<16>(both),
            20 => self.decode::<20>(both),
            // With gaps between sources, what lies at a distance is not what comes next.
            _ if self.last - self.source > self.words() => self.decode_ahead::<24>(near, visit),
            _ => self.decode::<24>(both),
        }
    }

    /// Decodes twice, `near` first.
    #[inline(always)]
    fn decode_ahead<const BITS: usize>(&self, mut near: impl FnMut(usize), mut visit: impl FnMut(usize, usize)) {
        let (low_bits, low_mask, skip) = (self.code.low_bits, (1 << self.code.low_bits) - 1, self.code.skip());
        let advance = |source: &mut usize, bytes: &[u8], at: usize| {
            let (byte, bit) = (at * BITS / 8, at * BITS % 8);
            let word = u32::from_le_bytes(bytes[byte..byte + 4].try_into().expect("four bytes")) >> bit & ((1 << BITS) - 1);
            let (delta, low) = (word >> low_bits, word & low_mask);
            *source += if delta == skip { low } else { delta } as usize;
            (delta != skip).then_some(low as usize)
        };
        let (mut source, mut far, mut rest) = (self.source as usize, self.source as usize, self.bytes);
        let (four, lead) = (BITS / 2, WORDS_AHEAD * BITS / 8);
        if rest.len() > lead + four + 4 {
            for words in rest[..lead + 4].windows(four + 4).step_by(four) {
                (0..4).for_each(|at| _ = advance(&mut far, words, at));
                near(far);
            }
        }
        while rest.len() >= lead + four + 4 {
            let (now, then) = (&rest[..four + 4], &rest[lead..lead + four + 4]);
            for at in 0..4 {
                advance(&mut far, then, at);
                near(far);
            }
            for at in 0..4 {
                if let Some(target) = advance(&mut source, now, at) {
                    visit(source, target);
                }
            }
            rest = &rest[four..];
        }
        Self { source: source as u64, bytes: rest, ..*self }.decode::<BITS>(visit);
    }

    #[inline(always)]
    fn decode<const BITS: usize>(&self, mut visit: impl FnMut(usize, usize)) {
        let (low_bits, low_mask, skip) = (self.code.low_bits, (1 << self.code.low_bits) - 1, self.code.skip());
        let mut source = self.source as usize;
        let mut word = |bytes: &[u8], at: usize| {
            let (byte, bit) = (at * BITS / 8, at * BITS % 8);
            let word = u32::from_le_bytes(bytes[byte..byte + 4].try_into().expect("four bytes")) >> bit & ((1 << BITS) - 1);
            let (delta, low) = (word >> low_bits, (word & low_mask) as usize);
            if delta == skip {
                source += low;
            } else {
                source += delta as usize;
                visit(source, low);
            }
        };
        let mut rest = self.bytes;
        while rest.len() >= BITS / 2 + 4 {
            let four = &rest[..BITS / 2 + 4];
            (0..4).for_each(|at| word(four, at));
            rest = &rest[BITS / 2..];
        }
        let mut last = [0; 32];
        last[..rest.len()].copy_from_slice(rest);
        (0..rest.len() * 8 / BITS).for_each(|at| word(&last, at));
    }
}
