use std::{
    fs::{OpenOptions, read_dir, read_link},
    os::unix::fs::FileExt,
    path::Path,
    sync::{Arc, atomic::Ordering::Relaxed},
};

use outercore_storage::{
    Disk, PAGE, Pod,
    fault::{Fault, FaultPlan},
};

use super::{Exchange, InMemory, Record, STEP};
use crate::{Min, Monoid, Sum, session::Counters};
use outercore_graph::Result;

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
    counters: Arc<Counters>,
}

impl Scratch {
    fn new() -> Self {
        Self::on(Disk::new())
    }

    fn on(disk: Disk) -> Self {
        Self { folder: tempfile::tempdir().unwrap(), disk, counters: Arc::default() }
    }

    /// An exchange with blocks of so many records.
    fn exchange<R: Record>(&self, records: usize) -> Result<Exchange<R>> {
        let (folder, counters) = (self.folder.path().into(), self.counters.clone());
        let scratch = crate::state::Scratch::new(&self.disk, folder, counters);
        Exchange::create(&scratch, &BOUNDS, records)
    }

    fn written(&self) -> u64 {
        self.disk.counters().bytes_written.load(Relaxed)
    }
}

/// Some vertices in no order, with repetitions.
fn vertices(count: u64) -> impl Iterator<Item = u64> {
    (0..count).map(|i| i * i * 7919 % BOUNDS[3])
}

/// Sends from two senders, in turn.
fn send_all<R: Record>(exchange: &Exchange<R>, records: impl Iterator<Item = (u64, R)>) {
    let mut senders = [exchange.sender(), exchange.sender()];
    for (number, (vertex, record)) in records.enumerate() {
        exchange.send(&mut senders[number % 2], vertex, record);
    }
    exchange.collect(senders).unwrap();
}

fn drained<R: Record>(exchange: &Exchange<R>, interval: usize) -> Vec<(u64, R)> {
    let mut found = Vec::new();
    let count = exchange.drain(interval, |vertex, record| found.push((vertex, record))).unwrap();
    assert_eq!(count, found.len() as u64);
    assert!(found.iter().all(|(at, _)| (BOUNDS[interval]..BOUNDS[interval + 1]).contains(at)));
    found
}

#[test]
fn what_one_sender_sends_to_a_vertex_keeps_its_order() {
    for block in [1, 3, 1000] {
        let scratch = Scratch::new();
        let exchange = scratch.exchange::<Plain>(block).unwrap();
        let mut sender = exchange.sender();
        for (number, vertex) in vertices(2000).enumerate() {
            exchange.send(&mut sender, vertex, Plain(number as u32));
        }
        exchange.collect([sender]).unwrap();
        let found: Vec<_> = (0..3).flat_map(|interval| drained(&exchange, interval)).collect();
        let mut wanted: Vec<_> =
            vertices(2000).enumerate().map(|(number, at)| (at, Plain(number as u32))).collect();
        wanted.sort_by_key(|&(at, _)| BOUNDS.partition_point(|&bound| bound <= at));
        assert_eq!(found, wanted, "blocks of {block}");
    }
}

#[test]
fn sums_are_merged_in_the_order_in_which_they_were_sent() {
    let scratch = Scratch::new();
    let exchange = scratch.exchange::<Sum<f64>>(4).unwrap();
    let value = |number: usize| 1.0 / (number as f64 + 3.0);
    let mut sender = exchange.sender();
    let mut wanted = vec![0.0; BOUNDS[3] as usize];
    for (number, vertex) in vertices(3000).enumerate() {
        exchange.send(&mut sender, vertex, Sum(value(number)));
        wanted[vertex as usize] += value(number);
    }
    exchange.collect([sender]).unwrap();
    for interval in 0..3 {
        for (vertex, sum) in drained(&exchange, interval) {
            assert_eq!(sum.0.to_bits(), wanted[vertex as usize].to_bits());
        }
    }
}

