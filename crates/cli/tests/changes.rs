//! Files that change while they are read: inputs and graphs that are replaced, cut, lengthened,
//! written over, unlinked or closed to their reader in the middle of a command. The command says
//! so, or ends with the answer of what was there when it began: never with a mixture.

mod place;

use std::{
    fs::{self, File, OpenOptions, Permissions},
    io::Write,
    os::unix::fs::{FileExt, PermissionsExt},
    path::Path,
    process::{Child, Output, Stdio},
    time::{Duration, Instant, SystemTime},
};

use outercore_testing::Random;
use place::{Place, command};

/// What happens to a file.
#[derive(Clone, Copy, Debug)]
enum Change {
    /// Another file takes its name.
    Replaced,
    Cut,
    Lengthened,
    /// Some of its bytes are others.
    Overwritten,
    Unlinked,
    /// Nobody may open it any more.
    Closed,
}

const CHANGES: [Change; 6] = [
    Change::Replaced,
    Change::Cut,
    Change::Lengthened,
    Change::Overwritten,
    Change::Unlinked,
    Change::Closed,
];

/// Times that each change is made to each file.
fn rounds() -> u32 {
    if std::env::var_os("OUTERCORE_TEST_ALL").is_some() { 6 } else { 1 }
}

impl Change {
    fn make(self, path: &Path, other: &[u8]) {
        let len = fs::metadata(path).unwrap().len();
        let open = || OpenOptions::new().write(true).open(path).unwrap();
        match self {
            Change::Replaced => {
                let beside = path.with_extension("beside");
                fs::write(&beside, other).unwrap();
                fs::rename(beside, path).unwrap();
            }
            Change::Cut => open().set_len(len / 2).unwrap(),
            Change::Lengthened => {
                OpenOptions::new().append(true).open(path).unwrap().write_all(&other[..10]).unwrap()
            }
            Change::Overwritten => {
                let from = (len / 2).min(other.len() as u64 / 2);
                let part = &other[from as usize..(from + len / 3).min(other.len() as u64) as usize];
                open().write_all_at(part, len / 2).unwrap();
            }
            Change::Unlinked => fs::remove_file(path).unwrap(),
            Change::Closed => fs::set_permissions(path, Permissions::from_mode(0o000)).unwrap(),
        }
    }
}

/// A file as it was, to be put back.
struct Kept(Vec<u8>, SystemTime);

impl Kept {
    fn of(path: &Path) -> Self {
        Self(fs::read(path).unwrap(), fs::metadata(path).unwrap().modified().unwrap())
    }

    fn put_back(&self, path: &Path) {
        let _ = fs::remove_file(path);
        fs::write(path, &self.0).unwrap();
        File::options().write(true).open(path).unwrap().set_modified(self.1).unwrap();
    }
}

