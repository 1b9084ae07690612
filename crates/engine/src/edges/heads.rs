//! [`Heads`]: the first neighbor of each vertex, in memory or read along. Lists are sorted, so it
//! has the smallest id: where vertices are ordered by degree, it is the largest hub.

use outercore_graph::{
    Graph, Result, error,
    format::{INDEX_GROUP, number},
};
use outercore_storage::{HugeVec, PAGE};

use super::table::{fetch, load_range};
use crate::session::{OpenSection, Session};

/// The first neighbors.
pub struct Heads {
    section: OpenSection,
    /// All of them, if they are in memory.
    loaded: Option<HugeVec<u8>>,
    width: usize,
}

/// The first neighbors of some vertices.
pub struct SomeHeads<'h> {
    first: u64,
    bytes: &'h [u8],
    width: usize,
}

/// Groups of 64 vertices whose heads are looked at together: whole pages, whatever the width.
const GROUPS: u64 = 1 << 10;

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
        visit: impl Fn(&mut S, u64, &SomeHeads) + Sync,
    ) -> Result<Vec<S>> {
        let (vertices, width) = (session.graph.connected(), self.width);
        let groups = vertices.div_ceil(INDEX_GROUP);
        let block = GROUPS.min(session.buffer_bytes as u64 / PAGE as u64);
        let states = session.workers.try_over(
            groups.div_ceil(block),
            1,
            |index| Ok((index, state(index))),
            |(index, state), blocks| {
                let groups = blocks.start * block..(blocks.end * block).min(groups);
                let first = groups.start * INDEX_GROUP;
                let mut show = |heads: &SomeHeads| {
                    let wanted = groups.clone().filter(|&group| wanted(group));
                    wanted.for_each(|group| visit(state, group, heads));
                };
                if let Some(bytes) = &self.loaded {
                    show(&SomeHeads { first: 0, bytes, width });
                } else if groups.clone().any(&wanted) {
                    let end = (groups.end * INDEX_GROUP).min(vertices);
                    let bytes = first * width as u64..end * width as u64;
                    let show = |bytes: &[u8]| show(&SomeHeads { first, bytes, width });
                    fetch(session, *index, &self.section, bytes, show)?;
                }
                Ok(())
            },
        );
        Ok(error::all(states)?.into_iter().map(|(_, state)| state).collect())
    }
}

impl SomeHeads<'_> {
    /// The first neighbor of `vertex`, if it has any. An id of all ones means none, unless it is a
    /// vertex: then every list holds at most it.
    #[inline(always)]
    pub(crate) fn get(&self, vertex: u64) -> Option<u64> {
        let at = (vertex - self.first) as usize * self.width;
        let head = number(&self.bytes[at..at + self.width]);
        (head != u64::MAX >> (64 - 8 * self.width)).then_some(head)
    }
}
