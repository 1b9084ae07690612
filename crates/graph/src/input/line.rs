//! Lines of numbers: the hot path. A line of the usual shape is parsed eight digits at a time; any
//! other goes through `fields`, which decides whether it is good.

use super::{
    Picked, WeightKind,
    emit::Emitter,
    fields::{self, Comments, MAX_LINE, Separator, complaint, show},
    record::{Decoder, RecordChunk, RecordFault, Stop},
};

/// How lines of numbers are to be read.
#[derive(Clone, Debug)]
pub(super) struct NumberLines {
    pub(super) separator: Separator,
    pub(super) comments: Comments,
    /// A word (of one letter) that each line of data begins with.
    pub(super) tag: Option<u8>,
    /// The ids allowed: `first..=first + span`.
    pub(super) first: u64,
    pub(super) span: u64,
    /// The weights to be read from the third column.
    pub(super) weights: WeightKind,
    /// Whether each edge between different vertices stands for both directions.
    pub(super) mirrored: bool,
    /// The most columns that a line may have.
    pub(super) columns: usize,
    /// Which of them are the edge.
    pub(super) picked: Picked,
    /// Whether ids may have zeros in front.
    pub(super) padded: bool,
}

const NONE: u8 = 0;
const INTEGER: u8 = 1;
const REAL: u8 = 2;

/// What stands between the columns of a line of the usual shape: one separator, and any number of
/// blanks behind it.
#[derive(Clone, Copy)]
struct LineShape {
    separators: [u8; 2],
    blanks: [u8; 2],
}

impl LineShape {
    #[inline(always)]
    fn separates(self, byte: u8) -> bool {
        byte == self.separators[0] || byte == self.separators[1]
    }

    /// The newline at the end stops it.
    #[inline(always)]
    fn skip_blanks(self, bytes: &[u8], mut at: usize) -> usize {
        while bytes[at] == self.blanks[0] || bytes[at] == self.blanks[1] {
            at += 1;
        }
        at
    }
}

/// A parsed line.
struct Line {
    pair: [u64; 2],
    weight: f64,
    /// Where the next line begins.
    next: usize,
}

impl Decoder for NumberLines {
    fn decode(&self, chunk: &RecordChunk<'_>, out: &mut Emitter<'_>) -> Result<u64, Stop> {
        match (self.weights, self.tag.is_some()) {
            (WeightKind::None, false) => self.lines::<NONE, false>(chunk, out),
            (WeightKind::None, true) => self.lines::<NONE, true>(chunk, out),
            (WeightKind::U32, false) => self.lines::<INTEGER, false>(chunk, out),
            (WeightKind::U32, true) => self.lines::<INTEGER, true>(chunk, out),
            (WeightKind::F32 | WeightKind::F64, false) => self.lines::<REAL, false>(chunk, out),
            (WeightKind::F32 | WeightKind::F64, true) => self.lines::<REAL, true>(chunk, out),
        }
    }
}

impl NumberLines {
    fn lines<const WEIGHTS: u8, const TAG: bool>(
        &self,
        chunk: &RecordChunk<'_>,
        out: &mut Emitter<'_>,
    ) -> Result<u64, Stop> {
        out.prepare(WEIGHTS != NONE);
        let bytes = chunk.bytes;
        let shape = match self.separator {
            Separator::Blank => LineShape { separators: [b' ', b'\t'], blanks: [b' ', b'\t'] },
            other => LineShape { separators: [other.byte(); 2], blanks: [b' '; 2] },
        };
        let in_order = self.picked.is_in_order();
        let (mut at, mut lines) = (0, 0);
        while at < chunk.end {
            let usual = if in_order { self.usual::<WEIGHTS, TAG>(bytes, at, shape) } else { None };
            let line = match usual {
                Some(line) => line,
                None => match self
                    .unusual(chunk, at)
                    .map_err(|fault| RecordFault { line: fault.line.map(|_| lines), ..fault })?
                {
                    (Some(line), _) => line,
                    (None, next) => {
                        lines += 1;
                        at = next;
                        continue;
                    }
                },
            };
            let mirrored = self.mirrored && line.pair[0] != line.pair[1];
            match (WEIGHTS != NONE, mirrored) {
                (true, false) => out.pair::<true>(line.pair, line.weight),
                (false, false) => out.pair::<false>(line.pair, 0.0),
                (true, true) => {
                    out.pair::<true>(line.pair, line.weight);
                    out.mirror::<true>(line.pair, line.weight);
                }
                (false, true) => {
                    out.pair::<false>(line.pair, 0.0);
                    out.mirror::<false>(line.pair, 0.0);
                }
            }
            out.check()?;
            lines += 1;
            at = line.next;
        }
        Ok(lines)
    }

