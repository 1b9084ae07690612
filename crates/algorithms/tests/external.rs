//! Fully-external runs on graphs of many intervals: the answers of a semi-external run, fewer bytes
//! with every technique, nothing left on scratch.

use std::path::Path;

use outercore_algorithms::{Request, Source, by_name};
use outercore_engine::{
    CostFormula, CrossIteration, Figure, MemoryModel, Preset, ReadPolicy, RunConfig, RunReport,
    SubBlocks::Off,
};
use outercore_graph::{
    BuildOptions, Graph, Key,
    generate::{GeneratedWeights, Rmat},
};
use outercore_storage::Disk;
use outercore_testing::{
    build_file, config, distance, external, external_as, generate, names, request, run, share,
    smallest, thorough, values,
};

/// An RMAT graph that has dozens of intervals; with an edge factor of 64, of several chunks each.
fn graph(folder: &Path, edge_factor: u64) -> Graph {
    let options = BuildOptions { memory: 256 << 20, threads: 2, ..BuildOptions::default() };
    graph_with(folder, edge_factor, options)
}

fn graph_with(folder: &Path, edge_factor: u64, options: BuildOptions) -> Graph {
    let scale = if edge_factor > 32 { 20 - u32::from(!thorough()) } else { 17 };
    let rmat = Rmat { edge_factor, ..Rmat::new(scale, 5) };
    let name = if options.directed == Some(false) { "undirected.oc" } else { "graph.oc" };
    let graph = generate(folder.join(name), rmat, options);
    assert!(graph.grid().unwrap().intervals.len() > 32);
    graph
}

/// For a graph that is undirected and simple.
fn undirected() -> BuildOptions {
    let options = BuildOptions { memory: 256 << 20, threads: 2, ..BuildOptions::default() };
    BuildOptions { directed: Some(false), simple: true, ..options }
}

fn semi() -> RunConfig {
    RunConfig { model: Some(MemoryModel::SemiExternal), ..config() }
}

fn sources() -> Vec<Source> {
    [3, 99, 1234].map(|number| Source::Key(Key::Number(number))).to_vec()
}

/// The intervals of a vertex array, as bytes that rounding to pages may add.
fn rounding(graph: &Graph) -> u64 {
    graph.grid().unwrap().intervals.len() as u64 * 4096
}

#[test]
fn passes_that_serve_two_iterations_read_less_and_give_the_same_bits() {
    let folder = tempfile::tempdir().unwrap();
    let graph = graph(folder.path(), if thorough() { 64 } else { 40 });
    let request = Request { iterations: Some(4), ..Request::default() };
    let ran = |config: &RunConfig| {
        let outcome = run(&graph, "pagerank", &request, config);
        (values(&outcome).swap_remove(0), outcome.report)
    };
    let (expected, _) = ran(&semi());
    let mut all = Vec::new();
    let ways = [CrossIteration::Off, CrossIteration::Fciu, CrossIteration::On];
    for cross_iteration in ways {
        for threads in [2, 3] {
            let config = RunConfig { cross_iteration, threads, sub_blocks: Off, ..external() };
            let (ranks, report) = ran(&config);
            let distance = distance(&ranks, &expected);
            assert!(distance < 1e-12, "{cross_iteration:?}: L1 distance {distance}");
            all.push((ranks, report.bytes_read));
        }
    }
    let ranks = all[0].0.clone();
    assert!(all.iter().all(|(other, _)| *other == ranks), "a way or a thread changes bits");
    let read: Vec<u64> = all.iter().map(|(_, read)| *read).collect();
    assert!(read.chunks(2).all(|pair| pair[0] == pair[1]), "threads change what is read: {read:?}");
    assert!(read[2] * 100 < read[0] * 95, "FCIU saves too little: {read:?}");
    assert!(read[4] * 100 < read[2] * 95, "alternating passes save too little: {read:?}");
    // With room for a quarter of the grid or so, chunks stay.
    let mut last = read[4];
    for memory in [if thorough() { 96 << 20 } else { 56 << 20 }, external().memory] {
        let (other, report) = ran(&RunConfig { memory, ..external() });
        assert!(other == ranks, "chunks that stay make other bits");
        let (hits, bytes) = (report.cache.sub_block_hits, report.bytes_read);
        assert!(hits > 0 && bytes < last, "{hits} hits, {bytes} bytes, {last} with less memory");
        last = bytes;
    }
    assert_eq!(names(folder.path()), ["graph.oc"], "scratch stayed behind");
}

