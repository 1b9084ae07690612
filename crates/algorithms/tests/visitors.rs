//! Traversals by visitors: the bits of the synchronous runs, which the serial references verify, in
//! both models, on any number of threads, with any number of visitors in flight, whoever owns a
//! vertex.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use outercore_algorithms::{Request, Source, by_name};
use outercore_engine::{
    IoBackend, IterationReport, MemoryModel, Outcome, RunConfig, RunProgress, Silent, VisitReport,
};
use outercore_graph::{
    BuildOptions, Graph, GraphError, WeightKind,
    generate::{GeneratedWeights, Rmat},
};
use outercore_storage::{Disk, Fault, FaultPlan};
use outercore_testing::{
    Edges, Ids, Question, Random, Recipe, Shape, Watchdog, answer, build, config, folder, generate,
    reference, request, run, run_opened, shapes, small_graph, smallest, values,
};
use outercore_visit::{Executor, Ownership};

const NAMES: [&str; 3] = ["bfs", "sssp", "components"];
const RESIDENT: [MemoryModel; 2] = [MemoryModel::InMemory, MemoryModel::SemiExternal];

/// The same question, to visitors.
fn visitors(asked: &Request, in_flight: Option<u64>) -> Request {
    Request { executor: Some(Executor::Async), in_flight, ..asked.clone() }
}

fn report(outcome: &Outcome) -> &VisitReport {
    outcome.report.visitors.as_ref().expect("visitors ran")
}

/// Every way in which visitors may go.
fn ways(asked: &Request) -> Vec<(Request, RunConfig)> {
    let mut ways = Vec::new();
    for model in RESIDENT {
        for (threads, in_flight) in [(1, None), (1, Some(1)), (2, Some(1)), (3, Some(2)), (7, None)]
        {
            for (ownership, peek) in [(Ownership::Group, true), (Ownership::Vertex, false)] {
                let io = if peek { IoBackend::Uring } else { IoBackend::Blocking };
                let (ownership, peek) = (Some(ownership), Some(peek));
                let asked = Request { ownership, peek, ..visitors(asked, in_flight) };
                ways.push((asked, RunConfig { model: Some(model), threads, io, ..config() }));
            }
        }
    }
    ways
}

/// All answers about a shape are those of the synchronous run, which is right.
fn check(shape: &Shape, recipe: &Recipe) {
    let built = build(&shape.graph, recipe);
    let source = shape.graph.edges[shape.graph.edges.len() / 3].0;
    for name in NAMES {
        if name == "sssp" && recipe.weights == WeightKind::None {
            continue;
        }
        let asked = request(name, &[Source::Key(built.ids.key(source))]);
        let usual = Request { executor: Some(Executor::Sync), ..asked.clone() };
        let expected = answer(&built, &run(&built.graph, name, &usual, &config()));
        let (edges, sources) = (&shape.graph, &[source][..]);
        let question = Question { edges, ids: built.ids, sources, iterations: 0 };
        reference::verify(name, &question, &expected);
        for (asked, config) in ways(&asked) {
            let outcome = run(&built.graph, name, &asked, &config);
            let answer = answer(&built, &outcome);
            let what = format!("{name} on {}: {asked:?} {config:?}", shape.name);
            assert!(answer.bits() == expected.bits(), "{what}");
            assert_eq!(answer.summary, expected.summary, "{what}");
            let VisitReport { visits, reads, stale, corrected, .. } = *report(&outcome);
            assert!(reads + stale == visits && corrected <= reads, "{what}");
        }
    }
}

#[test]
fn every_shape_in_every_way() {
    for (index, shape) in shapes::all(3).iter().enumerate() {
        check(shape, &Recipe { ids: Ids::ALL[index % 4], ..Recipe::default() });
    }
    for seed in 0..8 {
        let weights = [WeightKind::F64, WeightKind::F32, WeightKind::None][seed as usize % 3];
        let recipe = Recipe { weights, lists: true, ..Recipe::default() };
        check(&shapes::isolated(seed % 2 == 0, seed), &recipe);
    }
}

fn rmat(folder: &std::path::Path, scale: u32, directed: bool) -> Graph {
    let options = BuildOptions {
        memory: 128 << 20,
        threads: 2,
        directed: Some(directed),
        weights: Some(WeightKind::U32),
        ..BuildOptions::default()
    };
    let rmat =
        Rmat { weights: GeneratedWeights::Uniform { low: 0, high: 9999 }, ..Rmat::new(scale, 9) };
    generate(folder.join("graph.oc"), rmat, options)
}

