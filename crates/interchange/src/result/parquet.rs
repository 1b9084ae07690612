//! Parquet, Zstd-compressed: ids as UInt64 or Utf8, one column for each of the run's.

use std::{path::Path, sync::Arc};

use ::parquet::{
    arrow::ArrowWriter,
    basic::{Compression, ZstdLevel},
    file::properties::WriterProperties,
};
use arrow_array::{
    ArrayRef, Float32Array, Float64Array, RecordBatch, StringArray, UInt32Array, UInt64Array,
    builder::StringBuilder,
};
use arrow_schema::{DataType, Field, Schema};
use outercore_engine::{Column, Meaning, NumberKind};
use outercore_graph::{Graph, Keys, Result, format::IdTable};

use super::{
    cells::{Cells, NameAt},
    for_each_batch,
};
use crate::{
    WriteOptions,
    publish::{Publication, parquet_write_error},
};

/// Rows of a row group: what is held in memory until it is written.
const GROUP: usize = 256 << 10;

/// The writer of a file with these columns.
pub(crate) fn writer(
    file: Publication,
    path: &Path,
    fields: Vec<Field>,
) -> Result<(ArrowWriter<Publication>, Arc<Schema>)> {
    let schema = Arc::new(Schema::new(fields));
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_max_row_group_row_count(Some(GROUP))
        .set_created_by(format!("outercore {}", env!("CARGO_PKG_VERSION")))
        .build();
    let writer = ArrowWriter::try_new(file, schema.clone(), Some(properties))
        .map_err(|error| parquet_write_error(path, error))?;
    Ok((writer, schema))
}

/// The type of a graph's original ids.
pub(crate) fn id_type(graph: &Graph) -> DataType {
    if matches!(graph.manifest().ids, IdTable::Names) { DataType::Utf8 } else { DataType::UInt64 }
}

/// Ends the file and publishes it.
pub(crate) fn finish(writer: ArrowWriter<Publication>, path: &Path) -> Result<()> {
    writer.into_inner().map_err(|error| parquet_write_error(path, error))?.publish()
}

/// Writes the file.
pub(super) fn write(
    path: &Path,
    graph: &Graph,
    columns: &[Column],
    options: &WriteOptions<'_>,
) -> Result<()> {
    let file = Publication::begin(graph.disk(), path)?;
    let mut fields = vec![Field::new("id", id_type(graph), false)];
    fields
        .extend(columns.iter().map(|column| Field::new(column.name, type_of(column, graph), true)));
    let (mut writer, schema) = writer(file, path, fields)?;
    for_each_batch(graph, columns, options, &mut |keys, cells| {
        let mut arrays = vec![key_array(keys)];
        arrays.extend(
            cells
                .iter()
                .zip(schema.fields().iter().skip(1))
                .map(|(cells, field)| array(cells, keys, field.data_type())),
        );
        let batch = RecordBatch::try_new(schema.clone(), arrays)
            .map_err(|error| parquet_write_error(path, error.into()))?;
        writer.write(&batch).map_err(|error| parquet_write_error(path, error))
    })?;
    finish(writer, path)
}

fn type_of(column: &Column, graph: &Graph) -> DataType {
    match (column.values.kind(), column.meaning) {
        (_, Meaning::Vertex) => id_type(graph),
        (NumberKind::U32, _) => DataType::UInt32,
        (NumberKind::U64, _) => DataType::UInt64,
        (NumberKind::F32, _) => DataType::Float32,
        (NumberKind::F64, _) => DataType::Float64,
    }
}

/// Original ids.
fn key_array(keys: &Keys) -> ArrayRef {
    match keys {
        Keys::Numbers(numbers) => Arc::new(UInt64Array::from(numbers.clone())),
        Keys::Names { .. } => {
            Arc::new(StringArray::from_iter_values((0..keys.len()).map(|row| keys.name(row))))
        }
    }
}

fn array(cells: &Cells, keys: &Keys, kind: &DataType) -> ArrayRef {
    match cells {
        // A U32 column's values, and that of an isolated vertex, fit: the type comes from the
        // column.
        Cells::Integers(values) if *kind == DataType::UInt32 => Arc::new(
            values.iter().map(|value| value.map(|value| value as u32)).collect::<UInt32Array>(),
        ),
        Cells::Integers(values) => Arc::new(UInt64Array::from_iter(values.iter().copied())),
        Cells::Singles(values) => Arc::new(Float32Array::from_iter(values.iter().copied())),
        Cells::Doubles(values) => Arc::new(Float64Array::from_iter(values.iter().copied())),
        Cells::Names { names, index } => {
            let mut builder = StringBuilder::new();
            for (row, at) in index.iter().enumerate() {
                builder.append_option(match at {
                    NameAt::Nowhere => None,
                    NameAt::Own => Some(keys.name(row)),
                    NameAt::List(at) => Some(names.name(*at as usize)),
                });
            }
            Arc::new(builder.finish())
        }
    }
}
