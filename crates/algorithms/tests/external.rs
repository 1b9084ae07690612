//! Fully-external runs on graphs of many stripes: the answers of a semi-external run, fewer bytes
//! with every technique, nothing left on scratch.

mod answers;

use outercore_algorithms::{Request, Source, by_name};
use outercore_engine::{
    Cell, CrossIteration, MemoryModel, Outcome, Preset, ReadPolicy, RunConfig, RunReport, Silent,
};
use outercore_graph::{BuildOptions, Graph, generate::Rmat};
use outercore_storage::{Disk, HugePages};

/// An RMAT graph that has dozens of stripes; with an edge factor of 64, of several chunks each.
fn graph(folder: &std::path::Path, edge_factor: u64) -> Graph {
    let options = BuildOptions { memory: 256 << 20, threads: 2, ..BuildOptions::default() };
    let path = folder.join("graph.oc");
    let source = Rmat { edge_factor, ..Rmat::new(if edge_factor > 32 { 20 } else { 17 }, 5) }
        .source()
        .unwrap();
    outercore_graph::build(&Disk::new(), &source, &path, &options, &outercore_graph::build::Silent)
        .unwrap();
    let graph = Graph::open(&Disk::new(), &path).unwrap();
    assert!(graph.grid().unwrap().intervals.len() > 32);
    graph
}

fn config(model: MemoryModel, threads: usize) -> RunConfig {
    RunConfig {
        memory: 192 << 20,
        threads,
        model: Some(model),
        huge_pages: HugePages::Off,
        ..RunConfig::default()
    }
}

fn run(graph: &Graph, name: &str, request: &Request, config: &RunConfig) -> Outcome {
    by_name(name, request).unwrap().run(graph, config, &Silent).unwrap()
}

fn values(outcome: &Outcome, column: usize) -> Vec<f64> {
    let mut values = Vec::new();
    let column = &outcome.columns[column];
    column
        .for_each(|vertex, cell| {
            assert_eq!(vertex as usize, values.len());
            values.push(match cell {
                Cell::Null => f64::NAN,
                Cell::Integer(value) => value as f64,
                Cell::Float(value) => value,
            });
        })
        .unwrap();
    let vertices: Vec<u64> = (0..values.len() as u64).rev().step_by(3).collect();
    let gathered = column.gather(&vertices).unwrap();
    assert!(vertices.iter().zip(gathered).all(|(&vertex, cell)| match cell {
        Cell::Null => values[vertex as usize].is_nan(),
        Cell::Integer(value) => values[vertex as usize] == value as f64,
        Cell::Float(value) => values[vertex as usize] == value,
    }));
    values
}

#[test]
fn passes_that_serve_two_iterations_read_less_and_give_the_same_bits() {
    let folder = tempfile::tempdir().unwrap();
    let graph = graph(folder.path(), 64);
    let request = Request { iterations: Some(4), ..Request::default() };
    let expected =
        values(&run(&graph, "pagerank", &request, &config(MemoryModel::SemiExternal, 2)), 0);
    let mut first: Option<Vec<f64>> = None;
    let mut read = Vec::new();
    for cross_iteration in [CrossIteration::Off, CrossIteration::Fciu, CrossIteration::On] {
        for threads in [2, 3] {
            let config = RunConfig {
                cross_iteration,
                sub_blocks: false,
                ..config(MemoryModel::FullyExternal, threads)
            };
            let outcome = run(&graph, "pagerank", &request, &config);
            let ranks = values(&outcome, 0);
            let distance: f64 = ranks.iter().zip(&expected).map(|(a, b)| (a - b).abs()).sum();
            assert!(distance < 1e-12, "{cross_iteration:?}: L1 distance {distance}");
            assert!(
                *first.get_or_insert_with(|| ranks.clone()) == ranks,
                "{cross_iteration:?}, {threads} threads: other bits"
            );
            read.push(outcome.report.bytes_read);
        }
    }
    assert!(
        read.chunks(2).all(|pair| pair[0] == pair[1]),
        "the number of threads changes what is read: {read:?}"
    );
    assert!(read[2] * 100 < read[0] * 95, "FCIU saves too little: {read:?}");
    assert!(read[4] * 100 < read[2] * 95, "alternating passes save too little: {read:?}");
    // With room for a quarter of the grid or so, chunks stay.
    let config = config(MemoryModel::FullyExternal, 2);
    let mut last = read[4];
    for memory in [96 << 20, config.memory] {
        let outcome = run(&graph, "pagerank", &request, &RunConfig { memory, ..config.clone() });
        assert!(Some(values(&outcome, 0)) == first, "chunks that stay make other bits");
        let (hits, bytes) = (outcome.report.cache.sub_block_hits, outcome.report.bytes_read);
        assert!(
            hits > 0 && bytes < last,
            "{hits} chunks were in memory, {bytes} bytes read, {last} with less memory"
        );
        last = bytes;
    }
    let left: Vec<_> =
        std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["graph.oc"], "scratch stayed behind");
}

