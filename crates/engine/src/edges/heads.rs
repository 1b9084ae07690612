//! [`Heads`]: the first neighbor of each vertex, in memory or read along. Lists are sorted, so it
//! has the smallest id: where vertices are ordered by degree, it is the largest hub.

use std::{
    cell::Cell,
    ops::Range,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

use outercore_graph::{
    Graph, Result,
    format::{FirstNeighbors, INDEX_GROUP, Piece},
};
use outercore_storage::{HugeVec, PAGE};

use super::{piece_stream::on_workers, table::load_range};
use crate::session::{OpenSection, Session};

/// The first neighbors.
pub struct Heads {
    section: OpenSection,
    /// All of them, if they are in memory.
    loaded: Option<HugeVec<u8>>,
    width: usize,
}

/// Groups of 64 vertices whose heads are looked at together: whole pages, whatever the width.
const GROUPS: u64 = 1 << 10;
/// Such blocks on their way to a worker: more of them would be missing to others.
const AHEAD: u32 = 4;

impl Heads {
    /// The section that holds the first incoming neighbors.
    pub(crate) fn section(graph: &Graph) -> String {
        if graph.directed() { "in.heads" } else { "out.heads" }.to_owned()
    }

    /// Bytes of memory of heads that are loaded.
    pub(crate) fn bytes(graph: &Graph) -> u64 {
        graph.connected() * u64::from(graph.manifest().neighbor_bytes) + 8
    }

    /// Loads them, or leaves them on storage.
    pub(crate) fn open(session: &Session, in_memory: bool) -> Result<Self> {
        let graph = session.graph;
        let section = session.section(&Self::section(graph));
        let width = graph.manifest().neighbor_bytes as usize;
        let all = 0..graph.connected() * width as u64;
        let loaded = in_memory.then(|| load_range(session, &section, all)).transpose()?;
        Ok(Self { section, loaded, width })
    }

    /// Shows the heads of every group of 64 vertices for which `wanted` says so, on all workers.
    /// Heads on storage are read in blocks, those of which nothing is wanted left out.
    pub(crate) fn for_each_group<S: Send>(
        &self,
        session: &Session,
        wanted: impl Fn(u64) -> bool + Sync,
        state: impl Fn(usize) -> S + Sync,
        visit: impl Fn(&mut S, u64, &FirstNeighbors) + Sync,
    ) -> Result<Vec<S>> {
        let (vertices, width) = (session.graph.connected(), self.width);
        let groups = vertices.div_ceil(INDEX_GROUP);
        let size = GROUPS.min(session.buffer_bytes as u64 / PAGE as u64);
        let blocks = groups.div_ceil(size);
        let block = |at: u64| at * size..((at + 1) * size).min(groups);
        let show = |state: &mut S, groups: Range<u64>, heads: &FirstNeighbors| {
            groups.filter(|&group| wanted(group)).for_each(|group| visit(state, group, heads));
        };
        if let Some(bytes) = &self.loaded {
            let heads = FirstNeighbors { first: 0, bytes, width };
            let each = |state: &mut S, all: Range<u64>| show(state, block(all.start), &heads);
            return Ok(session.workers.over(blocks, 1, state, each));
        }
        let next = AtomicU64::new(0);
        on_workers(session, &self.section, None, state, |stream, state| {
            let away = Cell::new(0);
            let more = |_| {
                (away.get() < AHEAD).then_some(())?;
                let ats = std::iter::repeat_with(|| next.fetch_add(1, Relaxed));
                let mut all = ats.take_while(|&at| at < blocks).map(block);
                let groups = all.find(|groups| groups.clone().any(&wanted))?;
                let first = groups.start * INDEX_GROUP * width as u64;
                let end = (groups.end * INDEX_GROUP).min(vertices) * width as u64;
                let lead = first % PAGE as u64;
                let place = (first - lead, (end - first + lead) as usize);
                away.set(away.get() + 1);
                Some([HeadsBlock { groups, lead: lead as usize, place }])
            };
            stream.run(more, |HeadsBlock { groups, lead, .. }, bytes| {
                away.set(away.get() - 1);
                let first = groups.start * INDEX_GROUP;
                show(state, groups, &FirstNeighbors { first, bytes: &bytes[lead..], width });
            })
        })
    }
}

/// Groups on storage, whose heads begin so far in a page.
struct HeadsBlock {
    groups: Range<u64>,
    lead: usize,
    place: (u64, usize),
}

impl Piece for HeadsBlock {
    fn place(&self) -> (u64, usize) {
        self.place
    }
}
