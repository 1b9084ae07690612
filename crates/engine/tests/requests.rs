//! The requests of on-demand reading: whatever they are made of, the lists are those that were
//! built, and each technique saves the requests or bytes that it should.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use outercore_engine::{
    EngineError, IoBackend, IoReport, IoScheduling, IterationReport, Result, RunConfig,
    RunProgress, Silent,
    edges::{rows::Rows, stream::IoIterator},
    frontier::Frontier,
    session::Session,
};
use outercore_graph::{BuildOptions, Direction, Graph, GraphError, GridPartition, format::Tile};
use outercore_storage::{Disk, Fault, FaultPlan, HugePages, StorageError};
use proptest::prelude::*;
use support::{Edge, all, build_graph, build_with, config, weight};

mod support;

/// Error numbers of Linux: a device that fails, and one that asks to be asked again.
const EIO: i32 = 5;
const EAGAIN: i32 = 11;

/// What a stream handed over, and what it cost.
struct Streamed {
    /// Edges with their weights, ascending; 0 where weights were not asked for.
    edges: Vec<(Edge, u64)>,
    bytes: u64,
    useful: u64,
    requests: u64,
    io: IoReport,
}

/// How to stream.
#[derive(Clone, Copy)]
struct Way {
    weights: bool,
    ordered: bool,
    cache: u64,
    times: usize,
}

const PLAIN: Way = Way { weights: false, ordered: false, cache: 0, times: 1 };

fn stream(
    graph: &Graph,
    config: &RunConfig,
    active: impl Fn(u64) -> bool,
    way: Way,
) -> Result<Streamed> {
    let names = Rows::sections(Direction::Out, way.weights);
    let (session, sections) = Session::open(
        graph,
        config,
        &Silent,
        &names.iter().map(String::as_str).collect::<Vec<_>>(),
    )?;
    let rows = Rows::load(&session, sections, way.cache)?;
    let frontier = Frontier::new(graph.connected(), HugePages::Auto)?;
    (0..graph.connected()).filter(|&vertex| active(vertex)).for_each(|vertex| {
        frontier.insert(vertex);
    });
    let count = || {
        let counters = &session.counters;
        [&counters.bytes_read, &counters.useful_bytes, &counters.requests]
            .map(|counter| counter.load(Relaxed))
    };
    let mut streamed = None;
    for _ in 0..way.times {
        let before = count();
        let found = Mutex::new(Vec::new());
        IoIterator::new(&session, &rows).ordered(way.ordered).for_each(
            u64::MAX,
            |group| frontier.word(group),
            |_| (),
            |(), vertex, list| {
                found
                    .lock()
                    .unwrap()
                    .extend(list.weighted().map(|(neighbor, weight)| ((vertex, neighbor), weight)))
            },
        )?;
        let after = count();
        let mut edges = found.into_inner().unwrap();
        if !way.ordered {
            edges.sort_unstable();
        }
        let [bytes, useful, requests] = [0, 1, 2].map(|at| after[at] - before[at]);
        streamed = Some(Streamed { edges, bytes, useful, requests, io: session.io_report() });
    }
    Ok(streamed.expect("at least one time"))
}

fn expected(
    vertices: u64,
    edges: &[Edge],
    weights: bool,
    active: impl Fn(u64) -> bool,
) -> Vec<(Edge, u64)> {
    let some = all(vertices, edges).into_iter().filter(|&(source, _)| active(source));
    some.map(|edge| (edge, if weights { weight(edge) } else { 0 })).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// Every way to make requests hands over every list once, in whatever pieces: with and without
    /// weights, on stripes, in order, with a cache, on both backends.
    #[test]
    fn every_way_to_read_hands_over_the_same(
        vertices in 1u64..4000, picks in prop::collection::vec((any::<u32>(), any::<u32>()), 0..6000), every in 1u64..40,
        (block, pluglist, max_gap, max_request) in (prop::sample::select(vec![512u64, 4096, 8192]), any::<bool>(), 0u64..100_000, 0u64..100_000),
        (threads, stealing, ordered, cache, blocking) in (1usize..4, any::<bool>(), any::<bool>(), prop::sample::select(vec![0u64, 9000, 1 << 20]), any::<bool>()),
        (weights, stripes) in (any::<bool>(), 0usize..4),
    ) {
        let folder = tempfile::tempdir().unwrap();
        // A third of the sources is one hub, so that lists of all lengths occur.
        let edges: Vec<Edge> = picks.iter().map(|&(source, target)| (if source % 3 == 0 { 0 } else { u64::from(source) % vertices }, u64::from(target) % vertices)).collect();
        let graph = build_graph(folder.path(), vertices, &edges, weights, stripes);
        let config = RunConfig {
            block,
            max_gap: Some(max_gap),
            max_request: Some(max_request),
            io_scheduling: if pluglist { IoScheduling::Pluglist } else { IoScheduling::Bitmap },
            stealing,
            io: if blocking { IoBackend::Blocking } else { IoBackend::Uring },
            ..config(threads)
        };
        let active = |vertex: u64| vertex.is_multiple_of(every);
        let streamed = stream(&graph, &config, active, Way { weights, ordered, cache, times: 2 }).unwrap();
        prop_assert_eq!(&streamed.edges, &expected(vertices, &edges, weights, active));
        prop_assert!(streamed.useful <= streamed.bytes || streamed.requests == 0);
    }
}

