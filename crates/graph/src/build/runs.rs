//! Sorting what memory cannot hold: sorted runs of records on scratch, and the merge of them.
//!
//! A bucket is that large where one vertex has more edges with a range of neighbors than a worker
//! can sort: with many copies of an edge no narrower range helps. Each record is written and read
//! once more; twice, where there are more runs than can be merged at once.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, VecDeque, binary_heap::PeekMut},
    path::Path,
};

use outercore_storage::{Arena, Buffer, Disk, Extent, HugePages, PAGE, Spill, SpillReader};

use super::{
    packed::{BlockCursor, HEADER, RecordCode, sealed},
    radix::Record,
};
use crate::error::Result;

/// Blocks are not larger than this: a device does not need it.
const MOST_BLOCK: usize = 64 << 10;

/// Sorted runs on scratch.
pub struct Runs {
    spill: Spill,
    code: RecordCode,
    block: Buffer,
    runs: VecDeque<Vec<Extent>>,
    /// Records of one run that are in memory while runs are merged.
    window: usize,
    /// How many runs can be merged at once.
    fan_in: usize,
}

/// The records of several runs in their order.
pub struct Merge<'s, R> {
    reader: SpillReader<'s>,
    code: RecordCode,
    window: usize,
    runs: Vec<OpenRun<R>>,
    /// The next record of each run that has one: key, payload, run.
    heads: BinaryHeap<Reverse<(u64, u64, usize)>>,
}

/// A run that is being read.
struct OpenRun<R> {
    cursor: BlockCursor,
    records: Vec<R>,
    next: usize,
}

impl Runs {
    /// No runs yet, of about `expected` records of type `R`. Merging them takes about `memory`
    /// bytes.
    pub fn create<R: Record>(
        (disk, scratch): (&Disk, &Path),
        code: RecordCode,
        expected: usize,
        memory: usize,
    ) -> Result<Self> {
        // A record in memory is larger than one on scratch.
        let share = memory / expected.max(1) / size_of::<R>() * code.bytes();
        let block = (share / PAGE * PAGE).clamp(PAGE, MOST_BLOCK);
        let window = code.most_records(block);
        Ok(Self {
            spill: Spill::create(disk, scratch, 1, block)?,
            code,
            block: Arena::new(block, HugePages::Off)?.buffer(0, block),
            runs: VecDeque::new(),
            window,
            fan_in: (memory / (window * size_of::<R>())).max(2),
        })
    }

    /// Adds a run: records in ascending order of key, then payload.
    pub fn push<R: Record>(&mut self, sorted: &[R]) -> Result<()> {
        let records = sorted.iter().map(|record| Ok(*record));
        let run = write(&self.spill, self.code, &mut self.block, records)?;
        self.runs.push_back(run);
        Ok(())
    }

    /// The records of all runs, in ascending order of key, then payload.
    pub fn merge<R: Record>(&mut self) -> Result<Merge<'_, R>> {
        while self.runs.len() > self.fan_in {
            // No more than it takes for the others to be merged at once.
            let count = self.fan_in.min(self.runs.len() - self.fan_in + 1);
            let runs: Vec<Vec<Extent>> = self.runs.drain(..count).collect();
            let mut merge = Merge::<R>::open(&self.spill, self.code, self.window, runs.clone())?;
            let records = std::iter::from_fn(|| merge.next().transpose());
            let merged = write(&self.spill, self.code, &mut self.block, records)?;
            self.runs.push_back(merged);
            runs.into_iter().for_each(|run| self.spill.free(run));
        }
        Merge::open(&self.spill, self.code, self.window, self.runs.iter().cloned())
    }
}

/// Writes a run, by way of `block`.
fn write<R: Record>(
    spill: &Spill,
    code: RecordCode,
    block: &mut Buffer,
    records: impl Iterator<Item = Result<R>>,
) -> Result<Vec<Extent>> {
    let mut filled = HEADER;
    for record in records {
        let record = record?;
        if !code.has_room(filled, block.len()) {
            spill.append(0, sealed(block, filled))?;
            filled = HEADER;
        }
        filled = code.store(block, filled, record.key(), record.payload());
    }
    if filled > HEADER {
        spill.append(0, sealed(block, filled))?;
    }
    Ok(spill.take(0))
}

impl<'s, R: Record> Merge<'s, R> {
    fn open(
        spill: &'s Spill,
        code: RecordCode,
        window: usize,
        runs: impl IntoIterator<Item = Vec<Extent>>,
    ) -> Result<Self> {
        let open = |run| OpenRun {
            cursor: BlockCursor::new(run),
            records: Vec::with_capacity(window),
            next: 0,
        };
        let mut merge = Self {
            reader: spill.reader(),
            code,
            window,
            runs: runs.into_iter().map(open).collect(),
            heads: BinaryHeap::new(),
        };
        for number in 0..merge.runs.len() {
            if let Some(record) = merge.runs[number].next(&mut merge.reader, &code, window)? {
                merge.heads.push(Reverse((record.key(), record.payload(), number)));
            }
        }
        Ok(merge)
    }

    /// Whether there is no record left.
    pub fn is_empty(&self) -> bool {
        self.heads.is_empty()
    }

    /// The next record.
    pub fn next(&mut self) -> Result<Option<R>> {
        let Self { reader, code, window, runs, heads } = self;
        let Some(mut head) = heads.peek_mut() else { return Ok(None) };
        let Reverse((key, payload, number)) = *head;
        match runs[number].next(reader, code, *window)? {
            // In its place, and not taken out and put in: of many copies the next one stays there.
            Some(record) => *head = Reverse((record.key(), record.payload(), number)),
            None => drop(PeekMut::pop(head)),
        }
        Ok(Some(R::new(key, payload)))
    }
}

impl<R: Record> OpenRun<R> {
    fn next(
        &mut self,
        reader: &mut SpillReader,
        code: &RecordCode,
        window: usize,
    ) -> Result<Option<R>> {
        if self.next == self.records.len() {
            self.records.clear();
            self.next = 0;
            self.cursor.append(reader, code, &mut self.records, window)?;
        }
        let record = self.records.get(self.next).copied();
        self.next += 1;
        Ok(record)
    }
}

#[cfg(test)]
mod tests {
    use outercore_testing::Random;

    use super::*;
    use crate::build::radix::Weighted;

    #[test]
    fn runs_are_merged_whatever_their_number() {
        let dir = tempfile::tempdir().unwrap();
        let code = RecordCode { other_bits: 17, key_bytes: 3, weight_bytes: 2 };
        // Room for all runs at once, for some of them, and for two.
        for memory in [1 << 20, 40 << 10, 1] {
            let mut runs =
                Runs::create::<Weighted>((&Disk::new(), dir.path()), code, 30, memory).unwrap();
            let (mut random, mut all) = (Random::new(1), Vec::new());
            for len in (0..30).map(|run| run * 97) {
                let mut run: Vec<Weighted> = (0..len)
                    .map(|_| Weighted::new(random.below(9u64) * 10_000, random.below(1000)))
                    .collect();
                run.sort_by_key(|record| (record.key, record.weight));
                runs.push(&run).unwrap();
                all.extend(run);
            }
            all.sort_by_key(|record| (record.key, record.weight));
            let mut merge = runs.merge::<Weighted>().unwrap();
            let mut merged = Vec::new();
            while !merge.is_empty() {
                merged.extend(merge.next().unwrap());
            }
            assert!(merged == all, "{memory}");
            assert_eq!(merge.next().unwrap(), None);
        }
    }
}
