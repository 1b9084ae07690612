//! The first lines of a text: what separates columns, whether there is a header, what ids and
//! weights are.

use super::{
    Picked, WeightKind, fault,
    fields::{self, Comments, Separator},
    options::join,
    record::RecordFault,
    source::{ENOUGH_LINES, InputBytes},
};
use crate::error::Result;

/// Pairs of words that a header begins with, in lower case and without anything but letters.
const HEADERS: [(&str, &str); 16] = [
    ("source", "target"),
    ("source", "destination"),
    ("sourceid", "targetid"),
    ("sourceid", "destinationid"),
    ("src", "dst"),
    ("src", "dest"),
    ("srcid", "dstid"),
    ("from", "to"),
    ("fromid", "toid"),
    ("fromnode", "tonode"),
    ("fromnodeid", "tonodeid"),
    ("startid", "endid"),
    ("start", "end"),
    ("node", "node"),
    ("nodeid", "nodeid"),
    ("u", "v"),
];
const BOM: &[u8] = b"\xef\xbb\xbf";

/// What one column is, taken for an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Id {
    Number,
    /// `-1`, `1e3`, 2^64: a number, but not an id. More likely a mistake than a name.
    NotQuite,
    Name,
}

/// The first lines of a text.
pub(super) struct Lines<'a> {
    pub(super) separator: Separator,
    /// Trimmed lines of data.
    pub(super) data: Vec<&'a [u8]>,
    /// Where the first line of data begins and ends, and the lines up to its end.
    first: (u64, u64, u64),
    /// Whether a comment says that edges have a direction.
    pub(super) directed: Option<bool>,
    /// Whether a comment is that of KONECT, whose columns are known: the ends, the weight, the
    /// time.
    pub(super) konect: bool,
}

/// The lines of the head, trimmed, each with where it ends in the head. A line that the head cuts
/// off is not among them.
pub(super) fn head_lines(source: &InputBytes) -> impl Iterator<Item = (&[u8], u64)> {
    let head = &source.head;
    let mut at = if head.starts_with(BOM) { BOM.len() } else { 0 };
    std::iter::from_fn(move || {
        let rest = head.get(at..).filter(|rest| !rest.is_empty())?;
        let end = match memchr::memchr(b'\n', rest) {
            Some(end) => end + 1,
            None if source.whole => rest.len(),
            None => return None,
        };
        at += end;
        Some((rest[..end].trim_ascii(), at as u64))
    })
}

impl<'a> Lines<'a> {
    /// Looks at lines of at least `ids` ids each.
    pub(super) fn of(source: &'a InputBytes, ids: usize) -> Self {
        let mut lines = Self {
            separator: Separator::Blank,
            data: Vec::new(),
            first: (0, 0, 0),
            directed: None,
            konect: false,
        };
        let start = if source.head.starts_with(BOM) { BOM.len() as u64 } else { 0 };
        let mut begin = start;
        for (number, (line, end)) in head_lines(source).enumerate() {
            if lines.data.is_empty() {
                lines.first = (begin, end, number as u64 + 1);
                let declared = declared_direction(line);
                lines.konect |= declared.is_some() && line.starts_with(b"%");
                lines.directed = lines.directed.or(declared);
            }
            if !line.is_empty() && !Comments::Text.has(line) {
                lines.data.push(line);
            }
            if lines.data.len() > ENOUGH_LINES {
                break;
            }
            begin = end;
        }
        if lines.data.is_empty() {
            lines.first = (start, start, 0);
        }
        lines.separator = separator(&lines.data, ids);
        lines
    }

    /// Where the records begin, and the lines before.
    pub(super) fn begin(&self, header: bool) -> (u64, u64) {
        let (begin, end, lines) = self.first;
        if header { (end, lines) } else { (begin, lines.saturating_sub(1)) }
    }

