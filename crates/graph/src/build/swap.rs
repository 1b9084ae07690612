//! Two folders exchange their names, in one step where the file system can do that. Elsewhere it
//! takes three steps. Whatever a crash leaves of them, the old folder is there, under a name of
//! ours.

use std::{
    io::ErrorKind,
    path::{Path, PathBuf},
};

use outercore_storage::{Disk, hidden::is_random_name};

use super::removal::{
    building, has_manifest, hidden_parts, is_locked, name_of, parent, remove_ours,
};
use crate::error::{GraphError, Result};

/// Comes between a graph's name and a uuid: what the graph was, on its way to be removed.
const ASIDE: &str = ".replaced-";

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
    let uuid = uuid_of(other).unwrap_or_default();
    let aside = parent(graph).join(format!(".{}{ASIDE}{uuid}", name_of(graph)));
    disk.rename_noreplace(graph, &aside)?;
    if let Err(error) = disk.rename_noreplace(other, graph) {
        disk.rename_noreplace(&aside, graph)?;
        return Err(error);
    }
    // What has the other name is removed by the next build: so the new graph's name must have come
    // to stay before the old one gets that.
    if let Err(error) = disk.sync_dir(&parent(graph)) {
        disk.rename_noreplace(graph, other)?;
        disk.rename_noreplace(&aside, graph)?;
        return Err(error);
    }
    disk.rename_noreplace(&aside, other)
}

/// The graphs that left the name `output` in such a way, and have no other one since.
fn aside(disk: &Disk, output: &Path) -> Result<Vec<(PathBuf, String)>> {
    let mut found = hidden_parts(disk, output, ASIDE)?;
    found.retain(|(_, uuid)| is_random_name(uuid));
    Ok(found)
}

/// Whether the graph at `output` is without its name for a moment.
pub(crate) fn is_between_names(disk: &Disk, output: &Path) -> bool {
    aside(disk, output).is_ok_and(|found| !found.is_empty())
}

/// Ends what a crash between such steps left: a graph that lost its name has it again, and one that
/// was replaced is removed. A builder that lives ends its steps itself.
pub(super) fn mend(disk: &Disk, output: &Path) -> Result<()> {
    for (path, uuid) in aside(disk, output)? {
        if is_locked(disk, &building(output, &uuid))? || is_locked(disk, output)? {
            continue;
        }
        let mended = if !disk.exists(output)? && has_manifest(disk, &path)? {
            disk.rename_noreplace(&path, output).map_err(GraphError::from)
        } else {
            // The name must have come to stay before what had it goes.
            disk.sync_dir(&parent(output))?;
            remove_ours(disk, &path)
        };
        match mended {
            // Another builder does the same.
            Err(GraphError::Storage(error))
                if matches!(error.kind(), Some(ErrorKind::NotFound | ErrorKind::AlreadyExists)) => {
            }
            done => done?,
        }
    }
    Ok(())
}
