//! Orders: what each is on small graphs, that nothing but the order changes, and that it is the
//! same whatever the threads and the budget.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use outercore_algorithms::{Request, Source, by_name};
use outercore_engine::{MemoryModel, RunConfig};
use outercore_graph::{
    BuildOptions, Direction, Graph, GraphError, Key, Layout, Order, Silent, WeightKind, check,
    format::number, generate::Rmat,
};
use outercore_ordering::{Means, reorder};
use outercore_storage::{Disk, Named};
use outercore_testing::{
    Built, Edges, Ids, Random, Recipe, Shape, build, essence, folder, generate, shapes, share,
};

/// Orders that are found in a graph.
fn found() -> impl Iterator<Item = Order> {
    Order::ALL.iter().copied().filter(|order| order.is_found())
}

fn options(order: Order) -> BuildOptions {
    BuildOptions { memory: 64 << 20, threads: 2, order, ..BuildOptions::default() }
}

/// The graph in another order, in `place`.
fn ordered(graph: &Graph, place: &Path, options: &BuildOptions, means: Means) -> Graph {
    let path = place.join(format!("{}.oc", options.order));
    let done = reorder(graph, &path, options, means, &Silent);
    done.unwrap_or_else(|error| panic!("{}: {error}", options.order));
    let faults = check(&Disk::new(), &path, &Silent).unwrap();
    assert!(faults.is_empty(), "{}: {faults:?}", options.order);
    Graph::open(&Disk::new(), &path).unwrap()
}

/// The original ids by place.
fn keys(graph: &Graph) -> Vec<Key> {
    (0..graph.vertices()).map(|vertex| graph.key_of(vertex).unwrap()).collect()
}

/// The original ids by place of a graph of these edges in this order.
fn sequence(pairs: &[(u32, u32)], directed: bool, order: Order, means: Means) -> Vec<u64> {
    let recipe = Recipe { order: Order::Original, lists: true, ..Recipe::default() };
    let built = build(&Edges::of(pairs, directed), &recipe);
    let place = folder();
    let graph = ordered(&built.graph, place.path(), &options(order), means);
    let keys = keys(&graph).into_iter().take(graph.connected() as usize);
    keys.map(|key| key.as_number().unwrap()).collect()
}

/// Every edge by original ids, with its weight, sorted.
fn edges(graph: &Graph) -> Vec<(Key, Key, u64)> {
    let keys = keys(graph);
    let mut all = Vec::new();
    let visit = &mut |rows: &outercore_graph::EdgeRows| {
        for (index, (&source, &target)) in rows.sources.iter().zip(&rows.targets).enumerate() {
            let (mut source, mut target) = (&keys[source as usize], &keys[target as usize]);
            if !graph.directed() && source > target {
                (source, target) = (target, source);
            }
            let weight = rows.weights.get(index).copied().unwrap_or(0.0).to_bits();
            all.push((source.clone(), target.clone(), weight));
        }
        Ok(())
    };
    graph.for_each_edge(100, visit).unwrap();
    all.sort();
    all
}

/// 0 has the most incoming edges, and then 5. Lists are in the order of ids.
const PAIRS: [(u32, u32); 10] =
    [(0, 7), (0, 3), (3, 9), (7, 2), (9, 4), (1, 0), (2, 0), (4, 0), (6, 5), (8, 5)];

#[test]
fn norder_gives_ids_in_the_order_of_searches_of_depth_two() {
    // 0, its neighbors 3 and 7, theirs 9 and 2. The next root is 5, which leads nowhere. 4 is
    // beyond the depth: it is a root of its own, before those without incoming edges.
    let order = sequence(&PAIRS, true, Order::Norder, Means::default());
    assert_eq!(order, [0, 3, 7, 9, 2, 5, 4, 1, 6, 8]);
}