/// Frontiers so large that workers go on together, and queues so small that they overflow.
#[test]
fn large_frontiers_and_small_queues() {
    for directed in [true, false] {
        let folder = folder();
        let graph = rmat(folder.path(), 14, directed);
        for name in NAMES {
            let asked = request(name, &[Source::MaxDegree]);
            let usual = Request { executor: Some(Executor::Sync), ..asked.clone() };
            let expected = run(&graph, name, &usual, &config());
            for (asked, config) in ways(&asked) {
                let memory = smallest(&graph, name, &asked, &config) + (4 << 20);
                let outcome = run(&graph, name, &asked, &RunConfig { memory, ..config.clone() });
                let what = format!("{name} {asked:?} {config:?}");
                assert_eq!(outcome.report.summary, expected.report.summary, "{what}");
                assert!(values(&outcome) == values(&expected), "{what}");
                let visitors = report(&outcome);
                assert!(config.threads == 1 || visitors.sent > 0, "{what}: all alone");
                let planned = outcome.report.planned.memory_bytes;
                assert!(visitors.queue_bytes < planned / 4, "{what}: {visitors:?}");
            }
        }
    }
}

/// More vertices wait than queues have room for: they are dropped, and come back. Queues keep to
/// what was planned.
#[test]
fn full_queues() {
    let folder = folder();
    let graph = rmat(folder.path(), 18, true);
    let asked = request("sssp", &[Source::MaxDegree]);
    let usual = Request { executor: Some(Executor::Sync), ..asked.clone() };
    let expected = run(&graph, "sssp", &usual, &config());
    let model = Some(MemoryModel::SemiExternal);
    let visiting = visitors(&asked, None);
    for threads in [1, 3] {
        let config = RunConfig { model, threads, ..config() };
        let memory = smallest(&graph, "sssp", &visiting, &config);
        let outcome = run(&graph, "sssp", &visiting, &RunConfig { memory, ..config });
        assert_eq!(outcome.report.summary, expected.report.summary);
        assert!(values(&outcome) == values(&expected));
        let visitors = report(&outcome);
        assert!(visitors.spilled > 0, "{visitors:?}");
        // An eighth of the budget is what the plan gives them.
        assert!(visitors.queue_bytes <= memory / 8, "{visitors:?}, {memory}");
    }
}

/// In memory no list is read while visitors go, whatever the last pages of neighbors and of weights
/// have room for.
#[test]
fn in_memory_nothing_is_in_flight() {
    // So many that every vertex has one.
    for count in (7_000..15_000).step_by(517) {
        let graph = Edges::of(&shapes::uniform(900, count, &mut Random::new(3)), true);
        let built = build(&graph, &Recipe { weights: WeightKind::U32, ..Recipe::default() });
        let asked = visitors(&request("sssp", &[Source::MaxDegree]), None);
        let model = Some(MemoryModel::InMemory);
        let outcome = run(&built.graph, "sssp", &asked, &RunConfig { model, ..config() });
        assert_eq!(report(&outcome).most_in_flight, 0, "{count} edges");
    }
}

/// In the order of priorities every vertex reads its edges once, and no label has to be corrected,
/// or few of distances, several of which have one priority.
/// A last page that no cache has room for may come late.
#[test]
fn one_worker_reads_each_list_once() {
    let folder = folder();
    let graph = rmat(folder.path(), 14, true);
    for name in NAMES {
        let asked = visitors(&request(name, &[Source::MaxDegree]), None);
        let model = Some(MemoryModel::InMemory);
        let outcome = run(&graph, name, &asked, &RunConfig { model, threads: 1, ..config() });
        let VisitReport { reads, corrected, sent, .. } = *report(&outcome);
        let few = if name == "sssp" { reads / 5 } else { reads / 200 };
        assert!(corrected <= few && sent == 0, "{name}: {corrected} of {reads}");
        assert!(reads - corrected <= graph.connected(), "{name}");
        // Per cent of all edges.
        let most = match name {
            "components" => 202,
            "sssp" => 120,
            _ => 101,
        };
        let share = outcome.report.edges_processed * 100 / graph.manifest().arcs;
        assert!(share <= most, "{name}: {share} %");
    }
}

/// A visitor whose vertex has a better label is not sent to another worker.
#[test]
fn a_look_at_the_vertex_saves_visitors() {
    let folder = folder();
    let graph = rmat(folder.path(), 14, true);
    for name in NAMES {
        let sent = [true, false].map(|peek| {
            let asked = visitors(&request(name, &[Source::MaxDegree]), Some(1));
            let asked = Request { peek: Some(peek), ..asked };
            report(&run(&graph, name, &asked, &RunConfig { threads: 4, ..config() })).sent
        });
        assert!(2 * sent[0] < sent[1], "{name}: {sent:?}");
    }
}

