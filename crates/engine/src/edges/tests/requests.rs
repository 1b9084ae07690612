//! The requests of on-demand reading: whatever they are made of, the lists are those that were
//! built, and each technique saves the requests or bytes that it should.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use super::{
    Edge, all, build_graph, config, ends,
    streams::{self, LARGE, PLAIN, Streamed, Way, expected, stream},
};
use crate::{
    IoBackend, IoScheduling, IterationReport, Named, RunConfig, RunProgress,
    edges::{io_iterator::IoIterator, rows::Rows},
    session::Session,
};
use outercore_graph::{Graph, GraphError, format::List};
use outercore_storage::{Disk, Fault, FaultPlan, StorageError};
use proptest::prelude::*;

/// Error numbers of Linux: a device that fails, and one that asks to be asked again.
const EIO: i32 = 5;
const EAGAIN: i32 = 11;

/// Ways to make requests.
fn configs() -> impl Strategy<Value = RunConfig> {
    let limits = (
        prop::sample::select(vec![512u64, 4096, 8192]),
        prop::option::of(0u64..100_000),
        prop::option::of(0u64..100_000),
    );
    let how = prop::sample::select(IoScheduling::ALL);
    let switches = (how, any::<bool>(), any::<bool>(), 1usize..4, 1usize..70);
    (limits, switches).prop_map(|((block, max_gap, max_request), switches)| {
        let (io_scheduling, stealing, blocking, threads, queue_depth) = switches;
        RunConfig {
            block,
            max_gap,
            max_request,
            io_scheduling,
            queue_depth,
            stealing,
            io: if blocking { IoBackend::Blocking } else { IoBackend::Uring },
            ..config(threads)
        }
    })
}