/// Vertices may be inactive: where every pass reads the whole grid, one spares half of the next.
#[test]
fn passes_that_serve_two_iterations_of_frontiers_read_less_and_give_the_same_bits() {
    let folder = tempfile::tempdir().unwrap();
    let graph = graph_with(folder.path(), 40, undirected());
    let program = Some("program");
    for (name, method) in [("components", program), ("bfs", program), ("multi-source", None)] {
        let mut asked = request(name, &sources()[..1]);
        asked.method = method.map(str::to_owned);
        let ran = |read, cross_iteration, threads| {
            let config =
                RunConfig { cross_iteration, threads, read, sub_blocks: Off, ..external() };
            let outcome = run(&graph, name, &asked, &config);
            (values(&outcome), outcome.report.summary, outcome.report.bytes_read)
        };
        let (found, summary, read) = ran(ReadPolicy::Full, CrossIteration::Off, 2);
        for threads in [3, 1].into_iter().step_by(share(2)) {
            let crossed = ran(ReadPolicy::Full, CrossIteration::Fciu, threads);
            assert!((&crossed.0, &crossed.1) == (&found, &summary), "{name}: another answer");
            assert!(
                crossed.2 * 100 < read * 90,
                "{name} saves too little: {} of {read}",
                crossed.2
            );
        }
        let chosen = ran(ReadPolicy::Auto, CrossIteration::Graphsd, 2);
        assert!((chosen.0, chosen.1) == (found, summary), "{name}: another answer");
    }
}

/// Peeling has a phase for each level, in which vertices depart that no pass has seen.
#[test]
fn phases_begin_with_passes_that_serve_nothing_ahead() {
    let folder = tempfile::tempdir().unwrap();
    let graph = graph_with(folder.path(), 24, undirected());
    let mut asked = request("kcore", &[]);
    let peeled = run(&graph, "kcore", &asked, &semi());
    asked.method = Some("program".to_owned());
    let config = RunConfig { cross_iteration: CrossIteration::Fciu, ..external() };
    let crossed = run(&graph, "kcore", &asked, &config);
    assert!(values(&crossed) == values(&peeled));
}

/// Labels spread along edges of both directions: of a directed graph, on its undirected view.
#[test]
fn labels_of_a_directed_graph_spread_on_its_view() {
    let folder = tempfile::tempdir().unwrap();
    let graph = graph(folder.path(), 16);
    let mut asked = request("components", &[]);
    let joined = run(&graph, "components", &asked, &semi());
    asked.method = Some("program".to_owned());
    for config in [config(), semi(), external()] {
        let spread = run(&graph, "components", &asked, &config);
        assert!(values(&spread) == values(&joined));
        assert_eq!(spread.report.summary, joined.report.summary);
    }
}

#[test]
fn values_that_are_never_read_are_not_kept() {
    let folder = tempfile::tempdir().unwrap();
    let graph = graph(folder.path(), 16);
    let config = RunConfig { preset: Preset::Streaming, ..external() };
    let of = |tolerance| {
        let request = Request { iterations: Some(5), tolerance, ..Request::default() };
        run(&graph, "pagerank", &request, &config)
    };
    // A tolerance that is never reached has every iteration compared with the one before.
    let (forgetful, compared) = (of(None), of(Some(1e-300)));
    assert!(values(&forgetful) == values(&compared));
    let (forgetful, compared) = (forgetful.report, compared.report);
    assert_eq!(forgetful.summary.get("residual"), compared.summary.get("residual"));
    // The first ranks and those of three iterations.
    let ranks = graph.connected() * 8;
    let spared = 4 * ranks..4 * (ranks + rounding(&graph));
    let written = compared.bytes_written - forgetful.bytes_written;
    assert!(spared.contains(&written), "{written} of {ranks} each");
    let read = compared.bytes_read - forgetful.bytes_read;
    assert!(spared.contains(&read), "read again: {read} of {ranks} each");
}

