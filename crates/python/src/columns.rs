//! A run's columns and the way to original ids: values stay as the engine left them, by internal
//! id, until they are asked for, and then go through one gather.

use outercore_engine::{Cell, Column, Meaning, NumberKind};
use outercore_graph::GraphError;

use crate::ids::Ids;

/// Ranks of a step of a gather.
pub const STEP: usize = 1 << 20;

/// The columns of a run, and the way to original ids.
pub struct Columns {
    /// The ids.
    pub ids: Ids,
    /// The columns, the main one first.
    pub all: Vec<Column>,
}

/// A gathered column.
pub enum Gathered {
    /// Whole numbers.
    Integers(Vec<i64>),
    /// Numbers of single precision.
    Singles(Vec<f32>),
    /// Numbers of double precision.
    Doubles(Vec<f64>),
}

impl Columns {
    /// `of` every vertex's internal id, in ascending order of original id.
    fn gather<T>(&self, of: impl Fn(u64) -> Result<T, GraphError>) -> Result<Vec<T>, GraphError> {
        let vertices = self.ids.vertices();
        let mut gathered = Vec::with_capacity(vertices as usize);
        for first in (0..vertices).step_by(STEP) {
            let count = (vertices - first).min(STEP as u64) as usize;
            for vertex in self.ids.internal(first, count)? {
                gathered.push(of(vertex)?);
            }
        }
        Ok(gathered)
    }

    /// The column's values; of a vertex its rank. Whole numbers have -1 for no value, others NaN.
    pub fn values(&self, column: &Column) -> Result<Gathered, GraphError> {
        let real = |cell: Cell| match cell {
            Cell::Null => f64::NAN,
            Cell::Integer(number) => number as f64,
            Cell::Float(number) => number,
        };
        let whole = |number: u64| {
            let wide = || {
                GraphError::Usage(format!(
                    "the {} {number} does not fit into int64; use to_arrow()",
                    column.name
                ))
            };
            i64::try_from(number).map_err(|_| wide())
        };
        if column.meaning == Meaning::Vertex {
            let ranks = self.ids.ranks()?;
            let rank = |vertex| match column.get(vertex) {
                Cell::Null => Ok(-1),
                Cell::Integer(value) => whole(ranks.get(value)),
                Cell::Float(value) => whole(ranks.get(value as u64)),
            };
            return self.gather(rank).map(Gathered::Integers);
        }
        match column.values.kind() {
            NumberKind::F32 => {
                self.gather(|vertex| Ok(real(column.get(vertex)) as f32)).map(Gathered::Singles)
            }
            NumberKind::F64 => {
                self.gather(|vertex| Ok(real(column.get(vertex)))).map(Gathered::Doubles)
            }
            NumberKind::U32 | NumberKind::U64 => {
                let value = |vertex| match column.get(vertex) {
                    Cell::Null => Ok(-1),
                    Cell::Integer(number) => whole(number),
                    Cell::Float(number) => whole(number as u64),
                };
                self.gather(value).map(Gathered::Integers)
            }
        }
    }
}
