//! An opened graph.

use std::path::Path;

use outercore_algorithms::{Algorithm, by_name};
use outercore_engine::{Job, RunConfig};
use outercore_graph::{Graph, GraphError, GraphInfo};
use outercore_storage::Disk;
use pyo3::{prelude::*, types::PyDict};
use serde_json::json;

use crate::{
    failure,
    fresh::check_fresh,
    outcome::NativeOutcome,
    settings::{RunArguments, order_options, select_options},
    supervise::{Supervision, Watch},
};

/// An opened graph.
#[pyclass(frozen, module = "outercore._outercore")]
pub struct NativeGraph(Graph);

impl NativeGraph {
    /// Opens the graph at `path`, whose name shall mean the same after a change of folder.
    pub fn new(disk: &Disk, path: &Path) -> Result<Self, GraphError> {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        Ok(Self(Graph::open(disk, &path)?))
    }
}

/// The algorithm and how it is to run.
fn prepare(
    py: Python<'_>,
    graph: &Graph,
    name: &str,
    arguments: &RunArguments,
) -> PyResult<(Box<dyn Algorithm>, RunConfig)> {
    let prepared = || {
        let algorithm = by_name(name, &arguments.request)?;
        check_fresh(graph)?;
        Ok((algorithm, arguments.config(graph)))
    };
    prepared().map_err(|error| failure::raise(py, error))
}

#[pymethods]
impl NativeGraph {
    /// Opens the graph at `path`.
    #[staticmethod]
    fn open(py: Python<'_>, path: std::path::PathBuf) -> PyResult<Self> {
        py.detach(|| Self::new(&Disk::new(), &path)).map_err(|error| failure::raise(py, error))
    }

    /// Where it lies.
    #[getter]
    fn path(&self) -> &Path {
        self.0.path()
    }

    /// All vertices.
    #[getter]
    fn vertices(&self) -> u64 {
        self.0.vertices()
    }

    /// Edges, as the user counts them.
    #[getter]
    fn edges(&self) -> u64 {
        self.0.edges()
    }

    /// Whether edges have a direction.
    #[getter]
    fn directed(&self) -> bool {
        self.0.directed()
    }

    /// What the manifest says, as JSON.
    fn info(&self, py: Python<'_>) -> PyResult<String> {
        let info = check_fresh(&self.0).and_then(|()| GraphInfo::of(&self.0));
        Ok(json!(info.map_err(|error| failure::raise(py, error))?).to_string())
    }

    /// The weights' type: `none`, `u32`, `f32` or `f64`.
    #[getter]
    fn weights(&self) -> &'static str {
        self.0.weights().name()
    }

    /// What a run would do, as JSON and as text.
    fn plan(
        &self,
        py: Python<'_>,
        algorithm: &str,
        arguments: &Bound<'_, PyDict>,
    ) -> PyResult<(String, String)> {
        let arguments = RunArguments::of(arguments)?;
        let (algorithm, config) = prepare(py, &self.0, algorithm, &arguments)?;
        let plan = py
            .detach(|| {
                outercore::plan(&*algorithm, &self.0, &config, &outercore::Silent, |_| Ok(()))
            })
            .map_err(|error| failure::raise(py, error))?;
        Ok((json!(plan).to_string(), plan.to_string()))
    }

    /// Selects the lists that a static cache holds; returns what was selected, as JSON.
    fn cache<'py>(
        &self,
        py: Python<'py>,
        arguments: &Bound<'py, PyDict>,
        progress: Option<Bound<'py, PyAny>>,
    ) -> PyResult<String> {
        let options = select_options(&self.0, arguments)?;
        let watch = Watch::new("selecting lists", None);
        Supervision { watch: &watch, listener: progress, errand: None }.run(py, || {
            check_fresh(&self.0)?;
            Ok(json!(outercore_caches::select(&self.0, &options, &watch)?).to_string())
        })
    }

    /// Writes the graph in another order at another path, and opens that.
    fn order<'py>(
        &self,
        py: Python<'py>,
        target: (String, std::path::PathBuf),
        arguments: &Bound<'py, PyDict>,
        progress: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Self> {
        let (order, path) = target;
        let (options, means) = order_options((&self.0, &order), &path, arguments)?;
        let watch = Watch::new("ordering", None);
        Supervision { watch: &watch, listener: progress, errand: None }.run(py, || {
            check_fresh(&self.0)?;
            outercore_ordering::reorder(&self.0, &path, &options, means, &watch)?;
            Self::new(self.0.disk(), &path)
        })
    }

    /// Runs an algorithm.
    fn run<'py>(
        &self,
        py: Python<'py>,
        algorithm: &str,
        arguments: &Bound<'py, PyDict>,
        progress: Option<Bound<'py, PyAny>>,
    ) -> PyResult<NativeOutcome> {
        let arguments = RunArguments::of(arguments)?;
        let (algorithm, config) = prepare(py, &self.0, algorithm, &arguments)?;
        let watch = Watch::new(algorithm.name(), arguments.request.iterations);
        let (algorithm, watched) = (&*algorithm, &watch);
        let graph = self.0.counted_apart();
        let run = || {
            graph.blaming(|| {
                let prepared = algorithm.prepare(Job::new(&graph, &config, watched))?;
                arguments.check_disk(&graph, prepared.plan.disk_bytes)?;
                NativeOutcome::new(&self.0, prepared.run()?)
            })
        };
        Supervision { watch: &watch, listener: progress, errand: None }.run(py, run)
    }
}
