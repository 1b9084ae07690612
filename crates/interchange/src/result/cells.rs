//! A batch of one column's values, in the order of the rows.

use outercore_engine::{Cell, Column, Meaning, NumberKind};
use outercore_graph::{Keys, Result};

use crate::keys::{KeyLookup, Resolved};

/// The values; `None` where there is none.
pub(super) enum Cells {
    /// Whole numbers, or numeric ids.
    Integers(Vec<Option<u64>>),
    /// Single precision.
    Singles(Vec<Option<f32>>),
    /// Double precision.
    Doubles(Vec<Option<f64>>),
    /// Ids that are names.
    Names {
        /// Distinct names, without those of the rows themselves.
        names: Keys,
        /// What each row has.
        index: Vec<NameAt>,
    },
}

/// Where a cell's name is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NameAt {
    /// It has none.
    Nowhere,
    /// It is the row's own id.
    Own,
    /// In the list.
    List(u32),
}

impl Cells {
    /// The cells that internal ids `vertices`, whose original ids are `keys`, have in `column`.
    pub(super) fn of(
        column: &Column,
        cells: Vec<Cell>,
        keys: &Keys,
        vertices: &[u64],
        lookup: Option<&mut KeyLookup>,
    ) -> Result<Self> {
        let float = |cell: Cell| match cell {
            Cell::Null => None,
            Cell::Integer(number) => Some(number as f64),
            Cell::Float(number) => Some(number),
        };
        let integer = |cell: Cell| match cell {
            Cell::Null => None,
            Cell::Integer(number) => Some(number),
            Cell::Float(number) => Some(number as u64),
        };
        if let (Meaning::Vertex, Some(lookup)) = (column.meaning, lookup) {
            return Self::ids(cells.into_iter().map(integer).collect(), keys, vertices, lookup);
        }
        let cells = cells.into_iter();
        Ok(match column.values.kind() {
            NumberKind::F32 => {
                Cells::Singles(cells.map(|cell| float(cell).map(|number| number as f32)).collect())
            }
            NumberKind::F64 => Cells::Doubles(cells.map(float).collect()),
            NumberKind::U32 | NumberKind::U64 => Cells::Integers(cells.map(integer).collect()),
        })
    }

    /// Internal ids as original ones. A row's own id needs no lookup, and is the commonest.
    fn ids(
        values: Vec<Option<u64>>,
        keys: &Keys,
        vertices: &[u64],
        lookup: &mut KeyLookup,
    ) -> Result<Self> {
        let others: Vec<u64> = values
            .iter()
            .zip(vertices)
            .filter_map(|(value, own)| value.filter(|value| value != own))
            .collect();
        let mut found = 0..others.len();
        Ok(match (lookup.resolve(&others)?, keys) {
            (Resolved::Numbers(numbers), Keys::Numbers(own)) => {
                let rows = values.into_iter().zip(vertices).zip(own);
                let cell = |((value, vertex), own): ((Option<u64>, &u64), &u64)| {
                    value.map(|value| {
                        if value == *vertex {
                            *own
                        } else {
                            found.next().map_or(0, |at| numbers[at])
                        }
                    })
                };
                Cells::Integers(rows.map(cell).collect())
            }
            (Resolved::Names { names, index }, _) => {
                let cell = |(value, vertex): (Option<u64>, &u64)| match value {
                    None => NameAt::Nowhere,
                    Some(value) if value == *vertex => NameAt::Own,
                    Some(_) => found.next().map_or(NameAt::Nowhere, |at| NameAt::List(index[at])),
                };
                Cells::Names { names, index: values.into_iter().zip(vertices).map(cell).collect() }
            }
            (Resolved::Numbers(_), Keys::Names { .. }) => {
                unreachable!("a graph's ids are all numbers or all names")
            }
        })
    }
}
