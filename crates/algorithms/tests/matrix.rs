//! Every algorithm on every shape, in every way of running it: each vertex's value is that of the
//! serial reference, and the same bits come out whatever the memory model, the backend and the
//! number of threads.

mod reference;
mod shapes;
mod support;

use std::collections::BTreeMap;

use outercore_algorithms::{NAMES, Request, Source};
use outercore_engine::{
    Cell, EngineError, Figure, IoBackend, MemoryModel, Outcome, ReadPolicy, RunConfig,
};
use outercore_graph::{Direction, Graph, Order, WeightKind};

use reference::Edges;
use shapes::{Random, Shape};
use support::{Built, Ids, Recipe, bits, cells, number, whole};

/// Every way of running.
fn every_way() -> Vec<RunConfig> {
    let mut ways = Vec::new();
    for model in [MemoryModel::InMemory, MemoryModel::SemiExternal] {
        for read in [ReadPolicy::Auto, ReadPolicy::Full, ReadPolicy::OnDemand] {
            for io in [IoBackend::Uring, IoBackend::Blocking] {
                for threads in [1, 2] {
                    ways.push(RunConfig {
                        model: Some(model),
                        read,
                        io,
                        threads,
                        ..support::config()
                    });
                }
            }
        }
    }
    for io in [IoBackend::Uring, IoBackend::Blocking] {
        ways.extend([1, 2].map(|threads| RunConfig {
            model: Some(MemoryModel::FullyExternal),
            io,
            threads,
            ..support::config()
        }));
    }
    ways
}

/// A few of them, each value of each choice among them.
fn some_ways() -> Vec<RunConfig> {
    let way = |model, read, io, threads| RunConfig {
        model: Some(model),
        read,
        io,
        threads,
        ..support::config()
    };
    vec![
        way(MemoryModel::SemiExternal, ReadPolicy::Auto, IoBackend::Uring, 2),
        way(MemoryModel::InMemory, ReadPolicy::OnDemand, IoBackend::Blocking, 1),
        way(MemoryModel::SemiExternal, ReadPolicy::Full, IoBackend::Blocking, 2),
        way(MemoryModel::FullyExternal, ReadPolicy::Auto, IoBackend::Uring, 2),
    ]
}

/// Where searches start, all of them vertices with edges; the first twice, so that equal ones are
/// not one.
fn sources(edges: &Edges) -> Vec<u32> {
    let edge = |index: usize| edges.edges[index];
    let first = edge(edges.edges.len() / 3).0;
    vec![first, edge(0).0, first, edge(edges.edges.len() - 1).1]
}

/// The parameters of an algorithm.
fn request(name: &str, ids: Ids, sources: &[u32]) -> Request {
    let key = |&vertex: &u32| Source::Key(ids.key(vertex));
    match name {
        "bfs" | "sssp" => Request { source: sources.first().map(key), ..Request::default() },
        "pagerank" => Request { iterations: Some(15), ..Request::default() },
        "pagerank-delta" => Request { tolerance: Some(1e-8), ..Request::default() },
        "diameter" => Request { exact: true, ..Request::default() },
        "betweenness" | "multi-source" => {
            Request { sources: sources.iter().map(key).collect(), ..Request::default() }
        }
        _ => Request::default(),
    }
}

