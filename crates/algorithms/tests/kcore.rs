//! K-core for one k, on the simple view that a run leaves, and in little memory: the answers are
//! those that the reference's core numbers give.

use outercore_algorithms::{Request, by_name};
use outercore_engine::{MemoryModel, RunConfig, Silent};
use outercore_graph::{BuildOptions, Graph, GraphError, generate::Rmat, view};
use outercore_storage::Disk;
use outercore_testing::{
    Built, Edges, MODELS, Random, Recipe, Value, answer, build, config, generate, reference, run,
    shapes, smallest, values,
};

const METHODS: [&str; 2] = ["peeling", "program"];

fn one_core(k: u64, method: &str) -> Request {
    Request { k: Some(k), method: Some(method.to_owned()), ..Request::default() }
}

/// What a run must say of the k-core: `k` for its vertices, and how many vertices and edges it has.
fn expected(edges: &Edges, cores: &[u32], k: u64) -> (Vec<Option<u64>>, [u64; 2]) {
    let inside = |vertex: u32| u64::from(cores[vertex as usize]) >= k;
    let mut pairs: Vec<_> = edges.edges.iter().map(|&(a, b, _)| (a.min(b), a.max(b))).collect();
    pairs.retain(|&(a, b)| a != b && inside(a) && inside(b));
    pairs.sort_unstable();
    pairs.dedup();
    let members: Vec<_> = (0..edges.n as u32).map(|vertex| inside(vertex).then_some(k)).collect();
    let count = members.iter().flatten().count() as u64;
    (members, [count, pairs.len() as u64])
}

fn asks(built: &Built, edges: &Edges, methods: &[&str]) {
    let cores = reference::kcore(edges);
    let most = u64::from(cores.iter().copied().max().unwrap_or(0));
    for k in [0, 1, 2, most, most + 1, u64::MAX] {
        let (members, figures) = expected(edges, &cores, k);
        for method in methods {
            for model in MODELS {
                let config = RunConfig { model: Some(model), ..config() };
                let outcome = run(&built.graph, "kcore", &one_core(k, method), &config);
                let found = answer(built, &outcome);
                let what = format!("k {k}, {method}, {model:?}");
                assert_eq!(found.whole(0), members, "{what}");
                let figure = |name: &str| found.summary[name];
                let [vertices, edges] = figures.map(Value::Whole);
                assert_eq!(figure("vertices").bits(), vertices.bits(), "{what}");
                assert_eq!(figure("edges").bits(), edges.bits(), "{what}");
                assert_eq!(figure("k").bits(), Value::Whole(k).bits(), "{what}");
                assert!(!found.summary.contains_key("degeneracy"), "{what}");
            }
        }
    }
}

#[test]
fn one_core_of_every_shape() {
    for (index, shape) in shapes::all(7).iter().enumerate() {
        // Both of the ways to a simple graph: as it is built, and its view.
        let simple = !shape.graph.directed && index % 4 == 1;
        let built = build(&shape.graph, &Recipe { simple, ..Recipe::default() });
        eprintln!("{}", shape.name);
        asks(&built, &shape.graph, &METHODS[index / 2 % 2..][..1]);
    }
    for directed in [true, false] {
        let shape = shapes::isolated(directed, 3);
        let built = build(&shape.graph, &Recipe { lists: true, ..Recipe::default() });
        asks(&built, &shape.graph, &METHODS);
    }
}

fn rmat(folder: &std::path::Path, simple: bool) -> Graph {
    let (memory, directed) = (128 << 20, Some(false));
    let options = BuildOptions { memory, threads: 2, directed, simple, ..Default::default() };
    generate(folder.join("graph.oc"), Rmat::new(15, 5), options)
}

#[test]
fn one_core_reads_less_than_all() {
    let folder = tempfile::tempdir().unwrap();
    let graph = rmat(folder.path(), true);
    for method in METHODS {
        let config = RunConfig { model: Some(MemoryModel::FullyExternal), ..config() };
        let all = Request { k: None, ..one_core(0, method) };
        let all = run(&graph, "kcore", &all, &config).report;
        let one = run(&graph, "kcore", &one_core(10, method), &config).report;
        let (some, whole) = (one.edges_processed, all.edges_processed);
        assert!(some * 2 < whole, "{method}: {some} of {whole} edges");
        assert!(one.iterations * 4 < all.iterations, "{method}");
    }
}

