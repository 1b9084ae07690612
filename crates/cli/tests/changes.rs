//! Files that change while they are read: inputs and graphs that are replaced, cut, lengthened,
//! written over, unlinked or closed to their reader in the middle of a command. The command says
//! so, or ends with the answer of what was there when it began: never with a mixture.

mod place;

use std::{
    fs::{self, File, OpenOptions, Permissions},
    io::Write,
    os::unix::fs::{FileExt, PermissionsExt},
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    time::{Duration, Instant, SystemTime},
};

use outercore_testing::Random;
use place::{Place, outercore};

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

/// In this part of its time a command may not have opened its input yet: it then reads what the
/// change has left.
const EARLY: f64 = 0.1;

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

fn start(place: &Place, program: &Path, words: &str) -> Child {
    let mut command = Command::new(program);
    command.args(words.split(' ')).current_dir(place.path("")).env_remove("RUST_BACKTRACE");
    command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Runs a command, and does something while it is stopped after this time.
fn interrupted(
    place: &Place,
    (program, words): (&Path, &str),
    after: Duration,
    act: impl FnOnce(),
) -> Output {
    let child = start(place, program, words);
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
    assert!(start(place, outercore(), words).wait_with_output().unwrap().status.success());
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

/// An input, what it becomes, and the edges of the graphs of both.
struct Inputs<'p> {
    place: &'p Place,
    name: &'static str,
    other: Vec<u8>,
    kept: Kept,
    /// How the graph is built, and how long that takes.
    words: String,
    whole: Duration,
    right: [Vec<String>; 2],
}

impl<'p> Inputs<'p> {
    fn new(place: &'p Place, name: &'static str, one: Vec<u8>, other: Vec<u8>) -> Self {
        let path = place.file(name, &other);
        place.ends(0, &["build", name, "-o", "other.oc", "--force"]);
        let theirs = edges(place, "other.oc");
        fs::write(&path, one).unwrap();
        let kept = Kept::of(&path);
        let words = format!("build {name} -o g.oc --threads 2 --memory 64M");
        fs::remove_dir_all(place.path("g.oc")).unwrap_or_default();
        let whole = time(place, &words);
        let ours = edges(place, "g.oc");
        assert!(ours != theirs);
        Self { place, name, other, kept, words, whole, right: [ours, theirs] }
    }

    /// The edges of the input as the change leaves it.
    fn edges_after(&self, change: Change) -> Vec<String> {
        let path = self.place.path(self.name);
        change.make(&path, &self.other);
        self.place.ends(0, &["build", self.name, "-o", "after.oc", "--force"]);
        self.kept.put_back(&path);
        edges(self.place, "after.oc")
    }

    /// Changes the input while `program` reads it: whether that says so, or what is wrong.
    fn changed(&self, program: &Path, change: Change, part: f64) -> Result<bool, String> {
        let Self { place, name, words, .. } = self;
        let path = place.path(name);
        fs::remove_dir_all(place.path("g.oc")).unwrap_or_default();
        let after = self.whole.mul_f64(part);
        let change_it = || change.make(&path, &self.other);
        let (code, said) = said(&interrupted(place, (program, words), after, change_it));
        self.kept.put_back(&path);
        let fail = |what: &str| {
            Err(format!("{name} {change:?} after {after:?}: {what} (exit code {code:?}): {said}"))
        };
        let there = place.path("g.oc").exists();
        match code {
            Some(0) => {
                let found = edges(place, "g.oc");
                let early = || part < EARLY && found == self.edges_after(change);
                if self.right.contains(&found) || early() { Ok(false) } else { fail("a mixture") }
            }
            Some(3 | 5) if there => fail("a graph all the same"),
            Some(3 | 5) if !said.contains(name) => fail("no reason"),
            Some(3 | 5) => Ok(true),
            _ => fail("another end"),
        }
    }
}

#[test]
fn inputs_that_change() {
    let place = Place::new();
    let (one, other) = (text(1), text(2));
    let (mut refused, mut cases) = (0, 0);
    for (name, one, other) in
        [("e.txt", one.clone(), other.clone()), ("e.txt.gz", gzip(&one), gzip(&other))]
    {
        let inputs = Inputs::new(&place, name, one, other);
        let mut random = Random::new(18);
        for change in (0..rounds()).flat_map(|_| CHANGES) {
            let part = f64::from(random.below(900u32)) / 1000.0;
            refused += u32::from(inputs.changed(outercore(), change, part).unwrap());
            cases += 1;
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

/// The graph `g.oc`, and another one.
fn graphs() -> Place {
    let place = Place::new();
    place.file("e.txt", text(1));
    place.file("o.txt", text(2));
    place.ends(0, &["build", "e.txt", "-o", "g.oc"]);
    place.ends(0, &["build", "o.txt", "-o", "other.oc"]);
    place
}

/// The file that keeps the right answer to a command.
fn right(place: &Place, words: &str) -> PathBuf {
    place.path(words.split(' ').nth(1).unwrap()).with_extension("right")
}

/// Changes a part of the graph while `program` reads it: whether that says so, or what is wrong.
fn changed(
    place: &Place,
    (program, words): (&Path, &str),
    after: Duration,
    part: &str,
    change: Change,
) -> Result<bool, String> {
    let path = place.path("g.oc").join(part);
    let (kept, other) = (Kept::of(&path), fs::read(place.path("other.oc").join(part)).unwrap());
    let result = place.path("r.csv");
    let _ = fs::remove_file(&result);
    let change_it = || change.make(&path, &other);
    let (code, said) = said(&interrupted(place, (program, words), after, change_it));
    kept.put_back(&path);
    let fail = |what: &str| {
        let when = format!("{words}, {part} {change:?} after {after:?}");
        Err(format!("{when}: {what} (exit code {code:?}): {said}"))
    };
    match code {
        Some(0) if fs::read(&result).ok() != fs::read(right(place, words)).ok() => {
            fail("another answer")
        }
        Some(0) => Ok(false),
        Some(4 | 5) if result.exists() => fail("a result all the same"),
        Some(4 | 5) if !said.contains("g.oc") => fail("no reason"),
        Some(4 | 5) => Ok(true),
        _ => fail("another end"),
    }
}

#[test]
fn graphs_that_change() {
    let place = graphs();
    let (mut refused, mut cases) = (0, 0);
    let mut random = Random::new(18);
    for (words, parts) in READERS {
        let whole = time(&place, words);
        fs::rename(place.path("r.csv"), right(&place, words)).unwrap();
        for change in (0..rounds()).flat_map(|_| CHANGES) {
            for part in parts {
                if rounds() == 1 && random.below(3u32) > 0 {
                    continue;
                }
                let after = whole.mul_f64(f64::from(random.below(900u32)) / 1000.0);
                let found = changed(&place, (outercore(), words), after, part, change);
                refused += u32::from(found.unwrap());
                cases += 1;
            }
        }
    }
    place.ends(0, &["check", "g.oc"]);
    eprintln!("{cases} graphs changed while they were read, {refused} of them refused");
    assert!(refused > 0);
}

/// Reads the first half of what the input was, and the second half of what it becomes.
const TRUSTING: &str = "while cmp -s e.txt kept; do sleep 0.01; done
{ head -c $(($(wc -c <kept) / 2)) kept; tail -c +$(($(wc -c <kept) / 2 + 1)) e.txt; } >own.txt
$oc build own.txt -o g.oc --memory 64M";

/// Programs that do what the command must not do with an input: take two halves for a whole, begin
/// to write the graph before the input is at its end.
#[test]
fn planted_readers_of_inputs_are_found() {
    let place = Place::new();
    place.file("kept", text(1));
    let inputs = Inputs::new(&place, "e.txt", text(1), text(2));
    for change in [Change::Replaced, Change::Overwritten] {
        let found = inputs.changed(&place.stand_in(TRUSTING), change, 0.3);
        assert!(found.as_ref().is_err_and(|what| what.contains("a mixture")), "{found:?}");
    }
    for (script, why) in [
        ("$oc build kept -o g.oc; echo e.txt has changed >&2; exit 3", "a graph all the same"),
        ("echo the input has changed >&2; exit 3", "no reason"),
        ("echo e.txt has changed >&2; kill -ABRT $$", "another end"),
    ] {
        let found = inputs.changed(&place.stand_in(script), Change::Cut, 0.3);
        assert!(found.as_ref().is_err_and(|what| what.contains(why)), "{script}: {found:?}");
    }
}

/// Waits until the part has changed.
const CHANGED: &str = "while cmp -s g.oc/out.adjacency kept; do sleep 0.01; done";

/// Programs that do what the command must not do with a graph: answer for the one that took its
/// place, or for a part of it, and leave a result although they refuse.
#[test]
fn planted_readers_of_graphs_are_found() {
    let (place, words) = (graphs(), READERS[1].0);
    time(&place, words);
    fs::rename(place.path("r.csv"), right(&place, words)).unwrap();
    fs::copy(place.path("g.oc/out.adjacency"), place.path("kept")).unwrap();
    for (script, why) in [
        ("$oc run components other.oc -o r.csv", "another answer"),
        ("$oc \"$@\" || head -n 99 components.right >r.csv", "another answer"),
        ("$oc \"$@\" || { code=$?; cp components.right r.csv; exit $code; }", "a result all"),
        ("$oc \"$@\" 2>/dev/null", "no reason"),
        ("$oc \"$@\" || exit 101", "another end"),
    ] {
        let program = place.stand_in(&format!("{CHANGED}\n{script}"));
        let after = Duration::from_millis(20);
        let found = changed(&place, (&program, words), after, "out.adjacency", Change::Cut);
        assert!(found.as_ref().is_err_and(|what| what.contains(why)), "{script}: {found:?}");
    }
}