/// Ways to stream.
fn manners() -> impl Strategy<Value = Way> {
    let cache = prop::sample::select(vec![0u64, 9000, 1 << 20]);
    (any::<bool>(), any::<bool>(), cache, 0u64..4).prop_map(|(weights, ordered, cache, every)| {
        Way { weights, ordered, cache, keep: false, every, times: 2 }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// Every way to make requests hands over every list once, in whatever pieces: with and without
    /// weights, on stripes, in order, with a cache and with two, on both backends.
    #[test]
    fn every_way_to_read_hands_over_the_same(
        vertices in 1u64..4000,
        picks in prop::collection::vec((any::<u32>(), any::<u32>()), 0..6000),
        every in 1u64..40,
        config in configs(),
        way in manners(),
        stripes in 0usize..4,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let edges = ends(vertices, &picks);
        let graph = build_graph(folder.path(), vertices, &edges, way.weights, stripes);
        let active = |vertex: u64| vertex.is_multiple_of(every);
        let lists = expected(vertices, &edges, way.weights, active);
        let again = stream(&graph, &config, active, way).unwrap();
        prop_assert_eq!(&again.edges, &lists);
        // Without a cache, all of the lists is useful, and nothing else.
        let alone = Way { cache: 0, every: 0, times: 1, ..way };
        let once = stream(&graph, &config, active, alone).unwrap();
        prop_assert_eq!(&once.edges, &lists);
        let manifest = graph.manifest();
        let weight_bytes = if way.weights { manifest.weight_bytes } else { 0 };
        let edge_bytes = u64::from(manifest.neighbor_bytes) + u64::from(weight_bytes);
        prop_assert_eq!(once.useful, lists.len() as u64 * edge_bytes);
        prop_assert!(once.useful <= once.bytes, "{} of {}", once.useful, once.bytes);
        // With one, what lies in memory is neither read nor useful.
        prop_assert!(again.useful <= again.bytes, "{} of {}", again.useful, again.bytes);
        prop_assert_eq!(again.bytes == 0, again.requests == 0);
    }
}

/// A large graph on so many folders, and its edges.
fn large(folder: &Path, stripes: usize) -> (Graph, Vec<Edge>) {
    streams::large(folder, 2_000_000, stripes)
}

#[test]
fn the_bitmap_makes_fewer_requests_than_the_pluglist() {
    let folder = tempfile::tempdir().unwrap();
    let (graph, _) = large(folder.path(), 0);
    let active = |vertex: u64| !vertex.is_multiple_of(3);
    let of = |io_scheduling| {
        stream(&graph, &RunConfig { io_scheduling, ..config(2) }, active, PLAIN).unwrap()
    };
    let (bitmap, pluglist) = (of(IoScheduling::Bitmap), of(IoScheduling::Pluglist));
    assert_eq!(bitmap.edges, pluglist.edges);
    assert_eq!(bitmap.useful, pluglist.useful);
    assert!(
        bitmap.requests * 20 < pluglist.requests,
        "{} against {} requests",
        bitmap.requests,
        pluglist.requests
    );
    assert!(bitmap.bytes < pluglist.bytes, "blocks that two batches share are read twice");
    assert!(bitmap.io.reading.mean_request_bytes > 100_000.0);
    assert!(bitmap.io.prepare_seconds > 0.0);
}

/// The list is sorted and merged as a whole: a window or a list that is full ends a request, and
/// that is all that they do otherwise.
#[test]
fn the_list_makes_the_requests_of_the_bitmap() {
    let folder = tempfile::tempdir().unwrap();
    let (graph, _) = large(folder.path(), 0);
    let active = |vertex: u64| vertex.is_multiple_of(3);
    let of = |io_scheduling| {
        stream(&graph, &RunConfig { io_scheduling, ..config(1) }, active, PLAIN).unwrap()
    };
    let [bitmap, list, pluglist] =
        [IoScheduling::Bitmap, IoScheduling::List, IoScheduling::Pluglist].map(of);
    assert_eq!((&list.edges, list.useful), (&bitmap.edges, bitmap.useful));
    let requests = [bitmap.requests, list.requests, pluglist.requests];
    assert!(list.requests.abs_diff(bitmap.requests) <= 2, "{requests:?}");
    assert!(list.requests * 10 < pluglist.requests, "{requests:?}");
}

#[test]
fn no_more_requests_are_in_flight_than_the_queue_is_deep() {
    let folder = tempfile::tempdir().unwrap();
    let (graph, edges) = large(folder.path(), 0);
    let active = |vertex: u64| vertex.is_multiple_of(250);
    let of = |queue_depth| {
        let config = RunConfig { queue_depth, max_gap: Some(0), ..config(1) };
        stream(&graph, &config, active, PLAIN).unwrap()
    };
    let (one, many) = (of(1), of(32));
    assert_eq!((&one.edges, &many.edges), (&expected(LARGE, &edges, false, active), &one.edges));
    let depths = [one.io.reading.mean_queue_depth, many.io.reading.mean_queue_depth];
    assert!(depths[0] <= 1.0 && depths[1] > 2.0 && depths[1] <= 32.0, "{depths:?}");
}

#[test]
fn smaller_blocks_read_less_beside_what_is_wanted() {
    let folder = tempfile::tempdir().unwrap();
    let (graph, edges) = large(folder.path(), 0);
    let active = |vertex: u64| vertex > 7 && vertex.is_multiple_of(250);
    let of = |block| {
        stream(&graph, &RunConfig { block, max_gap: Some(0), ..config(1) }, active, PLAIN).unwrap()
    };
    let [small, page, large] = [512, 4096, 8192].map(of);
    let lists = expected(LARGE, &edges, false, active);
    for streamed in [&small, &page, &large] {
        assert_eq!(streamed.edges, lists);
        assert_eq!(streamed.useful, lists.len() as u64 * 2, "neighbors have two bytes here");
    }
    // 240 lists of 80 bytes: one block each, seldom two.
    assert!((240 * 512..280 * 512).contains(&small.bytes), "{}", small.bytes);
    assert!((239 * 4096..250 * 4096).contains(&page.bytes), "{}", page.bytes);
    assert!((238 * 8192..245 * 8192).contains(&large.bytes), "{}", large.bytes);
    assert_eq!(
        (small.io.unverified_bytes, page.io.unverified_bytes),
        (small.bytes, 0),
        "parts of pages have no checksum"
    );
}

#[test]
fn requests_hold_to_their_limits() {
    let folder = tempfile::tempdir().unwrap();
    let (graph, edges) = large(folder.path(), 0);
    let lists = expected(LARGE, &edges, false, |_| true);
    let of = |max_request| {
        stream(&graph, &RunConfig { max_request: Some(max_request), ..config(1) }, |_| true, PLAIN)
            .unwrap()
    };
    let (short, long) = (of(64 << 10), of(512 << 10));
    assert_eq!((&short.edges, &long.edges), (&lists, &lists));
    let mean = |streamed: &Streamed| streamed.bytes / streamed.requests;
    assert!((60_000..=65_536).contains(&mean(&short)), "{}", mean(&short));
    assert!((400_000..=524_288).contains(&mean(&long)), "{}", mean(&long));
    assert_eq!(
        short.bytes, long.bytes,
        "no block is read twice: neighbors of two bytes never lie on a boundary"
    );
}

#[test]
fn requests_across_stripes_are_several_and_arrive_as_one() {
    let folder = tempfile::tempdir().unwrap();
    let (graph, edges) = large(folder.path(), 3);
    let lists = expected(LARGE, &edges, false, |_| true);
    for io in [IoBackend::Uring, IoBackend::Blocking] {
        let config = RunConfig { io, max_request: Some(768 << 10), ..config(2) };
        let streamed = stream(&graph, &config, |_| true, PLAIN).unwrap();
        assert_eq!(streamed.edges, lists);
        let units = streamed.bytes.div_ceil(1 << 20);
        assert!(streamed.requests > units, "{} requests for {units} units", streamed.requests);
    }
}

#[test]
fn stealing_moves_ranges_and_changes_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let (graph, edges) = large(folder.path(), 0);
    // All that is active is in the first range, with the hub's list.
    let active = |vertex: u64| vertex < 64;
    let of =
        |stealing| stream(&graph, &RunConfig { stealing, ..config(2) }, active, PLAIN).unwrap();
    let all = expected(LARGE, &edges, false, active);
    let off = of(false);
    assert_eq!((&off.edges, off.io.stolen), (&all, 0));
    // On a busy machine the second worker may begin when the first one has done everything.
    let steals = |_| {
        let on = of(true);
        assert_eq!(on.edges, all);
        assert_eq!(on.io.worker_busy_seconds.len(), 2);
        on.io.stolen > 0
    };
    assert!((0..20).any(steals), "the second worker had nothing to do of its own");
}

#[test]
fn pages_in_memory_are_not_read_whatever_the_block() {
    let folder = tempfile::tempdir().unwrap();
    let (graph, edges) = large(folder.path(), 0);
    let active = |vertex: u64| vertex > 7 && vertex.is_multiple_of(20);
    for block in [512, 4096, 8192] {
        let config = RunConfig { block, max_gap: Some(0), ..config(2) };
        let again =
            stream(&graph, &config, active, Way { cache: 64 << 20, times: 2, ..PLAIN }).unwrap();
        assert_eq!(again.edges, expected(LARGE, &edges, false, active));
        assert_eq!((again.bytes, again.requests), (0, 0), "blocks of {block}");
        assert_eq!(again.io.unverified_bytes, 0, "what is kept is read in whole pages");
    }
}

/// A byte of the adjacency is changed: with whole pages that is always noticed, with parts of pages
/// where it makes a list impossible.
#[test]
fn damage_is_noticed_where_it_can_be() {
    let folder = tempfile::tempdir().unwrap();
    let (graph, _) = large(folder.path(), 0);
    let path = folder.path().join("g.oc/out.adjacency");
    let mut bytes = std::fs::read(&path).unwrap();
    let at = bytes.len() - 6000;
    bytes[at..at + 2].fill(0xff);
    std::fs::write(&path, bytes).unwrap();
    let of = |block, vertices: std::ops::Range<u64>| {
        stream(
            &graph,
            &RunConfig { block, max_gap: Some(0), ..config(1) },
            |vertex| vertices.contains(&vertex),
            PLAIN,
        )
    };
    // In long requests whole pages are verified, whatever the block.
    for block in [512, 4096, 8192] {
        let error = of(block, 8..LARGE).err().expect("a checksum does not fit");
        assert!(matches!(error, GraphError::Storage(StorageError::Checksum { .. })), "{error}");
    }
    let found: Vec<GraphError> =
        (59_700..60_000).filter_map(|vertex| of(512, vertex..vertex + 1).err()).collect();
    assert_eq!(
        found.len(),
        1,
        "the changed list names a vertex that does not exist; the others of its page are right"
    );
    assert!(matches!(found[0], GraphError::Corrupt { .. }), "{}", found[0]);
}

/// A graph on two folders, of which some lists are streamed.
struct Disturbed {
    folder: tempfile::TempDir,
    lists: Vec<(Edge, u64)>,
}

impl Disturbed {
    fn new() -> Self {
        const VERTICES: u64 = 3000;
        let list = |vertex| (1..30u64).map(move |step| (vertex, (vertex + step * 97) % VERTICES));
        let edges: Vec<Edge> = (0..VERTICES).flat_map(list).collect();
        let folder = tempfile::tempdir().unwrap();
        drop(build_graph(folder.path(), VERTICES, &edges, true, 2));
        Self { folder, lists: expected(VERTICES, &edges, true, Self::active) }
    }

    fn active(vertex: u64) -> bool {
        vertex.is_multiple_of(9)
    }

    fn open(&self, plan: &Arc<FaultPlan>) -> Graph {
        let disk = Disk::with_faults(plan.clone());
        Graph::open(&disk, &self.folder.path().join("g.oc")).unwrap()
    }

    fn stream(&self, graph: &Graph, config: &RunConfig) -> Result<Streamed, GraphError> {
        let way = Way { weights: true, cache: 20_000, times: 2, ..PLAIN };
        stream(graph, config, Self::active, way)
    }

    /// The operations of a stream, after those of opening the graph.
    fn operations(&self, config: &RunConfig) -> std::ops::Range<u64> {
        let counted = Arc::new(FaultPlan::count_only());
        let graph = self.open(&counted);
        let opening = counted.operations();
        assert_eq!(self.stream(&graph, config).unwrap().edges, self.lists);
        assert!(counted.operations() > opening + 50, "many requests");
        opening..counted.operations()
    }

    /// How often the fault, at one operation after the other, ended in the right lists, and how
    /// often in its error.
    fn outcomes(&self, config: &RunConfig, fault: Fault) -> (u64, u64) {
        let (mut right, mut failed) = (0, 0);
        for n in self.operations(config).step_by(3) {
            let graph = self.open(&Arc::new(FaultPlan::nth(n, fault)));
            match self.stream(&graph, config) {
                Ok(streamed) => {
                    assert_eq!(streamed.edges, self.lists, "operation {n}, {fault:?}");
                    right += 1;
                }
                Err(GraphError::Storage(StorageError::Io { .. })) => {
                    failed += 1;
                }
                Err(error) => panic!("operation {n}, {fault:?}: {error}"),
            }
        }
        (right, failed)
    }
}

/// Each request in turn fails, stops short, is interrupted or stalls, on both backends, in each way
/// to make requests.
#[test]
fn a_fault_at_any_request_ends_in_the_right_lists_or_its_error() {
    let disturbed = Disturbed::new();
    for (io, io_scheduling, block) in [
        (IoBackend::Uring, IoScheduling::Bitmap, 512),
        (IoBackend::Uring, IoScheduling::Pluglist, 8192),
        (IoBackend::Blocking, IoScheduling::Bitmap, 4096),
    ] {
        let short = RunConfig { max_gap: Some(0), max_request: Some(8192), ..config(2) };
        let config = RunConfig { io, io_scheduling, block, ..short };
        for fault in [
            Fault::Error(EIO),
            Fault::Short,
            Fault::Interrupted,
            Fault::Error(EAGAIN),
            Fault::Stall(Duration::from_millis(5)),
        ] {
            let (right, failed) = disturbed.outcomes(&config, fault);
            let what = format!("{fault:?}: {right} right, {failed} errors");
            assert!(right > 0, "{what}");
            // A file that is opened or loaded as a whole is not asked again.
            assert!(failed == 0 || matches!(fault, Fault::Error(_)), "{what}");
            assert!(failed > 0 || fault != Fault::Error(EIO), "{what}");
        }
    }
}

/// Says stop at the nth time that it is asked.
struct StopsAt(AtomicU64);

impl RunProgress for StopsAt {
    fn iteration(&self, _: &IterationReport) {}
    fn cancelled(&self) -> bool {
        self.0.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).is_err()
    }
}

