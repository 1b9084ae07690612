//! Numbering: who is a vertex, which internal id each has, which buckets there are; and handing
//! every edge to its buckets.

use std::sync::{
    Mutex,
    atomic::{AtomicU32, Ordering::Relaxed},
};

use outercore_storage::{HugePages, HugeVec};

use super::{
    Builder,
    access::SourceAccess,
    buckets::Buckets,
    cells::{CellCounts, Tally},
    dictionary::{Dictionary, Ranked},
    emit::ENCODED_BYTES,
    ids::{IdWriter, write_ranks},
    ingest::{Domain, Ingested, RawEnds},
    order::{ABSENT, DegreeCounts, Numbering},
    partition::{Partition, PartitionWriter},
    rankfile::RankFile,
    relabel::Relabel,
    spool::{EdgeBlock, Spool},
    weights::WeightCode,
};
use crate::{
    error::Result,
    format::{IdTable, SectionEntry},
    input::{EdgeBatch, Ends, Item, NoProgress},
    order::Order,
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
    /// The internal id of each raw id (an index into the array); `None`: the spool holds internal
    /// ids already.
    pub map: Option<HugeVec<AtomicU32>>,
    /// The buckets.
    pub buckets: Buckets,
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

    /// Hands every edge to the bucket of its target and to that of its source; in an undirected
    /// graph to `to.by_target` from both ends.
    pub fn partition(
        &self,
        access: &SourceAccess,
        to: &Partitions,
        weights: WeightCode,
    ) -> Result<()> {
        let progress = access.progress;
        let (writers, finish) = (|| to.writers(), Writers::finish);
        if let Some(spool) = &self.spool {
            let visit = |writers: &mut Writers, block: &EdgeBlock| {
                self.push(writers, &block.pairs, &block.weights, weights)?;
                progress.advance(block.pairs.len() as u64);
                progress.check()
            };
            return spool.read(access.threads, writers, visit, finish);
        }
        // The source's threads are its own: each batch takes a writer that is at rest.
        let rest: Mutex<Vec<Writers>> = Mutex::default();
        access.source.read(access.threads, access.parse, &NoProgress, &|item| {
            progress.check()?;
            let Item::Edges(EdgeBatch { ends: Ends::Numbers(pairs), weights: batch }) = item else {
                return Ok(());
            };
            let idle = rest.lock().expect("no holder panics").pop();
            let mut taken = idle.map_or_else(writers, Ok)?;
            self.push(
                &mut taken,
                &pairs,
                batch.as_deref().filter(|_| !weights.is_none()).unwrap_or(&[]),
                weights,
            )?;
            rest.lock().expect("no holder panics").push(taken);
            progress.advance(pairs.len() as u64);
            Ok(())
        })?;
        rest.into_inner().expect("no holder panics").into_iter().try_for_each(finish)
    }

    fn push(
        &self,
        writers: &mut Writers,
        pairs: &[[u64; 2]],
        weights: &[f64],
        code: WeightCode,
    ) -> Result<()> {
        let (map, buckets) = (self.map.as_deref(), &self.buckets);
        let Writers { targets, sources, tally } = writers;
        let mut ends = [[0u64; 2]; LOOKUPS];
        for (part, pairs) in pairs.chunks(LOOKUPS).enumerate() {
            internal_ids(map, pairs, &mut ends);
            for (index, &[source, target]) in ends[..pairs.len()].iter().enumerate() {
                let weight =
                    weights.get(part * LOOKUPS + index).map_or(0, |&weight| code.encode(weight));
                targets.push(buckets, target, source, weight)?;
                if let Some(tally) = tally {
                    tally.add(source, target);
                    if sources.is_none() && source != target {
                        tally.add(target, source);
                    }
                }
                match sources {
                    Some(sources) => sources.push(buckets, source, target, weight)?,
                    None if source != target => targets.push(buckets, source, target, weight)?,
                    None => {}
                }
            }
        }
        Ok(())
    }
}

/// Where edges with internal ids go.
pub struct Partitions {
    /// By target; in an undirected graph by both ends.
    pub by_target: Partition,
    /// By source, in a directed graph.
    pub by_source: Option<Partition>,
    /// The edges of each cell are counted here, for the hybrid layout.
    pub cells: Option<CellCounts>,
}

/// One thread's way there.
struct Writers<'p> {
    targets: PartitionWriter<'p>,
    sources: Option<PartitionWriter<'p>>,
    tally: Option<Tally<'p>>,
}

impl Partitions {
    fn writers(&self) -> Result<Writers<'_>> {
        let sources = self.by_source.as_ref().map(Partition::writer).transpose()?;
        Ok(Writers {
            targets: self.by_target.writer()?,
            sources,
            tally: self.cells.as_ref().map(CellCounts::tally),
        })
    }
}

