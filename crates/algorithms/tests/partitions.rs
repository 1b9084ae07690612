//! Answers do not depend on how the grid is cut: by edges or by vertices, in each layout with
//! tiles, in each memory model, on a graph that was built in several buckets.

use std::path::Path;

use outercore_algorithms::{Request, Source};
use outercore_engine::{MemoryModel, Outcome, ReadPolicy, RunConfig};
use outercore_graph::{
    BuildOptions, Graph, GridPartition, Layout, Order,
    generate::{GeneratedWeights, Rmat},
};
use outercore_testing::{Value, config, generate, run, values};

const PROGRAMS: [(&str, Option<&str>); 6] = [
    ("pagerank", None),
    ("pagerank-delta", Some("differences")),
    ("components", Some("program")),
    ("bfs", None),
    ("sssp", Some("program")),
    ("spmv", None),
];

/// Ids that are not permuted: the first ones have most of the edges. So many threads in so little
/// memory sort in several buckets.
fn graph(folder: &Path, partition: GridPartition, layout: Layout) -> Graph {
    let weights = GeneratedWeights::Uniform { low: 1, high: 100 };
    let rmat = Rmat { permute: false, weights, ..Rmat::new(15, 3) };
    let options = BuildOptions {
        memory: 80 << 20,
        threads: 16,
        directed: Some(false),
        order: Order::Original,
        partition,
        layout,
        ..BuildOptions::default()
    };
    generate(folder.join(format!("{}-{}", partition.name(), layout.name())), rmat, options)
}

fn request(name: &str, method: Option<&str>) -> Request {
    let sources = match name {
        "bfs" | "sssp" => vec![Source::MaxDegree],
        _ => Vec::new(),
    };
    let tolerance = (name == "pagerank-delta").then_some(1e-6);
    let method = method.map(str::to_owned);
    Request { tolerance, method, ..outercore_testing::request(name, &sources) }
}

/// Sums of floating-point numbers may be grouped otherwise where edges are cut otherwise.
fn close(a: &Value, b: &Value) -> bool {
    match (a.number(), b.number()) {
        (Some(a), Some(b)) => a == b || (a - b).abs() <= 1e-4 * a.abs().max(b.abs()),
        (a, b) => a == b,
    }
}

fn column(outcome: &Outcome) -> Vec<Value> {
    values(outcome).concat()
}

#[test]
fn both_partitions_have_the_same_answers() {
    let folder = tempfile::tempdir().unwrap();
    let (balanced, uniform) = (GridPartition::Balanced, GridPartition::Uniform);
    let cut = [(uniform, Layout::Grid), (balanced, Layout::Hybrid), (uniform, Layout::Hybrid)];
    let graphs = cut.map(|(partition, layout)| graph(folder.path(), partition, layout));
    let first = graph(folder.path(), balanced, Layout::Grid);
    let in_memory = RunConfig { model: Some(MemoryModel::InMemory), ..config() };
    for (name, method) in PROGRAMS {
        let request = request(name, method);
        let expected = column(&run(&first, name, &request, &in_memory));
        for (graph, cut) in graphs.iter().zip(cut) {
            for model in
                [MemoryModel::InMemory, MemoryModel::SemiExternal, MemoryModel::FullyExternal]
            {
                let read = ReadPolicy::Auto;
                let config = RunConfig { model: Some(model), read, threads: 4, ..config() };
                let outcome = run(graph, name, &request, &config);
                let found = column(&outcome);
                let differs = expected.iter().zip(&found).position(|(a, b)| !close(a, b));
                assert!(
                    found.len() == expected.len() && differs.is_none(),
                    "{name}, {cut:?}, {model:?}: entry {differs:?}"
                );
                let report = outcome.report;
                let edges = &report.io.worker_edges;
                assert_eq!(edges.len(), 4);
                assert_eq!(edges.iter().sum::<u64>(), report.edges_processed, "{name}");
            }
        }
    }
}
