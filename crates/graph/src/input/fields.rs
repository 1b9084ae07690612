//! One line, slowly and exactly: comments, columns, quotes, ids, weights. Every complaint about a
//! line is written here.

use std::borrow::Cow;

use super::{Picked, WeightKind, record::RecordFault};

/// The longest line that is read.
pub(super) const MAX_LINE: usize = 1 << 20;

/// The most bytes of a name, in every format: that of two names fits a line by far.
pub const LONGEST_NAME: usize = 64 << 10;

/// What is wrong with a name of `bytes` bytes, and what to do; `None`: it is not too long.
pub fn long_name(bytes: usize) -> Option<(String, &'static str)> {
    (bytes > LONGEST_NAME).then(|| {
        let what =
            format!("a name has {bytes} bytes, and the most that one may have is {LONGEST_NAME}");
        (what, "shorten the names, or use numbers in their place")
    })
}

/// What separates columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Separator {
    /// Spaces and tabs, any number.
    Blank,
    /// One tab.
    Tab,
    /// One comma, blanks around it.
    Comma,
    /// One semicolon, blanks around it.
    Semicolon,
}

impl Separator {
    /// The byte, a space for blanks.
    pub(super) fn byte(self) -> u8 {
        match self {
            Separator::Blank => b' ',
            Separator::Tab => b'\t',
            Separator::Comma => b',',
            Separator::Semicolon => b';',
        }
    }

    /// Its name in `...-separated`.
    pub(super) fn name(self) -> &'static str {
        match self {
            Separator::Blank => "space",
            Separator::Tab => "tab",
            Separator::Comma => "comma",
            Separator::Semicolon => "semicolon",
        }
    }
}

/// Which lines are comments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comments {
    /// Those that begin with `#`, `%` or `//`.
    Text,
    /// Those that begin with `%`.
    Percent,
    /// Those whose first word is `c`, and those of vertices (`n`).
    Dimacs,
}

impl Comments {
    /// Whether a trimmed line is one.
    pub(super) fn has(self, line: &[u8]) -> bool {
        match self {
            Comments::Text => matches!(line, [b'#' | b'%', ..] | [b'/', b'/', ..]),
            Comments::Percent => line.first() == Some(&b'%'),
            Comments::Dimacs => matches!(line, [b'c' | b'n'] | [b'c' | b'n', b' ' | b'\t', ..]),
        }
    }
}

/// A line without its end and the blanks around it, or why it cannot be one.
pub(super) fn trim(line: &[u8]) -> Result<&[u8], RecordFault> {
    if line.len() > MAX_LINE {
        return Err(long_line());
    }
    let content = line.trim_ascii();
    if let Some(at) = memchr::memchr2(0, b'\r', content) {
        return Err(if content[at] == 0 {
            let offset = content.as_ptr() as u64 - line.as_ptr() as u64 + at as u64;
            binary(offset)
        } else {
            let advice = "lines must end in LF or CR LF; convert the file: `tr '\\r' '\\n' < FILE`";
            complaint("there is a carriage return inside the line".to_owned(), advice)
        });
    }
    Ok(content)
}

/// A line that is longer than any edge.
pub(super) fn long_line() -> RecordFault {
    let advice = format!(
        "an edge list has one edge in each line, with names of at most {LONGEST_NAME} bytes: is \
         this another format?"
    );
    complaint(format!("the line is longer than {} MiB", MAX_LINE >> 20), &advice)
}

/// A NUL byte at this offset.
pub(super) fn binary(offset: u64) -> RecordFault {
    RecordFault {
        line: None,
        offset: Some(offset),
        what: "a NUL byte: this looks binary, not like text".to_owned(),
        advice: "if it holds pairs of little-endian numbers, give --format pairs-u32 or pairs-u64"
            .to_owned(),
    }
}

/// A fault of the line at hand.
pub(super) fn complaint(what: String, advice: &str) -> RecordFault {
    RecordFault { line: Some(0), offset: None, what, advice: advice.to_owned() }
}

/// The columns of a trimmed line.
pub(super) struct Columns<'a> {
    /// What is not yet read; `None` at the end.
    rest: Option<&'a [u8]>,
    separator: Separator,
}

