//! Every algorithm on every shape, in every way of running it: each vertex's value is that of the
//! serial reference, and the same bits come out whatever the memory model, the backend and the
//! number of threads.

use std::collections::BTreeMap;

use outercore_algorithms::{Algorithm, NAMES, Request, Source, by_name};
use outercore_engine::{IoBackend, MemoryModel, Named, ReadPolicy, RunConfig, Silent};
use outercore_graph::{Direction, Graph, GraphError, Order, WeightKind};
use outercore_testing::{
    Answer, Built, Edges, Ids, MODELS, Question, Random, Recipe, Shape, acting, answer, build,
    reference, run, shapes, share,
};

const POLICIES: [ReadPolicy; 3] = [ReadPolicy::Auto, ReadPolicy::Full, ReadPolicy::OnDemand];

fn way(model: MemoryModel, read: ReadPolicy, io: IoBackend, threads: usize) -> RunConfig {
    let memory = 256 << 20;
    RunConfig { model: Some(model), read, io, threads, memory, ..outercore_testing::config() }
}

/// Every way of running.
fn every_way() -> Vec<RunConfig> {
    let mut ways = Vec::new();
    for model in MODELS {
        for read in POLICIES {
            for io in [IoBackend::Uring, IoBackend::Blocking] {
                ways.extend([1, 2].map(|threads| way(model, read, io, threads)));
            }
        }
        let usual = way(model, ReadPolicy::Auto, IoBackend::Uring, 2);
        ways.push(RunConfig { io_threads: 1, ..usual });
    }
    ways
}

