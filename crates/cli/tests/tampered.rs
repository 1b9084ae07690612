//! Graphs whose checksums were all made to fit a lie: runs and exports end with the right exit code
//! and name the section, or with an answer; never as a bug, by a signal, or not at all.

#[allow(dead_code)]
#[path = "../../graph/tests/golden/decode.rs"]
mod decode;
#[allow(dead_code)]
#[path = "../../graph/tests/golden/forge.rs"]
mod forge;

use std::{collections::BTreeMap, path::Path, process::Command};

use decode::Decoded;
use outercore_testing::{Random, contents};

/// What a run may be asked for.
const RUNS: [&[&str]; 9] = [
    &["pagerank", "--iterations", "3"],
    &["bfs", "--source", "max-degree"],
    &["multi-source", "--sources", "max-degree,random:1"],
    &["components"],
    &["kcore"],
    &["triangles"],
    &["label-propagation", "--iterations", "2"],
    &["betweenness", "--sources", "max-degree"],
    &["diameter"],
];

const MODELS: [&str; 3] = ["in-memory", "semi-external", "fully-external"];

fn outercore(folder: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let timed = ["-k", "1", "60", env!("CARGO_BIN_EXE_outercore")];
    let mut command = Command::new("timeout");
    command.args(timed).args(arguments).current_dir(folder).env_remove("RUST_BACKTRACE");
    let done = command.output().unwrap();
    (done.status.code(), String::from_utf8_lossy(&done.stderr).into_owned())
}

/// Changes some bytes of a section, and everything that seals them.
fn tamper(folder: &Path, graph: &Decoded, name: &str, random: &mut Random) {
    let mut bytes = std::fs::read(folder.join(name)).unwrap();
    for _ in 0..1 + random.below(8u64) {
        let at = random.below(bytes.len() as u64) as usize;
        bytes[at] = random.below(256u64) as u8;
    }
    forge::forge(graph, folder, name, bytes);
}

#[test]
fn content_that_contradicts_itself_is_damage() {
    let folder = tempfile::tempdir().unwrap();
    let built = ["generate", "rmat", "--scale", "11", "--edge-factor", "8", "--undirected"];
    let built = [&built[..], &["--simple", "--seed", "3", "-o", "g.oc"]].concat();
    assert_eq!(outercore(folder.path(), &built).0, Some(0));
    let path = folder.path().join("g.oc");
    let (graph, whole) = (Decoded::open(&path), contents(&path));
    let sections: Vec<String> = graph.manifest["sections"]
        .as_array()
        .unwrap()
        .iter()
        .map(|section| section["name"].as_str().unwrap().to_owned())
        .collect();
    let all = std::env::var_os("OUTERCORE_TEST_ALL").is_some();
    let (mut random, mut ends) = (Random::new(7), BTreeMap::new());
    for case in 0..if all { 1500 } else { 60 } {
        let section = &sections[case % sections.len()];
        for (name, bytes) in &whole {
            std::fs::write(path.join(name), bytes).unwrap();
        }
        tamper(&path, &graph, section, &mut random);
        let run = RUNS[random.below(RUNS.len() as u64) as usize];
        let model = MODELS[random.below(3u64) as usize];
        let (what, arguments) = if case % 10 == 9 {
            ("export", vec!["export", "g.oc", "-o", "e.csv"])
        } else {
            let rest = ["g.oc", "--model", model, "--memory", "128M", "--threads", "2"];
            ("run", [&["run"], &run[..1], &rest[..], &run[1..]].concat())
        };
        let (code, said) = outercore(folder.path(), &arguments);
        let context = format!("{section}: {arguments:?}: {code:?} {said}");
        assert!(matches!(code, Some(0 | 4)), "{context}");
        assert!(code == Some(0) || said.contains("corrupt"), "{context}");
        *ends.entry((what, code)).or_insert(0) += 1;
    }
    eprintln!("{ends:?}");
    assert!(ends.contains_key(&("run", Some(4))), "nothing was found, which proves nothing");
}
