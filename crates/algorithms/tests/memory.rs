//! The budget of a run is kept: the peak resident size of the process stays below it, in every
//! memory model, from the smallest budget that the plan allows on; and a budget below that is
//! refused before any work.
//!
//! Each run is a process of its own, because the peak of a process never falls.

use std::path::Path;
use std::process::Command;

use outercore_algorithms::{NAMES, Request, Source, by_name};
use outercore_engine::{EngineError, MemoryModel, RunConfig, Silent};
use outercore_graph::generate::{GeneratedWeights, Rmat};
use outercore_graph::{BuildOptions, Graph, GraphError};
use outercore_storage::{Disk, memory::peak_rss_bytes};

/// What a child runs: `NAME THREADS BYTES MODEL GRAPH`.
const TASK: &str = "OUTERCORE_TEST_RUN_MEMORY";

fn request(name: &str) -> Request {
    match name {
        "bfs" | "sssp" => Request { source: Some(Source::MaxDegree), ..Request::default() },
        "betweenness" | "multi-source" => {
            Request { sources: vec![Source::MaxDegree], ..Request::default() }
        }
        "pagerank" | "label-propagation" => Request { iterations: Some(5), ..Request::default() },
        _ => Request::default(),
    }
}

/// Not a test: the process that is measured. Its last line is what came of it.
#[test]
fn child() {
    let Ok(task) = std::env::var(TASK) else { return };
    let parts: Vec<&str> = task.splitn(5, ' ').collect();
    let [name, threads, bytes, model, path] = parts[..] else { panic!("{task:?} is no task") };
    let model = [MemoryModel::InMemory, MemoryModel::SemiExternal]
        .into_iter()
        .find(|known| known.name() == model);
    let config = RunConfig {
        memory: bytes.parse().unwrap(),
        threads: threads.parse().unwrap(),
        model,
        ..RunConfig::default()
    };
    let graph = Graph::open(&Disk::new(), Path::new(path)).unwrap();
    let result = by_name(name, &request(name)).unwrap().run(&graph, &config, &Silent);
    match result {
        Ok(outcome) => {
            let mut values = 0;
            graph
                .for_each_key(1 << 12, &mut |keys, _| {
                    values += keys.len() as u64;
                    Ok(())
                })
                .unwrap();
            assert_eq!(values, graph.vertices());
            println!("\nran {} {}", peak_rss_bytes(), outcome.report.bytes_read);
        }
        Err(
            EngineError::Memory { needed, .. }
            | EngineError::Graph(GraphError::Memory { needed, .. }),
        ) => {
            println!("\nrefused {} {needed}", peak_rss_bytes())
        }
        Err(error) => panic!("{error}"),
    }
}

/// Runs in a child; returns what it says, its peak, and bytes read or the budget that it needs.
fn run(name: &str, threads: usize, bytes: u64, model: &str, graph: &Path) -> (String, u64, u64) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "child", "--nocapture", "--test-threads", "1"])
        .env(TASK, format!("{name} {threads} {bytes} {model} {}", graph.display()));
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "{name}, {threads} threads, {bytes} bytes, {model}: {text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let line = text
        .lines()
        .find(|line| line.starts_with("ran ") || line.starts_with("refused "))
        .unwrap_or_else(|| panic!("{text}"));
    let words: Vec<&str> = line.split(' ').collect();
    (words[0].to_owned(), words[1].parse().unwrap(), words[2].parse().unwrap())
}

/// Runs every algorithm at the edges of what its plan says.
fn keeps(directed: bool) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("graph.oc");
    let source =
        Rmat { weights: GeneratedWeights::Uniform { low: 0, high: 1 << 20 }, ..Rmat::new(18, 2) }
            .source()
            .unwrap();
    let build = BuildOptions {
        memory: 256 << 20,
        threads: 2,
        directed: Some(directed),
        simple: !directed,
        ..BuildOptions::default()
    };
    outercore_graph::build(&Disk::new(), &source, &path, &build, &outercore_graph::Silent).unwrap();
    let graph = Graph::open(&Disk::new(), &path).unwrap();
    let mut over = Vec::new();
    let mib = |bytes: u64| bytes as f64 / (1 << 20) as f64;
    for name in NAMES {
        // Those that take long to run have the smallest budget and the largest one only.
        let long =
            ["kcore", "betweenness", "triangles", "clustering", "label-propagation", "diameter"]
                .contains(name);
        for threads in if long { 2..=2 } else { 1..=2 } {
            let generous = RunConfig { memory: 1 << 30, threads, ..RunConfig::default() };
            let plan = by_name(name, &request(name)).unwrap().plan(&graph, &generous).unwrap();
            let (smallest, whole) = (plan.smallest_budget_bytes, plan.in_memory_budget_bytes);
            let cases = [
                (smallest, "auto"),
                ((smallest + whole) / 2, "auto"),
                (whole, "in-memory"),
                (whole, "semi-external"),
                (whole + (64 << 20), "auto"),
            ];
            let cases = if long { vec![cases[0], cases[4]] } else { cases.to_vec() };
            let mut ran = 0;
            for &(bytes, model) in &cases {
                let (what, peak, number) = run(name, threads, bytes, model, &path);
                eprintln!(
                    "{name}, directed: {directed}, {threads} threads, {model}: {what} in {:.1} of {:.1} MiB",
                    mib(peak),
                    mib(bytes)
                );
                if peak >= bytes {
                    over.push(format!(
                        "{name}, directed: {directed}, {threads} threads, {model}: {what} in {:.1} of {:.1} MiB",
                        mib(peak),
                        mib(bytes)
                    ));
                }
                if what == "refused" {
                    assert!(
                        number > bytes,
                        "{name} refuses {bytes} bytes, although {number} are enough"
                    );
                } else {
                    ran += 1;
                }
            }
            assert_eq!(ran, cases.len(), "{name} runs wherever its plan says so");
            let (what, peak, number) = run(name, threads, smallest - 1, "auto", &path);
            assert_eq!(what, "refused", "{name} takes less than the plan says");
            assert!(
                number >= smallest && peak < smallest,
                "{name}: refused after {:.1} MiB",
                mib(peak)
            );
        }
    }
    assert!(over.is_empty(), "over the budget:\n{}", over.join("\n"));
}

#[test]
fn directed_with_weights() {
    keeps(true);
}

#[test]
fn undirected_and_simple() {
    keeps(false);
}
