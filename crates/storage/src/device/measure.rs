//! Timing reads.
//!
//! Memory: 36 MiB of buffers while measuring.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use super::{DevicePoint, DeviceProfile, Pattern, device_of};
use crate::PAGE;
use crate::arena::{Arena, Buffer, HugePages};
use crate::backend::{Completion, IoBackend, Queue, QueueOptions, ReadRequest, open_queue};
use crate::disk::{Disk, DiskFile};
use crate::error::{Result, StorageError};

/// Written at once when making the file to be read.
const WRITE_UNIT: usize = 8 << 20;

/// With less than this, a device's own cache would be measured.
const LEAST_BYTES: u64 = 64 << 20;

/// The largest product of request and depth.
const BUFFERS: usize = 32 << 20;

/// The buffers of ordinary pages, for comparison.
const ORDINARY: usize = 4 << 20;

const KIB: usize = 1 << 10;

/// What is timed in huge pages: the order, the request sizes and the depths. Streams are usually
/// fastest in the first row.
const GRID: [(Pattern, &[usize], &[usize]); 3] = [
    (Pattern::Sequential, &[512 * KIB, 768 * KIB, 1024 * KIB, 2048 * KIB], &[1, 2, 4, 8, 16]),
    (Pattern::Sequential, &[64 * KIB, 128 * KIB, 256 * KIB], &[1, 4, 16]),
    (Pattern::Random, &[4 * KIB, 16 * KIB, 64 * KIB], &[1, 8, 32, 128]),
];

/// How to measure.
#[derive(Clone, Debug)]
pub struct MeasureOptions {
    /// The size of the file to be written and read; less if the file system has little space left.
    pub bytes: u64,
    /// The time for one point.
    pub point: Duration,
    /// The time for another look at the best stream.
    pub best: Duration,
    /// How to read.
    pub backend: IoBackend,
}

impl Default for MeasureOptions {
    fn default() -> Self {
        let (point, best) = (Duration::from_millis(200), Duration::from_secs(1));
        MeasureOptions { bytes: 1 << 30, point, best, backend: IoBackend::Auto }
    }
}

/// Reads to be timed.
#[derive(Clone, Debug)]
pub struct Load {
    /// The order of the requests.
    pub pattern: Pattern,
    /// The size of each request, a multiple of [`PAGE`].
    pub request_bytes: usize,
    /// Requests in flight.
    pub depth: usize,
    /// For how long.
    pub time: Duration,
    /// How to read.
    pub backend: IoBackend,
    /// Where a sequential load starts; the seed of a random one.
    pub start: u64,
}

/// Measures the device of a folder, in about ten seconds, by means of a temporary file.
pub fn measure(disk: &Disk, dir: &Path, options: &MeasureOptions) -> Result<DeviceProfile> {
    let device = device_of(disk, dir)?;
    let file = Arc::new(incompressible_file(disk, dir, options.bytes)?);
    let load = |pattern, request_bytes, depth| Load {
        pattern,
        request_bytes,
        depth,
        time: options.point,
        backend: options.backend,
        start: 0,
    };
    let huge = touched_arena(BUFFERS, HugePages::Auto)?;
    let mut table = Vec::new();
    for (pattern, sizes, depths) in GRID {
        for (&size, &depth) in
            sizes.iter().flat_map(|size| depths.iter().map(move |depth| (size, depth)))
        {
            table.push(time_reads(disk, &file, &huge, &load(pattern, size, depth))?);
        }
    }
    let streams = table.iter().filter(|point| point.pattern == Pattern::Sequential);
    if let Some(best) = streams.max_by(|a, b| a.bytes_per_second.total_cmp(&b.bytes_per_second)) {
        let load = Load {
            time: options.best,
            ..load(best.pattern, best.request_bytes as usize, best.depth)
        };
        table.push(time_reads(disk, &file, &huge, &load)?);
    }
    drop(huge);
    let ordinary = touched_arena(ORDINARY, HugePages::Off)?;
    for depth in [1, 4] {
        table.push(time_reads(
            disk,
            &file,
            &ordinary,
            &load(Pattern::Sequential, 1024 * KIB, depth),
        )?);
    }
    let nothing = || {
        StorageError::io(
            "measurement",
            dir,
            0,
            std::io::Error::other("no read was answered in time"),
        )
    };
    let profile = DeviceProfile::of_table(table).ok_or_else(nothing)?;
    Ok(DeviceProfile { measured: utc(SystemTime::now()), device, ..profile })
}

