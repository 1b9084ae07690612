//! What a run gives back, in ascending order of original id, in memory that NumPy takes over.

use std::sync::Arc;

use numpy::{IntoPyArray, PyArray1};
use outercore_engine::{Column, Meaning, Outcome, RunReport};
use outercore_graph::{Graph, GraphError, Key, Keys};
use pyo3::{
    IntoPyObjectExt,
    prelude::*,
    types::{PyCapsule, PyList, PyString},
};
use pyo3_arrow::PyRecordBatchReader;
use serde_json::json;

use crate::{
    columns::{Columns, Gathered, STEP},
    failure,
    fresh::check_fresh,
    ids::Ids,
    stream::ResultStream,
};

/// The result of a run.
#[pyclass(frozen, module = "outercore._outercore")]
pub struct NativeOutcome {
    graph: Graph,
    report: RunReport,
    ranked: bool,
    columns: Arc<Columns>,
}

impl NativeOutcome {
    /// The outcome of a run on `graph`.
    pub fn new(graph: &Graph, outcome: Outcome) -> Result<Self, GraphError> {
        // Python gets whole arrays: what lies on scratch comes to memory.
        let all = outcome.columns.into_iter().map(Column::into_memory).collect::<Result<_, _>>()?;
        let columns = Arc::new(Columns { ids: Ids::open(graph)?, all });
        Ok(Self { graph: graph.clone(), report: outcome.report, ranked: outcome.ranked, columns })
    }

    fn column(&self, py: Python<'_>, name: &str) -> PyResult<&Column> {
        let found = self.columns.all.iter().find(|column| column.name == name);
        found.ok_or_else(|| {
            failure::usage(
                py,
                format!("the result of {} has no column {name}", self.report.algorithm),
            )
        })
    }
}

/// Original ids as Python strings.
fn strings<'py>(py: Python<'py>, keys: &Keys) -> PyResult<Bound<'py, PyList>> {
    PyList::new(py, (0..keys.len()).map(|index| PyString::new(py, keys.name(index))))
}

#[pymethods]
impl NativeOutcome {
    /// What the run did, as JSON.
    #[getter]
    fn report(&self) -> String {
        json!(self.report).to_string()
    }

    /// Each column's name, and whether its values are vertices.
    #[getter]
    fn columns(&self) -> Vec<(&'static str, bool)> {
        self.columns
            .all
            .iter()
            .map(|column| (column.name, column.meaning == Meaning::Vertex))
            .collect()
    }

    /// Whether the largest values are worth showing.
    #[getter]
    fn ranked(&self) -> bool {
        self.ranked
    }

    /// A column by original id: its values, or of vertices their places in `ids`. No value is -1 or
    /// NaN.
    fn values<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let column = self.column(py, name)?;
        let gathered =
            py.detach(|| self.columns.values(column)).map_err(|error| failure::raise(py, error))?;
        Ok(match gathered {
            Gathered::Integers(values) => values.into_pyarray(py).into_any(),
            Gathered::Singles(values) => values.into_pyarray(py).into_any(),
            Gathered::Doubles(values) => values.into_pyarray(py).into_any(),
        })
    }

    /// The original ids in ascending order: an array of `uint64`, or a list of strings.
    fn ids<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let ids = &self.columns.ids;
        let read = |first: u64, count: usize| {
            py.detach(|| ids.keys(first, count)).map_err(|error| failure::raise(py, error))
        };
        if !ids.are_names() {
            let Keys::Numbers(numbers) = read(0, ids.vertices() as usize)? else {
                unreachable!("ids are all of one kind")
            };
            return Ok(PyArray1::from_vec(py, numbers).into_any());
        }
        let all = PyList::empty(py);
        for first in (0..ids.vertices()).step_by(STEP) {
            let keys = read(first, (ids.vertices() - first).min(STEP as u64) as usize)?;
            all.call_method1("extend", (strings(py, &keys)?,))?;
        }
        Ok(all.into_any())
    }

    /// The best rows of a column.
    fn top<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        count: usize,
    ) -> PyResult<Vec<(Bound<'py, PyAny>, f64)>> {
        let column = self.column(py, name)?;
        let rows = py.detach(|| {
            check_fresh(&self.graph)
                .and_then(|()| outercore_engine::top_rows(&self.graph, column, count))
        });
        let row = |row: outercore_engine::TopRow| {
            let key = match row.0 {
                Key::Number(number) => number.into_bound_py_any(py),
                Key::Name(name) => name.into_bound_py_any(py),
            };
            Ok((key?, row.1))
        };
        rows.map_err(|error| failure::raise(py, error))?.into_iter().map(row).collect()
    }

    /// The whole result as an Arrow stream.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let columns = self.columns.clone();
        let stream =
            py.detach(|| ResultStream::new(columns)).map_err(|error| failure::raise(py, error))?;
        let reader = Bound::new(py, PyRecordBatchReader::new(Box::new(stream)))?;
        Ok(reader.call_method1("__arrow_c_stream__", (requested_schema,))?.cast_into()?)
    }
}