impl Writers<'_> {
    fn finish(self) -> Result<()> {
        self.tally.into_iter().for_each(Tally::finish);
        self.targets.finish()?;
        self.sources.map_or(Ok(()), PartitionWriter::finish)
    }
}

/// Edges whose ends are looked up together.
const LOOKUPS: usize = 512;

/// Looks up both ends of each edge. A loop of nothing but independent loads: the processor keeps
/// many cache misses in flight, which it could not between the branches of sorting edges into
/// buckets.
fn internal_ids(map: Option<&[AtomicU32]>, pairs: &[[u64; 2]], ends: &mut [[u64; 2]; LOOKUPS]) {
    match map {
        Some(map) => {
            for (end, pair) in ends.iter_mut().zip(pairs) {
                *end = pair.map(|id| u64::from(map[id as usize].load(Relaxed)));
            }
        }
        None => ends[..pairs.len()].copy_from_slice(pairs),
    }
}

impl Builder<'_> {
    /// Decides vertices, order and buckets, and writes the id tables.
    pub(super) fn number(&self, ingested: Ingested) -> Result<Numbered> {
        let weighted = ingested.weighted;
        let memory = self.memory * 8 / 10;
        let dictionary = Dictionary {
            disk: self.disk,
            folders: self.folders,
            scratch: self.scratch,
            threads: self.options.threads,
            memory,
            budget: self.options.memory,
            weighted,
            progress: self.progress,
        };
        match ingested.ends {
            RawEnds::Dense { spool, domain } => self.number_dense(spool, domain, weighted),
            RawEnds::Numbers { spool, hints } => {
                let ranked = dictionary.rank_numbers(spool, hints)?;
                self.number_ranked(ranked, weighted)
            }
            RawEnds::Names(names) => {
                let ranked = dictionary.rank_names(names)?;
                self.number_ranked(ranked, weighted)
            }
        }
    }

    /// A vertex's degree as numbering sees it: one without edges is set apart, or counts as if it
    /// had one.
    fn counted(&self, degree: u64) -> u64 {
        if self.options.isolated_apart { degree } else { degree.max(1) }
    }

    /// The most edges that one worker sorts at a time.
    fn capacity(&self, connected: u64, weighted: bool) -> u64 {
        let record = if weighted { 16 } else { 8 };
        let encoded = ENCODED_BYTES + bytes_for(connected) as u64 + if weighted { 16 } else { 0 };
        (self.memory / self.options.threads as u64 / (2 * record + encoded)).max(1 << 12)
    }

    fn buckets(
        &self,
        degrees: impl Iterator<Item = u64>,
        connected: u64,
        weighted: bool,
    ) -> Buckets {
        let capacity = self.capacity(connected, weighted);
        let id_bits = 64 - connected.leading_zeros();
        let most_vertices = (capacity / 4).max(1).min(1 << (63 - id_bits).min(40));
        Buckets::cut(degrees, capacity, most_vertices)
    }

    fn number_dense(
        &self,
        spool: Option<Spool>,
        domain: Domain,
        weighted: bool,
    ) -> Result<Numbered> {
        self.progress.stage("ordering vertices", None);
        let mut counts = DegreeCounts::default();
        let mut vertices = 0;
        for index in 0..domain.len {
            if domain.present(index) {
                counts.add(self.counted(domain.degree(index).into()));
                vertices += 1;
            }
        }
        let connected = counts.connected();
        let order = self.options.order;
        let buckets = match order {
            Order::Degree => self.buckets(counts.degrees(), connected, weighted),
            Order::Original => {
                let present = (0..domain.len).filter(|&index| domain.present(index));
                let degrees = present
                    .map(|index| self.counted(domain.degree(index).into()))
                    .filter(|&degree| degree > 0);
                self.buckets(degrees, connected, weighted)
            }
        };
        let mut numbering = Numbering::new(&counts, order);
        for index in 0..domain.len {
            let id = if domain.present(index) {
                numbering.next(self.counted(domain.degree(index).into())) as u32
            } else {
                ABSENT
            };
            domain.set(index, id);
        }
        let len = domain.len;
        let (first, map) = domain.into_array();
        let entries =
            || map[first as usize..(first + len) as usize].iter().map(|entry| entry.load(Relaxed));
        let mut sections = Vec::new();
        let ids = if vertices == len {
            IdTable::Range { first }
        } else {
            let mut keys = self.folders.section("ids.keys", false)?;
            for (index, _) in entries().enumerate().filter(|&(_, entry)| entry != ABSENT) {
                keys.write(&(first + index as u64).to_le_bytes())?;
            }
            sections.push(keys.finish()?);
            IdTable::Numbers
        };
        let identity = order == Order::Original && connected == vertices;
        let walk = |visit: &mut dyn FnMut(u64)| -> Result<()> {
            entries().filter(|&entry| entry != ABSENT).for_each(|entry| visit(u64::from(entry)));
            self.progress.check()
        };
        let id_bytes = self.write_ids(vertices, identity, map.bytes(), walk, &mut sections)?;
        Ok(Numbered {
            vertices,
            connected,
            spool,
            map: Some(map),
            buckets,
            ids,
            id_bytes,
            sections,
        })
    }

    /// Writes both id tables; returns the bytes of an entry.
    fn write_ids(
        &self,
        vertices: u64,
        identity: bool,
        held: u64,
        mut walk: impl FnMut(&mut dyn FnMut(u64)) -> Result<()>,
        sections: &mut Vec<SectionEntry>,
    ) -> Result<u32> {
        if identity {
            return Ok(0);
        }
        let mut writer = IdWriter::create(self.folders, vertices)?;
        let mut written = Ok(());
        walk(&mut |internal| {
            if written.is_ok() {
                written = writer.push(internal);
            }
        })?;
        written?;
        sections.push(writer.finish()?);
        let width = bytes_for(vertices);
        let window =
            (self.memory.saturating_sub(held) * 8 / 10).max(self.memory / 8) / width as u64;
        sections.push(write_ranks(self.folders, vertices, window, walk)?);
        Ok(width as u32)
    }

    fn number_ranked(&self, ranked: Ranked, weighted: bool) -> Result<Numbered> {
        self.progress.stage("ordering vertices", None);
        let order = self.options.order;
        let mut counts = DegreeCounts::default();
        ranked.degrees.for_each(|degree| {
            counts.add(self.counted(degree));
            Ok(())
        })?;
        let (vertices, connected) = (ranked.vertices, counts.connected());
        let buckets = match order {
            Order::Degree => self.buckets(counts.degrees(), connected, weighted),
            Order::Original => {
                let mut failed = Ok(());
                let degrees = ranks(&ranked.degrees, &mut failed)
                    .map(|degree| self.counted(degree))
                    .filter(|&degree| degree > 0);
                let buckets = self.buckets(degrees, connected, weighted);
                failed?;
                buckets
            }
        };
        let mut numbering = Numbering::new(&counts, order);
        let mut map = RankFile::create(self.disk, self.scratch, "map")?;
        ranked.degrees.for_each(|degree| map.push(numbering.next(self.counted(degree))))?;
        let map = map.finish()?;
        let mut sections = ranked.sections;
        let identity = order == Order::Original && connected == vertices;
        let walk = |visit: &mut dyn FnMut(u64)| {
            map.for_each(|internal| {
                visit(internal);
                Ok(())
            })
        };
        let id_bytes = self.write_ids(vertices, identity, 0, walk, &mut sections)?;
        let fits = vertices * 4 <= self.memory * 6 / 10 && vertices < u64::from(ABSENT);
        let (spool, array) = if fits {
            let array: HugeVec<AtomicU32> = HugeVec::zeroed(vertices as usize, HugePages::Auto)?;
            let mut rank = 0;
            map.for_each(|internal| {
                array[rank].store(internal as u32, Relaxed);
                rank += 1;
                Ok(())
            })?;
            (Some(ranked.spool), Some(array))
        } else {
            let relabel = Relabel {
                disk: self.disk,
                scratch: self.scratch,
                map: &map,
                threads: self.options.threads,
                memory: self.memory * 8 / 10,
                budget: self.options.memory,
                progress: self.progress,
            };
            (Some(relabel.run(ranked.spool)?), None)
        };
        Ok(Numbered {
            vertices,
            connected,
            spool,
            map: array,
            buckets,
            ids: ranked.ids,
            id_bytes,
            sections,
        })
    }
}

/// Every entry of a rank file as an iterator; an error ends it and lands in `failed`.
fn ranks<'a>(file: &'a RankFile, failed: &'a mut Result<()>) -> impl Iterator<Item = u64> + 'a {
    const BATCH: u64 = 1 << 16;
    let mut batch = Vec::new();
    let mut next = 0;
    std::iter::from_fn(move || {
        if next == file.len() {
            return None;
        }
        let at = next % BATCH;
        if at == 0 {
            let count = BATCH.min(file.len() - next) as usize;
            if let Err(error) = file.read(next, count, &mut batch) {
                *failed = Err(error);
                return None;
            }
        }
        next += 1;
        Some(batch[at as usize])
    })
}
