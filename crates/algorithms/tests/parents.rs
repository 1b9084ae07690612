//! Parents in trees of shortest paths: those of the serial reference, in every memory model, by
//! every method, on any number of threads; distances are the same with and without them.

use std::path::Path;

use outercore_algorithms::{NAMES, Request, Source, by_name};
use outercore_engine::{
    CrossIteration, MemoryModel, Outcome, Precompute, Preset, ReadPolicy, RunConfig,
};
use outercore_graph::{
    BuildOptions, Graph, GraphError, Layout, WeightKind,
    generate::{GeneratedWeights, Rmat},
};
use outercore_testing::{
    Edges, Ids, MODELS, Random, Recipe, Value, answer, build, config, external, external_as,
    folder, generate, internal_edges, reference, request, run, shapes, smallest, values,
};
use outercore_visit::Executor;

/// The same question, and parents.
fn with_parents(asked: &Request) -> Request {
    Request { parents: true, ..asked.clone() }
}

/// Every method; the last one goes by visitors.
fn methods(source: Source) -> [Request; 3] {
    let asked = with_parents(&request("sssp", &[source]));
    let by = |method: &str| Request {
        method: Some(method.to_owned()),
        executor: Some(Executor::Sync),
        ..asked.clone()
    };
    let visitors = Request { executor: Some(Executor::Async), ..asked.clone() };
    [by("delta-stepping"), by("program"), visitors]
}

/// Every method in every model that it runs in, on so many threads.
fn ways(source: &Source, threads: &[usize]) -> Vec<(Request, RunConfig)> {
    let mut ways = Vec::new();
    for asked in methods(source.clone()) {
        for model in MODELS {
            let external = model == MemoryModel::FullyExternal;
            if external && asked.executor == Some(Executor::Async) {
                continue;
            }
            ways.extend(threads.iter().map(|&threads| {
                (asked.clone(), RunConfig { model: Some(model), threads, ..config() })
            }));
        }
    }
    ways
}

/// All answers about a list of edges are right.
fn check(name: &str, edges: &Edges, recipe: &Recipe, threads: &[usize]) {
    let built = build(edges, recipe);
    let mut stored = edges.clone();
    if recipe.weights == WeightKind::F32 {
        stored.edges.iter_mut().for_each(|edge| edge.2 = f64::from(edge.2 as f32));
    }
    let source = edges.edges[edges.edges.len() / 3].0;
    let mut expected: Option<(Vec<Value>, Vec<Option<u64>>)> = None;
    for (asked, config) in ways(&Source::Key(built.ids.key(source)), threads) {
        let what = format!("{name}, {:?}: {asked:?} {config:?}", recipe.weights);
        let outcome = run(&built.graph, "sssp", &asked, &config);
        let names: Vec<_> = outcome.columns.iter().map(|column| column.name).collect();
        assert_eq!(names, ["distance", "parent"], "{what}");
        let found = answer(&built, &outcome);
        let (distances, parents) = (found.numbers(0), found.whole(1));
        let (first, tree) = expected.get_or_insert_with(|| {
            reference::verify_tree(&stored, source, &distances, &parents);
            let tree = reference::parents(&stored, source, &distances, &built.internal);
            let plain = Request { parents: false, ..asked.clone() };
            let plain = answer(&built, &run(&built.graph, "sssp", &plain, &config));
            assert_eq!(plain.columns.len(), 1);
            let right = reference::sssp(&stored, source);
            outercore_testing::assert_close(&plain.numbers(0), &right);
            (plain.columns[0].clone(), tree)
        });
        assert!(found.columns[0] == *first, "{what}: other distances");
        assert_eq!(parents, *tree, "{what}");
    }
}

#[test]
fn every_shape_in_every_way() {
    for (index, shape) in shapes::all(4).iter().enumerate() {
        let recipe = Recipe { ids: Ids::ALL[index % 4], ..Recipe::default() };
        check(&shape.name, &shape.graph, &recipe, &[2]);
    }
    for seed in 0..6 {
        let weights = [WeightKind::F64, WeightKind::F32, WeightKind::U32][seed as usize % 3];
        let shape = shapes::isolated(seed % 2 == 0, seed);
        let recipe = Recipe { weights, lists: true, ..Recipe::default() };
        check(&shape.name, &shape.graph, &recipe, &[1, 3]);
    }
}

/// Half of the weights are zero, or so small that the sums do not show them: circles of such edges,
/// loops, duplicates, and vertices that no way leads to.
#[test]
fn edges_that_add_nothing() {
    let mut random = Random::new(11);
    for round in 0..10u32 {
        let n = 60 + 40 * round;
        let pairs = shapes::duplicates(n, n + n / 2, &mut random);
        let directed = random.coin();
        let mut graph = Edges { n: n as usize, ..Edges::of(&pairs, directed) };
        let weights: [f64; 4] =
            if round % 2 == 0 { [0.0, 0.0, 1.0, 2.0] } else { [0.0, 1e-3, 1e17, 1e17] };
        graph.edges.iter_mut().for_each(|edge| edge.2 = weights[random.below(4u32) as usize]);
        let whole = [WeightKind::U32, WeightKind::F32][round as usize / 2 % 2];
        let weights = if round % 2 == 0 { whole } else { WeightKind::F64 };
        let recipe = Recipe { weights, lists: true, ..Recipe::default() };
        check("few weights", &graph, &recipe, &[1, 2, 5]);
        graph.edges.iter_mut().for_each(|edge| edge.2 = 0.0);
        check("zeros", &graph, &recipe, &[2]);
    }
}

