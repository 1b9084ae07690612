//! The budget of a build is kept: the peak resident size of the process stays below it, whatever
//! the ids, the shape and the number of threads.
//!
//! Each build is a process of its own, because the peak of a process never falls.

use std::path::{Path, PathBuf};

use outercore_graph::build::SMALLEST_BUDGET;
use outercore_graph::generate::{GeneratedWeights, Rmat, Uniform};
use outercore_graph::input::{self, EdgeSource, Input, InputOptions};
use outercore_graph::{BuildOptions, BuildProgress, GraphError, Layout, Order};
use outercore_storage::{Disk, memory::peak_rss_bytes};
use outercore_testing::{Random, in_a_child, share, thorough};

/// What a child builds: `KIND|THREADS|MIB|FOLDER`.
const TASK: &str = "OUTERCORE_TEST_MEMORY";

/// Not a test: the process that is measured. Its last line is what came of it.
#[test]
fn child() {
    let Ok(task) = std::env::var(TASK) else { return };
    let parts: Vec<&str> = task.splitn(4, '|').collect();
    let [kind, threads, mib, folder] = parts[..] else { panic!("{task:?} is no task") };
    let folder = Path::new(folder);
    let mut options = BuildOptions {
        memory: mib.parse::<u64>().unwrap() << 20,
        threads: threads.parse().unwrap(),
        ..BuildOptions::default()
    };
    // Of a file: how it is built, and its name.
    match kind.split(':').next().unwrap_or(kind) {
        "undirected" => options.directed = Some(false),
        "simple" => (options.directed, options.simple) = (Some(false), true),
        "original" => options.order = Order::Original,
        "hybrid" => (options.directed, options.layout) = (Some(false), Layout::Hybrid),
        "striped" => options.stripes = vec![folder.join("stripe-0"), folder.join("stripe-1")],
        _ => {}
    }
    let source = source(kind, folder);
    let result = outercore_graph::build(
        &Disk::new(),
        source.as_ref(),
        &folder.join("graph.oc"),
        &options,
        &Stages,
    );
    let peak = peak_rss_bytes();
    match result {
        Ok(manifest) => println!("\nbuilt {peak} {} {}", manifest.vertices, manifest.edges),
        Err(GraphError::Memory { needed, .. }) => println!("\nrefused {peak} {needed} 0"),
        Err(error) => panic!("{error}"),
    }
}

/// Says on standard error how high the peak was when each stage began.
struct Stages;

impl BuildProgress for Stages {
    fn stage(&self, name: &'static str, _: Option<u64>) {
        eprintln!("{:.1} MiB before {name}", peak_rss_bytes() as f64 / (1 << 20) as f64);
    }
    fn advance(&self, _: u64) {}
    fn cancelled(&self) -> bool {
        false
    }
}

fn source(kind: &str, folder: &Path) -> Box<dyn EdgeSource> {
    let rmat = Rmat::new(18, 1);
    match kind {
        "rmat of scale 21" => Box::new(Rmat::new(21, 1).source().unwrap()),
        "rmat of scale 22" => Box::new(Rmat::new(22, 1).source().unwrap()),
        "rmat" | "simple" | "original" | "striped" => Box::new(rmat.source().unwrap()),
        "weighted" | "hybrid" => Box::new(
            Rmat { weights: GeneratedWeights::Uniform { low: 0, high: 1 << 20 }, ..rmat }
                .source()
                .unwrap(),
        ),
        "uniform" | "small" => {
            let vertices = if kind == "small" { 500_000 } else { 2_000_000 };
            let (edges, weights) = (2 * vertices, GeneratedWeights::None);
            Box::new(Uniform { vertices, edges, seed: 1, weights }.source().unwrap())
        }
        _ => {
            let name = kind.rsplit(':').next().unwrap_or(kind);
            let inputs = [Input::from(folder.join(name))];
            input::open(&Disk::new(), &inputs, &InputOptions::default()).unwrap()
        }
    }
}

