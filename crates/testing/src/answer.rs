//! Questions and answers about a list of edges, in its vertices, whatever it is that answered.

use std::collections::BTreeMap;

use crate::{Edges, Ids};

/// A value of a vertex, or a figure of a summary.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// None: an unreached vertex.
    Absent,
    /// A whole number, or a vertex.
    Whole(u64),
    /// A real number.
    Real(f64),
    /// Yes or no.
    Flag(bool),
}

impl Value {
    /// It as a number, unless it is absent.
    pub fn number(self) -> Option<f64> {
        match self {
            Value::Absent => None,
            Value::Whole(value) => Some(value as f64),
            Value::Real(value) => Some(value),
            Value::Flag(flag) => panic!("{flag} where a number is expected"),
        }
    }

    /// It as a whole number, unless it is absent.
    pub fn whole(self) -> Option<u64> {
        match self {
            Value::Absent => None,
            Value::Whole(value) => Some(value),
            value => panic!("{value:?} where a whole number is expected"),
        }
    }

    /// All of it in 64 bits.
    pub fn bits(self) -> u64 {
        match self {
            Value::Absent => u64::MAX,
            Value::Whole(value) => value,
            Value::Real(value) => value.to_bits(),
            Value::Flag(flag) => flag.into(),
        }
    }
}

/// What was asked.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// The graph, as it was built.
    pub edges: &'a Edges,
    /// How its vertices are called.
    pub ids: Ids,
    /// Where searches start.
    pub sources: &'a [u32],
    /// How many iterations were asked for, of algorithms that have a number of them.
    pub iterations: usize,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// For each column, each vertex's value. A value that is a vertex is one of the list's.
    pub columns: Vec<Vec<Value>>,
    /// The figures that are numbers or flags.
    pub summary: BTreeMap<String, Value>,
}

impl Answer {
    /// A column of whole numbers.
    pub fn whole(&self, column: usize) -> Vec<Option<u64>> {
        self.columns[column].iter().map(|value| value.whole()).collect()
    }

    /// A column in which every vertex has a whole number.
    pub fn every(&self, column: usize) -> Vec<u64> {
        let values = self.whole(column).into_iter();
        values.map(|value| value.expect("every vertex has a value")).collect()
    }

    /// A column of numbers.
    pub fn numbers(&self, column: usize) -> Vec<Option<f64>> {
        self.columns[column].iter().map(|value| value.number()).collect()
    }

    /// Everything that must not differ between two answers to the same question, bit by bit.
    pub fn bits(&self) -> Vec<Vec<u64>> {
        let bits = |column: &Vec<Value>| column.iter().map(|value| value.bits()).collect();
        self.columns.iter().map(bits).collect()
    }
}

/// The sum of the absolute differences; both have values for the same vertices.
pub fn distance(a: &[Value], b: &[Value]) -> f64 {
    pairs(a, b).map(|(a, b)| (a - b).abs()).sum()
}

/// The largest difference in proportion to the value, or to 1 where the value is smaller.
pub fn furthest(a: &[Value], b: &[Value]) -> f64 {
    pairs(a, b).map(|(a, b)| (a - b).abs() / b.abs().max(1.0)).fold(0.0, f64::max)
}

/// The numbers of two columns that must have them for the same vertices.
fn pairs<'a>(a: &'a [Value], b: &'a [Value]) -> impl Iterator<Item = (f64, f64)> + 'a {
    assert_eq!(a.len(), b.len());
    let pair = |(vertex, (a, b)): (usize, (&Value, &Value))| match (a.number(), b.number()) {
        (None, None) => None,
        (Some(a), Some(b)) => Some((a, b)),
        _ => panic!("vertex {vertex}: {a:?} and {b:?}"),
    };
    a.iter().zip(b).enumerate().filter_map(pair)
}

/// Fails unless both have values for the same vertices, which are equal but for rounding.
pub fn assert_close(values: &[Option<f64>], expected: &[Option<f64>]) {
    assert_eq!(values.len(), expected.len());
    for (vertex, (value, expected)) in values.iter().zip(expected).enumerate() {
        let close = match (value, expected) {
            (Some(value), Some(expected)) => {
                (value - expected).abs() <= 1e-9 * expected.abs().max(1e-300)
            }
            (value, expected) => value == expected,
        };
        assert!(close, "vertex {vertex}: {value:?} is not {expected:?}");
    }
}
