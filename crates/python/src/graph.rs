//! An opened graph.

use std::path::Path;

use outercore_algorithms::{Algorithm, by_name};
use outercore_engine::{EngineError, RunConfig};
use outercore_graph::{Graph, format::Manifest};
use outercore_storage::Disk;
use pyo3::prelude::*;
use serde_json::json;

use crate::{
    failure,
    outcome::NativeOutcome,
    settings::RunArguments,
    supervise::{Supervision, Watch},
};

/// An opened graph.
#[pyclass(frozen, module = "outercore._outercore")]
pub struct NativeGraph(Graph);

impl NativeGraph {
    /// Opens the graph at `path`, whose name shall mean the same after a change of folder.
    pub fn new(disk: &Disk, path: &Path) -> Result<Self, EngineError> {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        Ok(Self(Graph::open(disk, &path)?))
    }
}

/// An error if the graph's folder has another graph by now: its files are opened by name.
pub fn check_fresh(graph: &Graph) -> Result<(), EngineError> {
    if Manifest::read(graph.disk(), graph.path())?.uuid == graph.manifest().uuid {
        return Ok(());
    }
    Err(EngineError::Usage(format!(
        "{} was replaced since it was opened; open it again",
        graph.path().display()
    )))
}

/// The algorithm and how it is to run.
fn prepare(
    py: Python<'_>,
    graph: &Graph,
    name: &str,
    arguments: &RunArguments<'_>,
) -> PyResult<(Box<dyn Algorithm>, RunConfig)> {
    let request = arguments.request(py, graph)?;
    let prepared = || {
        let algorithm = by_name(name, &request)?;
        check_fresh(graph)?;
        Ok((algorithm, arguments.config()?))
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
        let manifest = self.0.manifest();
        let hub = || {
            if manifest.connected > 0 {
                self.0.key_of(manifest.max_out_degree.1).map(Some)
            } else {
                Ok(None)
            }
        };
        let hub = check_fresh(&self.0)
            .and_then(|()| Ok(hub()?))
            .map_err(|error| failure::raise(py, error))?;
        let in_degree =
            (!manifest.directed || manifest.transpose).then_some(manifest.max_in_degree);
        let bytes: u64 = manifest.sections.iter().map(|section| section.bytes).sum();
        let section = |section: &outercore_graph::format::SectionEntry| json!({"name": section.name, "bytes": section.bytes, "striped": section.striped});
        let sections: Vec<_> = manifest.sections.iter().map(section).collect();
        let info = json!({
            "schema": 1, "graph": self.0.path().display().to_string(), "format_version": manifest.version, "uuid": manifest.uuid,
            "vertices": manifest.vertices, "connected": manifest.connected, "edges": manifest.edges, "directed": manifest.directed,
            "transpose": manifest.transpose, "simple": manifest.simple, "weights": manifest.weights,
            "negative_weights": manifest.negative_weights, "order": manifest.order, "ids": manifest.ids,
            "max_out_degree": manifest.max_out_degree.0, "max_out_degree_vertex": hub.map(|hub| hub.to_string()),
            "max_in_degree": in_degree, "bytes": bytes, "layout": manifest.layout, "shares": manifest.shares(),
            "stripes": manifest.stripes, "sections": sections,
        });
        Ok(info.to_string())
    }

    /// The weights' type: `none`, `u32`, `f32` or `f64`.
    #[getter]
    fn weights(&self) -> String {
        json!(self.0.weights()).as_str().unwrap_or("none").to_owned()
    }

    /// What a run would do, as JSON and as text.
    fn plan(
        &self,
        py: Python<'_>,
        algorithm: &str,
        arguments: RunArguments<'_>,
    ) -> PyResult<(String, String)> {
        let (algorithm, config) = prepare(py, &self.0, algorithm, &arguments)?;
        let plan = py
            .detach(|| algorithm.plan(&self.0, &config))
            .map_err(|error| failure::raise(py, error))?;
        Ok((json!(plan).to_string(), plan.to_string()))
    }

    /// Runs an algorithm.
    fn run<'py>(
        &self,
        py: Python<'py>,
        algorithm: &str,
        arguments: RunArguments<'py>,
        progress: Option<Bound<'py, PyAny>>,
    ) -> PyResult<NativeOutcome> {
        let (algorithm, config) = prepare(py, &self.0, algorithm, &arguments)?;
        let graph = &self.0;
        let checked = algorithm
            .plan(graph, &config)
            .and_then(|plan| arguments.check_disk(graph, plan.disk_bytes));
        checked.map_err(|error| failure::raise(py, error))?;
        let watch = Watch::new(algorithm.name(), arguments.iterations);
        let (algorithm, watched) = (&*algorithm, &watch);
        Supervision { watch: &watch, listener: progress, errand: None }
            .run(py, || NativeOutcome::new(graph, algorithm.run(graph, &config, watched)?))
    }
}