/// Compares an outcome with the reference.
fn verify(name: &str, edges: &Edges, built: &Built, sources: &[u32], outcome: &Outcome) {
    let source = sources[0];
    let values = outcome.columns.first().map(|column| cells(built, column)).unwrap_or_default();
    match name {
        "bfs" => {
            let levels: Vec<_> = values.iter().map(|&cell| whole(cell)).collect();
            assert_eq!(levels, reference::bfs(edges, source));
            parents(
                edges,
                source,
                &levels,
                &cells(built, &outcome.columns[1]).into_iter().map(whole).collect::<Vec<_>>(),
            );
        }
        "sssp" => close(&numbers(&values), &reference::sssp(edges, source)),
        "components" => {
            let labels: Vec<u64> = values
                .iter()
                .map(|&cell| whole(cell).expect("every vertex is in a component"))
                .collect();
            assert_eq!(reference::by_smallest_member(&labels), reference::components(edges));
            assert!(
                labels.iter().all(|&label| labels[label as usize] == label),
                "a component is named by one of its own"
            );
        }
        "pagerank" => {
            let expected = reference::pagerank(edges, 15);
            let distance: f64 = values
                .iter()
                .zip(&expected)
                .map(|(&cell, expected)| (number(cell).unwrap() - expected).abs())
                .sum();
            assert!(distance < 1e-6, "L1 distance {distance}");
        }
        "pagerank-delta" => {
            let expected = reference::pagerank(edges, 200);
            let distance: f64 = values
                .iter()
                .zip(&expected)
                .map(|(&cell, expected)| (number(cell).unwrap() - expected).abs())
                .sum();
            assert!(distance < 1e-6, "L1 distance {distance}");
        }
        "kcore" => {
            let cores: Vec<u64> = values
                .iter()
                .map(|&cell| whole(cell).expect("every vertex has a core number"))
                .collect();
            assert!(cores.into_iter().eq(reference::kcore(edges).into_iter().map(u64::from)));
        }
        "betweenness" => close(&numbers(&values), &present(reference::betweenness(edges, sources))),
        "multi-source" => {
            let levels = reference::multi_source(edges, sources);
            let reached = (0..edges.n)
                .map(|vertex| levels.iter().filter(|row| row[vertex].is_some()).count() as u64);
            assert!(values.iter().map(|&cell| whole(cell).unwrap()).eq(reached));
            let sums =
                (0..edges.n).map(|vertex| levels.iter().filter_map(|row| row[vertex]).sum::<u64>());
            assert!(
                cells(built, &outcome.columns[1])
                    .into_iter()
                    .map(|cell| whole(cell).unwrap())
                    .eq(sums)
            );
        }
        "triangles" => assert_eq!(
            outcome.report.summary["triangles"],
            Figure::Integer(reference::triangles(edges))
        ),
        "clustering" => close(&numbers(&values), &present(reference::clustering(edges))),
        "label-propagation" => {
            // Original ids are compared as they are written: rank them.
            let mut keys: Vec<u32> = (0..edges.n as u32).collect();
            keys.sort_by_key(|&vertex| built.ids.key(vertex));
            let mut ranks = vec![0; edges.n];
            keys.iter().zip(0..).for_each(|(&vertex, rank)| ranks[vertex as usize] = rank);
            let labels = reference::label_propagation(edges, 10, |vertex| ranks[vertex as usize]);
            assert!(
                values
                    .iter()
                    .map(|&cell| whole(cell))
                    .eq(labels.into_iter().map(|label| Some(label.into())))
            );
        }
        "diameter" => diameter(edges, outcome, &values, &cells(built, &outcome.columns[1])),
        "spmv" => close(&numbers(&values), &present(reference::spmv(edges, &vec![1.0; edges.n]))),
        _ => panic!("{name} has no reference here: add one"),
    }
}

/// The diameter is that of the largest component, and bounds of eccentricities hold.
fn diameter(edges: &Edges, outcome: &Outcome, lower: &[Cell], upper: &[Cell]) {
    // Of equally large ones any will do.
    let mut largest = reference::largest_components(edges).into_iter();
    let members = largest
        .find(|group| lower[group[0] as usize] != Cell::Null)
        .expect("one of the largest components has bounds");
    let figure = |name: &str| outcome.report.summary[name].clone();
    assert_eq!(
        (figure("exact"), figure("upper_bound")),
        (Figure::Bool(true), figure("lower_bound"))
    );
    let undirected = Edges { directed: false, ..edges.clone() };
    let eccentricity =
        |vertex: u32| reference::bfs(&undirected, vertex).into_iter().flatten().max();
    // Where all vertices are too many, some.
    let step = (members.len() * edges.edges.len() / 2_000_000).max(1);
    for &vertex in members.iter().step_by(step) {
        let known = eccentricity(vertex).unwrap();
        let (low, high) =
            (whole(lower[vertex as usize]).unwrap(), whole(upper[vertex as usize]).unwrap());
        assert!(low <= known && known <= high, "vertex {vertex}: {low} <= {known} <= {high}");
    }
    if step == 1 {
        let largest =
            members.iter().map(|&vertex| eccentricity(vertex).unwrap()).max().unwrap_or(0);
        assert_eq!(figure("lower_bound"), Figure::Integer(largest));
    }
    assert!((0..edges.n).all(
        |vertex| members.binary_search(&(vertex as u32)).is_ok() || lower[vertex] == Cell::Null
    ));
}