/// Whole distances that 32 bits do not hold, and a circle of zeros far out.
#[test]
fn distances_beyond_32_bits() {
    let mut graph = Edges::of(&shapes::path(40), true);
    graph.edges.iter_mut().for_each(|edge| edge.2 = f64::from(u32::MAX));
    graph.edges.extend([(39, 40, 0.0), (40, 41, 0.0), (41, 39, 0.0), (0, 41, 1.0), (42, 42, 0.0)]);
    graph.edges.push((13, 39, f64::from(u32::MAX)));
    graph.n = 43;
    // From the vertex in the middle of the list.
    check("a heavy path", &graph, &Recipe::default(), &[2]);
}

#[test]
fn a_source_without_edges_is_its_own_parent() {
    let edges = Edges { n: 5, ..Edges::of(&[(1, 2), (2, 3)], true) };
    let built = build(&edges, &Recipe { lists: true, ..Recipe::default() });
    for (asked, config) in ways(&Source::Key(built.ids.key(4)), &[2]) {
        let outcome = run(&built.graph, "sssp", &asked, &config);
        let found = answer(&built, &outcome);
        assert_eq!(found.whole(1), [None, None, None, None, Some(4)], "{asked:?} {config:?}");
        assert_eq!(found.summary["reached"], Value::Whole(1));
    }
}

fn rmat(folder: &Path, weights: GeneratedWeights, layout: Layout) -> Graph {
    let options = BuildOptions {
        memory: 256 << 20,
        threads: 2,
        directed: Some(layout != Layout::Row),
        layout,
        ..BuildOptions::default()
    };
    let rmat = Rmat { weights, edge_factor: 12, ..Rmat::new(16, 7) };
    generate(folder.join("graph.oc"), rmat, options)
}

/// What the reference says of a run's distances, by internal id.
fn is_right(graph: &Graph, edges: &Edges, outcome: &Outcome) -> Vec<Vec<Value>> {
    let columns = values(outcome);
    let numbers: Vec<_> = columns[0].iter().map(|value| value.number()).collect();
    let parents: Vec<_> = columns[1].iter().map(|value| value.whole()).collect();
    let source = graph.manifest().max_out_degree.1 as u32;
    let ranks: Vec<u64> = (0..edges.n as u64).collect();
    reference::verify_tree(edges, source, &numbers, &parents);
    assert_eq!(parents, reference::parents(edges, source, &numbers, &ranks));
    columns
}

/// Graphs of many intervals, in ample budgets and in the smallest ones, with what reads edges in
/// other ways, in every layout.
fn many_intervals_and_little_memory(high: u32, layout: Layout) {
    let folder = folder();
    let graph = rmat(folder.path(), GeneratedWeights::Uniform { low: 0, high }, layout);
    let edges = internal_edges(&graph);
    let mut expected = None;
    let mut check = |asked: &Request, config: RunConfig| {
        let outcome = run(&graph, "sssp", asked, &config);
        match &expected {
            None => expected = Some(is_right(&graph, &edges, &outcome)),
            Some(expected) => {
                assert!(values(&outcome) == *expected, "{layout:?} {asked:?} {config:?}");
            }
        }
    };
    for (asked, config) in ways(&Source::MaxDegree, &[1, 3]) {
        let memory = smallest(&graph, "sssp", &asked, &config);
        check(&asked, RunConfig { memory, ..config.clone() });
        check(&asked, config);
    }
    let [_, program, _] = methods(Source::MaxDegree);
    check(&program, RunConfig { precompute: Some(Precompute::Gap), ..external() });
    if layout == Layout::Grid {
        let whole = RunConfig { read: ReadPolicy::Full, ..external() };
        let cross_iteration = CrossIteration::Fciu;
        check(&program, RunConfig { cross_iteration, ..whole });
        check(&program, external_as(Preset::Graphsd));
        check(&program, RunConfig { read: ReadPolicy::OnDemand, ..external() });
    }
}

#[test]
fn many_intervals_of_a_grid() {
    many_intervals_and_little_memory(3, Layout::Grid);
}

#[test]
fn many_intervals_of_other_layouts() {
    many_intervals_and_little_memory(1 << 20, Layout::Hybrid);
    many_intervals_and_little_memory(3, Layout::Row);
}

/// Where no edge adds nothing, parents take one iteration.
#[test]
fn parents_take_one_iteration_more() {
    let folder = folder();
    let graph = rmat(folder.path(), GeneratedWeights::Uniform { low: 1, high: 3 }, Layout::Grid);
    for (asked, config) in ways(&Source::MaxDegree, &[2]) {
        let plain = Request { parents: false, ..asked.clone() };
        let iterations = |asked| run(&graph, "sssp", asked, &config).report.iterations;
        let of = [iterations(&asked), iterations(&plain)];
        // Windows of distance may be cut otherwise, where there is other memory.
        let external = config.model == Some(MemoryModel::FullyExternal);
        assert!(of[0] == of[1] + 1 || external && of[0] > of[1], "{of:?} {asked:?} {config:?}");
    }
}

#[test]
fn what_has_no_parents_refuses_the_switch() {
    for name in NAMES.iter().filter(|&&name| name != "sssp") {
        let asked = with_parents(&request(name, &[Source::MaxDegree]));
        let Err(GraphError::Usage(error)) = by_name(name, &asked) else { panic!("{name}") };
        assert!(error.contains(&format!("{name} has no --parents: it is for sssp")), "{error}");
    }
}
