//! The budget of a run is kept: the peak resident size of the process stays below it, in every
//! memory model, from the smallest budget that the plan allows on; and a budget below that is
//! refused before any work.
//!
//! Each run is a process of its own, because the peak of a process never falls.

use std::path::Path;

use outercore_algorithms::{Algorithm, NAMES, Request, Source, by_name};
use outercore_caches::{SelectOptions, SelectSettings, select};
use outercore_engine::{MemoryModel, Resources, RunConfig, Silent};
use outercore_graph::generate::{GeneratedWeights, Rmat};
use outercore_graph::{BuildOptions, Graph, GraphError, Layout, Silent as Quiet};
use outercore_storage::{Disk, memory::peak_rss_bytes};
use outercore_testing::{build_file, generate, in_a_child, options, request, thorough};

/// What a child runs: `NAME THREADS BYTES MODEL GRAPH`.
const TASK: &str = "OUTERCORE_TEST_RUN_MEMORY";

/// Bytes of code and constants of the command that are resident in a run.
const COMMAND: u64 = 9 << 20;

/// Bytes of files that are mapped and resident: this program, and the libraries that it uses.
fn resident_file_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("RssFile:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kib.expect("the kernel says how much") << 10
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
    let config =
        RunConfig { model, ..config(name, bytes.parse().unwrap(), threads.parse().unwrap()) };
    let graph = Graph::open(&Disk::new(), Path::new(path)).unwrap();
    match algorithm(name).run(&graph, &config, &Silent) {
        Ok(outcome) => {
            let mut values = 0;
            graph
                .for_each_key(1 << 12, &mut |keys, _| {
                    values += keys.len() as u64;
                    Ok(())
                })
                .unwrap();
            assert_eq!(values, graph.vertices());
            // What this program's code takes beyond the command's is not the run's.
            let code = resident_file_bytes().saturating_sub(COMMAND);
            println!("\nran {} {}", peak_rss_bytes() - code, outcome.report.bytes_read);
        }
        Err(GraphError::Memory { needed, .. }) => {
            println!("\nrefused {} {needed}", peak_rss_bytes())
        }
        Err(error) => panic!("{error}"),
    }
}

/// The chains of programs that the names of algorithms do not tell.
const CHAINS: [&str; 3] = ["sssp+parents", "sssp+parents+program", "sssp+parents+delta-stepping"];

/// Bytes of a cache.
const CACHE: u64 = 4 << 20;

/// How an algorithm is run; behind `@`, with which caches.
fn config(name: &str, memory: u64, threads: usize) -> RunConfig {
    let caches = name.split_once('@').map_or("", |(_, caches)| caches);
    let of = |cache| caches.contains(cache).then_some(CACHE);
    RunConfig {
        memory,
        threads,
        page_cache: of("pages"),
        static_cache: of("lists"),
        ..RunConfig::default()
    }
}

/// An algorithm by its name; behind `+`, that parents are wanted, and by which method.
fn algorithm(name: &str) -> Box<dyn Algorithm> {
    let name = name.split('@').next().expect("a name");
    let mut parts = name.split('+');
    let name = parts.next().expect("a name");
    let (parents, method) = (parts.next().is_some(), parts.next().map(str::to_owned));
    let request = Request { parents, method, ..request(name, &[Source::MaxDegree]) };
    by_name(name, &request).unwrap()
}

/// Runs in a child; returns what it says, its peak, and bytes read or the budget that it needs.
fn run(name: &str, threads: usize, bytes: u64, model: &str, graph: &Path) -> (String, u64, u64) {
    let task = format!("{name} {threads} {bytes} {model} {}", graph.display());
    let said = in_a_child(TASK, &task, &["ran", "refused"]);
    (said.word, said.numbers[0], said.numbers[1])
}

/// Those that take long to run.
const LONG: [&str; 6] =
    ["kcore", "betweenness", "triangles", "clustering", "label-propagation", "diameter"];

/// An algorithm on a graph of which the plan says what it needs.
struct Case<'a> {
    name: &'a str,
    graph: &'a Path,
    threads: usize,
    /// What to print before a figure.
    what: String,
}