/// The columns of a trimmed line.
pub(super) fn columns(line: &[u8], separator: Separator) -> Columns<'_> {
    Columns { rest: Some(line), separator }
}

impl<'a> Iterator for Columns<'a> {
    /// The column, or what is wrong with it.
    type Item = Result<Cow<'a, [u8]>, &'static str>;

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.rest?;
        if self.separator == Separator::Blank {
            if let [b'"', quoted @ ..] = rest {
                return Some(self.quoted(quoted));
            }
            let end =
                rest.iter().position(|byte| matches!(byte, b' ' | b'\t')).unwrap_or(rest.len());
            let (column, rest) = rest.split_at(end);
            let rest = rest.trim_ascii_start();
            self.rest = (!rest.is_empty()).then_some(rest);
            return Some(Ok(Cow::Borrowed(column)));
        }
        let byte = self.separator.byte();
        let start = skip_blanks(rest, byte);
        if let [b'"', quoted @ ..] = start {
            return Some(self.quoted(quoted));
        }
        let (column, rest) = match memchr::memchr(byte, rest) {
            Some(at) => (&rest[..at], Some(&rest[at + 1..])),
            None => (rest, None),
        };
        self.rest = rest;
        Some(Ok(Cow::Borrowed(column.trim_ascii())))
    }
}

impl<'a> Columns<'a> {
    /// The column whose opening quote was read.
    fn quoted(&mut self, inside: &'a [u8]) -> Result<Cow<'a, [u8]>, &'static str> {
        let mut from = 0;
        let mut doubled = false;
        let end = loop {
            let Some(at) = memchr::memchr(b'"', &inside[from..]) else {
                self.rest = None;
                return Err("a quotation mark is not closed");
            };
            if inside.get(from + at + 1) != Some(&b'"') {
                break from + at;
            }
            doubled = true;
            from += at + 2;
        };
        let after = &inside[end + 1..];
        let blank = self.separator == Separator::Blank;
        self.rest = match if blank { after } else { skip_blanks(after, self.separator.byte()) } {
            [] => None,
            [b' ' | b'\t', rest @ ..] if blank => Some(rest.trim_ascii_start()),
            [byte, rest @ ..] if *byte == self.separator.byte() => Some(rest),
            _ => {
                self.rest = None;
                return Err("something follows a closing quotation mark");
            }
        };
        let column = &inside[..end];
        if !doubled {
            return Ok(Cow::Borrowed(column));
        }
        let mut plain = Vec::with_capacity(column.len());
        let mut bytes = column.iter();
        while let Some(byte) = bytes.next() {
            plain.push(*byte);
            if *byte == b'"' {
                bytes.next();
            }
        }
        Ok(Cow::Owned(plain))
    }
}

/// Without the blanks at the beginning that do not separate.
fn skip_blanks(bytes: &[u8], separator: u8) -> &[u8] {
    let start = bytes.iter().position(|byte| *byte == separator || !matches!(byte, b' ' | b'\t'));
    &bytes[start.unwrap_or(bytes.len())..]
}

/// The columns of an edge: source, target and weight. One that the line has not is `None`.
pub(super) type Picks<'a> = [Option<Cow<'a, [u8]>>; 3];

/// Those columns of a trimmed line that an edge is made of; the weight if it is wanted.
pub(super) fn pick<'a>(
    line: &'a [u8],
    separator: Separator,
    picked: &Picked,
    weighted: bool,
) -> Result<Picks<'a>, &'static str> {
    let mut picks = [None, None, None];
    let weight = picked.weight.filter(|_| weighted);
    let last = picked.source.max(picked.target).max(weight.unwrap_or(0));
    for (at, column) in columns(line, separator).take(last + 1).enumerate() {
        let column = column?;
        if weight == Some(at) {
            picks[2] = Some(column.clone());
        }
        if picked.target == at {
            picks[1] = Some(column.clone());
        }
        if picked.source == at {
            picks[0] = Some(column);
        }
    }
    Ok(picks)
}

/// What to say of a line without a weight.
pub(super) fn no_weight(picked: &Picked) -> RecordFault {
    let column = picked.weight.map_or(3, |weight| weight + 1);
    complaint(
        format!("the weight (column {column}) is missing"),
        "give every edge a weight, or --weights none",
    )
}

