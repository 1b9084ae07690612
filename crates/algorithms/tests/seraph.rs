//! What Seraph (FAST'24) adds, on and off: vertices computed early, lists beside the grid, memory
//! that holds a window of signals; and passes of semi-external runs that serve two iterations. The
//! answers are those of every other way.

use std::path::Path;

use outercore_algorithms::{Source, by_name};
use outercore_engine::{
    CrossIteration, MemoryModel, Outcome, Precompute, Preset, ReadPolicy, RunConfig, Silent,
    Technique,
};
use outercore_graph::{BuildOptions, Graph, Key, Layout, generate::Rmat};
use outercore_testing::{
    distance, external, external_as, furthest, generate, request, share, smallest, values,
};

const LAYOUTS: [Layout; 3] = [Layout::Grid, Layout::Row, Layout::Hybrid];

/// An undirected RMAT graph that has dozens of intervals.
fn graph(folder: &Path, layout: Layout) -> Graph {
    let options = BuildOptions {
        memory: 256 << 20,
        threads: 2,
        directed: Some(false),
        layout,
        ..BuildOptions::default()
    };
    let rmat = Rmat { edge_factor: 12, ..Rmat::new(17, 5) };
    let graph = generate(folder.join(layout.name()), rmat, options);
    assert!(graph.grid().unwrap().intervals.len() > 32);
    graph
}

fn config(preset: Preset, precompute: Option<Precompute>) -> RunConfig {
    RunConfig { precompute, ..external_as(preset) }
}

fn run(graph: &Graph, name: &str, config: &RunConfig) -> Outcome {
    let sources = match name {
        "bfs" => vec![Source::MaxDegree],
        _ => [3, 99, 1234].map(|number| Source::Key(Key::Number(number))).to_vec(),
    };
    outercore_testing::run(graph, name, &request(name, &sources), config)
}

#[test]
fn vertices_that_are_computed_early_save_iterations_and_edges_and_change_nothing() {
    let folder = tempfile::tempdir().unwrap();
    for layout in LAYOUTS {
        let graph = graph(folder.path(), layout);
        for name in ["bfs", "components", "kcore"] {
            let expected = run(&graph, name, &config(Preset::Best, None));
            let way = |precompute| {
                let outcome = run(&graph, name, &config(Preset::Seraph, Some(precompute)));
                let what = format!("{name}, {layout:?}, {precompute:?}");
                assert_eq!(outcome.report.memory_model, MemoryModel::FullyExternal);
                assert_eq!(outcome.report.summary, expected.report.summary, "{what}");
                assert!(values(&outcome) == values(&expected), "{what}");
                (outcome.report.iterations, outcome.report.edges_processed)
            };
            let [off, gap, on] = [Precompute::Off, Precompute::Gap, Precompute::On].map(way);
            let what = format!("{name}, {layout:?}: {off:?}, {gap:?}, {on:?}");
            assert!(on.0 < off.0, "{what}");
            // A search sends each vertex's level once, early or not; labels that come early are not
            // sent again. (A grid that is whole is read by passes, in which no vertex is computed
            // early.)
            if name == "components" && layout != Layout::Grid {
                assert!(gap.1 < off.1 && on.1 < off.1, "{what}");
            }
        }
    }
}

/// With all vertices in memory they are computed early where lists are read, whatever the number of
/// threads: the same vertices, so that as many edges are read in as many iterations.
#[test]
fn vertices_in_memory_are_computed_early_too() {
    let folder = tempfile::tempdir().unwrap();
    let graph = graph(folder.path(), Layout::Grid);
    for name in ["bfs", "components", "kcore"] {
        for model in [MemoryModel::SemiExternal, MemoryModel::InMemory] {
            let way = |precompute, threads| {
                let config = RunConfig {
                    model: Some(model),
                    read: ReadPolicy::OnDemand,
                    threads,
                    memory: 96 << 20,
                    ..config(Preset::Best, Some(precompute))
                };
                let mut asked = request(name, &[Source::MaxDegree]);
                asked.method = Some("program".to_owned());
                let outcome = outercore_testing::run(&graph, name, &asked, &config);
                assert_eq!(outcome.report.memory_model, model);
                let mut all = outcome.report.techniques.iter();
                let early = all.find(|it| it.name == Technique::Precompute).unwrap();
                assert_eq!(early.effect > 0, precompute != Precompute::Off, "{name}: {early:?}");
                let done = (outcome.report.iterations, outcome.report.edges_processed);
                (done, early.effect, values(&outcome))
            };
            let off = way(Precompute::Off, 2);
            for precompute in [Precompute::Gap, Precompute::On] {
                let [one, early] = [1, 3].map(|threads| way(precompute, threads));
                let what = format!("{name}, {model:?}, {precompute:?}: {:?}, {:?}", off.0, early.0);
                println!("{what}");
                assert!(early.2 == off.2, "{what}");
                assert_eq!((one.0, one.1), (early.0, early.1), "{what}");
                let all = precompute == Precompute::On;
                assert!(early.0.0 + u64::from(all) <= off.0.0, "{what}");
                // Labels that come early are not sent again.
                assert!(early.0.1 < off.0.1 || name != "components", "{what}");
            }
        }
    }
}

