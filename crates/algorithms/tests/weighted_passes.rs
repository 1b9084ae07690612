//! Fully-external rounds of distances: passes over a grid with weights, of which one serves two
//! iterations, and lists with weights where few vertices are active. The answers are those of
//! windows of distance in memory.

use std::{fmt::Write, path::Path};

use outercore_algorithms::{Request, Source};
use outercore_engine::{CrossIteration, MemoryModel, Precompute, ReadPolicy, RunConfig, SubBlocks};
use outercore_graph::{
    BuildOptions, Graph, Key,
    generate::{GeneratedWeights, Rmat},
};
use outercore_storage::Disk;
use outercore_testing::{
    Random, build_file, config, external, generate, request, run, share, smallest, values,
};

fn graph(folder: &Path, weights: GeneratedWeights, directed: bool) -> Graph {
    let options = BuildOptions { memory: 256 << 20, threads: 2, ..BuildOptions::default() };
    let options = BuildOptions { directed: Some(directed), ..options };
    let graph = generate(
        folder.join("graph.oc"),
        Rmat { edge_factor: 32, weights, ..Rmat::new(17, 5) },
        options,
    );
    assert!(graph.grid().unwrap().intervals.len() > 32);
    graph
}

fn asked(method: &str, source: Source) -> Request {
    Request { method: Some(method.to_owned()), ..request("sssp", &[source]) }
}

/// Rounds on a graph, in one way and another; `read` bytes are compared.
fn in_rounds(graph: &Graph, config: &RunConfig) -> (Vec<Vec<outercore_testing::Value>>, u64) {
    let outcome = run(graph, "sssp", &asked("program", Source::MaxDegree), config);
    assert_eq!(outcome.report.memory_model, MemoryModel::FullyExternal);
    (values(&outcome), outcome.report.bytes_read)
}

#[test]
fn passes_with_weights_serve_two_iterations() {
    for (weights, directed) in [
        (GeneratedWeights::Uniform { low: 1, high: 100 }, true),
        (GeneratedWeights::Uniform { low: 0, high: 1 << 20 }, true),
        (GeneratedWeights::Uniform { low: 0, high: 1000 }, false),
    ]
    .into_iter()
    .step_by(share(2))
    {
        let folder = tempfile::tempdir().unwrap();
        let graph = graph(folder.path(), weights, directed);
        let by_windows =
            run(&graph, "sssp", &asked("delta-stepping", Source::MaxDegree), &config());
        let expected = values(&by_windows);
        let whole = RunConfig { read: ReadPolicy::Full, sub_blocks: SubBlocks::Off, ..external() };
        let off = RunConfig { cross_iteration: CrossIteration::Off, ..whole.clone() };
        let (found, read) = in_rounds(&graph, &off);
        assert!(found == expected, "{weights:?}: another answer");
        for threads in [3, 1].into_iter().step_by(share(2)) {
            let cross_iteration = CrossIteration::Fciu;
            let crossed = RunConfig { cross_iteration, threads, ..whole.clone() };
            let (found, less) = in_rounds(&graph, &crossed);
            assert!(found == expected, "{weights:?}, {threads} threads: another answer");
            assert!(less * 100 < read * 88, "{weights:?}: saves too little: {less} of {read}");
        }
        // In windows of signals, from chunks that stay, and by lists.
        let memory = smallest(&graph, "sssp", &asked("program", Source::MaxDegree), &whole);
        let kept = RunConfig { sub_blocks: SubBlocks::On, ..whole.clone() };
        let chosen = RunConfig { cross_iteration: CrossIteration::Graphsd, ..external() };
        let early = RunConfig { precompute: Some(Precompute::Gap), ..external() };
        let lists = RunConfig { read: ReadPolicy::OnDemand, ..external() };
        for config in [RunConfig { memory, ..whole }, kept, chosen, early, lists] {
            assert!(in_rounds(&graph, &config).0 == expected, "{weights:?}: {config:?}");
        }
    }
}

/// A graph of a text of edges with weights.
fn of_text(folder: &Path, text: &str) -> Graph {
    let (input, output) = (folder.join("edges.txt"), folder.join("graph.oc"));
    std::fs::write(&input, text).unwrap();
    let options = BuildOptions { memory: 64 << 20, threads: 2, ..BuildOptions::default() };
    build_file(&Disk::new(), &input, &output, &options).unwrap();
    Graph::open(&Disk::new(), &output).unwrap()
}

#[test]
fn distances_that_are_no_whole_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let (mut random, mut text) = (Random::new(3), String::new());
    for _ in 0..300_000 {
        let mut end = || random.below(20_000u64).min(random.below(20_000));
        let (from, to) = (end(), end());
        writeln!(text, "{from} {to} {}", random.below(1000u64) as f64 / 7.0).unwrap();
    }
    let graph = of_text(folder.path(), &text);
    let expected = run(&graph, "sssp", &asked("delta-stepping", Source::MaxDegree), &config());
    for cross_iteration in [CrossIteration::Off, CrossIteration::Fciu] {
        let config = RunConfig { read: ReadPolicy::Full, cross_iteration, ..external() };
        assert!(in_rounds(&graph, &config).0 == values(&expected), "{cross_iteration:?}");
    }
}

/// Weights that 32 bits hold, and distances that they do not.
#[test]
fn distances_beyond_32_bits() {
    let folder = tempfile::tempdir().unwrap();
    let mut text = String::new();
    for at in 0..40 {
        writeln!(text, "{at} {} 4000000000\n{at} {} 100", at + 1, at + 100).unwrap();
    }
    let graph = of_text(folder.path(), &text);
    let source = || Source::Key(Key::Number(0));
    let expected = run(&graph, "sssp", &asked("delta-stepping", source()), &config());
    for config in [config(), external()] {
        let found = run(&graph, "sssp", &asked("program", source()), &config);
        assert_eq!(found.report.summary, expected.report.summary);
        assert!(values(&found) == values(&expected));
    }
}
