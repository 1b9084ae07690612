//! [`Neighborhoods`]: whole lists of neighbors in memory, a batch of consecutive vertices at a
//! time: for algorithms that need all of a vertex's neighbors at once, whatever the direction of
//! its edges. An undirected graph has one list for each vertex, a directed one has two.
//!
//! While values are on storage the row index is a window that slides along with the batches, and
//! memory does not grow with the graph.

use std::{
    ops::Range,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
};

use outercore_graph::{Direction, Graph, Order, Result};
use outercore_storage::HugeVec;

use super::lists::{Along, Lists, OpenLists};
use crate::{
    Frontier, MemoryModel, PerWorker,
    edges::rows::Rows,
    plan::{Planner, Resource},
    session::Session,
    techniques::ALL_LISTS,
};

/// Entries of a batch for each vertex that it may have: batches of vertices with few edges are
/// short of entries.
const SHARE: u64 = 4;
/// Entries of the smallest batch, unless a single list is longer.
const LEAST: u64 = 1 << 18;
/// Entries of the largest batch, likewise.
const MOST: u64 = 1 << 22;
/// Bytes beside those of a batch of all neighbors while values are in memory.
const BATCH: u64 = 6 << 20;

/// Whole neighborhoods, as a resource: which neighbors a batch holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Neighborhoods {
    /// All. What the budget leaves keeps the front of the lists.
    All,
    /// Those with smaller internal ids than the vertex itself: in the order of degrees, those with
    /// more edges. An eighth of what the budget leaves makes batches larger.
    Smaller,
}

/// How many lists make up a vertex's neighborhood.
fn directions(graph: &Graph) -> u64 {
    if graph.directed() { 2 } else { 1 }
}

impl Neighborhoods {
    /// The most neighbors of any vertex, all directions together.
    pub fn longest(self, graph: &Graph) -> u64 {
        let manifest = graph.manifest();
        let incoming = if graph.directed() { manifest.max_in_degree } else { 0 };
        let all = manifest.max_out_degree.0 + incoming;
        let one_list = !graph.directed() && manifest.is_simple() && manifest.order == Order::Degree;
        // A vertex with k neighbors that have no fewer edges than itself makes k lists of at least
        // k edges.
        if self == Self::Smaller && one_list { all.min(manifest.arcs.isqrt() + 1) } else { all }
    }

    /// Entries of a batch, while values are in memory or on storage, where the budget leaves `room`
    /// bytes.
    pub fn entries(self, graph: &Graph, external: bool, room: u64) -> u64 {
        let more = match self {
            Self::All if external => 0,
            Self::All => BATCH,
            Self::Smaller => room / 8,
        };
        let entries = (LEAST + more / (6 * directions(graph))).min(MOST);
        entries.min(graph.manifest().arcs.max(64)).max(self.longest(graph))
    }

    /// The most vertices of the smallest batch.
    pub fn most_vertices(self, graph: &Graph, external: bool) -> u64 {
        self.entries(graph, external, 0) / SHARE
    }

    fn lists(self) -> Lists {
        let lists = Lists::along(&[Direction::Out, Direction::In]);
        Lists { slides: true, cached: self == Self::All, can: ALL_LISTS, ..lists }
    }

    /// Bytes of a batch of so many entries.
    pub fn bytes(graph: &Graph, entries: u64) -> u64 {
        directions(graph) * (entries * 4 + (entries / SHARE + 1) * 8)
    }

    /// Bytes of all lists.
    pub fn edge_bytes(self, graph: &Graph) -> u64 {
        graph.list_bytes() * directions(graph)
    }
}

impl Resource for Neighborhoods {
    type Opened = OpenNeighborhoods;

    fn declare(&self, planner: &mut Planner) -> Result<()> {
        let graph = planner.job.graph;
        self.lists().declare(planner)?;
        let least = [false, true].map(|external| self.entries(graph, external, 0));
        planner.memory("batch of lists", least.map(|entries| Self::bytes(graph, entries)));
        Ok(())
    }

    fn open(&self, session: &Session) -> Result<OpenNeighborhoods> {
        let (graph, decision) = (session.graph, session.decision);
        let entries = self.entries(graph, decision.is_external(), decision.room);
        // Each direction has its share; a batch ends when one of them is full.
        let batch = |_| {
            Ok(Batch {
                first: 0,
                starts: session.zeroed(entries / SHARE + 1)?,
                counts: session.zeroed(entries / SHARE + 1)?,
                neighbors: session.zeroed(entries)?,
            })
        };
        let batch = (0..directions(graph)).map(batch).collect::<Result<_>>()?;
        let lists = self.lists().open(session)?;
        let smaller = *self == Self::Smaller;
        Ok(OpenNeighborhoods { smaller, lists, batch, entries, loaded: 0..0 })
    }
}

/// Neighborhoods that are open.
pub struct OpenNeighborhoods {
    /// Only neighbors with smaller ids.
    smaller: bool,
    /// The lists.
    pub lists: OpenLists,
    /// The batch that was loaded last: outgoing lists (of an undirected graph, all), then incoming
    /// ones.
    pub batch: Vec<Batch>,
    entries: u64,
    /// The vertices of the last batch.
    loaded: Range<u64>,
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

