//! What it costs to pass records through a log: processor time and seconds for each, sent, written,
//! read and taken.
//!
//! `cargo run --release -p outercore-storage --example pass_records -- FOLDER [RECORDS]`

use std::{path::PathBuf, time::Instant};

use outercore_storage::{Disk, IoBackend, Min, Pod, Record, RecordLog, Result, Sum, memory};

/// Numbers, and the parts that they are cut into.
const NUMBERS: u64 = 8 << 20;
const PARTS: u64 = 128;
const THREADS: usize = 2;

/// What neither merges nor is remembered.
#[repr(transparent)]
#[derive(Clone, Copy)]
struct Plain(u64);

// SAFETY: a transparent wrapper of a number.
unsafe impl Pod for Plain {}
impl Record for Plain {}

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let folder = PathBuf::from(arguments.next().expect("a folder for scratch"));
    let records = arguments.next().map_or(50_000_000, |text| text.parse().expect("how many"));
    for more in [0, 14 << 20] {
        println!("{} MiB beside the least", more >> 20);
        pass("8 bytes, any number", &folder, (records, more), |_, random| random, Plain)?;
        let skewed =
            |turn: u64, random: u64| if turn.is_multiple_of(2) { random % 16_384 } else { random };
        pass("sums, half to the first", &folder, (records, more), skewed, |n| Sum(n as f64))?;
        pass("minima of 4 bytes", &folder, (records, more), |_, n| n, |n| Min(n as u32))?;
    }
    Ok(())
}

/// Passes records to numbers that `to` makes of their turn and a random number.
fn pass<R: Record>(
    what: &str,
    folder: &std::path::Path,
    (records, more): (u64, u64),
    to: impl Fn(u64, u64) -> u64 + Sync,
    record: impl Fn(u64) -> R + Sync,
) -> Result<()> {
    let bounds: Vec<u64> = (0..=PARTS).map(|part| part * (NUMBERS / PARTS)).collect();
    let disk = Disk::new();
    let log = RecordLog::<R>::create((&disk, IoBackend::Auto), folder, &bounds, (THREADS, more))?;
    let (begun, cpu) = (Instant::now(), memory::process_time());
    let each = records / THREADS as u64;
    let sent = outercore_storage::threads::at_once(THREADS, |thread| {
        let (mut sender, mut random) = (log.sender(), thread as u64 + 1);
        for turn in 0..each {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            log.send(&mut sender, to(turn, random % NUMBERS), record(turn));
        }
        log.collect([sender])
    })?;
    sent.into_iter().collect::<Result<()>>()?;
    let half_cpu = memory::process_time();
    let taken = outercore_storage::threads::at_once(THREADS, |thread| {
        let (mut taken, mut sums) = (0, 0u64);
        for part in (thread..PARTS as usize).step_by(THREADS) {
            taken += log.drain(part, |number, _| sums = sums.wrapping_add(number))?[0];
        }
        std::hint::black_box(sums);
        Ok(taken)
    })?;
    let taken = taken.into_iter().sum::<Result<u64>>()?;
    let (all, all_cpu) = (begun.elapsed(), memory::process_time());
    let nanos = |time: std::time::Duration| time.as_nanos() as f64 / records as f64;
    println!(
        "  {what:24} {:.1} ns of processors a record sent ({:.1} sending, {:.1} taking); {:.2} s; \
         {:.0} % taken; {} MB written",
        nanos(all_cpu - cpu),
        nanos(half_cpu - cpu),
        nanos(all_cpu - half_cpu),
        all.as_secs_f64(),
        100.0 * taken as f64 / records as f64,
        disk.counters().bytes_written.load(std::sync::atomic::Ordering::Relaxed) / 1_000_000,
    );
    Ok(())
}
