//! What a step will write to a log, reckoned before it: of records of which some merge in memory,
//! and of which the last ones of each part stay there.

use std::ops::Range;

use super::{
    BLOCKS, LogShape, RecordLog,
    record::Record,
    sender::{FRONT, at_home, summed},
};
use crate::PAGE;

/// What is sent in a step.
#[derive(Clone, Copy, Debug)]
pub struct Sent<'s> {
    /// Bounds of the parts.
    pub bounds: &'s [u64],
    /// How many records are sent.
    pub records: u64,
    /// Where they go.
    pub leads: &'s Leads,
    /// How often what the senders have merged is collected.
    pub collects: u64,
    /// Shares of the work, where records arrive in their order; `None`: there is none.
    pub shares: Option<u32>,
    /// How often a part is drained.
    pub drains: u64,
}

/// Where records go: shares of all of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Leads {
    /// To the first numbers, which have sums ([`RecordLog::front`]), by how many bits a number has:
    /// among them some get far more than others.
    pub front: [f64; 65],
    /// To other numbers of the part that is at home.
    pub home: f64,
}

impl Leads {
    /// Those of senders of which each has so many records: how many records leave one for each
    /// number before `front`, by the bits of the number.
    fn left(&self, front: u64, records: f64) -> impl Iterator<Item = (Range<u64>, f64)> {
        let bits = (0..64).map(move |bits| match bits {
            0 => 0..front.min(1),
            bits => (1 << (bits - 1)).min(front)..(1 << bits).min(front),
        });
        bits.zip(&self.front).filter(|(numbers, _)| !numbers.is_empty()).map(
            move |(numbers, share)| {
                let count = (numbers.end - numbers.start) as f64;
                (numbers, met(count, records * share) / count)
            },
        )
    }
}

/// How many of some numbers get something, if so many records go to them.
fn met(numbers: f64, records: f64) -> f64 {
    if numbers > 0.0 { numbers * (1.0 - (-records / numbers).exp()) } else { 0.0 }
}

impl<R: Record> RecordLog<R> {
    /// How many of so many numbers have sums always: the first ones.
    pub fn front(numbers: u64) -> u64 {
        summed::<R>(numbers, FRONT) as u64
    }

    /// About how many bytes a step writes, with `more` memory than the least.
    pub fn expected(shape: LogShape, more: u64, sent: &Sent) -> u64 {
        let (bounds, records) = (sent.bounds, sent.records as f64);
        let front = Self::front(bounds.last().copied().unwrap_or(0));
        // Of those that collect often few have much.
        let threads = if sent.collects > 1 { sent.collects } else { shape.threads as u64 };
        let senders = sent.shares.map_or(threads as f64, f64::from);
        // Of each part, its numbers at the front, and behind it.
        let sides = bounds.windows(2).map(|pair| {
            let at = front.clamp(pair[0], pair[1]);
            [at - pair[0], pair[1] - at]
        });
        let behind = sides.clone().filter(|[_, behind]| *behind > 0).count().max(1) as f64;
        let (home, first) = (sent.leads.home, sent.leads.front.iter().sum::<f64>());
        let left: Vec<_> = sent.leads.left(front, records / senders).collect();
        let block = Self::block_bytes(shape, BLOCKS + more) as f64;
        let written = sides.zip(bounds).map(|([before, behind_front], &start)| {
            let of_front = |(numbers, each): &(Range<u64>, f64)| {
                let end = numbers.end.min(start + before);
                end.saturating_sub(numbers.start.max(start)) as f64 * each
            };
            let mut records_of = senders * left.iter().map(of_front).sum::<f64>();
            let mut at_home_of = records * home / behind;
            if at_home::<R>(behind_front) > 0 {
                at_home_of = met(behind_front as f64, at_home_of);
            }
            if behind_front > 0 {
                records_of += records * (1.0 - first - home) / behind + at_home_of;
            }
            let bytes = records_of * R::BYTES as f64;
            match sent.shares {
                // The blocks of a share are written at its end.
                Some(_) if bytes > 0.0 => {
                    senders * (bytes / senders / PAGE as f64).ceil() * PAGE as f64
                }
                Some(_) => 0.0,
                // The last block of each part stays, half full in the mean.
                None => {
                    let each = bytes / sent.drains as f64;
                    sent.drains as f64 * if each < block { 0.0 } else { each - block / 2.0 }
                }
            }
        });
        written.sum::<f64>() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Disk, IoBackend, Min, Sum};

    const NUMBERS: u64 = 1 << 20;

    /// Sends a million records, of which these shares go to the first numbers and to the part at
    /// home; returns what was written, and what was expected.
    fn both<R: Record>(record: R, leads: [f64; 2], shares: Option<u32>) -> [u64; 2] {
        let (folder, disk, records) = (tempfile::tempdir().unwrap(), Disk::new(), 1_000_000);
        let bounds: Vec<u64> = (0..=16).map(|part| part * NUMBERS / 16).collect();
        let how = (&disk, IoBackend::Auto);
        let log = RecordLog::create(how, folder.path(), &bounds, (1, 0)).unwrap();
        let (front, mut random) = (RecordLog::<R>::front(NUMBERS), 1_u64);
        let mut below = |most: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (random >> 33) % most
        };
        for share in 0..u64::from(shares.unwrap_or(1)) {
            let mut sender = match shares {
                Some(_) => log.sender_of(share as u32 + 1),
                None => log.sender(),
            };
            let each = records / u64::from(shares.unwrap_or(1));
            for at in 0..each {
                let from = (share * each + at) * (NUMBERS - front) / records + front;
                log.turn_to(&mut sender, from);
                let part = bounds.partition_point(|&bound| bound <= from) - 1;
                let number = match below(1000) as f64 / 1000.0 {
                    lead if lead < leads[0] => below(front),
                    lead if lead < leads[0] + leads[1] => {
                        let first = bounds[part].max(front);
                        first + below(bounds[part + 1] - first)
                    }
                    _ => front + below(NUMBERS - front),
                };
                log.send(&mut sender, number, record);
            }
            log.collect([sender]).unwrap();
        }
        for part in 0..16 {
            log.drain(part, |_, _| ()).unwrap();
        }
        let shape = LogShape { threads: 1, parts: 16, widest: NUMBERS / 16 };
        let [first, home] = leads;
        // Each to as many as those before it together.
        let of = |bits: usize| match bits {
            0 => first / front as f64,
            1..60 if 1_u64 << bits <= front => first * (1 << (bits - 1)) as f64 / front as f64,
            _ => 0.0,
        };
        let leads = &Leads { front: std::array::from_fn(of), home };
        let sent = Sent { bounds: &bounds, records, leads, collects: 1, shares, drains: 1 };
        let written = disk.counters().bytes_written.load(std::sync::atomic::Ordering::Relaxed);
        [written, RecordLog::<R>::expected(shape, 0, &sent)]
    }

    #[test]
    fn what_is_written_is_known_before() {
        for leads in [[0.0, 0.0], [0.5, 0.0], [0.3, 0.4], [0.05, 0.9]] {
            for [written, expected] in [
                both(Min(7u32), leads, None),
                both(Min(7u64), leads, None),
                both(Sum(1.0f64), leads, Some(16)),
            ] {
                let what = format!("{leads:?}: {written} written, {expected} expected");
                assert!(written.abs_diff(expected) * 20 <= written * 3, "{what}");
            }
        }
    }
}
