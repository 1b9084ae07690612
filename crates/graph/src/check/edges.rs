//! The lists: sound, and the same edges in every direction and format.

use super::{Fault, digest::Digest, grid, tables::Heads};
use outercore_storage::threads::start;

use crate::{
    build::{BuildProgress, extra::Extras},
    error::{GraphError, Result},
    format::{Cells, INDEX_GROUP, MANIFEST},
    graph::{Graph, numbers},
    scan::RowReader,
    types::{Direction, Layout},
};

/// Degrees read at once.
const BATCH: u64 = 1 << 18;

/// Edges between two looks at the user.
const STEP: u64 = 1 << 20;

/// What one of the ways in which edges are stored holds.
#[derive(Default)]
struct StoredEdges {
    all: Digest,
    /// Of those, the edges that belong to row format.
    in_rows: Digest,
    /// Duplicates and self-loops.
    extras: Extras,
    faults: Vec<Fault>,
    /// What is wrong with the first neighbors, which says nothing of the lists.
    heads: Option<Fault>,
}

impl StoredEdges {
    /// Adds a piece of a list, of vertices before `connected` and not before `previous`; returns
    /// what is wrong with it.
    fn add(
        &mut self,
        cells: Option<&Cells>,
        inward: bool,
        (connected, mut previous): (u64, u64),
        (vertex, neighbors, weights): (u64, &[u64], &[f64]),
    ) -> Option<String> {
        let mut problem = None;
        for (at, &neighbor) in neighbors.iter().enumerate() {
            self.extras.count(neighbor, neighbor == vertex);
            if neighbor >= connected || neighbor < previous {
                problem.get_or_insert(neighbor);
            } else {
                let (source, target) = if inward { (neighbor, vertex) } else { (vertex, neighbor) };
                let weight = weights.get(at).copied();
                self.all.add(source, target, weight);
                if cells.is_some_and(|cells| cells.in_rows(source, target)) {
                    self.in_rows.add(source, target, weight);
                }
            }
            previous = neighbor;
        }
        problem.map(|neighbor| {
            format!("the list of internal vertex {vertex} holds {neighbor}, out of range or order")
        })
    }
}

/// Degrees add up to the adjacency; neighbors are vertices, in order. The edges of the outgoing
/// lists are those of the incoming ones, and each is either in row format or in a tile.
pub fn check_edges(
    graph: &Graph,
    progress: &dyn BuildProgress,
    faults: &mut Vec<Fault>,
) -> Result<()> {
    let incoming = graph.rows(Direction::In) == Some(Direction::In);
    let hybrid = graph.layout() == Layout::Hybrid;
    // What is in row format is not in tiles.
    let ways = 1 + u64::from(incoming) + u64::from(graph.layout() != Layout::Row);
    progress.stage("comparing edges", Some(graph.manifest().arcs * ways));
    // One thread for each way: they wait for the device by turns.
    let (out, inward, row, tiles) = std::thread::scope(|scope| {
        let out = start(scope, || {
            check_lists(graph, graph.row_reader(Direction::Out)?, "out", progress)
        })?;
        let inward = incoming.then(|| {
            start(scope, || check_lists(graph, graph.row_reader(Direction::In)?, "in", progress))
        });
        let row = hybrid.then(|| {
            start(scope, || check_lists(graph, graph.row_format_reader()?, "row", progress))
        });
        let (inward, row) = (inward.transpose()?, row.transpose()?);
        let tiles = start(scope, || grid::check_grid(graph, progress))?;
        Ok::<_, GraphError>((join(out), inward.map(join), row.map(join), join(tiles)))
    })?;
    let (out, inward, row) = (out?, inward.transpose()?, row.transpose()?);
    let (tiles, tile_faults) = tiles?;
    let tiles = tile_faults.is_empty().then_some(tiles);
    compare(graph, &out, (inward.as_ref(), row.as_ref(), tiles), faults)?;
    for found in [Some(out), inward, row].into_iter().flatten() {
        faults.extend(found.faults.into_iter().chain(found.heads));
    }
    faults.extend(tile_faults);
    Ok(())
}

