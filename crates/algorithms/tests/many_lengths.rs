//! Shortest paths by weights from several vertices at once: the serial reference's, in every model,
//! by every kind of weights, in batches of sources, and with the techniques that exact programs
//! have.

use outercore_algorithms::{Algorithm, MultiSource, Source};
use outercore_engine::{
    CrossIteration, MemoryModel, Outcome, Precompute, ReadPolicy, RunConfig, Silent, SubBlocks,
};
use outercore_graph::{
    BuildOptions, GraphError, WeightKind,
    generate::{GeneratedWeights, Rmat},
};
use outercore_testing::{
    Answer, Built, Edges, Ids, MODELS, Random, Recipe, Shape, acting, answer, assert_close, build,
    config, external, folder, generate, reference, shapes, share,
};

fn from(built: &Built, sources: &[u32]) -> MultiSource {
    let sources = sources.iter().map(|&vertex| Source::Key(built.ids.key(vertex))).collect();
    MultiSource { sources, weighted: true }
}

fn run(built: &Built, search: &MultiSource, config: &RunConfig) -> Answer {
    let config = acting(search, &built.graph, config);
    let plan = search.plan(&built.graph, &config).unwrap();
    assert!(plan.memory.iter().map(|item| item.bytes).sum::<u64>() <= config.memory, "{plan}");
    let outcome = search.run(&built.graph, &config, &Silent).unwrap();
    assert_eq!(Some(outcome.report.memory_model), config.model);
    answer(built, &outcome)
}

/// For each vertex, how many sources reach it, and the sum of their distances.
fn verify(edges: &Edges, sources: &[u32], found: &Answer) {
    let rows: Vec<_> = sources.iter().map(|&source| reference::sssp(edges, source)).collect();
    let lengths = |vertex: usize| rows.iter().filter_map(move |row| row[vertex]);
    let reached: Vec<_> = (0..edges.n).map(|vertex| lengths(vertex).count() as u64).collect();
    assert_eq!(found.every(0), reached);
    let sums: Vec<_> = (0..edges.n).map(|vertex| Some(lengths(vertex).sum())).collect();
    assert_close(&found.numbers(1), &sums);
}

#[test]
fn every_shape_in_every_model() {
    let mut random = Random::new(4);
    for (index, Shape { name, mut graph }) in shapes::all(5).into_iter().enumerate() {
        let weights = [WeightKind::U32, WeightKind::F32, WeightKind::F64][index % 3];
        for edge in &mut graph.edges {
            edge.2 = match weights {
                WeightKind::U32 => f64::from(random.below(50u32)),
                _ => f64::from(random.below(1000u32) as f32 / 64.0),
            };
        }
        let recipe = Recipe { ids: Ids::ALL[index / 3 % 4], weights, ..Recipe::default() };
        let built = build(&graph, &Recipe { lists: true, ..recipe });
        let count = [1, 7, 8, 9, 20][index % 5];
        let mut sources: Vec<u32> = (0..count).map(|_| random.below(graph.n as u32)).collect();
        sources.push(sources[0]);
        let search = from(&built, &sources);
        let mut first: Option<Answer> = None;
        for model in MODELS {
            for (read, threads) in [(ReadPolicy::Auto, 2), (ReadPolicy::OnDemand, 1)] {
                let config = RunConfig { model: Some(model), read, threads, ..config() };
                let found = run(&built, &search, &config);
                let same = first.get_or_insert_with(|| {
                    verify(&graph, &sources, &found);
                    found.clone()
                });
                assert_eq!(same.bits(), found.bits(), "{name}: {model:?} {read:?}");
                assert_eq!(same.summary["reached_pairs"], found.summary["reached_pairs"]);
            }
        }
    }
}