#[test]
fn values_that_nobody_looks_at_are_not_kept() {
    let folder = tempfile::tempdir().unwrap();
    let graph = graph(folder.path(), 16);
    let config = RunConfig { preset: Preset::Streaming, ..config(MemoryModel::FullyExternal, 2) };
    let of = |tolerance| {
        run(
            &graph,
            "pagerank",
            &Request { iterations: Some(5), tolerance, ..Request::default() },
            &config,
        )
    };
    // A tolerance that is never reached has every iteration compared with the one before.
    let (forgetful, compared) = (of(None), of(Some(1e-300)));
    assert_eq!(values(&forgetful, 0), values(&compared, 0));
    assert_eq!(forgetful.report.summary.get("residual"), compared.report.summary.get("residual"));
    let (ranks, stripes) = (graph.connected() * 8, graph.grid().unwrap().intervals.len() as u64);
    let spared = compared.report.bytes_written - forgetful.report.bytes_written;
    assert!(
        (4 * ranks..4 * (ranks + stripes * 4096)).contains(&spared),
        "the first ranks and those of three iterations: {spared} of {ranks} each"
    );
    let spared = compared.report.bytes_read - forgetful.report.bytes_read;
    assert!(
        (4 * ranks..4 * (ranks + stripes * 4096)).contains(&spared),
        "read again: {spared} of {ranks} each"
    );
}

#[test]
fn programs_with_frontiers_and_phases() {
    let folder = tempfile::tempdir().unwrap();
    let graph = graph(folder.path(), 24);
    let sources =
        [3, 99, 1234].map(|number| Source::Key(outercore_graph::Key::Number(number))).to_vec();
    for (name, request) in [
        ("multi-source", Request { sources, ..Request::default() }),
        ("kcore", Request::default()),
        ("spmv", Request::default()),
    ] {
        let inside = run(&graph, name, &request, &config(MemoryModel::SemiExternal, 2));
        // k-core peels with counts in memory, unless it is to behave like another system.
        let outside = run(
            &graph,
            name,
            &request,
            &RunConfig { preset: Preset::Streaming, ..config(MemoryModel::FullyExternal, 2) },
        );
        assert_eq!(outside.report.memory_model, MemoryModel::FullyExternal);
        assert_eq!(inside.report.summary, outside.report.summary, "{name}");
        assert!(outside.report.bytes_written > 0, "{name} wrote nothing to scratch");
        (0..inside.columns.len()).for_each(|column| {
            assert!(values(&inside, column) == values(&outside, column), "{name}")
        });
        if name == "kcore" {
            let peeled = run(&graph, name, &request, &config(MemoryModel::FullyExternal, 2));
            assert!(values(&inside, 0) == values(&peeled, 0));
            assert!(
                peeled.report.bytes_read * 2 < outside.report.bytes_read,
                "each list is read once"
            );
        }
    }
}

/// Components of a graph with a hub that most are near to: first neighbors and few lists instead of
/// all edges.
#[test]
fn components_read_the_lists_of_outsiders_alone() {
    let folder = tempfile::tempdir().unwrap();
    let graph = graph(folder.path(), 24);
    let by = |read, model| {
        run(&graph, "components", &Request::default(), &RunConfig { read, ..config(model, 2) })
    };
    for model in [MemoryModel::InMemory, MemoryModel::SemiExternal] {
        let [auto, full, lists] =
            [ReadPolicy::Auto, ReadPolicy::Full, ReadPolicy::OnDemand].map(|read| by(read, model));
        assert!(values(&auto, 0) == values(&full, 0) && values(&lists, 0) == values(&full, 0));
        assert_eq!(auto.report.per_iteration[0].read_mode, "on-demand");
        assert!(
            auto.report.bytes_read * 2 < full.report.bytes_read,
            "{} of {} bytes",
            auto.report.bytes_read,
            full.report.bytes_read
        );
    }
}

