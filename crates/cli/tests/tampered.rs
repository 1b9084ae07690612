//! Graphs as they are built, and graphs whose checksums were all made to fit a lie: runs with
//! results by original id, exports and checks end with the right exit code and name the section, or
//! with an answer; never as a bug, by a signal, or not at all.
//!
//! Who watches memory ends the command with another code, and so is heard: the address sanitizer
//! that the command is compiled with, or the program that `OUTERCORE_TEST_WRAPPER` names, with its
//! options, which runs the command: valgrind.
//! `OUTERCORE_TEST_CASES` says how many cases, `OUTERCORE_TEST_CASE` which one alone.

#[allow(dead_code)]
#[path = "../../graph/tests/golden/decode.rs"]
mod decode;
#[allow(dead_code)]
#[path = "../../graph/tests/golden/forge.rs"]
mod forge;
mod place;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
    thread,
};

use decode::Decoded;
use outercore_testing::{Random, contents, thorough};
use place::{Place, command, library};

/// What a run may be asked for.
const RUNS: [&str; 13] = [
    "bfs --source max-degree",
    "sssp --source max-degree",
    "components",
    "pagerank --iterations 3",
    "kcore",
    "betweenness --sources max-degree",
    "multi-source --sources max-degree,random:1",
    "spmv",
    "triangles",
    "clustering",
    "label-propagation --iterations 2",
    "diameter",
    "pagerank-delta",
];

const MODELS: [&str; 3] = ["in-memory", "semi-external", "fully-external"];

/// What a run may be told besides.
const WAYS: [&str; 5] =
    ["", " --read full", " --read on-demand", " --io blocking", " --cross-iteration off"];

/// What else reads a graph.
const OTHERS: [&str; 4] = [
    "export g.oc -o result.csv",
    "export g.oc -o result.parquet",
    "export g.oc -o result.mtx",
    "check g.oc",
];

/// Ids in a range, ids here and there, and names; with weights of each type, and both formats of
/// edges.
const GRAPHS: [&str; 4] = [
    "generate rmat --scale 10 --edge-factor 8 --undirected --simple --seed 3 --weights uniform:1:9",
    "build numbers.txt --weights u32",
    "build names.txt --weights f32 --undirected --order original",
    "build numbers.txt --weights f64 --layout hybrid",
];

/// Processes that run at a time.
const AT_A_TIME: usize = 2;

/// Any number of seconds that no command takes.
const LIMIT: &str = "100";

fn words(command: &str) -> Vec<&str> {
    command.split_ascii_whitespace().collect()
}

/// Edges of hubs and others by these names, with small weights.
fn edges(name: impl Fn(u64) -> String) -> String {
    let mut random = Random::new(5);
    let mut end = move || random.below(18u64) * random.below(19u64);
    (0..3000u64).fold(String::new(), |mut lines, at| {
        writeln!(lines, "{} {} {}", name(end()), name(end()), at % 250 + 1).unwrap();
        lines
    })
}

/// A graph as it was built.
struct Sound {
    decoded: Decoded,
    files: BTreeMap<PathBuf, Vec<u8>>,
}

impl Sound {
    fn new(built: &str) -> Self {
        let place = Place::new();
        place.file("numbers.txt", edges(|id| (id * 7919 % 100_003 + 3).to_string()));
        place.file("names.txt", edges(|id| format!("v{id:x}")));
        let made = outercore(&place.path(""), &format!("{built} -o g.oc"), None);
        assert!(made.status.success(), "{built}: {made:?}");
        let path = place.path("g.oc");
        Self { decoded: Decoded::open(&path), files: contents(&path) }
    }

    /// The sections that have bytes.
    fn full(&self) -> Vec<String> {
        let mut names = self.decoded.names();
        names.retain(|name| !self.files[Path::new(name)].is_empty());
        names
    }

    /// The graph anew.
    fn put(&self, folder: &Path) {
        let _ = fs::remove_dir_all(folder);
        fs::create_dir(folder).unwrap();
        for (name, bytes) in &self.files {
            fs::write(folder.join(name), bytes).unwrap();
        }
    }

    /// The same with some bytes of a section changed, and everything that seals them.
    fn tamper(&self, folder: &Path, section: &str, random: &mut Random) {
        self.put(folder);
        if section != SOUND {
            let mut bytes = self.files[Path::new(section)].clone();
            change(&mut bytes, random);
            forge::forge(&self.decoded, folder, section, bytes);
        }
    }
}

