//! Edges on their way to the workers: scans and streams hand over exactly what was built, and each
//! technique saves the bytes or requests that it should.

use std::{
    collections::BTreeSet,
    path::Path,
    sync::{Mutex, atomic::Ordering::Relaxed},
};

use outercore_engine::{
    RunConfig, Silent,
    edges::{grid::Grid, rows::Rows, stream::IoIterator},
    frontier::Frontier,
    session::Session,
};
use outercore_graph::{
    Direction, Graph,
    format::{WordCode, WordKind},
};
use outercore_storage::{Disk, HugePages};
use proptest::prelude::*;
use support::{Edge, all, build_graph, config};

mod support;

/// A graph without weights, in one place.
fn graph(folder: &Path, vertices: u64, edges: &[Edge]) -> Graph {
    build_graph(folder, vertices, edges, false, 0)
}

/// Scans the grid so many times; returns the edges of the last scan, and the bytes that each scan
/// asked for.
fn scan(graph: &Graph, threads: usize, cache: u64, scans: usize) -> (Vec<Edge>, Vec<u64>) {
    let config = config(threads);
    let (session, mut sections) = Session::open(graph, &config, &Silent, &["grid.words"]).unwrap();
    let grid = Grid::open(&session, sections.remove(0), cache).unwrap();
    let (mut found, mut bytes) = (Vec::new(), Vec::new());
    for _ in 0..scans {
        let before = session.counters.bytes_read.load(Relaxed);
        let mut inbox = vec![0u64; graph.connected() as usize];
        let states = grid
            .scan(
                &session,
                &mut inbox,
                |_| Vec::new(),
                |edges: &mut Vec<Edge>, inbox, block| {
                    block.for_each(|source, target| {
                        inbox[target] += 1;
                        edges.push((block.segment + source as u64, block.interval + target as u64));
                    });
                },
            )
            .unwrap();
        found = states.into_iter().flatten().collect();
        assert_eq!(inbox.iter().sum::<u64>(), found.len() as u64);
        bytes.push(session.counters.bytes_read.load(Relaxed) - before);
    }
    found.sort_unstable();
    (found, bytes)
}

/// What a stream handed over, and what it cost.
struct Streamed {
    edges: Vec<Edge>,
    bytes: u64,
    requests: u64,
}

fn stream(
    graph: &Graph,
    config: &RunConfig,
    active: impl Fn(u64) -> bool,
    cache: u64,
    times: usize,
) -> Streamed {
    let names = Rows::sections(Direction::Out, false);
    let (session, sections) = Session::open(
        graph,
        config,
        &Silent,
        &names.iter().map(String::as_str).collect::<Vec<_>>(),
    )
    .unwrap();
    let rows = Rows::load(&session, sections, cache).unwrap();
    let frontier = Frontier::new(graph.connected(), HugePages::Auto).unwrap();
    (0..graph.connected()).filter(|&vertex| active(vertex)).for_each(|vertex| {
        frontier.insert(vertex);
    });
    let counters = &session.counters;
    let mut streamed = Streamed { edges: Vec::new(), bytes: 0, requests: 0 };
    for _ in 0..times {
        let (bytes, requests) =
            (counters.bytes_read.load(Relaxed), counters.requests.load(Relaxed));
        let found = Mutex::new(Vec::new());
        IoIterator::new(&session, &rows)
            .for_each(
                u64::MAX,
                |group| frontier.word(group),
                |_| (),
                |(), vertex, list| {
                    found
                        .lock()
                        .unwrap()
                        .extend(list.neighbors().map(|neighbor| (vertex, neighbor)));
                },
            )
            .unwrap();
        streamed = Streamed {
            edges: found.into_inner().unwrap(),
            bytes: counters.bytes_read.load(Relaxed) - bytes,
            requests: counters.requests.load(Relaxed) - requests,
        };
    }
    streamed.edges.sort_unstable();
    streamed
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn what_is_built_is_what_is_read(vertices in 1u64..3000, picks in prop::collection::vec((any::<u32>(), any::<u32>()), 0..3000), threads in 1usize..4, every in 1u64..50) {
        let folder = tempfile::tempdir().unwrap();
        // A third of the sources is one hub, so that lists of all lengths occur.
        let edges: Vec<Edge> = picks.iter().map(|&(source, target)| (if source % 3 == 0 { 0 } else { u64::from(source) % vertices }, u64::from(target) % vertices)).collect();
        let graph = graph(folder.path(), vertices, &edges);
        let expected = all(vertices, &edges);
        prop_assert_eq!(&scan(&graph, threads, 0, 1).0, &expected);
        prop_assert_eq!(&scan(&graph, threads, 8 << 20, 2).0, &expected);
        let some: Vec<Edge> = expected.iter().copied().filter(|(source, _)| source % every == 0).collect();
        prop_assert_eq!(stream(&graph, &config(threads), |vertex| vertex % every == 0, 0, 1).edges, some.clone());
        prop_assert_eq!(stream(&graph, &config(threads), |vertex| vertex % every == 0, 1 << 20, 2).edges, some);
    }
}