/// Cycles of weight zero end, and ties between parents are those of the synchronous run.
#[test]
fn cycles_of_weight_zero() {
    let mut random = Random::new(5);
    let mut graph = Edges { n: 200, ..Edges::of(&shapes::uniform(200, 1500, &mut random), true) };
    graph.edges.iter_mut().for_each(|edge| edge.2 = f64::from(random.below(3u32) / 2));
    for weights in [WeightKind::U32, WeightKind::F64] {
        let shape = Shape { name: "weights of 0 and 1".to_owned(), graph: graph.clone() };
        check(&shape, &Recipe { weights, ..Recipe::default() });
    }
}

/// Sums beyond 32 bits are right; sums beyond the largest number are refused.
#[test]
fn sums_that_are_too_large() {
    let mut graph = Edges::of(&shapes::path(40), true);
    graph.edges.iter_mut().for_each(|edge| edge.2 = f64::from(u32::MAX));
    check(&Shape { name: "a heavy path".to_owned(), graph: graph.clone() }, &Recipe::default());
    graph.edges.iter_mut().for_each(|edge| edge.2 = 1e308);
    let built = build(&graph, &Recipe { weights: WeightKind::F64, ..Recipe::default() });
    let asked = visitors(&request("sssp", &[Source::Key(built.ids.key(0))]), None);
    let error = by_name("sssp", &asked).unwrap().run(&built.graph, &config(), &Silent).err();
    assert!(error.expect("too large").to_string().contains("scale the weights down"));
}

#[test]
fn what_visitors_cannot_do_is_refused() {
    let folder = folder();
    let graph = rmat(folder.path(), 14, false);
    let refused = |name: &str, asked: Request, config: &RunConfig, what: &[&str]| {
        let planned = by_name(name, &asked).and_then(|algorithm| algorithm.plan(&graph, config));
        let Err(GraphError::Usage(error)) = planned else { panic!("{name}: {asked:?}") };
        assert!(what.iter().all(|what| error.contains(what)), "{error}");
    };
    let external = RunConfig { model: Some(MemoryModel::FullyExternal), ..config() };
    for name in NAMES {
        let asked = request(name, &[Source::MaxDegree]);
        let visiting = visitors(&asked, None);
        let works = ["--model fully-external", "--executor sync", "semi-externally"];
        refused(name, visiting.clone(), &external, &works);
        let full = RunConfig { read: outercore_engine::ReadPolicy::Full, ..config() };
        refused(name, visiting, &full, &["--read full"]);
        refused(name, visitors(&asked, Some(0)), &config(), &["at least 1"]);
        let sync = Request { executor: Some(Executor::Sync), ..asked.clone() };
        for asked in [
            Request { in_flight: Some(9), ..sync.clone() },
            Request { peek: Some(false), ..sync.clone() },
            Request { ownership: Some(Ownership::Vertex), ..sync },
        ] {
            refused(name, asked, &config(), &["--executor async"]);
        }
    }
    let method = Some("program".to_owned());
    let both = Request { method, executor: Some(Executor::Async), ..Request::default() };
    refused("components", both, &config(), &["--method is for --executor sync"]);
    let ranks = Request { executor: Some(Executor::Async), ..Request::default() };
    refused("pagerank", ranks, &config(), &["pagerank has no --executor"]);
}

/// By itself a search goes by visitors where levels are many, and only there.
#[test]
fn visitors_go_where_levels_are_many() {
    let mut random = Random::new(8);
    let (path, uniform) = (shapes::path(3000), shapes::uniform(4000, 64_000, &mut random));
    let folder = folder();
    let hubs = rmat(folder.path(), 14, true);
    let graphs = [path, uniform].map(|pairs| build(&Edges::of(&pairs, true), &Recipe::default()));
    for (name, model) in
        ["bfs", "sssp"].into_iter().flat_map(|it| RESIDENT.map(|model| (it, model)))
    {
        let asked = Request { parents: name == "sssp", ..request(name, &[Source::MaxDegree]) };
        let usual = Request { executor: Some(Executor::Sync), ..asked.clone() };
        let config = RunConfig { model: Some(model), ..config() };
        let ran = [&graphs[0].graph, &graphs[1].graph, &hubs].map(|graph| {
            let outcome = run(graph, name, &asked, &config);
            let expected = run(graph, name, &usual, &config);
            assert!(values(&outcome) == values(&expected) && expected.report.visitors.is_none());
            assert_eq!(outcome.report.memory_model, model);
            outcome.report.visitors.is_some()
        });
        assert_eq!(ran, [true, false, false], "{name} {model}");
    }
}