impl Case<'_> {
    /// Runs with so much; returns what is wrong with the peak.
    fn keeps(&self, bytes: u64, model: &str) -> Option<String> {
        let (came, peak, number) = run(self.name, self.threads, bytes, model, self.graph);
        let mib = |bytes: u64| bytes as f64 / (1 << 20) as f64;
        let what = &self.what;
        let line = format!("{what}, {model}: {came} in {:.1} of {:.1} MiB", mib(peak), mib(bytes));
        eprintln!("{line}");
        assert_eq!(came, "ran", "{what} runs wherever its plan says so; now it needs {number}");
        (peak >= bytes).then_some(line)
    }

    /// Less than the smallest budget is refused before any work.
    fn refuses(&self, smallest: u64) {
        let (came, peak, number) = run(self.name, self.threads, smallest - 1, "auto", self.graph);
        let what = &self.what;
        assert_eq!(came, "refused", "{what} takes less than the plan says");
        assert!(number >= smallest, "{what}: {number} bytes are enough, {smallest} are planned");
        assert!(peak < smallest, "{what}: refused after {peak} bytes");
    }
}

/// Runs every algorithm at the edges of what its plan says.
fn keeps(directed: bool) {
    let folder = tempfile::tempdir().unwrap();
    let weights = GeneratedWeights::Uniform { low: 0, high: 1 << 20 };
    let options = BuildOptions {
        memory: 256 << 20,
        threads: 2,
        directed: Some(directed),
        simple: !directed,
        ..BuildOptions::default()
    };
    let path = folder.path().join("graph.oc");
    let graph = generate(
        path.clone(),
        Rmat { weights, ..Rmat::new(if thorough() { 18 } else { 17 }, 2) },
        options,
    );
    let mut over = Vec::new();
    for name in NAMES.iter().chain(&CHAINS) {
        // Of those that take long, the smallest budget and the largest one only.
        let long = LONG.contains(name);
        for threads in if long || !thorough() { 2..=2 } else { 1..=2 } {
            let generous = config(name, 1 << 30, threads);
            let plan = || algorithm(name).plan(&graph, &generous).unwrap();
            let first = plan();
            let (smallest, whole) = (first.smallest_budget_bytes, first.in_memory_budget_bytes);
            let what = format!("{name}, directed: {directed}, {threads} threads");
            let case = Case { name, graph: &path, threads, what };
            over.extend(case.keeps(smallest, "auto"));
            if !long {
                over.extend(case.keeps((smallest + whole) / 2, "auto"));
                over.extend(case.keeps(whole, "in-memory"));
            }
            if !long && thorough() {
                over.extend(case.keeps(whole, "semi-external"));
            }
            over.extend(case.keeps(whole + (64 << 20), "auto"));
            // A view that the first run has kept need not be built again.
            let now = plan().smallest_budget_bytes;
            if now < smallest {
                over.extend(case.keeps(now, "auto"));
            }
            case.refuses(now);
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

/// Where the grid lacks edges, and with more threads than there are processors: each of these has
/// buffers of its own.
#[test]
fn other_layouts_and_many_threads() {
    let folder = tempfile::tempdir().unwrap();
    let weights = GeneratedWeights::Uniform { low: 0, high: 1 << 20 };
    let mut over = Vec::new();
    for layout in [Layout::Row, Layout::Hybrid] {
        let options = BuildOptions {
            memory: 256 << 20,
            threads: 2,
            directed: Some(false),
            simple: true,
            layout,
            ..BuildOptions::default()
        };
        let path = folder.path().join(format!("{layout:?}.oc"));
        let graph = generate(path.clone(), Rmat { weights, ..Rmat::new(15, 2) }, options);
        for name in NAMES.iter().chain(&CHAINS) {
            for threads in [1, 8] {
                let generous = RunConfig { memory: 1 << 30, threads, ..RunConfig::default() };
                let plan = algorithm(name).plan(&graph, &generous).unwrap();
                let what = format!("{name}, {layout:?}, {threads} threads");
                let case = Case { name, graph: &path, threads, what };
                over.extend(case.keeps(plan.smallest_budget_bytes, "auto"));
            }
        }
    }
    assert!(over.is_empty(), "over the budget:\n{}", over.join("\n"));
}

/// Caches of a fixed size are of the budget: with room for all lists, and with room for a few.
#[test]
fn with_caches() {
    let folder = tempfile::tempdir().unwrap();
    let options = BuildOptions { memory: 256 << 20, threads: 2, ..BuildOptions::default() };
    let path = folder.path().join("graph.oc");
    let mut over = Vec::new();
    for (scale, threads) in [(14, 8), (17, 2)] {
        let weights = GeneratedWeights::Uniform { low: 0, high: 1 << 20 };
        let rmat = Rmat { weights, ..Rmat::new(scale, 2) };
        let graph = generate(path.clone(), rmat, BuildOptions { force: true, ..options.clone() });
        let usual = SelectSettings::default().options(&graph, &Resources::default()).unwrap();
        select(&graph, &SelectOptions { size: CACHE, rounds: 3, threads: 2, ..usual }, &Quiet)
            .unwrap();
        for name in ["bfs@pages", "bfs@lists", "bfs@pages+lists", "sssp@lists"] {
            let plan = algorithm(name).plan(&graph, &config(name, 1 << 30, threads)).unwrap();
            let (smallest, whole) = (plan.smallest_budget_bytes, plan.in_memory_budget_bytes);
            let what = format!("{name}, scale {scale}, {threads} threads");
            let case = Case { name, graph: &path, threads, what };
            for bytes in [smallest, (smallest + whole) / 2, whole + (64 << 20)] {
                over.extend(case.keeps(bytes, "auto"));
            }
            case.refuses(smallest);
        }
    }
    assert!(over.is_empty(), "over the budget:\n{}", over.join("\n"));
}

/// A search has as many levels as a path has vertices: what is kept of each is not counted.
#[test]
fn a_search_along_a_path() {
    let folder = tempfile::tempdir().unwrap();
    let (input, path) = (folder.path().join("edges.txt"), folder.path().join("graph.oc"));
    let line = |at: u64| format!("{at} {}\n", at + 1);
    std::fs::write(&input, (0..60_000).map(line).collect::<String>()).unwrap();
    let options = BuildOptions { directed: Some(false), ..options() };
    build_file(&Disk::new(), &input, &path, &options).unwrap();
    let graph = Graph::open(&Disk::new(), &path).unwrap();
    let generous = RunConfig { memory: 1 << 30, threads: 2, ..RunConfig::default() };
    let plan = algorithm("bfs").plan(&graph, &generous).unwrap();
    let case = Case { name: "bfs", graph: &path, threads: 2, what: "bfs along a path".to_owned() };
    assert_eq!(case.keeps(plan.smallest_budget_bytes, "auto"), None);
    assert_eq!(case.keeps(plan.in_memory_budget_bytes, "in-memory"), None);
}

/// What a refusal names is enough, however little was given: also where a view is built first.
#[test]
fn a_refusal_names_a_budget_that_works() {
    let folder = tempfile::tempdir().unwrap();
    for directed in [true, false] {
        let path = folder.path().join(format!("graph-{directed}.oc"));
        let options = BuildOptions {
            memory: 256 << 20,
            threads: 2,
            directed: Some(directed),
            ..BuildOptions::default()
        };
        generate(path.clone(), Rmat::new(10, 3), options);
        for name in NAMES.iter().filter(|&&name| name != "sssp") {
            let (came, _, needed) = run(name, 2, 1 << 20, "auto", &path);
            assert_eq!(came, "refused", "{name}, directed: {directed}");
            // Whole MiB, as the message has it.
            let needed = needed.next_multiple_of(1 << 20);
            let (came, peak, further) = run(name, 2, needed, "auto", &path);
            assert_eq!(came, "ran", "{name}, directed: {directed}: not {needed} but {further}");
            assert!(peak < needed, "{name}, directed: {directed}: {peak} of {needed}");
        }
    }
}