#[test]
fn programs_with_frontiers_and_phases() {
    let folder = tempfile::tempdir().unwrap();
    let graph = graph(folder.path(), 24);
    for name in ["multi-source", "kcore", "spmv"] {
        let request = request(name, &sources());
        let inside = run(&graph, name, &request, &semi());
        // k-core peels with counts in memory, unless it is to behave like another system.
        let streaming = RunConfig { preset: Preset::Streaming, ..external() };
        let outside = run(&graph, name, &request, &streaming);
        assert_eq!(outside.report.memory_model, MemoryModel::FullyExternal);
        assert_eq!(inside.report.summary, outside.report.summary, "{name}");
        assert!(outside.report.bytes_written > 0, "{name} wrote nothing to scratch");
        assert!(values(&inside) == values(&outside), "{name}");
        if name == "kcore" {
            let peeled = run(&graph, name, &request, &external());
            assert!(values(&inside) == values(&peeled));
            let (once, often) = (peeled.report.bytes_read, outside.report.bytes_read);
            assert!(once * 2 < often, "each list is read once: {once} of {often} bytes");
        }
    }
}

/// Components of a graph with a hub that most are near to: first neighbors and few lists instead of
/// all edges.
#[test]
fn components_read_the_lists_of_outsiders_alone() {
    let folder = tempfile::tempdir().unwrap();
    let graph = graph(folder.path(), 24);
    for model in [MemoryModel::InMemory, MemoryModel::SemiExternal].map(Some) {
        let [auto, full, lists] =
            [ReadPolicy::Auto, ReadPolicy::Full, ReadPolicy::OnDemand].map(|read| {
                let config = RunConfig { read, model, ..config() };
                run(&graph, "components", &Request::default(), &config)
            });
        assert!(values(&auto) == values(&full) && values(&lists) == values(&full));
        assert_eq!(auto.report.per_iteration[0].read_mode, "on-demand");
        let (some, all) = (auto.report.bytes_read, full.report.bytes_read);
        assert!(some * 2 < all, "{some} of {all} bytes");
    }
}

fn modes(report: &RunReport, mode: &str) -> usize {
    report.per_iteration.iter().filter(|iteration| iteration.read_mode == mode).count()
}

/// The lists of few active vertices are read instead of the grid: fewer bytes, the same answers,
/// and the choice is the report's to tell.
#[test]
fn lists_of_few_active_vertices_instead_of_the_grid() {
    let folder = tempfile::tempdir().unwrap();
    let graph = graph(folder.path(), 24);
    let request = request("multi-source", &sources());
    let ran = |config| run(&graph, "multi-source", &request, &config);
    let [full, auto, on_demand] = [ReadPolicy::Full, ReadPolicy::Iteration, ReadPolicy::OnDemand]
        .map(|read| ran(RunConfig { read, ..external() }));
    let lists = RunConfig { read: ReadPolicy::OnDemand, ..external() };
    for other in [&auto, &on_demand, &ran(RunConfig { threads: 3, ..lists.clone() })] {
        assert!(values(other) == values(&full), "the way of reading changes bits");
    }
    assert_eq!(modes(&full.report, "on-demand"), 0);
    assert_eq!(modes(&on_demand.report, "full"), 0);
    assert!(modes(&auto.report, "on-demand") > 0, "lists are never read");
    let (chosen, all) = (auto.report.bytes_read, full.report.bytes_read);
    assert!(chosen < all, "{chosen} bytes with a choice, {all} without");
    for iteration in &auto.report.per_iteration {
        let costs = iteration.predicted.expect("a choice has reasons");
        let cheaper = costs.on_demand_seconds < costs.full_seconds;
        assert_eq!(iteration.read_mode == "on-demand", cheaper, "{costs:?}");
    }
    // A vertex that several searches reach in turn is active again and again.
    let without = ran(RunConfig { cross_iteration: CrossIteration::Off, ..lists.clone() });
    let kept = ran(RunConfig { cross_iteration: CrossIteration::Sciu, ..lists });
    assert!(values(&without) == values(&kept));
    let read = (on_demand.report.bytes_read, without.report.bytes_read);
    assert!(read.0 < read.1, "lists that stay save nothing: {read:?}");
    assert_eq!(on_demand.report.edges_processed, without.report.edges_processed);
}

