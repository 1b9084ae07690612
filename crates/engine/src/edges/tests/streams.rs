//! Streams of lists: what they hand over, and what that costs.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs,
    path::Path,
    sync::{Mutex, atomic::Ordering::Relaxed},
};

use crate::{
    Frontier, IoReport, RunConfig, Silent,
    edges::{io_iterator::IoIterator, rows::Rows},
    session::Session,
};
use outercore_caches::RetainedLists;
use outercore_graph::{Graph, Result};
use outercore_storage::{Disk, HugePages, lock};

use super::{Edge, all, build_graph, weight};

/// What a stream handed over, and what it cost.
pub struct Streamed {
    /// Edges with their weights, ascending unless they were asked for in order; 0 where weights
    /// were not asked for.
    pub edges: Vec<(Edge, u64)>,
    /// Bytes that were read.
    pub bytes: u64,
    /// Of these, bytes of the lists.
    pub useful: u64,
    /// Requests that read them.
    pub requests: u64,
    /// What the session reports in the end.
    pub io: IoReport,
}

/// How to stream.
#[derive(Clone, Copy, Debug)]
pub struct Way {
    /// With weights.
    pub weights: bool,
    /// Ascending.
    pub ordered: bool,
    /// Bytes of memory for the front of the lists.
    pub cache: u64,
    /// Small lists that stay are read before.
    pub keep: bool,
    /// Before these, a cache has the lists of each so-many-th vertex; 0: none.
    pub every: u64,
    /// How often; what is returned is of the last time.
    pub times: usize,
}

/// Once, without anything.
pub const PLAIN: Way =
    Way { weights: false, ordered: false, cache: 0, keep: false, every: 0, times: 1 };

/// Streams the lists of the active vertices.
pub fn stream(
    graph: &Graph,
    config: &RunConfig,
    active: impl Fn(u64) -> bool,
    way: Way,
) -> Result<Streamed> {
    let names = Rows::sections("out", way.weights);
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let (session, sections) = Session::open(graph, config, &Silent, &names)?;
    let rows = Rows::load(&session, sections, way.cache, false)?;
    if way.keep {
        rows.keep(&session, u64::MAX)?;
    }
    let frontier = Frontier::new(graph.connected(), HugePages::Auto)?;
    (0..graph.connected()).filter(|&vertex| active(vertex)).for_each(|vertex| {
        frontier.insert(vertex);
    });
    let some = retained(&session, &rows, way.every)?;
    let count = || {
        let (disk, counters) = (session.disk.counters(), &session.counters);
        [&disk.bytes_read, &counters.useful_bytes, &disk.read_requests]
            .map(|counter| counter.load(Relaxed))
    };
    let mut streamed = None;
    for _ in 0..way.times {
        let before = count();
        let found = Mutex::new(Vec::new());
        let lists = IoIterator::new(&session, &rows).ordered(way.ordered);
        let lists = if way.every > 0 { lists.behind(&some) } else { lists };
        lists.for_each(
            u64::MAX,
            |group| frontier.word(group),
            |_| (),
            |(), vertex, list| {
                let edges = list.weighted().map(|(neighbor, weight)| ((vertex, neighbor), weight));
                found.lock().unwrap().extend(edges);
            },
        )?;
        let after = count();
        let mut edges = found.into_inner().unwrap();
        if !way.ordered {
            edges.sort();
        }
        let [bytes, useful, requests] = [0, 1, 2].map(|at| after[at] - before[at]);
        streamed = Some(Streamed { edges, bytes, useful, requests, io: session.io_report() });
    }
    Ok(streamed.expect("at least one time"))
}

/// A cache of the lists of each so-many-th vertex.
fn retained(session: &Session, rows: &Rows, every: u64) -> Result<RetainedLists> {
    let widths = [rows.width, rows.weight_width];
    let (vertices, workers) = (session.graph.connected(), session.workers.count());
    let mut some = RetainedLists::new(vertices, workers, 1 << 20, widths)?;
    if every > 0 {
        let is_one = |vertex: u64| u64::from(vertex.is_multiple_of(every));
        IoIterator::new(session, rows).behind(&some).for_each(
            u64::MAX,
            |group| (0..64).fold(0, |bits, at| bits | is_one(group * 64 + at) << at),
            |_| (),
            |(), _, _| {},
        )?;
    }
    some.turn();
    Ok(some)
}

/// The lists of the active vertices of a graph of [`build_graph`].
pub fn expected(
    vertices: u64,
    edges: &[Edge],
    weights: bool,
    active: impl Fn(u64) -> bool,
) -> Vec<(Edge, u64)> {
    let some = all(vertices, edges).into_iter().filter(|&(source, _)| active(source));
    some.map(|edge| (edge, if weights { weight(edge) } else { 0 })).collect()
}

/// The vertices of [`large`].
pub const LARGE: u64 = 60_000;

/// 60,000 vertices of 40 neighbors each, and one hub of `hub`: several stripes and chunks, runs
/// and pieces, windows of small blocks, and a list that is longer than a request.
pub fn large(folder: &Path, hub: u64, stripes: usize) -> (Graph, Vec<Edge>) {
    let mut edges: Vec<Edge> = (0..LARGE)
        .flat_map(|vertex| {
            (1..40u64).map(move |step| (vertex, (vertex + step * step * 37) % LARGE))
        })
        .collect();
    edges.extend((0..hub).map(|index| (7, index * 31 % LARGE)));
    if stripes > 0 {
        return (build_graph(folder, LARGE, &edges, false, stripes), edges);
    }
    let path = folder.join("g.oc");
    let mut built = lock(&BUILT);
    let files = built.entry(hub).or_insert_with(|| {
        drop(build_graph(folder, LARGE, &edges, false, 0));
        let files = fs::read_dir(&path).unwrap().map(|file| file.unwrap());
        files.map(|file| (file.file_name(), fs::read(file.path()).unwrap())).collect()
    });
    fs::create_dir_all(&path).unwrap();
    files.iter().for_each(|(name, bytes)| fs::write(path.join(name), bytes).unwrap());
    (Graph::open(&Disk::new(), &path).unwrap(), edges)
}

/// Files by name.
type Files = Vec<(OsString, Vec<u8>)>;

/// Graphs without stripes that were built before, by hub.
static BUILT: Mutex<BTreeMap<u64, Files>> = Mutex::new(BTreeMap::new());
