//! Methods by name: each gives the answer of the one that the plan would choose, the plan says
//! which one runs and why, and a name that is none is refused with those that are.

use outercore_algorithms::{Request, Source, by_name};
use outercore_engine::{MemoryModel, Outcome, ReadPolicy, RunConfig, SearchDirection, Silent};
use outercore_graph::{
    BuildOptions, Graph, Key,
    generate::{GeneratedWeights, Rmat},
};
use outercore_storage::Disk;
use outercore_testing::{
    Edges, Random, Recipe, build, build_file, config, distance, generate, request, run, smallest,
    values,
};

/// Algorithms, and their methods; the usual one first.
const METHODS: [(&str, &[&str]); 4] = [
    ("bfs", &["direction-optimizing", "program"]),
    ("kcore", &["peeling", "program"]),
    ("sssp", &["delta-stepping", "program"]),
    ("components", &["sampled", "scan", "program"]),
];

/// Lists of some vertices are read instead of all edges only where values are in memory.
fn is_possible(method: &str, model: Option<MemoryModel>) -> bool {
    method != "sampled" || model != Some(MemoryModel::FullyExternal)
}

const MODELS: [Option<MemoryModel>; 4] = [
    None,
    Some(MemoryModel::InMemory),
    Some(MemoryModel::SemiExternal),
    Some(MemoryModel::FullyExternal),
];

fn graph(folder: &std::path::Path) -> Graph {
    let (memory, directed) = (128 << 20, Some(false));
    let options = BuildOptions { memory, threads: 2, directed, simple: true, ..Default::default() };
    let weights = GeneratedWeights::Uniform { low: 1, high: 100 };
    generate(folder.join("graph.oc"), Rmat { weights, ..Rmat::new(13, 5) }, options)
}

fn without_transpose(folder: &std::path::Path, scale: u32) -> Graph {
    let options =
        BuildOptions { memory: 128 << 20, threads: 2, transpose: false, ..Default::default() };
    generate(folder.join("graph.oc"), Rmat::new(scale, 5), options)
}

#[test]
fn every_method_gives_the_same_answer() {
    let folder = tempfile::tempdir().unwrap();
    let graph = graph(folder.path());
    for (name, methods) in METHODS {
        let usual = request(name, &[Source::MaxDegree]);
        for model in MODELS {
            let config = RunConfig { model, ..config() };
            let expected = run(&graph, name, &usual, &config);
            for method in methods {
                let asked = Request { method: Some((*method).to_owned()), ..usual.clone() };
                let plan = by_name(name, &asked).unwrap().plan(&graph, &config);
                if !is_possible(method, model) {
                    assert!(plan.is_err(), "{name} {method} {model:?}");
                    continue;
                }
                let plan = plan.unwrap();
                assert!(plan.method.starts_with(&format!("{method} (as asked): ")), "{plan}");
                let outcome = run(&graph, name, &asked, &config);
                assert_eq!(outcome.report.summary, expected.report.summary, "{name} {method}");
                assert!(values(&outcome) == values(&expected), "{name} {method} {model:?}");
            }
            let plan = by_name(name, &usual).unwrap().plan(&graph, &config).unwrap();
            let first = methods.iter().find(|method| is_possible(method, model)).unwrap();
            assert!(plan.method.starts_with(&format!("{first} (")), "{plan}");
        }
    }
}

/// Sums in another order: the same scores but for their last digits.
#[test]
fn betweenness_by_either_method() {
    let folder = tempfile::tempdir().unwrap();
    let graph = graph(folder.path());
    let sources = [Source::MaxDegree, Source::Random(1), Source::Random(2)];
    let asked = |method: &str| {
        let method = Some(method.to_owned());
        Request { method, ..request("betweenness", &sources) }
    };
    let scores = |method, model| {
        let config = RunConfig { model, ..config() };
        values(&run(&graph, "betweenness", &asked(method), &config)).swap_remove(0)
    };
    let expected = scores("lists", None);
    for model in MODELS {
        assert!(scores("lists", model) == expected, "{model:?}");
        let off = distance(&scores("batches", model), &expected);
        assert!(off < 1e-6, "{model:?}: L1 distance {off}");
    }
}

#[test]
fn betweenness_of_vertices_without_edges_is_zero() {
    let recipe = Recipe { lists: true, ..Recipe::default() };
    let built = build(&Edges { n: 3, directed: false, edges: Vec::new() }, &recipe);
    for method in [None, Some("lists"), Some("batches")] {
        let asked = Request { method: method.map(str::to_owned), ..request("betweenness", &[]) };
        for model in MODELS {
            let config = RunConfig { model, ..config() };
            let outcome = run(&built.graph, "betweenness", &asked, &config);
            assert_eq!(outcome.report.summary["sources"], 0.into(), "{asked:?} {model:?}");
        }
    }
}