#[test]
fn both_exchanges_bring_the_same() {
    for block in [1, 7, 100_000] {
        let scratch = Scratch::new();
        let exchange = scratch.exchange::<Min<u64>>(block).unwrap();
        let sent = || vertices(50_000).zip((0..50_000).rev()).map(|(at, value)| (at, Min(value)));
        send_all(&exchange, sent());
        let mut wanted = vec![Min::<u64>::IDENTITY; BOUNDS[3] as usize];
        let in_memory = InMemory::new(&mut wanted);
        let mut senders = [in_memory.sender(), in_memory.sender()];
        sent().for_each(|(at, value)| in_memory.send(&mut senders[at as usize % 2], at, value));
        in_memory.collect(senders).unwrap();
        let mut found = vec![Min::<u64>::IDENTITY; BOUNDS[3] as usize];
        for interval in 0..3 {
            assert!(exchange.pending(interval));
            drained(&exchange, interval)
                .into_iter()
                .for_each(|(at, value)| found[at as usize].combine(value));
            assert!(!exchange.pending(interval) && drained(&exchange, interval).is_empty());
        }
        assert_eq!(found, wanted);
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
    // Each of ten vertices gets every tenth of 4,000 records, of which blocks hold five.
    let sent = || (0..4000u64).map(|number| (number % 10, number));
    let plain = written(&|scratch| {
        let exchange = scratch.exchange::<Plain>(5).unwrap();
        let mut sender = exchange.sender();
        sent().for_each(|(at, n)| exchange.send(&mut sender, at, Plain(n as u32)));
        exchange.collect([sender]).unwrap();
    });
    let merged = written(&|scratch| {
        let exchange = scratch.exchange::<Min<u32>>(5).unwrap();
        let mut sender = exchange.sender();
        sent().for_each(|(at, n)| exchange.send(&mut sender, at, Min(n as u32)));
        exchange.collect([sender]).unwrap();
    });
    let remembered = written(&|scratch| {
        let exchange = scratch.exchange::<Distance>(5).unwrap();
        let mut sender = exchange.sender();
        sent().for_each(|(at, n)| exchange.send(&mut sender, at, Distance(n)));
        exchange.collect([sender]).unwrap();
    });
    assert_eq!(plain, 800 * PAGE as u64);
    assert_eq!((merged, remembered), (2 * PAGE as u64, 2 * PAGE as u64));
}

#[test]
fn worse_distances_are_dropped_and_the_smallest_is_known() {
    let scratch = Scratch::new();
    let exchange = scratch.exchange::<Distance>(1000).unwrap();
    let mut sender = exchange.sender();
    for (vertex, distance) in [(5, 9), (5, 9), (5, 11), (5, 7), (69, 8), (5, 8), (200, 3)] {
        exchange.send(&mut sender, vertex, Distance(distance));
    }
    assert_eq!(exchange.smallest_key(0), u64::MAX, "not collected yet");
    exchange.collect([sender]).unwrap();
    let keys = || [0, 1, 2].map(|interval| exchange.smallest_key(interval));
    assert_eq!(keys(), [7, 3, u64::MAX]);
    // 69 has the place of 5, which is forgotten.
    let wanted = [(5, 9), (5, 7), (69, 8), (5, 8)].map(|(at, n)| (at, Distance(n)));
    assert_eq!(drained(&exchange, 0), wanted);
    assert_eq!(keys(), [u64::MAX, 3, u64::MAX]);
}

#[test]
fn what_waits_is_replayed_as_often_as_wanted() {
    let scratch = Scratch::new();
    let exchange = scratch.exchange::<Plain>(3).unwrap();
    let levels = [10, 0, 300, 1].map(|count| vertices(count).collect::<Vec<_>>());
    for (level, found) in levels.iter().enumerate() {
        send_all(&exchange, found.iter().map(|&at| (at, Plain(level as u32))));
    }
    for _ in 0..2 {
        let mut counts = vec![[0; 4]; BOUNDS[3] as usize];
        for interval in 0..3 {
            let count = |at: u64, level: Plain| counts[at as usize][level.0 as usize] += 1;
            exchange.replay(interval, count).unwrap();
        }
        for (level, found) in levels.iter().enumerate() {
            let count: u64 = counts.iter().map(|levels| levels[level]).sum();
            assert_eq!(count, found.len() as u64);
            assert!(found.iter().all(|&at| counts[at as usize][level] > 0));
        }
    }
}

/// A step is written once for each block, not for each record: 8 bytes a record, not 12.
#[test]
fn records_know_their_step_which_is_written_once_for_each_block() {
    let scratch = Scratch::new();
    let mut exchange = scratch.exchange::<Stepped>(PAGE / 8).unwrap();
    let sent = |step: u32| (0..300 * step % 5000).map(move |n| (u64::from(n % 100), Stepped(step)));
    for step in 0..50 {
        exchange.step = step;
        send_all(&exchange, sent(step));
    }
    let (mut step, mut counts) = (u32::MAX, [0; 50]);
    let show = |vertex, Stepped(number)| {
        if vertex == STEP {
            step = number;
        } else {
            assert_eq!(number, step);
            counts[step as usize] += 1;
        }
    };
    exchange.replay(0, show).unwrap();
    let wanted = (0..50).map(|step| sent(step).count());
    assert!(counts.into_iter().eq(wanted));
    let records: usize = counts.iter().sum();
    assert!(scratch.written() < 8 * records as u64 * 21 / 20);
}

/// Steps that send few records leave no blocks behind that are not full.
#[test]
fn many_small_steps_take_no_more_room_than_a_large_one() {
    let scratch = Scratch::new();
    let exchange = scratch.exchange::<Plain>(PAGE / 8).unwrap();
    (0..PAGE as u64).for_each(|n| send_all(&exchange, [(n % 100, Plain(1))].into_iter()));
    assert_eq!(scratch.written(), 8 * PAGE as u64);
    assert_eq!(drained(&exchange, 0).len(), PAGE);
}

#[test]
fn records_may_be_sent_on_while_an_interval_is_drained() {
    let scratch = Scratch::new();
    let exchange = scratch.exchange::<Plain>(2).unwrap();
    send_all(&exchange, (1000..1100).map(|at| (at, Plain(at as u32))));
    let mut sender = exchange.sender();
    exchange.drain(2, |at, record| exchange.send(&mut sender, at - 1000, record)).unwrap();
    exchange.collect([sender]).unwrap();
    let mut found = drained(&exchange, 0);
    found.sort_by_key(|&(at, _)| at);
    assert!(found.into_iter().eq((0..100).map(|at| (at, Plain(at as u32 + 1000)))));
}

#[test]
fn room_of_what_was_drained_is_used_again() {
    let scratch = Scratch::new();
    let exchange = scratch.exchange::<Plain>(PAGE / 8).unwrap();
    for _ in 0..5 {
        send_all(&exchange, (0..2 * PAGE as u64).map(|n| (n % 100, Plain(1))));
        assert_eq!(drained(&exchange, 0).len(), 2 * PAGE);
    }
    let length = std::fs::metadata(scratch_file(scratch.folder.path())).unwrap().len();
    assert_eq!(length, 16 * PAGE as u64);
    assert_eq!(scratch.written(), 5 * length);
    assert_eq!(scratch.counters.useful_bytes.load(Relaxed), 5 * length);
}

/// What an exchange does, and how many records it brings.
fn work<R: Record>(scratch: &Scratch, record: fn(u64) -> R) -> Result<u64> {
    let exchange = scratch.exchange::<R>(5)?;
    for _ in 0..2 {
        let mut sender = exchange.sender();
        vertices(60).for_each(|at| exchange.send(&mut sender, at, record(at)));
        exchange.collect([sender])?;
    }
    let mut count = 0;
    exchange.replay(1, |_, _| count += 1)?;
    (0..3).try_fold(count, |sum, interval| Ok(sum + exchange.drain(interval, |_, _| ())?))
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
        let exchange = scratch.exchange::<Plain>(2).unwrap();
        send_all(&exchange, [(7, Plain(1)), (9, Plain(2)), (8, Plain(3))].into_iter());
        exchange.replay(0, |_, _| ()).unwrap();
        let file = scratch_file(scratch.folder.path());
        let file = OpenOptions::new().read(true).write(true).open(file).unwrap();
        let mut byte = [0];
        file.read_exact_at(&mut byte, at).unwrap();
        file.write_all_at(&[byte[0] ^ 1], at).unwrap();
        assert!(exchange.replay(0, |_, _| ()).is_err(), "byte {at}");
        assert!(exchange.drain(0, |_, _| ()).is_err(), "byte {at}");
    }
}

/// The open file without a name in a folder.
fn scratch_file(folder: &Path) -> std::path::PathBuf {
    let open = read_dir("/proc/self/fd").unwrap().map(|entry| entry.unwrap().path());
    let mut ours = open.filter(|path| read_link(path).is_ok_and(|to| to.starts_with(folder)));
    ours.next().expect("the exchange has a scratch file")
}