/// A few of them, each value of each choice among them.
fn some_ways() -> Vec<RunConfig> {
    vec![
        way(MemoryModel::SemiExternal, ReadPolicy::Auto, IoBackend::Uring, 2),
        way(MemoryModel::InMemory, ReadPolicy::OnDemand, IoBackend::Blocking, 1),
        way(MemoryModel::SemiExternal, ReadPolicy::Full, IoBackend::Blocking, 2),
        way(MemoryModel::FullyExternal, ReadPolicy::Auto, IoBackend::Uring, 2),
        way(MemoryModel::FullyExternal, ReadPolicy::OnDemand, IoBackend::Blocking, 1),
        RunConfig {
            io_threads: 2,
            ..way(MemoryModel::FullyExternal, ReadPolicy::Active, IoBackend::Uring, 2)
        },
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
    let sources: Vec<_> = sources.iter().map(|&vertex| Source::Key(ids.key(vertex))).collect();
    let request = outercore_testing::request(name, &sources);
    match name {
        "pagerank" => Request { iterations: Some(15), ..request },
        "pagerank-delta" => Request { tolerance: Some(1e-8), ..request },
        "diameter" => Request { exact: true, ..request },
        _ => request,
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
    let mut edges = edges.clone();
    edges.edges.iter_mut().for_each(|edge| edge.2 = weight(edge.2));
    if recipe.simple {
        let mut lightest: BTreeMap<(u32, u32), f64> = BTreeMap::new();
        for &(source, target, weight) in edges.edges.iter().filter(|edge| edge.0 != edge.1) {
            let turned = !edges.directed && target < source;
            let ends = if turned { (target, source) } else { (source, target) };
            let least = lightest.entry(ends).or_insert(weight);
            *least = least.min(weight);
        }
        let all = lightest.into_iter();
        edges.edges = all.map(|((source, target), weight)| (source, target, weight)).collect();
    }
    edges
}

/// A shape that is built by a recipe, and everything that is asked of it.
struct Case<'a> {
    name: &'a str,
    recipe: &'a Recipe,
    edges: Edges,
    built: Built,
    sources: Vec<u32>,
}

impl<'a> Case<'a> {
    fn new(shape: &'a Shape, recipe: &'a Recipe) -> Self {
        let edges = effective(&shape.graph, recipe);
        let built = build(&shape.graph, recipe);
        assert_eq!(built.graph.edges(), edges.edges.len() as u64, "edges of {}", shape.name);
        Self { name: &shape.name, recipe, edges, built, sources: sources(&shape.graph) }
    }

    /// Whether the graph lacks what the algorithm needs.
    fn is_impossible(&self, name: &str) -> bool {
        match name {
            "sssp" => self.recipe.weights == WeightKind::None,
            "betweenness" | "triangles" | "clustering" | "label-propagation" | "diameter" => {
                self.edges.directed && !self.recipe.transpose
            }
            _ => false,
        }
    }

    /// Runs everything in all of `ways`.
    fn run(&self, ways: &[RunConfig]) {
        for name in NAMES {
            let request = request(name, self.built.ids, &self.sources);
            let algorithm = by_name(name, &request).unwrap();
            if self.is_impossible(name) {
                let result = algorithm.run(&self.built.graph, &ways[0], &Silent);
                let refused = matches!(result.err(), Some(GraphError::Usage(_)));
                assert!(refused, "{name} needs what the graph has not");
                continue;
            }
            let question = Question {
                edges: &self.edges,
                ids: self.built.ids,
                sources: &self.sources,
                iterations: request.iterations.unwrap_or(0) as usize,
            };
            self.ask(&question, algorithm.as_ref(), ways);
        }
    }

    /// Runs one algorithm: the first answer of each manner of reading is right, and the others have
    /// the same bits.
    fn ask(&self, question: &Question, algorithm: &dyn Algorithm, ways: &[RunConfig]) {
        let mut first: BTreeMap<&str, Vec<Vec<u64>>> = BTreeMap::new();
        // What was compared with the reference, which takes longer than the runs.
        let mut right: Vec<Answer> = Vec::new();
        for config in ways.iter().step_by(self.step(algorithm.name(), ways.len())) {
            let config = &acting(algorithm, &self.built.graph, config);
            let (name, model) = (algorithm.name(), config.model.unwrap());
            let _context = Context(format!(
                "{name} on {}: {:?}\n{model:?} {:?} {:?} {} threads",
                self.name, self.recipe, config.read, config.io, config.threads
            ));
            let external = model == MemoryModel::FullyExternal;
            if external && resident_only(name, &self.built.graph) {
                let plan = algorithm.plan(&self.built.graph, config);
                let refused = matches!(plan, Err(GraphError::Usage(_)));
                assert!(refused, "{name} has a fully-external run: test it");
                continue;
            }
            let answer = self.answer(algorithm, config);
            match first.get(manner(config)) {
                Some(bits) => assert_eq!(*bits, answer.bits(), "the same question, other bits"),
                None => {
                    first.insert(manner(config), answer.bits());
                    if !right.contains(&answer) {
                        reference::verify(name, question, &answer);
                        right.push(answer);
                    }
                }
            }
        }
    }

    /// All ways for those that read lists and scans in their own manner; some of each kind for the
    /// others, which share it.
    fn step(&self, name: &str, ways: usize) -> usize {
        let all = ["bfs", "sssp", "components", "pagerank"].contains(&name);
        let viewed = ["kcore", "triangles", "clustering"].contains(&name)
            && (self.edges.directed || !self.recipe.simple);
        match (ways > 8, viewed) {
            (true, true) => 9,
            // Each model with two of the policies, and each policy in two of the models.
            (true, false) if !all => 7,
            (false, true) => 3,
            // As above, with both backends and numbers of threads.
            (true, false) => share(5),
            _ => 1,
        }
    }

    fn answer(&self, algorithm: &dyn Algorithm, config: &RunConfig) -> Answer {
        let plan = algorithm.plan(&self.built.graph, config).unwrap();
        let planned: u64 = plan.memory.iter().map(|item| item.bytes).sum();
        assert!(planned <= config.memory, "{plan}");
        let outcome = algorithm.run(&self.built.graph, config, &Silent).unwrap();
        assert_eq!(Some(outcome.report.memory_model), config.model);
        answer(&self.built, &outcome)
    }
}

/// Runs of one manner give the same bits. The order in which floating-point numbers are added may
/// follow the order of reading, and nothing else.
fn manner(config: &RunConfig) -> &'static str {
    match (config.model == Some(MemoryModel::FullyExternal), config.read) {
        (false, ReadPolicy::Auto | ReadPolicy::Iteration) => "auto",
        (false, ReadPolicy::Full) => "full",
        (false, ReadPolicy::Active) => "active",
        (false, ReadPolicy::OnDemand) => "on demand",
        (true, ReadPolicy::Auto | ReadPolicy::Iteration) => "external, auto",
        (true, ReadPolicy::Full) => "external, full",
        (true, ReadPolicy::Active) => "external, active",
        (true, ReadPolicy::OnDemand) => "external, on demand",
    }
}

/// Whether an algorithm needs its vertices in memory: weights come with the lists of sources, which
/// such a graph has not.
fn resident_only(name: &str, graph: &Graph) -> bool {
    name == "spmv" && graph.weights() != WeightKind::None && graph.rows(Direction::In).is_none()
}

/// Says what was being done when a test panics.
struct Context(String);