/// A parent is a neighbor one level up; whoever is reached has one, and the source has itself.
fn parents(edges: &Edges, source: u32, levels: &[Option<u64>], parents: &[Option<u64>]) {
    let mut leads = std::collections::HashSet::new();
    for &(from, to, _) in &edges.edges {
        leads.insert((from, to));
        if !edges.directed {
            leads.insert((to, from));
        }
    }
    for (vertex, parent) in parents.iter().enumerate() {
        assert_eq!(parent.is_some(), levels[vertex].is_some(), "vertex {vertex}");
        let Some(parent) = *parent else { continue };
        if vertex == source as usize {
            assert_eq!(parent, u64::from(source));
            continue;
        }
        assert!(
            leads.contains(&(parent as u32, vertex as u32)),
            "no edge leads from {parent} to {vertex}"
        );
        assert_eq!(
            levels[parent as usize].map(|level| level + 1),
            levels[vertex],
            "parent {parent} of {vertex}"
        );
    }
}

fn numbers(values: &[Cell]) -> Vec<Option<f64>> {
    values.iter().map(|&cell| number(cell)).collect()
}

fn present(values: Vec<f64>) -> Vec<Option<f64>> {
    values.into_iter().map(Some).collect()
}

fn close(values: &[Option<f64>], expected: &[Option<f64>]) {
    assert_eq!(values.len(), expected.len());
    for (vertex, pair) in values.iter().zip(expected).enumerate() {
        match pair {
            (None, None) => {}
            (Some(value), Some(expected)) => {
                assert!(
                    (value - expected).abs() <= 1e-9 * expected.abs().max(1e-300),
                    "vertex {vertex}: {value} is not {expected}"
                );
            }
            _ => panic!("vertex {vertex}: {pair:?}"),
        }
    }
}

/// The edges as the graph has them: without duplicates and loops where it is simple, with weights
/// as they are stored.
fn effective(edges: &Edges, recipe: &Recipe) -> Edges {
    let weight = |weight: f64| match recipe.weights {
        WeightKind::None => 1.0,
        WeightKind::F32 => f64::from(weight as f32),
        _ => weight,
    };
    let mut edges = Edges {
        edges: edges.edges.iter().map(|&(source, target, w)| (source, target, weight(w))).collect(),
        ..edges.clone()
    };
    if recipe.simple {
        let mut lightest: BTreeMap<(u32, u32), f64> = BTreeMap::new();
        for &(source, target, weight) in edges.edges.iter().filter(|edge| edge.0 != edge.1) {
            let ends = if edges.directed {
                (source, target)
            } else {
                (source.min(target), source.max(target))
            };
            let least = lightest.entry(ends).or_insert(weight);
            *least = least.min(weight);
        }
        edges.edges = lightest
            .into_iter()
            .map(|((source, target), weight)| (source, target, weight))
            .collect();
    }
    edges
}

