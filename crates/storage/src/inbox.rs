//! [`Inbox`]: records to numbers that are all in memory. Threads gather them by range, and merge
//! whole batches under the range's lock. A range is a part of the numbers.
//!
//! Memory: up to a batch for each thread and range, of which there are at most 128.

use std::{mem::replace, sync::Mutex};

use crate::{carries::Carries, error::Result, monitor::lock, monoid::Monoid};

/// Bytes of a batch.
const BATCH: usize = 16 << 10;

/// What has come to each number, cut into ranges.
pub struct Inbox<'v, M> {
    ranges: Vec<Mutex<InboxRange<'v, M>>>,
    bits: u32,
}

/// What has come to some numbers in a row, and whether anything has.
struct InboxRange<'v, M> {
    items: &'v mut [M],
    came: bool,
}

/// A thread's records on their way, by range.
#[must_use = "what is not collected does not arrive"]
pub struct Batches<M>(Vec<Vec<(u64, M)>>);

/// A range has two to the power of this of so many numbers.
fn bits(numbers: u64) -> u32 {
    (64 - (numbers / 64).leading_zeros()).max(12)
}

impl<'v, M: Monoid> Inbox<'v, M> {
    /// Bytes of memory of a thread's batches to so many numbers.
    pub fn bytes(numbers: u64) -> u64 {
        (numbers / 4096 + 1).min(128) * BATCH as u64
    }

    /// How many of so many numbers a range has.
    pub fn range(numbers: u64) -> u64 {
        1 << bits(numbers)
    }

    /// Merges into `items`, one for each number.
    pub fn new(items: &'v mut [M]) -> Self {
        let bits = bits(items.len() as u64);
        let ranges = items.chunks_mut(1 << bits);
        let ranges = ranges.map(|items| Mutex::new(InboxRange { items, came: false })).collect();
        Self { ranges, bits }
    }

    fn merge(&self, range: usize, batch: &mut Vec<(u64, M)>) {
        let InboxRange { items, came } = &mut *lock(&self.ranges[range]);
        let mask = (1u64 << self.bits) - 1;
        *came |= !batch.is_empty();
        for (number, record) in batch.drain(..) {
            items[(number & mask) as usize].combine(record);
        }
    }
}

impl<M: Monoid> Carries<M> for Inbox<'_, M> {
    type Sender = Batches<M>;

    fn sender(&self) -> Batches<M> {
        Batches(vec![Vec::new(); self.ranges.len()])
    }

    #[inline(always)]
    fn send(&self, sender: &mut Batches<M>, number: u64, record: M) {
        let range = (number >> self.bits) as usize;
        let batch = &mut sender.0[range];
        batch.push((number, record));
        if batch.len() == BATCH / size_of::<(u64, M)>() {
            self.merge(range, batch);
        }
    }

    fn collect(&self, senders: impl IntoIterator<Item = Batches<M>>) -> Result<()> {
        for mut sender in senders {
            sender.0.iter_mut().enumerate().for_each(|(range, batch)| self.merge(range, batch));
        }
        Ok(())
    }

    fn pending(&self, part: usize) -> bool {
        lock(&self.ranges[part]).came
    }

    fn drain(&self, part: usize, mut take: impl FnMut(u64, M)) -> Result<[u64; 2]> {
        let InboxRange { items, came } = &mut *lock(&self.ranges[part]);
        let (first, mut records) = ((part as u64) << self.bits, 0);
        if replace(came, false) {
            for (item, number) in items.iter_mut().zip(first..) {
                if *item != M::IDENTITY {
                    take(number, replace(item, M::IDENTITY));
                    records += 1;
                }
            }
        }
        Ok([records, 0])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Disk, IoBackend, Min, RecordLog};

    /// Numbers of three ranges.
    const NUMBERS: u64 = 12_000;

    /// Some numbers in no order, with repetitions, and what is sent to them.
    fn sent() -> impl Iterator<Item = (u64, Min<u64>)> {
        (0..50_000).map(|i| (i * i * 7919 % (NUMBERS - 4096), Min(50_000 - i)))
    }

    /// Sends by two senders, and returns what each part was handed.
    fn carried(by: &impl Carries<Min<u64>>, parts: usize) -> Vec<(u64, Min<u64>)> {
        let mut senders = [by.sender(), by.sender()];
        for (number, record) in sent() {
            by.send(&mut senders[number as usize % 2], number, record);
        }
        by.collect(senders).unwrap();
        let mut found = vec![Min::<u64>::IDENTITY; NUMBERS as usize];
        for part in 0..parts {
            let mut count = 0;
            let pending = by.pending(part);
            let drained = by.drain(part, |number, record| {
                count += 1;
                found[number as usize].combine(record);
            });
            assert_eq!(drained.unwrap()[0], count);
            assert_eq!((pending, by.pending(part)), (count > 0, false), "part {part}");
            assert_eq!(by.drain(part, |_, _| panic!("it was handed out")).unwrap(), [0, 0]);
        }
        (0..).zip(found).filter(|(_, record)| *record != Min::IDENTITY).collect()
    }

    #[test]
    fn numbers_in_memory_get_what_a_log_brings() {
        let mut items = vec![Min::<u64>::IDENTITY; NUMBERS as usize];
        let parts = NUMBERS.div_ceil(Inbox::<Min<u64>>::range(NUMBERS)) as usize;
        assert_eq!(parts, 3);
        let in_memory = carried(&Inbox::new(&mut items), parts);
        assert!(items.iter().all(|item| *item == Min::IDENTITY), "it was handed out");
        let folder = tempfile::tempdir().unwrap();
        let how = (&Disk::new(), IoBackend::Auto);
        let bounds = [0, 5000, 9000, NUMBERS];
        let log = RecordLog::with_blocks(how, folder.path(), &bounds, 7).unwrap();
        assert_eq!(carried(&log, 3), in_memory);
    }

    #[test]
    fn what_no_part_is_handed_stays_merged_in_place() {
        let mut items = vec![Min::<u64>::IDENTITY; NUMBERS as usize];
        let inbox = Inbox::new(&mut items);
        let mut sender = inbox.sender();
        sent().for_each(|(number, record)| inbox.send(&mut sender, number, record));
        inbox.collect([sender]).unwrap();
        let mut wanted = vec![Min::<u64>::IDENTITY; NUMBERS as usize];
        sent().for_each(|(number, record)| wanted[number as usize].combine(record));
        assert_eq!(items, wanted);
    }
}
