//! Hidden names: what is being written has a name that no other process takes, and is locked. The
//! lock dies with its process, however that ends. So what is not locked can be removed. Process
//! numbers would not do: in a container every process may be number 1.

use std::{
    io::{self, ErrorKind},
    path::{Path, PathBuf},
};

use crate::{
    disk::{DirLock, Disk, DiskFile, FileKind},
    error::{Result, StorageError},
};

/// How often a name is made anew when a sweep takes the file before it is locked.
const ATTEMPTS: usize = 16;

/// 128 random bits, as 32 hexadecimal digits.
pub fn random_name() -> Result<String> {
    let mut bytes = [0u8; 16];
    // SAFETY: the pointer and length describe a live array of ours.
    let got = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) };
    if got != bytes.len() as isize {
        return Err(StorageError::io("random", Path::new(""), 0, io::Error::last_os_error()));
    }
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Whether a text may be a [`random_name`].
pub fn is_random_name(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Creates something under a name that is not taken, and locks it. A sweep may take it before it is
/// locked: then it is made anew. `path` is where it lies, by its random name.
pub fn create_locked<T>(
    disk: &Disk,
    path: impl Fn(&str) -> PathBuf,
    create: impl Fn(&Path) -> Result<T>,
    remove: impl Fn(&Path) -> Result<()>,
) -> Result<(String, T, DirLock)> {
    for _ in 0..ATTEMPTS {
        let random = random_name()?;
        let path = path(&random);
        let created = create(&path)?;
        let locked = disk.lock_exclusive(&path);
        match locked.and_then(|lock| Ok(disk.exists(&path)?.then_some(lock))) {
            Ok(Some(lock)) => return Ok((random, created, lock)),
            Ok(None) | Err(StorageError::Locked { .. }) => {}
            Err(error) if error.kind() == Some(ErrorKind::NotFound) => {}
            Err(error) => {
                // Nothing more can be done about an error here.
                let _ = remove(&path);
                return Err(error);
            }
        }
    }
    Err(StorageError::Locked { path: path("") })
}

/// Creates and locks a file beside `target`, under a hidden name.
pub fn create_beside(disk: &Disk, target: &Path) -> Result<(PathBuf, DiskFile, DirLock)> {
    let path = |random: &str| target.with_file_name(format!("{}{random}.tmp", prefix(target)));
    let create = |path: &Path| disk.create_buffered(path);
    let (random, file, lock) = create_locked(disk, path, create, |path| disk.remove_file(path))?;
    Ok((path(&random), file, lock))
}

/// Removes the files that dead writers of `target` left. What cannot be removed stays: a name of
/// ours does not keep others from writing.
pub fn sweep_beside(disk: &Disk, target: &Path) {
    let prefix = prefix(target);
    let left = |path: &PathBuf| {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        let random =
            name.as_deref().and_then(|name| name.strip_prefix(&prefix)?.strip_suffix(".tmp"));
        random.is_some_and(is_random_name)
    };
    let folder = target.parent().filter(|folder| *folder != Path::new(""));
    let found = disk.list(folder.unwrap_or(Path::new("."))).unwrap_or_default();
    for path in found.into_iter().filter(left) {
        let is_file = |entry: crate::disk::Entry| entry.kind == FileKind::File;
        if let Ok(true) = disk.entry(&path).map(|entry| entry.is_some_and(is_file))
            && let Ok(_lock) = disk.lock_exclusive(&path)
        {
            let _ = disk.remove_file(&path);
        }
    }
}

/// `a.csv` -> `.a.csv.`
fn prefix(target: &Path) -> String {
    format!(".{}.", target.file_name().map(|name| name.to_string_lossy()).unwrap_or_default())
}
