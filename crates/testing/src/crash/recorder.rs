//! Recording what changes below a folder.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use outercore_storage::{Change, Disk, Observer, lock};

use super::{Id, Node, Recording, Step, Turn};

/// How a recorded disk is other than the real one.
#[derive(Clone, Copy)]
pub struct Wiles {
    /// What seems to succeed, and has no effect on the simulated disk: a planted fault.
    pub forgets: fn(&Change<'_>) -> bool,
    /// What becomes of two names that are to be exchanged.
    pub exchange: Exchange,
}

/// What becomes of two names that are to be exchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exchange {
    /// They are, in one step.
    Done,
    /// The file system cannot do that (EINVAL).
    Unsupported,
    /// One of the folders cannot be renamed, because of the layer that it lies in (EXDEV).
    AcrossLayers,
}

impl Default for Wiles {
    fn default() -> Self {
        Self { forgets: |_| false, exchange: Exchange::Done }
    }
}

/// The folders as they are now, by number, and the files by the name that they were created by.
#[derive(Default)]
struct Live {
    recording: Recording,
    folders: HashMap<Id, BTreeMap<OsString, Id>>,
    files: HashMap<PathBuf, Id>,
    wiles: Wiles,
}

/// Sees what a disk does below a folder.
#[derive(Clone)]
pub struct Recorder(Arc<Mutex<Live>>);

impl std::fmt::Debug for Recorder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Recorder")
    }
}

impl Recorder {
    /// Begins: what is in the folder now is durable. What happens elsewhere is not recorded.
    pub fn begin(root: &Path, wiles: Wiles) -> (Self, Disk) {
        let recording = Recording { root: root.to_owned(), ..Recording::default() };
        let mut live = Live { recording, wiles, ..Live::default() };
        live.scan(root);
        let recorder = Self(Arc::new(Mutex::new(live)));
        (recorder.clone(), Disk::with_observer(Box::new(recorder)))
    }

    /// All that has happened so far.
    pub fn recording(&self) -> Recording {
        self.live().recording.clone()
    }

    fn live(&self) -> MutexGuard<'_, Live> {
        lock(&self.0)
    }
}

impl Observer for Recorder {
    fn before(&mut self, change: Change<'_>) -> io::Result<()> {
        let mut live = self.live();
        match change {
            Change::Exchange(..) => match live.wiles.exchange {
                Exchange::Done => {}
                Exchange::Unsupported => return Err(io::Error::from_raw_os_error(22)),
                Exchange::AcrossLayers => return Err(io::Error::from_raw_os_error(18)),
            },
            // Afterwards nobody knows what was in it.
            Change::RemoveAll(folder) => live.remove_all(folder),
            _ => {}
        }
        Ok(())
    }

    fn after(&mut self, change: Change<'_>) {
        let mut live = self.live();
        if !(live.wiles.forgets)(&change) {
            live.note(change);
        }
    }
}

impl Live {
    /// Takes a folder as it is, with all that is in it.
    fn scan(&mut self, folder: &Path) -> Id {
        let id = self.make(folder, true);
        let mut entries = BTreeMap::new();
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            let inside = if path.is_dir() { self.scan(&path) } else { self.make(&path, false) };
            if !path.is_dir() {
                self.recording.nodes[inside].content = std::fs::read(&path).expect("a file");
            }
            entries.insert(path.file_name().expect("a name").to_owned(), inside);
        }
        self.recording.nodes[id].entries = Some(entries.clone().into_iter().collect());
        self.folders.insert(id, entries);
        id
    }

    /// A new node for what is at `path`.
    fn make(&mut self, path: &Path, is_folder: bool) -> Id {
        let id = self.recording.nodes.len();
        let inode = std::fs::symlink_metadata(path).map_or(0, |found| found.ino());
        let entries = is_folder.then(Vec::new);
        self.recording.nodes.push(Node { inode, entries, ..Node::default() });
        if is_folder {
            self.folders.insert(id, BTreeMap::new());
        } else {
            self.files.insert(path.to_owned(), id);
        }
        id
    }

    /// The folder that a path lies in, and its name there, if that is below the root.
    fn place(&self, path: &Path) -> Option<(Id, OsString)> {
        let inside = path.strip_prefix(&self.recording.root).ok()?;
        let mut folder = 0;
        for name in inside.parent()? {
            folder = *self.folders[&folder].get(name)?;
        }
        Some((folder, inside.file_name()?.to_owned()))
    }

    fn folder(&self, path: &Path) -> Option<Id> {
        if path == self.recording.root {
            return Some(0);
        }
        let (parent, name) = self.place(path)?;
        self.folders[&parent].get(&name).copied()
    }

    /// Names come to stand for something else, all at once.
    fn turn(&mut self, turns: &[(&Path, Option<Id>)]) {
        let mut names = Vec::new();
        for &(path, after) in turns {
            let Some((folder, name)) = self.place(path) else { return };
            let entries = self.folders.get_mut(&folder).expect("a folder");
            let before = match after {
                Some(id) => entries.insert(name.clone(), id),
                None => entries.remove(&name),
            };
            names.push(Turn { folder, name, before, after });
        }
        assert!(names.iter().all(|turn| turn.folder == names[0].folder), "all in one folder");
        self.recording.steps.push(Step::Names(names));
    }

    fn remove_all(&mut self, path: &Path) {
        let Some(folder) = self.folder(path) else { return };
        for (name, id) in self.folders.get(&folder).cloned().unwrap_or_default() {
            let path = path.join(name);
            if self.folders.contains_key(&id) { self.remove_all(&path) } else { self.forget(&path) }
        }
        self.forget(path);
    }

    /// A name goes.
    fn forget(&mut self, path: &Path) {
        self.turn(&[(path, None)]);
    }

    fn note(&mut self, change: Change<'_>) {
        let file = |path: &Path| self.files.get(path).copied();
        let step = match change {
            Change::Create(path) | Change::CreateFolder(path) => {
                if self.place(path).is_some() {
                    let id = self.make(path, matches!(change, Change::CreateFolder(_)));
                    self.turn(&[(path, Some(id))]);
                }
                None
            }
            Change::Rename(from, to) => {
                let id = self.folder(from);
                self.turn(&[(from, None), (to, id)]);
                None
            }
            Change::Exchange(a, b) => {
                let (was_a, was_b) = (self.folder(a), self.folder(b));
                self.turn(&[(a, was_b), (b, was_a)]);
                None
            }
            Change::Remove(path) => {
                self.forget(path);
                None
            }
            Change::RemoveAll(_) => None,
            Change::Write(path, at, bytes) => {
                file(path).map(|id| Step::Write(id, at, bytes.into()))
            }
            Change::Resize(path, len) => file(path).map(|id| Step::Resize(id, len)),
            Change::Sync(path) => file(path).map(Step::Sync),
            Change::SyncFolder(path) => self.folder(path).map(Step::SyncFolder),
        };
        self.recording.steps.extend(step);
    }
}
