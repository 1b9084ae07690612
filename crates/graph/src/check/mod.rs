//! Checking a graph: every byte of every file against its checksum, and then the invariants that
//! checksums cannot see. All faults are reported, not the first.

use std::path::{Path, PathBuf};

use outercore_storage::Disk;

use crate::{
    build::BuildProgress,
    error::{GraphError, Result},
    format::{MANIFEST, Manifest},
    graph::Graph,
};

mod digest;
mod edges;
mod grid;
mod pages;

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
    let manifest = match Manifest::read(disk, path) {
        Ok(manifest) => manifest,
        Err(GraphError::Corrupt { path, what }) => return Ok(vec![Fault { path, what }]),
        Err(error) => return Err(error),
    };
    let graph = match Graph::open(disk, path) {
        Ok(graph) => graph,
        Err(GraphError::Corrupt { path, what }) => return Ok(vec![Fault { path, what }]),
        Err(GraphError::NotAGraph { path, why }) => return Ok(vec![Fault { path, what: why }]),
        Err(GraphError::StripeMissing { stripe, .. }) => {
            return Ok(vec![Fault { path: stripe, what: "it is missing".to_owned() }]);
        }
        Err(error) => return Err(error),
    };
    progress.stage("checking", Some(manifest.sections.iter().map(|section| section.bytes).sum()));
    unknown_files(disk, path, &manifest, &mut faults)?;
    for entry in &manifest.sections {
        pages::check_section(disk, &graph.section(&entry.name)?, progress, &mut faults)?;
    }
    if faults.is_empty() {
        edges::check_edges(&graph, progress, &mut faults)?;
    }
    Ok(faults)
}

/// Files that no section names: not part of the graph, and perhaps the trace of an accident.
fn unknown_files(
    disk: &Disk,
    path: &Path,
    manifest: &Manifest,
    faults: &mut Vec<Fault>,
) -> Result<()> {
    for file in disk.list(path)? {
        let name =
            file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let known = name == MANIFEST
            || manifest.section(name.strip_suffix(".crc").unwrap_or(&name)).is_some();
        if !known {
            faults.push(Fault { path: file, what: "it does not belong to the graph".to_owned() });
        }
    }
    Ok(())
}
