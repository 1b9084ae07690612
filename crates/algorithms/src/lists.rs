//! Whole lists in memory, a batch of consecutive vertices at a time: for algorithms that need all
//! of a vertex's neighbors at once, whatever the direction of its edges. In an undirected graph
//! there is one list for each vertex, in a directed one there are two.
//!
//! The row index is resident, or it is a window that slides along with the batches: then memory
//! does not grow with the graph.

use std::{
    ops::Range,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
};

use outercore_engine::{
    EngineError, HugePages, HugeVec, MemoryModel, Result,
    edges::{io_iterator::IoIterator, rows::Rows},
    session::{OpenSection, Session},
};
use outercore_graph::{Direction, Graph, Order};

use crate::finish::row_sections;

/// Vertices of a window of a row index that slides.
const WINDOW: u64 = 1 << 18;
/// Entries of a batch for each vertex that it may have: batches of lonely vertices are short of
/// entries.
const SHARE: u64 = 4;
/// Entries of the smallest batch, unless a single list is longer.
const LEAST: u64 = 1 << 18;
/// Entries of the largest batch, likewise.
const MOST: u64 = 1 << 22;

/// The directions whose lists make up a vertex's neighborhood.
pub fn directions(graph: &Graph) -> &'static [Direction] {
    if graph.directed() { &[Direction::Out, Direction::In] } else { &[Direction::Out] }
}

/// The sections of all [`directions`]: degrees, index and adjacency of each.
pub fn sections(graph: &Graph, name: &str) -> Result<Vec<String>> {
    if graph.rows(Direction::In).is_none() {
        return Err(EngineError::Usage(format!(
            "{name} needs the incoming edges, and the graph was built with --transpose off; \
             build it again without"
        )));
    }
    let mut names = Vec::new();
    for &direction in directions(graph) {
        names.extend(row_sections(graph, direction, false)?);
    }
    Ok(names)
}

/// The adjacency sections among [`sections`].
pub fn edge_sections(graph: &Graph, name: &str) -> Result<Vec<String>> {
    Ok(sections(graph, name)?.into_iter().skip(2).step_by(3).collect())
}

/// Bytes of the row index, resident or sliding.
pub fn index_bytes(graph: &Graph, model: MemoryModel) -> u64 {
    let each = if model == MemoryModel::FullyExternal {
        Rows::window_bytes(WINDOW)
    } else {
        Rows::index_bytes(graph)
    };
    each.min(Rows::index_bytes(graph)) * directions(graph).len() as u64
}

/// Which neighbors a batch holds.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// All.
    All,
    /// Those with smaller internal ids than the vertex itself: in the order of degrees, those with
    /// more edges.
    Smaller,
}

/// The most neighbors that are kept of any vertex, all directions together.
pub fn longest(graph: &Graph, kept: Kept) -> u64 {
    let manifest = graph.manifest();
    let all = manifest.max_out_degree.0 + if graph.directed() { manifest.max_in_degree } else { 0 };
    let one_list = !graph.directed() && manifest.simple && manifest.order == Order::Degree;
    // A vertex with k neighbors that have no fewer edges than itself makes k lists of at least k
    // edges.
    if kept == Kept::Smaller && one_list { all.min(manifest.arcs.isqrt() + 1) } else { all }
}

/// Entries of a batch that takes about `bytes`, within what makes sense.
pub fn batch_entries(graph: &Graph, kept: Kept, bytes: u64) -> u64 {
    let entries = (bytes / (6 * directions(graph).len() as u64)).clamp(LEAST, MOST);
    entries.min(graph.manifest().arcs.max(64)).max(longest(graph, kept))
}

/// The most vertices of a batch of so many entries.
pub fn batch_vertices(entries: u64) -> u64 {
    entries / SHARE
}

/// Bytes of a batch of so many entries.
pub fn batch_bytes(graph: &Graph, entries: u64) -> u64 {
    directions(graph).len() as u64 * (entries * 4 + (batch_vertices(entries) + 1) * 8)
}

/// The lists of a graph, batch by batch.
pub struct Lists<'s> {
    session: &'s Session<'s>,
    rows: Vec<Rows>,
    slides: bool,
    kept: Kept,
    batch: Vec<Batch>,
    entries: u64,
}

/// The lists of a batch in one direction.
pub struct Batch {
    first: u64,
    /// Where each list begins; one more than there are vertices.
    starts: HugeVec<u32>,
    /// How many entries each list has so far.
    counts: HugeVec<AtomicU32>,
    neighbors: HugeVec<AtomicU32>,
}

impl Batch {
    fn new(entries: u64, vertices: u64, huge: HugePages) -> Result<Self> {
        Ok(Self {
            first: 0,
            starts: HugeVec::zeroed(vertices as usize + 1, huge)?,
            counts: HugeVec::zeroed(vertices as usize + 1, huge)?,
            neighbors: HugeVec::zeroed(entries as usize, huge)?,
        })
    }