/// The lists of few active vertices are read instead of the grid: fewer bytes, the same answers,
/// and the choice is the report's to tell.
#[test]
fn lists_of_few_active_vertices_instead_of_the_grid() {
    let folder = tempfile::tempdir().unwrap();
    let graph = graph(folder.path(), 24);
    let sources =
        [3, 99, 1234].map(|number| Source::Key(outercore_graph::Key::Number(number))).to_vec();
    let delta = Request { tolerance: Some(1e-9), ..Request::default() };
    // Of the differences nearly all are passed on until the end: there lists hardly pay.
    for (name, request, pays) in [
        ("multi-source", Request { sources, ..Request::default() }, true),
        ("pagerank-delta", delta, false),
    ] {
        let ran = |read, threads| {
            run(
                &graph,
                name,
                &request,
                &RunConfig { read, ..config(MemoryModel::FullyExternal, threads) },
            )
        };
        let outcomes =
            [ReadPolicy::Full, ReadPolicy::Auto, ReadPolicy::OnDemand].map(|read| ran(read, 2));
        assert!(
            values(&outcomes[2], 0) == values(&ran(ReadPolicy::OnDemand, 3), 0),
            "{name}: other bits with more threads"
        );
        for outcome in &outcomes {
            let distance: f64 = values(outcome, 0)
                .iter()
                .zip(values(&outcomes[0], 0))
                .map(|(a, b)| (a - b).abs())
                .sum();
            assert!(
                if pays { distance == 0.0 } else { distance < 1e-9 },
                "{name}: L1 distance {distance}"
            );
        }
        let [full, auto, on_demand] = outcomes.map(|outcome| outcome.report);
        let modes = |report: &RunReport, mode| {
            report.per_iteration.iter().filter(|iteration| iteration.read_mode == mode).count()
        };
        assert_eq!((modes(&full, "on-demand"), modes(&on_demand, "full")), (0, 0), "{name}");
        assert!(!pays || modes(&auto, "on-demand") > 0, "{name} never reads lists");
        assert!(
            !pays || auto.bytes_read < full.bytes_read,
            "{name} reads {} bytes with a choice, {} without",
            auto.bytes_read,
            full.bytes_read
        );
        if name == "multi-source" {
            // A vertex that several searches reach in turn is active again and again.
            let config = RunConfig {
                read: ReadPolicy::OnDemand,
                cross_iteration: CrossIteration::Off,
                ..config(MemoryModel::FullyExternal, 2)
            };
            let without = run(&graph, name, &request, &config);
            assert!(
                values(&without, 0)
                    == values(
                        &run(
                            &graph,
                            name,
                            &request,
                            &RunConfig { cross_iteration: CrossIteration::Sciu, ..config }
                        ),
                        0
                    )
            );
            let read = (on_demand.bytes_read, without.report.bytes_read);
            assert!(read.0 < read.1, "lists that stay save nothing: {read:?}");
            assert_eq!(on_demand.edges_processed, without.report.edges_processed);
        }
        for iteration in &auto.per_iteration {
            let costs = iteration.predicted.expect("a choice has reasons");
            let (listed, cheaper) =
                (iteration.read_mode == "on-demand", costs.on_demand_seconds < costs.full_seconds);
            // An iteration that the pass before has served in part is bound to the grid.
            assert!(listed == cheaper || (!pays && !listed), "{name}: {costs:?}");
        }
    }
}

/// Windows of signals in which nobody sends, and stripes to which nobody sent, cost nothing: a
/// frontier of one vertex reads a part of what a large one does, though nothing but the smallest
/// window of signals is in memory.
#[test]
fn small_frontiers_leave_windows_out() {
    let folder = tempfile::tempdir().unwrap();
    let graph = graph(folder.path(), 24);
    let request = Request { sources: vec![Source::MaxDegree], ..Request::default() };
    let inside = run(&graph, "multi-source", &request, &config(MemoryModel::SemiExternal, 2));
    let memory = smallest(&graph, "multi-source", &request);
    let outside = run(
        &graph,
        "multi-source",
        &request,
        &RunConfig { memory, ..config(MemoryModel::FullyExternal, 2) },
    );
    assert_eq!(inside.report.summary, outside.report.summary);
    assert!(
        values(&inside, 0)
            .iter()
            .zip(values(&outside, 0))
            .all(|(a, b)| *a == b || (a.is_nan() && b.is_nan()))
    );
    let iterations = &outside.report.per_iteration;
    let most = iterations.iter().map(|iteration| iteration.bytes_read).max().unwrap();
    assert!(
        iterations[0].bytes_read * 2 < most,
        "{} of {most} bytes for one vertex",
        iterations[0].bytes_read
    );
}