/// All neighbors of a vertex are side by side, also where a search has ended with it.
#[test]
fn norder_searches_from_vertices_that_were_visited_too() {
    let more = [(9, 20), (9, 10), (8, 11)];
    let order = sequence(&[&PAIRS[..], &more].concat(), true, Order::Norder, Means::default());
    // 3 is a root again before 10, 11 and 20: two levels below are what 9 leads to.
    assert_eq!(order, [0, 3, 7, 9, 2, 5, 4, 10, 20, 11, 1, 6, 8]);
}

/// Two paths that end where they begin.
#[test]
fn bounded_searches_go_on_where_the_nearest_has_ended() {
    let path = |first: u32| (0..69).map(move |at| (first + at, first + at + 1));
    let ends = [(0, 101), (0, 201), (170, 0), (270, 0)];
    let pairs: Vec<_> = path(101).chain(path(201)).chain(ends).collect();
    let order = sequence(&pairs, true, Order::HubsBfs, Means::default());
    let both = (1..=32).flat_map(|level| [100 + level, 200 + level]);
    let patches = [133..=165, 233..=265, 166..=170, 266..=270].into_iter().flatten();
    assert_eq!(order, [0].into_iter().chain(both).chain(patches).collect::<Vec<_>>());
}

#[test]
fn classes_of_degree_descend_and_each_is_in_the_order_of_the_search() {
    let mut random = Random::new(3);
    let pairs = shapes::skewed(500, 4000, &mut random);
    let [search, classes] =
        [Order::Bfs, Order::HubsBfs].map(|order| sequence(&pairs, true, order, Means::default()));
    let mut degrees = BTreeMap::new();
    let ends = pairs.iter().flat_map(|&(source, target)| [source, target]);
    ends.for_each(|end| *degrees.entry(u64::from(end)).or_insert(0.0) += 1.0);
    let mean = degrees.values().sum::<f64>() / degrees.len() as f64;
    let class = |id: &u64| (degrees[id] / (2.0 * mean)).log2().floor().max(-1.0) as i64;
    let mut expected = search;
    expected.sort_by_key(|id| -class(id));
    assert!(class(&expected[0]) > class(&expected[100]), "there are hubs");
    assert_eq!(classes, expected);
}

#[test]
fn searches_in_breadth_go_as_far_as_edges_lead() {
    let order = sequence(&PAIRS, true, Order::Bfs, Means::default());
    assert_eq!(order, [0, 3, 7, 9, 2, 4, 5, 1, 6, 8]);
}

#[test]
fn in_degrees_descend_and_ties_are_by_id() {
    let order = sequence(&PAIRS, true, Order::InDegree, Means::default());
    assert_eq!(order, [0, 5, 2, 3, 4, 7, 9, 1, 6, 8]);
}

#[test]
fn ranks_descend() {
    let order = sequence(&PAIRS, true, Order::PageRank, Means::default());
    // What nothing leads to has the least, and is in order of ids.
    assert_eq!((order[0], &order[7..]), (0, &[1, 6, 8][..]));
}

#[test]
fn hubs_come_before_neighborhoods() {
    // 12 has 60 leaves, and is in no other neighborhood before them.
    let mut pairs = PAIRS.to_vec();
    pairs.extend((20..80).map(|leaf| (12, leaf)));
    let norder = sequence(&pairs, true, Order::Norder, Means::default());
    let hubs = sequence(&pairs, true, Order::HubsNorder, Means::default());
    assert_eq!((norder[0], hubs[0]), (0, 12));
    let rest: Vec<u64> = norder.into_iter().filter(|&id| id != 12).collect();
    assert_eq!(hubs[1..], rest);
}

/// Pairs of vertices that two vertices of their own lead to; the ids of a pair are far apart.
#[test]
fn gorder_puts_vertices_with_common_neighbors_side_by_side() {
    const PAIRS: u32 = 20;
    let edges = |pair: u32| {
        let (one, other) = (pair, pair + PAIRS);
        [2 * PAIRS, 3 * PAIRS]
            .into_iter()
            .flat_map(move |first| [(first + pair, one), (first + pair, other)])
    };
    let pairs: Vec<(u32, u32)> = (0..PAIRS).flat_map(edges).collect();
    for window in [1, 5] {
        let means = Means { window, ..Means::default() };
        let order = sequence(&pairs, true, Order::Gorder, means);
        let place = |id: u32| order.iter().position(|&found| found == u64::from(id)).unwrap();
        for pair in 0..PAIRS {
            assert_eq!(place(pair).abs_diff(place(pair + PAIRS)), 1, "{order:?}");
        }
    }
}

