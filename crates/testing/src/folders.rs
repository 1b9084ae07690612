//! Folders to work in, and what is in them afterwards.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use outercore_graph::format::Manifest;
use outercore_storage::Disk;

/// A folder that is quick to sync, where the system has one: what is tested is the content of files
/// and the order of operations, not the device.
pub fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a folder")
}

/// Every file below a folder, with its content.
pub fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(&next).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder).expect("it lies in the folder");
                files.insert(name.to_owned(), std::fs::read(&path).expect("a file"));
            }
        }
    }
    files
}

/// The names in a folder, sorted.
pub fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let mut names: Vec<String> = entries
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// What is the same of graphs that were built alike: their files, and their manifest.
pub type Essence = (BTreeMap<String, Vec<u8>>, Manifest);

/// A graph without what differs from build to build: every file of every section by name, and the
/// manifest without its random name.
pub fn essence(graph: &Path) -> Essence {
    let mut manifest = Manifest::read(&Disk::new(), graph).expect("a graph");
    let mut files = BTreeMap::new();
    let folders = std::iter::once(graph).chain(manifest.stripes.iter().map(PathBuf::as_path));
    for (place, folder) in folders.enumerate() {
        for (path, content) in contents(folder) {
            let random = if place > 0 { "owner.txt" } else { "manifest.json" };
            if path != Path::new(random) {
                files.insert(format!("{place}/{}", path.display()), content);
            }
        }
    }
    manifest.uuid.clear();
    manifest.stripes.clear();
    (files, manifest)
}