/// Builds a shape by a recipe and runs everything on it in all of `ways`.
fn matrix(shape: &Shape, recipe: &Recipe, lists: bool, ways: &[RunConfig]) {
    let edges = effective(&shape.graph, recipe);
    let built = support::build(&shape.graph, recipe, lists);
    assert_eq!(built.graph.edges(), edges.edges.len() as u64, "edges of {}", shape.name);
    let sources = sources(&shape.graph);
    for name in NAMES {
        let algorithm =
            outercore_algorithms::by_name(name, &request(name, built.ids, &sources)).unwrap();
        let impossible = match *name {
            "sssp" => recipe.weights == WeightKind::None,
            "betweenness" | "triangles" | "clustering" | "label-propagation" | "diameter" => {
                edges.directed && !recipe.transpose
            }
            _ => false,
        };
        if impossible {
            let result = algorithm.run(&built.graph, &support::config(), &outercore_engine::Silent);
            assert!(
                matches!(result.err(), Some(EngineError::Usage(_))),
                "{name} needs what the graph has not"
            );
            continue;
        }
        let mut same: BTreeMap<&str, Vec<Vec<u64>>> = BTreeMap::new();
        // All ways for those that read lists and scans in their own manner; some of each kind for
        // the others, which share it.
        let all = ["bfs", "sssp", "components", "pagerank"].contains(name);
        let viewed = ["kcore", "triangles", "clustering"].contains(name)
            && (edges.directed || !recipe.simple);
        let step = match (ways.len() > 8, viewed) {
            (true, false) if !all => 9,
            (true, true) => 9,
            (false, true) => 3,
            _ => 1,
        };
        for config in ways.iter().step_by(step) {
            let what = format!(
                "{name} on {}: {recipe:?}\n{:?} {:?} {:?} {} threads",
                shape.name,
                config.model.unwrap(),
                config.read,
                config.io,
                config.threads
            );
            let _context = Context(&what);
            let external = config.model == Some(MemoryModel::FullyExternal);
            if external && resident_only(name, &built.graph) {
                assert!(
                    matches!(algorithm.plan(&built.graph, config), Err(EngineError::Usage(_))),
                    "{name} has a fully-external run: test it"
                );
                continue;
            }
            let plan = algorithm.plan(&built.graph, config).unwrap();
            assert!(
                plan.memory.iter().map(|item| item.bytes).sum::<u64>() <= config.memory,
                "{plan}"
            );
            let outcome = algorithm
                .run(&built.graph, config, &outercore_engine::Silent)
                .unwrap_or_else(|error| panic!("{what}: {error}"));
            assert_eq!(Some(outcome.report.memory_model), config.model);
            // The order in which floating-point numbers are added may follow the order of reading,
            // and nothing else.
            let class = match config.read {
                _ if external => "external",
                ReadPolicy::Auto => "auto",
                ReadPolicy::Full => "full",
                ReadPolicy::OnDemand => "on demand",
            };
            let bits = bits(&built, &outcome);
            match same.get(class) {
                Some(first) => assert_eq!(*first, bits, "the same question, other bits"),
                None => {
                    verify(name, &edges, &built, &sources, &outcome);
                    same.insert(class, bits);
                }
            }
        }
    }
}

/// Whether an algorithm needs its vertices in memory: weights come with the lists of sources, which
/// such a graph has not.
fn resident_only(name: &str, graph: &Graph) -> bool {
    name == "spmv" && graph.weights() != WeightKind::None && graph.rows(Direction::In).is_none()
}

/// Says what was being done when a test panics.
struct Context<'a>(&'a str);

impl Drop for Context<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("failed: {}", self.0);
        }
    }
}

#[test]
fn every_shape_in_every_way() {
    for (index, shape) in shapes::all(1).iter().enumerate() {
        let recipe = Recipe { ids: Ids::ALL[index % 4], ..Recipe::default() };
        matrix(shape, &recipe, false, &every_way());
    }
}

#[test]
fn every_shape_built_in_other_ways() {
    for (index, shape) in shapes::all(2).iter().enumerate() {
        let ids = Ids::ALL[(index / 2) % 4];
        let default = Recipe { ids, ..Recipe::default() };
        let recipes = [
            Recipe { order: Order::Original, ..default.clone() },
            Recipe { simple: true, threads: 1, ..default.clone() },
            Recipe { stripes: 3, ..default.clone() },
            Recipe {
                weights: WeightKind::None,
                transpose: false,
                simple: index % 3 == 0,
                ..default
            },
        ];
        // Two of the recipes for each shape, the other two for the next.
        for recipe in recipes.iter().skip(index / 2 % 2).step_by(2) {
            matrix(shape, recipe, index % 2 == 0, &some_ways());
        }
    }
}