/// What to do about columns that nothing names.
pub(super) const MORE: &str = "give --weights none if the first two are the edges";

/// Complains of a line with more columns than `most`, if nothing says what those are: where `most`
/// is beyond what edges have, something does.
pub(super) fn check_columns(
    line: &[u8],
    separator: Separator,
    most: usize,
    advice: &str,
) -> Result<(), RecordFault> {
    if most <= 3 && columns(line, separator).count() > most {
        return Err(complaint(format!("more than {most} columns: {}", show(line)), advice));
    }
    Ok(())
}

/// What to say of a line that has not all columns.
pub(super) fn too_short(picked: &Picked, line: &[u8]) -> RecordFault {
    let (source, target) = (picked.source + 1, picked.target + 1);
    let found = show(line);
    let what = format!("the ids are in columns {source} and {target}, and there are not so many");
    complaint(format!("{what}: {found}"), "mend the line, or give other --columns")
}

/// Whether a byte stands anywhere but in columns in quotation marks.
pub(super) fn has_outside_quotes(line: &[u8], byte: u8) -> bool {
    let (mut at, mut begins) = (0, true);
    while at < line.len() {
        let here = line[at];
        if here == b'"' && begins {
            // A doubled mark does not close.
            let mut end = at + 1;
            while end < line.len() && !(line[end] == b'"' && line.get(end + 1) != Some(&b'"')) {
                end += 1 + usize::from(line[end] == b'"');
            }
            at = end;
        } else if here == byte {
            return true;
        }
        begins = matches!(here, b' ' | b'\t' | b',' | b';');
        at += 1;
    }
    false
}

/// Whether a number is written with zeros in front.
pub(super) fn is_padded(column: &[u8]) -> bool {
    column.len() > 1 && column[0] == b'0' && column.iter().all(u8::is_ascii_digit)
}

/// What to say of an id that is written with zeros in front.
pub(super) fn padded(column: &[u8]) -> RecordFault {
    complaint(
        format!("the id {} has zeros in front: as a number it is another's too", show(column)),
        "give --ids string to keep ids as they are written, or --ids u64 to take them as numbers",
    )
}

/// An unsigned decimal number below 2^64: digits and nothing else.
pub(super) fn number(column: &[u8]) -> Option<u64> {
    if column.is_empty() {
        return None;
    }
    column.iter().try_fold(0u64, |number, byte| {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 { None } else { number.checked_mul(10)?.checked_add(u64::from(digit)) }
    })
}

/// A weight of the kind, or what is wrong with it.
pub(super) fn weight(column: &[u8], kind: WeightKind) -> Result<f64, RecordFault> {
    let shown = show(column);
    let advice = "mend the line, or give --weights none to ignore the column";
    match kind {
        WeightKind::None => Ok(0.0),
        WeightKind::U32 => match number(column) {
            Some(weight) if u32::try_from(weight).is_ok() => Ok(weight as f64),
            _ => Err(complaint(
                format!("the weight {shown} is not an unsigned integer below 2^32"),
                "give --weights f64 if weights may be other numbers, or --weights none to ignore \
                 the column",
            )),
        },
        WeightKind::F32 | WeightKind::F64 => match fast_float2::parse::<f64, _>(column) {
            Ok(weight)
                if kind == WeightKind::F32
                    && weight.is_finite()
                    && !(weight as f32).is_finite() =>
            {
                Err(complaint(
                    format!("the weight {shown} is too large for f32"),
                    "give --weights f64",
                ))
            }
            Ok(weight) if weight.is_finite() && !is_exact(column, weight, kind) => Err(complaint(
                format!("the weight {shown} is a whole number that {kind} cannot hold exactly"),
                "scale the weights down, or give --weights none to ignore the column",
            )),
            Ok(weight) if weight.is_finite() => Ok(weight),
            Ok(_) => Err(complaint(format!("the weight {shown} is not finite"), advice)),
            Err(_) => Err(complaint(format!("the weight {shown} is not a number"), advice)),
        },
    }
}

