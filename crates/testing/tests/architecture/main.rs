//! The rules of docs/design.md and CONTRIBUTING.md that a compiler does not check: who may depend
//! on whom, which words and types a crate does not know, which files use each other, how long
//! things are.
//!
//! Where a rule is new, `owed.txt` lists the files that still break it. The list only becomes
//! shorter: a file that is not on it may not break the rule, and one that no longer breaks it must
//! leave.

mod circles;
mod sources;

use std::collections::BTreeMap;

use circles::circles;
use sources::{
    code, crates, every_crate, functions, identifiers, mentions, product, sources, words,
};

/// The longest a source file may be, in lines.
const FILE: usize = 500;
/// The longest a function may be, in lines.
const FUNCTION: usize = 50;
/// The widest a line may be, in characters.
const WIDTH: usize = 100;

/// The crates from the bottom up, each with those of ours that it may depend on.
const LAYERS: [(&str, &[&str]); 15] = [
    ("storage", &[]),
    ("graph", &["storage"]),
    ("caches", &["graph", "storage"]),
    ("engine", &["caches", "graph", "storage"]),
    ("visit", &["engine", "graph", "storage"]),
    ("sets", &["engine", "graph", "storage"]),
    ("algorithms", &["sets", "visit", "engine", "graph", "storage"]),
    ("ordering", &["algorithms", "engine", "caches", "graph", "storage"]),
    ("interchange", &["engine", "graph", "storage"]),
    (
        "outercore",
        &["ordering", "algorithms", "interchange", "visit", "engine", "caches", "graph", "storage"],
    ),
    ("cli", &[]),
    ("python", &["ordering", "algorithms", "interchange", "engine", "caches", "graph", "storage"]),
    ("testing", &["ordering", "algorithms", "engine", "graph", "storage"]),
    ("fuzzing", &["graph", "storage"]),
    ("baselines", &[]),
];

/// What breaks a rule: the file, and how.
type Found = BTreeMap<String, String>;

/// Fails unless exactly the files that `owed.txt` lists for this rule break it.
fn hold(rule: &str, found: Found) {
    let owed: Vec<&str> = include_str!("owed.txt")
        .lines()
        .filter_map(|line| line.split_once(": "))
        .filter_map(|(known, file)| (known == rule).then_some(file))
        .collect();
    let news: Vec<_> = found.iter().filter(|(file, _)| !owed.contains(&file.as_str())).collect();
    let done: Vec<_> = owed.iter().filter(|file| !found.contains_key(**file)).collect();
    assert!(news.is_empty(), "{rule}: {news:#?}");
    assert!(done.is_empty(), "{rule}: well done! Take these out of owed.txt: {done:#?}");
}

/// The names in a section of a manifest.
fn dependencies(name: &str, section: &str) -> Vec<String> {
    let manifest = std::fs::read_to_string(crates().join(name).join("Cargo.toml")).unwrap();
    let lines = manifest.lines().skip_while(|line| line.trim() != section).skip(1);
    let names = lines
        .take_while(|line| !line.starts_with('['))
        .filter_map(|line| line.split(['.', '=', ' ']).next())
        .filter(|name| !name.is_empty() && !name.starts_with('#'));
    names.map(str::to_owned).collect()
}

#[test]
fn every_crate_has_its_place() {
    let known: Vec<&str> = LAYERS.iter().map(|(name, _)| *name).collect();
    for name in every_crate() {
        assert!(known.contains(&name.as_str()), "{name} is in no layer");
    }
}

#[test]
fn dependencies_point_downwards() {
    for (name, allowed) in LAYERS {
        for dependency in dependencies(name, "[dependencies]") {
            let ours = dependency.strip_prefix("outercore-");
            assert!(ours.is_none_or(|ours| allowed.contains(&ours)), "{name} on {dependency}");
        }
    }
}

#[test]
fn only_interchange_knows_arrow() {
    // What is fuzzed is compared with tables that are made by Arrow's own means.
    let knowing = ["interchange", "python", "fuzzing"];
    for (name, _) in LAYERS.iter().filter(|(name, _)| !knowing.contains(name)) {
        for dependency in dependencies(name, "[dependencies]") {
            let arrow = dependency.starts_with("arrow") || dependency.starts_with("parquet");
            assert!(!arrow, "{name} depends on {dependency}");
        }
    }
}

