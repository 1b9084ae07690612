//! Graphs of edges in memory, and their lists as they arrive.

mod requests;
mod scans;
mod streams;
mod stripes;
mod tables;

use std::path::Path;

use crate::RunConfig;
use outercore_graph::{
    BuildOptions, Graph, Order, WeightKind, build,
    input::{
        DeclaredVertices, EdgeBatch, EdgeSource, Ends, IdKind, Item, Progress, Sink, SourceInfo,
    },
};
use outercore_storage::Disk;

/// Source and target.
pub type Edge = (u64, u64);

/// What an edge weighs, in a graph with weights.
pub fn weight((source, target): Edge) -> u64 {
    (source * 7 + target * 13) % 1000
}

/// Edges in memory as a source.
struct Edges {
    edges: Vec<Edge>,
    info: SourceInfo,
}

impl Edges {
    fn new(vertices: u64, edges: Vec<Edge>, weights: bool) -> Self {
        let info = SourceInfo {
            format: "test",
            description: String::new(),
            directed: Some(true),
            ids: IdKind::Dense,
            weights: weights.then_some(WeightKind::U32),
            bytes: None,
            declared_vertices: Some(DeclaredVertices::Range { first: 0, count: vertices }),
        };
        Self { edges, info }
    }
}

impl EdgeSource for Edges {
    fn info(&self) -> &SourceInfo {
        &self.info
    }

    fn read(
        &self,
        _: usize,
        _: usize,
        _: &dyn Progress,
        sink: Sink<'_>,
    ) -> outercore_graph::Result<()> {
        let pairs = self.edges.iter().map(|&(source, target)| [source, target]).collect();
        let weights =
            self.info.weights.map(|_| self.edges.iter().map(|&edge| weight(edge) as f64).collect());
        sink(Item::Edges(EdgeBatch { ends: Ends::Numbers(pairs), weights }))
    }
}

/// Builds with the input's order; every vertex has an edge to itself, so that internal ids are the
/// input's. The lists are spread over `stripes` folders.
pub fn build_graph(
    folder: &Path,
    vertices: u64,
    edges: &[Edge],
    weights: bool,
    stripes: usize,
) -> Graph {
    let stripes = (0..stripes).map(|stripe| folder.join(format!("stripe-{stripe}"))).collect();
    build_with(
        folder,
        vertices,
        edges,
        weights,
        BuildOptions { stripes, ..BuildOptions::default() },
    )
}

/// The same with further options.
pub fn build_with(
    folder: &Path,
    vertices: u64,
    edges: &[Edge],
    weights: bool,
    options: BuildOptions,
) -> Graph {
    let options = BuildOptions { order: Order::Original, ..options };
    build_ordered(folder, vertices, edges, weights, options)
}

/// The same in the order that the options say.
pub fn build_ordered(
    folder: &Path,
    vertices: u64,
    edges: &[Edge],
    weights: bool,
    options: BuildOptions,
) -> Graph {
    let options = BuildOptions { memory: 64 << 20, threads: 2, force: true, ..options };
    let disk = Disk::new();
    build(
        &disk,
        &Edges::new(vertices, all(vertices, edges), weights),
        &folder.join("g.oc"),
        &options,
        &outercore_graph::Silent,
    )
    .unwrap();
    Graph::open(&disk, &folder.join("g.oc")).unwrap()
}

/// The edges of such a graph, ascending.
pub fn all(vertices: u64, edges: &[Edge]) -> Vec<Edge> {
    let mut edges: Vec<Edge> =
        edges.iter().copied().chain((0..vertices).map(|vertex| (vertex, vertex))).collect();
    edges.sort_unstable();
    edges
}

/// Ends of edges: a third of the sources is one hub, so that lists of all lengths occur.
pub fn ends(vertices: u64, picks: &[(u32, u32)]) -> Vec<Edge> {
    let source = |pick: u32| if pick.is_multiple_of(3) { 0 } else { u64::from(pick) % vertices };
    picks.iter().map(|&(a, b)| (source(a), u64::from(b) % vertices)).collect()
}

/// A run on so many threads.
pub fn config(threads: usize) -> RunConfig {
    RunConfig { threads, memory: 1 << 30, ..RunConfig::default() }
}
