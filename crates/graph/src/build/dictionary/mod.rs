//! The dictionary: original ids of any kind to ranks (positions among all ids in ascending order),
//! in bounded memory.
//!
//! 1. Every end of every edge becomes a record (key, position) in the partition of its key;
//!    partitions are ranges of keys, so ranks follow their order.
//! 2. Each partition's distinct keys are gathered in a hash table, counted, sorted and written; its
//!    records become (position, rank) in the window of their position. If a partition has more keys
//!    than fit, because the sample did not see them, that is done piece by piece (`distinct`).
//! 3. Each window of positions is filled in memory and leaves as edges between ranks.
//!
//! Cost: each end is written and read twice, whatever the number of vertices. Memory: the distinct
//! keys of one partition for each worker.

mod distinct;
mod records;
mod windows;

use std::{
    path::Path,
    sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed},
};

use outercore_storage::{Disk, ending};

pub use self::windows::PositionWindows;
use self::{
    distinct::{Distinct, Entry},
    records::{RecordWriter, Records},
    windows::WindowWriter,
};
use super::{
    BuildProgress,
    bins::LEAST_BLOCK,
    cutting::Cutting,
    names::{NameBlock, NameSpool},
    parallel,
    rankfile::{RankFile, RankFileWriter},
    sample::{KEY_COST, Sample},
    sections::{Folders, Section},
    smallest::{Division, budget_for, most_workers, of_ranking},
    spool::{Spool, SpoolBlock},
    turns::Turns,
};
use crate::{
    error::{GraphError, Result},
    format::{IdTable, SectionEntry},
    input::LONGEST_NAME,
};

/// Edges between ranks, and the degree of each rank.
pub struct Ranked {
    /// The edges.
    pub spool: Spool,
    /// Whether they carry weights.
    pub weighted: bool,
    /// Total degrees, by rank.
    pub degrees: RankFile,
    /// How the ids are kept.
    pub ids: IdTable,
    /// The sections that hold them.
    pub sections: Vec<SectionEntry>,
}

/// The position of a vertex that is no edge's end.
const SINGLE: u64 = u64::MAX;

/// Most pieces of a partition: its records are read twice for each.
const MOST_PIECES: u64 = 64;

/// What the steps share.
#[derive(Clone, Copy)]
pub struct Dictionary<'a> {
    /// All file operations.
    pub disk: &'a Disk,
    /// Where the keys go.
    pub folders: &'a Folders,
    /// Where records go meanwhile.
    pub scratch: &'a Path,
    /// Threads.
    pub threads: usize,
    /// How many of them there is memory for; is found here.
    pub workers: usize,
    /// Bytes of memory for tables and blocks.
    pub memory: u64,
    /// The budget that it is a part of, for errors.
    pub budget: u64,
    /// What will be cut of them, and whether edges carry weights.
    pub cutting: Cutting,
    /// Told of each batch.
    pub progress: &'a dyn BuildProgress,
}

/// Vertices beyond the ends of edges, and a sample of all ids.
pub struct NumberHints {
    /// Listed vertices, each as a pair of itself.
    pub listed: Option<Spool>,
    /// Declared ones: first and count.
    pub range: Option<(u64, u64)>,
    /// The sample.
    pub sample: Sample<u64>,
}

/// Where keys and their degrees are written, in order.
struct KeyWriter {
    keys: Section,
    ends: Option<Section>,
    position: u64,
    degrees: RankFileWriter,
    bases: Vec<u64>,
    vertices: u64,
}

/// The key of a number: bytes that sort as numbers do.
fn number_key(number: u64) -> [u8; 8] {
    number.to_be_bytes()
}

/// A worker's share of so many bytes for the table of one partition.
fn table_share(memory: u64, workers: usize) -> u64 {
    memory / 2 / workers as u64
}

/// Bytes that the table of one partition may take, or of a piece of it.
fn most_of_table(memory: u64, workers: usize) -> u64 {
    table_share(memory, workers) * 3 / 2
}

