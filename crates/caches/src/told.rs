//! [`Told`]: what a plan says of the selection beside a graph.

use outercore_graph::Graph;
use outercore_storage::human_bytes;
use serde::Serialize;

use crate::sidecar::{About, Runs, path_of};

/// A head of a selection is shorter than that.
const HEAD: usize = 16 << 10;

/// The selection beside a graph.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Told {
    /// Where it lies.
    pub path: String,
    /// How lists were selected.
    pub select: String,
    /// Lists, of all directions, for searches.
    pub lists: u64,
    /// Their bytes, without weights.
    pub bytes: u64,
    /// Whether it was made for this very graph.
    pub is_current: bool,
    /// Whether the run uses it: it has a static cache.
    pub is_used: bool,
    /// Bytes that a sample search reads with a page cache alone, and beside as much of the
    /// selection as is worth it, in the same memory; none where that was not tried.
    pub searches: Option<[u64; 2]>,
    /// Searches on one opened graph after which loading is paid for, in bytes.
    pub paid_after: Option<u64>,
}

impl Told {
    /// Of a graph for which a selection was made. What is not readable as one is for the run to
    /// tell, if it has a static cache.
    pub fn of(graph: &Graph, is_used: bool) -> Option<Self> {
        let path = path_of(graph.path());
        let disk = graph.disk().counted_apart();
        let mut head = vec![0; HEAD];
        let read = disk.open_buffered(&path).and_then(|file| file.read_some_at(&mut head, 0));
        let about = About::begins(&head[..read.ok()?])?;
        let sides = about.sides.iter().filter(|side| side.runs == Runs::Search);
        let (lists, bytes) =
            sides.fold((0, 0), |sum, side| (sum.0 + side.lists, sum.1 + side.bytes[0]));
        // Searches are along the outgoing lists, and load these alone.
        let side = about.sides.first()?;
        let saved = side.searches.map(|[pages, lists]| pages.saturating_sub(lists));
        let loaded = side.bytes[0];
        Some(Self {
            path: path.display().to_string(),
            select: about.select,
            lists,
            bytes,
            is_current: about.graph == graph.manifest().uuid,
            is_used,
            searches: side.searches,
            paid_after: saved.filter(|&saved| saved > 0).map(|saved| loaded.div_ceil(saved)),
        })
    }
}

impl std::fmt::Display for Told {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (lists, bytes, select) = (self.lists, human_bytes(self.bytes), &self.select);
        let used = match (self.is_used, self.searches) {
            (true, Some([pages, with])) if with >= pages => "all is left to the page cache",
            (true, _) => "used",
            (false, _) => "--static-cache SIZE uses it",
        };
        let of = if self.is_current { "" } else { ", of an earlier version of the graph" };
        write!(f, "  selection          {lists} lists, {bytes}, by {select}{of}: {used}")?;
        let Some([pages, with]) = self.searches else { return Ok(()) };
        let gap = format!("\n{:21}", "");
        if with >= pages {
            return write!(f, "{gap}beside a page cache no lists are worth it, by sample searches");
        }
        let [pages, with] = [pages, with].map(human_bytes);
        write!(f, "{gap}a sample search reads {with} with it, {pages} with pages alone")?;
        let paid = self.paid_after.unwrap_or_default();
        write!(f, "{gap}loading is paid for after {paid} searches of one process")
    }
}
