//! NumPy arrays as slices. The arrays are borrowed for as long as the work takes; nothing is copied
//! but the batches that leave.

use std::ops::Range;

use numpy::PyReadonlyArray1;
use outercore_graph::WeightKind;
use pyo3::prelude::*;

/// A contiguous array of whole numbers.
#[derive(FromPyObject)]
pub enum Numbers<'py> {
    /// `uint32`.
    #[pyo3(transparent, annotation = "uint32 array")]
    U32(PyReadonlyArray1<'py, u32>),
    /// `uint64`.
    #[pyo3(transparent, annotation = "uint64 array")]
    U64(PyReadonlyArray1<'py, u64>),
    /// `int32`.
    #[pyo3(transparent, annotation = "int32 array")]
    I32(PyReadonlyArray1<'py, i32>),
    /// `int64`.
    #[pyo3(transparent, annotation = "int64 array")]
    I64(PyReadonlyArray1<'py, i64>),
}

/// A contiguous array of numbers.
#[derive(FromPyObject)]
pub enum Reals<'py> {
    /// `float32`.
    #[pyo3(transparent, annotation = "float32 array")]
    F32(PyReadonlyArray1<'py, f32>),
    /// `float64`.
    #[pyo3(transparent, annotation = "float64 array")]
    F64(PyReadonlyArray1<'py, f64>),
    /// Whole numbers.
    #[pyo3(transparent)]
    Whole(Numbers<'py>),
}

/// [`Numbers`] as another thread may read them.
#[derive(Clone, Copy)]
pub enum NumberSlice<'a> {
    /// `uint32`.
    U32(&'a [u32]),
    /// `uint64`.
    U64(&'a [u64]),
    /// `int32`.
    I32(&'a [i32]),
    /// `int64`.
    I64(&'a [i64]),
}

/// [`Reals`] as another thread may read them.
#[derive(Clone, Copy)]
pub enum RealSlice<'a> {
    /// `float32`.
    F32(&'a [f32]),
    /// `float64`.
    F64(&'a [f64]),
    /// Whole numbers.
    Whole(NumberSlice<'a>),
}

impl Numbers<'_> {
    /// The numbers; the array must be contiguous.
    pub fn slice(&self) -> PyResult<NumberSlice<'_>> {
        Ok(match self {
            Numbers::U32(array) => NumberSlice::U32(array.as_slice()?),
            Numbers::U64(array) => NumberSlice::U64(array.as_slice()?),
            Numbers::I32(array) => NumberSlice::I32(array.as_slice()?),
            Numbers::I64(array) => NumberSlice::I64(array.as_slice()?),
        })
    }
}

impl Reals<'_> {
    /// The numbers; the array must be contiguous.
    pub fn slice(&self) -> PyResult<RealSlice<'_>> {
        Ok(match self {
            Reals::F32(array) => RealSlice::F32(array.as_slice()?),
            Reals::F64(array) => RealSlice::F64(array.as_slice()?),
            Reals::Whole(numbers) => RealSlice::Whole(numbers.slice()?),
        })
    }
}

/// Runs an expression with `$values` bound to the slice, whatever its type.
macro_rules! with_slice {
    ($slice:expr, $values:ident => $body:expr) => {
        match $slice {
            NumberSlice::U32($values) => $body,
            NumberSlice::U64($values) => $body,
            NumberSlice::I32($values) => $body,
            NumberSlice::I64($values) => $body,
        }
    };
}

impl NumberSlice<'_> {
    /// How many there are.
    pub fn len(self) -> usize {
        with_slice!(self, values => values.len())
    }

    /// Bytes of one.
    pub fn width(self) -> usize {
        with_slice!(self, values => size_of_val(values).checked_div(values.len()).unwrap_or(8))
    }

    /// Number `index`; `None` if it is negative.
    pub fn get(self, index: usize) -> Option<u64> {
        with_slice!(self, values => unsigned(values[index]))
    }

    /// Writes the numbers of `range` to end `side` of the edges, which are as many. The error is
    /// the place in `range` of a negative one.
    pub fn put(
        self,
        range: Range<usize>,
        edges: &mut [[u64; 2]],
        side: usize,
    ) -> Result<(), usize> {
        with_slice!(self, values => put(&values[range], edges, side))
    }

    /// The first place where a number is smaller than the one before it.
    pub fn descent(self) -> Option<usize> {
        let place = |at: usize| at + 1;
        with_slice!(self, values => {
            values.windows(2).position(|pair| pair[1] < pair[0]).map(place)
        })
    }

    /// How many numbers are at most `bound`; the numbers ascend.
    pub fn up_to(self, bound: u64) -> usize {
        let within = |value: Option<u64>| value.is_some_and(|value| value <= bound);
        with_slice!(self, values => values.partition_point(|&value| within(unsigned(value))))
    }
}

/// The number, if it is not negative.
fn unsigned<T>(value: T) -> Option<u64>
where
    u64: TryFrom<T>,
{
    value.try_into().ok()
}

fn put<T: Copy>(values: &[T], edges: &mut [[u64; 2]], side: usize) -> Result<(), usize>
where
    u64: TryFrom<T>,
{
    for (place, (&value, edge)) in values.iter().zip(edges).enumerate() {
        edge[side] = unsigned(value).ok_or(place)?;
    }
    Ok(())
}

impl RealSlice<'_> {
    /// How many there are.
    pub fn len(self) -> usize {
        match self {
            RealSlice::F32(values) => values.len(),
            RealSlice::F64(values) => values.len(),
            RealSlice::Whole(numbers) => numbers.len(),
        }
    }

    /// Bytes of one.
    pub fn width(self) -> usize {
        match self {
            RealSlice::F32(_) => 4,
            RealSlice::F64(_) => 8,
            RealSlice::Whole(numbers) => numbers.width(),
        }
    }

    /// The type of weights that holds them all; the build finds out whether a narrower one does.
    pub fn kind(self) -> WeightKind {
        match self {
            RealSlice::F32(_) => WeightKind::F32,
            RealSlice::Whole(NumberSlice::U32(_)) => WeightKind::U32,
            RealSlice::F64(_) | RealSlice::Whole(_) => WeightKind::F64,
        }
    }

    /// Whether each of them is 1, which is how a matrix says that it has no weights.
    pub fn all_ones(self) -> bool {
        match self {
            RealSlice::F32(values) => values.iter().all(|&value| value == 1.0),
            RealSlice::F64(values) => values.iter().all(|&value| value == 1.0),
            RealSlice::Whole(numbers) => {
                with_slice!(numbers, values => values.iter().all(|&value| value == 1))
            }
        }
    }

    /// The first place in `range` of a whole number that weights of this kind cannot be, and the
    /// number.
    pub fn inexact(self, range: Range<usize>, kind: WeightKind) -> Option<(usize, String)> {
        match self {
            RealSlice::F32(_) => None,
            RealSlice::F64(values) => {
                let values = &values[range];
                let place = values.iter().position(|&value| kind.rounds_whole(value))?;
                Some((place, values[place].to_string()))
            }
            RealSlice::Whole(numbers) => with_slice!(numbers, values => {
                let values = &values[range];
                let place = values.iter().position(|&value| !kind.holds(value.into()))?;
                Some((place, values[place].to_string()))
            }),
        }
    }

    /// The numbers of `range`.
    pub fn read(self, range: Range<usize>) -> Vec<f64> {
        match self {
            RealSlice::F32(values) => values[range].iter().map(|&value| value.into()).collect(),
            RealSlice::F64(values) => values[range].to_vec(),
            RealSlice::Whole(numbers) => {
                with_slice!(numbers, values => {
                    values[range].iter().map(|&value| value as f64).collect()
                })
            }
        }
    }
}
