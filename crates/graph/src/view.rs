//! The undirected simple view of a graph: every pair of neighbors once, no self-loops. For
//! algorithms that are defined on it.
//!
//! It is built under the same budget, by the same builder, with the same internal ids: a vertex
//! whose only edges were loops keeps its number, too. It is kept beside the graph for later runs,
//! in a hidden folder that is named by the graph's uuid. So the view of a graph that was replaced
//! is not taken for that of its successor, and the next run or build of the name removes it. Who
//! uses a view has a lock of it. One that is found damaged is built again. The folder may be
//! removed at any time.

use std::{
    io::ErrorKind,
    path::{Path, PathBuf},
};

use outercore_storage::{StorageError, hidden::random_name};

use crate::{
    build::{BuildOptions, BuildProgress, build_view, is_merged, removal, smallest_of_view},
    error::{GraphError, Result},
    format::{MANIFEST, Manifest},
    graph::Graph,
    order::Order,
};

/// How often a view is made again that others remove, or that is damaged.
const ATTEMPTS: usize = 4;

/// The view of `graph` that an earlier run has left; `None`: there is none that can be used.
pub fn kept(graph: &Graph) -> Result<Option<Graph>> {
    match Graph::open(graph.disk(), &place(graph)?) {
        Ok(view) => Ok(Some(view).filter(|view| is_of(view, graph))),
        Err(
            GraphError::Corrupt { .. }
            | GraphError::NotAGraph { .. }
            | GraphError::Newer { .. }
            | GraphError::Storage(StorageError::Locked { .. }),
        ) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The smallest budget of a run that takes `run` bytes once the view is there. The view's intervals
/// may be wider than the graph's, and its edges are more.
pub fn smallest_budget(graph: &Graph, threads: usize, run: u64) -> Result<u64> {
    let wider = threads as u64 * (2 << 20) + 2 * graph.grid()?.bytes();
    let making = smallest_of_view(graph);
    Ok((run + wider).max(making))
}

/// The most bytes that making a view takes on disk.
pub fn disk_bytes(graph: &Graph) -> u64 {
    graph.manifest().arcs * if is_merged(graph) { 20 } else { 40 }
}

/// About how many bytes making a view writes; about as many are read. Where there are no lists of
/// both directions, edges go to scratch, and from there to lists and to a grid.
pub fn traffic(graph: &Graph) -> u64 {
    graph.manifest().arcs * if is_merged(graph) { 10 } else { 25 }
}

/// Does something with the view of `graph`: the graph itself where it is undirected and simple, the
/// view that an earlier run has left, or a new one, which is made within `memory` bytes. Does it
/// once more where the view turns out to be damaged.
pub fn with<T>(
    graph: &Graph,
    (memory, threads): (u64, usize),
    progress: &dyn BuildProgress,
    mut work: impl FnMut(&Graph) -> Result<T>,
) -> Result<T> {
    if !graph.directed() && graph.manifest().is_simple() {
        return work(graph);
    }
    // What runs on the graph have loaded takes no part of this budget.
    graph.share(None);
    let (disk, path, mut damaged) = (graph.disk(), place(graph)?, false);
    for _ in 0..ATTEMPTS {
        let found = disk.exists(&path)?;
        if let Some(view) = kept(graph)? {
            match work(&view) {
                Err(error) if !damaged && is_damage(&error, &path) => {
                    tracing::warn!(%error, "the simple view is damaged, and is made again");
                    damaged = true;
                    let uuid = view.manifest().uuid.clone();
                    drop(view);
                    set_aside(graph, &path, &uuid)?;
                    continue;
                }
                done => {
                    drop(view);
                    // Of a graph that was replaced. The next run or build tries again.
                    if let Ok(false) = graph.is_in_place() {
                        let _ = removal::remove_unused(disk, &path, &mut true);
                    }
                    return done;
                }
            }
        }
        if found {
            removal::remove_unused(disk, &path, &mut true)?;
        }
        make(graph, &path, (memory, threads), progress)?;
        if let Ok(view) = Graph::open(disk, &path)
            && !is_of(&view, graph)
        {
            let (found, wanted) = (view.vertices(), graph.connected());
            let what = format!("its edges have {found} vertices where {wanted} are expected");
            return Err(GraphError::Corrupt { path: graph.path().to_owned(), what });
        }
    }
    Err(StorageError::Locked { path }.into())
}

/// Whether something was found wrong with a file of the graph at `path`.
fn is_damage(error: &GraphError, path: &Path) -> bool {
    let (GraphError::Corrupt { path: file, .. }
    | GraphError::Storage(
        StorageError::Checksum { path: file, .. } | StorageError::Truncated { path: file, .. },
    )) = error
    else {
        return false;
    };
    file.starts_with(path)
}

/// Makes room for another view than this one, which is damaged. Others that use it keep it, and
/// the last of them to find it damaged removes it.
fn set_aside(graph: &Graph, path: &Path, uuid: &str) -> Result<()> {
    let (disk, real) = (graph.disk(), real(graph));
    // Another process may have made room already.
    let is_this = Manifest::read(disk, path).map_or(true, |manifest| manifest.uuid == uuid);
    if let Some(aside) = removal::view_of(&real, &random_name()?).filter(|_| is_this) {
        match disk.rename_noreplace(path, &aside) {
            Err(error) if error.kind() == Some(ErrorKind::NotFound) => {}
            done => done?,
        }
    }
    removal::remove_leftovers(disk, &real, Some(path))
}

/// Where the view of a graph lies, if it has one.
pub(crate) fn place(graph: &Graph) -> Result<PathBuf> {
    removal::view_of(&real(graph), &graph.manifest().uuid).ok_or_else(|| GraphError::Corrupt {
        path: graph.path().join(MANIFEST),
        what: "its uuid is none".to_owned(),
    })
}

/// Where the graph lies, and not only a link to it.
fn real(graph: &Graph) -> PathBuf {
    std::fs::canonicalize(graph.path()).unwrap_or(graph.path().to_owned())
}

/// Whether a graph can be the view of another.
fn is_of(view: &Graph, graph: &Graph) -> bool {
    let manifest = view.manifest();
    !view.directed()
        && manifest.is_simple()
        && manifest.order == Order::Original
        && [view.vertices(), view.connected()] == [graph.connected(); 2]
}

/// Makes the view of a graph, unless another process was faster.
fn make(
    graph: &Graph,
    path: &Path,
    (memory, threads): (u64, usize),
    progress: &dyn BuildProgress,
) -> Result<()> {
    removal::remove_leftovers(graph.disk(), &real(graph), Some(path))?;
    let options = BuildOptions {
        memory,
        threads,
        directed: Some(false),
        simple: true,
        order: Order::Original,
        ..BuildOptions::default()
    };
    match build_view(graph, path, &options, progress) {
        Err(GraphError::Exists { .. } | GraphError::Storage(StorageError::Locked { .. })) => Ok(()),
        done => done.map(drop),
    }
}
