//! Sorting the buckets, several at a time, and writing them in order.
//!
//! A worker reads a bucket, sorts it by vertex and neighbor, encodes its rows, waits for its turn,
//! writes; then sorts by source within intervals, encodes tiles, waits for its turn again, writes.
//! Edges in row format, where they have lists of their own, come first. A bucket that memory cannot
//! hold is sorted on scratch, and is written piece by piece in one turn.

use std::{
    path::Path,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

use outercore_storage::{Disk, ending, lock};

use super::{
    BuildProgress,
    buckets::{Bucket, Buckets},
    cutter::Cutter,
    extra::Extras,
    grid::{EncodedTiles, GridWriter, TileCode},
    lists::MergedLists,
    packed::{BlockReader, RecordCode},
    parallel,
    partition::Partition,
    radix::{self, InOrder, Record},
    rows::{EncodedRows, RowCode, RowsWriter},
    runs::{Merge, Runs},
    turns::Turns,
    weights::WeightCode,
};
use crate::{
    error::{GraphError, Result},
    format::Cells,
};

/// Where the records of the buckets are.
pub enum BucketRecords {
    /// On scratch, in any order.
    Scratch(Partition),
    /// In lists, in order.
    Lists(MergedLists),
}

impl BucketRecords {
    /// The most records of a bucket.
    pub fn of(&self, bucket: usize) -> u64 {
        match self {
            Self::Scratch(partition) => partition.records(bucket),
            Self::Lists(lists) => lists.records(bucket),
        }
    }
}

/// What is written of each bucket.
pub struct Emission<'a> {
    /// All file operations.
    pub disk: &'a Disk,
    /// Where buckets go that memory cannot hold.
    pub scratch: &'a Path,
    /// The buckets.
    pub buckets: &'a Buckets,
    /// Their edges.
    pub records: &'a BucketRecords,
    /// How records are packed.
    pub code: RecordCode,
    /// How lists are made of them.
    pub rows: RowCode,
    /// How tiles are made of them.
    pub tiles: TileCode<'a>,
    /// Whether to drop duplicates and self-loops.
    pub simple: bool,
    /// Gets the number of duplicates and self-loops that are written.
    pub extras: Mutex<Extras>,
    /// Threads.
    pub threads: usize,
    /// Told of each bucket.
    pub progress: &'a dyn BuildProgress,
}

/// Memory of one worker for each record of its bucket, beside the records themselves.
pub const ENCODED_BYTES: u64 = 9;

/// The writers of an emission; nothing is encoded for those that are absent.
#[derive(Default)]
pub struct SectionWriters {
    /// Complete lists.
    pub rows: Option<RowsWriter>,
    /// The lists of the edges in row format.
    pub row_format: Option<RowsWriter>,
    /// Tiles.
    pub grid: Option<GridWriter>,
}

/// The writers, to be used in turn.
struct Queues {
    rows: Turns<Option<RowsWriter>>,
    row_format: Option<Turns<RowsWriter>>,
    grid: Option<Turns<GridWriter>>,
}

impl Queues {
    fn stop(&self) {
        self.rows.stop();
        self.row_format.iter().for_each(Turns::stop);
        self.grid.iter().for_each(Turns::stop);
    }
}

impl Emission<'_> {
    /// Writes every bucket; returns the writers, to be finished.
    pub fn run<R: Record>(&self, writers: SectionWriters) -> Result<SectionWriters> {
        let SectionWriters { rows, row_format, grid } = writers;
        let queues = Queues {
            rows: Turns::new(rows),
            row_format: row_format.map(Turns::new),
            grid: grid.map(Turns::new),
        };
        let next = AtomicUsize::new(0);
        let result = parallel(self.threads, |_| {
            let mut worker = Worker::<R>::default();
            ending(
                || queues.stop(),
                || loop {
                    let turn = next.fetch_add(1, Relaxed);
                    let Some(bucket) = self.buckets.list().get(turn) else {
                        lock(&self.extras).add(worker.encoded.extras);
                        return Ok(());
                    };
                    let done = worker.bucket(self, turn, bucket, &queues);
                    if done.is_err() || self.progress.cancelled() {
                        return done.and(Err(GraphError::Cancelled));
                    }
                    self.progress.advance(self.records.of(turn));
                },
            )
        });
        result?;
        let Queues { rows, row_format, grid } = queues;
        Ok(SectionWriters {
            rows: rows.into_writer(),
            row_format: row_format.map(Turns::into_writer),
            grid: grid.map(Turns::into_writer),
        })
    }
}

