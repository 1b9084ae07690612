//! The columns of a run by original id: CSV, lines of JSON, Parquet, NumPy, Graphalytics' format.
//!
//! Rows come in ascending order of original id, 64 Ki at a time, through
//! [`outercore_graph::Graph::for_each_key`]. Memory is that of a few batches, of a row group in
//! Parquet, of the tables of `keys` where a value is itself a vertex, and of windows of rows where
//! values are on scratch (`by_row`).

mod by_row;
mod cells;
pub(crate) mod csv;
mod graphalytics;
mod npy;
pub(crate) mod parquet;
#[cfg(test)]
mod tests;

use std::{path::Path, str::FromStr};

use outercore_engine::{Column, Meaning};
use outercore_graph::{Graph, GraphError, Keys, Result};

use self::{by_row::ByRow, cells::Cells, csv::Lines};
use crate::{WriteOptions, keys::KeyLookup, text::Name};

/// Rows of a batch.
pub(crate) const BATCH: usize = 64 << 10;

/// The format of a result file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultFormat {
    /// Text with a header; no value is an empty field.
    Csv,
    /// The same with tabs.
    Tsv,
    /// A JSON object for each vertex, one a line; no value is null.
    Jsonl,
    /// Zstd-compressed; no value is null.
    Parquet,
    /// The main column alone, in ascending order of original id; no value is NaN.
    Npy,
    /// The main column as LDBC Graphalytics writes and validates it: `id value` lines.
    Graphalytics,
}

impl ResultFormat {
    /// The format that a file's name asks for, if a file of that name can be written.
    pub fn of(path: &Path) -> Result<Self> {
        let name = Name::of(path)?;
        let format = Self::from_str(&name.ending).map_err(|()| {
            GraphError::Usage(format!(
                "the name of the result {} must end in .csv, .tsv, .jsonl, .parquet, .npy or \
                 .graphalytics (text also in .gz or .zst behind that; - is standard output)",
                path.display()
            ))
        })?;
        name.check(path, !matches!(format, Self::Parquet | Self::Npy))?;
        Ok(format)
    }
}

impl FromStr for ResultFormat {
    type Err = ();

    fn from_str(extension: &str) -> std::result::Result<Self, ()> {
        match extension {
            "csv" => Ok(Self::Csv),
            "tsv" => Ok(Self::Tsv),
            "jsonl" => Ok(Self::Jsonl),
            "parquet" => Ok(Self::Parquet),
            "npy" => Ok(Self::Npy),
            "graphalytics" => Ok(Self::Graphalytics),
            _ => Err(()),
        }
    }
}

/// Writes `columns` by original id to the file at `path`, in the format of its extension; text is
/// packed if `.gz` or `.zst` follows. The file appears whole, or not at all. The path `-` is CSV to
/// standard output.
pub fn write_result(path: &Path, graph: &Graph, columns: &[Column]) -> Result<()> {
    write_result_with(path, graph, columns, &WriteOptions::default())
}

/// [`write_result`] with a bound on memory, and the means to stop it.
pub fn write_result_with(
    path: &Path,
    graph: &Graph,
    columns: &[Column],
    options: &WriteOptions<'_>,
) -> Result<()> {
    match ResultFormat::of(path)? {
        ResultFormat::Csv => csv::write(path, graph, columns, options, Lines::Separated(b',')),
        ResultFormat::Tsv => csv::write(path, graph, columns, options, Lines::Separated(b'\t')),
        ResultFormat::Jsonl => csv::write(path, graph, columns, options, Lines::Objects),
        ResultFormat::Parquet => parquet::write(path, graph, columns, options),
        ResultFormat::Npy => npy::write(path, graph, columns, options),
        ResultFormat::Graphalytics => graphalytics::write(path, graph, columns, options),
    }
}

/// The most bytes of scratch that writing so many columns takes whose values are on scratch.
pub fn result_scratch(graph: &Graph, columns: u64) -> u64 {
    columns * ByRow::scratch(graph)
}

/// Calls `visit` with the original ids and the cells of each column, batch by batch.
fn for_each_batch(
    graph: &Graph,
    columns: &[Column],
    options: &WriteOptions<'_>,
    visit: &mut dyn FnMut(&Keys, &[Cells]) -> Result<()>,
) -> Result<()> {
    let looks_up = columns.iter().any(|column| column.meaning == Meaning::Vertex);
    // What is on scratch, and the table that vertices are looked up in, have equal parts.
    let stored = columns.iter().filter(|column| ByRow::is_for(graph, column)).count();
    let share = options.memory / (stored as u64 + u64::from(looks_up)).max(1);
    let by_row = |column: &Column| {
        let is_stored = ByRow::is_for(graph, column);
        is_stored.then(|| ByRow::new(graph, column, share, options)).transpose()
    };
    let mut by_row = columns.iter().map(by_row).collect::<Result<Vec<_>>>()?;
    let mut lookup = if looks_up { Some(KeyLookup::new(graph, share)?) } else { None };
    let mut first = 0;
    graph.for_each_key(BATCH, &mut |keys, vertices| {
        let of = |(column, by_row): (&Column, &mut Option<ByRow>)| {
            let cells = match by_row {
                Some(by_row) => by_row.cells(column, first, vertices)?,
                None => column.gather(vertices)?,
            };
            Cells::of(column, cells, keys, vertices, lookup.as_mut())
        };
        let cells = columns.iter().zip(&mut by_row).map(of).collect::<Result<Vec<_>>>()?;
        first += vertices.len() as u64;
        visit(keys, &cells)?;
        options.step(vertices.len())
    })
}