/// Builds in a child; returns what it says, and its numbers: peak, and vertices and edges or the
/// budget that it needs.
fn run(kind: &str, threads: usize, mib: u64, folder: &Path) -> (String, [u64; 3]) {
    for old in ["graph.oc", "stripe-0", "stripe-1"] {
        let _ = std::fs::remove_dir_all(folder.join(old));
    }
    let task = format!("{kind}|{threads}|{mib}|{}", folder.display());
    let said = in_a_child(TASK, &task, &["built", "refused"]);
    if said.numbers[0] >= mib << 20 {
        eprintln!("{kind}, {threads} threads, {mib} MiB:\n{}", said.stderr);
    }
    (said.word, said.numbers.try_into().unwrap())
}

/// Builds within each of `budgets` (MiB): each is kept, and all builds have the same vertices and
/// edges.
fn keeps(kinds: &[&str], threads: &[usize], budgets: &[u64], folder: &Path) {
    let mut over = Vec::new();
    for kind in kinds {
        let mut size = None;
        for &threads in threads {
            for &mib in budgets {
                let (what, [peak, vertices, edges]) = run(kind, threads, mib, folder);
                let seen = peak as f64 / (1 << 20) as f64;
                eprintln!("{kind}, {threads} threads: {what} in {seen:.1} of {mib} MiB");
                if peak >= mib << 20 {
                    over.push(format!("{kind}, {threads} threads: {seen:.1} of {mib} MiB"));
                }
                if what == "refused" {
                    assert!(
                        vertices > mib << 20,
                        "{kind}: refused {mib} MiB, although {vertices} bytes are enough"
                    );
                    continue;
                }
                assert_eq!(*size.get_or_insert((vertices, edges)), (vertices, edges), "{kind}");
            }
        }
        assert!(size.is_some(), "{kind} was never built");
    }
    assert!(over.is_empty(), "over the budget:\n{}", over.join("\n"));
}

fn folder() -> tempfile::TempDir {
    // Not in memory: what is written there would count as the machine's, though not as the
    // process's.
    tempfile::tempdir().unwrap()
}

#[test]
fn generated_graphs() {
    let folder = folder();
    let threads = [2, 1];
    let threads = &threads[..threads.len() / share(2)];
    let of = |budgets: &[u64]| -> Vec<u64> { budgets.iter().copied().step_by(share(2)).collect() };
    keeps(&["rmat", "weighted"], threads, &of(&[32, 64, 80, 128]), folder.path());
    let kinds =
        [if thorough() { "uniform" } else { "small" }, "simple", "original", "striped", "hybrid"];
    keeps(&kinds, &[2], &of(&[40, 64, 96]), folder.path());
}

/// The smallest budget is enough for a few edges, whatever the ids are and however many threads
/// there are; a byte less is refused.
#[test]
fn a_few_edges_in_the_smallest_budget() {
    let folder = folder();
    let smallest = SMALLEST_BUDGET >> 20;
    for (name, text) in [
        ("dense.txt", "0 1\n1 2\n2 0\n"),
        ("numbers.txt", "0 18446744073709551615\n7 9\n9 0\n"),
        ("names.txt", "a b\nb c\nc a\n"),
    ] {
        std::fs::write(folder.path().join(name), text).unwrap();
        for kind in [name.to_owned(), format!("hybrid:{name}"), format!("simple:{name}")] {
            keeps(&[&kind], &[1, 8], &[smallest, smallest + 10], folder.path());
        }
        let (what, [peak, needed, _]) = run(name, 2, smallest - 1, folder.path());
        assert_eq!((what.as_str(), needed), ("refused", SMALLEST_BUDGET));
        assert!(peak < SMALLEST_BUDGET, "{peak}");
    }
}

/// Many more edges than the budget has bytes: in the smallest budgets ids go through the dictionary
/// and hubs through several buckets.
#[test]
fn many_more_edges_than_fit() {
    let folder = folder();
    let scale = if thorough() { 22 } else { 21 };
    keeps(&[&format!("rmat of scale {scale}")], &[2], &[96], folder.path());
}

/// Writes an edge list of about a million edges.
fn write(path: &PathBuf, edge: impl Fn(&mut Random) -> String) {
    let mut random = Random::new(1);
    let mut text = String::new();
    (0..1_000_000).for_each(|_| text += &edge(&mut random));
    std::fs::write(path, text).unwrap();
}