/// The memory of one worker, reused from bucket to bucket.
#[derive(Default)]
struct Worker<R> {
    records: Vec<R>,
    scratch: Vec<R>,
    encoded: Encoded,
}

/// What a worker writes.
#[derive(Default)]
struct Encoded {
    rows: EncodedRows,
    tiles: EncodedTiles,
    /// Of all buckets so far.
    extras: Extras,
}

impl<R: Record> Worker<R> {
    fn bucket(
        &mut self,
        emission: &Emission,
        turn: usize,
        bucket: &Bucket,
        queues: &Queues,
    ) -> Result<()> {
        self.encoded.extras.begin();
        let count = emission.records.of(turn);
        if count > emission.buckets.capacity() {
            return self.overfull(emission, turn, bucket, queues);
        }
        let Self { records, scratch, encoded } = self;
        reserve(records, count as usize);
        let piece = match emission.records {
            BucketRecords::Scratch(partition) => {
                partition.reader(turn).fill(records, count as usize)?;
                emission.sort(bucket, records, scratch)
            }
            BucketRecords::Lists(lists) => {
                lists.of(turn, bucket).fill(records, count as usize)?;
                let room = room(scratch, records.len());
                (&mut records[..], room)
            }
        };
        encoded.write(emission, (turn, true), bucket, piece, queues)
    }

    /// Writes a bucket in pieces. One that is not in order is sorted by way of runs on scratch.
    fn overfull(
        &mut self,
        emission: &Emission,
        turn: usize,
        bucket: &Bucket,
        queues: &Queues,
    ) -> Result<()> {
        match emission.records {
            BucketRecords::Scratch(partition) => {
                let mut runs = self.sort_runs(emission, partition.reader(turn), turn, bucket)?;
                let merge = runs.merge::<R>()?;
                let mut kept = Kept { merge, simple: emission.simple, last: None };
                self.pieces(emission, &mut kept, (turn, bucket), queues)
            }
            BucketRecords::Lists(lists) => {
                self.pieces(emission, &mut lists.of(turn, bucket), (turn, bucket), queues)
            }
        }
    }

    /// Writes the records of a bucket in pieces.
    fn pieces(
        &mut self,
        emission: &Emission,
        source: &mut impl InOrder<R>,
        (turn, bucket): (usize, &Bucket),
        queues: &Queues,
    ) -> Result<()> {
        let Self { records, scratch, encoded } = self;
        // While runs are merged, pieces have one half of the records' memory, runs the other.
        let piece = emission.buckets.capacity() as usize / 2;
        for array in [&mut *records, &mut *scratch] {
            array.clear();
            array.shrink_to(piece);
        }
        reserve(records, piece);
        let mut cutter = Cutter::new(bucket, emission.code.other_bits);
        loop {
            let is_all = source.fill(records, piece)?;
            let (part, count) = cutter.cut(records, is_all);
            let is_last = cutter.is_done() && count == records.len() && is_all;
            if !cutter.is_within_a_vertex() {
                encoded.extras.begin();
            }
            let rows = (&mut records[..count], room(scratch, count));
            encoded.write(emission, (turn, is_last), &part, rows, queues)?;
            records.drain(..count);
            if is_last {
                return Ok(());
            }
            emission.progress.check()?;
        }
    }

    /// Sorts as many records of a bucket as fit, again and again.
    fn sort_runs(
        &mut self,
        emission: &Emission,
        mut reader: BlockReader,
        turn: usize,
        bucket: &Bucket,
    ) -> Result<Runs> {
        let Self { records, scratch, .. } = self;
        let capacity = emission.buckets.capacity() as usize;
        let mut runs = Runs::create::<R>(
            (emission.disk, emission.scratch),
            emission.code,
            (emission.records.of(turn) as usize).div_ceil(capacity),
            capacity * size_of::<R>(),
        )?;
        loop {
            reserve(records, capacity);
            reader.fill(records, capacity)?;
            if records.is_empty() {
                return Ok(runs);
            }
            runs.push(emission.sort(bucket, records, scratch).0)?;
            emission.progress.check()?;
        }
    }
}

