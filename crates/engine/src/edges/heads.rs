//! [`Heads`]: the first neighbor of each vertex, in memory or read along. Lists are sorted and
//! vertices ordered by degree, so it is the largest hub among the neighbors.

use std::sync::atomic::Ordering::Relaxed;

use outercore_graph::{Graph, format::INDEX_GROUP};
use outercore_storage::{HugeVec, PAGE};

use super::table::load_table;
use crate::{
    error::Result,
    session::{OpenSection, Session},
};

/// The first neighbors.
pub struct Heads {
    place: Place,
    width: usize,
}

enum Place {
    Memory(HugeVec<u8>),
    Storage(OpenSection),
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

    /// Loads them.
    pub(crate) fn load(session: &Session, section: &OpenSection) -> Result<Self> {
        let width = session.graph.manifest().neighbor_bytes as usize;
        let bytes = load_table(session, section, session.graph.connected() as usize * width)?;
        Ok(Self { place: Place::Memory(bytes), width })
    }

    /// Leaves them on storage.
    pub(crate) fn stored(session: &Session, section: OpenSection) -> Self {
        Self {
            place: Place::Storage(section),
            width: session.graph.manifest().neighbor_bytes as usize,
        }
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
        let groups = session.graph.connected().div_ceil(INDEX_GROUP);
        let block = GROUPS.min(session.buffer_bytes() as u64 / PAGE as u64);
        let show = |state: &mut S, range: std::ops::Range<u64>, heads: &SomeHeads| {
            range.filter(|&group| wanted(group)).for_each(|group| visit(state, group, heads));
        };
        let results = session.workers.over(
            groups.div_ceil(block),
            1,
            |index| (index, state(index), Ok(())),
            |(index, state, failed): &mut (usize, S, Result<()>), blocks| {
                let range = blocks.start * block..(blocks.end * block).min(groups);
                match &self.place {
                    Place::Memory(bytes) => {
                        show(state, range, &SomeHeads { first: 0, bytes, width: self.width })
                    }
                    Place::Storage(section) if failed.is_ok() && range.clone().any(&wanted) => {
                        *failed = self.fetch(session, *index, section, &range, |heads| {
                            show(state, range.clone(), heads)
                        });
                    }
                    Place::Storage(_) => {}
                }
            },
        );
        results.into_iter().map(|(_, state, failed)| failed.map(|()| state)).collect()
    }

    fn fetch(
        &self,
        session: &Session,
        worker: usize,
        section: &OpenSection,
        groups: &std::ops::Range<u64>,
        take: impl FnOnce(&SomeHeads),
    ) -> Result<()> {
        let group = INDEX_GROUP * self.width as u64;
        // A block of fewer groups may begin inside a page: what is before it is read along.
        let start = groups.start * group / PAGE as u64 * PAGE as u64;
        let end = (groups.end * group).min(session.graph.connected() * self.width as u64);
        let skipped = (groups.start * group - start) as usize;
        session.counters.useful_bytes.fetch_add(end - groups.start * group, Relaxed);
        session.reader(worker).fetch(
            section,
            start,
            ((end - start) as usize).next_multiple_of(PAGE),
            |bytes| {
                take(&SomeHeads {
                    first: groups.start * INDEX_GROUP,
                    bytes: &bytes[skipped..],
                    width: self.width,
                });
            },
        )
    }
}

impl SomeHeads<'_> {
    /// The first neighbor of `vertex`, if it has any. An id of all ones means none, unless it is a
    /// vertex: then every list holds at most it.
    #[inline(always)]
    pub(crate) fn get(&self, vertex: u64) -> Option<u64> {
        let at = (vertex - self.first) as usize * self.width;
        let mut number = [0; 8];
        number[..self.width].copy_from_slice(&self.bytes[at..at + self.width]);
        let head = u64::from_le_bytes(number);
        (head != u64::MAX >> (64 - 8 * self.width)).then_some(head)
    }
}
