//! More memory is never worse: what fully-external runs read and write falls or stays as the budget
//! grows. In the smallest budget it is little already, where a graph has many levels.

use outercore_algorithms::{Request, Source, by_name};
use outercore_engine::{MemoryModel, RunConfig, Technique, TechniqueState};
use outercore_graph::{BuildOptions, Graph, Key, generate::Rmat};
use outercore_storage::Disk;
use outercore_testing::{
    build_file, config, external, generate, request, run, smallest, undirected, values,
};

/// Lists of active vertices, once there is memory for them, do not drive out the values and the
/// chunks of a small graph, which are read in every iteration.
#[test]
fn lists_come_when_what_every_pass_reads_has_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let options = undirected();
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

/// A program of many iterations, in each of which few vertices send. Without lists it reads the
/// parts of the grid that these want; lists come when they drive no values out, and so with more
/// memory fewer bytes go to and fro, from the smallest budget on.
#[test]
fn lists_come_when_they_drive_no_values_out() {
    let folder = tempfile::tempdir().unwrap();
    let rmat = Rmat { edge_factor: 24, ..Rmat::new(18, 5) };
    let graph = generate(folder.path().join("graph.oc"), rmat, undirected());
    let program = Request { method: Some("program".into()), ..request("kcore", &[]) };
    let least = smallest(&graph, "kcore", &program, &external());
    let (mut fewest, mut by_lists) = (u64::MAX, Vec::new());
    for more in [0, 1, 2, 3, 6] {
        let config = RunConfig { memory: least + (more << 20), ..external() };
        let plan = by_name("kcore", &program).unwrap().plan(&graph, &config).unwrap();
        let lists = plan.techniques.iter().find(|it| it.name == Technique::OnDemand).unwrap();
        by_lists.push(lists.state == TechniqueState::Used);
        let report = run(&graph, "kcore", &program, &config).report;
        let moved = report.bytes_read + report.bytes_written;
        println!("{more} MiB more than the least: {moved} bytes, by lists: {by_lists:?}");
        assert!(moved * 20 <= fewest.saturating_mul(21), "{more} MiB more: {moved} of {fewest}");
        fewest = fewest.min(moved);
    }
    assert_eq!(by_lists, [false, false, false, true, true]);
}

/// Where there are hubs, searches have few levels: more memory never means fewer sources side by
/// side, not even where all lists just fit.
#[test]
fn more_memory_is_never_for_fewer_sources() {
    let folder = tempfile::tempdir().unwrap();
    let rmat = Rmat { a: 0.44, b: 0.21, c: 0.21, d: 0.14, ..Rmat::new(17, 5) };
    let graph = generate(folder.path().join("graph.oc"), rmat, undirected());
    assert!(graph.meets_at_hubs() && !graph.has_hubs());
    let sources: Vec<_> = (0..32).map(|number| Source::Key(Key::Number(number))).collect();
    let request = request("betweenness", &sources);
    let least = smallest(&graph, "betweenness", &request, &external());
    let mut most = 0;
    for more in 0..80 {
        let config = RunConfig { memory: least + (more << 19), ..config() };
        let plan = by_name("betweenness", &request).unwrap().plan(&graph, &config).unwrap();
        let lists = plan.method.split_once(" sources side by side");
        let now = lists.map_or("0", |(before, _)| before.rsplit(' ').next().unwrap());
        let now: u64 = now.parse().unwrap();
        assert!(now >= most, "{} bytes: {}", config.memory, plan.method);
        most = now;
    }
    assert_eq!(most, 8);
}