/// The type that a line declares, if it does so for the whole file.
fn declared(line: &str) -> Option<&str> {
    // What `named!` and `settings!` declare is one step further in.
    let line = line.strip_prefix("    pub ").or_else(|| {
        (!line.starts_with(' ')).then(|| {
            line.trim_start_matches("pub(crate) ")
                .trim_start_matches("pub(super) ")
                .trim_start_matches("pub ")
        })
    })?;
    let (kind, rest) = line.split_once(' ')?;
    let is_type = ["struct", "enum", "trait", "type", "union"].contains(&kind);
    identifiers(rest).next().filter(|_| is_type)
}

#[test]
fn a_type_name_means_one_thing_in_a_crate() {
    for name in every_crate() {
        let mut known = BTreeMap::<String, String>::new();
        for source in product(&name) {
            for found in code(&source.text, false).lines().filter_map(declared) {
                let other = known.insert(found.to_owned(), source.path.clone());
                let other = other.filter(|other| *other != source.path);
                assert!(other.is_none(), "{found} is in {} and in {}", other.unwrap(), source.path);
            }
        }
    }
}

/// Says where an identifier of the crate has one of the words. `strings`: what is in quotes counts
/// too.
fn says(name: &str, forbidden: &[&str], strings: bool, exceptions: &[&str]) -> Found {
    let mut found = Found::new();
    for source in product(name) {
        for (number, line) in code(&source.text, strings).lines().enumerate() {
            for identifier in identifiers(line).filter(|name| !exceptions.contains(name)) {
                if words(identifier).iter().any(|word| forbidden.contains(&word.as_str())) {
                    let place = format!("{}: {identifier}", number + 1);
                    found.entry(source.path.clone()).or_insert(place);
                }
            }
        }
    }
    found
}

#[test]
fn storage_never_says_vertex() {
    hold("storage", says("storage", &["vertex", "vertices", "graph", "graphs"], false, &[]));
}

#[test]
fn graph_never_says_iteration() {
    hold("graph", says("graph", &["iteration", "iterations"], true, &[]));
}

/// The algorithms' names, as they are asked for.
fn algorithms() -> Vec<String> {
    let catalog = std::fs::read_to_string(crates().join("algorithms/src/catalog.rs")).unwrap();
    let (_, list) = catalog.split_once("NAMES: &[&str] = &[").expect("the list of names");
    let (list, _) = list.split_once("];").expect("its end");
    let names: Vec<String> = list.split('"').skip(1).step_by(2).map(str::to_owned).collect();
    assert!(names.len() >= 13, "{names:?}");
    names
}

/// Neither as a name in the code nor in what is in quotes.
#[test]
fn neither_engine_nor_visitors_name_an_algorithm() {
    let names = algorithms();
    let joined: Vec<String> = names.iter().map(|name| name.replace('-', "")).collect();
    let joined: Vec<&str> = joined.iter().map(String::as_str).collect();
    let mut found = says("engine", &joined, true, &[]);
    found.extend(says("visit", &joined, true, &[]));
    for source in product("engine").into_iter().chain(product("visit")) {
        for (number, line) in code(&source.text, true).lines().enumerate() {
            for name in names.iter().filter(|name| name.contains('-') && mentions(line, name)) {
                let place = format!("{}: {name}", number + 1);
                found.entry(source.path.clone()).or_insert(place);
            }
        }
    }
    hold("engine", found);
}

/// How an algorithm would reach through the engine to files, logs, sections and counters.
const BENEATH: [&str; 8] = [
    ".disk()",
    "Spill",
    "DiskArray",
    "counters",
    "OpenSection",
    "outercore_storage",
    "Session::open",
    "folder",
];

#[test]
fn algorithms_do_not_reach_through() {
    let mut found = Found::new();
    for source in product("algorithms") {
        for (number, line) in code(&source.text, false).lines().enumerate() {
            if let Some(phrase) = BENEATH.iter().find(|phrase| mentions(line, phrase)) {
                let place = format!("{}: {phrase}", number + 1);
                found.entry(source.path.clone()).or_insert(place);
            }
        }
    }
    hold("algorithms reach through", found);
}

