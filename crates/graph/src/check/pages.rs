//! Every page of a section against its checksum, by several threads: while some compare, the others
//! wait for the device.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use outercore_storage::{Arena, Disk, HugePages, PAGE, PageSums, memory::cores, page_sum, threads};

use super::Fault;
use crate::{
    build::BuildProgress,
    error::{GraphError, Result},
    graph::SectionFile,
};

/// Bytes read at once.
const BATCH: u64 = 1 << 20;
/// After so many damaged pages of one section the rest are only counted.
const MOST: usize = 16;

/// A section's length, its checksums, its pages.
pub fn check_section(
    disk: &Disk,
    section: &SectionFile,
    progress: &dyn BuildProgress,
    faults: &mut Vec<Fault>,
) -> Result<()> {
    let Some(sums) = sums_of(section, disk, faults)? else { return Ok(()) };
    let expected: u64 = section.pages() * PAGE as u64;
    let actual: u64 =
        section.file.files().iter().map(|file| file.len()).sum::<std::result::Result<u64, _>>()?;
    if actual != expected {
        faults.push(Fault {
            path: section.path().to_owned(),
            what: format!("it has {actual} bytes instead of {expected}"),
        });
    }
    let (pages, damaged) = damaged_pages(section, &sums, progress)?;
    faults.extend(pages.iter().map(|&number| {
        let (path, page) = section.place(number);
        Fault {
            path: path.to_owned(),
            what: format!("page {page} of section {} does not match its checksum", section.name),
        }
    }));
    if damaged > pages.len() as u64 {
        faults.push(Fault {
            path: section.path().to_owned(),
            what: format!(
                "{} more pages of section {} do not match",
                damaged - pages.len() as u64,
                section.name
            ),
        });
    }
    Ok(())
}

/// The checksums of a section, if they are sound.
fn sums_of(
    section: &SectionFile,
    disk: &Disk,
    faults: &mut Vec<Fault>,
) -> Result<Option<PageSums>> {
    let fault = match section.sums(disk) {
        Ok(sums) => return Ok(Some(sums)),
        Err(GraphError::Corrupt { path, what }) => Fault { path, what },
        Err(error) => return Err(error),
    };
    faults.push(fault);
    Ok(None)
}

/// The first damaged pages, and how many there are in all.
fn damaged_pages(
    section: &SectionFile,
    sums: &PageSums,
    progress: &dyn BuildProgress,
) -> Result<(Vec<u64>, u64)> {
    let batches = (section.pages() * PAGE as u64).div_ceil(BATCH);
    let (threads, next) = (batches.min(2 * cores() as u64), AtomicU64::new(0));
    let found = threads::at_once(threads as usize, |_| damaged_of(section, sums, progress, &next))?;
    let (mut pages, mut damaged) = (Vec::new(), 0);
    for part in found {
        let (some, count) = part?;
        pages.extend(some);
        damaged += count;
    }
    pages.sort_unstable();
    pages.truncate(MOST);
    Ok((pages, damaged))
}

/// The damaged pages that one thread finds, which takes batches until none is left.
fn damaged_of(
    section: &SectionFile,
    sums: &PageSums,
    progress: &dyn BuildProgress,
    next: &AtomicU64,
) -> Result<(Vec<u64>, u64)> {
    let total = section.pages() * PAGE as u64;
    let mut buffer = Arena::new(BATCH as usize, HugePages::Auto)?.buffer(0, BATCH as usize);
    // Batches ascend: the first ones of each thread are among the first of all.
    let (mut pages, mut damaged) = (Vec::new(), 0);
    loop {
        let offset = next.fetch_add(1, Relaxed) * BATCH;
        if offset >= total {
            return Ok((pages, damaged));
        }
        let bytes = &mut buffer[..(total - offset).min(BATCH) as usize];
        progress
            .check()
            .and_then(|()| Ok(section.file.read_at(bytes, offset)?))
            .inspect_err(|_| next.store(total, Relaxed))?;
        for (number, page) in (offset / PAGE as u64..).zip(bytes.chunks(PAGE)) {
            if sums.sums()[number as usize] != page_sum(page) {
                damaged += 1;
                if pages.len() < MOST {
                    pages.push(number);
                }
            }
        }
        progress.advance(bytes.len() as u64);
    }
}
