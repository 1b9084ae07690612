//! [`NumberFile`]: a number for each vertex from a file, in ascending order of original ids, as
//! results are written: a number in each line, or an id and its number under a header or none,
//! packed or not; or an NPY array.

use std::{
    io::{BufRead, BufReader, Read},
    path::Path,
};

use outercore_storage::Disk;

use super::{
    fault,
    fields::{Comments, MAX_LINE, Separator, columns, has_outside_quotes, number, show, trim},
    npy::NpyHeader,
    source::{InputBytes, Stream},
};
use crate::{
    error::{GraphError, InputError, Result},
    types::Key,
};

/// Bytes of a reader's buffer.
const BUFFER: usize = 256 << 10;
/// What is granted to a frame of zstd: it may have a window of 8 MiB.
const WINDOW: u64 = (8 << 20) / 7 * 8 + 8;

const ADVICE: &str = "write a number for each vertex, in ascending order of ids, as `outercore run \
                      -o FILE.csv` does";

/// A file of numbers that is being read.
pub(crate) struct NumberFile {
    source: InputBytes,
    reader: BufReader<Stream>,
    /// How many vertices there are.
    vertices: u64,
    form: Form,
}

/// What the file is.
enum Form {
    /// An array, of which so many numbers were read.
    Npy(NpyHeader, u64),
    Lines(NumberLine),
}

/// The line at hand.
#[derive(Default)]
struct NumberLine {
    content: Vec<u8>,
    /// Its number.
    at: u64,
    /// What separates columns; `None`: no line was read.
    separator: Option<Separator>,
}

impl NumberFile {
    /// Bytes of memory that reading takes.
    pub(crate) const BYTES: u64 = 4 * BUFFER as u64 + WINDOW;

    /// Opens it for a graph of so many vertices.
    pub(crate) fn open(disk: &Disk, path: &Path, vertices: u64) -> Result<Self> {
        let source = InputBytes::open(disk, path, None)?;
        let npy = NpyHeader::of(path, &source.head)?;
        let opened = source.start(WINDOW).map_err(|error| match error {
            GraphError::Memory { .. } => too_wide(path),
            other => other,
        });
        let mut reader = BufReader::with_capacity(BUFFER, opened?.0.into_stream());
        let form = match npy {
            Some(header) => {
                let read = reader.read_exact(&mut vec![0; header.bytes]);
                read.map_err(|error| source.error(0, error))?;
                Form::Npy(header, 0)
            }
            None => Form::Lines(NumberLine::default()),
        };
        Ok(Self { source, reader, vertices, form })
    }

    /// The number of the next vertex, which has this id. What is no finite number, another id, and
    /// the end of the file are errors.
    pub(crate) fn next(&mut self, key: &dyn Fn() -> Key) -> Result<f64> {
        let Self { source, reader, vertices, form } = self;
        let too_few = || {
            let what = format!("there are too few numbers: the graph has {vertices} vertices");
            fault(&source.path, what, ADVICE)
        };
        match form {
            Form::Lines(line) => loop {
                if !line.advance(source, reader)? {
                    return Err(too_few());
                }
                if let Some(number) = line.number(key).map_err(|what| line.wrong(source, what))? {
                    return Ok(number);
                }
            },
            Form::Npy(header, at) => {
                let number = header.next(reader).map_err(|error| source.error(0, error))?;
                let number = number.ok_or_else(too_few)?;
                *at += 1;
                if number.is_finite() {
                    return Ok(number);
                }
                Err(fault(&source.path, format!("number {at} is {number}"), ADVICE))
            }
        }
    }

    /// Complains if something is left after the last vertex, or if the file changed meanwhile.
    pub(crate) fn end(mut self) -> Result<()> {
        let Self { source, reader, vertices, form } = &mut self;
        let more = format!("the graph has {vertices} vertices, and here are more numbers");
        let is_over = match form {
            Form::Lines(line) => match line.advance(source, reader)? {
                true => return Err(line.wrong(source, more)),
                false => true,
            },
            Form::Npy(header, _) => {
                header.next(reader).map_err(|error| source.error(0, error))?.is_none()
            }
        };
        if is_over { source.recheck() } else { Err(fault(&source.path, more, ADVICE)) }
    }
}

impl NumberLine {
    /// Reads up to the next line that is neither empty nor a comment; `false`: there is none.
    fn advance(&mut self, source: &InputBytes, reader: &mut BufReader<Stream>) -> Result<bool> {
        loop {
            let mut line = std::mem::take(&mut self.content);
            line.clear();
            let read = reader.by_ref().take(MAX_LINE as u64 + 1).read_until(b'\n', &mut line);
            let read = read.map_err(|error| match source.error(0, error) {
                GraphError::Memory { .. } => too_wide(&source.path),
                other => other,
            })?;
            if self.at == 0 && line.starts_with(b"\xef\xbb\xbf") {
                line.drain(..3);
            }
            self.at += 1;
            if read == 0 {
                return Ok(false);
            }
            let content = trim(&line).map_err(|fault| self.wrong(source, fault.what))?;
            if !content.is_empty() && !Comments::Text.has(content) {
                self.content = content.to_vec();
                return Ok(true);
            }
            self.content = line;
        }
    }

    /// The number in it, which is that of the vertex with this id; `None`: it is a header. The
    /// error is what is wrong.
    fn number(&mut self, key: &dyn Fn() -> Key) -> std::result::Result<Option<f64>, String> {
        let is_first = self.separator.is_none();
        let separator = *self.separator.get_or_insert_with(|| separator_of(&self.content));
        let read: std::result::Result<Vec<_>, _> = columns(&self.content, separator).collect();
        let read = read?;
        let (id, text) = match &read[..] {
            [text] => (None, text),
            [id, text] => (Some(id), text),
            _ => {
                let found = show(&self.content);
                return Err(format!("neither a number nor an id and a number: {found}"));
            }
        };
        let number: Option<f64> = fast_float2::parse(text).ok();
        if id.is_none_or(|id| is_id(id, &key())) {
            return match number {
                Some(number) if number.is_finite() => Ok(Some(number)),
                None if is_first && id.is_none() => Ok(None),
                _ => Err(format!("{} is no finite number", show(text))),
            };
        }
        if is_first && number.is_none() {
            return Ok(None);
        }
        let (found, expected) = (id.map(|id| show(id)).unwrap_or_default(), key());
        Err(format!("the id is {found}, and {expected} is expected"))
    }

    /// An error about it.
    fn wrong(&self, source: &InputBytes, what: String) -> GraphError {
        let (path, advice) = (source.path.clone(), ADVICE.to_owned());
        InputError { path, line: Some(self.at), offset: None, what, advice }.into()
    }
}

/// What is wrong with a frame of zstd that asks for more than [`WINDOW`].
fn too_wide(path: &Path) -> GraphError {
    let what = "the zstd stream needs a window of more than 8 MiB";
    fault(path, what, "pack the file again without --long or --ultra, or unpack it")
}

/// What separates the columns of a line.
fn separator_of(line: &[u8]) -> Separator {
    let known = [(b',', Separator::Comma), (b'\t', Separator::Tab), (b';', Separator::Semicolon)];
    let found = known.into_iter().find(|(byte, _)| has_outside_quotes(line, *byte));
    found.map_or(Separator::Blank, |(_, separator)| separator)
}

/// Whether a column is this id as it is written.
fn is_id(column: &[u8], key: &Key) -> bool {
    match key {
        Key::Number(id) => number(column) == Some(*id),
        Key::Name(id) => column == id.as_bytes(),
    }
}
