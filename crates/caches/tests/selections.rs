//! Selections: what is chosen, that it does not depend on threads or memory, and what becomes of it
//! when the graph or the file changes.

use std::{path::Path, sync::Arc};

use outercore_caches::{
    Divisor, Penalty, Runs, Saved, Select, SelectOptions, SelectSettings, SelectedLists, path_of,
    select,
};
use outercore_graph::{Direction, Graph, GraphError, Order, Silent};
use outercore_storage::{Disk, Fault, FaultPlan, HugePages, Resources};
use outercore_testing::{
    Built, Edges, Ids, Random, Recipe, build, lists, names, reference,
    reference::Gvs,
    shapes::{duplicates, skewed, star_in, uniform},
};

/// What is usual for a small graph: pages of few lists.
fn options(graph: &Graph, size: u64) -> SelectOptions {
    let usual = SelectSettings::default().options(graph, &Resources::default()).unwrap();
    let size = size + SelectedLists::overhead(graph);
    let divisor = Divisor::Own;
    let usual = SelectOptions { sample: 0, ..usual };
    SelectOptions { size, rounds: 4, block: 64, threads: 2, divisor, memory: 64 << 20, ..usual }
}

/// The vertices that are chosen, of each direction.
fn chosen(graph: &Graph, options: &SelectOptions) -> Vec<Vec<u64>> {
    let about = select(graph, options, &Silent).unwrap();
    let saved = Saved::of(graph).unwrap();
    assert_eq!(saved.about, about);
    let vertices = |side: &outercore_caches::Side| saved.vertices(graph, side).unwrap();
    about.sides.iter().map(vertices).collect()
}

fn built(edges: &[(u32, u32)], directed: bool) -> Built {
    build(
        &Edges::of(edges, directed),
        &Recipe { order: Order::Original, lists: true, ..Recipe::default() },
    )
}

fn graphs() -> Vec<Built> {
    let mut random = Random::new(20);
    let mut graphs = Vec::new();
    for directed in [true, false] {
        graphs.push(built(&uniform(90, 500, &mut random), directed));
        graphs.push(built(&skewed(120, 700, &mut random), directed));
        graphs.push(built(&duplicates(40, 300, &mut random), directed));
        graphs.push(built(&star_in(50), directed));
    }
    graphs
}

#[test]
fn gvs_chooses_what_the_reference_does() {
    for built in graphs() {
        let graph = &built.graph;
        let width = u64::from(graph.manifest().neighbor_bytes);
        for (room, rounds, page) in [(200, 1, 64), (200, 7, 64), (90, 100, 16), (5000, 3, 512)] {
            let asked = SelectOptions { rounds, block: page, ..options(graph, room) };
            let expected = [Direction::Out, Direction::In].map(|direction| {
                let lists = graph.rows(direction).map(|rows| lists(graph, rows));
                let asked = Gvs { width, page, room, rounds };
                lists.map(|lists| reference::gvs(&lists, asked))
            });
            for (found, expected) in chosen(graph, &asked).into_iter().zip(expected) {
                let found: Vec<usize> = found.into_iter().map(|vertex| vertex as usize).collect();
                assert_eq!(Some(found), expected, "{room} {rounds} {page}");
            }
        }
    }
}

#[test]
fn a_selection_depends_on_neither_threads_nor_memory() {
    let mut random = Random::new(7);
    let built = built(&skewed(20_000, 150_000, &mut random), true);
    let graph = &built.graph;
    for (penalty, divisor) in [
        (Penalty::Highest, Divisor::Own),
        (Penalty::Lowest, Divisor::Arriving),
        (Penalty::Highest, Divisor::Both),
    ] {
        let asked =
            SelectOptions { penalty, divisor, rounds: 30, block: 4096, ..options(graph, 40 << 10) };
        let first = chosen(graph, &asked);
        assert!(first.iter().all(|vertices| vertices.len() > 500));
        // 26 MiB are not enough for the lists, 25 not for what is read at a time.
        for (threads, memory) in [(1, 64 << 20), (3, 64 << 20), (2, 26 << 20), (3, 26 << 20)] {
            let asked = SelectOptions { threads, memory, ..asked };
            assert!(chosen(graph, &asked) == first, "{threads} {memory}");
        }
        let small = select(graph, &SelectOptions { memory: 1 << 20, ..asked }, &Silent);
        assert!(matches!(small, Err(GraphError::Memory { .. })));
    }
}

#[test]
fn plain_selections_are_what_they_are_called() {
    let mut random = Random::new(9);
    let built = built(&skewed(2000, 9000, &mut random), true);
    let (graph, lists) = (&built.graph, lists(&built.graph, Direction::Out));
    let by = |select, seed| {
        let asked = SelectOptions { select, seed, ..options(graph, 3000) };
        chosen(graph, &asked).swap_remove(0)
    };
    let degrees = |vertices: &[u64]| -> Vec<usize> {
        vertices.iter().map(|&vertex| lists[vertex as usize].len()).collect()
    };
    let (high, low) = (degrees(&by(Select::HighDegree, 1)), degrees(&by(Select::LowDegree, 1)));
    assert!(high.is_sorted_by(|a, b| a >= b) && low.is_sorted());
    assert!(high[0] == lists.iter().map(Vec::len).max().unwrap() && low[0] == 1);
    let width = graph.manifest().neighbor_bytes as usize;
    let packed = |&vertex: &u64| {
        let vertex = vertex as usize;
        reference::packed_bytes(vertex, &lists[vertex], width as u64)
    };
    let bytes: u64 = by(Select::HighDegree, 1).iter().map(packed).sum();
    assert!(bytes <= 3000 && bytes > 2990, "{bytes}: what is short fills the rest");
    assert_eq!(by(Select::Random, 1), by(Select::Random, 1));
    assert_ne!(by(Select::Random, 1), by(Select::Random, 2));
}

