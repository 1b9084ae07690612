//! Removing graphs, whole or under construction, and nothing else.
//!
//! A manifest is a file that can be copied, linked to or damaged, so what it names is not removed
//! because it is named there. A stripe folder has a record of the graph that made it: its uuid, and
//! the inode of its folder, which renaming keeps and copying does not. Only a folder whose record
//! is this graph's is removed.
//!
//! Nor is a hidden folder removed because of its name alone: with anything in it that no builder
//! writes, it is not ours.

use std::{
    borrow::Cow,
    io::ErrorKind,
    path::{Path, PathBuf},
};

use outercore_storage::{DirLock, Disk, FileKind, Shown, StorageError, hidden::is_random_name};

use crate::{
    error::{GraphError, Result},
    format::{MANIFEST, Manifest, is_a_graphs},
};

/// The file that names the stripe folders of a graph under construction, so that a later build can
/// remove them.
pub(super) const STRIPES: &str = "stripes.txt";
/// The folder of scratch files of a graph under construction.
pub(super) const SCRATCH: &str = "scratch";
/// The file of a graph that takes the place of another which says of which one, by its uuid.
pub(super) const REPLACES: &str = "replaces.txt";
/// How the name of a graph's folder in a stripe directory begins.
pub(super) const STRIPE_PREFIX: &str = "outercore-";
/// The file of a stripe folder that says whose it is.
const OWNER: &str = "owner.txt";

/// Which graph a stripe folder belongs to.
pub(super) struct Owner {
    uuid: String,
    /// Of the graph's folder.
    inode: u64,
}

impl Owner {
    /// The graph in a folder of its own, which has this uuid.
    pub(super) fn of(disk: &Disk, folder: &Path, uuid: &str) -> Result<Self> {
        let inode = disk.entry(folder)?.map_or(0, |entry| entry.inode);
        Ok(Self { uuid: uuid.to_owned(), inode })
    }

    fn record(&self) -> String {
        format!("graph {}\ninode {}\n", self.uuid, self.inode)
    }

    /// Marks a stripe folder as this graph's.
    pub(super) fn mark(&self, disk: &Disk, stripe: &Path) -> Result<()> {
        disk.write_all_new(&stripe.join(OWNER), self.record().as_bytes())?;
        // Before there is anything else in it.
        Ok(disk.sync_dir(stripe)?)
    }

    /// Whether a folder is a stripe of this graph: a folder of its name, not a link to one, with
    /// its record, or with nothing in it yet but what a crash left of that.
    fn owns(&self, disk: &Disk, stripe: &Path) -> Result<bool> {
        let name = stripe.file_name().map(|name| name.to_string_lossy());
        let kind = |path: &Path| Ok::<_, StorageError>(disk.entry(path)?.map(|entry| entry.kind));
        if name != Some(format!("{STRIPE_PREFIX}{}", self.uuid).into())
            || kind(stripe)? != Some(FileKind::Folder)
        {
            return Ok(false);
        }
        let record = stripe.join(OWNER);
        match kind(&record)? {
            Some(FileKind::File) => {
                let (found, whole) = (disk.read_all(&record, 4096)?, self.record());
                // A crash may leave any bytes of a record that was not synced, and nothing else.
                let is_a_record = found.starts_with(b"graph ") && found.ends_with(b"\n");
                let is_begun = || Ok(!is_a_record && disk.list(stripe)?.len() == 1);
                if found == whole.as_bytes() { Ok(true) } else { is_begun() }
            }
            Some(_) => Ok(false),
            None => Ok(disk.list(stripe)?.is_empty()),
        }
    }
}

/// Removes a stripe folder.
pub(super) fn remove_stripe(disk: &Disk, stripe: &Path) -> Result<()> {
    remove_with_last(disk, stripe, OWNER)
}

/// Removes a folder, the file that says what it is last: killed at any moment, what is left can be
/// recognised.
pub(super) fn remove_with_last(disk: &Disk, folder: &Path, last: &str) -> Result<()> {
    let last = folder.join(last);
    for path in disk.list(folder)?.into_iter().filter(|path| *path != last) {
        if is_folder(disk, &path)? {
            disk.remove_dir_all(&path)?;
        } else {
            disk.remove_file(&path)?;
        }
    }
    disk.sync_dir(folder)?;
    Ok(disk.remove_dir_all(folder)?)
}