/// Whether a weight is what its column says, if that is a whole number in digits. Fractions and
/// powers of ten are rounded to the nearest, as always.
fn is_exact(column: &[u8], weight: f64, kind: WeightKind) -> bool {
    let held = if kind == WeightKind::F32 { f64::from(weight as f32) } else { weight };
    if held.abs() < kind.whole_below() {
        return true;
    }
    let digits = column.strip_prefix(b"+").or(column.strip_prefix(b"-")).unwrap_or(column);
    let (whole, rest) = digits.split_at(memchr::memchr(b'.', digits).unwrap_or(digits.len()));
    let is_fraction = rest.iter().any(|byte| !matches!(byte, b'.' | b'0'));
    if is_fraction || !whole.iter().all(u8::is_ascii_digit) {
        return true;
    }
    let zeros = whole.iter().take_while(|byte| **byte == b'0').count();
    let whole = &whole[zeros..];
    // With a precision, every digit is written; without, those that tell it from its neighbours,
    // as programs write a floating-point number that they have. Whole numbers end at 2^64.
    let is_shortest = || match kind {
        _ if held.abs() < 2f64.powi(64) => false,
        WeightKind::F32 => whole == (held.abs() as f32).to_string().as_bytes(),
        _ => whole == held.abs().to_string().as_bytes(),
    };
    whole == format!("{:.0}", held.abs()).as_bytes() || is_shortest()
}

/// A column for a message: quoted, escaped, not too long.
pub(super) fn show(column: &[u8]) -> String {
    const LONGEST: usize = 40;
    match column.get(..LONGEST) {
        Some(start) => format!("\"{}...\" ({} bytes)", start.escape_ascii(), column.len()),
        None => match std::str::from_utf8(column) {
            Ok(text) => format!("{text:?}"),
            Err(_) => format!("\"{}\"", column.escape_ascii()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(line: &str, separator: Separator) -> Result<Vec<String>, &'static str> {
        let text = |column: Cow<'_, [u8]>| String::from_utf8(column.into_owned()).unwrap();
        columns(line.as_bytes(), separator).map(|column| column.map(text)).collect()
    }

    #[test]
    fn columns_are_separated() {
        assert_eq!(all("a  b\t c", Separator::Blank).unwrap(), ["a", "b", "c"]);
        assert_eq!(
            all("\"New York\"  \"a\"\t5\"", Separator::Blank).unwrap(),
            ["New York", "a", "5\""]
        );
        assert_eq!(all("a, b ,,c,", Separator::Comma).unwrap(), ["a", "b", "", "c", ""]);
        assert_eq!(all("New York\tRio", Separator::Tab).unwrap(), ["New York", "Rio"]);
        assert_eq!(
            all("\"a,\"\"b\"\"\" ; x;\"\"", Separator::Semicolon).unwrap(),
            ["a,\"b\"", "x", ""]
        );
        assert!(all("\"a,b", Separator::Comma).is_err());
        assert!(all("\"a\"b,c", Separator::Comma).is_err());
        assert_eq!(all("\t\"a\"\t", Separator::Tab).unwrap(), ["", "a", ""]);
    }

    #[test]
    fn numbers_are_digits() {
        assert_eq!(number(b"007"), Some(7));
        assert_eq!(number(b"18446744073709551615"), Some(u64::MAX));
        for bad in [
            "18446744073709551616",
            "",
            "+1",
            "-1",
            "-0",
            "1.0",
            "1e3",
            "0x10",
            "\u{661}",
            "1 ",
            &"9".repeat(400),
        ] {
            assert_eq!(number(bad.as_bytes()), None, "{bad}");
        }
    }

    #[test]
    fn weights_are_checked() {
        assert_eq!(weight(b"4294967295", WeightKind::U32).unwrap(), 4_294_967_295.0);
        for bad in ["4294967296", "-1", "1.0", "", "+1"] {
            assert!(weight(bad.as_bytes(), WeightKind::U32).is_err(), "{bad}");
        }
        assert_eq!(weight(b"-1.5e2", WeightKind::F64).unwrap(), -150.0);
        assert_eq!(weight(b"4.9e-324", WeightKind::F64).unwrap(), 4.9e-324);
        for bad in
            ["NaN", "-nan", "inf", "-inf", "infinity", "1e999", "", "x", "1.0x", "0x10", "1,5"]
        {
            assert!(weight(bad.as_bytes(), WeightKind::F64).is_err(), "{bad}");
        }
        assert!(weight(b"1e39", WeightKind::F32).is_err());
    }
}
