//! The rules of docs/design.md that a compiler does not check: who may depend on whom, and which
//! words a crate does not know.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

/// The longest a source file may be.
const LINES: usize = 600;

/// The crates from the bottom up, each with those of ours that it may depend on.
const LAYERS: [(&str, &[&str]); 7] = [
    ("storage", &[]),
    ("graph", &["storage"]),
    ("engine", &["graph", "storage"]),
    ("algorithms", &["engine", "graph", "storage"]),
    ("interchange", &["engine", "graph", "storage"]),
    ("cli", &["algorithms", "interchange", "engine", "graph", "storage"]),
    ("python", &["algorithms", "interchange", "engine", "graph", "storage"]),
];

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the crate lies in the folder of crates")
        .to_owned()
}

/// Every Rust file of a crate, tests included, with its text.
fn sources(name: &str, parts: &[&str]) -> Vec<(PathBuf, String)> {
    let mut folders: Vec<PathBuf> =
        parts.iter().map(|part| crates().join(name).join(part)).collect();
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for path in entries.map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                files.push((path, text));
            }
        }
    }
    files.sort();
    files
}

/// The names in a manifest's `[dependencies]`.
fn dependencies(name: &str) -> Option<Vec<String>> {
    let manifest = std::fs::read_to_string(crates().join(name).join("Cargo.toml")).ok()?;
    let section = manifest
        .lines()
        .skip_while(|line| line.trim() != "[dependencies]")
        .skip(1)
        .take_while(|line| !line.starts_with('['));
    let names = section
        .filter_map(|line| line.split(['.', '=', ' ']).next())
        .filter(|name| !name.is_empty() && !name.starts_with('#'));
    Some(names.map(str::to_owned).collect())
}

#[test]
fn dependencies_point_downwards() {
    for (name, allowed) in LAYERS {
        let Some(dependencies) = dependencies(name) else {
            assert_eq!(name, "python", "{name} has no manifest");
            continue;
        };
        for ours in
            dependencies.iter().filter_map(|dependency| dependency.strip_prefix("outercore-"))
        {
            assert!(allowed.contains(&ours), "{name} depends on {ours}");
        }
    }
}

#[test]
fn only_interchange_knows_arrow() {
    for (name, _) in LAYERS.iter().filter(|(name, _)| !["interchange", "python"].contains(name)) {
        for dependency in dependencies(name).into_iter().flatten() {
            assert!(
                !dependency.starts_with("arrow") && !dependency.starts_with("parquet"),
                "{name} depends on {dependency}"
            );
        }
    }
}

/// The text without comments and, if `strings` is false, without what is in quotes.
fn code(text: &str, strings: bool) -> String {
    let mut kept = String::with_capacity(text.len());
    for line in text.lines() {
        let mut quoted = false;
        let mut before = ' ';
        let mut characters = line.chars().peekable();
        while let Some(c) = characters.next() {
            if !quoted && c == '/' && characters.peek() == Some(&'/') {
                break;
            }
            let quote = c == '"' && before != '\\' && before != '\'';
            before = if before == '\\' && c == '\\' { ' ' } else { c };
            quoted ^= quote;
            if strings || !(quoted || quote) {
                kept.push(c);
            }
        }
        kept.push('\n');
    }
    kept
}

/// The words of an identifier, in lower case: `read_pages` and `ReadPages` are `read`, `pages`; the
/// whole is one of them too.
fn words(identifier: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut last = ' ';
    for c in identifier.chars() {
        if c == '_' || (c.is_uppercase() && last.is_lowercase()) {
            words.push(String::new());
        }
        if c != '_' {
            words.last_mut().expect("there is one").extend(c.to_lowercase());
        }
        last = c;
    }
    words.push(identifier.to_lowercase().replace('_', ""));
    words
}

/// Fails if an identifier of the crate has one of the words. `strings`: what is in quotes counts
/// too.
fn never_says(name: &str, forbidden: &[&str], strings: bool, exceptions: &[&str]) {
    let mut found = BTreeSet::new();
    for (path, text) in sources(name, &["src"]) {
        for (number, line) in code(&text, strings).lines().enumerate() {
            for identifier in line.split(|c: char| !c.is_alphanumeric() && c != '_') {
                let said = words(identifier).iter().any(|word| forbidden.contains(&word.as_str()));
                if said && !exceptions.contains(&identifier) {
                    found.insert(format!("{}:{}: {identifier}", path.display(), number + 1));
                }
            }
        }
    }
    assert!(found.is_empty(), "{name} must not say {forbidden:?}: {found:#?}");
}

#[test]
fn storage_never_says_vertex() {
    never_says("storage", &["vertex", "vertices", "graph", "graphs"], false, &[]);
}

#[test]
fn graph_never_says_iteration() {
    never_says("graph", &["iteration", "iterations"], true, &[]);
}

#[test]
fn engine_never_names_an_algorithm() {
    never_says("engine", &["bfs", "pagerank", "sssp", "kcore", "betweenness"], true, &[]);
}

#[test]
fn algorithms_never_say_file_page_or_thread() {
    // `threads` is a figure of the report; `file_name` a method of the standard library, by which a
    // graph is named. PageRank is no page, and huge pages are the memory's.
    let forbidden = ["file", "files", "page", "pages", "thread", "threads"];
    never_says(
        "algorithms",
        &forbidden,
        false,
        &[
            "threads",
            "file_name",
            "PageRank",
            "PageRankDelta",
            "page_rank",
            "huge_pages",
            "HugePages",
        ],
    );
}

#[test]
fn files_are_short() {
    let long: Vec<String> = LAYERS
        .iter()
        .flat_map(|(name, _)| sources(name, &["src", "tests", "benches", "examples"]))
        .filter(|(_, text)| text.lines().count() > LINES)
        .map(|(path, text)| format!("{}: {} lines", path.display(), text.lines().count()))
        .collect();
    assert!(long.is_empty(), "longer than {LINES} lines: {long:#?}");
}

#[test]
fn the_rules_see_what_they_should() {
    assert_eq!(code("let a = 1; // page", true).trim(), "let a = 1;");
    assert_eq!(code("say(\"a page\", b)", false).trim(), "say(, b)");
    assert_eq!(code("say(\"http://x\", b) // page", true).trim(), "say(\"http://x\", b)");
    assert_eq!(words("ReadPages"), ["read", "pages", "readpages"]);
    assert_eq!(words("page_count"), ["page", "count", "pagecount"]);
    assert!(!words("pagerank").contains(&"page".to_owned()));
}
