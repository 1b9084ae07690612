//! What an iteration reads of the grid: all of it, the chunks with active sources, or lists; and
//! what is read ahead.

use std::{fmt::Write, path::Path};

use outercore_algorithms::{Request, Source};
use outercore_engine::{
    CrossIteration, IoBackend, MemoryModel, ReadPolicy, RunConfig, SubBlocks::Off,
};
use outercore_graph::{BuildOptions, Graph, Key, generate::Rmat};
use outercore_storage::Disk;
use outercore_testing::{
    build_file, external, generate, request, run, smallest, undirected, values,
};

/// A search has levels of few vertices: most chunks have no active source then.
#[test]
fn chunks_without_active_sources_are_read_only_in_full() {
    let folder = tempfile::tempdir().unwrap();
    let options = BuildOptions { memory: 256 << 20, threads: 2, ..BuildOptions::default() };
    let graph = generate(folder.path().join("graph.oc"), Rmat::new(18, 5), options);
    let passes = RunConfig { cross_iteration: CrossIteration::Off, ..external() };
    let semi = RunConfig { model: Some(MemoryModel::SemiExternal), memory: 64 << 20, ..external() };
    for (method, config) in [("program", passes), ("direction", semi)] {
        let method = Some(method.to_owned()).filter(|name| name == "program");
        let asked = Request { method, ..request("bfs", &[Source::MaxDegree]) };
        let ran = |read| {
            let config = RunConfig { read, ..config.clone() };
            let outcome = run(&graph, "bfs", &asked, &config);
            (values(&outcome), outcome.report)
        };
        let ((expected, _), (by_full, full), (by_active, active)) =
            (ran(ReadPolicy::Auto), ran(ReadPolicy::Full), ran(ReadPolicy::Active));
        assert!(by_full == expected && by_active == expected, "another answer");
        let mut passes = full.per_iteration.iter().chain(&active.per_iteration);
        assert!(passes.all(|iteration| iteration.read_mode == "full"));
        let (some, all) = (active.bytes_read, full.bytes_read);
        assert!(some * 10 < all * 9, "{some} of {all} bytes");
    }
}

/// Vertices of a dense part, and all.
const DENSE: u64 = 20_000;
const ALL: u64 = 1_500_000;

/// A dense part; many short paths; and hubs that lead to these, and that nothing leads to. So the
/// tiles of paths are cut: what the directory says of the sources of a tile that is alone begins
/// with the first vertex.
fn dense_and_paths(folder: &Path) -> Graph {
    let (mut text, mut random) = (String::new(), 1_u64);
    for vertex in 0..DENSE * 40 {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let [one, other] = [vertex % DENSE, (random >> 33) % DENSE];
        writeln!(text, "{one} {other}\n{other} {one}").unwrap();
    }
    for vertex in DENSE..ALL {
        writeln!(text, "{} {vertex}", ALL + vertex % 64).unwrap();
        if vertex % 40 < 39 {
            writeln!(text, "{vertex} {}\n{} {vertex}", vertex + 1, vertex + 1).unwrap();
        }
    }
    let [input, output] = ["edges.txt", "graph.oc"].map(|name| folder.join(name));
    std::fs::write(&input, text).unwrap();
    let options = BuildOptions {
        memory: 256 << 20,
        threads: 2,
        directed: Some(true),
        ..BuildOptions::default()
    };
    build_file(&Disk::new(), &input, &output, &options).unwrap();
    Graph::open(&Disk::new(), &output).unwrap()
}

/// Searches from both parts have frontiers that are dense in some intervals and sparse in others.
/// The grid is read for the former, and the lists of the latter: fewer bytes than either alone, and
/// the same answer.
#[test]
fn some_intervals_send_along_lists_and_others_through_the_grid() {
    let folder = tempfile::tempdir().unwrap();
    let graph = dense_and_paths(folder.path());
    let sources = (0..30).map(|at| DENSE + 20 + at * 49_000).chain([7]);
    let sources: Vec<_> = sources.map(|vertex| Source::Key(Key::Number(vertex))).collect();
    let asked = request("multi-source", &sources);
    let ran = |read, threads| {
        let cross_iteration = CrossIteration::Off;
        let config = RunConfig { read, threads, cross_iteration, sub_blocks: Off, ..external() };
        let outcome = run(&graph, "multi-source", &asked, &config);
        (values(&outcome), outcome.report.per_iteration)
    };
    let (expected, by_grid) = ran(ReadPolicy::Active, 2);
    let (_, by_lists) = ran(ReadPolicy::OnDemand, 2);
    for threads in [1, 3] {
        let (found, iterations) = ran(ReadPolicy::Auto, threads);
        assert!(found == expected, "another answer");
        assert_eq!(iterations.len(), by_grid.len());
        let mut mixed = 0;
        for (iteration, ways) in iterations.iter().zip(by_grid.iter().zip(&by_lists)) {
            let read = [iteration, ways.0, ways.1].map(|iteration| iteration.bytes_read);
            let costs = iteration.predicted.expect("a choice has reasons");
            let is_mixed = iteration.read_mode == "mixed";
            println!("{} {}: {read:?}, {costs:?}", iteration.iteration, iteration.read_mode);
            assert_eq!(is_mixed, costs.mixed_seconds.is_some(), "{costs:?}");
            assert!(!is_mixed || read[0] < read[1].min(read[2]), "{read:?}");
            mixed += usize::from(is_mixed);
        }
        assert!(mixed > 0, "no iteration was mixed");
    }
    let (found, iterations) = ran(ReadPolicy::Iteration, 2);
    assert!(found == expected, "another answer");
    assert!(iterations.iter().all(|iteration| iteration.read_mode != "mixed"));
}

