//! A graph's edges by original id: Parquet, CSV, Matrix Market. An undirected edge comes once.
//!
//! Edges come in the order of the disk, 64 Ki at a time, through [`Graph::for_each_edge`]; memory
//! is that of a few batches, plus a row group in Parquet, plus the tables of `keys`.

mod matrix_market;
#[cfg(test)]
mod tests;

use std::{path::Path, sync::Arc};

use arrow_array::{
    ArrayRef, Float32Array, Float64Array, RecordBatch, UInt32Array, UInt64Array,
    builder::StringBuilder,
};
use arrow_schema::{DataType, Field};
use outercore_graph::{
    EdgeRows, Graph, Result, WeightKind,
    error::{refuse, too_small},
    format::IdTable,
};
use outercore_storage::PAGE;

use crate::{
    WriteOptions,
    keys::{KeyLookup, Resolved},
    publish::{Publication, parquet_write_error},
    result::{BATCH, csv, parquet},
    text::{Name, Text},
};

/// The format of a file of edges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportFormat {
    /// Columns source, target and, if there are weights, weight.
    Parquet,
    /// The same as text, with a header.
    Csv,
    /// Matrix Market, coordinate.
    MatrixMarket,
}

impl ExportFormat {
    /// The format that a file's name asks for, if a file of that name can be written.
    pub fn of(path: &Path) -> Result<Self> {
        let name = Name::of(path)?;
        let format = match name.ending.as_str() {
            "parquet" => Self::Parquet,
            "csv" => Self::Csv,
            "mtx" => Self::MatrixMarket,
            _ => {
                return refuse(format!(
                    "the name of the edge list {} must end in .parquet, .csv or .mtx (.csv also in \
                     .csv.gz or .csv.zst; - is standard output)",
                    path.display()
                ));
            }
        };
        name.check(path, format == Self::Csv)?;
        Ok(format)
    }
}

/// The most bytes of a row group that are gathered, about.
const GROUP_BYTES: usize = 12 << 20;
/// Bytes that names may take in a batch, about.
const NAMES: u64 = 2 << 20;

impl ExportFormat {
    /// Bytes of the process beside tables of ids and checksums: batches, and what is gathered of a
    /// row group.
    fn writing(self) -> u64 {
        match self {
            Self::Parquet => 48 << 20,
            Self::Csv | Self::MatrixMarket => 24 << 20,
        }
    }

    /// The bytes that a budget of the process leaves for the tables of ids of `graph`; refuses one
    /// in which its edges cannot be written.
    pub fn tables(self, graph: &Graph, budget: u64) -> Result<u64> {
        let of = ["out.", "ids."];
        let sections = graph.manifest().sections.iter();
        let read = sections.filter(|section| of.iter().any(|part| section.name.starts_with(part)));
        let sums: u64 = read.map(|section| section.bytes.div_ceil(PAGE as u64) * 4).sum();
        let least = (self.writing() + sums).next_multiple_of(1 << 20);
        match budget.checked_sub(least) {
            Some(left) => Ok(left),
            None => too_small(least, budget, "exporting edges"),
        }
    }
}

/// Edges of a batch: fewer where names are long.
fn batch(graph: &Graph) -> usize {
    let names = graph.manifest().section("ids.keys");
    match (&graph.manifest().ids, names) {
        (IdTable::Names, Some(names)) => {
            let mean = names.bytes / graph.vertices().max(1) + 1;
            ((NAMES / mean) as usize).clamp(1 << 8, BATCH)
        }
        _ => BATCH,
    }
}

/// Writes every edge of `graph` to the file at `path`, in the format of its extension; returns how
/// many there were. The file appears whole, or not at all.
pub fn export_edges(path: &Path, graph: &Graph, options: &WriteOptions<'_>) -> Result<u64> {
    match ExportFormat::of(path)? {
        ExportFormat::Parquet => write_parquet(path, graph, options),
        ExportFormat::Csv => write_csv(path, graph, options),
        ExportFormat::MatrixMarket => matrix_market::write(path, graph, options),
    }
}

/// Is given sources, targets and weights (empty without weights).
type Visit<'v> = &'v mut dyn FnMut(&Resolved, &Resolved, &[f64]) -> Result<()>;