/// In the smallest budgets the index of the lists slides, or there is no count for each vertex.
#[test]
fn the_smallest_budgets() {
    let folder = tempfile::tempdir().unwrap();
    let graph = rmat(folder.path(), true);
    let all =
        |method: Option<&str>| Request { method: method.map(str::to_owned), ..Request::default() };
    let right = values(&run(&graph, "kcore", &all(None), &config()));
    let external = RunConfig { model: Some(MemoryModel::FullyExternal), ..config() };
    for method in [None, Some("peeling"), Some("program")] {
        let memory = smallest(&graph, "kcore", &all(method), &external);
        let config = RunConfig { memory, ..external.clone() };
        let plan = by_name("kcore", &all(method)).unwrap().plan(&graph, &config).unwrap();
        let outcome = run(&graph, "kcore", &all(method), &config);
        assert!(values(&outcome) == right, "{plan}");
        let less = RunConfig { memory: memory - 1, ..config };
        let plan = by_name("kcore", &all(method)).unwrap().plan(&graph, &less);
        assert!(matches!(plan, Err(GraphError::Memory { .. })) || method.is_none(), "{method:?}");
    }
}

#[test]
fn a_kept_view_is_used_again_and_made_again_when_it_is_damaged() {
    let folder = tempfile::tempdir().unwrap();
    let graph = rmat(folder.path(), false);
    let all = |model| run(&graph, "kcore", &Request::default(), &RunConfig { model, ..config() });
    let plan = || by_name("kcore", &Request::default()).unwrap().plan(&graph, &config()).unwrap();
    assert!(plan().method.contains("made first"), "{}", plan());
    let first = all(None);
    let written = first.report.bytes_written;
    assert!(written > graph.manifest().arcs, "the view is written: {written} bytes");
    assert!(plan().method.contains("kept"), "{}", plan());
    for model in MODELS.map(Some) {
        let again = all(model);
        assert_eq!(again.report.memory_model, model.unwrap());
        assert!(values(&again) == values(&first), "{model:?}");
        let written = again.report.bytes_written;
        assert!(written < graph.connected() * 16, "{model:?}: {written} bytes");
    }
    // It needs no more memory than the run itself then.
    let little = RunConfig { memory: 40 << 20, ..config() };
    assert!(values(&run(&graph, "kcore", &Request::default(), &little)) == values(&first));
    let path = view::kept(&graph).unwrap().unwrap().path().join("out.adjacency");
    let mut bytes = std::fs::read(&path).unwrap();
    let last = bytes.len() - 5000;
    bytes[last] ^= 16;
    std::fs::write(&path, bytes).unwrap();
    let graph = Graph::open(&Disk::new(), graph.path()).unwrap();
    let mended = by_name("kcore", &Request::default()).unwrap().run(&graph, &config(), &Silent);
    assert!(values(&mended.unwrap()) == values(&first));
}

/// An undirected graph that happens to be simple needs no view.
#[test]
fn a_graph_that_happens_to_be_simple() {
    let shape = Edges::of(&shapes::path_with_chords(400, &mut Random::new(1)), false);
    let mut pairs: Vec<_> = shape.edges.iter().map(|&(a, b, _)| (a.min(b), a.max(b))).collect();
    pairs.retain(|(a, b)| a != b);
    pairs.sort_unstable();
    pairs.dedup();
    let built = build(&Edges::of(&pairs, false), &Recipe::default());
    assert!(built.graph.manifest().is_simple() && !built.graph.manifest().simple);
    let plan = by_name("kcore", &Request::default()).unwrap().plan(&built.graph, &config());
    assert!(!plan.unwrap().method.contains("view"));
    assert_eq!(run(&built.graph, "kcore", &Request::default(), &config()).report.bytes_written, 0);
}

/// In a step of many edges each worker has vertices of its own, or, of many workers, takes from
/// any.
#[test]
fn any_number_of_workers() {
    const CORE: u32 = 700;
    let mut random = Random::new(3);
    let mut pairs: Vec<(u32, u32)> =
        (0..60_000).map(|_| (random.below(CORE), random.below(CORE))).collect();
    // All of these depart at once.
    let outer = (CORE..CORE + 20_000).flat_map(|vertex| [vertex; 2]);
    pairs.extend(outer.map(|vertex| (vertex, random.below(CORE))));
    pairs.retain(|(a, b)| a != b);
    let edges = Edges::of(&pairs, false);
    let built = build(&edges, &Recipe { simple: true, ..Recipe::default() });
    let cores: Vec<_> =
        reference::kcore(&edges).into_iter().map(|core| Some(u64::from(core))).collect();
    let steps = [1, 2, 3, 5, 9].map(|threads| {
        let config = RunConfig { threads, model: Some(MemoryModel::InMemory), ..config() };
        let outcome = run(&built.graph, "kcore", &Request::default(), &config);
        assert_eq!(answer(&built, &outcome).whole(0), cores, "{threads}");
        outcome.report.iterations
    });
    assert_eq!(steps, [steps[0]; 5]);
}
