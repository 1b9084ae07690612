//! Lines whose dialect is known: more lines than any reader looks at before it decides come first.
//! What follows is read as edges by a parser that takes one line at a time, and is compared: the
//! edges, or the line of the first complaint.

use std::io::Write;

use outercore::{
    EdgeFormat, WeightKind,
    input::{Format, IdKind, InputOptions},
};

use crate::{
    choices::Choices,
    reading::{Means, Read, file, place, read},
};

/// Lines that are looked at before it is decided what a text is.
const HEAD: usize = 1001;
/// The smallest chunk that a text is cut into.
const CHUNK: usize = 64 << 10;
/// The longest line.
const LONGEST: usize = 1 << 20;
/// The vertices that a DIMACS graph or a matrix declares here.
const DECLARED: u64 = 70_000;

/// What a file is.
struct Dialect {
    /// Its separator; blanks where it is a space.
    separator: u8,
    kind: Kind,
    names: bool,
    /// Whether ids may begin with zeros.
    padded: bool,
    weights: WeightKind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    /// Ids up to [`DECLARED`]; a matrix, or a DIMACS graph of lines `a`.
    Matrix,
    Dimacs,
}

pub fn run(bytes: &[u8]) {
    let mut choices = Choices(bytes);
    let kind = choices.of(&[Kind::Text, Kind::Text, Kind::Text, Kind::Matrix, Kind::Dimacs]);
    let ids = choices.of(&[None, Some(IdKind::Numbers), Some(IdKind::Names)]);
    let ids = if kind == Kind::Text { ids } else { None };
    let weights =
        choices.of(&[WeightKind::None, WeightKind::U32, WeightKind::F32, WeightKind::F64]);
    let separator = choices.of(b" \t,;");
    let dialect = Dialect {
        separator: if kind == Kind::Text { separator } else { b' ' },
        kind,
        names: ids == Some(IdKind::Names),
        padded: ids.is_some() || kind != Kind::Text,
        weights,
    };
    // Where the smallest chunk ends, seen from the beginning of what is compared.
    let cut = usize::from(choices.short()) % 600;
    let content = choices.0;
    let naive = dialect.edges(content);
    // A byte of zero anywhere is complained of before any line is read.
    let naive = if content.contains(&0) { Err(None) } else { naive.map_err(Some) };
    let text = dialect.text(content, cut, naive.as_ref().map_or(0, Vec::len));
    let before = text[..text.len() - content.len()].iter().filter(|&&byte| byte == b'\n').count();
    let format = match kind {
        Kind::Text => Format::Text,
        Kind::Matrix => Format::MatrixMarket,
        Kind::Dimacs => Format::Dimacs,
    };
    let options = InputOptions { ids, weights: Some(weights), ..InputOptions::default() };
    let place = place();
    let path = file(&place, "e", &text);
    let means = Means { threads: 2, memory: 1 };
    let found = read(&path, EdgeFormat::Plain(format), &options, means);
    match (found, naive) {
        (Ok(found), Ok(edges)) => {
            let filler = dialect.filler();
            let mut expected = Read { edges, ..Read::default() };
            let fillers = before - usize::from(kind != Kind::Text) * 2;
            expected.edges.extend(std::iter::repeat_n(filler, fillers));
            expected.edges.sort_unstable();
            assert!(found == expected, "{:?}", difference(&found, &expected));
        }
        (Err(refused), Err(line)) => {
            let told = refused.line.map(|told| told - before as u64 - 1);
            assert!(line.is_none() || told == line, "{line:?} or {refused:?}");
        }
        (found, naive) => panic!("{:?} {:?}", found.map(|found| found.edges.len()), naive),
    }
}

/// The first edge that only one of them has.
fn difference(found: &Read, expected: &Read) -> impl std::fmt::Debug {
    let differs = found.edges.iter().zip(&expected.edges).find(|(one, other)| one != other);
    (found.edges.len(), expected.edges.len(), differs.map(|(a, b)| (a.clone(), b.clone())))
}

