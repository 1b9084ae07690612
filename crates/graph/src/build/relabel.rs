//! Ranks to internal ids when no array over the vertices fits the budget: the map is a file, and
//! edges visit the part of the map that each end needs.
//!
//! Two partitionings, by range of source rank and then by range of target rank; a range's part of
//! the map is in memory while its edges pass.

use std::path::Path;

use outercore_storage::{Disk, Spill};

use super::{
    BuildProgress,
    dictionary::{blocks_of, open_block},
    parallel,
    rankfile::RankFile,
    spool::{Spool, SpoolWriter},
};
use crate::error::{GraphError, Result};

/// What it takes.
#[derive(Clone, Copy)]
pub struct Relabel<'a> {
    /// All file operations.
    pub disk: &'a Disk,
    /// Where edges go meanwhile.
    pub scratch: &'a Path,
    /// The internal id of each rank.
    pub map: &'a RankFile,
    /// Threads.
    pub threads: usize,
    /// Bytes of memory for one part of the map for each thread, and for the blocks.
    pub memory: u64,
    /// The budget that it is a part of, for errors.
    pub budget: u64,
    /// Told of each batch.
    pub progress: &'a dyn BuildProgress,
}

/// Edges by range of one end.
struct Ranges {
    spill: Spill,
    width: u64,
    count: usize,
    block: usize,
}

struct RangeWriter<'a> {
    ranges: &'a Ranges,
    blocks: Vec<Vec<u8>>,
}

impl Relabel<'_> {
    /// Edges between internal ids from edges between ranks.
    pub fn run(&self, spool: Spool) -> Result<Spool> {
        self.progress.stage("renumbering", Some(spool.edges() * 3));
        let by_source = self.ranges()?;
        spool.read(
            self.threads,
            || Ok(by_source.writer()),
            |writer, block| {
                block.pairs.iter().enumerate().try_for_each(|(index, &pair)| {
                    writer.push(pair[0], pair, block.weight(index))
                })?;
                self.progress.advance(block.pairs.len() as u64);
                self.progress.check()
            },
            RangeWriter::finish,
        )?;
        drop(spool);
        let by_target = self.ranges()?;
        let again =
            |writer: &mut RangeWriter, pair: [u64; 2], weight| writer.push(pair[1], pair, weight);
        by_source.drain(self, 0, || Ok(by_target.writer()), again, RangeWriter::finish)?;
        drop(by_source);
        let renumbered = Spool::create(self.disk, self.scratch)?;
        let gather = |writer: &mut SpoolWriter, pair: [u64; 2], weight| writer.push(pair, weight);
        by_target.drain(
            self,
            1,
            || Ok(renumbered.writer()),
            gather,
            |mut writer| writer.flush(),
        )?;
        Ok(renumbered)
    }

    fn ranges(&self) -> Result<Ranges> {
        let width = (self.memory / 2 / self.threads as u64 / 8).max(1 << 10);
        let count = self.map.len().div_ceil(width).max(1) as usize;
        let block =
            blocks_of(self.memory / 4, self.threads, count).ok_or_else(|| GraphError::Memory {
                needed: self.budget * 2,
                budget: self.budget,
                what: format!("renumbering {} vertices", self.map.len()),
            })?;
        Ok(Ranges {
            spill: Spill::create(self.disk, self.scratch, count, block)?,
            width,
            count,
            block,
        })
    }
}

impl Ranges {
    fn writer(&self) -> RangeWriter<'_> {
        RangeWriter { ranges: self, blocks: vec![Vec::new(); self.count] }
    }

    /// Replaces end number `end` of every edge by its internal id, range by range.
    fn drain<S>(
        &self,
        relabel: &Relabel,
        end: usize,
        state: impl Fn() -> Result<S> + Sync,
        visit: impl Fn(&mut S, [u64; 2], Option<f64>) -> Result<()> + Sync,
        finish: impl Fn(S) -> Result<()> + Sync,
    ) -> Result<()> {
        let Relabel { map, threads, progress, .. } = *relabel;
        let next = std::sync::atomic::AtomicUsize::new(0);
        parallel(threads, |_| {
            let mut state = state()?;
            let (mut part, mut reader) = (Vec::new(), self.spill.reader());
            loop {
                let range = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                if range >= self.count {
                    return finish(state);
                }
                let first = range as u64 * self.width;
                map.read(first, self.width.min(map.len() - first) as usize, &mut part)?;
                for extent in &self.spill.extents(range) {
                    let bytes = reader.read(*extent)?;
                    let field = |at: usize| {
                        u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
                    };
                    let (filled, record) = (field(0) as usize, field(8) as usize);
                    for at in (16..filled).step_by(record) {
                        let mut pair = [field(at), field(at + 8)];
                        pair[end] = part[(pair[end] - first) as usize];
                        visit(
                            &mut state,
                            pair,
                            (record == 24).then(|| f64::from_bits(field(at + 16))),
                        )?;
                    }
                    progress.advance(((filled - 16) / record) as u64);
                }
                progress.check()?;
            }
        })
    }
}

impl RangeWriter<'_> {
    fn push(&mut self, rank: u64, pair: [u64; 2], weight: Option<f64>) -> Result<()> {
        let range = (rank / self.ranges.width) as usize;
        let block = &mut self.blocks[range];
        if block.is_empty() {
            open_block(block, self.ranges.block);
            block.extend_from_slice(&[0; 8]);
            block.extend_from_slice(&(if weight.is_some() { 24u64 } else { 16 }).to_le_bytes());
        }
        block.extend_from_slice(&pair[0].to_le_bytes());
        block.extend_from_slice(&pair[1].to_le_bytes());
        if let Some(weight) = weight {
            block.extend_from_slice(&weight.to_le_bytes());
        }
        if block.len() + 24 > self.ranges.block { self.flush(range) } else { Ok(()) }
    }

    fn flush(&mut self, range: usize) -> Result<()> {
        let block = &mut self.blocks[range];
        if !block.is_empty() {
            let filled = block.len() as u64;
            block[..8].copy_from_slice(&filled.to_le_bytes());
            self.ranges.spill.append(range, block)?;
            block.clear();
        }
        Ok(())
    }

    fn finish(mut self) -> Result<()> {
        (0..self.blocks.len()).try_for_each(|range| self.flush(range))
    }
}