/// 60,000 vertices of 40 neighbors each, and one hub of a million: several stripes and chunks, runs
/// and pieces.
fn large(folder: &Path) -> (Graph, Vec<Edge>) {
    let vertices = 60_000u64;
    let mut edges: Vec<Edge> = (0..vertices)
        .flat_map(|vertex| {
            (1..40u64).map(move |step| (vertex, (vertex + step * step * 37) % vertices))
        })
        .collect();
    edges.extend((0..1_000_000).map(|index| (7, index * 31 % vertices)));
    (graph(folder, vertices, &edges), all(vertices, &edges))
}

#[test]
fn pinned_chunks_are_not_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let (graph, expected) = large(folder.path());
    let (found, whole) = scan(&graph, 2, 0, 2);
    assert_eq!(found, expected);
    assert_eq!(whole[0], whole[1], "without a cache every scan reads everything");
    let (found, half) = scan(&graph, 2, whole[0] / 2, 3);
    assert_eq!(found, expected);
    assert_eq!(half[0], whole[0]);
    assert!(
        half[1] < whole[0] * 7 / 10 && half[1] > 0 && half[2] == half[1],
        "half of the chunks stay: {half:?} of {whole:?}"
    );
    assert_eq!(scan(&graph, 2, whole[0] * 2, 2).1, [whole[0], 0]);
}

#[test]
fn hits_of_pinned_chunks_are_not_those_of_sub_blocks() {
    let folder = tempfile::tempdir().unwrap();
    let (graph, _) = large(folder.path());
    let chunks = graph.grid().unwrap().chunks.len() as u64;
    let config = config(2);
    let (session, mut sections) = Session::open(&graph, &config, &Silent, &["grid.words"]).unwrap();
    let grid = Grid::open(&session, sections.remove(0), 1 << 30).unwrap();
    for scans in 0..3 {
        let mut inbox = vec![(); graph.connected() as usize];
        grid.scan(&session, &mut inbox, |_| (), |(), _, _| ()).unwrap();
        grid.for_each(&session, |_, _| true, |_| (), |(), _| ()).unwrap();
        let cache = session.cache();
        assert_eq!(
            (cache.pinned_hits, cache.sub_block_hits),
            ((2 * scans + 1) * chunks, 0),
            "only the first reading is no hit"
        );
    }
}

/// Words of every length are decoded, four at a time and at the ends of tiles, and dense tiles take
/// fewer bytes.
#[test]
fn words_have_the_bits_that_their_tiles_need() {
    let folder = tempfile::tempdir().unwrap();
    let (graph, expected) = large(folder.path());
    let grid = graph.grid().unwrap();
    let lengths: BTreeSet<u32> = grid.tiles.iter().map(|tile| tile.code().bits).collect();
    assert!(
        lengths.contains(&8) && lengths.len() > 1,
        "the hub's edges fill their stripes: {lengths:?}"
    );
    let (found, bytes) = scan(&graph, 1, 0, 1);
    assert_eq!(found, expected);
    assert!(
        bytes[0] * 4 < expected.len() as u64 * 3 * 3,
        "{} bytes for {} edges",
        bytes[0],
        expected.len()
    );
    // Sparse tiles have long words, and still skip.
    let vertices = 400_000u64;
    let edges: Vec<Edge> = (0..3_000u64)
        .map(|index| (index * index * 7 % vertices, index * 66_666_667 % vertices))
        .collect();
    let other = tempfile::tempdir().unwrap();
    let graph = build_graph(other.path(), vertices, &edges, false, 0);
    assert!(graph.grid().unwrap().tiles.iter().any(|tile| tile.code().bits >= 20));
    assert_eq!(scan(&graph, 1, 0, 1).0, all(vertices, &edges));
}