/// An edge as it is compared.
type Edge = ([String; 2], Option<u64>);

impl Dialect {
    /// The edge of every line before those that are compared.
    fn filler(&self) -> Edge {
        let weight = (self.weights != WeightKind::None).then_some(3f64.to_bits());
        (["1", "2"].map(|id| if self.names { format!("n{id}") } else { id.to_owned() }), weight)
    }

    /// The whole file.
    fn text(&self, content: &[u8], cut: usize, edges: usize) -> Vec<u8> {
        let ([source, target], weight) = self.filler();
        let separator = char::from(self.separator);
        let mut line = format!("{source}{separator}{target}");
        if weight.is_some() || self.kind != Kind::Text {
            line += &format!("{separator}3");
        }
        if self.kind == Kind::Dimacs {
            line.insert_str(0, "a ");
        }
        line.push('\n');
        let fillers = HEAD.max((CHUNK - cut) / line.len());
        let mut text = Vec::new();
        let all = fillers + edges;
        match self.kind {
            Kind::Text => {}
            Kind::Matrix => write!(
                text,
                "%%MatrixMarket matrix coordinate real general\n{DECLARED} {DECLARED} {all}\n"
            )
            .expect("memory"),
            Kind::Dimacs => write!(text, "c\np sp {DECLARED} {all}\n").expect("memory"),
        }
        text.extend_from_slice(line.repeat(fillers).as_bytes());
        text.extend_from_slice(content);
        text
    }

    /// Every edge, or the first line, from 0, that is none.
    fn edges(&self, content: &[u8]) -> Result<Vec<Edge>, u64> {
        let mut edges = Vec::new();
        for (number, line) in content.split_inclusive(|&byte| byte == b'\n').enumerate() {
            let edge = self.line(line).map_err(|()| number as u64)?;
            edges.extend(edge);
        }
        Ok(edges)
    }

    fn line(&self, line: &[u8]) -> Result<Option<Edge>, ()> {
        let content = line.trim_ascii();
        if line.len() > LONGEST || content.contains(&0) || content.contains(&b'\r') {
            return Err(());
        }
        let is_word = |letter| content == [letter] || content.starts_with(&[letter, b' ']);
        let is_tabbed = |letter| content.starts_with(&[letter, b'\t']);
        let comment = match self.kind {
            _ if content.is_empty() => true,
            Kind::Text => [&b"#"[..], b"%", b"//"].iter().any(|mark| content.starts_with(mark)),
            Kind::Matrix => content.starts_with(b"%"),
            Kind::Dimacs => b"cn".iter().any(|&letter| is_word(letter) || is_tabbed(letter)),
        };
        if self.names && std::str::from_utf8(content).is_err() {
            return Err(());
        }
        if comment {
            return Ok(None);
        }
        let mut rest = content;
        if self.kind == Kind::Dimacs {
            if !(is_word(b'a') || is_tabbed(b'a')) || content.len() < 2 {
                return Err(());
            }
            rest = content[1..].trim_ascii_start();
        }
        let weighted = self.weights != WeightKind::None;
        let mut columns = Vec::new();
        let mut left = Some(rest);
        while let Some(rest) = left {
            let (column, behind) = self.column(rest);
            left = behind;
            columns.push(column);
            if self.kind == Kind::Text && columns.len() == 2 + usize::from(weighted) {
                break;
            }
        }
        if columns.len() > 3 || columns.len() < 2 + usize::from(weighted) {
            return Err(());
        }
        let mut wanted = columns.into_iter();
        let mut next = || wanted.next().ok_or(())?;
        let ends = [self.id(&next()?)?, self.id(&next()?)?];
        let weight = if weighted { Some(self.weight(&next()?)?.to_bits()) } else { None };
        Ok(Some((ends, weight)))
    }