/// 60,000 vertices of 40 neighbors each, and one hub of two million: several windows of small
/// blocks, and a list that is longer than a request.
fn large(folder: &Path, stripes: usize) -> (Graph, Vec<Edge>) {
    let vertices = 60_000u64;
    let mut edges: Vec<Edge> = (0..vertices)
        .flat_map(|vertex| {
            (1..40u64).map(move |step| (vertex, (vertex + step * step * 37) % vertices))
        })
        .collect();
    edges.extend((0..2_000_000).map(|index| (7, index * 31 % vertices)));
    (build_graph(folder, vertices, &edges, false, stripes), edges)
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
    assert!(bitmap.io.mean_request_bytes > 100_000.0 && bitmap.io.prepare_seconds > 0.0);
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
    let lists = expected(60_000, &edges, false, active);
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
    let lists = expected(60_000, &edges, false, |_| true);
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
    let lists = expected(60_000, &edges, false, |_| true);
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
    let (on, off) = (of(true), of(false));
    assert_eq!(on.edges, expected(60_000, &edges, false, active));
    assert_eq!(on.edges, off.edges);
    assert_eq!(off.io.stolen, 0);
    assert!(on.io.stolen > 0, "the second worker had nothing to do of its own");
    assert_eq!(on.io.worker_busy_seconds.len(), 2);
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
        assert_eq!(again.edges, expected(60_000, &edges, false, active));
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
    for block in [512, 4096, 8192] {
        let error =
            of(block, 8..60_000).err().expect("a checksum does not fit; in long requests whole pages are verified, whatever the block");
        assert!(
            matches!(error, EngineError::Graph(GraphError::Storage(StorageError::Checksum { .. }))),
            "{error}"
        );
    }
    let found: Vec<EngineError> =
        (59_700..60_000).filter_map(|vertex| of(512, vertex..vertex + 1).err()).collect();
    assert_eq!(
        found.len(),
        1,
        "the changed list names a vertex that does not exist; the others of its page are right"
    );
    assert!(matches!(found[0], EngineError::Graph(GraphError::Corrupt { .. })), "{}", found[0]);
}

