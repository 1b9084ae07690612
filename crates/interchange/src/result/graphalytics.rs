//! LDBC Graphalytics' output: a line for each vertex, its id and its value with a space between, no
//! header.
//!
//! What has no value is what the benchmark's specification says: a level of 2^63 - 1, a distance of
//! `infinity`.

use std::path::Path;

use outercore_engine::Column;
use outercore_graph::{Graph, Result, error::refuse, format::IdTable};

use super::{
    cells::Cells,
    csv::{put_float, put_integer, put_key},
    for_each_batch,
};
use crate::{WriteOptions, text::Text};

/// A whole number that is not there.
const NO_INTEGER: u64 = i64::MAX as u64;
/// A real number that is not there.
const NO_FLOAT: &[u8] = b"infinity";

/// Writes the main column.
pub(super) fn write(
    path: &Path,
    graph: &Graph,
    columns: &[Column],
    options: &WriteOptions<'_>,
) -> Result<()> {
    let Some(column) = columns.first() else { return Ok(()) };
    if graph.manifest().ids == IdTable::Names {
        return refuse(format!(
            "{} cannot be written: Graphalytics names vertices by numbers, and this graph's are \
             strings; give a name that ends in .parquet or .csv",
            path.display()
        ));
    }
    let mut out = Text::begin(graph.disk(), path)?;
    for_each_batch(graph, std::slice::from_ref(column), options, &mut |keys, cells| {
        let text = &mut out.lines;
        for row in 0..keys.len() {
            put_key(text, keys, row);
            text.push(b' ');
            match &cells[0] {
                Cells::Integers(values) => put_integer(text, values[row].unwrap_or(NO_INTEGER)),
                Cells::Singles(values) => put_real(text, values[row].map(f64::from)),
                Cells::Doubles(values) => put_real(text, values[row]),
                Cells::Names { .. } => unreachable!("ids are numbers"),
            }
            text.push(b'\n');
        }
        out.flush()
    })?;
    out.finish()
}

fn put_real(text: &mut Vec<u8>, value: Option<f64>) {
    match value {
        Some(value) => put_float(text, value),
        None => text.extend_from_slice(NO_FLOAT),
    }
}