#[test]
fn ids_that_are_not_dense() {
    let folder = folder();
    let vertex = |random: &mut Random| {
        random.below(400_000u64).min(random.below(400_000)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    };
    write(&folder.path().join("numbers.txt"), |random| {
        format!("{} {}\n", vertex(random), vertex(random))
    });
    write(&folder.path().join("names.txt"), |random| {
        format!(
            "https://example.org/{:x}\thttps://example.org/{:x}\n",
            vertex(random),
            vertex(random)
        )
    });
    let threads = [2, 1];
    let threads = &threads[..threads.len() / share(2)];
    keeps(&["numbers.txt", "names.txt"], threads, &[40, 64, 128], folder.path());
}

#[test]
fn a_star_and_a_million_copies() {
    let folder = folder();
    write(&folder.path().join("star.txt"), |random| format!("0 {}\n", random.below(1_000_000u64)));
    write(&folder.path().join("copies.txt"), |_| "17 4\n".to_owned());
    keeps(&["star.txt", "copies.txt"], &[2, 4], &[32, 64, 96], folder.path());
}

/// More copies of an edge than a worker can sort, and a vertex with most edges beside: no range of
/// neighbors is narrow enough for them.
#[test]
fn copies_beyond_what_memory_holds() {
    let folder = folder();
    let mut random = Random::new(1);
    let mut write = |name: &str, mut edge: Box<dyn FnMut(&mut Random) -> String>| {
        let text: String = (0..3_000_000).map(|_| edge(&mut random)).collect();
        std::fs::write(folder.path().join(name), text).unwrap();
    };
    write("copies.txt", Box::new(|_| "7 9\n".to_owned()));
    write(
        "star.txt",
        Box::new(|random| match random.below(3u64) {
            0 => format!("0 {} 2\n", random.below(300_000u64)),
            1 => format!("{} 0 3\n", random.below(300_000u64)),
            _ => format!("0 5 {}\n", random.below(1000u64)),
        }),
    );
    for kind in ["copies.txt", "star.txt", "hybrid:star.txt", "simple:copies.txt"] {
        keeps(&[kind], &[2], &[64], folder.path());
    }
}

/// Names that agree in all that a sample keeps of them are one range, and so are listed vertices of
/// a few edges: they are ranked piece by piece.
fn names_that_no_sample_cuts(threads: usize) {
    let folder = folder();
    let alike = "n".repeat(60_000);
    let names: String = (0..600).map(|at| format!("{alike}{} {alike}\n", at * 7 % 600)).collect();
    std::fs::write(folder.path().join("alike.txt"), names).unwrap();
    // Names take more than the smaller budget.
    let budgets = [32, 64];
    keeps(&["alike.txt"], &[threads], &budgets[..budgets.len() / share(2)], folder.path());
}

#[test]
fn ids_that_no_sample_cuts() {
    names_that_no_sample_cuts(1);
}

#[test]
fn ids_that_no_sample_cuts_on_many_threads() {
    names_that_no_sample_cuts(4);
}

/// Blocks for sixteen threads do not fit the smallest budget: fewer work in it. The one that a
/// refusal names is enough at once, and kept.
#[test]
fn a_refusal_names_a_budget_that_is_enough() {
    let folder = folder();
    let lines = if thorough() { 3_000_000 } else { 1_000_000u64 };
    let text: String = (0..lines)
        .map(|at| format!("a{} b{}\n", at % 200_000, at.wrapping_mul(0x9e37_79b9) % 100_000))
        .collect();
    std::fs::write(folder.path().join("names.txt"), text).unwrap();
    for kind in [if thorough() { "uniform" } else { "small" }, "names.txt"] {
        let (what, [_, needed, _]) = run(kind, 16, 4, folder.path());
        assert_eq!(what, "refused", "{kind}: or this test tests nothing");
        let needed = needed.div_ceil(1 << 20);
        assert!(needed < 64, "{kind} in {needed} MiB");
        let (what, [peak, _, _]) = run(kind, 16, needed, folder.path());
        assert_eq!(what, "built", "{kind} in {needed} MiB");
        assert!(peak < needed << 20, "{kind}: {peak} bytes of {needed} MiB");
    }
}
