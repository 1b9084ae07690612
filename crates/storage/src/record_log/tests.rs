use std::{
    fs::{OpenOptions, read_dir, read_link},
    os::unix::fs::FileExt,
    path::Path,
    sync::{Arc, atomic::Ordering::Relaxed},
};

use super::{Record, RecordLog, STEP};
use crate::{
    Disk, IoBackend, Min, PAGE, Pod, Result, Sum,
    fault::{Fault, FaultPlan},
};

const BOUNDS: [u64; 4] = [0, 100, 1000, 5000];
/// The number of the error "input/output error".
const EIO: i32 = 5;

/// A number that neither merges nor is remembered.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(transparent)]
struct Plain(u32);

// SAFETY: a number.
unsafe impl Pod for Plain {}
impl Record for Plain {}

/// A number that was sent in some step.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(transparent)]
struct Stepped(u32);

// SAFETY: a number.
unsafe impl Pod for Stepped {}
impl Record for Stepped {
    fn of_step(number: u32) -> Option<Self> {
        Some(Self(number))
    }
}

/// A distance: worse ones than one that is remembered are dropped.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(transparent)]
struct Distance(u64);

// SAFETY: a number.
unsafe impl Pod for Distance {}
impl Record for Distance {
    const REMEMBERED: usize = 1 << 6;

    fn covers(&self, later: &Self) -> bool {
        self.0 <= later.0
    }

    fn key(&self) -> Option<u64> {
        Some(self.0)
    }
}

struct Scratch {
    folder: tempfile::TempDir,
    disk: Disk,
    backend: IoBackend,
}

impl Scratch {
    fn new() -> Self {
        Self::on(Disk::new())
    }

    fn on(disk: Disk) -> Self {
        Self { folder: tempfile::tempdir().unwrap(), disk, backend: IoBackend::Auto }
    }

    /// A log with blocks of so many records.
    fn log<R: Record>(&self, records: usize) -> Result<RecordLog<R>> {
        let how = (&self.disk, self.backend);
        RecordLog::with_blocks(how, self.folder.path(), &BOUNDS, records)
    }

    fn written(&self) -> u64 {
        self.disk.counters().bytes_written.load(Relaxed)
    }
}

/// Some numbers in no order, with repetitions.
fn numbers(count: u64) -> impl Iterator<Item = u64> {
    (0..count).map(|i| i * i * 7919 % BOUNDS[3])
}

/// Sends from two senders, in turn.
fn send_all<R: Record>(log: &RecordLog<R>, records: impl Iterator<Item = (u64, R)>) {
    let mut senders = [log.sender(), log.sender()];
    for (turn, (number, record)) in records.enumerate() {
        log.send(&mut senders[turn % 2], number, record);
    }
    log.collect(senders).unwrap();
}

/// Waits until all blocks that are full are written.
fn settle<R: Record>(log: &RecordLog<R>) {
    (0..3).for_each(|part| log.writer.settle(part).unwrap());
}

fn drained<R: Record>(log: &RecordLog<R>, part: usize) -> Vec<(u64, R)> {
    let mut found = Vec::new();
    let [count, _] = log.drain(part, |number, record| found.push((number, record))).unwrap();
    assert_eq!(count, found.len() as u64);
    assert!(found.iter().all(|(at, _)| (BOUNDS[part]..BOUNDS[part + 1]).contains(at)));
    found
}

#[test]
fn what_one_sender_sends_to_a_number_keeps_its_order() {
    for block in [1, 3, 1000] {
        let scratch = Scratch::new();
        let log = scratch.log::<Plain>(block).unwrap();
        let mut sender = log.sender();
        for (turn, number) in numbers(2000).enumerate() {
            log.send(&mut sender, number, Plain(turn as u32));
        }
        log.collect([sender]).unwrap();
        let found: Vec<_> = (0..3).flat_map(|part| drained(&log, part)).collect();
        let mut wanted: Vec<_> =
            numbers(2000).enumerate().map(|(turn, at)| (at, Plain(turn as u32))).collect();
        wanted.sort_by_key(|&(at, _)| BOUNDS.partition_point(|&bound| bound <= at));
        assert_eq!(found, wanted, "blocks of {block}");
    }
}

