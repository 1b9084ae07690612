#![doc = include_str!("../../../README.md")]
//!
//! # The library
//!
//! [`build`] makes a graph of edge lists, [`open`] opens one, and an [`Algorithm`] runs on it
//! within the budget of a [`RunConfig`]. The [`Outcome`] has a value for each vertex and a report
//! of what the run did.
//!
//! ```
//! use outercore::{Algorithm, BuildOptions, PageRank, RunConfig, Silent, top_rows, write_result};
//!
//! # fn main() -> outercore::Result<()> {
//! # let folder = tempfile::tempdir().unwrap();
//! # let (edges, path) = (folder.path().join("edges.txt"), folder.path().join("web.oc"));
//! # let ranks_file = folder.path().join("ranks.parquet");
//! # std::fs::write(&edges, "home news\nhome shop\nnews home\nshop home\nblog home\n").unwrap();
//! let graph = outercore::build(&[&edges], &path, &BuildOptions::default())?;
//! assert_eq!((graph.vertices(), graph.edges()), (4, 5));
//!
//! let graph = outercore::open(&path)?;
//! let config = RunConfig { memory: 256 << 20, ..RunConfig::default() };
//! let ranks = PageRank::default().run(&graph, &config, &Silent)?;
//! let best = top_rows(&graph, &ranks.columns[0], 1)?;
//! assert_eq!(best[0].0.to_string(), "home");
//! write_result(&ranks_file, &graph, &ranks.columns)?;
//! # Ok(())
//! # }
//! ```
//!
//! Algorithms can be asked for by name, and settings one by one, as the command line does. A plan
//! says what a run would do.
//!
//! ```
//! use outercore::{MemoryModel, Request, Resources, RunSettings, Silent, by_name};
//!
//! # fn main() -> outercore::Result<()> {
//! # let folder = tempfile::tempdir().unwrap();
//! # let (edges, path) = (folder.path().join("edges.txt"), folder.path().join("road.oc"));
//! # std::fs::write(&edges, "1 2\n2 3\n3 1\n4 5\n").unwrap();
//! # let graph = outercore::build(&[&edges], &path, &outercore::BuildOptions::default())?;
//! let asked = RunSettings { model: Some(MemoryModel::SemiExternal), ..RunSettings::default() };
//! let config = asked.config(&Resources::default());
//! let components = by_name("components", &Request::default())?;
//! println!("{}", components.plan(&graph, &config)?);
//! let outcome = components.run(&graph, &config, &Silent)?;
//! assert_eq!(outcome.report.memory_model, MemoryModel::SemiExternal);
//! # Ok(())
//! # }
//! ```
//!
//! # Programs of your own
//!
//! A [`program::VertexProgram`] says what a vertex keeps, what it sends along its edges, and what
//! it does with what arrives. Where vertices and edges lie is the engine's business.
//!
//! ```
//! use outercore::program::{
//!     Activity, Context, IterationEnd, Next, Start, Sum, VertexProgram, execute,
//! };
//! use outercore::{Column, Job, RunConfig, Silent, top_rows};
//!
//! /// How many walks along two edges end in each vertex.
//! struct Walks;
//!
//! impl VertexProgram for Walks {
//!     type Value = f64;
//!     type Signal = f64;
//!     type Message = Sum<f64>;
//!     const ACTIVITY: Activity = Activity::AllSend;
//!
//!     fn start(&self) -> Start { Start::All }
//!     fn init(&self, _: u64, _: u32) -> f64 { 1.0 }
//!     fn scatter(&self, _: u64, walks: &f64, _: u32) -> Option<f64> { Some(*walks) }
//!     fn carry(&self, walks: f64, _: f64) -> Sum<f64> { Sum(walks) }
//!     fn apply(&self, _: &Context, _: u64, walks: &mut f64, sum: Sum<f64>) -> bool {
//!         *walks = sum.0;
//!         true
//!     }
//!     fn end_iteration(&mut self, end: &IterationEnd) -> Next {
//!         if end.iterations < 2 { Next::Iteration } else { Next::End }
//!     }
//! }
//!
//! # fn main() -> outercore::Result<()> {
//! # let folder = tempfile::tempdir().unwrap();
//! # let (edges, path) = (folder.path().join("edges.txt"), folder.path().join("web.oc"));
//! # std::fs::write(&edges, "home news\nhome shop\nnews home\nshop home\nblog home\n").unwrap();
//! # let graph = outercore::build(&[&edges], &path, &outercore::BuildOptions::default())?;
//! let config = RunConfig::default();
//! let job = Job::new(&graph, &config, &Silent);
//! let (walks, report) = execute(&mut Walks, "walks", job, Some(2))?;
//! let best = top_rows(&graph, &Column::new("walks", walks), 1)?;
//! assert_eq!((best[0].1, report.iterations), (3.0, 2));
//! # Ok(())
//! # }
//! ```
//!
//! A [`program::Visitor`] is a traversal without iterations. It says what a visitor brings along an
//! edge; the smaller label is the better one.
//!
//! ```
//! use outercore::program::{Start, Visitor, visit};
//! use outercore::{BuildOptions, Job, Key, RunConfig, Silent, WeightKind};
//!
//! /// The widest way from a vertex: its narrowest edge is as wide as can be. Labels are widths
//! /// with all bits turned: a wider way has a smaller label.
//! struct WidestPath(u64);
//!
//! impl Visitor for WidestPath {
//!     const WEIGHTED: bool = true;
//!
//!     fn start(&self) -> Start { Start::Vertices(vec![self.0]) }
//!     fn first(&self, _: u64) -> u64 { !u64::from(u32::MAX) }
//!     fn along(&self, _: u64, label: u64, width: u64) -> u64 { label.max(!width) }
//! }
//!
//! # fn main() -> outercore::Result<()> {
//! # let folder = tempfile::tempdir().unwrap();
//! # let (edges, path) = (folder.path().join("edges.txt"), folder.path().join("pipes.oc"));
//! # std::fs::write(&edges, "well town 3\nwell lake 9\nlake town 7\ntown home 5\n").unwrap();
//! # let options = BuildOptions { weights: Some(WeightKind::U32), ..BuildOptions::default() };
//! # let graph = outercore::build(&[&edges], &path, &options)?;
//! let config = RunConfig::default();
//! let vertex = |name: &str| graph.find(&Key::Name(name.to_owned())).unwrap().unwrap();
//! let paths = WidestPath(vertex("well"));
//! let (labels, report) = visit(&paths, "widest", Job::new(&graph, &config, &Silent))?;
//! let mut widths = Vec::new();
//! labels.for_each(|_, &label| widths.push(!label))?;
//! assert_eq!(widths[vertex("town") as usize], 7);
//! assert_eq!(widths[vertex("home") as usize], 5);
//! assert!(report.visitors.is_some_and(|visitors| visitors.reads <= 4));
//! # Ok(())
//! # }
//! ```

