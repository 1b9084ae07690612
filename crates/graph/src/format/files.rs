//! The names of a graph's files.

use std::path::{Path, PathBuf};

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