impl Encoded {
    /// Writes sorted records of a bucket, in their turn; uses and destroys both arrays. The turn
    /// may have several parts, and is told whether this is the last.
    fn write<R: Record>(
        &mut self,
        emission: &Emission,
        (turn, is_last): (usize, bool),
        bucket: &Bucket,
        (sorted, scratch): (&mut [R], &mut [R]),
        queues: &Queues,
    ) -> Result<()> {
        let Emission { rows: code, tiles, .. } = emission;
        if let (Some(row_format), Some(cells)) = (&queues.row_format, tiles.cells) {
            let count = copy_listed(sorted, scratch, bucket, code.other_bits, cells);
            let bare = RowCode { weights: WeightCode::NONE, heads: false, ..*code };
            self.rows.encode(bucket, &scratch[..count], bare, &mut Extras::default());
            row_format.take_part(turn, is_last, |rows| rows.append(bucket, &self.rows))?;
        }
        self.rows.encode(bucket, sorted, *code, &mut self.extras);
        queues.rows.take_part(turn, is_last, |rows| match rows {
            Some(rows) => rows.append(bucket, &self.rows),
            None => Ok(()),
        })?;
        if let Some(grid) = &queues.grid {
            self.tiles.encode(bucket, sorted, scratch, &self.rows.degrees, tiles);
            grid.take_part(turn, is_last, |grid| grid.append(&mut self.tiles))?;
        }
        Ok(())
    }
}

impl Emission<'_> {
    /// Sorts records of a bucket, and drops repeats and loops where that is asked for. Returns the
    /// records, and as much room.
    fn sort<'a, R: Record>(
        &self,
        bucket: &Bucket,
        records: &'a mut [R],
        scratch: &'a mut Vec<R>,
    ) -> (&'a mut [R], &'a mut [R]) {
        let count = records.len();
        let scratch = room(scratch, count);
        let (sorted, scratch) = radix::sort(records, scratch, 0, self.code.bits(bucket));
        if !self.rows.weights.is_none() {
            radix::order_payloads(sorted);
        }
        let kept =
            if self.simple { drop_repeats(sorted, bucket, self.code.other_bits) } else { count };
        (&mut sorted[..kept], &mut scratch[..kept])
    }
}

/// Runs as they are merged.
struct Kept<'s, R> {
    merge: Merge<'s, R>,
    /// Whether repeats are left out. Within a run there are none then, and no loops.
    simple: bool,
    last: Option<u64>,
}

impl<R: Record> InOrder<R> for Kept<'_, R> {
    fn fill(&mut self, records: &mut Vec<R>, most: usize) -> Result<bool> {
        while records.len() < most
            && let Some(record) = self.merge.next()?
        {
            if !self.simple || self.last != Some(record.key()) {
                records.push(record);
            }
            self.last = Some(record.key());
        }
        Ok(self.merge.is_empty())
    }
}

/// As much room as `count` records take.
fn room<R: Record>(scratch: &mut Vec<R>, count: usize) -> &mut [R] {
    reserve(scratch, count);
    scratch.resize(count, R::default());
    scratch
}

/// Empties an array, with room for `count` records.
fn reserve<R>(records: &mut Vec<R>, count: usize) {
    records.clear();
    // Exact growth: doubling would take memory that the budget does not have.
    records.reserve_exact(count);
}

/// Copies the records of edges in row format, whose sources are the bucket's vertices, to the front
/// of `copies`; returns how many.
fn copy_listed<R: Record>(
    records: &[R],
    copies: &mut [R],
    bucket: &Bucket,
    other_bits: u32,
    cells: &Cells,
) -> usize {
    let mask = (1u64 << other_bits) - 1;
    let listed = records.iter().filter(|record| {
        cells.in_rows(bucket.first + (record.key() >> other_bits), record.key() & mask)
    });
    let mut count = 0;
    for record in listed {
        copies[count] = *record;
        count += 1;
    }
    count
}

/// Moves the first of each run of equal keys, self-loops left out, to the front; returns how many.
fn drop_repeats<R: Record>(records: &mut [R], bucket: &Bucket, other_bits: u32) -> usize {
    let mask = (1u64 << other_bits) - 1;
    let mut kept = 0;
    for index in 0..records.len() {
        let key = records[index].key();
        let is_loop = bucket.first + (key >> other_bits) == key & mask;
        if !is_loop && (kept == 0 || records[kept - 1].key() != key) {
            records[kept] = records[index];
            kept += 1;
        }
    }
    kept
}
