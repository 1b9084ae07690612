//! [`Rows`]: the lists of one direction, and where each vertex's list lies.

use std::{
    ops::{Deref, Range},
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

use outercore_caches::Prefix;
use outercore_graph::{
    Graph, Result,
    format::{Degrees, Group, INDEX_GROUP, List, RowIndex},
};
use outercore_storage::PAGE;

use super::{
    degrees,
    table::{for_each_part, load_range},
};
use crate::{
    session::{OpenSection, Session},
    techniques::Technique,
};

/// Bytes of lists that a device reads in the time of a few requests one after the other.
pub const SMALL: u64 = 4 << 20;

/// The same in the time of one request that a step waits for.
const WAIT: u64 = SMALL / 16;

/// The rows of one direction.
pub struct Rows {
    index: RowIndex,
    /// Degrees and index on storage.
    tables: [OpenSection; 2],
    /// Bytes of a neighbor.
    pub width: usize,
    /// Bytes of a weight; 0: not read.
    pub weight_width: usize,
    /// The neighbors, and the weights if they are read.
    pub(super) lists: Vec<OpenSection>,
    /// Lists that stay in memory.
    pub prefix: Prefix,
    /// In how many steps workers waited for lists.
    pub(super) waits: AtomicU64,
}

/// Rows are looked up as their index is.
impl Deref for Rows {
    type Target = RowIndex;

    fn deref(&self) -> &RowIndex {
        &self.index
    }
}

impl Rows {
    /// The sections that must be opened for lists whose names begin with `prefix`, in this order;
    /// the last one only with weights.
    pub(crate) fn sections(prefix: &str, weights: bool) -> Vec<String> {
        let parts = &["degrees", "index", "adjacency", "weights"][..3 + usize::from(weights)];
        parts.iter().map(|part| format!("{prefix}.{part}")).collect()
    }

    /// Bytes of memory beside caches and checksums of rows whose window has `vertices`.
    pub(crate) fn index_bytes(vertices: u64) -> u64 {
        vertices * 4 + vertices / INDEX_GROUP * 8 + 16
    }

    /// Bytes of memory of an index of all vertices with degrees of about one byte, unless that
    /// would be more.
    pub(crate) fn small_bytes(graph: &Graph) -> Result<u64> {
        let vertices = graph.connected();
        Ok(Degrees::narrow_bytes(graph)? + vertices / INDEX_GROUP * 8 + 16)
    }

    /// Loads degrees and index; `small`: with degrees of about one byte, unless that would be more.
    /// `cache` bytes are for the front of the adjacency (and of the weights, in proportion).
    pub(crate) fn load(
        session: &Session,
        sections: Vec<OpenSection>,
        cache: u64,
        small: bool,
    ) -> Result<Self> {
        let mut rows = Self::sliding(session, sections, cache)?;
        let (graph, all) = (session.graph, 0..session.graph.connected());
        if small && Degrees::narrow_bytes(graph)? < all.end * 4 {
            let degrees = degrees::narrow(session, &rows.tables[0])?;
            rows.set_index(session, degrees, all)?;
        } else {
            rows.slide(session, all)?;
        }
        Ok(rows)
    }

    /// Reads lists of at most so many bytes that stay in memory at once, for what wants most of
    /// them: to wait for each page would take far longer.
    pub fn keep(&self, session: &Session, most: u64) -> Result<()> {
        for (list, front) in self.lists.iter().zip(&self.prefix.0) {
            let all = 0..list.pages();
            if front.size() == all.end && list.bytes <= most && front.get(&all).is_none() {
                let mut entries = vec![(); list.bytes as usize];
                for_each_part(session, list, 0, &mut entries, |first, _, part| {
                    front.put(first / PAGE as u64, part);
                })?;
            }
        }
        Ok(())
    }

    /// The same before a step, once steps have waited for single lists as long as that takes: it
    /// costs at most twice what the better way would have. Searches that wait so often for more
    /// bytes than these are better off without levels.
    pub(super) fn keep_if_worth(&self, session: &Session) -> Result<()> {
        let worth = self.waits.load(Relaxed) * WAIT;
        if worth > self.lists.iter().map(|list| list.bytes).sum() {
            self.waits.store(0, Relaxed);
            self.keep(session, worth.min(4 * SMALL))?;
        }
        Ok(())
    }

    /// Rows whose window is empty, to be slid. `cache` is as in [`Rows::load`].
    pub(crate) fn sliding(
        session: &Session,
        mut sections: Vec<OpenSection>,
        cache: u64,
    ) -> Result<Self> {
        let lists = sections.split_off(2);
        let manifest = session.graph.manifest();
        let mut rows = Self {
            index: RowIndex::none()?,
            tables: sections.try_into().ok().expect("two left"),
            width: manifest.neighbor_bytes as usize,
            weight_width: if lists.len() > 1 { manifest.weight_bytes as usize } else { 0 },
            prefix: Prefix::default(),
            lists,
            waits: AtomicU64::new(0),
        };
        rows.make_room(session, cache)?;
        Ok(rows)
    }

    /// Makes room of so many bytes for the front of the lists.
    pub(crate) fn make_room(&mut self, session: &Session, cache: u64) -> Result<()> {
        let cache = if session.pages.is_some() { 0 } else { cache };
        let widths = [self.width, self.weight_width];
        let files = self.lists.iter().map(|list| list.pages()).zip(widths);
        self.prefix.make_room(cache, files, session.config.huge_pages.for_streams())
    }

    /// Brings degrees and index of `window` into memory, in the place of those before; it begins a
    /// group of 64.
    pub(crate) fn slide(&mut self, session: &Session, window: Range<u64>) -> Result<()> {
        if self.window == window {
            return Ok(());
        }
        assert_eq!(window.start % INDEX_GROUP, 0, "a window begins a group");
        // What is no longer needed goes first: the old window and the new one are never in memory
        // together.
        self.index = RowIndex::none()?;
        let degrees = load_range(session, &self.tables[0], window.clone())?;
        self.set_index(session, Degrees::Wide(window.start, degrees), window)
    }

    /// Loads the index of `window`, which has these degrees.
    fn set_index(&mut self, session: &Session, degrees: Degrees, window: Range<u64>) -> Result<()> {
        let groups = window.start / INDEX_GROUP..window.end.div_ceil(INDEX_GROUP) + 1;
        let offsets = load_range(session, &self.tables[1], groups)?;
        self.index = RowIndex { degrees, offsets, window };
        Ok(())
    }

    /// Shows lists of some groups, of which memory has all.
    pub(crate) fn show(
        &self,
        session: &Session,
        all: List,
        groups: impl Iterator<Item = Group>,
        mut compute: impl FnMut(u64, List),
    ) {
        let mut edges = 0;
        for group in groups.filter(|(_, bits)| *bits != 0) {
            self.for_lists(group, |vertex, first, count| {
                edges += count;
                compute(vertex, all.part(first, count));
            });
            if group.0 % 4096 == 0 && session.stopped() {
                break;
            }
        }
        let bytes = edges * self.width as u64;
        session.counters.note(Technique::ListCache, [bytes.div_ceil(PAGE as u64), bytes]);
        session.workers.worked(edges);
    }

    /// Bytes of the lists that stay in memory once they have been read.
    pub(crate) fn held_bytes(&self) -> u64 {
        self.prefix.0[0].size() * PAGE as u64
    }
}
