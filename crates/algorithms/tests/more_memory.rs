//! More memory is never worse: what fully-external runs read and write falls or stays as the budget
//! grows.

use outercore_algorithms::Source;
use outercore_engine::RunConfig;
use outercore_graph::{BuildOptions, Key, generate::Rmat};
use outercore_testing::{external, generate, request, run, smallest, values};

/// Lists of active vertices, once there is memory for them, do not drive out the values and the
/// chunks of a small graph, which are read in every iteration.
#[test]
fn lists_come_when_what_every_pass_reads_has_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let options = BuildOptions {
        memory: 256 << 20,
        threads: 2,
        directed: Some(false),
        ..BuildOptions::default()
    };
    // Evenly spread, so that there are many levels.
    let rmat = Rmat { edge_factor: 2, a: 0.25, b: 0.25, c: 0.25, d: 0.25, ..Rmat::new(18, 5) };
    let graph = generate(folder.path().join("graph.oc"), rmat, options);
    let sources = [3, 99, 1234].map(|number| Source::Key(Key::Number(number)));
    let request = request("multi-source", &sources);
    let least = smallest(&graph, "multi-source", &request, &external());
    let (mut fewest, mut answer) = (u64::MAX, None);
    for more in (0..28).step_by(2) {
        let config = RunConfig { memory: least + (more << 20), ..external() };
        let outcome = run(&graph, "multi-source", &request, &config);
        let moved = outcome.report.bytes_read + outcome.report.bytes_written;
        println!("{more} MiB more than the least: {moved} bytes");
        // An index is read once.
        assert!(moved <= fewest.saturating_add(2 << 20), "{more} MiB more: {moved} of {fewest}");
        fewest = fewest.min(moved);
        let found = values(&outcome);
        assert!(*answer.get_or_insert_with(|| found.clone()) == found);
    }
    assert!(fewest < 24 << 20, "{fewest} bytes with all that it could use");
}
