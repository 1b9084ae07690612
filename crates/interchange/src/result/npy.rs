//! NumPy: the main column alone, one entry for each vertex in ascending order of original id.
//!
//! Whole numbers are u64; where some vertex has no value they are f64 with NaN, as long as each is
//! exact.

use std::{io::Write, path::Path};

use outercore_engine::{Cell, Column, Isolated, Meaning, NumberKind};
use outercore_graph::{Graph, GraphError, format::IdTable};

use super::{cells::Cells, for_each_batch};
use crate::{
    WriteOptions,
    publish::{Publication, write_error},
};

/// The largest whole number below which each is a f64 of its own.
const EXACT: u64 = 1 << 53;

/// Writes the file.
pub(super) fn write(
    path: &Path,
    graph: &Graph,
    columns: &[Column],
    options: &WriteOptions<'_>,
) -> Result<(), GraphError> {
    let Some(column) = columns.first() else { return Ok(()) };
    if column.meaning == Meaning::Vertex && graph.manifest().ids == IdTable::Names {
        return Err(unsuitable(
            path,
            &format!("the {} is a name, and .npy holds numbers", column.name),
        ));
    }
    let integers = matches!(column.values.kind(), NumberKind::U32 | NumberKind::U64);
    let real = !integers || has_nulls(column, graph)?;
    let mut file = Publication::begin(graph.disk(), path)?;
    let put = |file: &mut Publication, bytes: &[u8]| {
        file.write_all(bytes).map_err(|error| write_error(path, error))
    };
    put(&mut file, &header(if real { "<f8" } else { "<u8" }, graph.vertices()))?;
    let mut bytes = Vec::new();
    for_each_batch(graph, &columns[..1], options, &mut |_, cells| {
        bytes.clear();
        put_cells(&mut bytes, &cells[0], real).map_err(|why| unsuitable(path, why))?;
        put(&mut file, &bytes)
    })?;
    file.publish()
}

/// Appends the entries of a batch: f64 if they are to be `real`, else as they are; or says why they
/// cannot be kept so.
fn put_cells(bytes: &mut Vec<u8>, cells: &Cells, real: bool) -> Result<(), &'static str> {
    match cells {
        Cells::Integers(values) if real => {
            if values.iter().any(|value| value.is_some_and(|value| value > EXACT)) {
                return Err("some vertices have no value and others one above 2^53, which .npy \
                            cannot hold together");
            }
            let reals = values.iter().map(|value| value.map_or(f64::NAN, |value| value as f64));
            bytes.extend(reals.flat_map(f64::to_le_bytes));
        }
        Cells::Integers(values) => {
            bytes.extend(values.iter().flat_map(|value| value.unwrap_or(u64::MAX).to_le_bytes()))
        }
        Cells::Singles(values) => bytes.extend(
            values.iter().flat_map(|value| value.map_or(f64::NAN, f64::from).to_le_bytes()),
        ),
        Cells::Doubles(values) => {
            bytes.extend(values.iter().flat_map(|value| value.unwrap_or(f64::NAN).to_le_bytes()))
        }
        Cells::Names { .. } => return Err(".npy holds numbers"),
    }
    Ok(())
}

fn unsuitable(path: &Path, why: &str) -> GraphError {
    GraphError::Usage(format!(
        "{} cannot be written: {why}; give a name that ends in .parquet or .csv",
        path.display()
    ))
}

/// Whether some vertex has no value.
fn has_nulls(column: &Column, graph: &Graph) -> Result<bool, GraphError> {
    let isolated = graph.vertices() - graph.connected();
    let mut nulls = column.isolated == Isolated::Null && isolated > column.exceptions.len() as u64;
    column.for_each(|_, cell| nulls |= cell == Cell::Null)?;
    Ok(nulls)
}

/// The header of format 1.0: padded so that the data are aligned to 64 bytes.
fn header(kind: &str, rows: u64) -> Vec<u8> {
    let mut text = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': ({rows},), }}");
    let padding = (10 + text.len() + 1).next_multiple_of(64) - 11 - text.len();
    text.extend(std::iter::repeat_n(' ', padding));
    text.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend_from_slice(&(text.len() as u16).to_le_bytes());
    bytes.extend_from_slice(text.as_bytes());
    bytes
}
