//! Checking a graph: every byte of every file against its checksum, and then the invariants that
//! checksums cannot see. All faults are reported, not the first.

use std::path::{Path, PathBuf};

use outercore_storage::{Disk, StorageError};

use crate::{
    build::BuildProgress,
    error::{GraphError, Result},
    format::MANIFEST,
    graph::Graph,
    view,
};

mod blame;
mod digest;
mod edges;
mod grid;
mod pages;
mod tables;

pub use blame::blaming;

/// Something wrong with a graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub what: String,
}

/// Reads everything and returns every fault. An error means that the graph could not be read at
/// all.
pub fn check(disk: &Disk, path: &Path, progress: &dyn BuildProgress) -> Result<Vec<Fault>> {
    let mut faults = Vec::new();
    let graph = match Graph::open(disk, path) {
        Ok(graph) => graph,
        Err(GraphError::Corrupt { path, what }) => return Ok(vec![Fault { path, what }]),
        Err(GraphError::StripeMissing { stripe, .. }) => {
            return Ok(vec![Fault { path: stripe, what: "it is missing".to_owned() }]);
        }
        Err(error) => return Err(error),
    };
    let manifest = graph.manifest();
    progress.stage("checking", Some(manifest.sections.iter().map(|section| section.bytes).sum()));
    unknown_files(&graph, &mut faults)?;
    for entry in &manifest.sections {
        pages::check_section(disk, &graph.section(&entry.name)?, progress, &mut faults)?;
    }
    if faults.is_empty() {
        edges::check_edges(&graph, progress, &mut faults)?;
        tables::check_ids(&graph, progress, &mut faults)?;
    }
    // Also one that cannot be opened, and that a run would make again.
    let view = view::place(&graph)?;
    if disk.exists(&view)? {
        faults.extend(check_view(disk, &view, progress)?);
    }
    Ok(faults)
}

/// The faults of the undirected simple view that a run has left.
fn check_view(disk: &Disk, path: &Path, progress: &dyn BuildProgress) -> Result<Vec<Fault>> {
    let mut faults = match check(disk, path, progress) {
        Err(GraphError::NotAGraph { path, why }) if disk.exists(&path)? => {
            vec![Fault { path, what: why }]
        }
        Err(error @ GraphError::Newer { .. }) => {
            vec![Fault { path: path.to_owned(), what: error.to_string() }]
        }
        // It is removed just now.
        Err(GraphError::NotAGraph { .. } | GraphError::Storage(StorageError::Locked { .. })) => {
            Vec::new()
        }
        faults => faults?,
    };
    for Fault { what, .. } in &mut faults {
        what.push_str(" (this is the simple view of the graph, which may be removed)");
    }
    Ok(faults)
}

/// Files that no section names: not part of the graph, and perhaps the trace of an accident.
fn unknown_files(graph: &Graph, faults: &mut Vec<Fault>) -> Result<()> {
    let files = graph.disk().list(graph.path());
    // Another graph may have its name by now: then those are not its files.
    if !graph.is_in_place()? {
        return Ok(());
    }
    for file in files? {
        let name =
            file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let section = name.strip_suffix(".crc").unwrap_or(&name);
        if name != MANIFEST && graph.manifest().section(section).is_none() {
            faults.push(Fault { path: file, what: "it does not belong to the graph".to_owned() });
        }
    }
    Ok(())
}