/// What leads to everything joins nothing.
#[test]
fn gorder_passes_over_the_longest_lists() {
    let pairs: Vec<(u32, u32)> = (1..50).map(|vertex| (0, vertex)).collect();
    let order = sequence(&pairs, true, Order::Gorder, Means::default());
    // Nothing has anything in common, and so in-degrees decide.
    assert_eq!(order, (1..50).chain([0]).collect::<Vec<_>>());
}

#[test]
fn random_orders_follow_the_seed() {
    let pairs: Vec<(u32, u32)> = (0..200).map(|vertex| (vertex, (vertex * 7 + 1) % 200)).collect();
    let of = |seed| sequence(&pairs, true, Order::Random, Means { seed, ..Means::default() });
    assert_eq!(of(1), of(1));
    assert_ne!(of(1), of(2));
    assert!(!of(1).is_sorted());
}

/// Shapes with isolated vertices, duplicates, loops and weights, by all kinds of ids.
fn cases() -> Vec<(Shape, Built)> {
    let mut random = Random::new(5);
    let named = |name: &str, graph| Shape { name: name.to_owned(), graph };
    let duplicates = Edges::of(&shapes::duplicates(60, 400, &mut random), true);
    let all = [
        shapes::isolated(true, 3),
        shapes::isolated(false, 4),
        shapes::random(11),
        shapes::random(12),
        named("duplicates", Edges { directed: false, ..duplicates.clone() }),
        named("both ways", duplicates),
    ];
    let weights = [WeightKind::U32, WeightKind::F64, WeightKind::None];
    let built = |(index, shape): (usize, Shape)| {
        let recipe = Recipe {
            ids: Ids::ALL[index % 4],
            weights: weights[index % 3],
            simple: index == 3,
            lists: true,
            ..Recipe::default()
        };
        let built = build(&shape.graph, &recipe);
        (shape, built)
    };
    all.into_iter().enumerate().map(built).collect()
}

#[test]
fn nothing_but_the_order_changes() {
    for (shape, built) in cases() {
        let (place, graph) = (folder(), &built.graph);
        let (mut ids, known) = (keys(graph), edges(graph));
        ids.sort();
        for &order in Order::ALL {
            let other = ordered(graph, place.path(), &options(order), Means::default());
            let name = format!("{} in the order {order}", shape.name);
            let mut found = keys(&other);
            found.sort();
            assert_eq!((ids.clone(), &known), (found, &edges(&other)), "{name}");
            let (before, after) = (graph.manifest(), other.manifest());
            assert_eq!(after.order, order);
            assert_eq!(before.extra, after.extra, "{name}");
            assert_eq!(before.ids, after.ids, "{name}");
            assert_eq!(
                [before.edges, before.arcs, before.max_out_degree.0, before.max_in_degree],
                [after.edges, after.arcs, after.max_out_degree.0, after.max_in_degree],
                "{name}"
            );
            assert_eq!(
                (before.directed, before.transpose, before.simple, before.weight_bytes),
                (after.directed, after.transpose, after.simple, after.weight_bytes),
                "{name}"
            );
        }
    }
}

/// A search takes the first neighbor for a parent, and parents are the smallest ones.
#[test]
fn first_neighbors_have_the_smallest_ids_in_every_order() {
    let mut random = Random::new(9);
    let graph = Edges::of(&shapes::skewed(300, 3000, &mut random), true);
    for order in Order::ALL {
        let built = build(&graph, &Recipe { order: *order, lists: true, ..Recipe::default() });
        let heads = built.graph.read_section("in.heads").unwrap();
        let width = built.graph.manifest().neighbor_bytes as usize;
        let mut smallest: BTreeMap<usize, u64> = BTreeMap::new();
        for (source, target, _) in graph.arcs() {
            let source = built.internal[source];
            let least = smallest.entry(built.internal[target] as usize).or_insert(source);
            *least = source.min(*least);
        }
        for (vertex, least) in smallest {
            assert_eq!(number(&heads[vertex * width..(vertex + 1) * width]), least, "{order}");
        }
    }
}