#[test]
fn what_is_no_method_is_refused() {
    let refused = |name: &str, method: &str| {
        let method = Some(method.to_owned());
        let asked = Request { method, ..request(name, &[Source::MaxDegree]) };
        by_name(name, &asked).err().unwrap_or_else(|| panic!("{name} takes any")).to_string()
    };
    for (name, methods) in METHODS {
        let error = refused(name, "guessing");
        assert!(error.contains(&methods.join(", ")) && error.contains("guessing"), "{error}");
    }
    assert!(refused("spmv", "program").contains("spmv has no --method"));
}

/// How many sources a scan is for depends on the budget and on the number of threads, which the
/// scores must not show.
#[test]
fn betweenness_has_the_same_bits_on_any_number_of_threads() {
    let folder = tempfile::tempdir().unwrap();
    let (memory, directed) = (128 << 20, Some(true));
    let options = BuildOptions { memory, threads: 2, directed, ..Default::default() };
    let graph = generate(folder.path().join("graph.oc"), Rmat::new(15, 6), options);
    let sources: Vec<Source> = (0..20).map(Source::Random).collect();
    for (model, methods) in [
        (MemoryModel::InMemory, &["batches", "lists"][..]),
        (MemoryModel::SemiExternal, &["batches", "lists"]),
        (MemoryModel::FullyExternal, &["batches", "lists"]),
    ] {
        for method in methods {
            let method = Some((*method).to_owned());
            let asked = Request { method, ..request("betweenness", &sources) };
            let with =
                |threads, memory| RunConfig { model: Some(model), threads, memory, ..config() };
            let scores = |config: &RunConfig| values(&run(&graph, "betweenness", &asked, config));
            let expected = scores(&with(1, 192 << 20));
            for threads in [2, 3] {
                assert!(scores(&with(threads, 192 << 20)) == expected, "{model:?} {threads}");
            }
            if model != MemoryModel::InMemory {
                // Fewer sources side by side, in the smallest budget one.
                let least = smallest(&graph, "betweenness", &asked, &with(1, 192 << 20));
                assert!(scores(&with(1, least)) == expected, "{least} bytes");
            }
        }
    }
}

/// In a chain of diamonds the number of shortest paths doubles with each.
#[test]
fn more_paths_than_a_number_holds_are_refused() {
    let pairs: Vec<(u32, u32)> = (0..1100)
        .flat_map(|at| {
            let [from, left, right, to] = [0, 1, 2, 3].map(|more| 3 * at + more);
            [(from, left), (from, right), (left, to), (right, to)]
        })
        .collect();
    for (diamonds, fits) in [(1000, true), (1100, false)] {
        let built = build(&Edges::of(&pairs[..4 * diamonds], true), &Recipe::default());
        for (method, model) in [
            ("lists", MemoryModel::SemiExternal),
            ("batches", MemoryModel::SemiExternal),
            ("lists", MemoryModel::FullyExternal),
            ("batches", MemoryModel::FullyExternal),
        ] {
            let asked = Request { method: Some(method.to_owned()), ..Request::default() };
            let asked = Request { sources: vec![Source::Key(Key::Number(0))], ..asked };
            let config = RunConfig { model: Some(model), ..config() };
            let scored =
                by_name("betweenness", &asked).unwrap().run(&built.graph, &config, &Silent);
            match scored {
                Ok(_) => assert!(fits, "{method} {model:?}"),
                Err(error) => {
                    assert!(!fits && error.to_string().contains("shortest paths"), "{error}");
                }
            }
        }
    }
}

/// Sets of sources have 32, 64 or 128 bits, whichever hold all of them.
#[test]
fn sources_count_the_same_together_and_apart() {
    let folder = tempfile::tempdir().unwrap();
    let graph = graph(folder.path());
    let sources: Vec<Source> = (0..128).map(|number| Source::Random(number * 7919)).collect();
    for model in MODELS {
        let config = RunConfig { model, ..config() };
        let columns = |sources: &[Source]| {
            let outcome = run(&graph, "multi-source", &request("multi-source", sources), &config);
            let numbers = values(&outcome).into_iter().flatten();
            numbers.map(|value| value.number().expect("a count")).collect::<Vec<_>>()
        };
        for (first, all) in [(20, 32), (32, 33), (1, 64), (64, 65), (33, 128)] {
            let apart = [columns(&sources[..first]), columns(&sources[first..all])];
            let sums = apart[0].iter().zip(&apart[1]).map(|(one, other)| one + other);
            assert!(sums.eq(columns(&sources[..all])), "{first} and the rest of {all}, {model:?}");
        }
    }
}

