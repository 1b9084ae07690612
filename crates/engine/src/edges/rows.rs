//! [`Rows`]: the lists of one direction, and where each vertex's list lies.

use std::ops::{Deref, Range};

use outercore_graph::{Direction, Graph, format::INDEX_GROUP};
use outercore_storage::{HugeVec, PAGE};

use super::{
    cache::prefix::{Prefix, PrefixCache},
    degrees::Degrees,
    row_index::RowIndex,
};
use crate::{
    error::{EngineError, Result},
    session::{OpenSection, Session},
};

/// The rows of one direction.
pub struct Rows {
    index: RowIndex,
    /// Degrees and index on storage, where the window slides.
    tables: Option<[OpenSection; 2]>,
    /// Bytes of a neighbor.
    pub width: usize,
    /// Bytes of a weight; 0: not read.
    pub weight_width: usize,
    pub(super) adjacency: OpenSection,
    pub(super) weights: Option<OpenSection>,
    /// Lists that stay in memory.
    pub(super) prefix: Prefix,
}

/// Rows are looked up as their index is.
impl Deref for Rows {
    type Target = RowIndex;

    fn deref(&self) -> &RowIndex {
        &self.index
    }
}

impl Rows {
    /// The sections that must be opened for these rows, in this order; the last one only with
    /// weights.
    pub fn sections(direction: Direction, weights: bool) -> Vec<String> {
        Self::sections_of(direction.name(), weights)
    }

    /// The same for lists whose names begin with `prefix`.
    pub fn sections_of(prefix: &str, weights: bool) -> Vec<String> {
        let parts: &[&str] = if weights {
            &["degrees", "index", "adjacency", "weights"]
        } else {
            &["degrees", "index", "adjacency"]
        };
        parts.iter().map(|part| format!("{prefix}.{part}")).collect()
    }

    /// Bytes of memory beside caches and checksums.
    pub fn index_bytes(graph: &Graph) -> u64 {
        graph.connected() * 4 + graph.connected() / INDEX_GROUP * 8 + 16
    }

    /// Bytes of memory beside caches and checksums of rows whose window has `vertices`.
    pub fn window_bytes(vertices: u64) -> u64 {
        vertices * 4 + vertices / INDEX_GROUP * 8 + 16
    }

    /// Loads degrees and index. `cache` bytes are for the front of the adjacency (and of the
    /// weights, in proportion).
    pub fn load(session: &Session, sections: Vec<OpenSection>, cache: u64) -> Result<Self> {
        let mut rows = Self::sliding(session, sections, cache)?;
        rows.slide(session, 0..session.graph.connected())?;
        rows.tables = None;
        Ok(rows)
    }

    /// The same with degrees of about one byte.
    pub fn load_narrow(session: &Session, sections: Vec<OpenSection>, cache: u64) -> Result<Self> {
        let mut rows = Self::sliding(session, sections, cache)?;
        let [degrees, index] = rows.tables.take().expect("just made");
        let vertices = session.graph.connected();
        let degrees = Degrees::narrow(session, &degrees)?;
        let offsets = load_range(session, &index, 0..vertices.div_ceil(INDEX_GROUP) + 1)?;
        rows.index = RowIndex::new(degrees, offsets, 0..vertices);
        Ok(rows)
    }

    /// Rows whose window is empty, to be slid. `cache` is as in [`Rows::load`].
    pub fn sliding(session: &Session, sections: Vec<OpenSection>, cache: u64) -> Result<Self> {
        let mut sections = sections.into_iter();
        let mut next = || {
            sections
                .next()
                .ok_or_else(|| EngineError::Usage("the rows' sections were not opened".to_owned()))
        };
        let (degrees, index, adjacency) = (next()?, next()?, next()?);
        let weights = next().ok();
        let manifest = session.graph.manifest();
        let huge = session.config.huge_pages;
        let total = adjacency.bytes + weights.as_ref().map_or(0, |weights| weights.bytes);
        let share = |section: &OpenSection, width: u64| -> Result<PrefixCache> {
            let bytes =
                (u128::from(cache) * u128::from(section.bytes) / u128::from(total.max(1))) as u64;
            PrefixCache::new(
                (bytes / PrefixCache::PAGE_COST).min(section.pages()),
                width,
                huge.for_streams(),
            )
        };
        let (width, weight_width) = (manifest.neighbor_bytes, manifest.weight_bytes);
        let prefix = Prefix {
            neighbors: share(&adjacency, width.into())?,
            weights: weights
                .as_ref()
                .map(|weights| share(weights, weight_width.into()))
                .transpose()?,
        };
        Ok(Self {
            index: RowIndex::none()?,
            tables: Some([degrees, index]),
            width: width as usize,
            weight_width: if weights.is_some() { weight_width as usize } else { 0 },
            adjacency,
            weights,
            prefix,
        })
    }

