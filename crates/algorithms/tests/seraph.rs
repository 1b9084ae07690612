//! What Seraph (FAST'24) adds, on and off: vertices computed early, lists beside the grid, memory
//! that holds a window of signals; and passes of semi-external runs that serve two iterations. The
//! answers are those of every other way.

use outercore_algorithms::{Request, Source, by_name};
use outercore_engine::{
    Cell, CrossIteration, MemoryModel, Outcome, Precompute, Preset, RunConfig, Silent,
};
use outercore_graph::{BuildOptions, Graph, Key, Layout, generate::Rmat};
use outercore_storage::{Disk, HugePages};

/// An undirected RMAT graph that has dozens of stripes.
fn graph(folder: &std::path::Path, layout: Layout) -> Graph {
    let options = BuildOptions {
        memory: 256 << 20,
        threads: 2,
        directed: Some(false),
        layout,
        ..BuildOptions::default()
    };
    let path = folder.join(layout.name());
    let source = Rmat { edge_factor: 12, ..Rmat::new(17, 5) }.source().unwrap();
    outercore_graph::build(&Disk::new(), &source, &path, &options, &outercore_graph::Silent)
        .unwrap();
    let graph = Graph::open(&Disk::new(), &path).unwrap();
    assert!(graph.grid().unwrap().intervals.len() > 32);
    graph
}

fn config(preset: Preset, precompute: Option<Precompute>) -> RunConfig {
    let config = RunConfig {
        memory: 192 << 20,
        threads: 2,
        model: Some(MemoryModel::FullyExternal),
        huge_pages: HugePages::Off,
        precompute,
        ..RunConfig::default()
    };
    config.with_preset(preset)
}

fn run(graph: &Graph, name: &str, config: &RunConfig) -> Outcome {
    let sources = || [3, 99, 1234].map(|number| Source::Key(Key::Number(number))).to_vec();
    let request = match name {
        "bfs" => Request { source: Some(Source::MaxDegree), ..Request::default() },
        "multi-source" => Request { sources: sources(), ..Request::default() },
        "pagerank" => Request { iterations: Some(4), ..Request::default() },
        _ => Request::default(),
    };
    by_name(name, &request).unwrap().run(graph, config, &Silent).unwrap()
}

fn values(outcome: &Outcome) -> Vec<Vec<f64>> {
    let number = |cell| match cell {
        Cell::Null => -1.0,
        Cell::Integer(value) => value as f64,
        Cell::Float(value) => value,
    };
    let column = |column: &outercore_engine::Column| {
        let mut values = Vec::new();
        column.for_each(|_, cell| values.push(number(cell))).unwrap();
        values
    };
    outcome.columns.iter().map(column).collect()
}

#[test]
fn vertices_that_are_computed_early_save_iterations_and_edges_and_change_nothing() {
    let folder = tempfile::tempdir().unwrap();
    for layout in [Layout::Grid, Layout::Row, Layout::Hybrid] {
        let graph = graph(folder.path(), layout);
        for name in ["bfs", "components"] {
            let expected = run(&graph, name, &config(Preset::Best, None));
            let [off, gap, on] =
                [Precompute::Off, Precompute::Gap, Precompute::On].map(|precompute| {
                    let outcome = run(&graph, name, &config(Preset::Seraph, Some(precompute)));
                    assert_eq!(outcome.report.memory_model, MemoryModel::FullyExternal);
                    assert_eq!(
                        outcome.report.summary, expected.report.summary,
                        "{name}, {layout:?}, {precompute:?}"
                    );
                    assert!(
                        values(&outcome) == values(&expected),
                        "{name}, {layout:?}, {precompute:?}"
                    );
                    outcome.report
                });
            let what = format!(
                "{name}, {layout:?}: {:?}",
                [&off, &gap, &on].map(|report| (report.iterations, report.edges_processed))
            );
            assert!(on.iterations < off.iterations, "{what}");
            // A search sends each vertex's level once, early or not; labels that come early are not
            // sent again. (A grid that is whole is read by passes where nobody is computed early.)
            if name == "components" && layout != Layout::Grid {
                assert!(
                    gap.edges_processed < off.edges_processed
                        && on.edges_processed < off.edges_processed,
                    "{what}"
                );
            }
            // Asked for by itself, it asks for such a run too.
            let asked = run(
                &graph,
                name,
                &RunConfig { model: None, ..config(Preset::Best, Some(Precompute::On)) },
            );
            assert_eq!(
                (asked.report.memory_model, asked.report.summary),
                (MemoryModel::FullyExternal, expected.report.summary)
            );
        }
    }
}

