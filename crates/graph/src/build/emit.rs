//! Sorting the buckets, several at a time, and writing them in order.
//!
//! A worker reads a bucket, sorts it by vertex and neighbor, encodes its rows, waits for its turn,
//! writes; then sorts by source within intervals, encodes tiles, waits for its turn again, writes.
//! Edges in row format, where they have lists of their own, come first.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use outercore_storage::OnPanic;

use super::{
    BuildProgress,
    buckets::{Bucket, Buckets},
    grid::{EncodedTiles, GridWriter, TileCode},
    parallel,
    partition::{Partition, RecordCode},
    radix::{self, Record},
    rows::{EncodedRows, RowCode, RowsWriter},
    turns::Turns,
    weights::WeightCode,
};
use crate::{
    error::{GraphError, Result},
    format::Cells,
};

/// What is written of each bucket.
pub struct Emission<'a> {
    /// The buckets.
    pub buckets: &'a Buckets,
    /// Their edges.
    pub partition: &'a Partition,
    /// How records are packed.
    pub code: RecordCode,
    /// How lists are made of them.
    pub rows: RowCode,
    /// How tiles are made of them.
    pub tiles: TileCode<'a>,
    /// Whether to drop duplicates and self-loops.
    pub simple: bool,
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
            let _guard = OnPanic(|| queues.stop());
            loop {
                let turn = next.fetch_add(1, Relaxed);
                let Some(bucket) = self.buckets.list().get(turn) else { return Ok(()) };
                let done = worker.bucket(self, turn, bucket, &queues);
                if done.is_err() || self.progress.cancelled() {
                    queues.stop();
                    return done.and(Err(GraphError::Cancelled));
                }
                self.progress.advance(self.partition.records(turn));
            }
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
    rows: EncodedRows,
    tiles: EncodedTiles,
}

impl<R: Record> Worker<R> {
    fn bucket(
        &mut self,
        emission: &Emission,
        turn: usize,
        bucket: &Bucket,
        queues: &Queues,
    ) -> Result<()> {
        let Emission { rows: code, tiles, .. } = emission;
        let (sorted, scratch) =
            read_sorted(emission, (turn, bucket), &mut self.records, &mut self.scratch)?;
        if let (Some(row_format), Some(cells)) = (&queues.row_format, tiles.cells) {
            let count = copy_listed(sorted, scratch, bucket, code.other_bits, cells);
            let bare = RowCode { weights: WeightCode::NONE, heads: false, ..*code };
            self.rows.encode(bucket, &scratch[..count], bare);
            row_format.take(turn, |rows| rows.append(bucket, &self.rows))?;
        }
        self.rows.encode(bucket, sorted, *code);
        queues.rows.take(turn, |rows| match rows {
            Some(rows) => rows.append(bucket, &self.rows),
            None => Ok(()),
        })?;
        if let Some(grid) = &queues.grid {
            self.tiles.encode(bucket, sorted, scratch, &self.rows.degrees, tiles);
            grid.take(turn, |grid| grid.append(&mut self.tiles))?;
        }
        Ok(())
    }
}

/// Reads a bucket into the two arrays and sorts it. Returns the records, and as much room.
fn read_sorted<'a, R: Record>(
    emission: &Emission,
    (turn, bucket): (usize, &Bucket),
    records: &'a mut Vec<R>,
    scratch: &'a mut Vec<R>,
) -> Result<(&'a mut [R], &'a mut [R])> {
    let count = emission.partition.records(turn) as usize;
    reset(records, count);
    reset(scratch, count);
    emission.partition.read(turn, records)?;
    let (sorted, scratch) = radix::sort(records, scratch, 0, emission.code.bits(bucket));
    if !emission.rows.weights.is_none() {
        radix::order_payloads(sorted);
    }
    let kept = if emission.simple {
        drop_repeats(sorted, bucket, emission.code.other_bits)
    } else {
        count
    };
    Ok((&mut sorted[..kept], &mut scratch[..kept]))
}

fn reset<R: Record>(records: &mut Vec<R>, count: usize) {
    if records.len() < count {
        // Exact growth: doubling would take memory that the budget does not have.
        records.reserve_exact(count - records.len());
    }
    records.resize(count, R::default());
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