/// A graph of these edges.
fn graph_of(
    folder: &std::path::Path,
    name: &str,
    edges: impl Iterator<Item = (u64, u64)>,
) -> Graph {
    let input = folder.join(format!("{name}.txt"));
    std::fs::write(
        &input,
        edges.map(|(source, target)| format!("{source} {target}\n")).collect::<String>(),
    )
    .unwrap();
    let path = folder.join(format!("{name}.oc"));
    answers::building::build(&Disk::new(), &input, &path, &BuildOptions::default()).unwrap();
    Graph::open(&Disk::new(), &path).unwrap()
}

/// Stripes without a single edge, behind one that has them all: what they hand from one pass to the
/// next is not lost, wherever it is kept.
#[test]
fn a_star_has_stripes_without_edges() {
    const LEAVES: u64 = 300_000;
    let folder = tempfile::tempdir().unwrap();
    let star = graph_of(folder.path(), "star", (1..=LEAVES).map(|leaf| (leaf, 0)));
    let request = Request { iterations: Some(5), ..Request::default() };
    let expected = values(&run(&star, "pagerank", &request, &config(MemoryModel::InMemory, 2)), 0);
    let smallest = smallest(&star, "pagerank", &request);
    for more in
        [0, LEAVES * 2, LEAVES * 4, LEAVES * 8 + (4 << 20), LEAVES * 16 + (8 << 20), 64 << 20]
    {
        for cross_iteration in [CrossIteration::Off, CrossIteration::Fciu, CrossIteration::On] {
            let config = RunConfig {
                memory: smallest + more,
                cross_iteration,
                ..config(MemoryModel::FullyExternal, 2)
            };
            let ranks = values(&run(&star, "pagerank", &request, &config), 0);
            let distance: f64 = ranks.iter().zip(&expected).map(|(a, b)| (a - b).abs()).sum();
            assert!(
                distance < 1e-12,
                "{cross_iteration:?} with {more} bytes more than the least: L1 distance {distance}"
            );
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
    let graph = graph_of(folder.path(), "many", star.chain(pairs).chain(path));
    let request = Request { exact: true, ..Request::default() };
    let inside = run(&graph, "diameter", &request, &config(MemoryModel::InMemory, 2));
    let memory = smallest(&graph, "diameter", &request);
    let outside = run(
        &graph,
        "diameter",
        &request,
        &RunConfig { memory, ..config(MemoryModel::FullyExternal, 2) },
    );
    assert_eq!(outside.report.summary, inside.report.summary);
    assert_eq!(outside.report.summary["lower_bound"], outercore_engine::Figure::Integer(300));
    assert!(outside.report.bytes_written > 0, "nothing was logged");
    (0..2).for_each(|column| {
        let pairs = values(&inside, column).into_iter().zip(values(&outside, column));
        assert!(pairs.into_iter().all(|(a, b)| a == b || (a.is_nan() && b.is_nan())));
    });
}

#[test]
fn searches_and_components() {
    let folder = tempfile::tempdir().unwrap();
    let graph = graph(folder.path(), 24);
    for (name, request) in [
        ("bfs", Request { source: Some(Source::MaxDegree), ..Request::default() }),
        ("components", Request::default()),
    ] {
        let inside = run(&graph, name, &request, &config(MemoryModel::SemiExternal, 2));
        let outside = config(MemoryModel::FullyExternal, 2);
        let mut read = Vec::new();
        for memory in [outside.memory, smallest(&graph, name, &request)] {
            for preset in [Preset::Best, Preset::Streaming] {
                let outcome = run(
                    &graph,
                    name,
                    &request,
                    &RunConfig { memory, ..outside.clone() }.with_preset(preset),
                );
                assert_eq!(
                    inside.report.summary, outcome.report.summary,
                    "{name} {preset:?} in {memory} bytes"
                );
                (0..inside.columns.len()).for_each(|column| {
                    let differs = || {
                        values(&inside, column)
                            .iter()
                            .zip(values(&outcome, column))
                            .position(|(a, b)| *a != b && !(a.is_nan() && b.is_nan()))
                    };
                    assert_eq!(differs(), None, "{name} {preset:?}, column {column}");
                });
                read.push(outcome.report.bytes_read);
            }
        }
        assert!(
            read[0] * 4 < read[1],
            "{name} reads {} bytes, plain streaming {}",
            read[0],
            read[1]
        );
    }
}

/// The smallest budget that works.
fn smallest(graph: &Graph, name: &str, request: &Request) -> u64 {
    let config = config(MemoryModel::FullyExternal, 2);
    by_name(name, request).unwrap().plan(graph, &config).unwrap().smallest_budget_bytes
}