    /// The first column, and what follows it.
    fn column<'l>(&self, rest: &'l [u8]) -> (Result<Vec<u8>, ()>, Option<&'l [u8]>) {
        let blank = self.separator == b' ';
        let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t');
        let skipped = |bytes: &'l [u8]| {
            let many = bytes.iter().take_while(|byte| is_blank(byte) && **byte != self.separator);
            &bytes[many.count()..]
        };
        let start = if blank { rest } else { skipped(rest) };
        if start.first() == Some(&b'"') {
            return self.quoted(&start[1..], skipped);
        }
        let ends = |byte: &u8| if blank { is_blank(byte) } else { *byte == self.separator };
        let Some(end) = rest.iter().position(ends) else {
            return (Ok(rest.trim_ascii().to_vec()), None);
        };
        let column = if blank { &rest[..end] } else { rest[..end].trim_ascii() };
        let behind = if blank { rest[end..].trim_ascii_start() } else { &rest[end + 1..] };
        (Ok(column.to_vec()), (!blank || !behind.is_empty()).then_some(behind))
    }

    /// A column whose opening quotation mark was read.
    fn quoted<'l>(
        &self,
        inside: &'l [u8],
        skipped: impl Fn(&'l [u8]) -> &'l [u8],
    ) -> (Result<Vec<u8>, ()>, Option<&'l [u8]>) {
        let (mut column, mut at) = (Vec::new(), 0);
        loop {
            match (inside.get(at), inside.get(at + 1)) {
                (None, _) => return (Err(()), None),
                (Some(b'"'), Some(b'"')) => {
                    column.push(b'"');
                    at += 2;
                }
                (Some(b'"'), _) => break,
                (Some(byte), _) => {
                    column.push(*byte);
                    at += 1;
                }
            }
        }
        let behind = &inside[at + 1..];
        let blank = self.separator == b' ';
        match if blank { behind } else { skipped(behind) } {
            [] => (Ok(column), None),
            [b' ' | b'\t', rest @ ..] if blank => (Ok(column), Some(rest.trim_ascii_start())),
            [byte, rest @ ..] if *byte == self.separator => (Ok(column), Some(rest)),
            _ => (Err(()), None),
        }
    }

    fn id(&self, column: &[u8]) -> Result<String, ()> {
        let text = String::from_utf8(column.to_vec()).map_err(drop)?;
        if self.names {
            return if (1..=64 << 10).contains(&text.len()) { Ok(text) } else { Err(()) };
        }
        if !text.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(());
        }
        let id: u64 = text.parse().map_err(drop)?;
        let declared = self.kind == Kind::Text || (1..=DECLARED).contains(&id);
        let plain = self.padded || !text.starts_with('0') || text.len() == 1;
        if declared && plain { Ok(id.to_string()) } else { Err(()) }
    }

    fn weight(&self, column: &[u8]) -> Result<f64, ()> {
        let text = std::str::from_utf8(column).map_err(drop)?;
        if self.weights == WeightKind::U32 {
            let digits = text.bytes().all(|byte| byte.is_ascii_digit());
            return if digits {
                text.parse().map(|weight: u32| weight.into()).map_err(drop)
            } else {
                Err(())
            };
        }
        let weight: f64 = text.parse().map_err(drop)?;
        let single = self.weights == WeightKind::F32;
        let held = if single { f64::from(weight as f32) } else { weight };
        if !held.is_finite() {
            return Err(());
        }
        let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
        let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
        let is_whole = whole.bytes().all(|byte| byte.is_ascii_digit())
            && fraction.bytes().all(|byte| byte == b'0');
        let digits = whole.trim_start_matches('0');
        let size = held.abs();
        // Beyond 2^64 the digits may be the fewest that tell the number.
        let fewest = if single { (size as f32).to_string() } else { size.to_string() };
        let exact = format!("{size:.0}") == digits || size >= 2f64.powi(64) && fewest == digits;
        let below = if single { 24 } else { 53 };
        if size < 2f64.powi(below) || !is_whole || exact { Ok(weight) } else { Err(()) }
    }
}
