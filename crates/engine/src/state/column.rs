//! [`Column`]: an array as a result. [`Values`]: the numbers in it.

use outercore_storage::{HugeVec, Pod};

use super::vertex_array::VertexArray;
use outercore_graph::Result;

/// One value for each vertex.
pub struct Column {
    /// Its name in files.
    pub name: &'static str,
    /// The values of the connected vertices, by internal id.
    pub values: Values,
    /// What the isolated vertices have.
    pub isolated: Isolated,
    /// What a value is.
    pub meaning: Meaning,
    /// Isolated vertices with a value of their own: sources. (internal id, value)
    pub exceptions: Vec<(u64, f64)>,
}

/// The value of every isolated vertex.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Isolated {
    /// None.
    Null,
    /// This one.
    Value(f64),
    /// The vertex itself.
    Own,
}

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// A number.
    Number,
    /// An internal id, to be shown as that vertex's original id.
    Vertex,
}

/// A value of one vertex.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cell {
    /// None: unreached, not known.
    Null,
    /// A whole number, or an internal id.
    Integer(u64),
    /// A real number.
    Float(f64),
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

/// The values of a column, by internal id.
pub enum Values {
    /// `u32::MAX`: no value.
    U32(VertexArray<u32>),
    /// `u64::MAX`: no value.
    U64(VertexArray<u64>),
    /// Infinity or NaN: no value.
    F32(VertexArray<f32>),
    /// Infinity or NaN: no value.
    F64(VertexArray<f64>),
}

/// A number that a column can have.
pub trait Number: Pod + Copy + Send {
    /// As a cell.
    fn cell(self) -> Cell;
    /// As a column's values.
    fn values(array: VertexArray<Self>) -> Values;
}

/// The same code for the array of each type.
macro_rules! each {
    ($values:expr, $array:ident => $then:expr) => {
        match $values {
            Values::U32($array) => $then,
            Values::U64($array) => $then,
            Values::F32($array) => $then,
            Values::F64($array) => $then,
        }
    };
}

macro_rules! number {
    ($type:ty, $variant:ident, $value:ident => $has_value:expr, $cell:expr) => {
        impl Number for $type {
            #[inline(always)]
            fn cell(self) -> Cell {
                let $value = self;
                if $has_value { $cell } else { Cell::Null }
            }

            fn values(array: VertexArray<$type>) -> Values {
                Values::$variant(array)
            }
        }
    };
}
number!(u32, U32, value => value != u32::MAX, Cell::Integer(u64::from(value)));
number!(u64, U64, value => value != u64::MAX, Cell::Integer(value));
number!(f32, F32, value => value.is_finite(), Cell::Float(f64::from(value)));
number!(f64, F64, value => value.is_finite(), Cell::Float(value));

impl<T: Number> From<VertexArray<T>> for Values {
    fn from(array: VertexArray<T>) -> Self {
        T::values(array)
    }
}

impl<T: Number> From<HugeVec<T>> for Values {
    fn from(memory: HugeVec<T>) -> Self {
        T::values(memory.into())
    }
}

impl Values {
    /// The type of the numbers.
    pub fn kind(&self) -> NumberKind {
        match self {
            Values::U32(_) => NumberKind::U32,
            Values::U64(_) => NumberKind::U64,
            Values::F32(_) => NumberKind::F32,
            Values::F64(_) => NumberKind::F64,
        }
    }

    /// Whether all are in memory.
    pub fn are_in_memory(&self) -> bool {
        each!(self, array => array.resident().is_some())
    }

    /// The value of a vertex, where all are in memory.
    #[inline(always)]
    fn get(&self, vertex: u64) -> Option<Cell> {
        each!(self, array => array.resident().map(|values| values[vertex as usize].cell()))
    }
}

impl Column {
    /// Numbers; isolated vertices have none.
    pub fn new(name: &'static str, values: impl Into<Values>) -> Self {
        let (values, isolated, meaning) = (values.into(), Isolated::Null, Meaning::Number);
        Self { name, values, isolated, meaning, exceptions: Vec::new() }
    }

    /// Vertices, by internal id.
    pub fn of_vertices(name: &'static str, values: impl Into<Values>) -> Self {
        Self { meaning: Meaning::Vertex, ..Self::new(name, values) }
    }

    /// What isolated vertices have.
    pub fn isolated(self, isolated: Isolated) -> Self {
        Self { isolated, ..self }
    }

    /// Isolated vertices with a value of their own, by internal id.
    pub fn except(self, exceptions: impl IntoIterator<Item = (u64, f64)>) -> Self {
        Self { exceptions: exceptions.into_iter().collect(), ..self }
    }

    /// The value of internal id `vertex`.
    ///
    /// # Panics
    /// If the values are on scratch: those are gathered, or shown in order.
    pub fn get(&self, vertex: u64) -> Cell {
        self.special(vertex).unwrap_or_else(|| {
            let cell = self.values.get(vertex);
            cell.expect("values on scratch are gathered")
        })
    }

    /// The same column with its values in memory: for who has the memory.
    pub fn into_memory(self) -> Result<Column> {
        Ok(Column { values: each!(self.values, array => array.into_memory()?.into()), ..self })
    }

    /// The values of these internal ids, in their order.
    pub fn gather(&self, vertices: &[u64]) -> Result<Vec<Cell>> {
        if self.values.are_in_memory() {
            return Ok(vertices.iter().map(|&vertex| self.get(vertex)).collect());
        }
        let plain: Vec<u64> =
            vertices.iter().copied().filter(|&vertex| self.special(vertex).is_none()).collect();
        let mut cells = each!(&self.values, array => {
            array.gather(&plain)?.into_iter().map(Number::cell).collect::<Vec<_>>()
        })
        .into_iter();
        Ok(vertices
            .iter()
            .map(|&vertex| self.special(vertex).or_else(|| cells.next()).unwrap_or(Cell::Null))
            .collect())
    }

    /// Shows the values of all connected vertices in the order of their internal ids.
    pub fn for_each(&self, mut visit: impl FnMut(u64, Cell)) -> Result<()> {
        each!(&self.values, array => {
            array.for_each(|vertex, value| visit(vertex, value.cell()))
        })
    }

    /// The value of a vertex that has none in the array, or another one.
    fn special(&self, vertex: u64) -> Option<Cell> {
        if (vertex as usize) < each!(&self.values, array => array.len()) {
            return None;
        }
        let exception = self.exceptions.iter().find(|&&(exception, _)| exception == vertex);
        let value = match (exception, self.isolated) {
            (Some(&(_, value)), _) | (None, Isolated::Value(value)) => value,
            (None, Isolated::Null) => return Some(Cell::Null),
            (None, Isolated::Own) => return Some(Cell::Integer(vertex)),
        };
        Some(match self.values {
            Values::U32(_) | Values::U64(_) => Cell::Integer(value as u64),
            Values::F32(_) | Values::F64(_) => Cell::Float(value),
        })
    }
}
