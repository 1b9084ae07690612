//! The names of a graph's files.

use std::path::{Path, PathBuf};

use super::MANIFEST;

/// The sections that a graph may have; of rows, without what they are the rows of.
const SECTIONS: [&str; 9] = [
    "grid.stripes",
    "grid.tiles",
    "grid.chunks",
    "grid.words",
    "grid.weights",
    "ids.vertex",
    "ids.rank",
    "ids.keys",
    "ids.ends",
];
const ROWS: [&str; 3] = ["out.", "in.", "row."];
const SECTIONS_OF_ROWS: [&str; 5] = ["degrees", "index", "adjacency", "weights", "heads"];

/// Whether a graph may have a file of this name in its folder.
pub(crate) fn is_a_graphs(file: &str) -> bool {
    let section = file.strip_suffix(".crc").unwrap_or(file);
    let of_rows = ROWS.iter().find_map(|rows| section.strip_prefix(rows));
    file == MANIFEST
        || SECTIONS.contains(&section)
        || of_rows.is_some_and(|rest| SECTIONS_OF_ROWS.contains(&rest))
}

/// The file with the page checksums of section `name`, in the graph's folder.
pub(crate) fn sums_file(name: &str) -> String {
    format!("{name}.crc")
}

/// The files of section `name`: one in the graph's folder, or one in each of its stripes.
pub(crate) fn section_files(folder: &Path, stripes: &[PathBuf], name: &str) -> Vec<PathBuf> {
    if stripes.is_empty() {
        vec![folder.join(name)]
    } else {
        stripes.iter().map(|stripe| stripe.join(name)).collect()
    }
}
