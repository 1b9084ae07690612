//! Two folders exchange their names, in one step where the file system can do that. Elsewhere it
//! takes three steps. Whatever a crash leaves of them, the old folder is there, under a name of
//! ours.

use std::path::{Path, PathBuf};

use outercore_storage::{Disk, hidden::is_random_name};

use super::removal::{is_folder, parent, remove_graph};
use crate::error::Result;

/// `.NAME.replaced-`: what `output` was, on its way to be removed.
fn prefix(output: &Path) -> String {
    let name = output.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    format!(".{name}.replaced-")
}

/// Exchanges two names in a folder; one of them ends in a uuid.
pub(super) fn swap(disk: &Disk, a: &Path, b: &Path) -> outercore_storage::Result<()> {
    match disk.exchange(a, b) {
        Err(error) if error.is_unsupported() => in_steps(disk, a, b),
        done => done,
    }
}

/// The same where that is not possible in one step (NFS, exFAT, 9p).
fn in_steps(disk: &Disk, a: &Path, b: &Path) -> outercore_storage::Result<()> {
    let uuid_of = |path: &Path| {
        let name = path.file_name()?.to_str()?.to_owned();
        name.rsplit('-').next().filter(|uuid| is_random_name(uuid)).map(str::to_owned)
    };
    // The graph is the one whose name has no uuid.
    let (graph, other) = if uuid_of(a).is_some() { (b, a) } else { (a, b) };
    let aside =
        parent(graph).join(format!("{}{}", prefix(graph), uuid_of(other).unwrap_or_default()));
    disk.rename_noreplace(graph, &aside)?;
    if let Err(error) = disk.rename_noreplace(other, graph) {
        disk.rename_noreplace(&aside, graph)?;
        return Err(error);
    }
    disk.rename_noreplace(&aside, other)
}

/// Ends what a crash between such steps left: a graph that lost its name has it again, and one that
/// was replaced is removed.
pub(super) fn mend(disk: &Disk, output: &Path) -> Result<()> {
    let prefix = prefix(output);
    let left = |path: &PathBuf| {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        name.as_deref().and_then(|name| name.strip_prefix(&prefix)).is_some_and(is_random_name)
    };
    for path in disk.list(&parent(output))?.into_iter().filter(left) {
        if is_folder(disk, &path)? {
            if disk.exists(output)? {
                remove_graph(disk, &path)?;
            } else {
                disk.rename_noreplace(&path, output)?;
            }
        }
    }
    Ok(())
}
