//! Per-vertex values: what a program leaves ([`FinalValues`]), and the numbers of a result's column
//! ([`Values`]), in memory or on scratch.

use outercore_graph::Graph;
use outercore_storage::{HugePages, HugeVec, Pod};

use crate::{
    error::Result,
    external::stored::Stored,
    report::{Cell, Column, Isolated},
};

/// What a program leaves for each connected vertex, by internal id.
pub enum FinalValues<V: Pod> {
    /// In memory.
    Memory(HugeVec<V>),
    /// On scratch.
    Stored(Stored<V>),
}

/// The values of a column, by internal id.
pub enum Values {
    /// `u32::MAX`: no value.
    U32(HugeVec<u32>),
    /// `u64::MAX`: no value.
    U64(HugeVec<u64>),
    /// Infinity or NaN: no value.
    F32(HugeVec<f32>),
    /// Infinity or NaN: no value.
    F64(HugeVec<f64>),
    /// On scratch.
    Stored(StoredValues),
}

/// Values on scratch; what stands for no value is as in [`Values`].
pub enum StoredValues {
    /// 32-bit whole numbers.
    U32(Stored<u32>),
    /// 64-bit whole numbers.
    U64(Stored<u64>),
    /// Single precision.
    F32(Stored<f32>),
    /// Double precision.
    F64(Stored<f64>),
}

/// The type of a column's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumberKind {
    /// 32-bit whole numbers.
    U32,
    /// 64-bit whole numbers.
    U64,
    /// Single precision.
    F32,
    /// Double precision.
    F64,
}

/// A number that a column can have.
pub trait Number: Pod + Copy + Send {
    /// As a column's values.
    fn memory(values: HugeVec<Self>) -> Values;
    /// As a column's values on scratch.
    fn stored(values: Stored<Self>) -> Values;
    /// As a cell.
    fn cell(self) -> Cell;
}

macro_rules! number {
    ($type:ty, $variant:ident, $cell:expr) => {
        impl Number for $type {
            fn memory(values: HugeVec<Self>) -> Values {
                Values::$variant(values)
            }
            fn stored(values: Stored<Self>) -> Values {
                Values::Stored(StoredValues::$variant(values))
            }
            #[inline(always)]
            fn cell(self) -> Cell {
                $cell(self)
            }
        }
    };
}
number!(u32, U32, |value| if value == u32::MAX {
    Cell::Null
} else {
    Cell::Integer(u64::from(value))
});
number!(u64, U64, |value| if value == u64::MAX { Cell::Null } else { Cell::Integer(value) });
number!(f32, F32, |value: f32| if value.is_finite() {
    Cell::Float(f64::from(value))
} else {
    Cell::Null
});
number!(f64, F64, |value: f64| if value.is_finite() { Cell::Float(value) } else { Cell::Null });

impl<V: Pod + Copy> FinalValues<V> {
    /// Shows every value in the order of the vertices.
    pub fn for_each(&self, mut visit: impl FnMut(u64, &V)) -> Result<()> {
        let mut all = |first: u64, values: &[V]| {
            (first..).zip(values).for_each(|(vertex, value)| visit(vertex, value))
        };
        match self {
            FinalValues::Memory(values) => {
                all(0, values);
                Ok(())
            }
            FinalValues::Stored(stored) => stored.for_each(|first, values| {
                all(first, values);
                Ok(())
            }),
        }
    }

    /// A column's values, made of these one by one; where these are.
    pub fn map<T: Number>(
        &self,
        graph: &Graph,
        huge: HugePages,
        mut make: impl FnMut(&V) -> T,
    ) -> Result<Values> {
        match self {
            FinalValues::Memory(values) => {
                let mut made: HugeVec<T> = HugeVec::zeroed(values.len(), huge)?;
                made.iter_mut().zip(values.iter()).for_each(|(made, value)| *made = make(value));
                Ok(T::memory(made))
            }
            FinalValues::Stored(stored) => Ok(T::stored(stored.map(graph, make)?)),
        }
    }
}

impl<V: Number> FinalValues<V> {
    /// These, as a column's values.
    pub fn into_values(self) -> Values {
        match self {
            FinalValues::Memory(values) => V::memory(values),
            FinalValues::Stored(stored) => V::stored(stored),
        }
    }
}

impl Values {
    /// The type of the numbers.
    pub fn kind(&self) -> NumberKind {
        match self {
            Values::U32(_) | Values::Stored(StoredValues::U32(_)) => NumberKind::U32,
            Values::U64(_) | Values::Stored(StoredValues::U64(_)) => NumberKind::U64,
            Values::F32(_) | Values::Stored(StoredValues::F32(_)) => NumberKind::F32,
            Values::F64(_) | Values::Stored(StoredValues::F64(_)) => NumberKind::F64,
        }
    }

