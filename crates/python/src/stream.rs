//! A run's columns as a stream of Arrow record batches: the types are those of a Parquet result,
//! and no value is null.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, Float32Array, Float64Array, RecordBatch, RecordBatchReader, UInt32Array, UInt64Array,
    builder::StringBuilder,
};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use outercore_engine::{Cell, Column, Meaning, NumberKind};
use outercore_graph::{Keys, Result};

use crate::{columns::Columns, ids::Ranks};

/// Rows of a batch.
const BATCH: usize = 64 << 10;

/// The rows in ascending order of original id.
pub struct ResultStream {
    columns: Arc<Columns>,
    schema: SchemaRef,
    next: u64,
    /// What values that are vertices are looked up in.
    vertices: Option<(Ranks, Keys)>,
}

impl ResultStream {
    /// All rows.
    pub fn new(columns: Arc<Columns>) -> Result<Self> {
        let ids = &columns.ids;
        let id = if ids.are_names() { DataType::Utf8 } else { DataType::UInt64 };
        let kind = |column: &Column| match (column.meaning, column.values.kind()) {
            (Meaning::Vertex, _) => id.clone(),
            (_, NumberKind::U32) => DataType::UInt32,
            (_, NumberKind::U64) => DataType::UInt64,
            (_, NumberKind::F32) => DataType::Float32,
            (_, NumberKind::F64) => DataType::Float64,
        };
        let mut fields = vec![Field::new("id", id.clone(), false)];
        fields.extend(columns.all.iter().map(|column| Field::new(column.name, kind(column), true)));
        let looks_up = columns.all.iter().any(|column| column.meaning == Meaning::Vertex);
        let vertices = if looks_up {
            Some((ids.ranks()?, ids.keys(0, ids.vertices() as usize)?))
        } else {
            None
        };
        Ok(Self { columns, schema: Arc::new(Schema::new(fields)), next: 0, vertices })
    }

    fn batch(&self, count: usize) -> Result<Vec<ArrayRef>> {
        let ids = &self.columns.ids;
        let internal = ids.internal(self.next, count)?;
        let mut arrays = vec![keys(&ids.keys(self.next, count)?)];
        arrays.extend(self.columns.all.iter().map(|column| self.array(column, &internal)));
        Ok(arrays)
    }

    fn array(&self, column: &Column, internal: &[u64]) -> ArrayRef {
        let whole = |&vertex: &u64| match column.get(vertex) {
            Cell::Null => None,
            Cell::Integer(number) => Some(number),
            Cell::Float(number) => Some(number as u64),
        };
        let real = |&vertex: &u64| match column.get(vertex) {
            Cell::Null => None,
            Cell::Integer(number) => Some(number as f64),
            Cell::Float(number) => Some(number),
        };
        match (column.meaning, column.values.kind(), &self.vertices) {
            (Meaning::Vertex, _, Some((ranks, keys))) => {
                let ranks = internal
                    .iter()
                    .map(|vertex| whole(vertex).map(|value| ranks.get(value) as usize));
                match keys {
                    Keys::Numbers(numbers) => Arc::new(UInt64Array::from_iter(
                        ranks.map(|rank| rank.map(|rank| numbers[rank])),
                    )),
                    Keys::Names { .. } => {
                        let mut names = StringBuilder::new();
                        ranks
                            .for_each(|rank| names.append_option(rank.map(|rank| keys.name(rank))));
                        Arc::new(names.finish())
                    }
                }
            }
            (_, NumberKind::U32, _) => Arc::new(UInt32Array::from_iter(
                internal.iter().map(|vertex| whole(vertex).map(|number| number as u32)),
            )),
            (_, NumberKind::U64, _) => Arc::new(UInt64Array::from_iter(internal.iter().map(whole))),
            (_, NumberKind::F32, _) => Arc::new(Float32Array::from_iter(
                internal.iter().map(|vertex| real(vertex).map(|number| number as f32)),
            )),
            (_, NumberKind::F64, _) => Arc::new(Float64Array::from_iter(internal.iter().map(real))),
        }
    }
}

fn keys(keys: &Keys) -> ArrayRef {
    match keys {
        Keys::Numbers(numbers) => Arc::new(UInt64Array::from(numbers.clone())),
        Keys::Names { .. } => {
            let mut names = StringBuilder::new();
            (0..keys.len()).for_each(|index| names.append_value(keys.name(index)));
            Arc::new(names.finish())
        }
    }
}

impl Iterator for ResultStream {
    type Item = std::result::Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let left = self.columns.ids.vertices() - self.next;
        if left == 0 {
            return None;
        }
        let count = left.min(BATCH as u64) as usize;
        let arrays = self.batch(count).map_err(|error| ArrowError::ExternalError(Box::new(error)));
        self.next += count as u64;
        Some(arrays.and_then(|arrays| RecordBatch::try_new(self.schema.clone(), arrays)))
    }
}

impl RecordBatchReader for ResultStream {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}