fn load(graph: &Graph, bytes: u64) -> Result<SelectedLists, GraphError> {
    let sections = ["out.adjacency", "in.adjacency"].map(str::to_owned);
    SelectedLists::load(graph, &sections, bytes, (false, Runs::Search), (2, HugePages::Off))
}

/// A graph of these edges at `path`, in the place of the one that was there.
fn replaced(edges: &[(u32, u32)], path: &Path, ids: Ids) -> Built {
    let recipe = Recipe { ids, lists: true, ..Recipe::default() };
    let built = build(&Edges::of(edges, true), &recipe);
    let (from, to) = (path_of(path), path_of(built.graph.path()));
    std::fs::copy(from, to).unwrap();
    built
}

#[test]
fn a_selection_outlives_a_rebuild_and_small_changes_and_no_other_graph_takes_it() {
    for ids in [Ids::Sparse, Ids::Names] {
        let mut random = Random::new(11);
        let mut edges = skewed(3000, 20_000, &mut random);
        let recipe = Recipe { ids, order: Order::Original, lists: true, ..Recipe::default() };
        let first = build(&Edges::of(&edges, true), &recipe);
        let size = options(&first.graph, 6000).size;
        select(&first.graph, &options(&first.graph, 6000), &Silent).unwrap();
        let report = load(&first.graph, 2 * size).unwrap().report;
        assert!(report.is_current && report.valid_share == 1.0, "{report:?}");
        assert!(report.bytes > 11_500 && report.bytes <= 12_000 && report.load_bytes_read > 0);
        let half = load(&first.graph, size).unwrap().report;
        assert!(half.lists < report.lists && half.bytes <= 6000, "what was chosen first");

        // Another order, and so other internal ids.
        let path = first.graph.path();
        let again = load(&replaced(&edges, path, ids).graph, 2 * size).unwrap().report;
        assert!(!again.is_current && again.valid_share == 1.0, "{again:?}");
        // Gaps are others, and so are the lists that fit.
        assert!(again.lists * 10 > report.lists * 8 && again.bytes <= 12_000, "{again:?}");

        for at in 0..edges.len() / 17 {
            edges[at * 17] = (random.below(3000u32), random.below(3000u32));
        }
        let changed = load(&replaced(&edges, path, ids).graph, 2 * size).unwrap().report;
        assert!(changed.valid_share > 0.9 && changed.valid_share < 1.0, "{changed:?}");

        let other = replaced(&uniform(3000, 50_000, &mut random), path, ids);
        assert!(matches!(load(&other.graph, size), Err(GraphError::Usage(_))));
        let undirected =
            build(&Edges::of(&edges, false), &Recipe { ids, lists: true, ..Recipe::default() });
        std::fs::copy(path_of(path), path_of(undirected.graph.path())).unwrap();
        assert!(matches!(load(&undirected.graph, size), Err(GraphError::Usage(_))));
    }
}

#[test]
fn a_damaged_selection_is_told_and_the_graph_is_as_it_was() {
    let mut random = Random::new(13);
    let built = built(&uniform(300, 2000, &mut random), true);
    let graph = &built.graph;
    assert!(matches!(load(graph, 1000), Err(GraphError::Usage(_))), "there is none");
    select(graph, &options(graph, 1000), &Silent).unwrap();
    let path = path_of(graph.path());
    let sound = std::fs::read(&path).unwrap();
    for at in (0..sound.len()).step_by(sound.len() / 97).chain([sound.len() - 1]) {
        let mut bytes = sound.clone();
        bytes[at] ^= 1 << random.below(8u32);
        for bytes in [&bytes[..], &sound[..at]] {
            std::fs::write(&path, bytes).unwrap();
            let Err(GraphError::Selection { path: named, .. }) = load(graph, 1000) else {
                panic!("byte {at}");
            };
            assert_eq!(named, path);
        }
    }
    std::fs::write(&path, &sound).unwrap();
    assert!(load(graph, 1000).unwrap().report.lists > 0);
    let faults = outercore_graph::check(&Disk::new(), graph.path(), &Silent).unwrap();
    assert!(faults.is_empty(), "{faults:?}");
}

#[test]
fn whatever_fails_the_old_selection_or_the_new_one_is_there() {
    let built = built(&uniform(40, 200, &mut Random::new(3)), true);
    let path = built.graph.path();
    let new = SelectOptions { rounds: 1, threads: 1, ..options(&built.graph, 1000) };
    let old = SelectOptions { select: Select::Random, ..new };
    let there = || Saved::of(&built.graph).unwrap().about.select;
    let attempt = |plan: FaultPlan| {
        select(&built.graph, &old, &Silent).unwrap();
        let plan = Arc::new(plan);
        let disk = Disk::with_faults(Arc::clone(&plan));
        let done = Graph::open(&disk, path).and_then(|graph| select(&graph, &new, &Silent));
        (done.is_ok(), plan.operations())
    };
    let (done, operations) = attempt(FaultPlan::count_only());
    assert!(done && there() == "gvs");
    let left = names(path.parent().unwrap());
    let mut failed = 0;
    for number in 0..operations {
        let (done, _) = attempt(FaultPlan::nth(number, Fault::Error(28)));
        assert_eq!(there(), if done { "gvs" } else { "random" }, "operation {number}");
        assert_eq!(names(path.parent().unwrap()), left, "operation {number}");
        failed += u64::from(!done);
    }
    assert!(failed > 10, "{failed} of {operations}");
}