/// First neighbors lead to hubs, and the lists of the others are few, where all vertices have many
/// edges and some have far more: with few edges, or none that stands out, a scan reads less.
#[test]
fn components_are_sampled_where_hubs_have_many_neighbors() {
    let method = |edges: u32, hubs: u32| {
        let mut random = Random::new(3);
        let mut end = || random.below(20_000u32);
        let mut pairs: Vec<_> = (0..20_000).map(|vertex| (vertex, end())).collect();
        pairs.extend((0..edges).map(|_| (end(), end())));
        pairs.extend((0..hubs).flat_map(|hub| (0..600).map(move |at| (hub, at * 33 + hub))));
        let built = build(&Edges::of(&pairs, true), &Recipe::default());
        let components = by_name("components", &Request::default()).unwrap();
        let plan = components.plan(&built.graph, &config()).unwrap();
        plan.method.split(' ').next().unwrap().to_owned()
    };
    assert_eq!(method(300_000, 5), "sampled");
    assert_eq!(method(300_000, 0), "scan");
    assert_eq!(method(60_000, 5), "scan");
}

/// What one part of a large frontier has found, later ones pass by: it is not logged again for each
/// edge that leads to it. Without parts a byte and a third is written for each edge here.
#[test]
fn a_pushed_frontier_logs_few_of_its_edges() {
    let folder = tempfile::tempdir().unwrap();
    let graph = without_transpose(folder.path(), 14);
    let bfs = request("bfs", &[Source::MaxDegree]);
    let (model, direction) = (Some(MemoryModel::FullyExternal), SearchDirection::Push);
    let external = RunConfig { model, direction, ..config() };
    let memory = smallest(&graph, "bfs", &bfs, &external);
    let outcome = run(&graph, "bfs", &bfs, &RunConfig { memory, ..external });
    let written = outcome.report.bytes_written;
    assert!(written < graph.edges() * 2 / 3, "{written} bytes for {} edges", graph.edges());
    assert_eq!(values(&outcome), values(&run(&graph, "bfs", &bfs, &config())));
}

/// Without incoming lists, a level with many edges is a scan of the grid, which has fewer bytes
/// than the lists. Of an interval without a vertex that is unvisited nothing more is read.
#[test]
fn large_frontiers_are_scanned_where_there_is_no_transpose() {
    let folder = tempfile::tempdir().unwrap();
    let graph = without_transpose(folder.path(), 16);
    let bfs = request("bfs", &[Source::MaxDegree]);
    for model in MODELS {
        let free = RunConfig { model, ..config() };
        let memory = smallest(&graph, "bfs", &bfs, &free);
        let by = |read| run(&graph, "bfs", &bfs, &RunConfig { read, memory, ..free.clone() });
        let (auto, lists) = (by(ReadPolicy::Auto), by(ReadPolicy::OnDemand));
        let full = by(ReadPolicy::Full);
        assert!(values(&auto) == values(&lists) && values(&auto) == values(&full));
        let levels = auto.report.per_iteration.iter().zip(&full.report.per_iteration);
        let scanned = levels.filter(|(level, _)| level.read_mode == "full");
        let bytes = scanned.map(|(auto, full)| [auto.bytes_read, full.bytes_read]);
        let [some, all] = bytes.fold([0; 2], |sum, of| [sum[0] + of[0], sum[1] + of[1]]);
        assert!(4 * some < 3 * all, "{model:?}: {some} of {all} bytes");
        let scans = |outcome: &Outcome| {
            outcome.report.per_iteration.iter().filter(|level| level.read_mode == "full").count()
        };
        assert!((1..=3).contains(&scans(&auto)) && scans(&lists) == 0, "{}", scans(&auto));
        let [of_auto, of_lists] = [&auto, &lists].map(|outcome| outcome.report.bytes_read);
        // Where lists do not stay in memory.
        let reads = model.is_none() || model == Some(MemoryModel::SemiExternal);
        assert!(!reads || of_auto < of_lists, "{model:?}: {of_auto} bytes, {of_lists} by lists");
    }
}