impl Drop for Context {
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
        // Every way but the number of threads, which takes turns with shapes and models.
        let (ways, of) = (every_way(), share(2));
        let ways: Vec<_> = ways.into_iter().skip(index / 2 % of).step_by(of).collect();
        Case::new(shape, &recipe).run(&ways);
    }
}

#[test]
fn every_shape_built_in_other_ways() {
    for (index, shape) in shapes::all(2).iter().enumerate() {
        let ids = Ids::ALL[(index / 2) % 4];
        let default = Recipe { ids, lists: index % 2 == 0, ..Recipe::default() };
        let unweighted = Recipe { weights: WeightKind::None, ..default.clone() };
        let recipes = [
            Recipe { order: Order::ALL[1 + index / 2 % (Order::ALL.len() - 1)], ..default.clone() },
            Recipe { simple: true, threads: 1, ..default.clone() },
            Recipe { stripes: 3, ..default },
            Recipe { transpose: false, simple: index % 3 == 0, ..unweighted },
        ];
        // Some of the recipes for each shape, others for the next.
        let of = 2 * share(2);
        for recipe in recipes.iter().skip(index / 2 % of).step_by(of) {
            Case::new(shape, recipe).run(&some_ways());
        }
    }
}

/// Random graphs of adversarial shapes, each built and run in ways of its own: a few of them, or as
/// many as OUTERCORE_RANDOM_GRAPHS says (`make soak`: 2,000).
#[test]
fn random_graphs() {
    let count = std::env::var("OUTERCORE_RANDOM_GRAPHS").map_or(120 / share(8) as u64, |count| {
        count.parse().expect("OUTERCORE_RANDOM_GRAPHS is a number")
    });
    let (ways, orders) = (every_way(), Order::ALL);
    for seed in 0..count {
        let mut random = Random::new(seed ^ 0x5eed);
        let recipe = Recipe {
            ids: Ids::ALL[random.below(4u32) as usize],
            order: orders[random.below(orders.len() as u64) as usize],
            simple: random.below(4u32) == 0,
            stripes: if random.below(6u32) == 0 { 2 } else { 0 },
            threads: 1 + random.below(3u32) as usize,
            lists: true,
            ..Recipe::default()
        };
        let mut chosen = MODELS.map(|model| {
            let those: Vec<_> = ways.iter().filter(|way| way.model == Some(model)).collect();
            those[random.below(those.len() as u64) as usize].clone()
        });
        // Those that share a manner of reading run in the first of them alone.
        chosen.rotate_left(seed as usize % 3);
        Case::new(&shapes::random(seed), &recipe).run(&chosen);
    }
}

#[test]
fn isolated_vertices() {
    for directed in [true, false] {
        for (index, ids) in Ids::ALL.into_iter().enumerate() {
            let shape = shapes::isolated(directed, 7 + index as u64);
            for order in [Order::Degree, Order::Original] {
                let recipe = Recipe { ids, order, lists: true, ..Recipe::default() };
                Case::new(&shape, &recipe).run(&some_ways());
            }
        }
    }
}

/// A vertex that has nothing but its loop, before others in the order of degrees: in the simple
/// view it has no edge, and the others keep their numbers.
#[test]
fn a_loop_alone_before_others() {
    // Five times a loop at 9: the second largest degree of all.
    let mut pairs = vec![(9, 9); 5];
    pairs.extend([(0, 1), (1, 2), (2, 0), (0, 3), (0, 4), (0, 5), (0, 6), (3, 4), (3, 5)]);
    pairs.extend([(4, 5), (7, 8)]);
    for directed in [true, false] {
        let graph = Edges::of(&pairs, directed);
        let shape = Shape { name: "a loop alone".to_owned(), graph };
        for order in [Order::Degree, Order::Original] {
            let recipe = Recipe { order, lists: true, ..Recipe::default() };
            Case::new(&shape, &recipe).run(&some_ways());
        }
    }
}

/// Sources that have no edge.
#[test]
fn isolated_sources() {
    for directed in [true, false] {
        let Shape { graph: edges, .. } = shapes::isolated(directed, 3);
        let built = build(&edges, &Recipe { lists: true, ..Recipe::default() });
        for (name, sources) in [
            ("bfs", &[0][..]),
            ("sssp", &[0]),
            ("betweenness", &[0, 1, 2]),
            ("multi-source", &[0, 1, 2]),
        ] {
            let request = request(name, built.ids, sources);
            let outcome = run(&built.graph, name, &request, &outercore_testing::config());
            let question = Question { edges: &edges, ids: built.ids, sources, iterations: 0 };
            reference::verify(name, &question, &answer(&built, &outcome));
        }
    }
}