/// Where a graph is built that will be at `output`.
pub(super) fn building(output: &Path, uuid: &str) -> PathBuf {
    output.with_file_name(format!(".{}.building-{uuid}", name_of(output)))
}

/// Where the view of the graph with this uuid at `output` lies; `None`: no graph has such a uuid.
pub(crate) fn view_of(output: &Path, uuid: &str) -> Option<PathBuf> {
    let name = format!(".{}.view-{uuid}", name_of(output));
    is_random_name(uuid).then(|| output.with_file_name(name))
}

/// Where the view of the graph that is at `output` lies, if there is a graph.
pub(super) fn view_at(disk: &Disk, output: &Path) -> Option<PathBuf> {
    view_of(output, &Manifest::read(disk, output).ok()?.uuid)
}

/// The folder that a graph lies in.
pub(super) fn parent(output: &Path) -> PathBuf {
    match output.parent() {
        Some(parent) if parent != Path::new("") => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

pub(super) fn name_of(path: &Path) -> Cow<'_, str> {
    path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default()
}

/// Whether a hidden folder beside the graph `output` is one of its builders', a view of it, or one
/// of the builders' of a view.
fn is_hidden_part(name: &str, output: &str) -> bool {
    let after = |text: &str, what: &str| {
        let rest = text.strip_prefix('.')?.strip_prefix(output)?.strip_prefix(what)?;
        let random = rest.get(..32).filter(|random| is_random_name(random))?;
        Some(rest[random.len()..].to_owned())
    };
    let view_in_the_making = |name: &str| {
        let rest = after(name.strip_prefix('.')?, ".view-")?;
        rest.strip_prefix(".building-").map(is_random_name)
    };
    [".building-", ".view-"]
        .iter()
        .any(|what| after(name, what).is_some_and(|rest| rest.is_empty()))
        || view_in_the_making(name) == Some(true)
}

/// The folders beside the graph at `output` that are called `.NAME` and `infix`, with the rest of
/// their names.
pub(super) fn hidden_parts(
    disk: &Disk,
    output: &Path,
    infix: &str,
) -> Result<Vec<(PathBuf, String)>> {
    let prefix = format!(".{}{infix}", name_of(output));
    let mut found = Vec::new();
    for path in disk.list(&parent(output))? {
        let rest = name_of(&path).strip_prefix(&prefix).map(str::to_owned);
        if let Some(rest) = rest
            && is_folder(disk, &path)?
        {
            found.push((path, rest));
        }
    }
    Ok(found)
}

/// Whether a builder holds a folder.
pub(super) fn is_locked(disk: &Disk, folder: &Path) -> Result<bool> {
    match disk.lock_shared(folder) {
        Err(StorageError::Locked { .. }) => Ok(true),
        Err(error) if !is_gone(&error) => Err(error.into()),
        _ => Ok(false),
    }
}

/// Removes what dead processes left of the graph at `output`, and views of graphs that were there:
/// folders of ours that are not locked, but not the view `keep`.
pub(crate) fn remove_leftovers(disk: &Disk, output: &Path, keep: Option<&Path>) -> Result<()> {
    let mut is_first = true;
    for path in disk.list(&parent(output))? {
        let kept = keep.is_some_and(|keep| keep.file_name() == path.file_name());
        if !kept && is_hidden_part(&name_of(&path), &name_of(output)) {
            remove_unused(disk, &path, &mut is_first)?;
        }
    }
    Ok(())
}

/// Removes a folder of ours if it is there and not locked. `is_first`: it is the first of a folder
/// from which some are removed.
pub(crate) fn remove_unused(disk: &Disk, path: &Path, is_first: &mut bool) -> Result<()> {
    if !is_folder(disk, path)? {
        return Ok(());
    }
    match disk.lock_exclusive(path) {
        Ok(lock) => {
            // It may be a graph that was replaced: then the name of its successor must have come to
            // stay before it goes.
            if std::mem::take(is_first) {
                disk.sync_dir(&parent(path))?;
            }
            remove_locked(disk, path, lock)
        }
        Err(StorageError::Locked { .. }) => Ok(()),
        Err(error) if is_gone(&error) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Removes a graph that was replaced at `output`, and is in this folder now, and its view.
pub(super) fn remove_replaced(disk: &Disk, folder: &Path, output: &Path) -> Result<()> {
    let (uuid, _) = named(disk, folder)?;
    remove_graph(disk, folder)?;
    let view = view_of(output, &uuid);
    view.map_or(Ok(()), |view| remove_unused(disk, &view, &mut true))
}

/// Removes what another builder may be removing, too.
fn remove_locked(disk: &Disk, path: &Path, _lock: DirLock) -> Result<()> {
    match remove_ours(disk, path) {
        Err(GraphError::Storage(error)) if is_gone(&error) => Ok(()),
        done => done,
    }
}

/// Something in a folder that no builder writes there.
pub(super) fn stranger(disk: &Disk, folder: &Path) -> Result<Option<PathBuf>> {
    let is_ours = |path: &Path| {
        let name = name_of(path);
        is_a_graphs(&name) || [STRIPES, SCRATCH, REPLACES].contains(&&*name)
    };
    match disk.list(folder) {
        // Another builder has taken it away.
        Err(error) if is_gone(&error) => Ok(None),
        found => Ok(found?.into_iter().find(|path| !is_ours(path))),
    }
}

/// Whether there is a graph in a folder, whatever state it is in.
pub(super) fn has_manifest(disk: &Disk, folder: &Path) -> Result<bool> {
    Ok(disk.exists(&folder.join(MANIFEST))?)
}

/// Removes a graph in a folder with a name of ours, unless there is anything else in it.
pub(super) fn remove_ours(disk: &Disk, folder: &Path) -> Result<()> {
    match stranger(disk, folder)? {
        None => remove_graph(disk, folder),
        Some(path) => {
            tracing::warn!(
                "{} is left: no build has written {}; if nobody needs it, remove it by hand",
                Shown(folder),
                Shown(&path)
            );
            Ok(())
        }
    }
}

fn is_gone(error: &StorageError) -> bool {
    error.kind() == Some(ErrorKind::NotFound)
}

pub(super) fn is_folder(disk: &Disk, path: &Path) -> Result<bool> {
    Ok(disk.entry(path)?.is_some_and(|entry| entry.kind == FileKind::Folder))
}

/// Removes a graph, whole or under construction: the stripes first, because the folder is what
/// names them. Of a link to a graph only the link is removed.
pub(super) fn remove_graph(disk: &Disk, folder: &Path) -> Result<()> {
    if !is_folder(disk, folder)? {
        return Ok(disk.remove_file(folder)?);
    }
    remove_stripes(disk, folder)?;
    Ok(disk.remove_dir_all(folder)?)
}

/// Removes the stripes of the graph in a folder.
pub(super) fn remove_stripes(disk: &Disk, folder: &Path) -> Result<()> {
    let (uuid, stripes) = named(disk, folder)?;
    let owner = Owner::of(disk, folder, &uuid)?;
    for stripe in stripes {
        if owner.owns(disk, &stripe)? {
            remove_stripe(disk, &stripe)?;
            // Gone for good before the folder goes, which alone knows of it.
            disk.sync_dir(&parent(&stripe))?;
        } else if disk.exists(&stripe)? {
            tracing::warn!(
                "{} is left: nothing in it says that it belongs to the graph that is removed; if \
                 it does, remove it by hand",
                stripe.display()
            );
        }
    }
    Ok(())
}

/// The uuid of the graph in a folder, and the stripe folders that it names.
fn named(disk: &Disk, folder: &Path) -> Result<(String, Vec<PathBuf>)> {
    match Manifest::read(disk, folder) {
        Ok(manifest) => {
            return Ok((manifest.uuid, manifest.stripes));
        }
        Err(GraphError::Storage(error)) if !is_gone(&error) => return Err(error.into()),
        // Not written to its end: then the list may be there. Or damaged: then the stripes are not
        // known.
        Err(_) => {}
    }
    let name = folder.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    let uuid = name.rsplit('-').next().unwrap_or_default().to_owned();
    let list = folder.join(STRIPES);
    if disk.entry(&list)?.is_none_or(|entry| entry.kind != FileKind::File) {
        return Ok((uuid, Vec::new()));
    }
    let bytes = disk.read_all(&list, 1 << 20)?;
    Ok((uuid, String::from_utf8_lossy(&bytes).lines().map(PathBuf::from).collect()))
}
