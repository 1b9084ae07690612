//! Which chunks of the grid stay in memory between passes: the paper's rule beside ours.

use outercore_engine::{CrossIteration, RunConfig, SubBlocks};
use outercore_graph::{BuildOptions, generate::Rmat};
use outercore_testing::{external, generate, request, run, thorough, values};

/// GraphSD's rule keeps what the second of two passes reads again. The other keeps what every pass
/// reads first of all.
#[test]
fn each_rule_spares_reads_and_changes_no_bit() {
    let folder = tempfile::tempdir().unwrap();
    let options = BuildOptions { memory: 256 << 20, threads: 2, ..BuildOptions::default() };
    let rmat = Rmat { edge_factor: 64, ..Rmat::new(if thorough() { 20 } else { 19 }, 5) };
    let graph = generate(folder.path().join("graph.oc"), rmat, options);
    let cross_iteration = CrossIteration::Fciu;
    let all = [SubBlocks::Off, SubBlocks::On, SubBlocks::Secondary].map(|sub_blocks| {
        let config = RunConfig { cross_iteration, sub_blocks, memory: 64 << 20, ..external() };
        let outcome = run(&graph, "pagerank", &request("pagerank", &[]), &config);
        let hits = outcome.report.cache.sub_block_hits;
        assert_eq!(hits > 0, sub_blocks.are_kept(), "{sub_blocks:?}: {hits} hits");
        (values(&outcome), outcome.report.bytes_read)
    });
    let [(ranks, off), (by_on, on), (by_secondary, secondary)] = all;
    assert!(by_on == ranks && by_secondary == ranks, "a rule changes bits");
    let said = format!("bytes: off {off}, on {on}, secondary {secondary}");
    assert!(on < off && secondary < off && on != secondary, "{said}");
    println!("{said}");
}