/// Compares the incoming lists, the lists in row format and the tiles with the outgoing lists. What
/// is not sound is compared with nothing.
fn compare(
    graph: &Graph,
    out: &StoredEdges,
    (inward, row, tiles): (Option<&StoredEdges>, Option<&StoredEdges>, Option<Digest>),
    faults: &mut Vec<Fault>,
) -> Result<()> {
    if !out.faults.is_empty() {
        return Ok(());
    }
    let manifest = graph.manifest();
    let said = manifest.extra.or(manifest.simple.then(Default::default));
    if said.is_some_and(|said| said != out.extras.edges(graph.directed())) {
        let what = "it counts other duplicates and self-loops than out.adjacency has".to_owned();
        faults.push(Fault { path: graph.path().join(MANIFEST), what });
    }
    let mut fault = |section: &str, what: &str| {
        graph.section(section).map(|section| {
            faults.push(Fault { path: section.path().to_owned(), what: what.to_owned() })
        })
    };
    if inward.is_some_and(|inward| inward.faults.is_empty() && inward.all != out.all) {
        fault("in.adjacency", "its lists are not the edges of out.adjacency, the other way round")?;
    }
    let listed = out.in_rows.unweighted();
    if row.is_some_and(|row| row.faults.is_empty() && row.all.unweighted() != listed) {
        let what = "its lists are not the edges of out.adjacency that are in row format";
        fault("row.adjacency", what)?;
    }
    let in_tiles =
        if graph.layout() == Layout::Row { Digest::default() } else { out.all - out.in_rows };
    if tiles.is_some_and(|tiles| tiles != in_tiles) {
        fault("grid.words", "its tiles are not the edges of out.adjacency")?;
    }
    Ok(())
}

fn join<T>(thread: std::thread::ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// One set of lists.
fn check_lists(
    graph: &Graph,
    mut lists: RowReader,
    prefix: &str,
    progress: &dyn BuildProgress,
) -> Result<StoredEdges> {
    let adjacency = graph.section(&format!("{prefix}.adjacency"))?;
    let cells = if graph.layout() == Layout::Hybrid && prefix == "out" {
        graph.manifest().cells()
    } else {
        None
    };
    let mut found = StoredEdges::default();
    let mut heads = Heads::open(graph, prefix)?;
    let (mut problem, mut last, mut seen) = (None, (u64::MAX, 0), 0);
    lists.for_each(&mut |vertex, neighbors, weights| {
        let begins = last.0 != vertex;
        if begins {
            found.extras.begin();
        }
        if let (Some(heads), Some(&first), true) = (&mut heads, neighbors.first(), begins) {
            heads.list(vertex, first)?;
        }
        let bounds = (graph.connected(), if begins { 0 } else { last.1 });
        let wrong = found.add(cells.as_ref(), prefix == "in", bounds, (vertex, neighbors, weights));
        problem = problem.take().or(wrong);
        last = (vertex, neighbors.last().copied().unwrap_or(0));
        seen += neighbors.len() as u64;
        if seen >= STEP {
            progress.advance(std::mem::take(&mut seen));
            progress.check()?;
        }
        Ok(())
    })?;
    progress.advance(seen);
    if lists.edges() != adjacency.bytes / u64::from(graph.manifest().neighbor_bytes) {
        problem.get_or_insert("degrees do not add up to the adjacency".to_owned());
    }
    found.faults.extend(problem.map(|what| Fault { path: adjacency.path().to_owned(), what }));
    check_index(graph, prefix, &mut found.faults)?;
    // What does not fit lists that are themselves at fault is no fault of its own.
    if let (Some(heads), []) = (heads, &found.faults[..]) {
        found.heads = heads.finish()?;
    }
    Ok(found)
}

/// Each entry of the index is the sum of the degrees before its group.
fn check_index(graph: &Graph, prefix: &str, faults: &mut Vec<Fault>) -> Result<()> {
    let (degrees, index) =
        (graph.table(&format!("{prefix}.degrees"))?, graph.table(&format!("{prefix}.index"))?);
    let (mut sum, mut sound) = (0u64, true);
    let most = BATCH;
    let connected = graph.connected();
    for first in (0..connected.max(1)).step_by(most as usize) {
        let count = most.min(connected - first);
        let degrees = numbers(&degrees.read(first * 4, count as usize * 4)?, 4);
        let groups = numbers(
            &index.read(first / INDEX_GROUP * 8, count.div_ceil(INDEX_GROUP) as usize * 8)?,
            8,
        );
        for (group, before) in degrees.chunks(INDEX_GROUP as usize).zip(groups) {
            sound &= sum == before;
            sum = sum.wrapping_add(group.iter().sum());
        }
    }
    let all = numbers(&index.read(connected.div_ceil(INDEX_GROUP) * 8, 8)?, 8);
    if !sound || all != [sum] {
        let what = "its entries are not the sums of the degrees".to_owned();
        faults.push(Fault { path: index.section.path().to_owned(), what });
    }
    Ok(())
}