    /// Parses the line at `at` if it has the usual shape. All loads stay in the chunk: lines end in
    /// a newline within its end.
    #[inline(always)]
    fn usual<const WEIGHTS: u8, const TAG: bool>(
        &self,
        bytes: &[u8],
        at: usize,
        shape: LineShape,
    ) -> Option<Line> {
        let mut p = at;
        if TAG {
            if bytes[p] != self.tag? || bytes[p + 1] != b' ' {
                return None;
            }
            p += 2;
        }
        let (source, length) = self.canonical(bytes, p)?;
        p += length;
        if !shape.separates(bytes[p]) {
            return None;
        }
        p = shape.skip_blanks(bytes, p + 1);
        let (target, length) = self.canonical(bytes, p)?;
        p += length;
        if source.wrapping_sub(self.first) > self.span
            || target.wrapping_sub(self.first) > self.span
        {
            return None;
        }
        let mut weight = 0.0;
        if WEIGHTS != NONE {
            if !shape.separates(bytes[p]) {
                return None;
            }
            p = shape.skip_blanks(bytes, p + 1);
            let length;
            (weight, length) = self.weight::<WEIGHTS>(bytes, p)?;
            p += length;
        }
        let next = match bytes[p] {
            b'\n' => p + 1,
            b'\r' if bytes[p + 1] == b'\n' => p + 2,
            byte if shape.separates(byte) && self.columns > 2 + usize::from(WEIGHTS != NONE) => {
                self.further(bytes, at, p)?
            }
            _ => return None,
        };
        Some(Line { pair: [source, target], weight, next })
    }

    /// The id at `at`, and its length; none where it may be a fault.
    #[inline(always)]
    fn canonical(&self, bytes: &[u8], at: usize) -> Option<(u64, usize)> {
        let (id, length) = digits(bytes, at)?;
        let is_padded = bytes[at] == b'0' && length > 1 && !self.padded;
        (!is_padded).then_some((id, length))
    }

    /// The weight at `at`, and its length.
    #[inline(always)]
    fn weight<const WEIGHTS: u8>(&self, bytes: &[u8], at: usize) -> Option<(f64, usize)> {
        if WEIGHTS == INTEGER {
            let (integer, length) = digits(bytes, at)?;
            Some((f64::from(u32::try_from(integer).ok()?), length))
        } else {
            self.real(bytes, at)
        }
    }

    /// A weight that is not an integer, and its length.
    #[inline]
    fn real(&self, bytes: &[u8], at: usize) -> Option<(f64, usize)> {
        // Larger ones may be whole numbers that the type cannot hold.
        let below = self.weights.whole_below();
        // Integers are the usual case even here.
        if let Some((integer, length)) = digits(bytes, at)
            && integer < below as u64
            && !matches!(bytes[at + length], b'.' | b'e' | b'E')
        {
            return Some((integer as f64, length));
        }
        let (weight, length) = fast_float2::parse_partial::<f64, _>(&bytes[at..]).ok()?;
        (weight.abs() < below).then_some((weight, length))
    }