/// What is sent to a number in one share, or by one sender, is added up in that order.
#[test]
fn sums_are_merged_in_the_order_in_which_they_were_sent() {
    let scratch = Scratch::new();
    let log = scratch.log::<Sum<f64>>(4).unwrap();
    let value = |turn: usize| 1.0 / (turn as f64 + 3.0);
    let mut sender = log.sender();
    let mut wanted = vec![0.0; BOUNDS[3] as usize];
    for (turn, number) in numbers(3000).enumerate() {
        log.turn_to(&mut sender, number * 7 % BOUNDS[3]);
        log.send(&mut sender, number, Sum(value(turn)));
        wanted[number as usize] += value(turn);
    }
    log.collect([sender]).unwrap();
    for part in 0..3 {
        for (number, sum) in drained(&log, part) {
            assert_eq!(sum.0.to_bits(), wanted[number as usize].to_bits());
        }
    }
}

/// Whatever threads did them, and whenever.
#[test]
fn shares_arrive_in_their_order() {
    const WIDE: u64 = 1 << 20;
    let bits = |threads: usize| {
        let scratch = Scratch::new();
        let bounds = [0, WIDE / 4, WIDE];
        let (how, folder) = ((&scratch.disk, scratch.backend), scratch.folder.path());
        let log = RecordLog::with_blocks(how, folder, &bounds, 300).unwrap();
        for _ in 0..2 {
            let first = log.shares(12);
            let next = std::sync::atomic::AtomicU32::new(0);
            let work = |_| {
                loop {
                    let share = next.fetch_add(1, Relaxed);
                    if share >= 12 {
                        return;
                    }
                    let mut sender = log.sender_of(first + share);
                    for turn in 0..5000u64 {
                        let number = (turn * 7919 + u64::from(share)) * turn % WIDE;
                        log.turn_to(&mut sender, u64::from(share) * (WIDE / 12));
                        let value = Sum(1.0 / (turn as f64 + f64::from(share) * 1e3 + 3.0));
                        log.send(&mut sender, number / 16 * 16, value);
                    }
                    log.collect([sender]).unwrap();
                }
            };
            crate::threads::at_once(threads, work).unwrap();
        }
        let mut sums = vec![0.0; WIDE as usize];
        for part in 0..2 {
            log.drain(part, |number, Sum(sum)| sums[number as usize] += sum).unwrap();
        }
        assert!(scratch.written() > 0);
        sums.into_iter().map(f64::to_bits).collect::<Vec<_>>()
    };
    assert!(bits(1) == bits(3));
}

#[test]
fn what_merges_arrives_as_one_however_it_is_sent() {
    for block in [2, 7, 100_000] {
        let mut scratch = Scratch::new();
        for (backend, near) in [(IoBackend::Auto, 1), (IoBackend::Blocking, 31)] {
            scratch.backend = backend;
            let log = scratch.log::<Min<u64>>(block).unwrap();
            let sent = || numbers(50_000).zip((0..50_000).rev()).map(|(at, n)| (at, Min(n)));
            let mut senders = [log.sender(), log.sender()];
            let mut wanted = vec![u64::MAX; BOUNDS[3] as usize];
            for (at, value) in sent() {
                let sender = &mut senders[at as usize % 2];
                log.turn_to(sender, at * near % BOUNDS[3]);
                log.send(sender, at, value);
                wanted[at as usize] = wanted[at as usize].min(value.0);
            }
            log.collect(senders).unwrap();
            let mut found = vec![u64::MAX; BOUNDS[3] as usize];
            for part in 0..3 {
                assert!(log.pending(part));
                for (at, Min(value)) in drained(&log, part) {
                    found[at as usize] = value.min(found[at as usize]);
                }
                assert!(!log.pending(part) && drained(&log, part).is_empty());
            }
            assert_eq!(found, wanted);
        }
        assert_eq!(scratch.written() > 0, block < 100_000, "blocks of {block}");
    }
}

