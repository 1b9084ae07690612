//! The undirected simple view of a graph: every pair of neighbors once, no self-loops. For
//! algorithms that are defined on it; built on scratch, under the same budget, by the same builder,
//! with the same internal ids. It goes with its last user.

use std::{
    path::{Path, PathBuf},
    sync::Mutex,
};

use outercore_storage::Disk;

use crate::{
    build::{BuildOptions, BuildProgress, build},
    error::{GraphError, Result},
    graph::Graph,
    input::{
        DeclaredVertices, EdgeBatch, EdgeSource, Ends, IdKind, Item, Progress, Sink, SourceInfo,
    },
    order::Order,
};

/// A graph in its undirected simple view: itself, or a derived one.
pub struct SimpleView {
    graph: Option<Graph>,
    scratch: Option<(Disk, PathBuf)>,
}

impl SimpleView {
    /// The view of `graph`; `None` inside when the graph is undirected and simple already.
    /// Otherwise it is built beside the graph, within `options.memory`.
    pub fn of(
        graph: &Graph,
        memory: u64,
        threads: usize,
        progress: &dyn BuildProgress,
    ) -> Result<Self> {
        let manifest = graph.manifest();
        if !manifest.directed && manifest.simple {
            return Ok(Self { graph: None, scratch: None });
        }
        let name = graph
            .path()
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default();
        let path = graph.path().with_file_name(format!(".{name}.view-{}", manifest.uuid));
        let options = BuildOptions {
            memory,
            threads,
            directed: Some(false),
            simple: true,
            order: Order::Original,
            // A vertex whose only edges were loops must keep its number.
            isolated_apart: false,
            force: true,
            ..BuildOptions::default()
        };
        build(graph.disk(), &Edges::of(graph), &path, &options, progress)?;
        let disk = graph.disk().clone();
        Ok(Self { graph: Some(Graph::open(&disk, &path)?), scratch: Some((disk, path)) })
    }

    /// The derived graph, if one was needed.
    pub fn derived(&self) -> Option<&Graph> {
        self.graph.as_ref()
    }

    /// Where views of the graph at `path` lie.
    pub fn is_view(path: &Path) -> bool {
        path.file_name().is_some_and(|name| name.to_string_lossy().contains(".view-"))
    }
}

impl Drop for SimpleView {
    fn drop(&mut self) {
        self.graph = None;
        if let Some((disk, path)) = self.scratch.take() {
            // It is scratch: the next view of this graph replaces what could not be removed.
            let _ = disk.remove_dir_all(&path);
        }
    }
}

/// A graph's edges as a source, by internal id.
struct Edges {
    graph: Graph,
    info: SourceInfo,
    once: Mutex<()>,
}

impl Edges {
    fn of(graph: &Graph) -> Self {
        let info = SourceInfo {
            format: "graph",
            description: "the edges of a graph".to_owned(),
            directed: None,
            ids: IdKind::Dense,
            weights: None,
            bytes: Some(graph.manifest().arcs),
            declared_vertices: Some(DeclaredVertices::Range { first: 0, count: graph.connected() }),
        };
        Self { graph: graph.clone(), info, once: Mutex::new(()) }
    }
}

impl EdgeSource for Edges {
    fn info(&self) -> &SourceInfo {
        &self.info
    }

    fn read(
        &self,
        _threads: usize,
        _memory: usize,
        progress: &dyn Progress,
        sink: Sink<'_>,
    ) -> Result<()> {
        let _alone = self.once.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        self.graph.for_each_edge(1 << 16, &mut |rows| {
            if progress.cancelled() {
                return Err(GraphError::Cancelled);
            }
            let pairs: Vec<[u64; 2]> = rows
                .sources
                .iter()
                .zip(&rows.targets)
                .map(|(&source, &target)| [source, target])
                .collect();
            progress.advance(pairs.len() as u64);
            sink(Item::Edges(EdgeBatch { ends: Ends::Numbers(pairs), weights: None }))
        })
    }
}