/// Small ids are those of hubs, or of what a search from a hub meets first. So the smallest
/// in-neighbor of most vertices is on the level before, and pulls look at few lists. Ids that say
/// nothing are those of few parents.
#[test]
fn pulls_look_at_few_edges_in_orders_that_begin_with_hubs_or_neighborhoods() {
    let place = folder();
    let options = |order| BuildOptions { memory: 128 << 20, ..options(order) };
    let rmat = Rmat::new(14, 16);
    let original = generate(place.path().join("rmat.oc"), rmat, options(Order::Original));
    let looked_at = |graph: &Graph| -> u64 {
        let model = Some(MemoryModel::SemiExternal);
        let asked = RunConfig { model, memory: 64 << 20, threads: 2, ..RunConfig::default() };
        let request = Request { source: Some(Source::MaxDegree), ..Request::default() };
        let found = by_name("bfs", &request)
            .unwrap()
            .run(graph, &asked, &outercore_engine::Silent)
            .unwrap();
        found.report.io.worker_edges.iter().sum()
    };
    let (all, before) = (original.manifest().arcs, looked_at(&original));
    assert!(before > all / 20, "{before} of {all}");
    for order in [Order::Degree, Order::Norder, Order::Bfs, Order::HubsBfs] {
        let graph = ordered(&original, place.path(), &options(order), Means::default());
        let edges = looked_at(&graph);
        assert!(edges * 2 < before, "{order}: {edges}, {before} of {all}");
    }
}

#[test]
fn threads_and_budgets_do_not_matter() {
    let mut random = Random::new(2);
    let shape = Edges::of(&shapes::skewed(3000, 20_000, &mut random), true);
    let recipe = Recipe { order: Order::Original, lists: true, ..Recipe::default() };
    let built = build(&shape, &recipe);
    for order in found() {
        let of = |threads, mib: u64| {
            let place = folder();
            let options = BuildOptions { threads, memory: mib << 20, ..options(order) };
            let graph = ordered(&built.graph, place.path(), &options, Means::default());
            essence(graph.path())
        };
        let once = of(1, 64);
        assert!(once == of(3, 64), "{order}: threads");
        assert!(once == of(2, 500), "{order}: budgets");
    }
}

#[test]
fn layouts_and_stripes_can_be_others() {
    let built = build(&shapes::random(21).graph, &Recipe { lists: true, ..Recipe::default() });
    let place = folder();
    let stripes: Vec<PathBuf> = (0..2).map(|at| place.path().join(format!("s{at}"))).collect();
    for layout in [Layout::Grid, Layout::Row, Layout::Hybrid] {
        let options = BuildOptions {
            layout,
            stripes: stripes.clone(),
            force: true,
            ..options(Order::Norder)
        };
        let graph = ordered(&built.graph, place.path(), &options, Means::default());
        assert_eq!(graph.layout(), layout);
        assert_eq!(edges(&graph), edges(&built.graph));
    }
}

#[test]
fn without_incoming_edges_all_but_gorder_are_found() {
    let shape = shapes::random(31);
    let both = Recipe { weights: WeightKind::None, lists: true, ..Recipe::default() };
    let directed = Edges { directed: true, ..shape.graph };
    let (with, without) =
        (build(&directed, &both), build(&directed, &Recipe { transpose: false, ..both }));
    for order in found() {
        let place = [folder(), folder()];
        let options = BuildOptions { transpose: false, ..options(order) };
        if order == Order::Gorder {
            let path = place[0].path().join("g.oc");
            let refused = reorder(&without.graph, &path, &options, Means::default(), &Silent);
            assert!(matches!(refused, Err(GraphError::Usage(_))));
            continue;
        }
        let [one, other] = [(&with, &place[0]), (&without, &place[1])]
            .map(|(built, place)| ordered(&built.graph, place.path(), &options, Means::default()));
        assert_eq!(keys(&one), keys(&other), "{order}");
        assert!(one.rows(Direction::In).is_none());
    }
}

