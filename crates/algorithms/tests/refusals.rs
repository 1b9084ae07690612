//! What the refusal of a budget names is enough at once, and the plan says the same: where lists
//! are demanded of fully-external runs, and where the queues of visitors grow with the budget.

use outercore_algorithms::{Algorithm, Request, Source, by_name};
use outercore_engine::{
    MemoryModel, Preset, ReadPolicy, Resources, RunConfig, RunSettings, SearchDirection, Silent,
};
use outercore_graph::generate::{GeneratedWeights, Rmat};
use outercore_graph::{BuildOptions, Graph, GraphError};
use outercore_testing::{generate, request, smallest};
use outercore_visit::Executor;

/// Threads that runs are tried with.
const THREADS: [usize; 3] = [1, 2, 7];

/// A graph of this scale, with weights if it is directed.
fn graph(folder: &tempfile::TempDir, scale: u32, directed: bool) -> Graph {
    let options = BuildOptions {
        memory: 256 << 20,
        threads: 2,
        directed: Some(directed),
        ..BuildOptions::default()
    };
    let weights = if directed {
        GeneratedWeights::Uniform { low: 0, high: 1 << 20 }
    } else {
        GeneratedWeights::None
    };
    generate(folder.path().join("graph.oc"), Rmat { weights, ..Rmat::new(scale, 5) }, options)
}

/// An algorithm with a method, if one is given.
fn algorithm(name: &str, method: Option<&str>, more: Request) -> Box<dyn Algorithm> {
    let sources = request(name, &[Source::MaxDegree]);
    let method = method.map(str::to_owned);
    let (source, sources) = (sources.source, sources.sources);
    by_name(name, &Request { source, sources, method, ..more }).unwrap()
}

/// Asks with far too little, and then runs with what the refusal names.
fn named_is_enough(graph: &Graph, algorithm: &dyn Algorithm, config: &RunConfig) {
    let what = format!("{} as {:?}, {} threads", algorithm.name(), config.model, config.threads);
    let asked = RunConfig { memory: 1 << 20, ..config.clone() };
    let needed = match algorithm.run(graph, &asked, &Silent) {
        Err(GraphError::Memory { needed, .. }) => needed,
        other => panic!("{what}: 1 MiB is enough? {:?}", other.map(|_| ())),
    };
    for memory in [needed, 1 << 30] {
        let plan = algorithm.plan(graph, &RunConfig { memory, ..config.clone() });
        let plan = plan.unwrap_or_else(|error| panic!("{what}, {memory} bytes: {error}"));
        assert_eq!(plan.smallest_budget_bytes, needed, "{what}, planned with {memory} bytes");
    }
    let enough = RunConfig { memory: needed, ..config.clone() };
    let run = algorithm.run(graph, &enough, &Silent);
    run.unwrap_or_else(|error| panic!("{what}, {needed} bytes: {error}"));
    let less = RunConfig { memory: needed - 1, ..config.clone() };
    let refused = matches!(algorithm.plan(graph, &less), Err(GraphError::Memory { .. }));
    assert!(refused, "{what}: less than {needed} bytes are enough");
}

/// Lists that are demanded are part of the least.
#[test]
fn lists_on_demand() {
    let folder = tempfile::tempdir().unwrap();
    let graph = graph(&folder, 14, false);
    let model = Some(MemoryModel::FullyExternal);
    for (name, method) in [
        ("bfs", Some("program")),
        ("components", Some("program")),
        ("multi-source", None),
        ("pagerank-delta", Some("differences")),
    ] {
        let algorithm = algorithm(name, method, Request::default());
        for threads in THREADS {
            let config = RunConfig { threads, model, ..RunConfig::default() };
            let demands = RunConfig { read: ReadPolicy::OnDemand, ..config.clone() };
            named_is_enough(&graph, &*algorithm, &demands);
            named_is_enough(&graph, &*algorithm, &config);
            let plan = |config: &RunConfig| {
                let ample = RunConfig { memory: 1 << 30, ..config.clone() };
                algorithm.plan(&graph, &ample).unwrap().smallest_budget_bytes
            };
            assert!(plan(&config) < plan(&demands), "{name}: a choice takes as much");
        }
    }
}

/// A cache for lists demands them, too.
#[test]
fn lists_in_caches() {
    let folder = tempfile::tempdir().unwrap();
    let graph = graph(&folder, 14, false);
    let algorithm = algorithm("multi-source", None, Request::default());
    for threads in THREADS {
        let model = Some(MemoryModel::FullyExternal);
        let config = RunConfig { threads, model, ..RunConfig::default() };
        named_is_enough(&graph, &*algorithm, &RunConfig { page_cache: Some(512 << 10), ..config });
    }
}

/// A preset demands lists, too.
#[test]
fn lists_by_preset() {
    let folder = tempfile::tempdir().unwrap();
    let graph = graph(&folder, 14, true);
    let settings = RunSettings { preset: Some(Preset::Graphene), ..RunSettings::default() };
    let config = settings.config(&Resources::default());
    for (name, parents) in [("bfs", false), ("sssp", false), ("sssp", true)] {
        let algorithm = algorithm(name, None, Request { parents, ..Request::default() });
        for threads in THREADS {
            let model = Some(MemoryModel::FullyExternal);
            let config = RunConfig { threads, model, ..config.clone() };
            named_is_enough(&graph, &*algorithm, &config);
        }
    }
}

/// A switch for lists, which come only where there is memory for them, names a budget that has it.
/// One that no budget serves is refused as such, however small the budget is.
#[test]
fn switches_for_lists() {
    let folder = tempfile::tempdir().unwrap();
    let graph = graph(&folder, 14, false);
    let algorithm = algorithm("multi-source", None, Request::default());
    let model = Some(MemoryModel::FullyExternal);
    let config = RunConfig { model, threads: 2, ..RunConfig::default() };
    let least =
        smallest(&graph, "multi-source", &request("multi-source", &[Source::MaxDegree]), &config);
    let block = RunConfig { block: 512, ..config.clone() };
    let gap = RunConfig { max_gap: Some(0), ..config.clone() };
    for config in [block, gap] {
        let with = |memory| algorithm.plan(&graph, &RunConfig { memory, ..config.clone() });
        let (mut memory, mut beyond) = (1 << 20, 0);
        while let Err(error) = with(memory) {
            let GraphError::Memory { needed, .. } = error else { panic!("{memory}: {error}") };
            assert!(with(needed).is_ok(), "{memory}: {needed} are not enough");
            beyond += usize::from(memory >= least);
            memory += 1 << 19;
        }
        assert!(beyond > 0, "lists fit wherever {least} are enough");
        let enough = RunConfig { memory, ..config.clone() };
        algorithm.run(&graph, &enough, &Silent).unwrap();
    }
    let never = RunConfig { memory: 1 << 20, direction: SearchDirection::Pull, ..config };
    let refusal = algorithm.plan(&graph, &never);
    assert!(matches!(refusal, Err(GraphError::Usage(what)) if what.contains("--direction")));
}

/// Queues have an eighth of the budget, of which they are a part.
#[test]
fn visitors() {
    let folder = tempfile::tempdir().unwrap();
    let graph = graph(&folder, 17, true);
    for name in ["bfs", "components", "sssp"] {
        let more = Request { executor: Some(Executor::Async), ..Request::default() };
        let algorithm = algorithm(name, None, more);
        for model in [MemoryModel::InMemory, MemoryModel::SemiExternal] {
            for threads in THREADS {
                let config = RunConfig { threads, model: Some(model), ..RunConfig::default() };
                named_is_enough(&graph, &*algorithm, &config);
            }
        }
    }
}
