use super::*;
use crate::checksum::PageSums;
use crate::fault::{Fault, FaultPlan};
use crate::stripe::StripedFile;
use std::sync::Arc;
use std::time::Duration;

fn bytes(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i * 7 + i / 4096 + i / 251) as u8).collect()
}

fn paths(dir: &Path, files: usize) -> (Vec<PathBuf>, PathBuf) {
    ((0..files).map(|i| dir.join(format!("section.{i}"))).collect(), dir.join("section.crc"))
}

/// Writes `content` in parts of different sizes, after three bytes and alignment to 100.
fn write(
    disk: &Disk,
    dir: &Path,
    files: usize,
    buffer: usize,
    content: &[u8],
) -> Result<SectionSummary> {
    let (files, sums) = paths(dir, files);
    let mut writer = SectionWriter::create(disk, &files, 2 * PAGE as u64, &sums, buffer)?;
    writer.write(b"abc")?;
    writer.align_to(100)?;
    let (mut rest, mut step) = (content, 1);
    while !rest.is_empty() {
        let (part, tail) = rest.split_at(step.min(rest.len()));
        writer.write(part)?;
        (rest, step) = (tail, step * 3);
    }
    assert_eq!(writer.position(), 100 + content.len() as u64);
    writer.finish()
}

fn check(disk: &Disk, dir: &Path, files: usize, summary: SectionSummary, content: &[u8]) {
    let (files, sums) = paths(dir, files);
    let section = StripedFile::open(disk, &files, 2 * PAGE as u64, summary.bytes).unwrap();
    let mut read = vec![1; summary.bytes.next_multiple_of(PAGE as u64) as usize];
    section.read_at(&mut read, 0).unwrap();
    assert_eq!((&read[..3], &read[3..100]), (&b"abc"[..], &[0; 97][..]));
    assert!(&read[100..100 + content.len()] == content);
    assert!(read[100 + content.len()..].iter().all(|&b| b == 0));
    let sums = PageSums::load(disk, &sums, summary.pages).unwrap();
    sums.verify(0, &read, &files[0]).unwrap();
    assert_eq!(sums.seal(), summary.sums_crc);
    let on_disk: u64 = files.iter().map(|path| std::fs::metadata(path).unwrap().len()).sum();
    assert_eq!(on_disk, read.len() as u64);
}

#[test]
fn what_was_written_can_be_read() {
    for (files, buffer, len) in [
        (1, 4096, 0),
        (1, 1, 3996),
        (1, 8192, 3997),
        (2, 4096, 50_000),
        (3, 20_000, 200_000),
        (1, 1 << 20, 5 << 20),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let (disk, content) = (Disk::new(), bytes(len));
        let summary = write(&disk, dir.path(), files, buffer, &content).unwrap();
        assert_eq!(
            (summary.bytes, summary.pages),
            (100 + len as u64, (100 + len as u64).div_ceil(4096))
        );
        check(&disk, dir.path(), files, summary, &content);
    }
}

#[test]
fn a_section_may_be_empty_or_large() {
    let dir = tempfile::tempdir().unwrap();
    let (files, sums) = paths(dir.path(), 1);
    let disk = Disk::new();
    let writer = SectionWriter::create(&disk, &files, 1 << 20, &sums, 1 << 20).unwrap();
    assert_eq!(writer.finish().unwrap(), SectionSummary { bytes: 0, pages: 0, sums_crc: 0 });
    assert!(matches!(
        SectionWriter::create(&disk, &files, 1 << 20, &sums, 1 << 20),
        Err(StorageError::Io { .. })
    ));

    // So many pages that the checksums do not fit into their buffer.
    let (dir, len) = (tempfile::tempdir().unwrap(), 80 << 20);
    let (files, sums) = paths(dir.path(), 1);
    let mut writer = SectionWriter::create(&disk, &files, 1 << 20, &sums, 1 << 20).unwrap();
    writer.write(&[1]).unwrap();
    writer.align_to(len).unwrap();
    writer.write(&[1]).unwrap();
    writer.align_to(len).unwrap();
    let summary = writer.finish().unwrap();
    assert_eq!(summary.bytes, 2 * len as u64);
    assert_eq!(PageSums::load(&disk, &sums, summary.pages).unwrap().seal(), summary.sums_crc);
}

#[test]
fn an_abandoned_writer_ends_its_thread() {
    let dir = tempfile::tempdir().unwrap();
    let (files, sums) = paths(dir.path(), 1);
    let mut writer = SectionWriter::create(&Disk::new(), &files, 1 << 20, &sums, 4096).unwrap();
    writer.write(&bytes(30_000)).unwrap();
    drop(writer);
}

#[test]
fn every_operation_may_fail() {
    let content = bytes(40_000);
    let attempt = |plan: FaultPlan| {
        let (dir, plan) = (tempfile::tempdir().unwrap(), Arc::new(plan));
        let done = write(&Disk::with_faults(plan.clone()), dir.path(), 2, 8192, &content);
        if let Ok(summary) = &done {
            check(&Disk::new(), dir.path(), 2, *summary, &content);
        }
        (done, plan.operations())
    };
    let operations = attempt(FaultPlan::count_only()).1;
    assert!(operations > 10);
    for n in 0..operations {
        assert!(
            matches!(
                attempt(FaultPlan::nth(n, Fault::Error(libc::EIO))).0,
                Err(StorageError::Io { .. })
            ),
            "{n}"
        );
        assert!(
            matches!(
                attempt(FaultPlan::from(n, Fault::Error(libc::ENOSPC))).0,
                Err(StorageError::Full { .. })
            ),
            "{n}"
        );
        attempt(FaultPlan::nth(n, Fault::Short)).0.unwrap();
        attempt(FaultPlan::nth(n, Fault::Stall(Duration::from_millis(1)))).0.unwrap();
        match attempt(FaultPlan::nth(n, Fault::Interrupted)).0 {
            Ok(_) => {}
            Err(StorageError::Io { operation: "sync", .. }) => {}
            Err(error) => panic!("{n}: {error}"),
        }
    }
    attempt(FaultPlan::from(0, Fault::Short)).0.unwrap();
}

#[test]
fn an_error_stays() {
    let dir = tempfile::tempdir().unwrap();
    let (files, sums) = paths(dir.path(), 1);
    let plan = Arc::new(FaultPlan::nth(2, Fault::Error(libc::EIO)));
    let mut writer =
        SectionWriter::create(&Disk::with_faults(plan), &files, 1 << 20, &sums, 4096).unwrap();
    let first = (0..100)
        .find_map(|_| writer.write(&[0; 4096]).err())
        .expect("the first write of a page fails");
    assert_eq!(writer.write(&[0]).unwrap_err().to_string(), first.to_string());
    assert_eq!(
        writer.align_to(512).and(Err::<(), _>(first)).unwrap_err().to_string(),
        writer.finish().unwrap_err().to_string()
    );
}
