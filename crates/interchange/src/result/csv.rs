//! Lines of text, one for each vertex: values with commas or tabs between them under a header, or
//! JSON objects.

use std::path::Path;

use outercore_engine::Column;
use outercore_graph::{Graph, Keys, Result};

use super::{
    cells::{Cells, NameAt},
    for_each_batch,
};
use crate::{WriteOptions, text::Text};

/// What a line is.
#[derive(Clone, Copy)]
pub(super) enum Lines {
    /// Values with this between them, under a header.
    Separated(u8),
    /// An object, with the names of the columns.
    Objects,
}

/// Writes the file.
pub(super) fn write(
    path: &Path,
    graph: &Graph,
    columns: &[Column],
    options: &WriteOptions<'_>,
    lines: Lines,
) -> Result<()> {
    let mut out = Text::begin(graph.disk(), path)?;
    if let Lines::Separated(by) = lines {
        put(&mut out.lines, "id");
        for column in columns {
            out.lines.push(by);
            put(&mut out.lines, column.name);
        }
        out.lines.push(b'\n');
    }
    for_each_batch(graph, columns, options, &mut |keys, cells| {
        let text = &mut out.lines;
        for row in 0..keys.len() {
            match lines {
                Lines::Separated(by) => {
                    put_key(text, keys, row);
                    for cells in cells {
                        text.push(by);
                        put_cell(text, cells, keys, row, put_name);
                    }
                }
                Lines::Objects => put_object(text, (columns, cells), keys, row),
            }
            text.push(b'\n');
        }
        out.flush()
    })?;
    out.finish()
}

/// How a name is written.
type PutName = fn(&mut Vec<u8>, &str);

/// An original id.
pub(crate) fn put_key(text: &mut Vec<u8>, keys: &Keys, row: usize) {
    put_id(text, keys, row, put_name);
}

fn put_id(text: &mut Vec<u8>, keys: &Keys, row: usize, put_name: PutName) {
    match keys {
        Keys::Numbers(numbers) => put_integer(text, numbers[row]),
        Keys::Names { .. } => put_name(text, keys.name(row)),
    }
}

fn put_object(
    text: &mut Vec<u8>,
    (columns, cells): (&[Column], &[Cells]),
    keys: &Keys,
    row: usize,
) {
    put(text, "{\"id\":");
    put_id(text, keys, row, put_string);
    for (column, cells) in columns.iter().zip(cells) {
        text.push(b',');
        put_string(text, column.name);
        text.push(b':');
        let before = text.len();
        put_cell(text, cells, keys, row, put_string);
        if text.len() == before {
            put(text, "null");
        }
    }
    text.push(b'}');
}

/// A string of JSON.
pub(super) fn put_string(text: &mut Vec<u8>, name: &str) {
    text.push(b'"');
    for byte in name.bytes() {
        match byte {
            b'"' | b'\\' => text.extend([b'\\', byte]),
            0..0x20 => put(text, &format!("\\u{byte:04x}")),
            _ => text.push(byte),
        }
    }
    text.push(b'"');
}

fn put_cell(text: &mut Vec<u8>, cells: &Cells, keys: &Keys, row: usize, put_name: PutName) {
    match cells {
        Cells::Integers(values) => {
            values[row].into_iter().for_each(|value| put_integer(text, value))
        }
        Cells::Singles(values) => values[row]
            .into_iter()
            .for_each(|value| put(text, ryu::Buffer::new().format_finite(value))),
        Cells::Doubles(values) => values[row].into_iter().for_each(|value| put_float(text, value)),
        Cells::Names { names, index } => match index[row] {
            NameAt::Nowhere => {}
            NameAt::Own => put_id(text, keys, row, put_name),
            NameAt::List(at) => put_name(text, names.name(at as usize)),
        },
    }
}

/// A whole number.
pub(crate) fn put_integer(text: &mut Vec<u8>, value: u64) {
    put(text, itoa::Buffer::new().format(value));
}

/// The shortest digits that give this number back.
pub(crate) fn put_float(text: &mut Vec<u8>, value: f64) {
    put(text, ryu::Buffer::new().format_finite(value));
}

/// A name, in quotes where it would not be read back otherwise. An empty name is quoted, to differ
/// from no value.
pub(crate) fn put_name(text: &mut Vec<u8>, name: &str) {
    // Tabs could pass for what separates columns, and the marks of a comment for one.
    let special = |byte: u8| matches!(byte, b',' | b'"' | b'\n' | b'\r' | b'\t');
    let begins = |mark: &&str| name.starts_with(*mark);
    let is_plain = name.trim_ascii() == name && !["#", "%", "//"].iter().any(begins);
    if !name.is_empty() && is_plain && !name.bytes().any(special) {
        return put(text, name);
    }
    text.push(b'"');
    for byte in name.bytes() {
        if byte == b'"' {
            text.push(b'"');
        }
        text.push(byte);
    }
    text.push(b'"');
}

fn put(text: &mut Vec<u8>, part: &str) {
    text.extend_from_slice(part.as_bytes());
}
