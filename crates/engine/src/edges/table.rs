//! Sections of numbers, read into memory as a whole or in part.

use std::{
    ops::Range,
    sync::{Mutex, atomic::Ordering::Relaxed},
};

use outercore_graph::GraphError;
use outercore_storage::{HugeVec, PAGE, Pod};

use crate::{
    error::Result,
    session::{OpenSection, Session},
};

/// Reads a section of little-endian numbers into memory, in parallel and verified.
pub(crate) fn load_table<T: Pod + bytemuck::Pod>(
    session: &Session,
    section: &OpenSection,
    len: usize,
) -> Result<HugeVec<T>> {
    load_range(session, section, 0..len as u64)
}

/// A part of a table on its way: where in the section it begins, and its memory.
type Part<'t> = (u64, &'t mut [u8]);

/// Reads entries `range` of a section of little-endian numbers into memory, in parallel and
/// verified.
pub(crate) fn load_range<T: Pod + bytemuck::Pod>(
    session: &Session,
    section: &OpenSection,
    range: Range<u64>,
) -> Result<HugeVec<T>> {
    let size = size_of::<T>() as u64;
    if section.bytes < range.end * size {
        let what = format!("it has {} bytes where {} are needed", section.bytes, range.end * size);
        return Err(GraphError::Corrupt { path: section.path().to_owned(), what }.into());
    }
    let mut table: HugeVec<T> =
        HugeVec::zeroed((range.end - range.start) as usize, session.config.huge_pages)?;
    let parts =
        cut(bytemuck::cast_slice_mut(&mut table), range.start * size, session.buffer_bytes());
    let results = session.workers.over(
        parts.len() as u64,
        1,
        |index| (index, Ok(())),
        |(worker, result): &mut (usize, Result<()>), range| {
            for part in range {
                let mut part = parts[part as usize].lock().expect("each part has one worker");
                if result.is_ok() {
                    *result = load_part(session, *worker, section, &mut part);
                }
            }
        },
    );
    results.into_iter().try_for_each(|(_, result)| result)?;
    Ok(table)
}

/// Reads entries of a section of little-endian numbers from `first` on, verified, on this worker.
pub(crate) fn load_here<T: Pod + bytemuck::Pod>(
    session: &Session,
    worker: usize,
    section: &OpenSection,
    first: u64,
    into: &mut [T],
) -> Result<()> {
    let offset = first * size_of::<T>() as u64;
    let parts = cut(bytemuck::cast_slice_mut(into), offset, session.buffer_bytes());
    parts.into_iter().try_for_each(|part| {
        let mut part = part.into_inner().expect("no holder panics");
        load_part(session, worker, section, &mut part)
    })
}

/// Cuts the bytes from `offset` on into parts, each of which is at most a buffer of whole pages;
/// all but the first begin a page.
fn cut(mut bytes: &mut [u8], mut offset: u64, buffer: usize) -> Vec<Mutex<Part<'_>>> {
    let mut parts = Vec::new();
    while !bytes.is_empty() {
        let lead = (offset % PAGE as u64) as usize;
        let (part, rest) = bytes.split_at_mut((buffer / PAGE * PAGE - lead).min(bytes.len()));
        let len = part.len() as u64;
        parts.push(Mutex::new((offset, part)));
        (bytes, offset) = (rest, offset + len);
    }
    parts
}

/// One part: through a buffer, because a table's ends are not whole pages.
fn load_part(
    session: &Session,
    worker: usize,
    section: &OpenSection,
    part: &mut Part,
) -> Result<()> {
    session.check()?;
    let mut reader = session.reader(worker);
    let (offset, bytes) = part;
    let lead = (*offset % PAGE as u64) as usize;
    let (first, len) = (*offset - lead as u64, (lead + bytes.len()).next_multiple_of(PAGE));
    session.counters.useful_bytes.fetch_add(bytes.len() as u64, Relaxed);
    reader.fetch(section, first, len, |content| {
        bytes.copy_from_slice(&content[lead..lead + bytes.len()])
    })
}