/// Changes some bytes, or an entry by little or to what is the largest or the smallest.
fn change(bytes: &mut [u8], random: &mut Random) {
    let len = bytes.len() as u64;
    let place = |random: &mut Random| random.below(len) as usize;
    let width = 4 << random.below(2u32);
    let at = place(random) / width * width;
    let last = (at + width).min(bytes.len());
    match random.below(5u32) {
        0 => bytes[at..last].fill(0xff),
        1 => bytes[at..last].fill(0),
        2 => bytes[at] = bytes[at].wrapping_add(1),
        _ => {
            for _ in 0..1 + random.below(8u64) {
                let at = place(random);
                bytes[at] = random.below(256u64) as u8;
            }
        }
    }
}

/// In place of a section's name: nothing is changed.
const SOUND: &str = "";

/// Every section of every graph, and every graph as it is; those of one place side by side.
fn places(graphs: &[Sound]) -> Vec<(usize, String)> {
    let names: Vec<Vec<String>> =
        graphs.iter().map(|graph| [vec![SOUND.to_owned()], graph.full()].concat()).collect();
    let most = names.iter().map(Vec::len).max().unwrap();
    let all = (0..most).flat_map(|at| (0..graphs.len()).map(move |graph| (graph, at)));
    all.filter_map(|(graph, at)| Some((graph, names[graph].get(at)?.clone()))).collect()
}

/// A command of this number.
fn verb(number: usize, random: &mut Random) -> String {
    let Some(run) = RUNS.get(number / MODELS.len()) else {
        return OTHERS[number + OTHERS.len() - VERBS].to_owned();
    };
    let model = MODELS[number % MODELS.len()];
    let way = WAYS[random.below(WAYS.len() as u64) as usize];
    // What has no value for each vertex has no file of them.
    let result = if run.starts_with("triangles") { "" } else { " -o result.csv" };
    let (name, rest) = run.split_once(' ').unwrap_or((run, ""));
    format!("run {name} g.oc {rest} --model {model} --memory 128M --threads 2{way}{result}")
}

const VERBS: usize = RUNS.len() * MODELS.len() + OTHERS.len();

/// What the command is to be run by; nothing if it is to be run by itself.
fn wrapper() -> String {
    std::env::var("OUTERCORE_TEST_WRAPPER").unwrap_or_default()
}

/// Runs the command, by what it is to be run by, with a library if there is one.
fn outercore(folder: &Path, verb: &str, library: Option<&Path>) -> Output {
    let mut timed = Command::new("timeout");
    timed.args(["-k", "1", LIMIT]).args(words(&wrapper())).arg(command().get_program());
    timed.envs(library.map(|library| ("LD_PRELOAD", library)));
    timed.args(words(verb)).current_dir(folder).env_remove("RUST_BACKTRACE").output().unwrap()
}

/// A command less the switch that is not for such a run, and how it ended.
fn ends(folder: &Path, mut verb: String, library: Option<&Path>) -> (String, Output) {
    let mut output = outercore(folder, &verb, library);
    if String::from_utf8_lossy(&output.stderr).contains(" cannot act ") {
        let way = WAYS[1..].iter().find(|way| verb.contains(**way)).unwrap();
        verb = verb.replace(way, "");
        output = outercore(folder, &verb, library);
    }
    (verb, output)
}

/// What is wrong with how a command ended; else its exit code.
fn judge(folder: &Path, verb: &str, section: &str, output: &Output) -> Result<i32, String> {
    let said = String::from_utf8_lossy(&output.stderr);
    let told = String::from_utf8_lossy(&output.stdout);
    let fail = |what: &str| Err(format!("{what} (exit code {:?}): {said}", output.status.code()));
    let result = words(verb).into_iter().find(|word| word.starts_with("result."));
    let written = result.map(|name| folder.join(name).exists());
    match output.status.code() {
        Some(0) if written == Some(false) => fail("no result"),
        Some(0) => Ok(0),
        Some(4) if section == SOUND => fail("nothing is wrong with the graph"),
        Some(4) if written == Some(true) => fail("a result all the same"),
        Some(4) if !said.contains("corrupt") && !told.contains(section) => fail("no reason"),
        Some(4) => Ok(4),
        _ => fail("another end"),
    }
}

/// Cases that found something once: a view whose vertices are others than the graph's.
const KNOWN: [usize; 2] = [775, 836];