/// GraphSD's own formula knows bytes alone: it takes lists as long as their bytes are few, whatever
/// a message costs a processor.
#[test]
fn the_papers_formula_chooses_by_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let graph = graph(folder.path(), 24);
    let request = request("multi-source", &sources());
    let [measured, paper] = [CostFormula::Measured, CostFormula::Paper]
        .map(|cost| run(&graph, "multi-source", &request, &RunConfig { cost, ..external() }));
    assert!(values(&measured) == values(&paper));
    for iteration in &paper.report.per_iteration {
        let costs = iteration.predicted.expect("a choice has reasons");
        let cheaper = costs.on_demand_seconds < costs.full_seconds;
        assert_eq!(iteration.read_mode == "on-demand", cheaper, "{costs:?}");
    }
    let read = [&measured, &paper].map(|outcome| outcome.report.bytes_read);
    let lists = [&measured, &paper].map(|outcome| modes(&outcome.report, "on-demand"));
    assert!(read[0] != read[1] && lists[0] > 0 && lists[1] > 0, "{read:?} bytes, {lists:?} lists");
}

/// Whole iterations reach a residual in less time than differences, down to their rounding.
#[test]
fn differences_are_for_what_rounding_would_hide() {
    let folder = tempfile::tempdir().unwrap();
    let graph = graph(folder.path(), 16);
    let request = |tolerance, method: Option<&str>| Request {
        tolerance: Some(tolerance),
        method: method.map(str::to_owned),
        ..Request::default()
    };
    let plan = |tolerance, method| {
        let algorithm = by_name("pagerank-delta", &request(tolerance, method)).unwrap();
        algorithm.plan(&graph, &config()).unwrap().method
    };
    assert!(plan(1e-6, None).starts_with("iterations"));
    assert!(plan(1e-8, None).starts_with("differences"));
    assert!(plan(1e-6, Some("differences")).starts_with("differences (as asked)"));
    let ran = |method| run(&graph, "pagerank-delta", &request(1e-6, method), &config());
    let (usual, asked) = (ran(None), ran(Some("differences")));
    for outcome in [&usual, &asked] {
        let residual = &outcome.report.summary["residual"];
        assert!(matches!(residual, Figure::Float(residual) if *residual < 1e-6), "{residual:?}");
    }
    assert!(distance(&values(&usual)[0], &values(&asked)[0]) < 1e-5);
    assert_eq!(usual.report.algorithm, "pagerank-delta");
}

/// Of the differences nearly all are passed on until the end: there lists hardly pay.
#[test]
fn lists_or_the_grid_for_differences() {
    let folder = tempfile::tempdir().unwrap();
    let graph = graph(folder.path(), 24);
    let request = Request { tolerance: Some(1e-9), ..Request::default() };
    let ran = |read, threads| {
        let config = RunConfig { read, threads, ..external() };
        let outcome = run(&graph, "pagerank-delta", &request, &config);
        (values(&outcome).swap_remove(0), outcome.report)
    };
    let (ranks, full) = ran(ReadPolicy::Full, 2);
    let (chosen, auto) = ran(ReadPolicy::Auto, 2);
    let (listed, on_demand) = ran(ReadPolicy::OnDemand, 2);
    assert!(listed == ran(ReadPolicy::OnDemand, 3).0, "other bits with more threads");
    for other in [&chosen, &listed] {
        let distance = distance(other, &ranks);
        assert!(distance < 1e-9, "L1 distance {distance}");
    }
    assert_eq!((modes(&full, "on-demand"), modes(&on_demand, "full")), (0, 0));
    for iteration in &auto.per_iteration {
        let costs = iteration.predicted.expect("a choice has reasons");
        // An iteration that the pass before has served in part is bound to the grid.
        let cheaper = costs.on_demand_seconds < costs.full_seconds;
        assert!(cheaper || iteration.read_mode != "on-demand", "{costs:?}");
    }
}

/// Windows of signals in which no vertex sends, and intervals that get none, cost nothing.
#[test]
fn small_frontiers_leave_windows_out() {
    let folder = tempfile::tempdir().unwrap();
    let rmat = Rmat { edge_factor: 8, ..Rmat::new(20, 5) };
    let graph = generate(folder.path().join("graph.oc"), rmat, undirected());
    // Signals of more than 64 searches have 16 bytes: a window of 6 MiB does not hold them all.
    let sources: Vec<Source> = (0..65).map(|_| Source::MaxDegree).collect();
    let request = request("multi-source", &sources);
    let inside = run(&graph, "multi-source", &request, &semi());
    let memory = smallest(&graph, "multi-source", &request, &external());
    let outside = run(&graph, "multi-source", &request, &RunConfig { memory, ..external() });
    assert_eq!(inside.report.summary, outside.report.summary);
    assert!(values(&inside) == values(&outside));
    let iterations = &outside.report.per_iteration;
    let most = iterations.iter().map(|iteration| iteration.bytes_read).max().unwrap();
    let few = iterations.last().unwrap().bytes_read;
    assert!(few * 2 < most, "of {most} bytes: {iterations:?}");
}