/// Degrees and sums that were asked for are those that are wanted: without a ring the same is read.
#[test]
fn what_is_read_ahead_is_read_once() {
    let folder = tempfile::tempdir().unwrap();
    let options = BuildOptions { memory: 256 << 20, threads: 2, ..BuildOptions::default() };
    // Many vertices, whose signals do not fit the smallest budget all at once.
    let rmat = Rmat { edge_factor: 1, ..Rmat::new(22, 5) };
    let graph = generate(folder.path().join("graph.oc"), rmat, options);
    let asked = Request { iterations: Some(4), ..Request::default() };
    let least = smallest(&graph, "pagerank", &asked, &external());
    for cross_iteration in [CrossIteration::Off, CrossIteration::Fciu, CrossIteration::On] {
        // Windows of signals, then sums of two iterations on scratch.
        for memory in [least, least + (8 << 20)] {
            let ran = |io| {
                let config = RunConfig { memory, io, cross_iteration, ..external() };
                let outcome = run(&graph, "pagerank", &asked, &config);
                (values(&outcome), outcome.report.bytes_read, outcome.report.bytes_written)
            };
            let (ahead, plain) = (ran(IoBackend::Auto), ran(IoBackend::Blocking));
            let (more, all) = (ahead.1.abs_diff(plain.1), plain.1);
            assert!(more * 500 < all, "{more} of {all} bytes, {cross_iteration:?}, {memory}");
            let is_same = (ahead.0, ahead.2) == (plain.0, plain.2);
            assert!(is_same, "another answer, {cross_iteration:?}, {memory}");
        }
    }
}

/// Arrays of 128 bytes a vertex, which do not all fit, are read and written by each iteration.
/// Lists that would drive more of them out than there is of the grid are not there; with more
/// memory they are.
#[test]
fn lists_do_not_drive_out_what_each_iteration_reads() {
    let folder = tempfile::tempdir().unwrap();
    let rmat = Rmat { edge_factor: 1, ..Rmat::new(19, 5) };
    let graph = generate(folder.path().join("graph.oc"), rmat, undirected());
    let sources = [Source::MaxDegree, Source::Random(1), Source::Random(2)];
    let asked = Request { method: Some("batches".into()), ..request("betweenness", &sources) };
    let ran = |read, memory: u64| {
        let cross_iteration = CrossIteration::Off;
        let memory = memory << 20;
        let config = RunConfig { read, memory, cross_iteration, sub_blocks: Off, ..external() };
        let outcome = run(&graph, "betweenness", &asked, &config);
        let report = outcome.report.clone();
        let lists = report.per_iteration.iter().filter(|one| one.read_mode == "on-demand").count();
        (values(&outcome), report.bytes_read + report.bytes_written, lists)
    };
    for memory in [52, 56, 60, 96] {
        let [(expected, full, _), (found, chosen, lists)] =
            [ReadPolicy::Full, ReadPolicy::Auto].map(|read| ran(read, memory));
        println!("{memory} MiB: {full} bytes by passes, {chosen} as chosen, {lists} by lists");
        assert!(found == expected, "another answer");
        assert!(chosen * 20 < full * 21, "{chosen} of {full} bytes");
        assert_eq!(lists > 0, memory == 96, "{lists} iterations by lists");
    }
}

/// Once all sources have reached most vertices, these do not look at their neighbors any more: the
/// lists of the others are read, and not all edges.
#[test]
fn vertices_that_all_sources_have_reached_read_no_lists() {
    let folder = tempfile::tempdir().unwrap();
    let graph = generate(folder.path().join("graph.oc"), Rmat::new(17, 3), undirected());
    for sources in [1, 20, 64, 100] {
        let sources: Vec<_> = (0..sources).map(Source::Random).collect();
        let asked = request("multi-source", &sources);
        let models = [(MemoryModel::InMemory, 1 << 30), (MemoryModel::SemiExternal, 32 << 20)];
        for (model, memory) in models {
            let config = RunConfig { model: Some(model), memory, ..external() };
            let ran = |read| {
                let outcome =
                    run(&graph, "multi-source", &asked, &RunConfig { read, ..config.clone() });
                (values(&outcome), outcome.report)
            };
            let ((expected, plain), (found, chosen)) =
                (ran(ReadPolicy::Iteration), ran(ReadPolicy::Auto));
            assert!(found == expected, "another answer");
            let (some, all) = (chosen.edges_processed, plain.edges_processed);
            println!("{} sources, {model:?}: {some} of {all} edges", sources.len());
            assert!(some * 10 < all * 9, "{some} of {all} edges");
            let half = graph.connected() / 2;
            let late = chosen.per_iteration.iter().filter(|one| one.active > half);
            assert!(late.clone().any(|one| one.read_mode == "on-demand"), "none was pulled");
        }
    }
}