/// Says after so many questions that the user wants to stop.
struct Impatient(AtomicU64);

impl RunProgress for Impatient {
    fn iteration(&self, _: &IterationReport) {}

    fn cancelled(&self) -> bool {
        self.0.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).is_err()
    }
}

/// Whenever it comes, with visitors in flight on all workers: it ends, and says why.
#[test]
fn a_run_that_is_cancelled_ends() {
    let folder = folder();
    let graph = rmat(folder.path(), 14, false);
    let _dog = Watchdog::new(Duration::from_secs(120));
    for name in NAMES {
        for patience in [0, 1, 5, 30, 100, 200] {
            for (asked, config) in ways(&request(name, &[Source::MaxDegree])).iter().step_by(3) {
                let impatient = Impatient(AtomicU64::new(patience));
                let result = by_name(name, asked).unwrap().run(&graph, config, &impatient);
                let cancelled = matches!(result.err(), Some(GraphError::Cancelled) | None);
                assert!(cancelled, "{name} {asked:?} {config:?}");
                assert!(patience > 0 || impatient.0.load(Relaxed) == 0);
            }
        }
    }
}

/// Each operation fails once: the right answer, or an error, and no worker waits for ever.
#[test]
fn failing_reads() {
    let (_folder, path) = small_graph();
    let dog = Watchdog::new(Duration::from_secs(60));
    for name in NAMES.iter().filter(|name| **name != "sssp") {
        let asked = visitors(&request(name, &[Source::MaxDegree]), Some(1));
        for model in RESIDENT {
            let config = RunConfig { model: Some(model), threads: 3, ..config() };
            let answer = |plan: FaultPlan| {
                let disk = Disk::with_faults(Arc::new(plan));
                run_opened(&disk, &path, name, &asked, (&config, &Silent))
            };
            let counted = Arc::new(FaultPlan::count_only());
            let disk = Disk::with_faults(Arc::clone(&counted));
            let expected = run_opened(&disk, &path, name, &asked, (&config, &Silent)).unwrap();
            let mut failed = 0;
            for operation in 0..counted.operations() {
                dog.step(format!("{name} {model:?} {operation}"));
                match answer(FaultPlan::nth(operation, Fault::Error(5))) {
                    Ok(found) => assert!(found == expected, "{name} {operation}"),
                    Err(GraphError::Storage(_)) => failed += 1,
                    Err(error) => panic!("{name} {operation}: {error}"),
                }
            }
            assert!(failed > 0, "{name} {model:?}");
        }
    }
}

/// A search of small levels opens no incoming lists: it reads what visitors do. The degrees of the
/// incoming ones alone take four bytes a vertex.
#[test]
fn a_search_of_small_levels_reads_what_visitors_read() {
    let built = build(&Edges::of(&shapes::path(60_000), true), &Recipe::default());
    let asked = request("bfs", &[Source::Key(built.ids.key(0))]);
    let model = Some(MemoryModel::SemiExternal);
    let config = RunConfig { model, threads: 1, ..config() };
    let read = [asked.clone(), visitors(&asked, None)].map(|asked| {
        let outcome = run(&built.graph, "bfs", &asked, &config);
        assert!(outcome.report.visitors.is_some());
        outcome.report.bytes_read
    });
    assert!(read[0] < read[1] + 120_000, "{read:?}");
}

/// While few visitors wait, a worker that has nothing else to do reads the lists that come next in
/// long requests, and no more than the other one would have read.
#[test]
fn idle_workers_read_ahead() {
    let next = |vertex: u32| (1..=24).map(move |step| (vertex, vertex + step));
    let lattice: Vec<(u32, u32)> = (0..60_000).flat_map(next).collect();
    let built = build(&Edges::of(&lattice, true), &Recipe::default());
    let asked = visitors(&request("bfs", &[Source::Key(built.ids.key(0))]), None);
    let model = Some(MemoryModel::SemiExternal);
    let [alone, two] = [1, 2].map(|threads| {
        run(&built.graph, "bfs", &asked, &RunConfig { model, threads, ..config() }).report
    });
    let requests = (two.requests, alone.requests);
    assert!(two.requests < alone.requests * 6 / 7, "{requests:?}");
    assert!(two.bytes_read <= alone.bytes_read, "{} of {}", two.bytes_read, alone.bytes_read);
}