#[test]
fn bad_asks_are_refused_and_leave_all_as_it_was() {
    let built = build(&shapes::random(41).graph, &Recipe { lists: true, ..Recipe::default() });
    let (place, graph) = (folder(), &built.graph);
    let before = essence(graph.path());
    let to = |path: &Path, options: BuildOptions| {
        reorder(graph, path, &options, Means::default(), &Silent).unwrap_err()
    };
    for force in [false, true] {
        let error = to(graph.path(), BuildOptions { force, ..options(Order::Norder) });
        assert!(matches!(error, GraphError::Usage(_)), "{error}");
    }
    let link = place.path().join("link.oc");
    std::os::unix::fs::symlink(graph.path(), &link).unwrap();
    let error = to(&link, BuildOptions { force: true, ..options(Order::Degree) });
    assert!(matches!(error, GraphError::Usage(_)), "{error}");
    let taken = ordered(graph, place.path(), &options(Order::Random), Means::default());
    let error = to(taken.path(), options(Order::Norder));
    assert!(matches!(error, GraphError::Exists { .. }), "{error}");
    let error = to(&place.path().join("n.oc"), BuildOptions { memory: 1, ..options(Order::Bfs) });
    assert!(matches!(error, GraphError::Memory { .. }), "{error}");
    assert!(before == essence(graph.path()));
    let mut left = outercore_testing::names(place.path());
    left.sort();
    assert_eq!(left, ["link.oc", "random.oc"]);
}

/// The budget that a refusal names is enough at once, with many threads too, and less is not; what
/// does not fit is read ahead.
fn named_budgets_are_enough(orders: impl IntoIterator<Item = Order>) {
    let mut random = Random::new(7);
    let vertices = 400_000 / share(2) as u32;
    let pairs = shapes::uniform(vertices, 3 * vertices, &mut random);
    let recipe = Recipe { lists: true, ..Recipe::default() };
    let built = build(&Edges::of(&pairs, true), &recipe);
    for order in orders {
        let place = folder();
        let of = |memory: u64, threads: usize, name: &str| {
            let options = BuildOptions { memory, threads, ..options(order) };
            let path = place.path().join(name);
            reorder(&built.graph, &path, &options, Means::default(), &Silent)?;
            Graph::open(&Disk::new(), &path)
        };
        let ample = of(500 << 20, 2, "ample.oc").unwrap();
        let counts = if order == Order::Degree { &[1, 2, 7][..] } else { &[7] };
        for &threads in counts {
            let refused = |memory: u64| match of(memory, threads, "small.oc") {
                Err(GraphError::Memory { needed, budget, .. }) => {
                    assert_eq!(budget, memory, "{order}");
                    needed
                }
                other => panic!("{order}: {memory} bytes: {:?}", other.map(|_| ())),
            };
            let needed = refused(1 << 20);
            assert!(needed < 80 << 20, "{order} takes {needed}");
            assert_eq!(refused(needed - 1), needed, "{order}");
            let name = format!("{threads}.oc");
            let small = of(needed, threads, &name).unwrap_or_else(|error| {
                panic!("{order}, {threads} threads, {needed} bytes: {error}")
            });
            assert_eq!(keys(&small), keys(&ample), "{order}");
        }
    }
}

#[test]
fn budgets_that_are_named_are_enough() {
    let given = [Order::Degree, Order::Original].into_iter();
    named_budgets_are_enough(given.chain(found().step_by(2)));
}

#[test]
fn budgets_that_are_named_are_enough_for_other_orders() {
    named_budgets_are_enough(found().skip(1).step_by(2));
}