    /// Skips columns that are not read.
    #[inline]
    fn further(&self, bytes: &[u8], line: usize, at: usize) -> Option<usize> {
        let end = at + memchr::memchr3(b'\n', b'\r', 0, &bytes[at..])?;
        // A format that says how many columns there are has one more at the most.
        let columns = bytes[at..end].split(|byte| matches!(byte, b' ' | b'\t'));
        if self.columns != usize::MAX && columns.filter(|column| !column.is_empty()).count() > 1 {
            return None;
        }
        let end = if bytes[end] == b'\r' { end + 1 } else { end };
        (bytes[end] == b'\n' && end - line <= MAX_LINE).then_some(end + 1)
    }

    /// Reads the line at `at`, whatever its shape; returns it if it has data, and where the next
    /// begins.
    #[cold]
    fn unusual(
        &self,
        chunk: &RecordChunk<'_>,
        at: usize,
    ) -> Result<(Option<Line>, usize), RecordFault> {
        let bytes = &chunk.bytes[..chunk.end];
        let next = at + memchr::memchr(b'\n', &bytes[at..]).map_or(bytes.len() - at, |end| end + 1);
        let content = fields::trim(&bytes[at..next]).map_err(|fault| RecordFault {
            offset: fault.offset.map(|offset| chunk.offset + at as u64 + offset),
            ..fault
        })?;
        if content.is_empty() || self.comments.has(content) {
            return Ok((None, next));
        }
        let line = self.line(content)?;
        Ok((Some(Line { next, ..line }), next))
    }

    /// Reads a trimmed line of data.
    fn line(&self, content: &[u8]) -> Result<Line, RecordFault> {
        let mut rest = content;
        if let Some(tag) = self.tag {
            rest = match content {
                [first, b' ' | b'\t', rest @ ..] if *first == tag => rest.trim_ascii_start(),
                _ => return Err(self.untagged(content, tag)),
            };
        }
        let weighted = self.weights != WeightKind::None;
        let [source, target, weight] = fields::pick(rest, self.separator, &self.picked, weighted)
            .map_err(|what| complaint(what.to_owned(), ""))?;
        let (Some(source), Some(target)) = (source, target) else {
            return Err(self.lonely(content));
        };
        let pair = [self.id(&source)?, self.id(&target)?];
        let weight = match weight {
            Some(given) => fields::weight(&given, self.weights)?,
            None if weighted => return Err(fields::no_weight(&self.picked)),
            None => 0.0,
        };
        let advice = if self.span == u64::MAX { fields::MORE } else { "" };
        fields::check_columns(rest, self.separator, self.columns, advice)?;
        Ok(Line { pair, weight, next: 0 })
    }

    fn id(&self, column: &[u8]) -> Result<u64, RecordFault> {
        let free = self.span == u64::MAX;
        let Some(id) = fields::number(column) else {
            let advice = if free { "give --ids string if ids are names" } else { "" };
            let limit = if free { " below 2^64" } else { "" };
            return Err(complaint(
                format!("the id {} is not an unsigned integer{limit}", show(column)),
                advice,
            ));
        };
        if !self.padded && fields::is_padded(column) {
            return Err(fields::padded(column));
        }
        if id.wrapping_sub(self.first) > self.span {
            let last = self.first.saturating_add(self.span);
            let what = format!(
                "the id {id} is outside of {}..{last}, which the file declares",
                self.first
            );
            return Err(complaint(what, "mend the line or the declaration"));
        }
        Ok(id)
    }

    fn untagged(&self, content: &[u8], tag: u8) -> RecordFault {
        let tag = tag as char;
        complaint(
            format!("expected a line `{tag} ...` or a comment `c ...`, found {}", show(content)),
            "",
        )
    }