impl Dictionary<'_> {
    /// Ranks numbers.
    pub fn rank_numbers(&mut self, spool: Spool, hints: NumberHints) -> Result<Ranked> {
        let edges = spool.edges();
        let singles = hints.listed.as_ref().map_or(0, Spool::edges)
            + hints.range.map_or(0, |(_, count)| count);
        let windows = self.windows(edges, edges * 2 + singles)?;
        let bytes = (edges * 2 + singles) * (KEY_COST + 8);
        let bounds = hints.sample.bounds(self.partitions(bytes));
        let bounds: Vec<Vec<u8>> =
            bounds.into_iter().map(|number| number_key(number).to_vec()).collect();
        let records = Records::create(self, bounds, bytes, 0)?;
        let next = AtomicU64::new(0);
        self.progress.stage("ranking ids", Some(edges * 3));
        let visit = |writer: &mut RecordWriter, block: &SpoolBlock| {
            let base = next.fetch_add(block.pairs.len() as u64, Relaxed);
            for (index, pair) in block.pairs.iter().enumerate() {
                let weight = block.weight(index).unwrap_or_default();
                writer.push(&number_key(pair[0]), (base + index as u64) * 2, weight)?;
                writer.push(&number_key(pair[1]), (base + index as u64) * 2 + 1, weight)?;
            }
            self.progress.advance(block.pairs.len() as u64);
            self.progress.check()
        };
        spool.read(self.workers, || Ok(records.writer()), visit, RecordWriter::finish)?;
        drop(spool);
        if let Some(listed) = hints.listed {
            let single = |writer: &mut RecordWriter, block: &SpoolBlock| {
                block.pairs.iter().try_for_each(|pair| writer.single(&number_key(pair[0])))
            };
            listed.read(self.workers, || Ok(records.writer()), single, RecordWriter::finish)?;
        }
        if let Some((first, count)) = hints.range {
            let mut writer = records.writer();
            (first..first + count).try_for_each(|id| writer.single(&number_key(id)))?;
            writer.finish()?;
        }
        self.rank(&records, (edges, windows), IdTable::Numbers)
    }

    /// Ranks names.
    pub fn rank_names(&mut self, spool: NameSpool) -> Result<Ranked> {
        let edges = spool.edges();
        let windows = self.windows(edges, spool.names())?;
        let bytes = spool.names() * KEY_COST + spool.bytes();
        let bounds = spool.take_sample().bounds(self.partitions(bytes));
        let records = Records::create(self, bounds, bytes, LONGEST_NAME)?;
        let next = AtomicU64::new(0);
        self.progress.stage("ranking names", Some(edges * 3));
        let visit = |writer: &mut RecordWriter, block: &NameBlock| {
            let base = next.fetch_add(block.edges as u64, Relaxed) * 2;
            for (index, name) in block.names.iter().enumerate() {
                let is_end = index < block.edges * 2;
                let weight =
                    if is_end { block.weights.weight(index / 2).unwrap_or_default() } else { 0.0 };
                writer.push(name, if is_end { base + index as u64 } else { SINGLE }, weight)?;
            }
            self.progress.advance(block.edges as u64);
            self.progress.check()
        };
        spool.read(self.workers, || Ok(records.writer()), visit, RecordWriter::finish)?;
        drop(spool);
        self.rank(&records, (edges, windows), IdTable::Names)
    }

    /// The windows of so many edges, whose ends are so many vertices at the most, for as many
    /// workers as there is memory for.
    fn windows(&mut self, edges: u64, most: u64) -> Result<PositionWindows> {
        self.cutting =
            Cutting { ranked: most, connected: most, degrees: edges * 2, ..self.cutting };
        let kind = (edges, self.cutting.weighted);
        let cut = |workers| PositionWindows::cut(self.memory, workers, kind);
        let found = most_workers(self.threads, cut);
        let (workers, windows) = found.ok_or_else(|| self.too_small(edges, 0))?;
        self.workers = workers;
        PositionWindows::create(self, edges, windows)
    }

    /// So many partitions that the distinct keys of one, `bytes` in all at the worst, fit a
    /// worker's share of the memory. (Where so many blocks do not fit, keys had better repeat, as
    /// they nearly always do.)
    fn partitions(&self, bytes: u64) -> usize {
        let share = table_share(self.memory, self.workers).max(1);
        let most = (share / (2 * LEAST_BLOCK as u64)).clamp(1, 4096);
        (bytes * 4 / 3).div_ceil(share).clamp(1, most) as usize
    }

    /// The error of a budget that is too small for so many edges. It names one in which their
    /// windows fit, in which no partition has too many pieces if all keys together take `bytes` at
    /// the worst, and which is enough for what comes later.
    fn too_small(&self, edges: u64, bytes: u64) -> GraphError {
        // How keys are cut is seen later, and nearly always well.
        let workers = if bytes == 0 { 1 } else { self.threads };
        budget_for(self.budget, format!("the ids of {edges} edges"), |division| {
            let memory = of_ranking(division.work());
            let piece = Distinct::least(most_of_table(memory, workers), LONGEST_NAME);
            PositionWindows::cut(memory, workers, (edges, self.cutting.weighted)).is_some()
                && bytes <= MOST_PIECES * piece
                && self.cutting.fits(division.work())
        })
    }

    /// Steps 2 and 3.
    fn rank(
        &self,
        records: &Records,
        (edges, windows): (u64, PositionWindows),
        ids: IdTable,
    ) -> Result<Ranked> {
        let turns = Turns::new(KeyWriter::create(self, &ids)?);
        let next = AtomicUsize::new(0);
        parallel(self.workers, |_| {
            let mut writer = windows.writer();
            ending(
                || turns.stop(),
                || loop {
                    let partition = next.fetch_add(1, Relaxed);
                    if partition >= records.partitions() {
                        return writer.finish();
                    }
                    self.partition(partition, records, edges, &turns, &mut writer)?;
                },
            )
        })?;
        let keys = turns.into_writer();
        let spool = Spool::create(self.disk, self.scratch, Division(self.budget))?;
        windows.drain(self.workers, &keys.bases, &spool, self.progress)?;
        let mut sections = vec![keys.keys.finish()?];
        if let Some(ends) = keys.ends {
            sections.push(ends.finish()?);
        }
        Ok(Ranked {
            spool,
            weighted: self.cutting.weighted,
            degrees: keys.degrees.finish()?,
            ids,
            sections,
        })
    }

    /// One partition: its keys in order, and its records on to their windows.
    fn partition(
        &self,
        partition: usize,
        records: &Records,
        edges: u64,
        turns: &Turns<KeyWriter>,
        writer: &mut WindowWriter,
    ) -> Result<()> {
        let (mut next, mut first) = (Some(Box::from([])), 0);
        let mut pieces = 0;
        while let Some(begin) = next {
            let mut keys = Distinct::new(begin, most_of_table(self.memory, self.workers));
            records.read(partition, |key, position, _| {
                keys.see(key, u64::from(position != SINGLE));
                Ok(())
            })?;
            pieces += 1;
            if pieces == MOST_PIECES && !keys.is_last() {
                return Err(self.too_small(edges, records.key_bytes()));
            }
            let is_last = keys.is_last();
            let ranked = keys.rank(first);
            first += ranked.len() as u64;
            turns.take_part(partition, is_last, |to| to.append(&ranked, is_last))?;
            drop(ranked);
            self.forward(partition, records, &keys, writer)?;
            next = keys.into_end();
        }
        Ok(())
    }

    /// Hands a partition's records on, with the ranks of their keys.
    fn forward(
        &self,
        partition: usize,
        records: &Records,
        keys: &Distinct,
        writer: &mut WindowWriter,
    ) -> Result<()> {
        let mut seen = 0;
        records.read(partition, |key, position, weight| {
            let Some(rank) = keys.rank_of(key) else { return Ok(()) };
            seen += 1;
            if position == SINGLE {
                Ok(())
            } else {
                writer.push(position, (partition as u64) << 40 | rank, weight)
            }
        })?;
        self.progress.advance(seen / 2);
        self.progress.check()
    }
}

impl KeyWriter {
    fn create(dictionary: &Dictionary, ids: &IdTable) -> Result<Self> {
        let Dictionary { disk, folders, scratch, .. } = *dictionary;
        Ok(Self {
            keys: folders.section("ids.keys", false)?,
            ends: if *ids == IdTable::Names {
                Some(folders.section("ids.ends", false)?)
            } else {
                None
            },
            position: 0,
            degrees: RankFile::create(disk, scratch, "degrees")?,
            bases: vec![0],
            vertices: 0,
        })
    }

    /// Appends keys; the last ones of a partition, or not.
    fn append(&mut self, sorted: &[Entry], are_last: bool) -> Result<()> {
        for (key, entry) in sorted {
            match &mut self.ends {
                Some(ends) => {
                    self.keys.write(key)?;
                    self.position += key.len() as u64;
                    ends.write(&self.position.to_le_bytes())?;
                }
                None => self.keys.write(
                    &u64::from_be_bytes(key[..].try_into().expect("a number has eight bytes"))
                        .to_le_bytes(),
                )?,
            }
            self.degrees.push(entry.1)?;
        }
        self.vertices += sorted.len() as u64;
        if are_last {
            self.bases.push(self.vertices);
        }
        Ok(())
    }
}