/// A graph of these edges.
fn graph_of(folder: &Path, edges: impl Iterator<Item = (u64, u64)>) -> Graph {
    let lines: String = edges.map(|(source, target)| format!("{source} {target}\n")).collect();
    let (input, path) = (folder.join("edges.txt"), folder.join("graph.oc"));
    std::fs::write(&input, lines).unwrap();
    build_file(&Disk::new(), &input, &path, &BuildOptions::default()).unwrap();
    Graph::open(&Disk::new(), &path).unwrap()
}

/// Intervals without a single edge, behind one that has them all: what they hand from one pass to
/// the next is not lost, wherever it is kept.
#[test]
fn a_star_has_intervals_without_edges() {
    const LEAVES: u64 = 300_000;
    let folder = tempfile::tempdir().unwrap();
    let star = graph_of(folder.path(), (1..=LEAVES).map(|leaf| (leaf, 0)));
    let request = request("pagerank", &[]);
    let inside = RunConfig { model: Some(MemoryModel::InMemory), ..config() };
    let expected = values(&run(&star, "pagerank", &request, &inside));
    let smallest = smallest(&star, "pagerank", &request, &external());
    for more in
        [0, LEAVES * 2, LEAVES * 4, LEAVES * 8 + (4 << 20), LEAVES * 16 + (8 << 20), 64 << 20]
    {
        for cross_iteration in [CrossIteration::Off, CrossIteration::Fciu, CrossIteration::On] {
            let memory = smallest + more;
            let config = RunConfig { memory, cross_iteration, ..external() };
            let ranks = values(&run(&star, "pagerank", &request, &config));
            let distance = distance(&ranks[0], &expected[0]);
            let what = format!("{cross_iteration:?} with {more} bytes more than the least");
            assert!(distance < 1e-12, "{what}: L1 distance {distance}");
        }
    }
}

/// The largest component is not where the largest hub is: it is found with labels on scratch.
#[test]
fn the_diameter_of_one_of_many_components() {
    let folder = tempfile::tempdir().unwrap();
    let star = (1..50).map(|leaf| (0, leaf));
    let pairs = (0..5000).map(|pair| (10_000 + 2 * pair, 10_001 + 2 * pair));
    let path = (100..400).map(|vertex| (vertex, vertex + 1));
    let graph = graph_of(folder.path(), star.chain(pairs).chain(path));
    let request = Request { exact: true, ..Request::default() };
    let inside = RunConfig { model: Some(MemoryModel::InMemory), ..config() };
    let inside = run(&graph, "diameter", &request, &inside);
    let memory = smallest(&graph, "diameter", &request, &external());
    let outside = run(&graph, "diameter", &request, &RunConfig { memory, ..external() });
    assert_eq!(outside.report.summary, inside.report.summary);
    assert_eq!(outside.report.summary["lower_bound"], Figure::Integer(300));
    assert!(outside.report.bytes_written > 0, "nothing was logged");
    assert!(values(&inside) == values(&outside));
}

/// Several windows of vertices, which send each other distances, and one with all vertices.
#[test]
fn shortest_paths_by_windows() {
    let folder = tempfile::tempdir().unwrap();
    let options = BuildOptions { memory: 256 << 20, threads: 2, ..BuildOptions::default() };
    let weights = GeneratedWeights::Uniform { low: 0, high: 1 << 20 };
    let rmat = Rmat { weights, edge_factor: 2, ..Rmat::new(21, 5) };
    let graph = generate(folder.path().join("graph.oc"), rmat, options);
    let request = request("sssp", &[Source::MaxDegree]);
    let inside = run(&graph, "sssp", &request, &semi());
    let least = smallest(&graph, "sssp", &request, &external());
    let written = [least, external().memory].map(|memory| {
        let outside = run(&graph, "sssp", &request, &RunConfig { memory, ..external() });
        assert_eq!(inside.report.summary, outside.report.summary, "{memory} bytes");
        assert!(values(&inside) == values(&outside), "{memory} bytes");
        outside.report.bytes_written
    });
    assert!(written[0] > 2 * written[1], "windows come and go: {written:?} bytes written");
}

