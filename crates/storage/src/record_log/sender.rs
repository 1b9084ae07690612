//! [`Sender`]: what a thread sends with. Chunks gather records by part, so that the blocks of all
//! threads are locked for some records at a time. Sums gather what merges: those of the first
//! numbers, which get most records where numbers are sorted by how many they get, and those of the
//! part that is at home, which gets most where neighbors have near numbers.

use std::slice::from_ref;

use super::{
    RecordLog,
    record::{Record, STEP},
};
use crate::{arena::bytes_of, monitor::lock};

/// Bytes of the sums of the first numbers.
pub(super) const FRONT: usize = 128 << 10;
/// Bytes of the sums of a part, at most: wider ones are nowhere at home.
const HOME: usize = 512 << 10;
/// Groups of sums, of which it is known whether something came.
const GROUPS: usize = 64;

/// A thread's records that nothing but it knows of, until they are collected.
#[must_use = "what is not collected does not arrive"]
pub struct Sender<R> {
    /// Records by part, as they are in the log; a chunk's room for each.
    chunks: Vec<u8>,
    lens: Vec<usize>,
    front: SumRange<R>,
    home: SumRange<R>,
    /// The smallest key that was sent to each part.
    pub(super) smallest: Vec<u64>,
    /// The last record at each place.
    remembered: Vec<(u64, R)>,
    /// The number of the share whose records these are, and the blocks of that; 0: the blocks are
    /// those of all threads.
    share: u32,
    own: Vec<Vec<u8>>,
}

/// Sums of numbers in a row.
struct SumRange<R> {
    first: u64,
    sums: Vec<R>,
    /// How many numbers a group has, and in which groups something came.
    group: usize,
    came: u64,
}

/// Numbers that have sums where so many could.
pub(super) fn summed<R: Record>(numbers: u64, bytes: usize) -> usize {
    let most = bytes / size_of::<R>().max(1);
    if R::NOTHING.is_some() { most.min(numbers as usize) } else { 0 }
}

/// Numbers of a part that have sums while it is at home.
pub(super) fn at_home<R: Record>(widest: u64) -> usize {
    if widest as usize * size_of::<R>() > HOME { 0 } else { summed::<R>(widest, HOME) }
}

/// Bytes of a sender's sums.
pub(super) fn sums_bytes<R: Record>(widest: u64) -> usize {
    (summed::<R>(u64::MAX, FRONT) + at_home::<R>(widest)) * size_of::<R>()
}

impl<R: Record> SumRange<R> {
    fn new(numbers: usize) -> Self {
        let sums = R::NOTHING.map_or(Vec::new(), |nothing| vec![nothing; numbers]);
        Self { first: 0, sums, group: numbers.div_ceil(GROUPS).next_power_of_two(), came: 0 }
    }

    /// Merges a record into the sum of its number, if that has one.
    #[inline(always)]
    fn merge(&mut self, number: u64, record: R) -> bool {
        let at = number.wrapping_sub(self.first) as usize;
        let Some(sum) = self.sums.get_mut(at) else { return false };
        sum.merge(record);
        self.came |= 1 << (at >> self.group.trailing_zeros());
        true
    }

    /// Shows the sums of numbers that got something, which are then nothing.
    fn drain(&mut self, mut show: impl FnMut(u64, R)) {
        let (Some(nothing), mut came) = (R::NOTHING, std::mem::take(&mut self.came)) else {
            return;
        };
        while came != 0 {
            let first = came.trailing_zeros() as usize * self.group;
            came &= came - 1;
            let numbers = self.first + first as u64..;
            for (sum, number) in self.sums[first..].iter_mut().take(self.group).zip(numbers) {
                if !sum.is_nothing() {
                    show(number, std::mem::replace(sum, nothing));
                }
            }
        }
    }
}

impl<R: Record> RecordLog<R> {
    /// What a thread sends with.
    pub fn sender(&self) -> Sender<R> {
        let parts = self.open.len();
        let end = self.places.bounds.last().copied().unwrap_or(0);
        let new = || Sender {
            chunks: vec![0; parts * self.chunk],
            lens: vec![0; parts],
            front: SumRange::new(summed::<R>(end, FRONT)),
            home: SumRange { first: u64::MAX, ..SumRange::new(0) },
            smallest: vec![u64::MAX; parts],
            remembered: Vec::new(),
            share: 0,
            own: Vec::new(),
        };
        let idle = lock(&self.idle).pop();
        idle.map_or_else(new, |sender| Sender { share: 0, ..sender })
    }