mod trial;

use std::path::Path;

pub use outercore_algorithms::{
    Algorithm, Betweenness, Bfs, Clustering, Components, Diameter, KCore, LabelPropagation,
    MultiSource, NAMES, PageRank, PageRankDelta, Request, Source, Spmv, Sssp, Triangles, Vector,
    by_name,
};
pub use outercore_caches::{
    About, Divisor, Penalty, Runs, Saved, Select, SelectOptions, SelectSettings, io_cost, path_of,
    select,
};
pub use outercore_engine::{
    BlockSize, Bytes, Cell, Choice, Column, CostFormula, CrossIteration, Figure, HugePages,
    IoBackend, IoScheduling, Isolated, IterationReport, Job, Meaning, MemoryModel, Named, Outcome,
    Plan, Precompute, Preset, ReadPolicy, Resources, RunConfig, RunProgress, RunReport,
    RunSettings, SearchDirection, Settings, Silent, Size, SubBlocks, Technique, TechniqueReport,
    TechniqueState, TopRow, Values, VisitReport, human_bytes, settings, top_rows,
};
pub use outercore_graph::{
    BuildOptions, BuildProgress, BuildSettings, Direction, Fault, Graph, GraphError, GraphInfo,
    GridPartition, InputError, Key, Layout, Order, Result, Spread, TileEdges, ViewInfo, WeightKind,
    check, format, generate, input,
};
pub use outercore_interchange::{
    ArrowEdges, EdgeFormat, ExportFormat, ResultFormat, WriteOptions, export_edges, is_parsing,
    is_standard_output, open as open_edges, result_scratch, write_result, write_result_with,
};
pub use outercore_ordering::{Means, OrderSettings, build as build_from, reorder};
pub use outercore_storage::{Disk, Shown, StorageError, device, memory};
pub use outercore_visit::{Executing, Executor, Ownership};
pub use trial::plan;

/// What programs are made of.
pub mod program {
    pub use outercore_engine::{
        Activity, Context, Finished, Idempotent, IterationEnd, Min, Monoid, Monotone, Next, Or,
        Pod, Start, Sum, VertexProgram, execute, execute_monotone,
    };
    pub use outercore_visit::{Visitor, visit};
}

/// Opens the graph at `path`.
pub fn open(path: impl AsRef<Path>) -> Result<Graph> {
    Graph::open(&Disk::new(), path.as_ref())
}

/// Builds the graph of some edge lists, all of one format, at `path`, and opens it. The format is
/// found out; [`open_edges`] and [`build_from`](build_from()) leave more to say.
pub fn build(
    edges: &[impl AsRef<Path>],
    path: impl AsRef<Path>,
    options: &BuildOptions,
) -> Result<Graph> {
    let disk = Disk::new();
    let inputs: Vec<input::Input> =
        edges.iter().map(|edges| edges.as_ref().to_owned().into()).collect();
    let said = input::InputOptions {
        directed: options.directed,
        weights: options.weights,
        ..input::InputOptions::default()
    };
    let source = open_edges(&disk, &inputs, EdgeFormat::default(), &said)?;
    build_from(&disk, &*source, path.as_ref(), options, &outercore_graph::Silent)?;
    open(path)
}