#[test]
fn searches_and_components() {
    let folder = tempfile::tempdir().unwrap();
    let directed = graph(folder.path(), 24);
    // Labels that are streamed travel along outgoing edges: in an undirected graph those are all.
    let options = BuildOptions { directed: Some(false), ..BuildOptions::default() };
    let undirected = graph_with(folder.path(), 24, options);
    for (name, graph, times) in
        [("bfs", &directed, 4), ("components", &undirected, 4), ("components", &directed, 2)]
    {
        let request = request(name, &[Source::MaxDegree]);
        let inside = run(graph, name, &request, &semi());
        let expected = values(&inside);
        let mut read = Vec::new();
        for tight in [false, true] {
            // Plain streaming in the smallest budget takes longest.
            let some = if tight && !thorough() { 1 } else { 2 };
            for preset in [Preset::Best, Preset::Streaming].into_iter().take(some) {
                let ample = external_as(preset);
                let least = || smallest(graph, name, &request, &ample);
                let memory = if tight { least() } else { ample.memory };
                let config = RunConfig { memory, ..ample };
                let outcome = run(graph, name, &request, &config);
                let what = format!("{name} {preset:?} in {memory} bytes");
                assert_eq!(inside.report.summary, outcome.report.summary, "{what}");
                assert!(expected == values(&outcome), "{what}");
                read.push(outcome.report.bytes_read);
            }
        }
        let (best, streaming) = (read[0], read[1]);
        assert!(best * times < streaming, "{name} reads {best} bytes, plain streaming {streaming}");
    }
}

/// Lists are read for all sources at hand, and nothing but sums goes to scratch. So a run with
/// values on storage moves a fraction of what batches move in the same budget, and eight sources
/// read less than three times what one reads.
#[test]
fn betweenness_on_storage_reads_lists_for_all_sources_at_hand() {
    let folder = tempfile::tempdir().unwrap();
    let (memory, directed) = (128 << 20, Some(false));
    let options = BuildOptions { memory, threads: 2, directed, simple: true, ..Default::default() };
    let graph = generate(folder.path().join("graph.oc"), Rmat::new(16, 5), options);
    let asked = |count, method: &str| {
        let sources: Vec<Source> = (0..count).map(Source::Random).collect();
        Request { method: Some(method.to_owned()), ..request("betweenness", &sources) }
    };
    let with = |model, memory| RunConfig { model: Some(model), memory, ..config() };
    let (external, resident) = (MemoryModel::FullyExternal, MemoryModel::SemiExternal);
    let moved = |request: &Request, config: &RunConfig| {
        let outcome = run(&graph, "betweenness", request, config);
        (values(&outcome), outcome.report.bytes_read, outcome.report.bytes_written)
    };
    let least =
        |method, model| smallest(&graph, "betweenness", &asked(8, method), &with(model, 1 << 30));
    // Where both find what they need at the least.
    let both = least("batches", external).max(least("lists", external));
    let (_, read, written) = moved(&asked(8, "batches"), &with(external, both));
    let lists = asked(8, "lists");
    let (scores, lists_read, lists_written) = moved(&lists, &with(external, both));
    assert!(lists_read + lists_written < (read + written) / 5, "{lists_read} {lists_written}");
    // In the smallest budgets, from one source at a time.
    let [outside, inside] = [external, resident].map(|model| {
        let (found, read, written) = moved(&lists, &with(model, least("lists", model)));
        assert!(found == scores, "{model:?}");
        read + written
    });
    assert!(outside < 4 * inside, "{outside} {inside}");
    // What there is memory for decides how many are searched at once.
    let algorithm = by_name("betweenness", &lists).unwrap();
    let at_once = |memory: &u64| {
        let plan = algorithm.plan(&graph, &with(external, *memory)).unwrap();
        plan.method.contains(": 8 sources side by side") && plan.method.contains("on storage")
    };
    let mut budgets = (least("lists", external)..).step_by(1 << 16);
    let budget = budgets.find(at_once).unwrap();
    let reads = [1, 8].map(|count| moved(&asked(count, "lists"), &with(external, budget)).1);
    assert!(reads[1] < 3 * reads[0], "{reads:?}");
}
