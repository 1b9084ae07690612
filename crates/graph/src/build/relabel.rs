//! Ranks to internal ids when no array over the vertices fits the budget: the map is a file, and
//! edges visit the part of the map that each end needs.
//!
//! Two partitionings, by range of source rank and then by range of target rank; a range's part of
//! the map is in memory while its edges pass.

use std::{
    path::Path,
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};

use outercore_storage::Disk;

use super::{
    BuildProgress,
    bins::{BinWriter, Bins, block_of, field},
    parallel,
    rankfile::RankFile,
    smallest::{Division, budget_for, most_workers, of_ranking},
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
    /// Whether edges carry weights.
    pub weighted: bool,
    /// Told of each batch.
    pub progress: &'a dyn BuildProgress,
}

/// Edges by range of one end.
struct EndRanges {
    bins: Bins,
    width: u64,
    weighted: bool,
}

struct RangeWriter<'a> {
    ranges: &'a EndRanges,
    writer: BinWriter<'a>,
}

impl Relabel<'_> {
    /// Edges between internal ids from edges between ranks.
    pub fn run(&self, spool: Spool) -> Result<Spool> {
        self.progress.stage("renumbering", Some(spool.edges() * 3));
        let ranges = |workers| Self::ranges(self.memory, workers, self.map.len());
        let found = most_workers(self.threads, ranges);
        let (workers, ranges) = found.ok_or_else(|| self.too_small())?;
        let relabel = Self { threads: workers, ..*self };
        let by_source = self.create(ranges)?;
        spool.read(
            workers,
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
        let by_target = self.create(ranges)?;
        let again =
            |writer: &mut RangeWriter, pair: [u64; 2], weight| writer.push(pair[1], pair, weight);
        by_source.drain(&relabel, 0, || Ok(by_target.writer()), again, RangeWriter::finish)?;
        drop(by_source);
        let renumbered = Spool::create(self.disk, self.scratch, Division(self.budget))?;
        let gather = |writer: &mut SpoolWriter, pair: [u64; 2], weight| writer.push(pair, weight);
        by_target.drain(
            &relabel,
            1,
            || Ok(renumbered.writer()),
            gather,
            |mut writer| writer.flush(),
        )?;
        Ok(renumbered)
    }

    /// Ranges of so many ranks for so many workers: how wide they are, how many, and the bytes of a
    /// block; `None`: `memory` bytes are too few.
    pub fn ranges(memory: u64, workers: usize, vertices: u64) -> Option<(u64, usize, usize)> {
        let width = (memory / 2 / workers as u64 / 8).max(1 << 10);
        let count = vertices.div_ceil(width).max(1) as usize;
        Some((width, count, block_of(memory / 4, workers, count)?))
    }

    fn create(&self, (width, count, block): (u64, usize, usize)) -> Result<EndRanges> {
        let bins = Bins::create(self.disk, self.scratch, count, block, 0)?;
        Ok(EndRanges { bins, width, weighted: self.weighted })
    }

    /// The error of a budget that is too small.
    fn too_small(&self) -> GraphError {
        let vertices = self.map.len();
        let what = format!("renumbering {vertices} vertices");
        budget_for(self.budget, what, |division| {
            Self::ranges(of_ranking(division.work()), 1, vertices).is_some()
        })
    }
}

impl EndRanges {
    fn writer(&self) -> RangeWriter<'_> {
        RangeWriter { ranges: self, writer: self.bins.writer() }
    }

    fn record(&self) -> usize {
        if self.weighted { 24 } else { 16 }
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
        let next = AtomicUsize::new(0);
        parallel(threads, |_| {
            let mut state = state()?;
            let (mut part, mut reader) = (Vec::new(), self.bins.reader());
            loop {
                let range = next.fetch_add(1, Relaxed);
                if range >= self.bins.len() {
                    return finish(state);
                }
                let first = range as u64 * self.width;
                map.read(first, self.width.min(map.len() - first) as usize, &mut part)?;
                reader.for_each(range, |bytes| {
                    for record in bytes.chunks_exact(self.record()) {
                        let mut pair = [field(record, 0), field(record, 8)];
                        pair[end] = part[(pair[end] - first) as usize];
                        let weight = self.weighted.then(|| f64::from_bits(field(record, 16)));
                        visit(&mut state, pair, weight)?;
                    }
                    progress.advance((bytes.len() / self.record()) as u64);
                    Ok(())
                })?;
                progress.check()?;
            }
        })
    }
}

impl RangeWriter<'_> {
    fn push(&mut self, rank: u64, pair: [u64; 2], weight: Option<f64>) -> Result<()> {
        let EndRanges { width, weighted, .. } = *self.ranges;
        let block = self.writer.room((rank / width) as usize, self.ranges.record())?;
        block.extend_from_slice(&pair[0].to_le_bytes());
        block.extend_from_slice(&pair[1].to_le_bytes());
        if weighted {
            block.extend_from_slice(&weight.unwrap_or_default().to_le_bytes());
        }
        Ok(())
    }

    fn finish(self) -> Result<()> {
        self.writer.finish()
    }
}
