//! A folder with a graph, commands that make something, and what must be there whatever happens to
//! them.

// Not every test uses everything.
#![allow(dead_code)]

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Output,
};

use crate::place::Place;

/// What is asked of the command, and the file or folder that comes of it.
pub type Verb = (&'static str, &'static str);

/// Commands of every kind.
pub const VERBS: [Verb; 10] = [
    ("build e.txt -o new.oc --threads 1", "new.oc"),
    ("build e.txt -o old.oc --force --threads 1", "old.oc"),
    ("run pagerank g.oc --threads 1 -o ranks.csv", "ranks.csv"),
    ("run kcore g.oc --threads 1 --memory 256M -o cores.csv", "cores.csv"),
    ("run components g.oc --threads 2 --model fully-external -o c.csv.zst", "c.csv.zst"),
    ("export g.oc -o edges.csv.gz", "edges.csv.gz"),
    ("cache g.oc --size 8K --rounds 3 --threads 1", "g.oc.cache"),
    ("cache h.oc --select random --threads 1", "h.oc.cache"),
    ("order gorder g.oc -o ordered.oc --threads 1", "ordered.oc"),
    ("order hubs-bfs g.oc -o again.oc --force --threads 1", "again.oc"),
];

/// Those that nothing has the name of before.
const NEW: [&str; 3] = ["new.oc", "ordered.oc", "h.oc.cache"];

/// The words of a command.
pub fn words(verb: &str) -> Vec<&str> {
    verb.split(' ').collect()
}