#[test]
fn merging_and_remembering_write_less() {
    let written = |send: &dyn Fn(&Scratch)| {
        let scratch = Scratch::new();
        send(&scratch);
        scratch.written()
    };
    // Each of ten numbers gets every tenth of 4,000 records, of which blocks hold five.
    let sent = || (0..4000u64).map(|number| (number % 10, number));
    let plain = written(&|scratch| {
        let log = scratch.log::<Plain>(5).unwrap();
        let mut sender = log.sender();
        sent().for_each(|(at, n)| log.send(&mut sender, at, Plain(n as u32)));
        log.collect([sender]).unwrap();
        settle(&log);
    });
    let merged = written(&|scratch| {
        let log = scratch.log::<Min<u32>>(5).unwrap();
        let mut sender = log.sender();
        sent().for_each(|(at, n)| log.send(&mut sender, at, Min(n as u32)));
        log.collect([sender]).unwrap();
        settle(&log);
    });
    let remembered = written(&|scratch| {
        let log = scratch.log::<Distance>(5).unwrap();
        let mut sender = log.sender();
        sent().for_each(|(at, n)| log.send(&mut sender, at, Distance(n)));
        log.collect([sender]).unwrap();
        settle(&log);
    });
    assert_eq!(plain, 800 * PAGE as u64);
    assert_eq!((merged, remembered), (2 * PAGE as u64, 2 * PAGE as u64));
}

#[test]
fn worse_distances_are_dropped_and_the_smallest_is_known() {
    let scratch = Scratch::new();
    let log = scratch.log::<Distance>(1000).unwrap();
    let mut sender = log.sender();
    for (number, distance) in [(5, 9), (5, 9), (5, 11), (5, 7), (69, 8), (5, 8), (200, 3)] {
        log.send(&mut sender, number, Distance(distance));
    }
    assert_eq!(log.smallest_key(0), u64::MAX, "not collected yet");
    log.collect([sender]).unwrap();
    let keys = || [0, 1, 2].map(|part| log.smallest_key(part));
    assert_eq!(keys(), [7, 3, u64::MAX]);
    // 69 has the place of 5, which is forgotten.
    let wanted = [(5, 9), (5, 7), (69, 8), (5, 8)].map(|(at, n)| (at, Distance(n)));
    assert_eq!(drained(&log, 0), wanted);
    assert_eq!(keys(), [u64::MAX, 3, u64::MAX]);
}

#[test]
fn what_waits_is_replayed_as_often_as_wanted() {
    let scratch = Scratch::new();
    let log = scratch.log::<Plain>(3).unwrap();
    let levels = [10, 0, 300, 1].map(|count| numbers(count).collect::<Vec<_>>());
    for (level, found) in levels.iter().enumerate() {
        send_all(&log, found.iter().map(|&at| (at, Plain(level as u32))));
    }
    for _ in 0..2 {
        let mut counts = vec![[0; 4]; BOUNDS[3] as usize];
        for part in 0..3 {
            let count = |at: u64, level: Plain| counts[at as usize][level.0 as usize] += 1;
            log.replay(part, count).unwrap();
        }
        for (level, found) in levels.iter().enumerate() {
            let count: u64 = counts.iter().map(|levels| levels[level]).sum();
            assert_eq!(count, found.len() as u64);
            assert!(found.iter().all(|&at| counts[at as usize][level] > 0));
        }
    }
}

/// A step is written once for each chunk, not for each record: 8 bytes a record, not 12.
#[test]
fn records_know_their_step_which_is_written_once_for_each_chunk() {
    let scratch = Scratch::new();
    let mut log = scratch.log::<Stepped>(PAGE / 8).unwrap();
    let sent = |step: u32| (0..300 * step % 5000).map(move |n| (u64::from(n % 100), Stepped(step)));
    for step in 0..50 {
        log.step = step;
        send_all(&log, sent(step));
    }
    let (mut step, mut counts) = (u32::MAX, [0; 50]);
    let show = |number, Stepped(of)| {
        if number == STEP {
            step = of;
        } else {
            assert_eq!(of, step);
            counts[step as usize] += 1;
        }
    };
    log.replay(0, show).unwrap();
    let wanted = (0..50).map(|step| sent(step).count());
    assert!(counts.into_iter().eq(wanted));
    let records: usize = counts.iter().sum();
    assert!(scratch.written() < 8 * records as u64 * 21 / 20);
}

/// Steps that send few records leave no blocks behind that are not full.
#[test]
fn many_small_steps_take_no_more_room_than_a_large_one() {
    let scratch = Scratch::new();
    let log = scratch.log::<Plain>(PAGE / 8).unwrap();
    (0..PAGE as u64).for_each(|n| send_all(&log, [(n % 100, Plain(1))].into_iter()));
    settle(&log);
    assert_eq!(scratch.written(), 8 * PAGE as u64);
    assert_eq!(drained(&log, 0).len(), PAGE);
}

