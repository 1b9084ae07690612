//! A graph under construction: a hidden folder beside its future place, locked by its builder,
//! renamed when it is whole.
//!
//! The next build of the same graph removes what a killed builder left: the lock dies with its
//! process.

use std::path::{Path, PathBuf};

use outercore_storage::{DirLock, Disk, StorageError};

use crate::{
    error::{GraphError, Result},
    format::{MANIFEST, Manifest},
};

/// The file that names the stripe folders of a graph under construction, so that a later build can
/// remove them.
const STRIPES: &str = "stripes.txt";
/// How the name of a graph's folder in a stripe directory begins.
const STRIPE_PREFIX: &str = "outercore-";

/// A graph under construction; dropped unpublished, it is removed.
pub struct Staging {
    disk: Disk,
    output: PathBuf,
    folder: PathBuf,
    scratch: PathBuf,
    stripes: Vec<PathBuf>,
    lock: Option<DirLock>,
    /// Whether a graph that is there may be replaced.
    replace: bool,
    published: bool,
}

/// `NAME.oc` -> `.NAME.oc.building-`.
fn prefix(output: &Path) -> String {
    format!(
        ".{}.building-",
        output.file_name().map(|name| name.to_string_lossy()).unwrap_or_default()
    )
}

fn parent(output: &Path) -> PathBuf {
    match output.parent() {
        Some(parent) if parent != Path::new("") => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// 128 random bits, as hexadecimal digits.
fn random_name() -> Result<String> {
    let mut bytes = [0u8; 16];
    // SAFETY: the pointer and length describe a live array of ours.
    let got = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) };
    if got != bytes.len() as isize {
        return Err(GraphError::Usage("the system gives no random numbers".to_owned()));
    }
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Whether a graph may be published at `output`.
fn check_output(disk: &Disk, output: &Path, replace: bool) -> Result<()> {
    if output.file_name().is_none() {
        let output = output.display();
        return Err(GraphError::Usage(format!("{output} cannot be the name of a graph")));
    }
    if !disk.exists(output)? {
        return Ok(());
    }
    if !replace {
        return Err(GraphError::Exists { path: output.to_owned() });
    }
    // Only a graph is replaced: anything else of this name is not ours to remove.
    if !disk.exists(&output.join(MANIFEST))? {
        return Err(GraphError::Usage(format!(
            "{} is not a graph, and so it is not replaced; give another name",
            output.display()
        )));
    }
    Ok(())
}

impl Staging {
    /// Begins a graph that will be at `output`. Removes what killed builds of the same graph left.
    pub fn begin(
        disk: &Disk,
        output: &Path,
        stripes: &[PathBuf],
        replace: bool,
    ) -> Result<(Self, String)> {
        check_output(disk, output, replace)?;
        let parent = parent(output);
        disk.create_dir_all(&parent)?;
        remove_leftovers(disk, &parent, &prefix(output))?;
        let uuid = random_name()?;
        let folder = parent.join(format!("{}{uuid}", prefix(output)));
        disk.create_dir(&folder)?;
        let mut staging = Self {
            disk: disk.clone(),
            output: output.to_owned(),
            scratch: folder.join("scratch"),
            folder,
            stripes: Vec::new(),
            lock: None,
            replace,
            published: false,
        };
        staging.lock = Some(disk.lock_exclusive(&staging.folder)?);
        disk.create_dir(&staging.scratch)?;
        staging.make_stripes(stripes, &uuid)?;
        Ok((staging, uuid))
    }

    /// Makes a folder in each of the stripe directories. Their names are on the device before they
    /// are made, for a later build.
    fn make_stripes(&mut self, directories: &[PathBuf], uuid: &str) -> Result<()> {
        if directories.is_empty() {
            return Ok(());
        }
        let folders: Vec<PathBuf> = directories
            .iter()
            .map(|directory| {
                let path = std::path::absolute(directory)?;
                Ok(path.join(format!("{STRIPE_PREFIX}{uuid}")))
            })
            .collect::<std::io::Result<_>>()
            .map_err(|_| GraphError::Usage("a stripe directory has no absolute path".to_owned()))?;
        let names: Vec<String> =
            folders.iter().map(|path| path.to_string_lossy().into_owned()).collect();
        self.disk.write_all_new(&self.folder.join(STRIPES), names.join("\n").as_bytes())?;
        for folder in folders {
            self.disk.create_dir_all(&folder)?;
            self.stripes.push(folder);
        }
        Ok(())
    }

    /// The folder that will become the graph.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The folder for scratch files.
    pub fn scratch(&self) -> &Path {
        &self.scratch
    }

    /// The stripes' folders.
    pub fn stripes(&self) -> &[PathBuf] {
        &self.stripes
    }

    /// Makes the graph visible: everything is on the device before the name is. After an error the
    /// name is what it was.
    pub fn publish(mut self) -> Result<()> {
        self.disk.remove_dir_all(&self.scratch)?;
        if !self.stripes.is_empty() {
            // From here on the manifest names them.
            self.disk.remove_file(&self.folder.join(STRIPES))?;
        }
        for stripe in &self.stripes {
            self.disk.sync_dir(stripe)?;
            self.disk.sync_dir(&parent(stripe))?;
        }
        self.disk.sync_dir(&self.folder)?;
        let replaces = self.disk.exists(&self.output)?;
        if replaces && !self.replace {
            // It was built by another process in the meantime.
            return Err(GraphError::Exists { path: self.output.clone() });
        }
        if replaces {
            self.disk.exchange(&self.folder, &self.output)?;
        } else {
            self.disk.rename_noreplace(&self.folder, &self.output)?;
        }
        if let Err(error) = self.disk.sync_dir(&parent(&self.output)) {
            let undone = if replaces {
                self.disk.exchange(&self.output, &self.folder)
            } else {
                self.disk.rename_noreplace(&self.output, &self.folder)
            };
            self.published = undone.is_err();
            return Err(error.into());
        }
        self.published = true;
        if replaces && let Err(error) = remove_graph(&self.disk, &self.folder) {
            tracing::warn!(
                %error,
                "the replaced graph could not be removed; the next build of this graph tries again"
            );
        }
        Ok(())
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        if !self.published {
            // Nothing more can be done about an error here, and the next build of this graph tries
            // again.
            for stripe in &self.stripes {
                let _ = self.disk.remove_dir_all(stripe);
            }
            let _ = self.disk.remove_dir_all(&self.folder);
        }
    }
}

/// Removes the folders of builders that are gone.
fn remove_leftovers(disk: &Disk, parent: &Path, prefix: &str) -> Result<()> {
    for path in disk.list(parent)? {
        let ours = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(prefix));
        if !ours {
            continue;
        }
        match disk.lock_exclusive(&path) {
            Ok(_lock) => remove_graph(disk, &path)?,
            Err(StorageError::Locked { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Removes a graph, whole or under construction: the stripes first, because the folder is what
/// names them.
fn remove_graph(disk: &Disk, folder: &Path) -> Result<()> {
    let mut stripes = Vec::new();
    let list = folder.join(STRIPES);
    if disk.exists(&list)? {
        let bytes = disk.read_all(&list, 1 << 20)?;
        stripes.extend(String::from_utf8_lossy(&bytes).lines().map(PathBuf::from));
    }
    match Manifest::read(disk, folder) {
        Ok(manifest) => stripes.extend(manifest.stripes),
        Err(GraphError::Storage(error)) => return Err(error.into()),
        // Not written to its end: then the list is there. Or damaged: then the stripes are not
        // known.
        Err(_) => {}
    }
    for stripe in stripes {
        // A damaged file may say anything: only what a builder made is removed.
        let ours = stripe
            .file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with(STRIPE_PREFIX));
        if ours && disk.exists(&stripe)? {
            disk.remove_dir_all(&stripe)?;
        }
    }
    Ok(disk.remove_dir_all(folder)?)
}
