//! What a crash leaves.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

use super::{Id, Recording, Step, Turn};
use crate::Random;

/// The file in which a stripe folder has the number of its graph's folder. Folders that are written
/// out have other numbers than when they were recorded.
const OWNER: &str = "owner.txt";

/// What is left of a file.
#[derive(Clone, Debug, Default)]
struct File {
    /// What is left for sure.
    durable: Vec<u8>,
    /// What has come since the last sync.
    pending: Vec<Pending>,
}

#[derive(Clone, Debug)]
enum Pending {
    Piece(u64, Vec<u8>),
    Resize(u64),
}

/// What is left of a folder.
#[derive(Clone, Debug, Default)]
struct Folder {
    durable: BTreeMap<OsString, Id>,
    pending: Vec<Vec<Turn>>,
}

/// What a crash left.
pub struct Crash {
    root: PathBuf,
    files: HashMap<Id, Vec<u8>>,
    folders: HashMap<Id, BTreeMap<OsString, Id>>,
    /// The recorded inodes of folders.
    inodes: HashMap<u64, Id>,
}

impl Crash {
    /// What a crash after the first `moment` steps may leave.
    pub fn of(recording: &Recording, moment: usize, random: &mut Random) -> Self {
        let (mut files, mut folders) = at_first(recording);
        let sector = 512usize << random.below(4u32);
        for step in &recording.steps[..moment] {
            take(step, sector, &mut files, &mut folders);
        }
        // How many of the pieces and of the names survive, of eight.
        let (pieces, names) = (share(random), share(random));
        for id in 0..recording.nodes.len() {
            if let Some(folder) = folders.get_mut(&id) {
                folder.settle(&mut |_| random.below(8u32) < names);
            } else if let Some(file) = files.get_mut(&id) {
                let litter = if random.coin() { 0 } else { 0x5a };
                file.settle(&mut |_| random.below(8u32) < pieces, litter);
            }
        }
        let is_folder =
            |(id, node): &(Id, &super::Node)| folders.contains_key(id) && node.inode > 0;
        let nodes = recording.nodes.iter().enumerate();
        Self {
            root: recording.root.clone(),
            inodes: nodes.filter(is_folder).map(|(id, node)| (node.inode, id)).collect(),
            files: files.into_iter().map(|(id, file)| (id, file.durable)).collect(),
            folders: folders.into_iter().map(|(id, folder)| (id, folder.durable)).collect(),
        }
    }

    /// Replaces what is in the recorded folder.
    pub fn write_out(&self) {
        for entry in std::fs::read_dir(&self.root).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                std::fs::remove_dir_all(&path).expect("it goes");
            } else {
                std::fs::remove_file(&path).expect("it goes");
            }
        }
        let (mut inodes, mut owners) = (HashMap::new(), Vec::new());
        self.write_folder(0, &self.root, &mut inodes, &mut owners);
        for (path, content) in owners {
            std::fs::write(path, self.renumbered(&content, &inodes)).expect("a file");
        }
    }

    fn write_folder(
        &self,
        folder: Id,
        path: &Path,
        inodes: &mut HashMap<Id, u64>,
        owners: &mut Vec<(PathBuf, Vec<u8>)>,
    ) {
        use std::os::unix::fs::MetadataExt;
        inodes.insert(folder, std::fs::metadata(path).expect("a folder").ino());
        for (name, &id) in &self.folders[&folder] {
            let path = path.join(name);
            if self.folders.contains_key(&id) {
                std::fs::create_dir(&path).expect("a folder");
                self.write_folder(id, &path, inodes, owners);
            } else if name == OWNER {
                owners.push((path, self.files[&id].clone()));
            } else {
                std::fs::write(path, &self.files[&id]).expect("a file");
            }
        }
    }

    /// The record of an owner with the numbers that folders have now.
    fn renumbered(&self, content: &[u8], inodes: &HashMap<Id, u64>) -> Vec<u8> {
        let Some((head, number)) = std::str::from_utf8(content)
            .ok()
            .and_then(|text| text.strip_suffix('\n')?.rsplit_once("inode "))
        else {
            return content.to_owned();
        };
        let id = number.parse().ok().and_then(|inode| self.inodes.get(&inode));
        match id.and_then(|id| inodes.get(id)) {
            Some(inode) => format!("{head}inode {inode}\n").into_bytes(),
            None => content.to_owned(),
        }
    }
}

/// The files and folders when the recording began, and those to come.
fn at_first(recording: &Recording) -> (HashMap<Id, File>, HashMap<Id, Folder>) {
    let (mut files, mut folders) = (HashMap::new(), HashMap::new());
    for (id, node) in recording.nodes.iter().enumerate() {
        match &node.entries {
            Some(entries) => {
                let durable = entries.iter().cloned().collect();
                folders.insert(id, Folder { durable, pending: Vec::new() });
            }
            None => {
                let durable = node.content.clone();
                files.insert(id, File { durable, pending: Vec::new() });
            }
        }
    }
    (files, folders)
}

