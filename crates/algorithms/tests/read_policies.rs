//! What an iteration reads of the grid: all of it, the chunks with active sources, or lists.

use outercore_algorithms::{Request, Source};
use outercore_engine::{CrossIteration, MemoryModel, ReadPolicy, RunConfig};
use outercore_graph::{BuildOptions, generate::Rmat};
use outercore_testing::{external, generate, request, run, values};

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
