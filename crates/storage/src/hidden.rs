//! Hidden names: what is being written has a name that no other process takes, and is locked. The
//! lock dies with its process, however that ends. So what is not locked can be removed. Process
//! numbers would not do: in a container every process may be number 1.
//!
//! What is written beside a target takes its name when it is whole and durable: the target is the
//! old file or the new one, never a part of one.

use std::{
    io::{self, ErrorKind},
    path::{Path, PathBuf},
};

use crate::{
    disk::{DirLock, Disk, DiskFile, FileKind},
    error::{Result, StorageError},
};

/// How often a name is made anew when a sweep takes the file before it is locked, and how often a
/// file is given its name when others write the same.
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

/// Writes `target` anew: `write` fills and syncs a file that takes the name in one step. Nothing is
/// left of an error, and what dead writers left goes.
pub fn write_beside<T, E: From<StorageError>>(
    disk: &Disk,
    target: &Path,
    write: impl FnOnce(&DiskFile) -> std::result::Result<T, E>,
) -> std::result::Result<T, E> {
    sweep_beside(disk, target);
    let (hidden, file, _lock) = create_beside(disk, target)?;
    let written =
        write(&file).and_then(|done| Ok(publish_beside(disk, &hidden, target).map(|()| done)?));
    if written.is_err() {
        // Nothing more can be done about an error here.
        let _ = disk.remove_file(&hidden);
    }
    written
}

/// Gives a file of [`create_beside`] its name, durably; what had the name before is replaced in the
/// same step. After an error the name is what it was, and the file is still the caller's.
pub fn publish_beside(disk: &Disk, hidden: &Path, target: &Path) -> Result<()> {
    let (replaces, exchanged) = give_name(disk, hidden, target)?;
    if let Err(error) = disk.sync_dir(folder_of(target)) {
        if exchanged {
            disk.exchange(hidden, target)?;
        } else if !replaces {
            disk.rename_noreplace(target, hidden)?;
        }
        return Err(error);
    }
    // What was replaced is removed. If that fails twice, the next writer does it: the new content
    // is there.
    if exchanged && disk.remove_file(hidden).is_err() {
        let _ = disk.remove_file(hidden);
    }
    Ok(())
}

/// Gives the file its name: whether another one had it, and whether that one has the hidden name
/// now. Others may be writing the same.
fn give_name(disk: &Disk, hidden: &Path, target: &Path) -> Result<(bool, bool)> {
    for _ in 0..ATTEMPTS {
        let found = disk.entry(target)?;
        if found.is_some_and(|found| found.kind == FileKind::Folder) {
            // It could be exchanged, and then would have a name that nobody finds.
            let folder = io::Error::from_raw_os_error(libc::EISDIR);
            return Err(StorageError::io("renaming", target, 0, folder));
        }
        let replaces = found.is_some();
        let (renamed, in_the_meantime) = if replaces {
            let renamed = match disk.exchange(hidden, target) {
                // File systems that cannot exchange names: then it cannot be undone either.
                Err(error) if error.is_unsupported() => {
                    disk.rename_over(hidden, target).map(|()| false)
                }
                done => done.map(|()| true),
            };
            (renamed, ErrorKind::NotFound)
        } else {
            let renamed = disk.rename_noreplace(hidden, target).map(|()| false);
            (renamed, ErrorKind::AlreadyExists)
        };
        match renamed {
            Ok(exchanged) => return Ok((replaces, exchanged)),
            Err(error) if error.kind() == Some(in_the_meantime) => {}
            Err(error) => return Err(error),
        }
    }
    Err(StorageError::Locked { path: target.to_owned() })
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
    let found = disk.list(folder_of(target)).unwrap_or_default();
    for path in found.into_iter().filter(left) {
        let is_file = |entry: crate::disk::Entry| entry.kind == FileKind::File;
        if let Ok(true) = disk.entry(&path).map(|entry| entry.is_some_and(is_file))
            && let Ok(_lock) = disk.lock_exclusive(&path)
        {
            let _ = disk.remove_file(&path);
        }
    }
}

fn folder_of(target: &Path) -> &Path {
    target.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."))
}

/// `a.csv` -> `.a.csv.`
fn prefix(target: &Path) -> String {
    format!(".{}.", target.file_name().map(|name| name.to_string_lossy()).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_of_the_name_stays_and_nothing_else_does() {
        let folder = tempfile::tempdir().unwrap();
        let (disk, target) = (Disk::new(), folder.path().join("a"));
        std::fs::create_dir(&target).unwrap();
        let done: Result<()> = write_beside(&disk, &target, |file| file.write_at(b"new", 0));
        assert!(done.is_err_and(|error| error.kind() == Some(ErrorKind::IsADirectory)));
        assert_eq!(disk.list(folder.path()).unwrap(), [target]);
    }
}