#[test]
fn records_may_be_sent_on_while_a_part_is_drained() {
    let scratch = Scratch::new();
    let log = scratch.log::<Plain>(2).unwrap();
    send_all(&log, (1000..1100).map(|at| (at, Plain(at as u32))));
    let mut sender = log.sender();
    log.drain(2, |at, record| log.send(&mut sender, at - 1000, record)).unwrap();
    log.collect([sender]).unwrap();
    let mut found = drained(&log, 0);
    found.sort_by_key(|&(at, _)| at);
    assert!(found.into_iter().eq((0..100).map(|at| (at, Plain(at as u32 + 1000)))));
}

#[test]
fn room_of_what_was_drained_is_used_again() {
    let scratch = Scratch::new();
    let log = scratch.log::<Plain>(PAGE / 8).unwrap();
    for _ in 0..5 {
        send_all(&log, (0..2 * PAGE as u64).map(|n| (n % 100, Plain(1))));
        let (mut records, at) = (0, scratch.disk.counters());
        let before = at.bytes_read.load(Relaxed);
        let read = log.drain(0, |_, Plain(_)| records += 1).unwrap();
        assert_eq!((records, read), (2 * PAGE, [2 * PAGE as u64, 16 * PAGE as u64]));
        assert_eq!(at.bytes_read.load(Relaxed) - before, read[1]);
    }
    let length = std::fs::metadata(scratch_file(scratch.folder.path())).unwrap().len();
    assert_eq!(length, 16 * PAGE as u64);
    assert_eq!(scratch.written(), 5 * length);
}

/// What an log does, and how many records it brings.
fn work<R: Record>(scratch: &Scratch, record: fn(u64) -> R) -> Result<u64> {
    let log = scratch.log::<R>(5)?;
    for _ in 0..2 {
        let mut sender = log.sender();
        numbers(60).for_each(|at| log.send(&mut sender, at, record(at)));
        log.collect([sender])?;
    }
    let mut count = 0;
    log.replay(1, |_, _| count += 1)?;
    (0..3).try_fold(count, |sum, part| Ok(sum + log.drain(part, |_, _| ())?[0]))
}

#[test]
fn every_error_of_the_disk_reaches_the_caller() {
    fn check<R: Record>(record: fn(u64) -> R) {
        let plan = Arc::new(FaultPlan::count_only());
        let whole = work(&Scratch::on(Disk::with_faults(plan.clone())), record).unwrap();
        assert!(plan.operations() > 20);
        for number in 0..plan.operations() {
            let with = |fault| {
                let plan = Arc::new(FaultPlan::nth(number, fault));
                work(&Scratch::on(Disk::with_faults(plan)), record)
            };
            assert!(with(Fault::Error(EIO)).is_err(), "operation {number}");
            assert_eq!(with(Fault::Short).unwrap(), whole, "operation {number}");
        }
    }
    check(|at| Plain(at as u32));
    check(Sum);
}

#[test]
fn a_log_that_comes_back_otherwise_is_an_error() {
    for at in [0, 4, 11] {
        let scratch = Scratch::new();
        let log = scratch.log::<Plain>(2).unwrap();
        send_all(&log, [(7, Plain(1)), (9, Plain(2)), (8, Plain(3))].into_iter());
        log.replay(0, |_, _| ()).unwrap();
        let file = scratch_file(scratch.folder.path());
        let file = OpenOptions::new().read(true).write(true).open(file).unwrap();
        let mut byte = [0];
        file.read_exact_at(&mut byte, at).unwrap();
        file.write_all_at(&[byte[0] ^ 1], at).unwrap();
        assert!(log.replay(0, |_, _| ()).is_err(), "byte {at}");
        assert!(log.drain(0, |_, _| ()).is_err(), "byte {at}");
    }
}

/// The open file without a name in a folder.
fn scratch_file(folder: &Path) -> std::path::PathBuf {
    let open = read_dir("/proc/self/fd").unwrap().map(|entry| entry.unwrap().path());
    let mut ours = open.filter(|path| read_link(path).is_ok_and(|to| to.starts_with(folder)));
    ours.next().expect("the log has a scratch file")
}