/// How a command may end that does not do what it is asked.
#[derive(Clone, Copy)]
pub enum End {
    /// With one of these codes and a message; what was there is there.
    InOrder(&'static [i32]),
    /// At any moment, with one of these codes, or by a signal if there is none: what was there is
    /// there, or what was asked for.
    Sudden(&'static [i32]),
}

/// The files and the right answers.
pub struct Scene {
    pub place: Place,
    /// What each verb leaves under its name if all goes well, and what is there before.
    pub right: BTreeMap<&'static str, (Content, Content)>,
    /// Names of the folder between two commands.
    names: Vec<String>,
    /// What the commands read: the graphs.
    inputs: BTreeMap<&'static str, Content>,
}

/// What is under a name: bytes by path.
pub type Content = BTreeMap<PathBuf, Vec<u8>>;

pub fn content(path: &Path) -> Content {
    if path.is_file() {
        return Content::from([(PathBuf::new(), essence(path, fs::read(path).unwrap()))]);
    }
    let entries = fs::read_dir(path).map(|entries| {
        entries.map(|entry| entry.unwrap().path()).map(|path| {
            let bytes = fs::read(&path).unwrap();
            (path.file_name().unwrap().into(), essence(&path, bytes))
        })
    });
    entries.map(Iterator::collect).unwrap_or_default()
}

/// The same without what is another every time: of a manifest the name that every build makes up,
/// and the seal over it; of a selection the time that it took, and its checksum if that is right.
fn essence(path: &Path, bytes: Vec<u8>) -> Vec<u8> {
    if path.extension().is_some_and(|ending| ending == "cache") {
        return selected(&bytes).unwrap_or(bytes);
    }
    if path.file_name().is_none_or(|name| name != "manifest.json") {
        return bytes;
    }
    let text = String::from_utf8(bytes).unwrap();
    let kept = |line: &&str| !line.contains("\"uuid\"") && !line.starts_with("# crc32c");
    text.lines().filter(kept).collect::<Vec<_>>().join("\n").into_bytes()
}

/// The essence of a selection; nothing, if it is not whole.
fn selected(bytes: &[u8]) -> Option<Vec<u8>> {
    let (rest, sum) = bytes.split_last_chunk::<4>()?;
    if crc32c(rest) != u32::from_le_bytes(*sum) {
        return None;
    }
    let (len, rest) = rest.get(8..)?.split_first_chunk::<4>()?;
    let (head, vertices) = rest.split_at_checked(u32::from_le_bytes(*len) as usize)?;
    let mut head: serde_json::Value = serde_json::from_slice(head).ok()?;
    head.as_object_mut()?.remove("seconds")?;
    Some([head.to_string().as_bytes(), vertices].concat())
}

fn crc32c(bytes: &[u8]) -> u32 {
    let shift = |sum: u32, _| (sum >> 1) ^ (0x82F6_3B78 & (sum & 1).wrapping_neg());
    !bytes.iter().fold(!0, |sum, &byte| (0..8).fold(sum ^ u32::from(byte), shift))
}

impl Scene {
    pub fn new() -> Self {
        let place = Place::new();
        let line = |at: u64| format!("{} {}\n", at * 10, at * 7919 % 300 * 10);
        place.file("e.txt", (0..300).map(line).collect::<String>());
        place.file("o.txt", "1 2\n2 3\n");
        place.ends(0, &["build", "e.txt", "-o", "g.oc"]);
        place.ends(0, &words("build e.txt -o h.oc --undirected --ids string"));
        let inputs = ["g.oc", "h.oc"].map(|graph| (graph, content(&place.path(graph)))).into();
        let mut scene = Self { place, right: BTreeMap::new(), names: Vec::new(), inputs };
        for (verb, target) in VERBS {
            scene.put_back(target);
            let before = content(&scene.place.path(target));
            scene.place.ends(0, &words(verb));
            let after = content(&scene.place.path(target));
            assert!(before != after && !after.is_empty());
            scene.right.insert(target, (before, after));
            scene.put_back(target);
        }
        scene.names = scene.place.names();
        scene
    }

    /// What is under a name before its verb: another graph, selection or result, or nothing.
    pub fn put_back(&self, target: &str) {
        let path = self.place.path(target);
        let _ = fs::remove_dir_all(&path).or_else(|_| fs::remove_file(&path));
        match target {
            _ if NEW.contains(&target) => {}
            "old.oc" | "again.oc" => drop(self.place.ends(0, &["build", "o.txt", "-o", target])),
            "g.oc.cache" => drop(self.place.ends(0, &words("cache g.oc --select random"))),
            _ => drop(self.place.file(target, "old\n")),
        }
    }

    /// What is wrong with what came of a verb; else its exit code.
    pub fn judge(&self, verb: Verb, output: &Output, end: End) -> Result<Option<i32>, String> {
        let code = output.status.code();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let (before, after) = &self.right[verb.1];
        let found = content(&self.place.path(verb.1));
        let fail = |what: &str| Err(format!("{what} (exit code {code:?}): {said}"));
        let (codes, sudden) = match end {
            End::InOrder(codes) => (codes, false),
            End::Sudden(codes) => (codes, true),
        };
        let killed = code.is_none() && codes.is_empty();
        match code {
            Some(0) if found != *after => return fail("done, and the result is not right"),
            Some(0) => {}
            Some(failed) if !codes.contains(&failed) => return fail("another code"),
            None if !killed => return fail("another end"),
            _ if found != *before && !(sudden && found == *after) => {
                return fail("failed, and what was there is not");
            }
            _ if !killed && !said.contains("outercore: ") => return fail("no message"),
            _ => {}
        }
        // What could not be removed goes with the next one, which puts everything right.
        let tidy = |names: &[String]| names.iter().all(|name| self.names.contains(name));
        if code != Some(0) || !tidy(&self.place.names()) {
            self.again(verb).map_err(|what| format!("{what} (exit code {code:?}): {said}"))?;
        }
        self.put_back(verb.1);
        let names = self.place.names();
        if names != self.names {
            return fail(&format!("left behind: {names:?}"));
        }
        let mut inputs = self.inputs.iter();
        match inputs.find(|(graph, was)| content(&self.place.path(graph)) != **was) {
            Some((graph, _)) => fail(&format!("{graph} is not as it was")),
            None => Ok(code),
        }
    }

    /// Runs a verb once more, in peace.
    fn again(&self, (verb, target): Verb) -> Result<(), String> {
        let mut again = words(verb);
        let exists = self.place.path(target).exists();
        let exists = exists && ["new.oc", "ordered.oc"].contains(&target);
        again.extend(exists.then_some("--force"));
        let again = self.place.run(&again);
        if again.status.code() != Some(0) {
            let said = String::from_utf8_lossy(&again.stderr).into_owned();
            return Err(format!("the next one fails: {said}"));
        }
        if content(&self.place.path(target)) != self.right[target].1 {
            return Err("the next one is not right".to_owned());
        }
        Ok(())
    }
}
