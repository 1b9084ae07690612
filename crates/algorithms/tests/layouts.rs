//! Every algorithm on graphs in every layout, in every memory model: the answers are those of the
//! layout `grid`, or a refusal that says what to do.

use std::path::Path;

use outercore_algorithms::{NAMES, Request, Source, by_name};
use outercore_engine::{Figure, MemoryModel, Outcome, Preset, ReadPolicy, RunConfig};
use outercore_graph::{
    BuildOptions, Graph, Key, Layout,
    generate::{GeneratedWeights, Rmat},
};
use outercore_testing::{Value, acting, config, external_as, generate, values};

const LAYOUTS: [Layout; 3] = [Layout::Grid, Layout::Row, Layout::Hybrid];

/// The same graph in each layout: some 10,000 vertices with edges, cells in row format and cells in
/// grid format.
fn graphs(folder: &Path, directed: bool, weights: GeneratedWeights, transpose: bool) -> [Graph; 3] {
    LAYOUTS.map(|layout| {
        let options = BuildOptions {
            memory: 128 << 20,
            threads: 2,
            directed: Some(directed),
            transpose,
            layout,
            ..BuildOptions::default()
        };
        let path = folder.join(layout.name());
        let graph = generate(path, Rmat { edge_factor: 4, weights, ..Rmat::new(14, 5) }, options);
        let shares = graph.manifest().shares();
        assert_eq!(layout == Layout::Hybrid, shares.row_arcs > 0 && shares.grid_arcs > 0);
        graph
    })
}

fn ways() -> [RunConfig; 4] {
    let way = |model, read| RunConfig { model: Some(model), read, ..config() };
    [
        way(MemoryModel::InMemory, ReadPolicy::Full),
        way(MemoryModel::SemiExternal, ReadPolicy::Auto),
        way(MemoryModel::FullyExternal, ReadPolicy::Auto),
        external_as(Preset::Streaming),
    ]
}

fn request(name: &str) -> Request {
    let sources = match name {
        "bfs" | "sssp" => vec![Source::MaxDegree],
        _ => [1, 2, 3].map(|number| Source::Key(Key::Number(number))).to_vec(),
    };
    let delta = name == "pagerank-delta";
    let (tolerance, method) = (delta.then_some(1e-6), delta.then(|| "differences".to_owned()));
    Request { tolerance, method, ..outercore_testing::request(name, &sources) }
}

/// A run, less the switches that cannot act on such a graph.
fn run(graph: &Graph, name: &str, request: &Request, config: &RunConfig) -> Outcome {
    let algorithm = by_name(name, request).unwrap();
    let config = acting(algorithm.as_ref(), graph, config);
    outercore_testing::run(graph, name, request, &config)
}

/// Sums of floating-point numbers may be grouped otherwise where edges are read otherwise.
fn close(a: &Value, b: &Value) -> bool {
    match (a.number(), b.number()) {
        (Some(a), Some(b)) => a == b || (a - b).abs() <= 1e-4 * a.abs().max(b.abs()),
        (a, b) => a == b,
    }
}

/// The same columns.
fn assert_same(old: &Outcome, new: &Outcome, what: &str) {
    let (old, new) = (values(old).concat(), values(new).concat());
    let differs = old.iter().zip(&new).position(|(a, b)| !close(a, b));
    assert!(old.len() == new.len() && differs.is_none(), "{what}: entry {differs:?}");
}

/// The figures of a summary that are not sums.
fn whole(outcome: &Outcome) -> Vec<(&'static str, Figure)> {
    let all = outcome.report.summary.clone().into_iter();
    all.filter(|(_, figure)| matches!(figure, Figure::Integer(_) | Figure::Bool(_))).collect()
}

fn compare(graphs: &[Graph; 3], weighted: bool) {
    for name in NAMES.iter().filter(|name| weighted || **name != "sssp") {
        let request = request(name);
        let expected = run(&graphs[0], name, &request, &ways()[0]);
        for graph in graphs {
            for config in ways() {
                let (layout, model, read) = (graph.layout().name(), config.model, config.read);
                let what = format!("{name}, {layout}, {model:?}, {read:?}");
                let outcome = run(graph, name, &request, &config);
                assert_same(&expected, &outcome, &what);
                // How far bounds are narrowed, and when a sum stops to change, may depend on the
                // grouping of sums.
                assert!(*name == "pagerank-delta" || whole(&expected) == whole(&outcome), "{what}");
            }
        }
    }
}

#[test]
fn directed_graphs() {
    let folder = tempfile::tempdir().unwrap();
    compare(&graphs(folder.path(), true, GeneratedWeights::None, true), false);
}

#[test]
fn undirected_graphs_with_weights() {
    let folder = tempfile::tempdir().unwrap();
    compare(
        &graphs(folder.path(), false, GeneratedWeights::Uniform { low: 1, high: 100 }, true),
        true,
    );
}

/// Without the transpose no vertex can take what its neighbors send: it is passed on from the
/// lists.
#[test]
fn without_the_transpose() {
    let folder = tempfile::tempdir().unwrap();
    let graphs = graphs(folder.path(), true, GeneratedWeights::None, false);
    for name in ["pagerank", "pagerank-delta", "multi-source", "spmv"] {
        let [grid, row, hybrid] =
            graphs.each_ref().map(|graph| run(graph, name, &request(name), &ways()[2]));
        for other in [row, hybrid] {
            assert_same(&grid, &other, name);
        }
    }
}
