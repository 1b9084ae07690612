//! What the documents show is there: the commands of README and guide work, and every switch and
//! every file that a document names exists.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// The root of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn document(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap()
}

const DOCUMENTS: [&str; 8] = [
    "README.md",
    "CONTRIBUTING.md",
    "docs/design.md",
    "docs/format.md",
    "docs/guide.md",
    "docs/papers.md",
    "docs/reliability.md",
    "docs/targets.md",
];

/// The commands that a document shows.
fn commands(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| line.strip_prefix("$ "))
}

/// What stands between backticks, in the text beside the blocks of code.
fn spans(text: &str) -> impl Iterator<Item = &str> {
    let prose = text.split("\n```").step_by(2);
    prose.flat_map(|text| text.lines()).flat_map(|line| line.split('`').skip(1).step_by(2))
}

/// Runs a line of shell in `folder`, in which the command is `outercore`; it must work.
fn works(folder: &Path, line: &str) {
    let bin = folder.join("bin");
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let output =
        Command::new("sh").args(["-c", line]).current_dir(folder).env("PATH", path).output();
    let output = output.unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "$ {line}\n{said}");
}

/// A folder to work in, which knows the command.
fn place() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("bin")).unwrap();
    let link = folder.path().join("bin/outercore");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_outercore"), link).unwrap();
    folder
}

#[test]
fn commands_of_the_guide_work() {
    let folder = place();
    let put = |name: &str, content: &[u8]| fs::write(folder.path().join(name), content).unwrap();
    let ring = (0..100).map(|id| format!("{id} {}\n{id} 1\n", (id + 1) % 100));
    let ring: String = ring.collect();
    put("edges.txt", ring.as_bytes());
    put("part-1", ring.as_bytes());
    put("pairs.u32", &[1u32, 2, 2, 3].map(u32::to_le_bytes).concat());
    put("roads.gr", b"p sp 3 2\na 1 2 5\na 2 3 4\n");
    put("names.csv", b"ada,bob\nbob,eve\neve,ada\nada,ada\n\"Doe, Jane\",Bob\n");
    put("pairs.csv", b"left_id,left_name,right_id,score\n1,ada,2,0.5\n2,bob,3,0.25\n");
    put("ids.txt", b"ada\nDoe, Jane\n");
    works(folder.path(), "gzip edges.txt part-1 roads.gr");
    let text = document("docs/guide.md");
    let ours = commands(&text).filter(|line| !line.starts_with("cargo "));
    assert!(ours.map(|line| works(folder.path(), line)).count() > 15, "these are not all");
}

#[test]
fn commands_of_the_readme_work() {
    let folder = place();
    std::os::unix::fs::symlink(root().join("data"), folder.path().join("data")).unwrap();
    let text = document("README.md");
    let ours = commands(&text).filter_map(|line| line.strip_prefix("target/release/"));
    assert!(ours.map(|line| works(folder.path(), line)).count() >= 3, "these are not all");
}

/// The switches in a text, without their dashes.
fn switches(text: &str) -> BTreeSet<&str> {
    let is_part = |byte: char| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == '-';
    let names = text.split("--").skip(1).map(|rest| rest.split(|c| !is_part(c)).next().unwrap());
    names.map(|name| name.trim_end_matches('-')).filter(|name| !name.is_empty()).collect()
}

#[test]
fn switches_in_documents_exist() {
    let help = |verb: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_outercore"));
        let output = command.args(verb).arg("--help").output().unwrap();
        assert!(output.status.success(), "{verb:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let verbs: [&[&str]; 10] = [
        &["build"],
        &["generate", "rmat"],
        &["order"],
        &["cache"],
        &["info"],
        &["check"],
        &["plan"],
        &["run"],
        &["export"],
        &["bench", "device"],
    ];
    let all: String = verbs.into_iter().map(help).collect();
    let known = switches(&all);
    for name in DOCUMENTS.into_iter().filter(|name| *name != "CONTRIBUTING.md") {
        let text = document(name);
        let ours = spans(&text).chain(commands(&text)).filter(|code| !code.contains("cargo "));
        for code in ours {
            let absent: Vec<_> = switches(code).difference(&known).copied().collect();
            assert!(absent.is_empty(), "{name}: {code}: there is no {absent:?}");
        }
    }
}

/// Whether a name is that of a file or folder: from the root, from a crate, or within the sources
/// of one.
fn is_there(name: &str) -> bool {
    let (first, rest) = name.split_once('/').unwrap_or((name, ""));
    let crates = root().join("crates");
    let places = [
        root().join(name),
        crates.join(first).join("src").join(rest),
        crates.join("engine/src").join(name),
        crates.join("graph/src").join(name),
    ];
    places.iter().any(|place| place.exists() || place.with_extension("rs").exists())
}

#[test]
fn files_in_documents_exist() {
    let is_name = |code: &&str| {
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let part = |part: &str| {
            !part.is_empty() && part.bytes().all(|byte| plain(byte) || b"_-.".contains(&byte))
        };
        let code = code.strip_suffix('/').unwrap_or(code);
        code.contains('/') && code.split('/').all(part)
    };
    for name in DOCUMENTS {
        let text = document(name);
        let named: Vec<&str> = spans(&text).filter(is_name).collect();
        let absent: Vec<_> = named.iter().filter(|code| !is_there(code)).collect();
        assert!(absent.is_empty(), "{name} names what is not there: {absent:?}");
        assert!(!named.is_empty() || name == "docs/guide.md", "{name} names no files");
    }
    assert!(!is_there("engine/edges/nowhere") && is_there("engine/edges/list_reader"));
}