#[test]
fn algorithms_never_say_file_page_or_thread() {
    // `threads` is a figure of the report; `file_name` a method of the standard library, by which a
    // graph is named. PageRank is no page, and huge pages are the memory's.
    let forbidden = ["file", "files", "page", "pages", "thread", "threads"];
    let exceptions = [
        "threads",
        "file_name",
        "PageRank",
        "PageRankDelta",
        "page_rank",
        "huge_pages",
        "HugePages",
    ];
    hold("algorithms", says("algorithms", &forbidden, false, &exceptions));
}

/// A reference that shares code with what it checks proves nothing.
#[test]
fn references_share_no_code_with_what_they_check() {
    let mut found = Found::new();
    for source in sources("testing", &["src/reference"]) {
        let code = code(&source.text, true);
        for name in LAYERS.map(|(name, _)| format!("outercore_{name}")) {
            if mentions(&code, &name) {
                found.insert(source.path.clone(), name);
            }
        }
    }
    hold("references", found);
}

#[test]
fn files_do_not_use_each_other_in_circles() {
    let all = LAYERS.iter().flat_map(|(name, _)| circles(name));
    hold("circle", all.collect());
}

/// All that is Rust, tests included.
fn everything() -> impl Iterator<Item = sources::Source> {
    LAYERS.iter().flat_map(|(name, _)| sources(name, &["src", "tests", "benches", "examples"]))
}

#[test]
fn files_are_short() {
    let lines = everything().map(|source| (source.path, source.text.lines().count()));
    let long = lines.filter(|(_, lines)| *lines > FILE);
    hold("long file", long.map(|(path, lines)| (path, format!("{lines} lines"))).collect());
}

#[test]
fn functions_are_short() {
    let mut found = Found::new();
    for source in everything() {
        for (name, first, lines) in functions(&source.text) {
            if lines > FUNCTION {
                let what = found.entry(source.path.clone()).or_default();
                *what += &format!("{first}: {name} has {lines} lines; ");
            }
        }
    }
    hold("long function", found);
}

#[test]
fn lines_are_narrow() {
    let mut found = Found::new();
    for source in everything() {
        let wide = |line: &&str| line.chars().count() > WIDTH;
        let numbers: Vec<usize> = (1..)
            .zip(source.text.lines())
            .filter_map(|(number, line)| wide(&line).then_some(number))
            .collect();
        if !numbers.is_empty() {
            found.insert(source.path, format!("lines {numbers:?}"));
        }
    }
    hold("wide line", found);
}

#[test]
fn the_rules_see_what_they_should() {
    let all =
        ["pub(crate) struct A<T> {", "    pub enum B: C {", "    type D = u8;", "fn struct_e() {"];
    assert_eq!(all.map(declared), [Some("A"), Some("B"), None, None]);
    assert_eq!(code("let a = 1; // page", true).trim(), "let a = 1;");
    assert_eq!(code("say(\"a page\", b)", false).trim(), "say(, b)");
    assert_eq!(code("say(\"http://x\", b) // page", true).trim(), "say(\"http://x\", b)");
    assert_eq!(words("ReadPages"), ["read", "pages", "readpages"]);
    assert_eq!(words("page_count"), ["page", "count", "pagecount"]);
    assert!(!words("pagerank").contains(&"page".to_owned()));
    assert!(mentions("graph.disk().open()", ".disk()") && !mentions("a.disks()", ".disk()"));
    assert!(mentions("run(Spill::new())", "Spill") && !mentions("Spills", "Spill"));
    assert!(mentions("bench-bfs", "bfs") && !mentions("scratch_folder", "folder"));
}

#[test]
fn functions_are_measured() {
    let text =
        "pub fn a() {\n}\n\nimpl B {\n    const fn b(\n    ) -> u8;\n\n    fn c() { d() }\n}\n";
    let functions = functions(text);
    let found: Vec<_> = functions.iter().map(|(name, at, n)| (name.as_str(), *at, *n)).collect();
    assert_eq!(found, [("a", 1, 2), ("b", 5, 2), ("c", 8, 1)]);
}