/// A run that is stopped while reads are in flight ends, says so, and leaves its session ready for
/// more.
#[test]
fn stopping_with_reads_in_flight_is_safe() {
    let folder = tempfile::tempdir().unwrap();
    let (graph, edges) = large(folder.path(), 2);
    let total = all(LARGE, &edges).len() as u64;
    for io in [IoBackend::Uring, IoBackend::Blocking] {
        for asked in [4, 6, 9, 14, 20, 40] {
            stop(&graph, io, asked, total);
        }
    }
}

/// Counts all edges, stopped at the nth time that progress is asked, and then again.
fn stop(graph: &Graph, io: IoBackend, asked: u64, total: u64) {
    let config = RunConfig { io, max_request: Some(16 << 10), max_gap: Some(0), ..config(2) };
    let stops = StopsAt(AtomicU64::new(asked));
    let names = Rows::sections("out", false);
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let (session, sections) = Session::open(graph, &config, &stops, &names).unwrap();
    let cancelled = |error: GraphError| assert!(matches!(error, GraphError::Cancelled), "{error}");
    let rows = match Rows::load(&session, sections, 0, false) {
        Ok(rows) => rows,
        Err(error) => return cancelled(error),
    };
    let count = || {
        let add = |sum: &mut u64, _, list: List| *sum += list.neighbors().count() as u64;
        let lists = IoIterator::new(&session, &rows);
        let counts = lists.for_each(u64::MAX, |_| u64::MAX, |_| 0, add);
        counts.map(|counts| counts.into_iter().sum::<u64>())
    };
    match count() {
        Ok(found) => assert_eq!(found, total),
        Err(error) => cancelled(error),
    }
    // The user changes their mind.
    stops.0.store(u64::MAX, Relaxed);
    session.stop.store(false, Relaxed);
    assert_eq!(count().unwrap(), total);
}

#[test]
fn small_lists_that_stay_in_memory_are_read_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let edges = ends(4000, &[(1, 2), (70, 80), (3000, 9)]);
    let graph = build_graph(folder.path(), 4000, &edges, true, 0);
    let active = |vertex: u64| vertex.is_multiple_of(3);
    let with = |cache| {
        let way = Way { weights: true, keep: true, cache, ..PLAIN };
        stream(&graph, &config(2), active, way).unwrap()
    };
    let (all, front) = (with(1 << 20), with(4097));
    assert_eq!(all.edges, front.edges);
    assert_eq!((all.requests, all.useful), (0, 0), "they were read before");
    assert!(front.requests > 0, "those that do not fit are read when they are asked for");
}