#[test]
fn weights_of_every_kind() {
    let mut random = Random::new(11);
    for directed in [true, false] {
        let pairs = shapes::uniform(300, 2500, &mut random);
        for (weights, scale) in [
            (WeightKind::U32, None),
            (WeightKind::F32, Some(1000.0)),
            (WeightKind::F64, Some(1e12)),
        ] {
            let mut graph = Edges { n: 300, ..Edges::of(&pairs, directed) };
            for (_, _, weight) in &mut graph.edges {
                *weight = match scale {
                    None => f64::from(random.bits() as u32),
                    Some(scale) => (random.bits() >> 11) as f64 / (1u64 << 53) as f64 * scale,
                };
            }
            let name = format!("random with weights {weights:?}, directed: {directed}");
            let shape = Shape { name, graph };
            for simple in [false, true] {
                let ways = if simple { some_ways() } else { every_way() };
                let recipe = Recipe { weights, simple, lists: true, ..Recipe::default() };
                Case::new(&shape, &recipe).run(&ways);
            }
        }
    }
}

/// Lists longer than a request, frontiers large enough to be shared among the workers, and more
/// edges than one tile has.
#[test]
fn long_lists_and_large_frontiers() {
    let mut random = Random::new(5);
    let small = |config: RunConfig| RunConfig {
        max_request: Some(16 << 10),
        max_gap: Some(0),
        threads: 3 - config.threads,
        ..config
    };
    let ways: Vec<_> = some_ways().into_iter().flat_map(|way| [way.clone(), small(way)]).collect();
    for (name, pairs) in [
        ("star out of 50,000", shapes::star_out(50_000)),
        ("star in of 50,000", shapes::star_in(50_000)),
        ("skewed, 300,000 edges", shapes::skewed(20_000, 300_000, &mut random)),
    ] {
        for directed in [true, false].into_iter().step_by(share(2)) {
            let mut graph = Edges::of(&pairs, directed);
            graph.edges.iter_mut().for_each(|edge| edge.2 = random.below(100u32).into());
            let shape = Shape { name: format!("{name}, directed: {directed}"), graph };
            let stripes = if directed { 0 } else { 2 };
            let recipe = Recipe { stripes, lists: true, ..Recipe::default() };
            Case::new(&shape, &recipe).run(&ways);
        }
    }
}

/// Vertices with more edges than a worker of the builder sorts at a time, and intervals that depend
/// on its memory: the same bits all the same.
#[test]
fn buckets_of_every_size() {
    let mut random = Random::new(9);
    let mut pairs = shapes::star_in(700_000);
    pairs.extend(shapes::star_out(700_000));
    pairs.extend(shapes::skewed(700_000, 200_000, &mut random));
    let edges = Edges { n: 700_000, ..Edges::of(&pairs, true) };
    let mut first: Option<Vec<Vec<u64>>> = None;
    for (threads, mib) in [(4, 64), (1, 64), (2, 512)] {
        let recipe = Recipe { weights: WeightKind::None, threads, mib, ..Recipe::default() };
        let built = build(&edges, &recipe);
        let ask = |name, iterations| {
            let request = outercore_testing::request(name, &[Source::Key(built.ids.key(1))]);
            let outcome = run(&built.graph, name, &request, &outercore_testing::config());
            let answer = answer(&built, &outcome);
            let question = Question { edges: &edges, ids: built.ids, sources: &[1], iterations };
            reference::verify(name, &question, &answer);
            answer.bits()
        };
        let ranks = ask("pagerank", 5);
        let same = *first.get_or_insert_with(|| ranks.clone()) == ranks;
        assert!(same, "{threads} threads with {mib} MiB make other ranks");
        ask("bfs", 0);
        ask("spmv", 0);
    }
}

/// An index that slides has windows of 2^18 vertices; this graph has more: triangles that share a
/// vertex. Whatever holds the index, all of it or a window, has the lists of all.
#[test]
fn more_vertices_than_a_window_of_an_index_has() {
    let leaves = (1 << 18) + 5000;
    let mut pairs = shapes::star_out(leaves + 1);
    pairs.extend((1..=leaves).step_by(2).map(|leaf| (leaf, leaf + 1)));
    let edges = pairs.into_iter().map(|(source, target)| (source, target, 1.0)).collect();
    let graph = Edges { n: leaves as usize + 1, directed: false, edges };
    let shape = Shape { name: "triangles that share a vertex".to_owned(), graph };
    let recipe = Recipe { simple: true, ..Recipe::default() };
    let ways = MODELS.map(|model| way(model, ReadPolicy::Auto, IoBackend::Uring, 2));
    Case::new(&shape, &recipe).run(&ways);
}