/// Calls `visit` with sources, targets and weights, batch by batch; returns the number of edges.
fn for_each_batch(graph: &Graph, options: &WriteOptions<'_>, visit: Visit<'_>) -> Result<u64> {
    // One lookup for each end: sources ascend and targets do not, and each has windows of its own.
    let mut sources = KeyLookup::new(graph, options.memory / 4)?;
    let mut targets = KeyLookup::new(graph, options.memory / 4 * 3)?;
    let mut edges = 0;
    graph.for_each_edge(batch(graph), &mut |rows: &EdgeRows| {
        visit(&sources.resolve(&rows.sources)?, &targets.resolve(&rows.targets)?, &rows.weights)?;
        edges += rows.sources.len() as u64;
        options.step(rows.sources.len())
    })?;
    Ok(edges)
}

fn write_csv(path: &Path, graph: &Graph, options: &WriteOptions<'_>) -> Result<u64> {
    let mut out = Text::begin(graph.disk(), path)?;
    let kind = graph.weights();
    let weight = if kind == WeightKind::None { "" } else { ",weight" };
    out.lines.extend_from_slice(format!("source,target{weight}\n").as_bytes());
    let edges = for_each_batch(graph, options, &mut |sources, targets, weights| {
        let text = &mut out.lines;
        for row in 0..sources.len() {
            put_end(text, sources, row);
            text.push(b',');
            put_end(text, targets, row);
            if let Some(&weight) = weights.get(row) {
                text.push(b',');
                put_weight(text, weight, kind);
            }
            text.push(b'\n');
        }
        out.flush()
    })?;
    out.finish()?;
    Ok(edges)
}

fn put_end(text: &mut Vec<u8>, ends: &Resolved, row: usize) {
    match ends {
        Resolved::Numbers(numbers) => csv::put_integer(text, numbers[row]),
        Resolved::Names { names, index } => csv::put_name(text, names.name(index[row] as usize)),
    }
}

/// A weight, whole ones without a point.
fn put_weight(text: &mut Vec<u8>, weight: f64, kind: WeightKind) {
    match kind {
        WeightKind::U32 => csv::put_integer(text, weight as u64),
        // From 2^24 on, fewer digits than all of them would be another whole number.
        WeightKind::F32 if weight.abs() < kind.whole_below() => {
            text.extend_from_slice(ryu::Buffer::new().format(weight as f32).as_bytes())
        }
        WeightKind::None | WeightKind::F32 | WeightKind::F64 => csv::put_float(text, weight),
    }
}

fn write_parquet(path: &Path, graph: &Graph, options: &WriteOptions<'_>) -> Result<u64> {
    let file = Publication::begin(graph.disk(), path)?;
    let kind = graph.weights();
    let mut fields = vec![
        Field::new("source", parquet::id_type(graph), false),
        Field::new("target", parquet::id_type(graph), false),
    ];
    let weight_type = match kind {
        WeightKind::None => None,
        WeightKind::U32 => Some(DataType::UInt32),
        WeightKind::F32 => Some(DataType::Float32),
        WeightKind::F64 => Some(DataType::Float64),
    };
    fields.extend(weight_type.map(|kind| Field::new("weight", kind, false)));
    let (mut writer, schema) = parquet::writer(file, path, fields)?;
    let edges = for_each_batch(graph, options, &mut |sources, targets, weights| {
        let mut arrays = vec![end_array(sources), end_array(targets)];
        arrays.extend(weight_array(weights, kind));
        let batch = RecordBatch::try_new(schema.clone(), arrays)
            .map_err(|error| parquet_write_error(path, error.into()))?;
        writer.write(&batch).map_err(|error| parquet_write_error(path, error))?;
        // Many rows of long names are more than a row group may take.
        if writer.in_progress_size() > GROUP_BYTES {
            writer.flush().map_err(|error| parquet_write_error(path, error))?;
        }
        Ok(())
    })?;
    parquet::finish(writer, path)?;
    Ok(edges)
}

fn end_array(ends: &Resolved) -> ArrayRef {
    match ends {
        Resolved::Numbers(numbers) => Arc::new(UInt64Array::from(numbers.clone())),
        Resolved::Names { names, index } => {
            let mut builder = StringBuilder::new();
            index.iter().for_each(|&at| builder.append_value(names.name(at as usize)));
            Arc::new(builder.finish())
        }
    }
}

fn weight_array(weights: &[f64], kind: WeightKind) -> Option<ArrayRef> {
    Some(match kind {
        WeightKind::None => return None,
        WeightKind::U32 => {
            Arc::new(UInt32Array::from_iter_values(weights.iter().map(|&weight| weight as u32)))
        }
        WeightKind::F32 => {
            Arc::new(Float32Array::from_iter_values(weights.iter().map(|&weight| weight as f32)))
        }
        WeightKind::F64 => Arc::new(Float64Array::from_iter_values(weights.iter().copied())),
    })
}
