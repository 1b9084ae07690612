//! Comma-separated values: a header, then a line for each vertex.

use std::{io::Write, path::Path};

use outercore_engine::Column;
use outercore_graph::{Graph, Keys, Result};

use super::{
    cells::{Cells, NameAt},
    for_each_batch,
};
use crate::{
    WriteOptions,
    publish::{Publication, write_error},
};

/// Writes the file.
pub(super) fn write(
    path: &Path,
    graph: &Graph,
    columns: &[Column],
    options: &WriteOptions<'_>,
) -> Result<()> {
    let mut file = Publication::begin(graph.disk(), path)?;
    let mut text = b"id".to_vec();
    for column in columns {
        text.push(b',');
        text.extend_from_slice(column.name.as_bytes());
    }
    text.push(b'\n');
    for_each_batch(graph, columns, options, &mut |keys, cells| {
        for row in 0..keys.len() {
            put_key(&mut text, keys, row);
            for cells in cells {
                text.push(b',');
                put_cell(&mut text, cells, keys, row);
            }
            text.push(b'\n');
        }
        file.write_all(&text).map_err(|error| write_error(path, error))?;
        text.clear();
        Ok(())
    })?;
    // The header of a graph without vertices.
    file.write_all(&text).map_err(|error| write_error(path, error))?;
    file.publish()
}

/// An original id.
pub(crate) fn put_key(text: &mut Vec<u8>, keys: &Keys, row: usize) {
    match keys {
        Keys::Numbers(numbers) => put_integer(text, numbers[row]),
        Keys::Names { .. } => put_name(text, keys.name(row)),
    }
}

fn put_cell(text: &mut Vec<u8>, cells: &Cells, keys: &Keys, row: usize) {
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
            NameAt::Own => put_key(text, keys, row),
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