/// Graphs of the first version of the format, whose words all have 24 bits, and of the second,
/// whose words have as many as their tiles need.
#[test]
fn old_grids_are_read() {
    for name in ["directed", "undirected"] {
        let golden = |version: u32| {
            Path::new(env!("CARGO_MANIFEST_DIR"))
                .join(format!("../graph/tests/golden/v{version}/{name}"))
        };
        let [first, second, new] =
            [1, 2, 4].map(|version| Graph::open(&Disk::new(), &golden(version)).unwrap());
        let all = |graph: &Graph, is: &dyn Fn(WordCode) -> bool| {
            graph.grid().unwrap().tiles.iter().all(|tile| is(tile.code()))
        };
        assert!(all(&first, &|code| code == WordCode::FIRST));
        assert!(all(&second, &|code| code.bits < 24 && code.kind == WordKind::Deltas));
        assert!(all(&new, &|code| code.kind == WordKind::Gaps));
        let sorted = |graph: &Graph| scan(graph, 1, 0, 1).0;
        assert_eq!(sorted(&first), sorted(&new), "{name}");
        assert_eq!(sorted(&second), sorted(&new), "{name}");
    }
}

#[test]
fn a_stripe_that_is_smaller_than_its_graph_has_one_owner() {
    let folder = tempfile::tempdir().unwrap();
    let (graph, _) = large(folder.path());
    assert!(graph.grid().unwrap().intervals.len() > 4, "the graph has several stripes");
    assert_eq!(scan(&graph, 1, 0, 1).0, scan(&graph, 3, 0, 1).0);
}

#[test]
fn merging_trades_bytes_for_requests() {
    let folder = tempfile::tempdir().unwrap();
    let (graph, expected) = large(folder.path());
    let sparse = |vertex: u64| vertex % 97 == 5;
    let with_gap =
        |max_gap| stream(&graph, &RunConfig { max_gap: Some(max_gap), ..config(1) }, sparse, 0, 1);
    let (apart, merged) = (with_gap(0), with_gap(64 << 10));
    assert_eq!(apart.edges, merged.edges);
    assert_eq!(
        apart.edges,
        expected.iter().copied().filter(|&(source, _)| sparse(source)).collect::<Vec<_>>()
    );
    assert!(
        merged.requests * 4 < apart.requests,
        "{} against {} requests",
        merged.requests,
        apart.requests
    );
    assert!(apart.bytes < merged.bytes, "{} against {} bytes", apart.bytes, merged.bytes);
}

#[test]
fn only_wanted_lists_are_read_and_the_front_only_once() {
    let folder = tempfile::tempdir().unwrap();
    let (graph, expected) = large(folder.path());
    let everything = stream(&graph, &config(2), |_| true, 0, 1);
    assert_eq!(everything.edges, expected);
    let few = stream(&graph, &config(2), |vertex| vertex % 6000 == 1, 0, 1);
    assert!(few.bytes * 20 < everything.bytes, "{} of {}", few.bytes, everything.bytes);
    let cached = stream(&graph, &config(2), |_| true, everything.bytes / 2, 2);
    assert_eq!(cached.edges, expected);
    assert!(cached.bytes < everything.bytes * 7 / 10, "{} of {}", cached.bytes, everything.bytes);
    assert_eq!(stream(&graph, &config(2), |_| true, everything.bytes * 2, 2).bytes, 0);
}
