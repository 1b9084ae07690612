//! Sections of numbers, read into memory as a whole or in part.

use std::{
    collections::BTreeMap,
    ops::Range,
    sync::{Mutex, atomic::Ordering::Relaxed},
};

use outercore_graph::{GraphError, Result};
use outercore_storage::{HugeVec, PAGE, Pod, lock};

use super::piece_stream::{Piece, on_workers};
use crate::session::{OpenSection, Session};

const SIZE: u64 = PAGE as u64;

/// Reads entries `range` of a section of little-endian numbers into memory, in parallel and
/// verified.
pub(crate) fn load_range<T: Pod + bytemuck::Pod + Send>(
    session: &Session,
    section: &OpenSection,
    range: Range<u64>,
) -> Result<HugeVec<T>> {
    let mut table: HugeVec<T> = session.zeroed(range.end - range.start)?;
    for_each_part(session, section, range.start, &mut table, |_, into, part| {
        into.copy_from_slice(part);
    })?;
    Ok(table)
}

/// Shows entries of a section of little-endian numbers from `first` on, verified, to the workers:
/// the number of the first one of a part, the items of `into` that are to be made of the part, one
/// for each entry, and the part.
pub(crate) fn for_each_part<T: bytemuck::Pod, U: Send>(
    session: &Session,
    section: &OpenSection,
    first: u64,
    into: &mut [U],
    show: impl Fn(u64, &mut [U], &[T]) + Sync,
) -> Result<()> {
    let size = size_of::<T>() as u64;
    let needed = (first + into.len() as u64) * size;
    if section.bytes < needed {
        let what = format!("it has {} bytes where {needed} are needed", section.bytes);
        return Err(GraphError::Corrupt { path: section.path().to_owned(), what });
    }
    let parts = Mutex::new(cut::<T, U>(session, first, into));
    on_workers(
        session,
        section,
        None,
        |_| (),
        |stream, ()| {
            let more = |_| {
                let (first, into) = lock(&parts).next()?;
                let lead = (first * size) % PAGE as u64;
                let place = (first * size - lead, (lead + into.len() as u64 * size) as usize);
                Some([Part { first, into, lead: lead as usize, place }])
            };
            let each = |Part { first, into, lead, .. }: Part<U>, bytes: &[u8]| {
                show(first, into, bytemuck::cast_slice(&bytes[lead..]));
            };
            stream.run(more, each)
        },
    )?;
    Ok(())
}

/// A part of a table, and what is made of it.
struct Part<'t, U> {
    /// Its first entry.
    first: u64,
    into: &'t mut [U],
    /// Where that begins in the first page.
    lead: usize,
    place: (u64, usize),
}

impl<U> Piece for Part<'_, U> {
    fn place(&self) -> (u64, usize) {
        self.place
    }
}

/// A section of little-endian numbers that workers read part by part. The page in which one part
/// ends and the next one begins is kept by the first to read it, and taken by the other.
pub(crate) struct Parted<'s> {
    session: &'s Session<'s>,
    section: OpenSection,
    shared: Mutex<BTreeMap<u64, Vec<u8>>>,
}

impl<'s> Parted<'s> {
    /// Nothing is read yet.
    pub(crate) fn new(session: &'s Session<'s>, section: OpenSection) -> Self {
        Self { session, section, shared: Mutex::default() }
    }

    /// Reads entries from `first` on, verified, on this worker.
    pub(crate) fn load<T: Pod + bytemuck::Pod>(
        &self,
        worker: usize,
        first: u64,
        into: &mut [T],
    ) -> Result<()> {
        cut::<T, T>(self.session, first, into).try_for_each(|(first, part)| {
            self.session.check()?;
            self.read(worker, first * size_of::<T>() as u64, bytemuck::cast_slice_mut(part))
        })
    }

    fn read(&self, worker: usize, mut start: u64, mut bytes: &mut [u8]) -> Result<()> {
        self.session.counters.useful_bytes.fetch_add(bytes.len() as u64, Relaxed);
        let lead = (start % SIZE) as usize;
        if lead > 0 {
            let there = bytes.split_off_mut(..bytes.len().min(PAGE - lead)).unwrap_or_default();
            let page = self.page(worker, start / SIZE)?;
            there.copy_from_slice(&page[lead..lead + there.len()]);
            start += there.len() as u64;
        }
        let whole = bytes.len() / PAGE * PAGE;
        if let Some(there) = bytes.split_off_mut(whole..).filter(|there| !there.is_empty()) {
            let page = self.page(worker, (start + whole as u64) / SIZE)?;
            there.copy_from_slice(&page[..there.len()]);
        }
        if whole == 0 {
            return Ok(());
        }
        let reader = &mut self.session.reader(worker);
        self.section.fetch(reader, start, whole, |content| bytes.copy_from_slice(content))
    }

    /// A page in which a part begins or ends.
    fn page(&self, worker: usize, page: u64) -> Result<Vec<u8>> {
        let mut shared = lock(&self.shared);
        if let Some(content) = shared.remove(&page) {
            return Ok(content);
        }
        let mut content = Vec::new();
        let take = |read: &[u8]| content.extend_from_slice(read);
        self.section.fetch(&mut self.session.reader(worker), page * SIZE, PAGE, take)?;
        shared.insert(page, content.clone());
        Ok(content)
    }
}

/// Cuts items, one for each of a table's entries from `first` on, into parts, whose entries are at
/// most a buffer of whole pages; those of all but the first begin a page.
fn cut<'t, T, U>(
    session: &Session,
    mut first: u64,
    mut entries: &'t mut [U],
) -> impl Iterator<Item = (u64, &'t mut [U])> {
    let (page, most) = (PAGE / size_of::<T>(), session.buffer_bytes / PAGE);
    std::iter::from_fn(move || {
        let len = (page * most - first as usize % page).min(entries.len());
        let part = (first, entries.split_off_mut(..len).filter(|part| !part.is_empty())?);
        first += len as u64;
        Some(part)
    })
}

/// Reads some bytes of a section, at most a buffer of whole pages, verified, on this worker, and
/// shows them to `take`: through a buffer, because their ends are not whole pages.
pub(super) fn fetch(
    session: &Session,
    worker: usize,
    section: &OpenSection,
    Range { start, end }: Range<u64>,
    take: impl FnOnce(&[u8]),
) -> Result<()> {
    session.counters.useful_bytes.fetch_add(end - start, Relaxed);
    let first = start / PAGE as u64 * PAGE as u64;
    let (lead, until) = ((start - first) as usize, (end - first) as usize);
    let take = |content: &[u8]| take(&content[lead..until]);
    section.fetch(&mut session.reader(worker), first, until.next_multiple_of(PAGE), take)
}
