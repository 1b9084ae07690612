//! Sections of numbers, read into memory as a whole or in part.

use std::{
    collections::BTreeMap,
    ops::Range,
    sync::{Mutex, atomic::Ordering::Relaxed},
};

use outercore_graph::{GraphError, Result, format::Piece};
use outercore_storage::{HugeVec, PAGE, Pod, lock};

use super::piece_stream::on_workers;
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
                let lead = (first * size) % SIZE;
                let place = (first * size - lead, (lead + into.len() as u64 * size) as usize);
                Some([TablePart { first, into, lead: lead as usize, place }])
            };
            let each = |TablePart { first, into, lead, .. }: TablePart<U>, bytes: &[u8]| {
                show(first, into, bytemuck::cast_slice(&bytes[lead..]));
            };
            stream.run(more, each)
        },
    )?;
    Ok(())
}

/// A part of a table, and what is made of it.
struct TablePart<'t, U> {
    /// Its first entry.
    first: u64,
    into: &'t mut [U],
    /// Where that begins in the first page.
    lead: usize,
    place: (u64, usize),
}

impl<U> Piece for TablePart<'_, U> {
    fn place(&self) -> (u64, usize) {
        self.place
    }
}

/// A section of little-endian numbers that workers read part by part. A page in which parts meet is
/// kept, with how much of it is not taken yet, until all of them have theirs.
pub(crate) struct Parted<'s> {
    session: &'s Session<'s>,
    section: OpenSection,
    shared: Mutex<BTreeMap<u64, (usize, Vec<u8>)>>,
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
        let lead = start.next_multiple_of(SIZE) - start;
        let lead = bytes.split_off_mut(..bytes.len().min(lead as usize)).unwrap_or_default();
        self.read_end(worker, start, lead)?;
        start += lead.len() as u64;
        let whole = bytes.len() / PAGE * PAGE;
        let tail = bytes.split_off_mut(whole..).unwrap_or_default();
        self.read_end(worker, start + whole as u64, tail)?;
        if whole == 0 {
            return Ok(());
        }
        let reader = &mut self.session.reader(worker);
        self.section.fetch(reader, start, whole, |content| bytes.copy_from_slice(content))
    }

    /// Reads what a part has of a page in which it begins or ends.
    fn read_end(&self, worker: usize, start: u64, into: &mut [u8]) -> Result<()> {
        if into.is_empty() {
            return Ok(());
        }
        let mut shared = lock(&self.shared);
        let page = start / SIZE * SIZE;
        let (left, content) = match shared.remove(&page) {
            Some(kept) => kept,
            None => {
                let mut content = Vec::new();
                let reader = &mut self.session.reader(worker);
                self.section.fetch(reader, page, PAGE, |read| content.extend(read))?;
                (PAGE, content)
            }
        };
        into.copy_from_slice(&content[(start - page) as usize..][..into.len()]);
        if left > into.len() {
            shared.insert(page, (left - into.len(), content));
        }
        Ok(())
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