    fn lonely(&self, content: &[u8]) -> RecordFault {
        let found = show(content);
        let other = [(b',', "commas"), (b';', "semicolons"), (b'\t', "tabs"), (b' ', "spaces")];
        let other =
            other.iter().find(|(byte, _)| *byte != self.separator.byte() && content.contains(byte));
        let advice = match other {
            Some((_, name)) => {
                format!(
                    "the file was taken to be {}-separated, by its first lines, \
                     and this line has {name}",
                    self.separator.name()
                )
            }
            None => "every line needs two ids".to_owned(),
        };
        if !self.picked.is_in_order() {
            return fields::too_short(&self.picked, content);
        }
        complaint(format!("two ids are needed, and there is one column: {found}"), &advice)
    }
}

const ZEROS: u64 = 0x3030_3030_3030_3030;
const HIGH_BITS: u64 = 0x8080_8080_8080_8080;
const POWERS: [u64; 8] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000];

/// The number at `at` and how many digits it has; none if it is not a number below 2^64.
#[inline(always)]
fn digits(bytes: &[u8], at: usize) -> Option<(u64, usize)> {
    let (word, length) = word(bytes, at);
    if length == 0 {
        return None;
    }
    if length < 8 {
        return Some((eight(word << (64 - 8 * length)), length));
    }
    let high = eight(word);
    let (word, length) = self::word(bytes, at + 8);
    if length == 8 {
        return long_number(bytes, at, high * 100_000_000 + eight(word));
    }
    // In two steps, for a shift by 64 would be none.
    let low = eight(word << (56 - 8 * length) << 8);
    Some((high * POWERS[length] + low, 8 + length))
}

/// Eight bytes less `0` each, and how many of them are digits before the first that is none.
#[inline(always)]
fn word(bytes: &[u8], at: usize) -> (u64, usize) {
    let Some(&word) = bytes[at..].first_chunk::<8>() else { return (0, 0) };
    let word = u64::from_le_bytes(word) ^ ZEROS;
    let others = (word.wrapping_add(0x7676_7676_7676_7676) | word) & HIGH_BITS;
    (word, others.trailing_zeros() as usize / 8)
}

/// The number of eight digits, the first in the lowest byte.
#[inline(always)]
fn eight(word: u64) -> u64 {
    let pairs = (word.wrapping_mul(10)).wrapping_add(word >> 8) & 0x00ff_00ff_00ff_00ff;
    let fours = pairs.wrapping_mul(100).wrapping_add(pairs >> 16) & 0x0000_ffff_0000_ffff;
    fours.wrapping_mul(10_000).wrapping_add(fours >> 32) & 0xffff_ffff
}

/// The number of 16 digits or more at `at`, the first 16 of which are `start`; none if it has more
/// than 20, zeros in front included.
#[inline(never)]
fn long_number(bytes: &[u8], at: usize, start: u64) -> Option<(u64, usize)> {
    let (word, length) = word(bytes, at + 16);
    if length > 4 {
        return None;
    }
    let end = eight(word << (56 - 8 * length) << 8);
    let number = start.checked_mul(POWERS[length])?.checked_add(end)?;
    Some((number, 16 + length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_parsed_by_words() {
        for length in 0..=20 {
            let text: String = (0..length)
                .map(|index| char::from(b'0' + (index * 7 % 10 + 1) as u8 % 10))
                .collect();
            for end in ["\n", " ", ":", "/", "\u{ff}"] {
                let padded = format!("{text}{end}99999999999999999999999");
                let expected = text.parse().ok().map(|number: u64| (number, length));
                assert_eq!(digits(padded.as_bytes(), 0), expected, "{padded}");
            }
        }
        let most = format!("{}\n{:32}", u64::MAX, "");
        assert_eq!(digits(most.as_bytes(), 0), Some((u64::MAX, 20)));
        assert_eq!(digits(b"18446744073709551616\n              ", 0), None);
        assert_eq!(digits(b"00000000000000000000001\n              ", 0), None);
    }
}