    /// The neighbors of a vertex of the batch: ascending, unless the list was longer than a
    /// request.
    #[inline(always)]
    pub fn neighbors(&self, vertex: u64) -> impl Iterator<Item = u32> + '_ {
        let at = (vertex - self.first) as usize;
        let start = self.starts[at] as usize;
        self.neighbors[start..start + self.counts[at].load(Relaxed) as usize]
            .iter()
            .map(|neighbor| neighbor.load(Relaxed))
    }
}

impl<'s> Lists<'s> {
    /// Lists of what [`sections`] named, for batches of at most `entries` neighbors. `cache` bytes
    /// keep the front of the adjacency.
    pub fn open(
        session: &'s Session<'s>,
        sections: &mut impl Iterator<Item = OpenSection>,
        model: MemoryModel,
        kept: Kept,
        entries: u64,
        cache: u64,
    ) -> Result<Self> {
        let directions = directions(session.graph).len();
        let slides = model == MemoryModel::FullyExternal;
        let mut rows = Vec::new();
        for _ in 0..directions {
            let parts = sections.by_ref().take(3).collect();
            let load = if slides { Rows::sliding } else { Rows::load };
            rows.push(load(session, parts, cache / directions as u64)?);
        }
        // Each direction has its share; a batch ends when one of them is full.
        let huge = session.config.huge_pages;
        let batch = (0..directions)
            .map(|_| Batch::new(entries, batch_vertices(entries), huge))
            .collect::<Result<_>>()?;
        Ok(Self { session, rows, slides, kept, batch, entries })
    }

    /// Brings the next batch into memory: vertices from `first` on, as many as fit; none once
    /// `first` is past the last one.
    pub fn load(&mut self, first: u64) -> Result<Range<u64>> {
        let range = self.next(first)?;
        for (rows, batch) in self.rows.iter().zip(&self.batch) {
            let expected = u64::from(batch.starts[(range.end - range.start) as usize]);
            let kept = self.kept;
            IoIterator::new(self.session, rows).within(range.clone()).for_each(
                expected,
                |_| u64::MAX,
                |_| (),
                |(), vertex, list| {
                    let at = (vertex - range.start) as usize;
                    let (start, end) = (batch.starts[at] as usize, batch.starts[at + 1] as usize);
                    let before = batch.counts[at].load(Relaxed) as usize;
                    let room = &batch.neighbors[start + before..end];
                    let limit = if kept == Kept::Smaller { vertex } else { u64::MAX };
                    let mut count = 0;
                    for (entry, neighbor) in
                        room.iter().zip(list.neighbors().take_while(|&neighbor| neighbor < limit))
                    {
                        entry.store(neighbor as u32, Relaxed);
                        count += 1;
                    }
                    batch.counts[at].store((before + count) as u32, Relaxed);
                },
            )?;
        }
        Ok(range)
    }

    /// Chooses the next batch and lays out its lists.
    fn next(&mut self, first: u64) -> Result<Range<u64>> {
        self.slide_to(first)?;
        let most =
            batch_vertices(self.entries).min(self.rows[0].window().end.saturating_sub(first));
        let (simple, kept) = (self.session.graph.manifest().simple, self.kept);
        // A list without repetitions has at most as many smaller neighbors as there are smaller
        // vertices.
        let bound = |vertex: u64, degree: u32| {
            let degree = u64::from(degree);
            if kept == Kept::Smaller && simple { degree.min(vertex) } else { degree }
        };
        let (mut count, mut used) = (0, 0);
        while count < most {
            let vertex = first + count;
            let more: u64 = self.rows.iter().map(|rows| bound(vertex, rows.degree(vertex))).sum();
            if used + more > self.entries {
                break;
            }
            for (rows, batch) in self.rows.iter().zip(&mut self.batch) {
                let at = count as usize;
                batch.starts[at + 1] = batch.starts[at] + bound(vertex, rows.degree(vertex)) as u32;
                *batch.counts[at].get_mut() = 0;
            }
            used += more;
            count += 1;
        }
        self.batch.iter_mut().for_each(|batch| batch.first = first);
        Ok(first..first + count)
    }

    /// Sees to it that the row index has `first`, unless there is no such vertex.
    fn slide_to(&mut self, first: u64) -> Result<()> {
        let total = self.session.graph.connected();
        if self.slides && first < total && !self.rows[0].window().contains(&first) {
            let start = first / 64 * 64;
            for rows in &mut self.rows {
                rows.slide(self.session, start..(start + WINDOW).min(total))?;
            }
        }
        Ok(())
    }

    /// The vertices from `first` on whose degrees are at hand; none once `first` is past the last
    /// one.
    pub fn degrees_from(&mut self, first: u64) -> Result<Range<u64>> {
        self.slide_to(first)?;
        Ok(first..self.rows[0].window().end.max(first))
    }

    /// The edges of a vertex whose degree is at hand, in both directions.
    pub fn degree(&self, vertex: u64) -> u64 {
        self.rows.iter().map(|rows| u64::from(rows.degree(vertex))).sum()
    }

    /// The batch that was loaded last: outgoing lists (of an undirected graph, all), then incoming
    /// ones.
    pub fn batch(&self) -> &[Batch] {
        &self.batch
    }
}