fn start(place: &Place, words: &str) -> Child {
    let mut command = command();
    command.args(words.split(' ')).current_dir(place.path("")).env_remove("RUST_BACKTRACE");
    command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Runs a command, and does something while it is stopped after this time.
fn interrupted(place: &Place, words: &str, after: Duration, act: impl FnOnce()) -> Output {
    let child = start(place, words);
    std::thread::sleep(after);
    // SAFETY: the child has not been waited for, so its number is its own.
    let signal = |signal| unsafe { libc::kill(child.id() as libc::pid_t, signal) };
    signal(libc::SIGSTOP);
    act();
    signal(libc::SIGCONT);
    child.wait_with_output().unwrap()
}

/// The code, and what was said.
fn said(output: &Output) -> (Option<i32>, String) {
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// How long a command takes.
fn time(place: &Place, words: &str) -> Duration {
    let begun = Instant::now();
    assert!(start(place, words).wait_with_output().unwrap().status.success());
    begun.elapsed()
}

/// Edges as text: as many in each, and as long.
fn text(seed: u64) -> Vec<u8> {
    let mut random = Random::new(seed);
    let mut end = || 1_000_000 + random.below(50_000u64);
    (0..150_000).flat_map(|_| format!("{} {}\n", end(), end()).into_bytes()).collect()
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

/// What tells graphs apart: edges, in whatever order they come, and how many.
fn edges(place: &Place, graph: &str) -> Vec<String> {
    place.ends(0, &["export", graph, "-o", "edges.csv"]);
    let text = fs::read_to_string(place.path("edges.csv")).unwrap();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines.sort_unstable();
    lines
}

#[test]
fn inputs_that_change() {
    let place = Place::new();
    let (one, other) = (text(1), text(2));
    let (mut refused, mut cases) = (0, 0);
    for (name, one, other) in
        [("e.txt", one.clone(), other.clone()), ("e.txt.gz", gzip(&one), gzip(&other))]
    {
        let path = place.file(name, &other);
        place.ends(0, &["build", name, "-o", "other.oc", "--force"]);
        let theirs = edges(&place, "other.oc");
        fs::write(&path, &one).unwrap();
        let kept = Kept::of(&path);
        let words = format!("build {name} -o g.oc --threads 2 --memory 64M");
        fs::remove_dir_all(place.path("g.oc")).unwrap_or_default();
        let whole = time(&place, &words);
        let ours = edges(&place, "g.oc");
        assert!(ours != theirs);
        let mut random = Random::new(18);
        for change in (0..rounds()).flat_map(|_| CHANGES) {
            fs::remove_dir_all(place.path("g.oc")).unwrap_or_default();
            let after = whole.mul_f64(f64::from(random.below(900u32)) / 1000.0);
            let output = interrupted(&place, &words, after, || change.make(&path, &other));
            let (code, said) = said(&output);
            kept.put_back(&path);
            cases += 1;
            let what = format!("{name} {change:?} after {after:?}: {code:?} {said}");
            match code {
                Some(0) => {
                    let found = edges(&place, "g.oc");
                    assert!(found == ours || found == theirs, "{what}");
                }
                Some(3 | 5) => {
                    refused += 1;
                    assert!(!place.path("g.oc").exists() && said.contains(name), "{what}");
                }
                _ => panic!("{what}"),
            }
        }
    }
    eprintln!("{cases} inputs changed while they were read, {refused} of them refused");
    assert!(refused > 0);
}

/// Commands, and parts of the graph that they read.
const READERS: [(&str, [&str; 5]); 3] = [
    (
        "run pagerank g.oc --threads 2 --model fully-external --iterations 30 -o r.csv",
        ["grid.words", "grid.words.crc", "grid.tiles", "out.degrees", "manifest.json"],
    ),
    (
        "run components g.oc --threads 2 --model semi-external -o r.csv",
        ["out.adjacency", "in.adjacency", "grid.words", "out.index", "ids.keys"],
    ),
    (
        "export g.oc -o r.csv",
        ["out.adjacency", "out.degrees", "ids.rank", "ids.keys", "ids.keys.crc"],
    ),
];

/// Changes a part of the graph while a command reads it; whether the command says so. If not, its
/// answer is the right one.
fn is_refused(place: &Place, words: &str, after: Duration, part: &str, change: Change) -> bool {
    let path = place.path("g.oc").join(part);
    let (kept, other) = (Kept::of(&path), fs::read(place.path("other.oc").join(part)).unwrap());
    let result = place.path("r.csv");
    let _ = fs::remove_file(&result);
    let output = interrupted(place, words, after, || change.make(&path, &other));
    kept.put_back(&path);
    let (code, said) = said(&output);
    let what = format!("{words}, {part} {change:?} after {after:?}: {code:?} {said}");
    let right = place.path(words.split(' ').nth(1).unwrap()).with_extension("right");
    match code {
        Some(0) => assert!(fs::read(result).unwrap() == fs::read(right).unwrap(), "{what}"),
        Some(4 | 5) => assert!(!result.exists() && said.contains("g.oc"), "{what}"),
        _ => panic!("{what}"),
    }
    code != Some(0)
}

#[test]
fn graphs_that_change() {
    let place = Place::new();
    place.file("e.txt", text(1));
    place.file("o.txt", text(2));
    place.ends(0, &["build", "e.txt", "-o", "g.oc"]);
    place.ends(0, &["build", "o.txt", "-o", "other.oc"]);
    let (mut refused, mut cases) = (0, 0);
    let mut random = Random::new(18);
    for (words, parts) in READERS {
        let whole = time(&place, words);
        let right = place.path(words.split(' ').nth(1).unwrap()).with_extension("right");
        fs::rename(place.path("r.csv"), right).unwrap();
        for change in (0..rounds()).flat_map(|_| CHANGES) {
            for part in parts {
                if rounds() == 1 && random.below(3u32) > 0 {
                    continue;
                }
                let after = whole.mul_f64(f64::from(random.below(900u32)) / 1000.0);
                refused += u32::from(is_refused(&place, words, after, part, change));
                cases += 1;
            }
        }
    }
    place.ends(0, &["check", "g.oc"]);
    eprintln!("{cases} graphs changed while they were read, {refused} of them refused");
    assert!(refused > 0);
}

/// An input that is another one in its second half, with its size and its time: whoever trusted
/// those would build a mixture, and what is compared above would tell.
#[test]
fn a_planted_mixture_is_found() {
    let place = Place::new();
    let (one, other) = (text(1), text(2));
    let mixed = [&one[..one.len() / 2], &other[one.len() / 2..]].concat();
    assert_eq!((one.len(), mixed.len()), (other.len(), one.len()));
    let built = |name: &str, text: &[u8]| {
        place.file("e.txt", text);
        place.ends(0, &["build", "e.txt", "-o", name]);
        edges(&place, name)
    };
    let (ours, theirs, found) = (built("a.oc", &one), built("b.oc", &other), built("c.oc", &mixed));
    assert!(found != ours && found != theirs);
}