/// Takes one step; what is written is cut into sectors.
fn take(
    step: &Step,
    sector: usize,
    files: &mut HashMap<Id, File>,
    folders: &mut HashMap<Id, Folder>,
) {
    let pending = &mut |id: &Id, pending| {
        files.get_mut(id).expect("a file").pending.push(pending);
    };
    match step {
        Step::Names(turns) => {
            let folder = folders.get_mut(&turns[0].folder).expect("a folder");
            folder.pending.push(turns.clone());
        }
        Step::SyncFolder(id) => folders.get_mut(id).expect("a folder").settle(&mut |_| true),
        Step::Write(id, at, bytes) => {
            let mut at = *at;
            for piece in cut(bytes, at as usize, sector) {
                pending(id, Pending::Piece(at, piece.into()));
                at += piece.len() as u64;
            }
        }
        Step::Resize(id, len) => pending(id, Pending::Resize(*len)),
        Step::Sync(id) => files.get_mut(id).expect("a file").settle(&mut |_| true, 0),
    }
}

/// The state, as a list of what is there.
impl fmt::Display for Crash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut folders = vec![(0, PathBuf::new())];
        while let Some((folder, path)) = folders.pop() {
            for (name, id) in &self.folders[&folder] {
                let path = path.join(name);
                match self.files.get(id) {
                    Some(content) => writeln!(f, "  {} {}", path.display(), content.len())?,
                    None => {
                        writeln!(f, "  {}/", path.display())?;
                        folders.push((*id, path));
                    }
                }
            }
        }
        Ok(())
    }
}

/// Few, half, most, all or none, in eighths.
fn share(random: &mut Random) -> u32 {
    [0, 1, 4, 7, 8][random.below(5u32) as usize]
}

/// The parts of bytes that lie in one sector each.
fn cut(bytes: &[u8], at: usize, sector: usize) -> Vec<&[u8]> {
    let first = (sector - at % sector).min(bytes.len());
    let (head, tail) = bytes.split_at(first);
    std::iter::once(head).chain(tail.chunks(sector)).filter(|piece| !piece.is_empty()).collect()
}

impl File {
    /// What `survives` becomes durable; the rest is lost, and `litter` is where it was.
    fn settle(&mut self, survives: &mut dyn FnMut(&Pending) -> bool, litter: u8) {
        for pending in std::mem::take(&mut self.pending) {
            let kept = survives(&pending);
            match pending {
                Pending::Piece(at, bytes) => {
                    let (start, end) = (at as usize, at as usize + bytes.len());
                    // Lost bytes may leave the length that they had made.
                    if kept || litter != 0 {
                        let len = self.durable.len();
                        self.durable.resize(len.max(end), litter);
                    }
                    if kept {
                        self.durable[start..end].copy_from_slice(&bytes);
                    }
                }
                Pending::Resize(len) if kept => self.durable.resize(len as usize, 0),
                Pending::Resize(_) => {}
            }
        }
    }
}

impl Folder {
    /// What `survives` becomes durable, if it is possible without what is lost.
    fn settle(&mut self, survives: &mut dyn FnMut(&Vec<Turn>) -> bool) {
        for turns in std::mem::take(&mut self.pending) {
            let possible =
                turns.iter().all(|turn| self.durable.get(&turn.name).copied() == turn.before);
            if !possible || !survives(&turns) {
                continue;
            }
            for turn in turns {
                match turn.after {
                    Some(id) => self.durable.insert(turn.name, id),
                    None => self.durable.remove(&turn.name),
                };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(at: u64, text: &[u8]) -> Pending {
        Pending::Piece(at, text.into())
    }

    #[test]
    fn pieces_survive_or_not() {
        let mut file =
            File { durable: b"abcd".into(), pending: vec![piece(1, b"X"), piece(3, b"YZ")] };
        let mut last = file.clone();
        file.settle(&mut |_| true, 0);
        assert_eq!(file.durable, b"aXcYZ");
        let mut number = 0;
        last.settle(
            &mut |_| {
                number += 1;
                number == 2
            },
            0,
        );
        assert_eq!(last.durable, b"abcYZ");
        assert_eq!(cut(b"abcdefgh", 3, 4), [&b"a"[..], b"bcde", b"fgh"]);
    }

    #[test]
    fn names_survive_if_they_can() {
        let turn = |name: &str, before, after| Turn { folder: 0, name: name.into(), before, after };
        let made = vec![turn("a", None, Some(1))];
        let renamed = vec![turn("a", Some(1), None), turn("b", None, Some(1))];
        let pending = vec![made, renamed, vec![turn("c", None, Some(2))]];
        for (lost, left) in [(9, "bc"), (0, "c"), (1, "ac"), (2, "b")] {
            let mut folder = Folder { pending: pending.clone(), ..Folder::default() };
            let mut number = 0;
            folder.settle(&mut |_| {
                number += 1;
                number != lost + 1
            });
            let names: Vec<_> = folder.durable.keys().map(|name| name.to_str().unwrap()).collect();
            assert_eq!(names.concat(), left);
        }
    }
}
