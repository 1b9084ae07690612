//! What is read of the chunks of the grid, GraphSD's sub-blocks: which of them stay in memory
//! between passes, by the paper's rule and by ours; and of which only some parts are read.

use outercore_algorithms::{Request, Source};
use outercore_engine::{
    CrossIteration, ReadPolicy, RunConfig, SubBlocks, Technique, TechniqueState,
};
use outercore_graph::{
    BuildOptions,
    generate::{GeneratedWeights, Rmat},
};
use outercore_testing::{external, generate, request, run, smallest, thorough, undirected, values};

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

/// A frontier of few vertices has few edges in any chunk: its parts without active sources are not
/// read, once it is known where they begin. `active` reads whole chunks.
#[test]
fn parts_of_chunks_without_active_sources_are_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let weights = GeneratedWeights::Uniform { low: 1, high: 100 };
    let rmat = Rmat { edge_factor: 16, weights, ..Rmat::new(16, 5) };
    let graph = generate(folder.path().join("graph.oc"), rmat, undirected());
    let by_program = |algorithm, sources: &[Source]| Request {
        method: Some("program".into()),
        ..request(algorithm, sources)
    };
    // What `auto` may read of what `active` reads, in percent; weights are read by part, too.
    for (algorithm, sources, most) in
        [("kcore", &[][..], 60), ("sssp", &[Source::MaxDegree], 85), ("components", &[], 90)]
    {
        let asked = by_program(algorithm, sources);
        let least = smallest(&graph, algorithm, &asked, &external());
        let ran = |read, threads| {
            let cross_iteration = CrossIteration::Off;
            let sub_blocks = SubBlocks::Off;
            let how = RunConfig { read, threads, cross_iteration, sub_blocks, ..external() };
            let outcome = run(&graph, algorithm, &asked, &RunConfig { memory: least, ..how });
            let name = Technique::SubBlockIndex;
            let technique = outcome.report.techniques.iter().find(|one| one.name == name).cloned();
            (values(&outcome), outcome.report.bytes_read, technique.expect("each is there"))
        };
        let (expected, by_chunk, off) = ran(ReadPolicy::Active, 2);
        assert_eq!((off.state, off.effect), (TechniqueState::Idle, 0), "{algorithm}");
        for threads in [1, 2] {
            let (found, by_part, index) = ran(ReadPolicy::Auto, threads);
            let said = format!("{algorithm}: {by_part} of {by_chunk} bytes, {index:?}");
            println!("{said}");
            assert!(found == expected, "another answer: {said}");
            assert!(by_part * 100 < by_chunk * most, "{said}");
            let saved = index.saved_bytes.abs_diff(by_chunk - by_part);
            assert!(index.state == TechniqueState::Used && saved * 10 < by_chunk, "{said}");
        }
    }
}