/// Tiles between vertices that one tree of the union-find has already are not read. How many are
/// asked for before that is known depends on how many workers there are.
#[test]
fn edges_within_a_tree_are_passed_by() {
    let folder = tempfile::tempdir().unwrap();
    let graph = without_transpose(folder.path(), 18);
    let components = request("components", &[]);
    for model in MODELS {
        let free = RunConfig { model, threads: 1, ..config() };
        let memory = smallest(&graph, "components", &components, &free);
        let by = |read| {
            run(&graph, "components", &components, &RunConfig { read, memory, ..free.clone() })
        };
        let (some, all) = (by(ReadPolicy::Auto), by(ReadPolicy::Full));
        assert_eq!(values(&some), values(&all));
        let [some, all] = [some, all].map(|outcome| outcome.report.bytes_read);
        assert!(7 * some < 6 * all, "{model:?}: {some} of {all} bytes");
    }
}

/// Searches side by side come to the hubs in the same step, wherever they begin: then one reading
/// of a list serves all of them. Begun at once, these would look at 70 % of the edges that they
/// look at one by one; 46 % are left.
#[test]
fn searches_side_by_side_share_their_lists() {
    let folder = tempfile::tempdir().unwrap();
    let graph = graph(folder.path());
    let sources = [Source::MaxDegree, Source::Random(1), Source::Random(2), Source::Random(3)];
    let edges = |sources: &[Source]| {
        let outcome = run(&graph, "betweenness", &request("betweenness", sources), &config());
        outcome.report.edges_processed
    };
    let apart: u64 = sources.chunks(1).map(edges).sum();
    let together = edges(&sources);
    assert!(together * 9 < apart * 5, "{together} edges together, {apart} apart");
}

/// In the rounds of label propagation after those in which most labels change, the lists of
/// vertices without a neighbor that has changed are not read, nor looked at in memory.
#[test]
fn labels_that_cannot_change_are_not_looked_at() {
    let folder = tempfile::tempdir().unwrap();
    let graph = graph(folder.path());
    let labels = Request { iterations: Some(10), ..request("label-propagation", &[]) };
    let external = RunConfig { model: Some(MemoryModel::FullyExternal), ..config() };
    let memory = smallest(&graph, "label-propagation", &labels, &external);
    let all = run(&graph, "label-propagation", &labels, &config());
    let some = run(&graph, "label-propagation", &labels, &RunConfig { memory, ..external });
    assert_eq!(values(&all), values(&some));
    for report in [&all.report, &some.report] {
        assert_eq!(report.iterations, 10);
        let edges: Vec<u64> = report.per_iteration.iter().map(|round| round.edges).collect();
        assert!(edges[..4].iter().all(|&edges| edges == graph.manifest().arcs), "{edges:?}");
        assert!(edges[5..].iter().all(|&edges| edges < graph.manifest().arcs / 4), "{edges:?}");
    }
}

/// A frontier is reached from no first neighbor, as those are larger hubs: its few lists are read,
/// and not those of all vertices that it might have reached.
#[test]
fn a_small_frontier_is_pushed_where_first_neighbors_do_not_answer() {
    const MANY: u64 = 100_000;
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (folder.path().join("edges.txt"), folder.path().join("graph.oc"));
    // The source, 4 large hubs, 64 small ones, and a ring of vertices, each with a large hub and a
    // third of them with a small one.
    let (source, large, small, ring) = (0, 1, 5, 69);
    let mut text: String = (0..64).map(|hub| format!("{source} {}\n", small + hub)).collect();
    for at in 0..MANY {
        let (vertex, next) = (ring + at, ring + (at + 1) % MANY);
        text += &format!("{vertex} {next}\n{vertex} {}\n", large + at % 4);
        if at % 3 == 0 {
            text += &format!("{vertex} {}\n", small + at % 64);
        }
    }
    std::fs::write(&input, text).unwrap();
    let options = BuildOptions { directed: Some(false), ..BuildOptions::default() };
    build_file(&Disk::new(), &input, &output, &options).unwrap();
    let graph = Graph::open(&Disk::new(), &output).unwrap();
    let asked = request("bfs", &[Source::Key(Key::Number(source))]);
    for model in [MemoryModel::InMemory, MemoryModel::SemiExternal] {
        let by = |direction| {
            run(&graph, "bfs", &asked, &RunConfig { model: Some(model), direction, ..config() })
        };
        let (auto, pulled) = (by(SearchDirection::Auto), by(SearchDirection::Pull));
        assert!(
            values(&auto) == values(&pulled) && values(&auto) == values(&by(SearchDirection::Push))
        );
        // First neighbors take 300 KB, lists 1.4 MB.
        let bytes = auto.report.per_iteration[1].bytes_read;
        assert!(bytes < 600 << 10, "{model:?}: {bytes} bytes");
        let level = |iteration: usize| auto.report.per_iteration[iteration].active;
        assert_eq!([level(0), level(1)], [1, 64]);
    }
}