/// Random graphs of adversarial shapes, each built and run in ways of its own: a few of them, or as
/// many as OUTERCORE_RANDOM_GRAPHS says (`make soak`: 2,000).
#[test]
fn random_graphs() {
    let count = std::env::var("OUTERCORE_RANDOM_GRAPHS")
        .map_or(60, |count| count.parse().expect("OUTERCORE_RANDOM_GRAPHS is a number"));
    let ways = every_way();
    for seed in 0..count {
        let mut random = Random::new(seed ^ 0x5eed);
        let recipe = Recipe {
            ids: Ids::ALL[random.below(4) as usize],
            order: if random.below(4) == 0 { Order::Original } else { Order::Degree },
            simple: random.below(4) == 0,
            stripes: if random.below(6) == 0 { 2 } else { 0 },
            threads: 1 + random.below(3) as usize,
            ..Recipe::default()
        };
        let mut chosen: Vec<RunConfig> = Vec::new();
        for model in [MemoryModel::InMemory, MemoryModel::SemiExternal, MemoryModel::FullyExternal]
        {
            let those: Vec<_> = ways.iter().filter(|way| way.model == Some(model)).collect();
            chosen.push(those[random.below(those.len() as u32) as usize].clone());
        }
        // Those that share a manner of reading run in the first of them alone.
        chosen.rotate_left(seed as usize % 3);
        matrix(&shapes::random(seed), &recipe, true, &chosen);
    }
}

#[test]
fn isolated_vertices() {
    for directed in [true, false] {
        for (index, ids) in Ids::ALL.into_iter().enumerate() {
            let shape = shapes::isolated(directed, 7 + index as u64);
            for order in [Order::Degree, Order::Original] {
                matrix(&shape, &Recipe { ids, order, ..Recipe::default() }, true, &some_ways());
            }
        }
    }
}

/// A vertex that has nothing but its loop, before others in the order of degrees: in the simple
/// view it has no edge, and the others keep their numbers.
#[test]
fn a_loop_alone_before_others() {
    for directed in [true, false] {
        // Five times a loop at 9: the second largest degree of all.
        let pairs = [
            (9, 9),
            (9, 9),
            (9, 9),
            (9, 9),
            (9, 9),
            (0, 1),
            (1, 2),
            (2, 0),
            (0, 3),
            (0, 4),
            (0, 5),
            (0, 6),
            (3, 4),
            (3, 5),
            (4, 5),
            (7, 8),
        ];
        let edges = pairs.iter().map(|&(source, target)| (source, target, 1.0)).collect();
        let shape =
            Shape { name: "a loop alone".to_owned(), graph: Edges { n: 10, directed, edges } };
        for order in [Order::Degree, Order::Original] {
            matrix(&shape, &Recipe { order, ..Recipe::default() }, true, &some_ways());
        }
    }
}

/// Runs `name` from `sources`, of which some are isolated.
fn from_isolated(name: &str, sources: &[u32]) {
    for directed in [true, false] {
        let shape = shapes::isolated(directed, 3);
        let built = support::build(&shape.graph, &Recipe::default(), true);
        let outcome = support::run(
            &built.graph,
            name,
            &request(name, built.ids, sources),
            &support::config(),
        );
        verify(name, &shape.graph, &built, sources, &outcome);
    }
}

#[test]
fn isolated_sources() {
    from_isolated("bfs", &[0]);
    from_isolated("sssp", &[0]);
    from_isolated("betweenness", &[0, 1, 2]);
    from_isolated("multi-source", &[0, 1, 2]);
}

