//! A graph under construction: a hidden folder beside its future place, locked by its builder,
//! renamed when it is whole.
//!
//! The next build of the same graph removes what a killed builder left: the lock dies with its
//! process.

use std::{
    io::ErrorKind,
    path::{Path, PathBuf},
};

use outercore_storage::{DirLock, Disk, Shown, StorageError, hidden::create_locked};

use super::{
    fixed,
    removal::{
        Owner, SCRATCH, STRIPE_PREFIX, STRIPES, building, has_manifest, is_folder, parent,
        remove_leftovers, remove_replaced, remove_stripe, stranger, view_at,
    },
    swap,
};
use crate::{
    error::{GraphError, Result, refuse},
    format::{MOST_STRIPES, check_outside_of_graphs},
};

/// How often a builder tries again when others build the same graph.
const ATTEMPTS: usize = 16;

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

/// Whether a graph may be published at `output`.
fn check_output(disk: &Disk, output: &Path, replace: bool) -> Result<()> {
    if !disk.exists(output)? {
        return Ok(());
    }
    // Only a graph is replaced: anything else of this name is not ours to remove. Many things have
    // a manifest.json.
    if !has_manifest(disk, output)? {
        return refuse(format!(
            "{} exists and is not a graph, and so it is not replaced; give another name",
            output.display()
        ));
    }
    if !replace {
        return Err(GraphError::Exists { path: output.to_owned() });
    }
    if is_folder(disk, output)?
        && let Some(stranger) = stranger(disk, output)?
    {
        return refuse(format!(
            "{} is not replaced: {} is no part of a graph; move it away, or give another name",
            output.display(),
            stranger.display()
        ));
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
        // Without a slash at its end, which would lead a link on.
        let output = &output.components().collect::<PathBuf>();
        if output.file_name().is_none() {
            let output = output.display();
            return refuse(format!("{output} cannot be the name of a graph"));
        }
        check_outside_of_graphs(output)?;
        let parent = parent(output);
        disk.create_dir_all(&parent)?;
        remove_leftovers(disk, output, view_at(disk, output).as_deref())?;
        swap::mend(disk, output)?;
        fixed::mend(disk, output)?;
        check_output(disk, output, replace)?;
        let path = |uuid: &str| building(output, uuid);
        let create = |path: &Path| disk.create_dir(path);
        let remove = |path: &Path| disk.remove_dir_all(path);
        let (uuid, (), lock) = create_locked(disk, path, create, remove)?;
        let folder = path(&uuid);
        let mut staging = Self {
            disk: disk.clone(),
            output: output.to_owned(),
            scratch: folder.join(SCRATCH),
            folder,
            stripes: Vec::new(),
            lock: Some(lock),
            replace,
            published: false,
        };
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
        if directories.len() > MOST_STRIPES {
            return refuse(format!("at most {MOST_STRIPES} stripes can be given"));
        }
        let (mut folders, mut names) = (Vec::new(), Vec::new());
        for directory in directories {
            let path = std::path::absolute(directory);
            let path = path.ok().and_then(|path| Some(path.to_str()?.to_owned()));
            let path = path.ok_or_else(|| {
                let directory = directory.display();
                GraphError::Usage(format!("--stripe {directory}: its path is not a text"))
            })?;
            if path.contains('\n') {
                return refuse(format!(
                    "--stripe {}: its path has a line feed, and so it cannot be listed; give \
                     another folder",
                    Shown(directory)
                ));
            }
            let folder = Path::new(&path).join(format!("{STRIPE_PREFIX}{uuid}"));
            check_outside_of_graphs(&folder)?;
            if folders.contains(&folder) {
                return refuse(format!("--stripe {path} is given twice"));
            }
            names.push(folder.display().to_string());
            folders.push(folder);
        }
        self.disk.write_all_new(&self.folder.join(STRIPES), names.join("\n").as_bytes())?;
        self.disk.sync_dir(&self.folder)?;
        self.disk.sync_dir(&parent(&self.folder))?;
        let owner = Owner::of(&self.disk, &self.folder, uuid)?;
        for folder in folders {
            self.disk.create_dir_all(&parent(&folder))?;
            self.disk.create_dir(&folder)?;
            self.stripes.push(folder.clone());
            owner.mark(&self.disk, &folder)?;
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
            // From here on the manifest names them, and it must be there for good.
            self.disk.sync_dir(&self.folder)?;
            self.disk.remove_file(&self.folder.join(STRIPES))?;
        }
        for stripe in &self.stripes {
            self.disk.sync_dir(stripe)?;
            self.disk.sync_dir(&parent(stripe))?;
        }
        self.disk.sync_dir(&self.folder)?;
        let replaces = match self.rename() {
            Err(error) if fixed::is_fixed(&error) => return self.succeed(),
            renamed => renamed?,
        };
        if let Err(error) = self.disk.sync_dir(&parent(&self.output)) {
            let undone = if replaces {
                swap::swap(&self.disk, &self.output, &self.folder)
            } else {
                self.disk.rename_noreplace(&self.output, &self.folder)
            };
            self.published = undone.is_err();
            return Err(error.into());
        }
        self.published = true;
        // Readers need not wait until the old graph is removed.
        self.lock = None;
        if replaces && let Err(error) = remove_replaced(&self.disk, &self.folder, &self.output) {
            tracing::warn!(
                %error,
                "the replaced graph could not be removed; the next build of this graph tries again"
            );
        }
        Ok(())
    }

    /// Replaces a graph whose folder cannot be renamed.
    fn succeed(mut self) -> Result<()> {
        let uuid = self.folder.to_string_lossy().rsplit('-').next().unwrap_or_default().to_owned();
        let successor = fixed::succeed(&self.disk, &self.folder, &self.output, &uuid)?;
        // It is whole, and the next build knows its name.
        self.published = true;
        fixed::take_place(&self.disk, &successor, &self.output)
    }

    /// Gives the graph its name; whether that replaced one. Others may be building the same.
    fn rename(&self) -> Result<bool> {
        for _ in 0..ATTEMPTS {
            let taken = self.disk.exists(&self.output)?;
            if taken && !self.replace {
                break;
            }
            let (renamed, in_the_meantime) = if taken {
                (swap::swap(&self.disk, &self.folder, &self.output), ErrorKind::NotFound)
            } else {
                let renamed = self.disk.rename_noreplace(&self.folder, &self.output);
                (renamed, ErrorKind::AlreadyExists)
            };
            match renamed {
                Ok(()) => return Ok(taken),
                Err(error) if error.kind() == Some(in_the_meantime) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(StorageError::Locked { path: self.output.clone() }.into())
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        if !self.published {
            // Nothing more can be done about an error here, and the next build of this graph tries
            // again.
            for stripe in &self.stripes {
                let _ = remove_stripe(&self.disk, stripe);
                let _ = self.disk.sync_dir(&parent(stripe));
            }
            // Its file may be the last one that may be open, and a folder in a folder takes another
            // one. Removing it twice does no harm.
            self.lock = None;
            let _ = self.disk.remove_dir_all(&self.scratch);
            let _ = self.disk.remove_dir_all(&self.folder);
        }
    }
}
