//! Numbering: which ids are vertices, which internal id each has, and which buckets there are.

mod dense;
mod ranked;
mod store;

use outercore_storage::HugeVec;

use self::{
    dense::DenseVertices,
    ranked::RankedVertices,
    store::{InternalIds, Vertices},
};
pub use self::{dense::Domain, store::IdMap};
use super::{
    Builder,
    buckets::Buckets,
    cutting::Cutting,
    dictionary::{Dictionary, Ranked},
    ids::{IdWriter, write_ranks},
    ingest::{Ingested, RawEnds},
    rankfile::RankFile,
    smallest::of_ranking,
    spool::Spool,
};
use crate::{
    error::Result,
    format::{IdTable, SectionEntry},
    order::{DegreeCounts, Numbering, Order, Placing},
    types::bytes_for,
};

/// Edges whose ends have, or are about to get, internal ids.
pub struct Numbered {
    /// All vertices.
    pub vertices: u64,
    /// Vertices with edges.
    pub connected: u64,
    /// The edges; `None`: the source is read again.
    pub spool: Option<Spool>,
    /// The internal id of each raw id; `None`: the spool holds internal ids already.
    pub map: Option<IdMap>,
    /// The buckets.
    pub buckets: Buckets,
    /// Workers that hand edges to them and sort them.
    pub workers: usize,
    /// How original ids are kept.
    pub ids: IdTable,
    /// Bytes of an entry of the id tables; 0: rank and internal id are the same.
    pub id_bytes: u32,
    /// The sections written so far.
    pub sections: Vec<SectionEntry>,
}

impl Numbered {
    /// Bytes that the map holds.
    pub fn map_bytes(&self) -> u64 {
        self.map.as_ref().map_or(0, HugeVec::bytes)
    }
}

impl Builder<'_> {
    /// Decides vertices, order and buckets, and writes the id tables.
    pub(super) fn number(&self, ingested: Ingested, cutting: Cutting) -> Result<Numbered> {
        let mut dictionary = Dictionary {
            disk: self.disk,
            folders: self.folders,
            scratch: self.scratch,
            threads: self.options.threads,
            workers: self.options.threads,
            memory: of_ranking(self.memory),
            budget: self.options.memory,
            cutting,
            progress: self.progress,
        };
        match ingested.ends {
            RawEnds::Dense { spool, domain } => {
                self.number_vertices(DenseVertices { domain, spool }, cutting)
            }
            RawEnds::Numbers { spool, hints } => {
                self.number_ranked(dictionary.rank_numbers(spool, hints)?, cutting)
            }
            RawEnds::Names(names) => self.number_ranked(dictionary.rank_names(names)?, cutting),
        }
    }

    fn number_ranked(&self, ranked: Ranked, cutting: Cutting) -> Result<Numbered> {
        let map = RankFile::create(self.disk, self.scratch, "map")?;
        let cutting = Cutting { ranked: ranked.degrees.len(), ..cutting };
        self.number_vertices(RankedVertices { ranked, map }, cutting)
    }

    fn number_vertices(&self, store: impl Vertices, cutting: Cutting) -> Result<Numbered> {
        self.progress.stage("ordering vertices", None);
        let mut counts = DegreeCounts::default();
        store.for_each(|degree| counts.add(degree))?;
        let placing = self.placing();
        let (vertices, connected) = (counts.vertices(), placing.connected(&counts));
        let cutting = Cutting { connected, degrees: counts.sum(), ..cutting };
        let (buckets, workers) = self.cut(cutting, |cut| {
            placing.each_degree(&counts, &store, self.memory / 8, |degree| cut.push(degree))
        })?;
        let mut numbering = Numbering::new(placing, &counts);
        let mut numbered = store.number(|degree| numbering.next(degree))?;
        numbering.finish()?;
        let (ids, mut sections) = match self.found {
            Some(found) => self.copy_keys(found.graph)?,
            None => numbered.write_keys(self, vertices)?,
        };
        let is_identity = self.options.order.is_by_original_id() && connected == vertices;
        let id_bytes = if is_identity {
            0
        } else {
            sections.extend(self.write_ids(vertices, &numbered)?);
            bytes_for(vertices) as u32
        };
        let (spool, map) = numbered.into_edges(self)?;
        Ok(Numbered { vertices, connected, spool, map, buckets, workers, ids, id_bytes, sections })
    }

    /// How vertices get their places.
    fn placing(&self) -> Placing<'_> {
        match (self.options.order, self.found.and_then(|found| found.places)) {
            (_, Some(places)) => Placing::Given(places),
            (Order::Degree, None) => Placing::Degree,
            (_, None) => Placing::Original,
        }
    }

    /// Writes both id tables.
    fn write_ids(&self, vertices: u64, ids: &impl InternalIds) -> Result<[SectionEntry; 2]> {
        let walk = |visit: &mut dyn FnMut(u64)| {
            ids.for_each(visit)?;
            self.progress.check()
        };
        let mut writer = IdWriter::create(self.folders, vertices)?;
        let mut written = Ok(());
        walk(&mut |internal| {
            if written.is_ok() {
                written = writer.push(internal);
            }
        })?;
        written?;
        let by_rank = writer.finish()?;
        let free = self.memory.saturating_sub(ids.held()) * 8 / 10;
        let window = free.max(self.memory / 8) / bytes_for(vertices) as u64;
        Ok([by_rank, write_ranks(self.folders, vertices, window, walk)?])
    }
}