#[test]
fn weights_of_every_kind() {
    let mut random = Random::new(11);
    for directed in [true, false] {
        let pairs = shapes::uniform(300, 2500, &mut random);
        for (kind, scale) in [
            (WeightKind::U32, None),
            (WeightKind::F32, Some(1000.0)),
            (WeightKind::F64, Some(1e12)),
        ] {
            let weight = |random: &mut Random| match scale {
                None => f64::from(random.bits() as u32),
                Some(scale) => (random.bits() >> 11) as f64 / (1u64 << 53) as f64 * scale,
            };
            let edges: Vec<_> = pairs
                .iter()
                .map(|&(source, target)| (source, target, weight(&mut random)))
                .collect();
            let shape = Shape {
                name: format!("random with weights {kind:?}, directed: {directed}"),
                graph: Edges { n: 300, directed, edges },
            };
            for simple in [false, true] {
                let ways = if simple { some_ways() } else { every_way() };
                matrix(&shape, &Recipe { weights: kind, simple, ..Recipe::default() }, true, &ways);
            }
        }
    }
}

/// Lists longer than a request, frontiers large enough to be shared among the workers, and more
/// edges than one tile has.
#[test]
fn long_lists_and_large_frontiers() {
    let mut random = Random::new(5);
    let shapes = [
        ("star out of 50,000", shapes::star_out(50_000)),
        ("star in of 50,000", shapes::star_in(50_000)),
        ("skewed, 300,000 edges", shapes::skewed(20_000, 300_000, &mut random)),
    ];
    for (name, pairs) in shapes {
        for directed in [true, false] {
            let edges = pairs
                .iter()
                .map(|&(source, target)| (source, target, f64::from(random.below(100))))
                .collect();
            let n = pairs
                .iter()
                .map(|&(source, target)| source.max(target) as usize + 1)
                .max()
                .unwrap();
            let shape = Shape {
                name: format!("{name}, directed: {directed}"),
                graph: Edges { n, directed, edges },
            };
            let small = |config: RunConfig| RunConfig {
                max_request: Some(16 << 10),
                max_gap: Some(0),
                ..config
            };
            let ways: Vec<_> = some_ways()
                .into_iter()
                .flat_map(|way| [way.clone(), small(RunConfig { threads: 3 - way.threads, ..way })])
                .collect();
            matrix(
                &shape,
                &Recipe { stripes: if directed { 0 } else { 2 }, ..Recipe::default() },
                true,
                &ways,
            );
        }
    }
}

/// Vertices with more edges than a worker of the builder sorts at a time, and stripes that depend
/// on its memory: the same bits all the same.
#[test]
fn buckets_of_every_size() {
    let mut random = Random::new(9);
    let mut pairs = shapes::star_in(700_000);
    pairs.extend(shapes::star_out(700_000));
    pairs.extend(shapes::skewed(700_000, 200_000, &mut random));
    let edges: Vec<_> = pairs.iter().map(|&(source, target)| (source, target, 1.0)).collect();
    let graph = Edges { n: 700_000, directed: true, edges };
    let expected = reference::pagerank(&graph, 5);
    let mut same: Option<Vec<Vec<u64>>> = None;
    for (threads, mib) in [(4, 64), (1, 64), (2, 512)] {
        let built = support::build(
            &graph,
            &Recipe { weights: WeightKind::None, threads, mib, ..Recipe::default() },
            false,
        );
        for (name, request) in [
            ("pagerank", Request { iterations: Some(5), ..Request::default() }),
            ("bfs", request("bfs", built.ids, &[1])),
            ("spmv", Request::default()),
        ] {
            let outcome = support::run(&built.graph, name, &request, &support::config());
            if name != "pagerank" {
                verify(name, &graph, &built, &[1], &outcome);
                continue;
            }
            let values = cells(&built, &outcome.columns[0]);
            let distance: f64 = values
                .iter()
                .zip(&expected)
                .map(|(&cell, expected)| (number(cell).unwrap() - expected).abs())
                .sum();
            assert!(distance < 1e-6, "L1 distance {distance}");
            let bits = bits(&built, &outcome);
            assert!(
                same.get_or_insert_with(|| bits.clone()) == &bits,
                "{threads} threads with {mib} MiB make other ranks"
            );
        }
    }
}
