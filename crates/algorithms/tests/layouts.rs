//! Every algorithm on graphs in every layout, in every memory model: the answers are those of the
//! layout `grid`, or a refusal that says what to do.

use std::path::Path;

use outercore_algorithms::{NAMES, Request, Source, by_name};
use outercore_engine::{Cell, Figure, MemoryModel, Outcome, Preset, ReadPolicy, RunConfig, Silent};
use outercore_graph::{
    BuildOptions, Graph, Key, Layout,
    generate::{GeneratedWeights, Rmat},
};
use outercore_storage::{Disk, HugePages};

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
        let path = folder.join(format!("{}-{directed}-{transpose}.oc", layout.name()));
        let source = Rmat { edge_factor: 4, weights, ..Rmat::new(14, 5) }.source().unwrap();
        outercore_graph::build(&Disk::new(), &source, &path, &options, &outercore_graph::Silent)
            .unwrap();
        let graph = Graph::open(&Disk::new(), &path).unwrap();
        let shares = graph.manifest().shares();
        assert_eq!(layout == Layout::Hybrid, shares.row_arcs > 0 && shares.grid_arcs > 0);
        graph
    })
}

fn ways() -> Vec<RunConfig> {
    let way = |model, read| RunConfig {
        memory: 256 << 20,
        threads: 2,
        model: Some(model),
        read,
        huge_pages: HugePages::Off,
        ..RunConfig::default()
    };
    vec![
        way(MemoryModel::InMemory, ReadPolicy::Full),
        way(MemoryModel::SemiExternal, ReadPolicy::Auto),
        way(MemoryModel::FullyExternal, ReadPolicy::Auto),
        way(MemoryModel::FullyExternal, ReadPolicy::Full).with_preset(Preset::Streaming),
    ]
}

fn request(name: &str, weighted: bool) -> Option<Request> {
    let sources = || [1, 2, 3].map(|number| Source::Key(Key::Number(number))).to_vec();
    Some(match name {
        "sssp" if !weighted => return None,
        "bfs" | "sssp" => Request { source: Some(Source::MaxDegree), ..Request::default() },
        "betweenness" | "multi-source" => Request { sources: sources(), ..Request::default() },
        "pagerank" => Request { iterations: Some(5), ..Request::default() },
        "pagerank-delta" => Request { tolerance: Some(1e-6), ..Request::default() },
        _ => Request::default(),
    })
}

/// Every cell of every column: whole numbers and floating-point ones.
fn values(outcome: &Outcome) -> Vec<Option<f64>> {
    let mut values = Vec::new();
    for column in &outcome.columns {
        column
            .for_each(|_, cell| {
                values.push(match cell {
                    Cell::Null => None,
                    Cell::Integer(value) => Some(value as f64),
                    Cell::Float(value) => Some(value),
                });
            })
            .unwrap();
    }
    values
}

/// Sums of floating-point numbers may be grouped otherwise where edges are read otherwise.
fn close(a: Option<f64>, b: Option<f64>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => a == b || (a - b).abs() <= 1e-4 * a.abs().max(b.abs()),
        _ => a == b,
    }
}

fn compare(graphs: &[Graph; 3], weighted: bool) {
    for name in NAMES {
        let Some(request) = request(name, weighted) else { continue };
        let mut expected: Option<Outcome> = None;
        for (graph, config) in
            graphs.iter().flat_map(|graph| ways().into_iter().map(move |config| (graph, config)))
        {
            let what =
                format!("{name}, {}, {:?}, {:?}", graph.layout().name(), config.model, config.read);
            let outcome = by_name(name, &request)
                .unwrap()
                .run(graph, &config, &Silent)
                .unwrap_or_else(|error| panic!("{what}: {error}"));
            let Some(expected) = &expected else {
                expected = Some(outcome);
                continue;
            };
            let (old, new) = (values(expected), values(&outcome));
            let differs = old.iter().zip(&new).position(|(&a, &b)| !close(a, b));
            assert!(old.len() == new.len() && differs.is_none(), "{what}: entry {differs:?}");
            let integers = |outcome: &Outcome| {
                let all = outcome.report.summary.clone().into_iter();
                all.filter(|(_, figure)| matches!(figure, Figure::Integer(_) | Figure::Bool(_)))
                    .collect::<Vec<_>>()
            };
            // How far bounds are narrowed, and when a sum stops to change, may depend on the
            // grouping of sums.
            assert!(
                *name == "pagerank-delta" || integers(expected) == integers(&outcome),
                "{what}"
            );
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

/// Without the transpose nobody can take what neighbors send: it is passed on from the lists.
#[test]
fn without_the_transpose() {
    let folder = tempfile::tempdir().unwrap();
    let graphs = graphs(folder.path(), true, GeneratedWeights::None, false);
    for name in ["pagerank", "pagerank-delta", "multi-source", "spmv"] {
        let algorithm = by_name(name, &request(name, false).unwrap()).unwrap();
        let [grid, row, hybrid] = graphs
            .each_ref()
            .map(|graph| values(&algorithm.run(graph, &ways()[2], &Silent).unwrap()));
        for other in [row, hybrid] {
            assert!(
                grid.len() == other.len() && grid.iter().zip(&other).all(|(&a, &b)| close(a, b)),
                "{name}"
            );
        }
    }
}
