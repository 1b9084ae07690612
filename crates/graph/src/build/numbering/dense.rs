//! Vertices whose ids are numbers in a range that an array can cover. The array of degrees becomes
//! the array of internal ids.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use outercore_storage::HugeVec;

use super::store::{ABSENT, IdMap, InternalIds, Vertices};
use crate::{
    build::{Builder, spool::Spool},
    error::Result,
    format::{IdTable, SectionEntry},
    order::TotalDegrees,
};

/// An array over the range of the ids.
pub struct Domain {
    /// The smallest id; entry `i` is id `first + i`.
    pub first: u64,
    /// Entries.
    pub len: u64,
    /// The total degree of each id.
    pub degrees: HugeVec<AtomicU32>,
    /// One bit for each listed id.
    pub listed: Option<HugeVec<AtomicU64>>,
    /// The ids that the input declares: first and count.
    pub range: Option<(u64, u64)>,
}

impl Domain {
    fn degree(&self, index: u64) -> u32 {
        self.degrees[(self.first + index) as usize].load(Relaxed)
    }

    /// Whether entry `index` is a vertex.
    fn present(&self, index: u64) -> bool {
        let id = self.first + index;
        self.degree(index) > 0
            || self.range.is_some_and(|(first, count)| id >= first && id - first < count)
            || self
                .listed
                .as_ref()
                .is_some_and(|bits| bits[(id / 64) as usize].load(Relaxed) >> (id % 64) & 1 == 1)
    }
}

/// The vertices of a domain, and their edges.
pub struct DenseVertices {
    pub(super) domain: Domain,
    /// The edges; `None`: the source is read again.
    pub(super) spool: Option<Spool>,
}

impl DenseVertices {
    fn degree(&self, index: u64) -> u64 {
        u64::from(self.domain.degree(index))
    }
}

impl TotalDegrees for DenseVertices {
    fn for_each(&self, mut visit: impl FnMut(u64)) -> Result<()> {
        (0..self.domain.len)
            .filter(|&index| self.domain.present(index))
            .for_each(|index| visit(self.degree(index)));
        Ok(())
    }
}

impl Vertices for DenseVertices {
    type Ids = DenseIds;

    fn number(self, mut next: impl FnMut(u64) -> u64) -> Result<DenseIds> {
        let Domain { first, len, .. } = self.domain;
        for index in 0..len {
            let id =
                if self.domain.present(index) { next(self.degree(index)) as u32 } else { ABSENT };
            self.domain.degrees[(first + index) as usize].store(id, Relaxed);
        }
        Ok(DenseIds { first, len, map: self.domain.degrees, spool: self.spool })
    }
}

/// The internal ids of a domain.
pub struct DenseIds {
    first: u64,
    len: u64,
    map: IdMap,
    spool: Option<Spool>,
}

impl DenseIds {
    /// The internal id of each vertex, with its distance from the first id.
    fn vertices(&self) -> impl Iterator<Item = (u64, u32)> {
        let entries = &self.map[self.first as usize..(self.first + self.len) as usize];
        let entries = (0..).zip(entries.iter().map(|entry| entry.load(Relaxed)));
        entries.filter(|&(_, entry)| entry != ABSENT)
    }
}

impl InternalIds for DenseIds {
    fn held(&self) -> u64 {
        self.map.bytes()
    }

    fn for_each(&self, mut visit: impl FnMut(u64)) -> Result<()> {
        self.vertices().for_each(|(_, entry)| visit(entry.into()));
        Ok(())
    }

    fn write_keys(
        &mut self,
        builder: &Builder,
        vertices: u64,
    ) -> Result<(IdTable, Vec<SectionEntry>)> {
        if vertices == self.len {
            return Ok((IdTable::Range { first: self.first }, Vec::new()));
        }
        let mut keys = builder.folders.section("ids.keys", false)?;
        for (index, _) in self.vertices() {
            keys.write(&(self.first + index).to_le_bytes())?;
        }
        Ok((IdTable::Numbers, vec![keys.finish()?]))
    }

    fn into_edges(self, _: &Builder) -> Result<(Option<Spool>, Option<IdMap>)> {
        Ok((self.spool, Some(self.map)))
    }
}