/// Roads in a square: as many levels as it has vertices on two sides.
#[test]
fn the_smallest_budget_is_enough_for_many_levels() {
    const SIDE: u64 = 360;
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (folder.path().join("edges.txt"), folder.path().join("graph.oc"));
    let roads = (0..SIDE * SIDE).flat_map(|at| {
        let right = (at % SIDE < SIDE - 1).then_some(at + 1);
        let below = (at / SIDE < SIDE - 1).then_some(at + SIDE);
        let weight = move |to| 1 + (at * 31 + to * 17) % 1000;
        right.into_iter().chain(below).map(move |to| format!("{at} {to} {}\n", weight(to)))
    });
    std::fs::write(&input, roads.collect::<String>()).unwrap();
    let options = BuildOptions {
        memory: 64 << 20,
        threads: 2,
        directed: Some(false),
        ..BuildOptions::default()
    };
    build_file(&Disk::new(), &input, &output, &options).unwrap();
    let graph = Graph::open(&Disk::new(), &output).unwrap();
    // Lists that stay in memory, and sums of which most do: else 107 MB, and 1,694.
    for (name, most) in [("sssp", 12 << 20), ("betweenness", 512 << 20)] {
        let request = request(name, &[Source::Key(Key::Number(0))]);
        let memory = smallest(&graph, name, &request, &external());
        let report = run(&graph, name, &request, &RunConfig { memory, ..external() }).report;
        let moved = report.bytes_read + report.bytes_written;
        println!("{name} in {memory}: {moved} bytes in {} iterations", report.iterations);
        assert!(report.iterations > 50 && moved < most, "{name}: {moved} bytes");
    }
    // Five sources: one at a time with all lists in memory, and not four with lists on storage.
    let sources = [0, 5_000, 70_000, 90_000, 129_599].map(|at| Source::Key(Key::Number(at)));
    let asked = |count: usize| request("betweenness", &sources[..count]);
    let plan = by_name("betweenness", &asked(1)).unwrap().plan(&graph, &config()).unwrap();
    let config = RunConfig { memory: plan.in_memory_budget_bytes + (1 << 20), ..config() };
    let report = run(&graph, "betweenness", &asked(5), &config).report;
    println!("five sources: {} bytes, {} in memory", report.bytes_read, config.memory);
    assert!(report.bytes_read < 8 << 20, "five sources: {} bytes", report.bytes_read);
}

/// What a search finds is logged, and that is all it writes: levels and parents are made of the
/// logs when someone reads them.
#[test]
fn results_of_a_search_are_written_when_they_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let graph = generate(folder.path().join("graph.oc"), Rmat::new(18, 5), undirected());
    let asked = request("bfs", &[Source::MaxDegree]);
    let least = smallest(&graph, "bfs", &asked, &external());
    let expected = values(&run(&graph, "bfs", &asked, &config()));
    let results = graph.connected() * 8;
    for memory in [least, least + (8 << 20), least + (64 << 20)] {
        let outcome = run(&graph, "bfs", &asked, &RunConfig { memory, ..external() });
        let logs = outcome.report.bytes_written;
        assert!(logs < results + results / 10, "{logs} bytes, results {results}");
        assert!(!outcome.columns[0].values.are_in_memory());
        for times in 1..3 {
            assert!(values(&outcome) == expected, "another answer, read {times} times");
        }
    }
}

/// Who asks for a semi-external run keeps half of the pages of all edges: of one page that one. It
/// was read again in each of 245,000 levels.
#[test]
fn one_page_of_edges_is_kept() {
    const VERTICES: u64 = 700;
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (folder.path().join("cycle.txt"), folder.path().join("cycle.oc"));
    let edges = (0..VERTICES).map(|at| format!("{at} {}\n", (at + 1) % VERTICES));
    std::fs::write(&input, edges.collect::<String>()).unwrap();
    let options = BuildOptions { directed: Some(false), ..BuildOptions::default() };
    build_file(&Disk::new(), &input, &output, &options).unwrap();
    let graph = Graph::open(&Disk::new(), &output).unwrap();
    let exact = Request { exact: true, ..request("diameter", &[]) };
    let config = RunConfig { model: Some(MemoryModel::SemiExternal), ..config() };
    let report = run(&graph, "diameter", &exact, &config).report;
    assert!(report.bytes_read < 1 << 20, "{} bytes", report.bytes_read);
}
