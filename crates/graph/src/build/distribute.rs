//! Handing every edge to its buckets: raw ends become internal ids, and each edge goes to the
//! bucket of its target and to that of its source.

use std::sync::{
    Mutex,
    atomic::{AtomicU32, Ordering::Relaxed},
};

use super::{
    access::SourceAccess,
    cells::{CellCounts, Tally},
    numbering::Numbered,
    partition::{Partition, PartitionWriter},
    spool::SpoolBlock,
    weights::WeightCode,
};
use crate::{
    error::Result,
    input::{EdgeBatch, Ends, Item, NoProgress},
};

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
struct EdgeWriters<'p> {
    targets: PartitionWriter<'p>,
    sources: Option<PartitionWriter<'p>>,
    tally: Option<Tally<'p>>,
}

impl Partitions {
    fn writers(&self) -> Result<EdgeWriters<'_>> {
        let sources = self.by_source.as_ref().map(Partition::writer).transpose()?;
        Ok(EdgeWriters {
            targets: self.by_target.writer()?,
            sources,
            tally: self.cells.as_ref().map(CellCounts::tally),
        })
    }
}

impl EdgeWriters<'_> {
    fn finish(self) -> Result<()> {
        self.tally.into_iter().for_each(Tally::finish);
        self.targets.finish()?;
        self.sources.map_or(Ok(()), PartitionWriter::finish)
    }
}

impl Numbered {
    /// Hands every edge to the bucket of its target and to that of its source; in an undirected
    /// graph to `to.by_target` from both ends.
    pub fn partition(
        &self,
        access: &SourceAccess,
        to: &Partitions,
        weights: WeightCode,
    ) -> Result<()> {
        let progress = access.progress;
        let (writers, finish) = (|| to.writers(), EdgeWriters::finish);
        if let Some(spool) = &self.spool {
            let visit = |writers: &mut EdgeWriters, block: &SpoolBlock| {
                self.push(writers, &block.pairs, &block.weights, weights)?;
                progress.advance(block.pairs.len() as u64);
                progress.check()
            };
            return spool.read(access.threads, writers, visit, finish);
        }
        // The source's threads are its own: each batch takes a writer that is at rest.
        let rest: Mutex<Vec<EdgeWriters>> = Mutex::default();
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
        writers: &mut EdgeWriters,
        pairs: &[[u64; 2]],
        weights: &[f64],
        code: WeightCode,
    ) -> Result<()> {
        let (map, buckets) = (self.map.as_deref(), &self.buckets);
        let EdgeWriters { targets, sources, tally } = writers;
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