    /// How many values there are.
    pub fn len(&self) -> usize {
        match self {
            Values::U32(values) => values.len(),
            Values::U64(values) => values.len(),
            Values::F32(values) => values.len(),
            Values::F64(values) => values.len(),
            Values::Stored(StoredValues::U32(values)) => values.len(),
            Values::Stored(StoredValues::U64(values)) => values.len(),
            Values::Stored(StoredValues::F32(values)) => values.len(),
            Values::Stored(StoredValues::F64(values)) => values.len(),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The same values in memory.
    fn into_memory(self) -> Result<Values> {
        fn all<T: Number>(stored: &Stored<T>) -> Result<Values> {
            let mut memory: HugeVec<T> = HugeVec::zeroed(stored.len(), HugePages::Off)?;
            stored.for_each(|first, values| {
                memory[first as usize..first as usize + values.len()].copy_from_slice(values);
                Ok(())
            })?;
            Ok(T::memory(memory))
        }
        match self {
            Values::Stored(StoredValues::U32(stored)) => all(&stored),
            Values::Stored(StoredValues::U64(stored)) => all(&stored),
            Values::Stored(StoredValues::F32(stored)) => all(&stored),
            Values::Stored(StoredValues::F64(stored)) => all(&stored),
            memory => Ok(memory),
        }
    }
}

impl StoredValues {
    fn gather(&self, vertices: &[u64]) -> Result<Vec<Cell>> {
        fn cells<T: Number>(stored: &Stored<T>, vertices: &[u64]) -> Result<Vec<Cell>> {
            Ok(stored.gather(vertices)?.into_iter().map(T::cell).collect())
        }
        match self {
            StoredValues::U32(stored) => cells(stored, vertices),
            StoredValues::U64(stored) => cells(stored, vertices),
            StoredValues::F32(stored) => cells(stored, vertices),
            StoredValues::F64(stored) => cells(stored, vertices),
        }
    }

    fn for_each(&self, mut visit: impl FnMut(u64, Cell)) -> Result<()> {
        fn cells<T: Number>(stored: &Stored<T>, visit: &mut dyn FnMut(u64, Cell)) -> Result<()> {
            stored.for_each(|first, values| {
                (first..)
                    .zip(values.iter())
                    .for_each(|(vertex, value)| visit(vertex, value.cell()));
                Ok(())
            })
        }
        match self {
            StoredValues::U32(stored) => cells(stored, &mut visit),
            StoredValues::U64(stored) => cells(stored, &mut visit),
            StoredValues::F32(stored) => cells(stored, &mut visit),
            StoredValues::F64(stored) => cells(stored, &mut visit),
        }
    }
}

impl Column {
    /// The value of internal id `vertex`.
    ///
    /// # Panics
    /// If the values are on scratch: those are gathered, or shown in order.
    pub fn get(&self, vertex: u64) -> Cell {
        self.special(vertex).unwrap_or_else(|| match &self.values {
            Values::U32(values) => values[vertex as usize].cell(),
            Values::U64(values) => values[vertex as usize].cell(),
            Values::F32(values) => values[vertex as usize].cell(),
            Values::F64(values) => values[vertex as usize].cell(),
            Values::Stored(_) => panic!("values on scratch are gathered, not got one by one"),
        })
    }

    /// The same column with its values in memory: for who has the memory.
    pub fn into_memory(self) -> Result<Column> {
        Ok(Column { values: self.values.into_memory()?, ..self })
    }

    /// The values of these internal ids, in their order.
    pub fn gather(&self, vertices: &[u64]) -> Result<Vec<Cell>> {
        let Values::Stored(stored) = &self.values else {
            return Ok(vertices.iter().map(|&vertex| self.get(vertex)).collect());
        };
        let plain: Vec<u64> =
            vertices.iter().copied().filter(|&vertex| self.special(vertex).is_none()).collect();
        let mut cells = stored.gather(&plain)?.into_iter();
        Ok(vertices
            .iter()
            .map(|&vertex| self.special(vertex).or_else(|| cells.next()).unwrap_or(Cell::Null))
            .collect())
    }

    /// Shows the values of all connected vertices in the order of their internal ids.
    pub fn for_each(&self, mut visit: impl FnMut(u64, Cell)) -> Result<()> {
        match &self.values {
            Values::Stored(stored) => stored.for_each(visit),
            values => {
                (0..values.len() as u64).for_each(|vertex| visit(vertex, self.get(vertex)));
                Ok(())
            }
        }
    }

    /// The value of a vertex that has none in the array, or another one.
    fn special(&self, vertex: u64) -> Option<Cell> {
        let float = matches!(self.values.kind(), NumberKind::F32 | NumberKind::F64);
        let number =
            |value: f64| if float { Cell::Float(value) } else { Cell::Integer(value as u64) };
        if (vertex as usize) < self.values.len() {
            return None;
        }
        if let Some(&(_, value)) =
            self.exceptions.iter().find(|&&(exception, _)| exception == vertex)
        {
            return Some(number(value));
        }
        match self.isolated {
            Isolated::Null => Some(Cell::Null),
            Isolated::Value(value) => Some(number(value)),
            Isolated::Own => Some(Cell::Integer(vertex)),
        }
    }
}
