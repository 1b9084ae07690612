//! The undirected simple view of a graph: every pair of neighbors once, no self-loops. For
//! algorithms that are defined on it.
//!
//! It is built on scratch, under the same budget, by the same builder, with the same internal ids.
//! Every run has one of its own, which goes with the run. What a killed run left is removed by the
//! next run or build of the graph.

use std::{path::PathBuf, sync::Mutex};

use outercore_storage::{Disk, StorageError, hidden::random_name};

use crate::{
    build::{BuildOptions, BuildProgress, build, removal},
    error::{GraphError, Result},
    graph::Graph,
    input::{
        DeclaredVertices, EdgeBatch, EdgeSource, Ends, IdKind, Item, Progress, Sink, SourceInfo,
    },
    order::Order,
};

/// How often a view is built again when another process takes it for one that is not in use.
const ATTEMPTS: usize = 4;

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
        let place = std::fs::canonicalize(graph.path()).unwrap_or(graph.path().to_owned());
        removal::remove_leftovers(graph.disk(), &place)?;
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
        let disk = graph.disk().clone();
        for _ in 0..ATTEMPTS {
            let path = removal::view_of(&place, &random_name()?);
            build(&disk, &Edges::of(graph), &path, &options, progress)?;
            let mut view = Self { graph: None, scratch: Some((disk.clone(), path)) };
            match view.open() {
                Ok(()) => return Ok(view),
                // It was not in use for a moment, and another process cleaned up.
                Err(_) if !view.is_there()? => {}
                Err(error) => return Err(error),
            }
        }
        Err(StorageError::Locked { path: place }.into())
    }

    fn open(&mut self) -> Result<()> {
        if let Some((disk, path)) = &self.scratch {
            self.graph = Some(Graph::open(disk, path)?);
        }
        Ok(())
    }

    fn is_there(&self) -> Result<bool> {
        self.scratch.as_ref().map_or(Ok(true), |(disk, path)| Ok(disk.exists(path)?))
    }

    /// The derived graph, if one was needed.
    pub fn derived(&self) -> Option<&Graph> {
        self.graph.as_ref()
    }
}

impl Drop for SimpleView {
    fn drop(&mut self) {
        self.graph = None;
        if let Some((disk, path)) = self.scratch.take() {
            // It is scratch: the next run of this graph removes what could not be removed.
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
        memory: usize,
        progress: &dyn Progress,
        sink: Sink<'_>,
    ) -> Result<()> {
        let _alone = self.once.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        // An edge's two ends are here twice, and on their way to scratch.
        let batch = (memory / 48).clamp(1 << 10, 1 << 16);
        self.graph.for_each_edge(batch, &mut |rows| {
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
