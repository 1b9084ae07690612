//! Prints how fast the device of a folder is read, by each backend and by one and two threads.
//!
//! `cargo run --release -p outercore-storage --example read_speed -- <folder> [GiB]`

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use outercore_storage::device::{
    Load, MeasureOptions, Pattern, incompressible_file, measure, time_reads,
};
use outercore_storage::{Arena, Disk, DiskFile, HugePages, IoBackend, Result};

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().unwrap_or_else(|| ".".into());
    let gib: u64 = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(1);
    let disk = Disk::new();
    let file = Arc::new(incompressible_file(&disk, Path::new(&folder), gib << 30)?);
    println!("backend   threads  request  depth      GB/s      IOPS");
    for kib in [512, 768, 1024] {
        for (threads, depth) in [(1, 1), (1, 2), (1, 4), (1, 8), (2, 1), (2, 2), (2, 4)] {
            row(&disk, &file, Pattern::Sequential, kib << 10, threads, depth, HugePages::Auto)?;
        }
    }
    println!("ordinary pages");
    row(&disk, &file, Pattern::Sequential, 1 << 20, 1, 4, HugePages::Off)?;
    println!("random");
    for (kib, threads, depth) in
        [(4, 1, 1), (4, 1, 16), (4, 1, 64), (4, 2, 64), (16, 1, 64), (64, 1, 16), (64, 1, 64)]
    {
        row(&disk, &file, Pattern::Random, kib << 10, threads, depth, HugePages::Auto)?;
    }
    drop(file);
    let start = std::time::Instant::now();
    let profile = measure(&disk, Path::new(&folder), &MeasureOptions::default())?;
    println!("profile, measured in {:.1} s:", start.elapsed().as_secs_f64());
    println!(
        "  {:.2} GB/s, {:.0} IOPS",
        profile.sequential_bytes_per_second / 1e9,
        profile.random_4k_iops
    );
    println!("  break-even {} bytes, device {}", profile.break_even_request_bytes, profile.device);
    println!("  best stream: {:?}", profile.best_stream());
    Ok(())
}

fn row(
    disk: &Disk,
    file: &Arc<DiskFile>,
    pattern: Pattern,
    request_bytes: usize,
    threads: usize,
    depth: usize,
    huge: HugePages,
) -> Result<()> {
    for (name, backend) in [("io_uring", IoBackend::Uring), ("blocking", IoBackend::Blocking)] {
        let points = std::thread::scope(|scope| {
            let start = |thread: usize| {
                scope.spawn(move || {
                    let arena = Arena::new(request_bytes * depth, huge)?;
                    arena.buffer(0, arena.len()).fill(1);
                    let start = file.len()? / threads as u64 * thread as u64;
                    let time = Duration::from_secs(1);
                    time_reads(
                        disk,
                        file,
                        &arena,
                        &Load { pattern, request_bytes, depth, time, backend, start },
                    )
                })
            };
            let workers: Vec<_> = (0..threads).map(start).collect();
            workers
                .into_iter()
                .map(|worker| worker.join().expect("no panic"))
                .collect::<Result<Vec<_>>>()
        })?;
        let rate: f64 = points.iter().map(|point| point.bytes_per_second).sum();
        let iops: f64 = points.iter().map(|point| point.iops).sum();
        let size = request_bytes >> 10;
        println!("{name:9} {threads:7} {size:7}K {depth:6} {:9.2} {iops:9.0}", rate / 1e9);
    }
    Ok(())
}