/// Each request in turn fails, stops short, is interrupted or stalls, on both backends, in each way
/// to make requests.
#[test]
fn a_fault_at_any_request_ends_in_the_right_lists_or_its_error() {
    let folder = tempfile::tempdir().unwrap();
    let vertices = 3000u64;
    let edges: Vec<Edge> = (0..vertices)
        .flat_map(|vertex| (1..30u64).map(move |step| (vertex, (vertex + step * 97) % vertices)))
        .collect();
    drop(build_graph(folder.path(), vertices, &edges, true, 2));
    let active = |vertex: u64| vertex.is_multiple_of(9);
    let lists = expected(vertices, &edges, true, active);
    let way = Way { weights: true, cache: 20_000, times: 2, ..PLAIN };
    let faults = [
        Fault::Error(EIO),
        Fault::Short,
        Fault::Interrupted,
        Fault::Error(EAGAIN),
        Fault::Stall(Duration::from_millis(5)),
    ];
    for (io, io_scheduling, block) in [
        (IoBackend::Uring, IoScheduling::Bitmap, 512),
        (IoBackend::Uring, IoScheduling::Pluglist, 8192),
        (IoBackend::Blocking, IoScheduling::Bitmap, 4096),
    ] {
        let config = RunConfig {
            io,
            io_scheduling,
            block,
            max_gap: Some(0),
            max_request: Some(8192),
            ..config(2)
        };
        let open = |plan: FaultPlan| {
            let plan = Arc::new(plan);
            (Graph::open(&Disk::with_faults(plan.clone()), &folder.path().join("g.oc")), plan)
        };
        let (graph, counted) = open(FaultPlan::count_only());
        let opening = counted.operations();
        assert_eq!(stream(&graph.unwrap(), &config, active, way).unwrap().edges, lists);
        assert!(counted.operations() > opening + 50, "many requests");
        for fault in faults {
            let (mut right, mut failed) = (0, 0);
            for n in (opening..counted.operations()).step_by(3) {
                let (graph, _) = open(FaultPlan::nth(n, fault));
                match stream(&graph.unwrap(), &config, active, way) {
                    Ok(streamed) => {
                        assert_eq!(streamed.edges, lists, "operation {n}, {fault:?}");
                        right += 1;
                    }
                    Err(EngineError::Graph(GraphError::Storage(StorageError::Io { .. }))) => {
                        failed += 1
                    }
                    Err(error) => panic!("operation {n}, {fault:?}: {error}"),
                }
            }
            // A file that is opened or loaded as a whole is not asked again.
            let may_fail = matches!(fault, Fault::Error(_));
            assert!(
                right > 0
                    && (failed == 0 || may_fail)
                    && (failed > 0 || fault != Fault::Error(EIO)),
                "{fault:?}: {right} right, {failed} errors"
            );
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
    let total = all(60_000, &edges).len() as u64;
    for io in [IoBackend::Uring, IoBackend::Blocking] {
        for asked in [4, 6, 9, 14, 20, 40] {
            let config =
                RunConfig { io, max_request: Some(16 << 10), max_gap: Some(0), ..config(2) };
            let stops = StopsAt(AtomicU64::new(asked));
            let names = Rows::sections(Direction::Out, false);
            let opened = Session::open(
                &graph,
                &config,
                &stops,
                &names.iter().map(String::as_str).collect::<Vec<_>>(),
            )
            .unwrap();
            let (session, sections) = opened;
            let rows = match Rows::load(&session, sections, 0) {
                Ok(rows) => rows,
                Err(error) => {
                    assert!(matches!(error, EngineError::Cancelled), "{error}");
                    continue;
                }
            };
            let count = || {
                let counts = IoIterator::new(&session, &rows).for_each(
                    u64::MAX,
                    |_| u64::MAX,
                    |_| 0,
                    |sum, _, list| *sum += list.len() as u64,
                );
                counts.map(|counts| counts.into_iter().sum::<u64>())
            };
            match count() {
                Ok(found) => assert_eq!(found, total),
                Err(error) => assert!(matches!(error, EngineError::Cancelled), "{error}"),
            }
            // The user changes their mind.
            stops.0.store(u64::MAX, Relaxed);
            session.stop.store(false, Relaxed);
            assert_eq!(count().unwrap(), total);
        }
    }
}

/// The folders of a striped graph share its bytes evenly, and are missed or told apart when they
/// are not what they were.
#[test]
fn stripe_folders_share_the_bytes_and_are_not_confused() {
    let folder = tempfile::tempdir().unwrap();
    let (graph, edges) = large(folder.path(), 3);
    let stripes: Vec<PathBuf> = graph.manifest().stripes.iter().map(PathBuf::from).collect();
    let path = graph.path().to_owned();
    let lists = stream(&graph, &config(2), |_| true, PLAIN).unwrap().edges;
    assert_eq!(lists, expected(60_000, &edges, false, |_| true));
    for section in ["out.adjacency", "in.adjacency", "grid.words"] {
        let sizes: Vec<u64> = stripes
            .iter()
            .map(|stripe| std::fs::metadata(stripe.join(section)).unwrap().len())
            .collect();
        let (least, most) = (*sizes.iter().min().unwrap(), *sizes.iter().max().unwrap());
        assert!(least > 1 << 20 && most - least <= 1 << 20, "{section}: {sizes:?}");
    }
    drop(graph);
    let exchange = |a: &Path, b: &Path| {
        let aside = folder.path().join("aside");
        std::fs::rename(a, &aside).unwrap();
        std::fs::rename(b, a).unwrap();
        std::fs::rename(aside, b).unwrap();
    };
    exchange(&stripes[0], &stripes[1]);
    match Graph::open(&Disk::new(), &path) {
        Ok(graph) => {
            let error = stream(&graph, &config(2), |_| true, PLAIN)
                .err()
                .expect("these are the other folder's pages");
            assert!(
                matches!(
                    error,
                    EngineError::Graph(GraphError::Storage(StorageError::Checksum { .. }))
                ),
                "{error}"
            );
        }
        Err(error) => assert!(error.to_string().contains("stripe-"), "{error}"),
    }
    exchange(&stripes[0], &stripes[1]);
    // A damaged page is named by the file that has it, and by its number there.
    let damaged = stripes[1].join("out.adjacency");
    let flip = || {
        let mut bytes = std::fs::read(&damaged).unwrap();
        bytes[4096] ^= 1;
        std::fs::write(&damaged, bytes).unwrap();
    };
    flip();
    let error = stream(&Graph::open(&Disk::new(), &path).unwrap(), &config(2), |_| true, PLAIN)
        .err()
        .expect("a page is damaged");
    let named = |error: &EngineError| matches!(error, EngineError::Graph(GraphError::Storage(StorageError::Checksum { path, page: 1 })) if *path == damaged);
    assert!(named(&error), "{error}");
    let faults = outercore_graph::check(&Disk::new(), &path, &outercore_graph::Silent).unwrap();
    assert!(
        faults.len() == 1 && faults[0].path == damaged && faults[0].what.contains("page 1 of"),
        "{faults:?}"
    );
    flip();
    std::fs::rename(&stripes[2], folder.path().join("away")).unwrap();
    let error = Graph::open(&Disk::new(), &path).err().expect("a folder is missing");
    assert!(error.to_string().contains(stripes[2].to_str().unwrap()), "{error}");
    std::fs::rename(folder.path().join("away"), &stripes[2]).unwrap();
    assert_eq!(
        stream(&Graph::open(&Disk::new(), &path).unwrap(), &config(2), |_| true, PLAIN)
            .unwrap()
            .edges,
        lists
    );
}

/// The grid's stripes are cut where `partition` says, and the edges are the same.
#[test]
fn the_partition_changes_the_stripes_and_not_the_edges() {
    let folder = tempfile::tempdir().unwrap();
    let vertices = 40_000u64;
    // The first vertices are the targets of most edges.
    let edges: Vec<Edge> = (0..1_500_000u64)
        .map(|index| {
            (
                index * 31 % vertices,
                (index * index * 7 % 1_000_003) % vertices % (1 + index % vertices),
            )
        })
        .collect();
    let cuts = [GridPartition::Balanced, GridPartition::Uniform].map(|partition| {
        let folder = folder.path().join(format!("{partition:?}"));
        std::fs::create_dir(&folder).unwrap();
        let graph = build_with(
            &folder,
            vertices,
            &edges,
            false,
            BuildOptions { partition, ..BuildOptions::default() },
        );
        assert_eq!(
            stream(&graph, &config(2), |_| true, PLAIN).unwrap().edges,
            expected(vertices, &edges, false, |_| true)
        );
        let grid = graph.grid().unwrap();
        let words = |interval: u32| {
            grid.tiles
                .iter()
                .filter(|tile| tile.interval == interval)
                .map(Tile::words)
                .max()
                .unwrap_or(0)
        };
        let widths: Vec<u64> = grid.intervals.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let largest = (0..widths.len() as u32).map(words).max().unwrap();
        (widths, largest)
    });
    let [(balanced, most_balanced), (uniform, most_uniform)] = cuts;
    assert!(balanced.len() > 8 && uniform.len() > 8, "{balanced:?} {uniform:?}");
    // What is sorted together ends intervals, too; between these ends widths are equal.
    let width = *uniform.iter().max().unwrap();
    let ends: Vec<u64> = uniform
        .iter()
        .scan(0, |end, width| {
            *end += width;
            Some(*end)
        })
        .collect();
    assert!((1..=vertices / width).all(|stripe| ends.contains(&(stripe * width))), "{uniform:?}");
    assert!(balanced.iter().max() > balanced.iter().min(), "{balanced:?}");
    assert!(
        most_balanced * 2 < most_uniform,
        "the largest stripe has {most_balanced} words, or {most_uniform} where widths are equal"
    );
}