    /// Brings degrees and index of `window` into memory, in the place of those before; it begins a
    /// group of 64.
    ///
    /// # Panics
    /// If these rows do not slide.
    pub fn slide(&mut self, session: &Session, window: Range<u64>) -> Result<()> {
        let [degrees, index] = self.tables.as_ref().expect("only rows that slide are slid");
        assert_eq!(window.start % INDEX_GROUP, 0, "a window begins a group");
        let groups = window.start / INDEX_GROUP..window.end.div_ceil(INDEX_GROUP) + 1;
        // What is no longer needed goes first: the old window and the new one are never in memory
        // together.
        self.index = RowIndex::none()?;
        let degrees = Degrees::Wide(window.start, load_range(session, degrees, window.clone())?);
        let offsets = load_range(session, index, groups)?;
        self.index = RowIndex::new(degrees, offsets, window);
        Ok(())
    }

    /// Bytes of the lists that stay in memory once they have been read.
    pub fn held_bytes(&self) -> u64 {
        self.prefix.neighbors.len() * PAGE as u64
    }
}

/// The mean of the first weights of the rows: they belong to the hubs, and stand for all.
pub fn mean_weight(graph: &Graph) -> Result<f64> {
    let weights = graph.table("out.weights")?;
    let width = graph.manifest().weight_bytes as usize;
    let len = weights.section.bytes.min(1 << 16) as usize / width * width;
    let bytes = weights.read(0, len)?;
    let weights = bytes.chunks_exact(width).map(|weight| {
        let mut bits = [0; 8];
        bits[..width].copy_from_slice(weight);
        graph.weights().value(u64::from_le_bytes(bits))
    });
    Ok(weights.sum::<f64>() / (len / width).max(1) as f64)
}

/// Reads a section of little-endian numbers into memory, in parallel and verified.
pub fn load_table<T: outercore_storage::Pod + bytemuck::Pod>(
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
pub fn load_range<T: outercore_storage::Pod + bytemuck::Pod>(
    session: &Session,
    section: &OpenSection,
    range: Range<u64>,
) -> Result<HugeVec<T>> {
    let size = size_of::<T>() as u64;
    if section.bytes < range.end * size {
        let what = format!("it has {} bytes where {} are needed", section.bytes, range.end * size);
        return Err(
            outercore_graph::GraphError::Corrupt { path: section.path().to_owned(), what }.into()
        );
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

/// Cuts the bytes from `offset` on into parts, each of which is at most a buffer of whole pages;
/// all but the first begin a page.
fn cut(mut bytes: &mut [u8], mut offset: u64, buffer: usize) -> Vec<std::sync::Mutex<Part<'_>>> {
    let mut parts = Vec::new();
    while !bytes.is_empty() {
        let lead = (offset % PAGE as u64) as usize;
        let (part, rest) = bytes.split_at_mut((buffer / PAGE * PAGE - lead).min(bytes.len()));
        let len = part.len() as u64;
        parts.push(std::sync::Mutex::new((offset, part)));
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
    session
        .counters
        .useful_bytes
        .fetch_add(bytes.len() as u64, std::sync::atomic::Ordering::Relaxed);
    reader.fetch(&session.counters, section, first, len, |content| {
        bytes.copy_from_slice(&content[lead..lead + bytes.len()])
    })
}