    /// What a thread sends the records of a share with, which is to be collected at its end. The
    /// thread has no other sender.
    pub fn sender_of(&self, share: u32) -> Sender<R> {
        let mut sender = self.sender();
        sender.share = share;
        sender.own.resize_with(self.open.len(), Vec::new);
        sender
    }

    /// What is sent from now on is likely to be for numbers near this one.
    #[inline(always)]
    pub fn turn_to(&self, sender: &mut Sender<R>, number: u64) {
        if R::NOTHING.is_some()
            && number.wrapping_sub(sender.home.first) >= sender.home.sums.len() as u64
        {
            self.bring_home(sender, number);
        }
    }

    #[inline(never)]
    fn bring_home(&self, sender: &mut Sender<R>, number: u64) {
        let (part, bounds) = (self.places.of(number), &self.places.bounds);
        let numbers = at_home::<R>(bounds[part + 1] - bounds[part]);
        if numbers == 0 {
            return;
        }
        let mut home = std::mem::replace(&mut sender.home, SumRange::new(0));
        home.drain(|number, record| self.put(sender, number, record));
        home.first = bounds[part];
        home.sums.resize(numbers, R::NOTHING.expect("it merges"));
        home.group = numbers.div_ceil(GROUPS).next_power_of_two();
        sender.home = home;
    }

    /// Sends a record to a number.
    #[inline(always)]
    pub fn send(&self, sender: &mut Sender<R>, number: u64, record: R) {
        if R::NOTHING.is_some() {
            if sender.front.merge(number, record) || sender.home.merge(number, record) {
                return;
            }
        } else if R::REMEMBERED > 0 {
            if sender.remembered.is_empty() {
                sender.remembered.resize(R::REMEMBERED, (u64::MAX, record));
            }
            let slot = &mut sender.remembered[record.place(number) as usize % R::REMEMBERED];
            if slot.0 == number && slot.1.covers(&record) {
                return;
            }
            *slot = (number, record);
        }
        self.put(sender, number, record);
    }

    /// Puts a record into the chunk of its part.
    #[inline(always)]
    fn put(&self, sender: &mut Sender<R>, number: u64, record: R) {
        let part = self.places.of(number);
        if let Some(key) = record.key() {
            sender.smallest[part] = sender.smallest[part].min(key);
        }
        if let (0, Some(step)) = (sender.lens[part], R::of_step(self.step)) {
            self.push(sender, part, STEP as u32, step);
        }
        self.push(sender, part, (number - self.places.bounds[part]) as u32, record);
        if sender.lens[part] == self.chunk {
            self.flush(sender, part);
        }
    }

    #[inline(always)]
    fn push(&self, sender: &mut Sender<R>, part: usize, at: u32, record: R) {
        let begun = part * self.chunk + sender.lens[part];
        let entry = &mut sender.chunks[begun..begun + R::BYTES];
        entry[..size_of::<u32>()].copy_from_slice(&at.to_le_bytes());
        entry[size_of::<u32>()..].copy_from_slice(bytes_of(from_ref(&record)));
        sender.lens[part] += R::BYTES;
    }

    /// Puts a chunk into the block of its part.
    #[inline(never)]
    fn flush(&self, sender: &mut Sender<R>, part: usize) {
        let len = std::mem::take(&mut sender.lens[part]);
        let records = &sender.chunks[part * self.chunk..][..len];
        match sender.share {
            0 => self.append(part, &mut lock(&self.open[part]), 0, records),
            share => self.append(part, &mut sender.own[part], share, records),
        }
    }

    /// Passes on all that a sender has, which may then be used anew.
    pub(super) fn empty(&self, sender: &mut Sender<R>) {
        let none = || SumRange { first: u64::MAX, ..SumRange::new(0) };
        let mut front = std::mem::replace(&mut sender.front, none());
        let mut home = std::mem::replace(&mut sender.home, none());
        front.drain(|number, record| self.put(sender, number, record));
        home.drain(|number, record| self.put(sender, number, record));
        (sender.front, sender.home) = (front, home);
        for part in 0..sender.lens.len() {
            if sender.lens[part] > 0 {
                self.flush(sender, part);
            }
        }
        for (part, own) in sender.own.iter_mut().enumerate().filter(|(_, own)| !own.is_empty()) {
            self.writer.write(part, own, sender.share);
            own.clear();
        }
        sender.remembered.clear();
    }
}
