//! [`Rows`]: the lists of one direction, and where each vertex's list lies.

use std::ops::{Deref, Range};

use outercore_graph::{Direction, Graph, format::INDEX_GROUP};
use outercore_storage::PAGE;

use super::{
    cache::prefix::{Prefix, PrefixCache},
    degrees::Degrees,
    row_index::RowIndex,
    table::load_range,
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
    pub(crate) fn sections(direction: Direction, weights: bool) -> Vec<String> {
        Self::sections_of(direction.name(), weights)
    }

    /// The same for lists whose names begin with `prefix`.
    pub(crate) fn sections_of(prefix: &str, weights: bool) -> Vec<String> {
        let parts: &[&str] = if weights {
            &["degrees", "index", "adjacency", "weights"]
        } else {
            &["degrees", "index", "adjacency"]
        };
        parts.iter().map(|part| format!("{prefix}.{part}")).collect()
    }

    /// Bytes of memory beside caches and checksums.
    pub(crate) fn index_bytes(graph: &Graph) -> u64 {
        graph.connected() * 4 + graph.connected() / INDEX_GROUP * 8 + 16
    }

    /// Bytes of memory beside caches and checksums of rows whose window has `vertices`.
    pub(crate) fn window_bytes(vertices: u64) -> u64 {
        vertices * 4 + vertices / INDEX_GROUP * 8 + 16
    }

    /// Loads degrees and index. `cache` bytes are for the front of the adjacency (and of the
    /// weights, in proportion).
    pub(crate) fn load(session: &Session, sections: Vec<OpenSection>, cache: u64) -> Result<Self> {
        let mut rows = Self::sliding(session, sections, cache)?;
        rows.slide(session, 0..session.graph.connected())?;
        rows.tables = None;
        Ok(rows)
    }

    /// The same with degrees of about one byte.
    pub(crate) fn load_narrow(
        session: &Session,
        sections: Vec<OpenSection>,
        cache: u64,
    ) -> Result<Self> {
        let mut rows = Self::sliding(session, sections, cache)?;
        let [degrees, index] = rows.tables.take().expect("just made");
        let vertices = session.graph.connected();
        let degrees = Degrees::narrow(session, &degrees)?;
        let offsets = load_range(session, &index, 0..vertices.div_ceil(INDEX_GROUP) + 1)?;
        rows.index = RowIndex::new(degrees, offsets, 0..vertices);
        Ok(rows)
    }

    /// Rows whose window is empty, to be slid. `cache` is as in [`Rows::load`].
    pub(crate) fn sliding(
        session: &Session,
        sections: Vec<OpenSection>,
        cache: u64,
    ) -> Result<Self> {
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
    pub(crate) fn slide(&mut self, session: &Session, window: Range<u64>) -> Result<()> {
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
    pub(crate) fn held_bytes(&self) -> u64 {
        self.prefix.neighbors.len() * PAGE as u64
    }
}

/// The mean of the first weights of the rows: they belong to the hubs, and stand for all.
pub(crate) fn mean_weight(graph: &Graph) -> Result<f64> {
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