    /// The columns of line `index`; none where quotation marks are wrong.
    fn columns(&self, line: &'a [u8]) -> Vec<std::borrow::Cow<'a, [u8]>> {
        fields::columns(line, self.separator).map_while(std::result::Result::ok).collect()
    }

    /// The columns of the first line.
    pub(super) fn first_columns(&self) -> Vec<String> {
        let columns = self.data.first().map(|first| self.columns(first)).unwrap_or_default();
        columns.iter().map(|column| String::from_utf8_lossy(column).into_owned()).collect()
    }

    /// The most columns that a line has.
    pub(super) fn most_columns(&self) -> usize {
        self.data.iter().map(|line| self.columns(line).len()).max().unwrap_or(0)
    }

    /// What the columns of ids are, taken together.
    fn kind(&self, line: &'a [u8], ids: &[usize]) -> Id {
        let columns = self.columns(line);
        if columns.is_empty() {
            // Quotation marks are wrong, which numbers have none of.
            return Id::Name;
        }
        ids.iter().filter_map(|&at| columns.get(at)).fold(Id::Number, |kind, column| {
            match (kind, id(column)) {
                (Id::Name, _) | (_, Id::Name) => Id::Name,
                (Id::NotQuite, _) | (_, Id::NotQuite) => Id::NotQuite,
                _ => Id::Number,
            }
        })
    }

    /// Whether the first line has words where others have ids.
    fn begins_with_words(&self, ids: &[usize]) -> bool {
        let Some(first) = self.data.first() else { return false };
        let columns = self.columns(first);
        let is_one =
            |column: &std::borrow::Cow<'_, [u8]>| id(column) == Id::Name && is_word(column);
        ids.iter().all(|&at| columns.get(at).is_some_and(is_one))
    }

    /// Whether all ids are numbers (or mistaken numbers), a header aside.
    pub(super) fn is_numeric(&self, ids: &[usize]) -> bool {
        let skipped = usize::from(self.data.len() > 1 && self.begins_with_words(ids));
        self.data[skipped.min(self.data.len())..]
            .iter()
            .all(|line| self.kind(line, ids) != Id::Name)
    }

    /// Whether the first line, which has known names in these places, is a header. Where ids are
    /// names too and columns are few, it may as well be an edge.
    pub(super) fn is_header(&self, picked: &Picked) -> bool {
        let ids = [picked.source, picked.target];
        let has_numbers = self.data.len() > 1 && self.is_numeric(&ids);
        self.begins_with_words(&ids)
            && (has_numbers || self.most_columns() > 3 || self.has_header(&[0, 1]))
    }

    /// Whether the first line is a header. Lines of names are one only if they look very much like
    /// it.
    pub(super) fn has_header(&self, ids: &[usize]) -> bool {
        let Some((first, rest)) = self.data.split_first() else { return false };
        if !self.begins_with_words(ids) {
            return false;
        }
        if !rest.is_empty() && self.is_numeric(ids) {
            return true;
        }
        let columns = self.columns(first);
        let words: Vec<String> =
            ids.iter().filter_map(|&at| Some(letters(columns.get(at)?))).collect();
        let known = match words.as_slice() {
            [source, target] => HEADERS.contains(&(source.as_str(), target.as_str())),
            [id] => matches!(id.as_str(), "id" | "vertex" | "node" | "vertexid" | "nodeid"),
            _ => false,
        };
        known || (ids == [0, 1] && self.becomes_number(2))
    }

    /// Whether a column is a word in the first line and a number in all others.
    pub(super) fn becomes_number(&self, at: usize) -> bool {
        let number = |line: &&'a [u8]| self.columns(line).get(at).map(|column| is_weight(column));
        let mut numbers = self.data.iter().map(number);
        self.data.len() > 2
            && numbers.next() == Some(Some(false))
            && numbers.all(|number| number == Some(true))
    }

    /// Vertices, edges and direction in the header of a `.lg` or `.jlg` graph: `n,m,d,...`,
    /// `n,m,u,...`.
    pub(super) fn matrix_header(&self) -> Option<(u64, u64, bool)> {
        let columns = self.columns(self.data.first()?);
        let [vertices, edges, direction, _, ..] = columns.as_slice() else { return None };
        let directed = match direction.as_ref() {
            b"d" => true,
            b"u" => false,
            _ => return None,
        };
        let (vertices, edges) = (fields::number(vertices)?, fields::number(edges)?);
        self.data[1..]
            .iter()
            .all(|line| self.columns(line).len() == 2)
            .then_some((vertices, edges, directed))
    }

    /// The weights in their column, if a line has a number there. What begins like a number is
    /// meant as one (`0,5`, `1_000`): reading ends with its line, and nothing is left out silently.
    pub(super) fn weights(&self, header: bool, picked: &Picked) -> Option<WeightKind> {
        let at = picked.weight?;
        let mut found = None;
        for line in &self.data[usize::from(header).min(self.data.len())..] {
            let columns = self.columns(line);
            let Some(weight) = columns.get(at).filter(|weight| !weight.is_empty()) else {
                continue;
            };
            if is_word(weight) && !is_weight(weight) {
                continue;
            }
            let kind = if fields::weight(weight, WeightKind::U32).is_ok() {
                WeightKind::U32
            } else {
                WeightKind::F64
            };
            found = Some(found.map_or(kind, |found| join(found, kind)));
        }
        found
    }

    /// Whether a column has numbers alone behind the header, and some.
    pub(super) fn has_numbers(&self, at: usize) -> bool {
        let columns = self.data.iter().skip(1).map(|line| self.columns(line));
        let given = columns.filter_map(|columns| columns.into_iter().nth(at));
        let mut given = given.filter(|column| !column.is_empty()).peekable();
        given.peek().is_some() && given.all(|column| is_weight(&column))
    }

    /// Whether lines look like a vertex and its neighbors, which are not edges with weights.
    pub(super) fn looks_like_adjacency(&self) -> bool {
        let mut lengths = self.data.iter().map(|line| self.columns(line).len());
        let Some(first) = lengths.next() else { return false };
        let (least, most) = lengths
            .fold((first, first), |(least, most), length| (least.min(length), most.max(length)));
        let numbers =
            |line: &&'a [u8]| self.columns(line).iter().all(|column| id(column) == Id::Number);
        self.separator == Separator::Blank
            && least != most
            && most > 3
            && self.data.iter().all(numbers)
    }
}

fn id(column: &[u8]) -> Id {
    if fields::is_padded(column) {
        // As a number it would be the same vertex as another that is written without zeros.
        Id::Name
    } else if fields::number(column).is_some() {
        Id::Number
    } else if column.is_empty() || (!is_word(column) && is_weight(column)) {
        Id::NotQuite
    } else {
        Id::Name
    }
}

/// Whether it begins as no number does.
fn is_word(column: &[u8]) -> bool {
    column.first().is_some_and(|byte| !byte.is_ascii_digit() && !matches!(byte, b'+' | b'-' | b'.'))
}

fn is_weight(column: &[u8]) -> bool {
    fast_float2::parse::<f64, _>(column).is_ok()
}

fn letters(column: &[u8]) -> String {
    column
        .iter()
        .filter(|byte| byte.is_ascii_alphabetic())
        .map(|byte| char::from(byte.to_ascii_lowercase()))
        .collect()
}

/// What the comments of SNAP (`# Undirected graph`) and KONECT (`% sym`, `% asym`, `% bip`) say.
fn declared_direction(line: &[u8]) -> Option<bool> {
    let line = line.to_ascii_lowercase();
    let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    match (words.next()?, words.next()?, words.next()) {
        (b"#", b"undirected", Some(b"graph" | b"graph:")) | (b"%", b"sym", _) => Some(false),
        (b"#", b"directed", Some(b"graph" | b"graph:")) | (b"%", b"asym" | b"bip", _) => Some(true),
        _ => None,
    }
}

/// What separates columns: what most lines have, else blanks.
fn separator(lines: &[&[u8]], ids: usize) -> Separator {
    for separator in [Separator::Tab, Separator::Comma, Separator::Semicolon] {
        let has = |line: &[u8]| fields::has_outside_quotes(line, separator.byte());
        let with = lines.iter().filter(|line| has(line)).count();
        let first = lines.first().is_some_and(|line| has(line));
        if with * 2 < lines.len() + usize::from(!first) {
            continue;
        }
        // Numbers aligned by tabs, or by tabs here and spaces there, are separated by blanks.
        let loose = |line: &&[u8]| {
            let columns: Vec<_> = fields::columns(line, Separator::Tab).flatten().collect();
            columns.len() < ids
                || columns.iter().any(|column| column.is_empty())
                || column_has_numbers(&columns[0])
        };
        if separator == Separator::Tab && lines.iter().any(loose) {
            return Separator::Blank;
        }
        if separator == Separator::Comma {
            // A decimal comma, or one between thousands.
            if lines.iter().all(|line| ends_before_comma(line, Separator::Semicolon)) {
                return Separator::Semicolon;
            }
            if lines.iter().all(|line| ends_before_comma(line, Separator::Blank)) {
                return Separator::Blank;
            }
        }
        return separator;
    }
    Separator::Blank
}

/// Whether this separates two numbers, which come before a comma.
fn ends_before_comma(line: &[u8], separator: Separator) -> bool {
    let columns: Vec<_> = fields::columns(line, separator).flatten().take(3).collect();
    columns.len() > 2 && columns[..2].iter().all(|end| fields::number(end).is_some())
}

/// Whether it is several numbers separated by spaces.
fn column_has_numbers(column: &[u8]) -> bool {
    column.contains(&b' ')
        && column
            .split(|byte| *byte == b' ')
            .all(|part| part.is_empty() || fields::number(part).is_some())
}

/// Complains of text that is not text.
pub(super) fn refuse_binary(source: &InputBytes) -> Result<()> {
    let head = &source.head;
    if head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff") {
        let advice = "convert it: `iconv -f UTF-16 -t UTF-8 FILE | outercore build - -o GRAPH`";
        return Err(fault(&source.path, "this is UTF-16 text, which is not supported", advice));
    }
    if head.starts_with(b"\x1f\x8b") || head.starts_with(b"\x28\xb5\x2f\xfd") {
        return Err(fault(&source.path, "this is compressed twice", "decompress it once"));
    }
    match memchr::memchr(0, head) {
        Some(at) => {
            let before = memchr::memchr_iter(b'\n', &head[..at]).count() as u64;
            let fault = fields::binary(at as u64);
            Err(RecordFault { line: (before > 0).then_some(before), ..fault }.at(&source.path, 0))
        }
        None => Ok(()),
    }
}
