//! Building, from each kind of edges that Python has. The package's `_edges` finds out which kind
//! it is.

use outercore_graph::GraphError;
use std::path::PathBuf;

use outercore_graph::input::{EdgeSource, Input};
use outercore_interchange::ArrowEdges;
use outercore_storage::Disk;
use pyo3::{prelude::*, types::PyDict};
use pyo3_arrow::input::AnyRecordBatch;

use crate::{
    edges::{
        ArrayEdges, BatchFeed, Ends, FedBatches, FedEdges, Numbers, PairFeed, Reals, refuse_columns,
    },
    graph::NativeGraph,
    settings::BuildArguments,
    supervise::{Errand, Feed, Supervision, Watch},
};

type Listener<'py> = Option<Bound<'py, PyAny>>;

/// Builds from a source that `open` makes on the working thread, and opens the graph.
fn build<'a, 'py, S: EdgeSource + 'a>(
    py: Python<'py>,
    arguments: &BuildArguments,
    listener: Listener<'py>,
    errand: Option<Box<dyn Errand + 'a>>,
    open: impl FnOnce(&Disk) -> Result<S, GraphError> + Send,
) -> PyResult<NativeGraph> {
    let watch = Watch::new("opening", None);
    Supervision { watch: &watch, listener, errand }.run(py, || {
        let disk = Disk::new();
        let options = arguments.options(&disk)?;
        let source = open(&disk)?;
        outercore_ordering::build(&disk, &source, &arguments.path, &options, &watch)?;
        NativeGraph::new(&disk, &arguments.path)
    })
}

/// A source of edges behind a pointer.
struct Boxed(Box<dyn EdgeSource>);

impl EdgeSource for Boxed {
    fn info(&self) -> &outercore_graph::input::SourceInfo {
        self.0.info()
    }
    fn is_paged(&self) -> bool {
        self.0.is_paged()
    }
    fn largest_piece(&self) -> Result<u64, outercore_graph::GraphError> {
        self.0.largest_piece()
    }
    fn at_most(&self) -> Option<(u64, u64)> {
        self.0.at_most()
    }
    fn reads_again(&self) -> bool {
        self.0.reads_again()
    }
    fn read(
        &self,
        threads: usize,
        memory: usize,
        progress: &dyn outercore_graph::input::Progress,
        sink: outercore_graph::input::Sink<'_>,
    ) -> Result<(), outercore_graph::GraphError> {
        self.0.read(threads, memory, progress, sink)
    }
}

/// Builds from files.
#[pyfunction]
pub fn build_files(
    py: Python<'_>,
    inputs: Vec<PathBuf>,
    arguments: &Bound<'_, PyDict>,
    progress: Listener<'_>,
) -> PyResult<NativeGraph> {
    let arguments = BuildArguments::of(arguments)?;
    let (options, format) = arguments.input();
    build(py, &arguments, progress, None, |disk| {
        let inputs: Vec<Input> = inputs.into_iter().map(Input::from).collect();
        Ok(Boxed(outercore_interchange::open(disk, &inputs, format, options)?))
    })
}

/// Builds from an object with `__arrow_c_stream__` or `__arrow_c_array__`.
#[pyfunction]
pub fn build_stream(
    py: Python<'_>,
    table: AnyRecordBatch,
    arguments: &Bound<'_, PyDict>,
    progress: Listener<'_>,
) -> PyResult<NativeGraph> {
    let arguments = BuildArguments::of(arguments)?;
    let reader = table.into_reader()?;
    build(py, &arguments, progress, None, |_| ArrowEdges::new(reader, arguments.input().0))
}

/// Builds from an iterable of such objects.
#[pyfunction]
pub fn build_batches(
    py: Python<'_>,
    tables: Bound<'_, PyAny>,
    arguments: &Bound<'_, PyDict>,
    progress: Listener<'_>,
) -> PyResult<NativeGraph> {
    let arguments = BuildArguments::of(arguments)?;
    let (mut feed, first) = BatchFeed::begin(&tables)?;
    let schema = feed.schema();
    let (errand, receiver) = Feed::new(first, move |_| feed.next());
    build(py, &arguments, progress, Some(Box::new(errand)), |_| {
        ArrowEdges::new(Box::new(FedBatches::new(schema, receiver)), arguments.input().0)
    })
}

/// Builds from arrays of sources, targets and weights; `vertices` is the size of a sparse matrix.
#[pyfunction]
#[pyo3(signature = (sources, targets, weights, vertices, arguments, progress))]
pub fn build_arrays(
    py: Python<'_>,
    sources: Numbers<'_>,
    targets: Numbers<'_>,
    weights: Option<Reals<'_>>,
    vertices: Option<u64>,
    arguments: &Bound<'_, PyDict>,
    progress: Listener<'_>,
) -> PyResult<NativeGraph> {
    let ends = Ends::Pairs { sources: sources.slice()?, targets: targets.slice()? };
    let arguments = BuildArguments::of(arguments)?;
    from_arrays(py, ends, weights.as_ref(), vertices, &arguments, progress)
}

/// Builds from a sparse matrix in compressed rows, or columns.
#[pyfunction]
#[pyo3(signature = (starts, others, weights, columns, arguments, progress))]
pub fn build_compressed(
    py: Python<'_>,
    starts: Numbers<'_>,
    others: Numbers<'_>,
    weights: Option<Reals<'_>>,
    columns: bool,
    arguments: &Bound<'_, PyDict>,
    progress: Listener<'_>,
) -> PyResult<NativeGraph> {
    let starts = starts.slice()?;
    let ends = Ends::Compressed { starts, others: others.slice()?, columns };
    let vertices = starts.len().saturating_sub(1) as u64;
    let arguments = BuildArguments::of(arguments)?;
    from_arrays(py, ends, weights.as_ref(), Some(vertices), &arguments, progress)
}

fn from_arrays<'py>(
    py: Python<'py>,
    ends: Ends<'_>,
    weights: Option<&Reals<'_>>,
    vertices: Option<u64>,
    arguments: &BuildArguments,
    progress: Listener<'py>,
) -> PyResult<NativeGraph> {
    let weights = weights.map(Reals::slice).transpose()?;
    build(py, arguments, progress, None, |_| {
        refuse_columns(arguments.input().0)?;
        ArrayEdges::new(ends, weights, vertices, arguments.input().0)
    })
}

/// Builds from an iterable of pairs or triples, and perhaps one of vertices.
#[pyfunction]
#[pyo3(signature = (edges, vertices, arguments, progress))]
pub fn build_pairs(
    py: Python<'_>,
    edges: Bound<'_, PyAny>,
    vertices: Option<Bound<'_, PyAny>>,
    arguments: &Bound<'_, PyDict>,
    progress: Listener<'_>,
) -> PyResult<NativeGraph> {
    let arguments = BuildArguments::of(arguments)?;
    let (options, _) = arguments.input();
    let (mut feed, first, info) = PairFeed::begin(&edges, vertices.as_ref(), options)?;
    let (errand, receiver) = Feed::new(first, move |_| feed.next());
    build(py, &arguments, progress, Some(Box::new(errand)), |_| Ok(FedEdges::new(info, receiver)))
}