/// Each case, as many as are asked for: how it ended.
fn all_cases(graphs: &[Sound], cases: usize) -> BTreeMap<(String, i32), usize> {
    let places = places(graphs);
    let only = std::env::var("OUTERCORE_TEST_CASE").ok().map(|case| case.parse::<usize>().unwrap());
    let case = |folder: &Path, case: usize| {
        let random = &mut Random::new(case as u64);
        let at = case % places.len();
        let (graph, section) = &places[at];
        // Every place once, then every place with another command.
        let verb = verb((at * 7 + case / places.len()) % VERBS, random);
        graphs[*graph].tamper(&folder.join("g.oc"), section, random);
        let (verb, output) = ends(folder, verb, None);
        let code = judge(folder, &verb, section, &output);
        let code = code.unwrap_or_else(|what| panic!("{case}: {section}: {verb}: {what}"));
        for name in ["result.csv", "result.parquet", "result.mtx"] {
            let _ = fs::remove_file(folder.join(name));
        }
        (words(&verb)[0].to_owned(), code)
    };
    let some = |first: usize| {
        let folder = tempfile::tempdir().unwrap();
        let all = cases.min(places.len() * VERBS);
        let known = KNOWN.into_iter().filter(|known| *known >= all && known % AT_A_TIME == first);
        let cases = (first..all)
            .step_by(AT_A_TIME)
            .chain(known)
            .filter(|number| only.is_none_or(|only| only == *number));
        cases.map(|number| case(folder.path(), number)).collect::<Vec<_>>()
    };
    let mut ends = BTreeMap::new();
    thread::scope(|scope| {
        let threads: Vec<_> =
            (0..AT_A_TIME).map(|first| scope.spawn(move || some(first))).collect();
        for end in threads.into_iter().flat_map(|thread| thread.join().unwrap()) {
            *ends.entry(end).or_insert(0) += 1;
        }
    });
    ends
}

#[test]
fn content_that_contradicts_itself_is_damage() {
    let graphs = GRAPHS.map(Sound::new);
    let sections: BTreeSet<String> = graphs.iter().flat_map(Sound::full).collect();
    for section in ["ids.keys", "ids.ends", "ids.rank", "out.weights", "grid.weights", "row.index"]
    {
        assert!(sections.contains(section), "no graph has {section}: {sections:?}");
    }
    let cases = std::env::var("OUTERCORE_TEST_CASES").map(|cases| cases.parse().unwrap());
    let cases = cases.unwrap_or(if thorough() { 1500 } else { 90 });
    let ends = all_cases(&graphs, cases);
    eprintln!("{ends:?}");
    for code in [0, 4] {
        assert!(ends.contains_key(&("run".to_owned(), code)), "no run ends with {code}: {ends:?}");
    }
}

/// The commands of these numbers on a graph as it is: some at a time, each with its own graph.
fn on_sound_graphs(graphs: &[Sound], numbers: &[usize], library: Option<&Path>) -> Vec<String> {
    let some = |first: usize| {
        let folder = tempfile::tempdir().unwrap();
        let end = |&number: &usize| {
            let verb = verb(number, &mut Random::new(number as u64));
            graphs[number % graphs.len()].put(&folder.path().join("g.oc"));
            let _ = fs::remove_file(folder.path().join("result.csv"));
            let (verb, output) = ends(folder.path(), verb, library);
            Some(format!("{verb}: {}", judge(folder.path(), &verb, SOUND, &output).err()?))
        };
        numbers.iter().skip(first).step_by(AT_A_TIME).filter_map(end).collect::<Vec<_>>()
    };
    thread::scope(|scope| {
        let threads = (0..AT_A_TIME).map(|first| scope.spawn(move || some(first)));
        let threads: Vec<_> = threads.collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    })
}

/// Every algorithm in every model, exports and checks.
#[test]
fn graphs_as_they_are() {
    let numbers: Vec<usize> = (0..VERBS).collect();
    let missed = on_sound_graphs(&GRAPHS.map(Sound::new), &numbers, None);
    assert!(missed.is_empty(), "{missed:#?}");
}

/// A system that writes a byte behind the end of each buffer: whoever watches memory sees it in
/// every command.
#[test]
fn a_planted_fault_of_memory_is_seen() {
    if !cfg!(outercore_asan) && wrapper().is_empty() {
        eprintln!("SKIPPED: a planted fault of memory (nobody watches: make sanitize)");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let library = library(folder.path(), "overrun.rs");
    let numbers: Vec<usize> = (0..VERBS).step_by(5).collect();
    let found = on_sound_graphs(&GRAPHS.map(Sound::new), &numbers, Some(&library));
    assert_eq!(found.len(), numbers.len(), "{found:#?}");
    let named = |what: &String| what.contains("overflow") || what.contains("Invalid write");
    assert!(found.iter().all(named), "{found:#?}");
}