    /// Adds a list, or a piece of one, to that of a vertex of the batch.
    #[inline(always)]
    fn add(&self, vertex: u64, neighbors: impl Iterator<Item = u64>) {
        let at = (vertex - self.first) as usize;
        let (start, end) = (self.starts[at] as usize, self.starts[at + 1] as usize);
        let before = self.counts[at].load(Relaxed) as usize;
        let mut count = 0;
        for (entry, neighbor) in self.neighbors[start + before..end].iter().zip(neighbors) {
            entry.store(neighbor as u32, Relaxed);
            count += 1;
        }
        self.counts[at].store((before + count) as u32, Relaxed);
    }
}

impl OpenNeighborhoods {
    /// Brings the next batch into memory: vertices from `first` on, as many as fit; `None` once
    /// `first` is past the last one. Of vertices that are not `due` the lists may be empty. In
    /// memory, the last batch is kept, if all were due.
    pub fn load(
        &mut self,
        session: &Session,
        first: u64,
        due: Option<&Frontier>,
    ) -> Result<Option<Range<u64>>> {
        if first == session.graph.connected() {
            return Ok(None);
        }
        if !self.loaded.is_empty()
            && first == self.loaded.start
            && session.decision.model == MemoryModel::InMemory
        {
            let count = |it: &Batch, vertex| it.counts[(vertex - first) as usize].load(Relaxed);
            let of = |it: &Batch| match due {
                Some(due) => due.iter(self.loaded.clone()).map(|at| u64::from(count(it, at))).sum(),
                None => u64::from(it.starts[(self.loaded.end - first) as usize]),
            };
            session.workers.worked(self.batch.iter().map(of).sum::<u64>());
            return Ok(Some(self.loaded.clone()));
        }
        let vertices = first..first + self.lay_out(session, first)?;
        for (direction, batch) in [Direction::Out, Direction::In].into_iter().zip(&self.batch) {
            let expected = u64::from(batch.starts[(vertices.end - first) as usize]);
            let lists = self.lists.along(session, direction);
            Along { vertices: vertices.clone(), ..lists }.for_each(
                expected,
                |group| due.map_or(u64::MAX, |due| due.word(group)),
                |_| (),
                |(), vertex, list| {
                    let limit = if self.smaller { vertex } else { u64::MAX };
                    batch.add(vertex, list.neighbors().take_while(|&neighbor| neighbor < limit));
                },
            )?;
        }
        self.loaded = if due.is_none() { vertices.clone() } else { 0..0 };
        // A list that is longer than any may be ends it.
        Ok(Some(vertices).filter(|vertices| !vertices.is_empty()))
    }

    /// Lays out the lists of the next batch; returns how many vertices it has.
    fn lay_out(&mut self, session: &Session, first: u64) -> Result<u64> {
        let index = self.lists.indexes_at(session, first).collect::<Result<Vec<_>>>()?;
        // A list without repetitions has at most as many smaller neighbors as there are smaller
        // vertices.
        let few = self.smaller && session.graph.manifest().is_simple();
        let end = index[0].window.end.min(first + self.entries / SHARE);
        let (mut count, mut used) = (0, 0);
        for vertex in first..end {
            let degrees = index.iter().map(|index| u64::from(index.degree(vertex)));
            let entries = degrees.map(|degree| if few { degree.min(vertex) } else { degree });
            used += entries.clone().sum::<u64>();
            if used > self.entries {
                break;
            }
            for (entries, batch) in entries.zip(&mut self.batch) {
                batch.starts[count + 1] = batch.starts[count] + entries as u32;
                *batch.counts[count].get_mut() = 0;
            }
            count += 1;
        }
        self.batch.iter_mut().for_each(|batch| batch.first = first);
        Ok(count as u64)
    }

    /// Bytes of memory of index and batch.
    pub fn bytes(&mut self, session: &Session) -> Result<u64> {
        let indexes = self.lists.indexes_at(session, u64::MAX).map(|index| {
            let window = &index?.window;
            Ok(Rows::index_bytes(window.end - window.start))
        });
        Ok(indexes.sum::<Result<u64>>()? + Neighborhoods::bytes(session.graph, self.entries))
    }

    /// Hands every vertex of some to `visit`, on all workers, each with its own state.
    pub fn each<S: Send>(
        session: &Session,
        states: &PerWorker<S>,
        vertices: Range<u64>,
        visit: impl Fn(&mut S, u64) + Sync,
    ) -> Result<()> {
        let len = vertices.end - vertices.start;
        let grain = (len / (16 * session.workers.count() as u64)).clamp(1, 64);
        let part = |worker: &mut usize, part: Range<u64>| {
            if !session.stopped() {
                let mut state = states.of(*worker);
                part.for_each(|at| visit(&mut state, vertices.start + at));
            }
        };
        session.workers.over(len, grain, |worker| worker, part);
        session.check()
    }
}
