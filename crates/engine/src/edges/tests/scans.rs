//! Edges on their way to the workers: scans and streams hand over exactly what was built, and each
//! technique saves the bytes or requests that it should.

use std::{collections::BTreeSet, path::Path};

use super::{
    Edge, all, build_graph, config, ends,
    streams::{self, LARGE, PLAIN, Streamed, Way},
};
use crate::{
    RunConfig, Silent,
    edges::{grid::Grid, piece_stream::PieceStream},
    session::Session,
};
use outercore_graph::{
    Graph,
    format::{Piece, WordCode, WordKind},
};
use outercore_storage::{Disk, PAGE};
use proptest::prelude::*;

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
        let before = session.bytes_read();
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
        bytes.push(session.bytes_read() - before);
    }
    found.sort_unstable();
    (found, bytes)
}

/// A page of the lists, by its number.
struct Page(u64);

impl Piece for Page {
    fn place(&self) -> (u64, usize) {
        (self.0 * PAGE as u64, PAGE)
    }
}

/// Memory for a few large requests has room for many small ones.
#[test]
fn small_pieces_are_on_their_way_together() {
    let folder = tempfile::tempdir().unwrap();
    let ((graph, _), config) = (streams::large(folder.path(), 0, 0), config(1));
    let (session, sections) = Session::open(&graph, &config, &Silent, &["out.adjacency"]).unwrap();
    let (mut reader, mut shown) = (session.reader(0), Vec::new());
    let mut stream = PieceStream::new(&session, &sections, &mut reader, None);
    stream.plan((0..200).map(Page));
    loop {
        stream.request().unwrap();
        let show = |page: Page, bytes: &[u8]| {
            shown.push((page.0, bytes.len()));
            Ok(0)
        };
        if !stream.next(show).unwrap() {
            break;
        }
    }
    assert_eq!(shown, Vec::from_iter((0..200).map(|page| (page, PAGE))));
    assert!(reader.meter().mean_depth() > 12.0, "{}", reader.meter().mean_depth());
}

/// The lists of the active vertices, streamed so many times with so many bytes of cache.
fn stream(
    graph: &Graph,
    config: &RunConfig,
    active: impl Fn(u64) -> bool,
    cache: u64,
    times: usize,
) -> (Vec<Edge>, Streamed) {
    let way = Way { cache, times, ..PLAIN };
    let streamed = streams::stream(graph, config, active, way).unwrap();
    (streamed.edges.iter().map(|(edge, _)| *edge).collect(), streamed)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn what_is_built_is_what_is_read(
        vertices in 1u64..3000,
        picks in prop::collection::vec((any::<u32>(), any::<u32>()), 0..3000),
        threads in 1usize..4,
        every in 1u64..50,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let edges = ends(vertices, &picks);
        let graph = graph(folder.path(), vertices, &edges);
        let expected = all(vertices, &edges);
        prop_assert_eq!(&scan(&graph, threads, 0, 1).0, &expected);
        prop_assert_eq!(&scan(&graph, threads, 8 << 20, 2).0, &expected);
        let active = |vertex: u64| vertex.is_multiple_of(every);
        let some: Vec<Edge> = expected.into_iter().filter(|&(source, _)| active(source)).collect();
        for (cache, times) in [(0, 1), (1 << 20, 2)] {
            prop_assert_eq!(&stream(&graph, &config(threads), active, cache, times).0, &some);
        }
    }
}

/// A large graph, and its edges.
fn large(folder: &Path) -> (Graph, Vec<Edge>) {
    let (graph, edges) = streams::large(folder, 1_000_000, 0);
    (graph, all(LARGE, &edges))
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
    let ((edges, apart), (same, merged)) = (with_gap(0), with_gap(64 << 10));
    assert_eq!(edges, same);
    let lists = expected.into_iter().filter(|&(source, _)| sparse(source));
    assert_eq!(edges, lists.collect::<Vec<_>>());
    let (many, few) = (apart.requests, merged.requests);
    assert!(few * 4 < many, "{few} against {many} requests");
    assert!(apart.bytes < merged.bytes, "{} against {} bytes", apart.bytes, merged.bytes);
}

#[test]
fn only_wanted_lists_are_read_and_the_front_only_once() {
    let folder = tempfile::tempdir().unwrap();
    let (graph, expected) = large(folder.path());
    let (edges, all) = stream(&graph, &config(2), |_| true, 0, 1);
    assert_eq!(edges, expected);
    let (_, few) = stream(&graph, &config(2), |vertex| vertex % 6000 == 1, 0, 1);
    assert!(few.bytes * 20 < all.bytes, "{} of {}", few.bytes, all.bytes);
    let (edges, cached) = stream(&graph, &config(2), |_| true, all.bytes / 2, 2);
    assert_eq!(edges, expected);
    assert!(cached.bytes < all.bytes * 7 / 10, "{} of {}", cached.bytes, all.bytes);
    assert_eq!(stream(&graph, &config(2), |_| true, all.bytes * 2, 2).1.bytes, 0);
}