#[test]
fn what_adds_up_is_not_computed_early() {
    let folder = tempfile::tempdir().unwrap();
    let graph = graph(folder.path(), Layout::Grid);
    let way = |precompute| config(Preset::Best, Some(precompute));
    for name in ["pagerank", "pagerank-delta", "spmv", "triangles"] {
        let algorithm = by_name(name, &request(name, &[Source::MaxDegree])).unwrap();
        let result = algorithm.run(&graph, &way(Precompute::Gap), &Silent);
        let error = result.err().expect(name).to_string();
        assert!(error.contains("--precompute gap") && error.contains(name), "{name}: {error}");
        assert!(algorithm.plan(&graph, &way(Precompute::On)).is_err());
        algorithm.plan(&graph, &way(Precompute::Off)).unwrap();
    }
    // Scans compute nothing early.
    let model = Some(MemoryModel::SemiExternal);
    let scans = RunConfig { model, read: ReadPolicy::Full, ..way(Precompute::Gap) };
    let bfs = by_name("bfs", &request("bfs", &[Source::MaxDegree])).unwrap();
    assert!(bfs.plan(&graph, &scans).unwrap_err().to_string().contains("which read lists"));
}

#[test]
fn lists_beside_the_grid_pass_messages_through_logs() {
    let folder = tempfile::tempdir().unwrap();
    let graphs = LAYOUTS.map(|layout| graph(folder.path(), layout));
    for name in ["pagerank", "multi-source", "spmv"] {
        let [grid, row, hybrid] = graphs.each_ref().map(|graph| {
            // Where lists are beside the grid, or where there is one iteration, no pass serves two
            // anyway.
            let crosses = match name {
                "pagerank" => graph.layout() == Layout::Grid,
                name => name == "multi-source",
            };
            let off = if crosses { CrossIteration::Off } else { CrossIteration::On };
            run(graph, name, &RunConfig { cross_iteration: off, ..external() })
        });
        for other in [&row, &hybrid] {
            let distance = furthest(&values(other)[0], &values(&grid)[0]);
            assert!(distance < 1e-9, "{name}: {distance}");
        }
        // Every edge of a list is a message, perhaps to an interval that is not there; the grid's
        // are combined where they arrive. The messages of bits that hybrid leaves fit into memory.
        let written = [&grid, &hybrid, &row].map(|outcome| outcome.report.bytes_written);
        assert!(written[0] <= written[1] && written[1] < written[2], "{name}: {written:?}");
        assert!(written[0] < written[1] || name == "multi-source", "{name}: {written:?}");
    }
}

/// Lists are read in shares that do not depend on the workers, and what a share sends arrives
/// behind what those before it sent.
#[test]
fn passed_sums_are_the_same_to_the_bit_for_any_number_of_threads() {
    let folder = tempfile::tempdir().unwrap();
    for layout in [Layout::Row, Layout::Hybrid] {
        let graph = graph(folder.path(), layout);
        for name in ["pagerank", "spmv"] {
            let bits = |threads| {
                let outcome = run(&graph, name, &RunConfig { threads, ..external() });
                let mut all = outcome.report.techniques.iter();
                let passed = all.any(|it| it.name == Technique::VertexPassing && it.effect > 0);
                assert!(passed, "{name}, {layout:?}: nothing was passed");
                values(&outcome)
            };
            let one = bits(1);
            assert!([2, 3].into_iter().all(|threads| bits(threads) == one), "{name}, {layout:?}");
        }
    }
}

#[test]
fn a_window_of_signals_is_enough() {
    let folder = tempfile::tempdir().unwrap();
    let graph = graph(folder.path(), Layout::Grid);
    for (name, preset) in [
        // Vertices that are computed early are known to send before their window is left.
        ("kcore", Preset::Seraph),
        ("components", Preset::Seraph),
        ("pagerank", Preset::Graphsd),
        ("multi-source", Preset::Graphsd),
        ("spmv", Preset::Graphsd),
    ]
    .into_iter()
    .skip(share(2) - 1)
    {
        let config = config(preset, None);
        let mut request = request(name, &[Source::MaxDegree]);
        // Otherwise there is another way that needs less.
        request.method = (name == "components").then(|| "program".to_owned());
        let ran = |memory| {
            let config = RunConfig { memory, ..config.clone() };
            outercore_testing::run(&graph, name, &request, &config)
        };
        let memory = smallest(&graph, name, &request, &config);
        let (ample, tight) = (ran(config.memory), ran(memory));
        let distance = furthest(&values(&tight)[0], &values(&ample)[0]);
        assert!(distance < 1e-9, "{name}: {distance}");
        assert_eq!(tight.report.iterations, ample.report.iterations, "{name}");
        // Sums wait on scratch between the windows.
        let written = [&ample, &tight].map(|outcome| outcome.report.bytes_written);
        assert!(written[0] < written[1], "{name} in {memory} bytes had one window: {written:?}");
        let less = RunConfig { memory: memory - 1, ..config };
        assert!(by_name(name, &request).unwrap().run(&graph, &less, &Silent).is_err());
    }
}

#[test]
fn semi_external_passes_serve_two_iterations_where_little_of_the_grid_stays() {
    let folder = tempfile::tempdir().unwrap();
    let graph = graph(folder.path(), Layout::Grid);
    let ran = |cross_iteration| {
        let model = Some(MemoryModel::SemiExternal);
        let config = RunConfig { memory: 41 << 20, model, cross_iteration, ..external() };
        run(&graph, "pagerank", &config)
    };
    let (on, off) = (ran(CrossIteration::On), ran(CrossIteration::Off));
    let distance = distance(&values(&on)[0], &values(&off)[0]);
    assert!(distance < 1e-12, "{distance}");
    assert_eq!(on.report.memory_model, MemoryModel::SemiExternal);
    assert_eq!(on.report.bytes_written, 0, "nothing goes to scratch");
    let read = |outcome: &Outcome| {
        outcome.report.per_iteration[1..].iter().map(|iteration| iteration.bytes_read).sum::<u64>()
    };
    assert!(read(&on) < read(&off), "{} bytes of {}", read(&on), read(&off));
}