#[test]
fn what_adds_up_is_not_computed_early() {
    let folder = tempfile::tempdir().unwrap();
    let graph = graph(folder.path(), Layout::Grid);
    for name in ["pagerank", "pagerank-delta", "kcore", "spmv", "triangles"] {
        let algorithm = by_name(name, &Request::default()).unwrap();
        let error = algorithm
            .run(&graph, &config(Preset::Best, Some(Precompute::Gap)), &Silent)
            .err()
            .expect(name)
            .to_string();
        assert!(error.contains("--precompute gap") && error.contains(name), "{name}: {error}");
        assert!(algorithm.plan(&graph, &config(Preset::Best, Some(Precompute::On))).is_err());
        algorithm.plan(&graph, &config(Preset::Best, Some(Precompute::Off))).unwrap();
    }
    let semi = RunConfig {
        model: Some(MemoryModel::SemiExternal),
        ..config(Preset::Best, Some(Precompute::Gap))
    };
    let bfs =
        by_name("bfs", &Request { source: Some(Source::MaxDegree), ..Request::default() }).unwrap();
    assert!(bfs.plan(&graph, &semi).unwrap_err().to_string().contains("fully-external"));
}

#[test]
fn lists_beside_the_grid_pass_messages_through_logs() {
    let folder = tempfile::tempdir().unwrap();
    let graphs =
        [Layout::Grid, Layout::Row, Layout::Hybrid].map(|layout| graph(folder.path(), layout));
    for name in ["pagerank", "multi-source", "spmv"] {
        let [grid, row, hybrid] = graphs.each_ref().map(|graph| {
            let config =
                RunConfig { cross_iteration: CrossIteration::Off, ..config(Preset::Best, None) };
            run(graph, name, &config)
        });
        for other in [&row, &hybrid] {
            let distance = values(other)[0]
                .iter()
                .zip(&values(&grid)[0])
                .map(|(a, b)| (a - b).abs() / b.abs().max(1.0))
                .fold(0.0, f64::max);
            assert!(distance < 1e-9, "{name}: {distance}");
        }
        // Every edge of a list is a message to a stripe that is not there; the grid's are combined
        // where they arrive.
        let written = [&grid, &hybrid, &row].map(|outcome| outcome.report.bytes_written);
        assert!(written[0] < written[1] && written[1] < written[2], "{name}: {written:?}");
    }
}

#[test]
fn a_window_of_signals_is_enough() {
    let folder = tempfile::tempdir().unwrap();
    let graph = graph(folder.path(), Layout::Grid);
    for (name, preset) in [
        ("pagerank", Preset::Best),
        ("multi-source", Preset::Best),
        ("spmv", Preset::Best),
        ("kcore", Preset::Streaming),
    ] {
        let config = config(preset, None);
        let ample = run(&graph, name, &config);
        let request = Request { sources: vec![Source::MaxDegree], ..Request::default() };
        let algorithm =
            by_name(name, &if name == "multi-source" { request } else { Request::default() })
                .unwrap();
        let memory = algorithm.plan(&graph, &config).unwrap().smallest_budget_bytes;
        let tight = run(&graph, name, &RunConfig { memory, ..config.clone() });
        let distance = values(&tight)[0]
            .iter()
            .zip(&values(&ample)[0])
            .map(|(a, b)| (a - b).abs() / b.abs().max(1.0))
            .fold(0.0, f64::max);
        assert!(distance < 1e-9, "{name}: {distance}");
        assert_eq!(tight.report.iterations, ample.report.iterations, "{name}");
        // Sums wait on scratch between the windows.
        assert!(
            tight.report.bytes_written > ample.report.bytes_written,
            "{name} in {memory} bytes had one window"
        );
        assert!(
            algorithm.run(&graph, &RunConfig { memory: memory - 1, ..config }, &Silent).is_err()
        );
    }
}

#[test]
fn semi_external_passes_serve_two_iterations_where_little_of_the_grid_stays() {
    let folder = tempfile::tempdir().unwrap();
    let graph = graph(folder.path(), Layout::Grid);
    let config = RunConfig {
        memory: 41 << 20,
        model: Some(MemoryModel::SemiExternal),
        ..config(Preset::Best, None)
    };
    let [on, off] = [CrossIteration::On, CrossIteration::Off].map(|cross_iteration| {
        run(&graph, "pagerank", &RunConfig { cross_iteration, ..config.clone() })
    });
    let distance: f64 =
        values(&on)[0].iter().zip(&values(&off)[0]).map(|(a, b)| (a - b).abs()).sum();
    assert!(distance < 1e-12, "{distance}");
    assert_eq!(on.report.memory_model, MemoryModel::SemiExternal);
    assert_eq!(on.report.bytes_written, 0, "nothing goes to scratch");
    let read = [&on, &off].map(|outcome| {
        outcome.report.per_iteration[1..].iter().map(|iteration| iteration.bytes_read).sum::<u64>()
    });
    assert!(read[0] < read[1], "{read:?}");
}
