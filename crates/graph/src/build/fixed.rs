//! A graph whose folder cannot be renamed: one in a lower layer of an overlay, as what a
//! container's image brings does. It is removed, and then the new graph gets its name. In between
//! the new one is whole, under a name that the next build knows.

use std::{
    io::ErrorKind,
    path::{Path, PathBuf},
};

use outercore_storage::{Disk, StorageError, hidden::is_random_name};

use super::removal::{
    REPLACES, has_manifest, hidden_parts, is_folder, is_locked, name_of, parent, remove_ours,
    remove_stripes, remove_with_last,
};
use crate::{
    error::{GraphError, Result},
    format::{MANIFEST, Manifest},
};

/// Comes between a graph's name and its successor's uuid.
const SUCCESSOR: &str = ".replacing-";

/// Whether a folder was not renamed because of the layer that it lies in.
pub(super) fn is_fixed(error: &GraphError) -> bool {
    let GraphError::Storage(error) = error else { return false };
    error.kind() == Some(ErrorKind::CrossesDevices)
}

/// Makes a whole graph the successor of the one at `output`. After an error it is not.
pub(super) fn succeed(disk: &Disk, folder: &Path, output: &Path, uuid: &str) -> Result<PathBuf> {
    let old = Manifest::read(disk, output)?.uuid;
    disk.write_all_new(&folder.join(REPLACES), old.as_bytes())?;
    disk.sync_dir(folder)?;
    let successor = parent(output).join(format!(".{}{SUCCESSOR}{uuid}", name_of(output)));
    disk.rename_noreplace(folder, &successor)?;
    Ok(successor)
}

/// A successor takes its place. After an error, the next build tries again.
pub(super) fn take_place(disk: &Disk, successor: &Path, output: &Path) -> Result<()> {
    // Before anything is removed.
    disk.sync_dir(&parent(output))?;
    let record = successor.join(REPLACES);
    if disk.exists(&record)? {
        let replaced = disk.read_all(&record, 4096)?;
        remove_replaced(disk, output, &replaced)?;
        disk.sync_dir(&parent(output))?;
        disk.remove_file(&record)?;
        disk.sync_dir(successor)?;
    }
    disk.rename_noreplace(successor, output)?;
    Ok(disk.sync_dir(&parent(output))?)
}

/// Removes the graph at `output` if it has this uuid, its manifest last: what is left of it when
/// this is interrupted can be recognised.
fn remove_replaced(disk: &Disk, output: &Path, uuid: &[u8]) -> Result<()> {
    match Manifest::read(disk, output) {
        Ok(manifest) if manifest.uuid.as_bytes() == uuid => {}
        // Removed, but for its folder.
        Err(GraphError::NotAGraph { .. })
            if is_folder(disk, output)? && disk.list(output)?.is_empty() =>
        {
            return Ok(disk.remove_dir_all(output)?);
        }
        Err(GraphError::NotAGraph { .. }) if !disk.exists(output)? => return Ok(()),
        Ok(_) => return Err(GraphError::Exists { path: output.to_owned() }),
        Err(error) => return Err(error),
    }
    remove_stripes(disk, output)?;
    remove_with_last(disk, output, MANIFEST)
}

/// Ends what a crash left: a successor takes its place, or is removed if another graph has it.
pub(super) fn mend(disk: &Disk, output: &Path) -> Result<()> {
    for (path, rest) in hidden_parts(disk, output, SUCCESSOR)? {
        if !is_random_name(&rest) || is_locked(disk, &path)? {
            continue;
        }
        match mend_one(disk, &path, output) {
            Err(GraphError::Storage(error)) if is_elsewhere(&error) => {}
            done => done?,
        }
    }
    Ok(())
}

fn mend_one(disk: &Disk, successor: &Path, output: &Path) -> Result<()> {
    // Without a manifest it was on its way to be removed, or is none of ours.
    if !has_manifest(disk, successor)? {
        return remove_ours(disk, successor);
    }
    match take_place(disk, successor, output) {
        Err(GraphError::Exists { .. }) => remove_ours(disk, successor),
        done => done,
    }
}

/// Whether another builder does the same.
fn is_elsewhere(error: &StorageError) -> bool {
    matches!(error.kind(), Some(ErrorKind::NotFound | ErrorKind::AlreadyExists))
}