/// Several intervals on storage: passes that serve two iterations read less, and vertices may be
/// computed early; all have the same bits.
#[test]
fn techniques_change_no_bit() {
    let folder = folder();
    let options = BuildOptions { memory: 256 << 20, threads: 2, ..BuildOptions::default() };
    let weights = GeneratedWeights::Uniform { low: 1, high: 100 };
    let rmat = Rmat { edge_factor: 16, weights, ..Rmat::new(16, 5) };
    let graph = generate(folder.path().join("g.oc"), rmat, options);
    let sources = (0..3).map(Source::Random).chain([Source::MaxDegree]).collect();
    let search = MultiSource { sources, weighted: true };
    let run = |config: &RunConfig| {
        let outcome = search.run(&graph, config, &Silent).unwrap();
        let columns = outcome.columns.iter().map(|column| {
            let mut cells = Vec::new();
            column.for_each(|_, cell| cells.push(cell)).unwrap();
            cells
        });
        (columns.collect::<Vec<_>>(), outcome.report.bytes_read, outcome.report.iterations)
    };
    let (expected, ..) = run(&RunConfig { model: Some(MemoryModel::InMemory), ..config() });
    let whole = RunConfig { read: ReadPolicy::Full, sub_blocks: SubBlocks::Off, ..external() };
    let off = run(&RunConfig { cross_iteration: CrossIteration::Off, ..whole.clone() });
    let fciu = run(&RunConfig { cross_iteration: CrossIteration::Fciu, ..whole });
    assert!(off.0 == expected && fciu.0 == expected);
    assert!(fciu.1 < off.1 * 9 / 10, "{} of {} bytes", fciu.1, off.1);
    let early = RunConfig { precompute: Some(Precompute::On), ..external() };
    let late = RunConfig { precompute: Some(Precompute::Off), ..external() };
    let (early, late) = (run(&early), run(&late));
    assert!(early.0 == expected && late.0 == expected);
    assert!(early.2 < late.2, "{} of {} iterations", early.2, late.2);
}

/// Distances in edges come early too, which a search by bits has no room for.
#[test]
fn edges_are_counted_early() {
    let folder = folder();
    let graph = generate(
        folder.path().join("g.oc"),
        Rmat { edge_factor: 8, ..Rmat::new(15, 5) },
        BuildOptions { memory: 256 << 20, threads: 2, ..BuildOptions::default() },
    );
    let sources: Vec<_> = (0..11).map(Source::Random).collect();
    let search = MultiSource { sources, weighted: false };
    let run = |config: &RunConfig| search.run(&graph, config, &Silent).unwrap();
    let bits = |outcome: &Outcome| {
        let mut cells = Vec::new();
        for column in &outcome.columns {
            column.for_each(|_, cell| cells.push(cell)).unwrap();
        }
        (cells, outcome.report.summary["distance_sum"].clone())
    };
    let late = run(&external());
    for model in MODELS {
        for precompute in [Precompute::Gap, Precompute::On] {
            let way = RunConfig { model: Some(model), read: ReadPolicy::OnDemand, ..config() };
            let early = run(&RunConfig { precompute: Some(precompute), ..way });
            assert!(bits(&early) == bits(&late), "{model:?} {precompute:?}");
        }
    }
}

/// One reading serves all sources of a batch.
#[test]
fn sources_of_a_batch_share_what_is_read() {
    let mut random = Random::new(6);
    let mut edges = Edges::of(&shapes::skewed(20_000, 300_000, &mut random), true);
    edges.edges.iter_mut().for_each(|edge| edge.2 = random.below(100u32).into());
    let built = build(&edges, &Recipe { lists: true, ..Recipe::default() });
    let config = RunConfig {
        model: Some(MemoryModel::SemiExternal),
        memory: 96 << 20,
        threads: 1,
        ..config()
    };
    let sources: Vec<u32> = (0..8).map(|at| edges.edges[at * 30_000].0).collect();
    let edges_read = |sources: &[u32]| {
        let outcome = from(&built, sources).run(&built.graph, &config, &Silent).unwrap();
        outcome.report.edges_processed
    };
    let all = edges_read(&sources);
    let alone: u64 = sources.iter().step_by(share(2)).map(|&source| edges_read(&[source])).sum();
    assert!(2 * all < alone, "{all} edges for eight, {alone} for some of them one by one");
}

#[test]
fn graphs_without_weights_are_refused() {
    let edges = Edges::of(&[(0, 1), (1, 2)], true);
    let built = build(&edges, &Recipe { weights: WeightKind::None, ..Recipe::default() });
    let error = from(&built, &[0]).run(&built.graph, &config(), &Silent).err().unwrap();
    assert!(matches!(&error, GraphError::Usage(_)) && error.to_string().contains("no weights"));
}