/// A file that has no name, filled with bytes that no device can compress or share.
/// Smaller than `bytes` if that would take more than a quarter of the space left.
pub fn incompressible_file(disk: &Disk, dir: &Path, bytes: u64) -> Result<DiskFile> {
    let affordable = disk.free_space(dir)? / 4;
    let bytes = bytes.min(affordable) / WRITE_UNIT as u64 * WRITE_UNIT as u64;
    if bytes < LEAST_BYTES {
        let source = std::io::Error::from_raw_os_error(libc::ENOSPC);
        let path = dir.to_owned();
        return Err(StorageError::Full { path, needed: LEAST_BYTES * 4, source });
    }
    let file = disk.create_unnamed(dir, ".outercore-measure")?;
    let arena = Arena::new(WRITE_UNIT, HugePages::Auto)?;
    let mut buffer = arena.buffer(0, WRITE_UNIT);
    let mut random = Random(bytes ^ 0x9E37_79B9_7F4A_7C15);
    for offset in (0..bytes).step_by(WRITE_UNIT) {
        buffer
            .chunks_exact_mut(8)
            .for_each(|word| word.copy_from_slice(&random.next().to_le_bytes()));
        file.write_at(&buffer, offset)?;
    }
    file.sync()?;
    Ok(file)
}

/// Times one load on a file. The arena must have room for all requests in flight.
pub fn time_reads(
    disk: &Disk,
    file: &Arc<DiskFile>,
    arena: &Arc<Arena>,
    load: &Load,
) -> Result<DevicePoint> {
    let options = QueueOptions {
        backend: load.backend,
        depth: load.depth,
        registered: vec![Arc::clone(arena)],
    };
    let mut queue = open_queue(disk, &[Arc::clone(file)], &options)?;
    let mut offsets = Offsets::new(load, file.len()?);
    let mut done = Vec::new();
    let mut answered = 0_u64;
    let start = Instant::now();
    for slot in 0..load.depth {
        let buffer = arena.buffer(slot * load.request_bytes, load.request_bytes);
        submit(&mut *queue, buffer, load, offsets.next());
    }
    let elapsed = loop {
        queue.wait(1, &mut done)?;
        answered += done.len() as u64;
        let elapsed = start.elapsed();
        let enough = elapsed >= load.time;
        for Completion { buffer, result, .. } in done.drain(..) {
            result?;
            if !enough {
                submit(&mut *queue, buffer, load, offsets.next());
            }
        }
        if enough {
            break elapsed.as_secs_f64();
        }
    };
    // Whole numbers survive being written as text.
    let rate = |amount: u64| (amount as f64 / elapsed).round();
    let request_bytes = load.request_bytes as u64;
    Ok(DevicePoint {
        pattern: load.pattern,
        request_bytes,
        depth: load.depth,
        bytes_per_second: rate(answered * request_bytes),
        iops: rate(answered),
        huge_pages: arena.is_huge(),
    })
}

fn submit(queue: &mut dyn Queue, buffer: Buffer, load: &Load, offset: u64) {
    queue.submit(ReadRequest { file: 0, offset, buffer, len: load.request_bytes, tag: 0 });
}

/// An arena whose memory is there already, so that its arrival is not timed.
fn touched_arena(bytes: usize, huge: HugePages) -> Result<Arc<Arena>> {
    let arena = Arena::new(bytes, huge)?;
    arena.buffer(0, bytes).iter_mut().step_by(PAGE).for_each(|byte| *byte = 1);
    Ok(arena)
}

/// Where a load reads next.
struct Offsets {
    pattern: Pattern,
    unit: u64,
    /// Whole requests in the file.
    count: u64,
    next: u64,
    random: Random,
}

impl Offsets {
    fn new(load: &Load, len: u64) -> Self {
        let unit = load.request_bytes as u64;
        let count = (len / unit).max(1);
        let random = Random(load.start ^ 0xD1B5_4A32_D192_ED03);
        Offsets { pattern: load.pattern, unit, count, next: load.start / unit % count, random }
    }

    fn next(&mut self) -> u64 {
        let at = match self.pattern {
            Pattern::Sequential => self.next,
            Pattern::Random => self.random.next() % self.count,
        };
        self.next = (at + 1) % self.count;
        at * self.unit
    }
}

/// A xorshift generator: its output does not repeat within any file, and is made faster than a
/// device writes it.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

/// A moment in the form `2026-01-31T12:00:00Z`.
pub(super) fn utc(time: SystemTime) -> String {
    let seconds = time.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let (days, second) = (seconds / 86400, seconds % 86400);
    // Years are counted from March, so that the day that is sometimes there is the last; eras have
    // 400 years.
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}
