//! [`Vector`]: a number for each vertex, which the user brings.

use std::{path::PathBuf, sync::Arc};

use outercore_storage::{
    PAGE,
    settings::{Kind, Value},
};

use crate::{
    error::{GraphError, Result, refuse},
    graph::Graph,
    input::NumberFile,
    types::Key,
};

/// So many vertices are shown at a time.
const BATCH: usize = 1 << 15;

/// A number for each vertex, in ascending order of original ids.
#[derive(Clone, Debug, PartialEq)]
pub enum Vector {
    /// In a file, as results are written: a number in each line, or an id and its number under a
    /// header or none; text, packed or not, or NPY.
    File(PathBuf),
    /// At hand, beside the budget.
    Numbers(Arc<[f64]>),
}

impl Value for Vector {
    const KIND: Kind = Kind::Text;

    fn parse(switch: &str, text: &str) -> std::result::Result<Self, String> {
        match text {
            "-" => Err(format!("{switch} is a file, and standard input is none")),
            path => Ok(Vector::File(path.into())),
        }
    }
}

impl Vector {
    /// Bytes of memory that [`Vector::for_each`] takes.
    pub fn bytes(&self) -> u64 {
        let batch = (BATCH * 3 * size_of::<u64>()) as u64;
        batch + if matches!(self, Vector::File(_)) { NumberFile::BYTES } else { 0 }
    }

    /// Bytes that [`Vector::for_each`] reads, about: the file, the beginning of which is read
    /// twice, and the tables of ids.
    pub fn reads(&self, graph: &Graph) -> u64 {
        let ids = graph.pages(["ids.vertex", "ids.keys", "ids.ends"]) * PAGE as u64;
        let file = match self {
            Vector::File(path) => std::fs::metadata(path).map_or(0, |file| file.len()),
            Vector::Numbers(_) => 0,
        };
        ids + file + file.min(1 << 20)
    }

    /// Shows the number of every connected vertex, by internal id, in ascending order of original
    /// ids; asks now and then whether to go on. Every number is finite. What is no number, an id
    /// out of order, and too few or too many of them are errors that name the line.
    pub fn for_each(
        &self,
        graph: &Graph,
        goes_on: &dyn Fn() -> Result<()>,
        show: &mut dyn FnMut(u64, f64),
    ) -> Result<()> {
        let (vertices, connected) = (graph.vertices(), graph.connected());
        let mut each = |next: &mut dyn FnMut(&dyn Fn() -> Key) -> Result<f64>| {
            graph.for_each_key(BATCH, &mut |keys, batch| {
                for (at, &vertex) in batch.iter().enumerate() {
                    let number = next(&|| keys.get(at))?;
                    if vertex < connected {
                        show(vertex, number);
                    }
                }
                goes_on()
            })
        };
        match self {
            Vector::File(path) => {
                let mut file = NumberFile::open(graph.disk(), path, vertices)?;
                each(&mut |key| file.next(key))?;
                file.end()
            }
            Vector::Numbers(numbers) => {
                let found = numbers.len() as u64;
                if found != vertices {
                    let what = format!("the vector has {found} numbers");
                    return refuse(format!("{what}, and the graph has {vertices} vertices"));
                }
                let mut numbers = numbers.iter();
                each(&mut |key| {
                    let number = *numbers.next().expect("there are as many");
                    if number.is_finite() { Ok(number) } else { Err(not_finite(number, key())) }
                })
            }
        }
    }
}

fn not_finite(number: f64, key: Key) -> GraphError {
    GraphError::Usage(format!("the vector has {number} for {key}, which is no finite number"))
}
