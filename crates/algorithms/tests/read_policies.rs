//! What an iteration reads of the grid: all of it, the chunks with active sources, or lists; and
//! what is read ahead.

use outercore_algorithms::{Request, Source};
use outercore_engine::{CrossIteration, IoBackend, MemoryModel, ReadPolicy, RunConfig};
use outercore_graph::{BuildOptions, generate::Rmat};
use outercore_testing::{external, generate, request, run, smallest, values};

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
