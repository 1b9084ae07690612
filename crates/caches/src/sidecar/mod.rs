//! A selection of vertices in a file beside the graph, `web.oc.cache` of `web.oc`.
//!
//! Vertices are named by their original ids, so that a selection outlives a rebuild: internal ids
//! change with every one. Beside each id stands how many neighbors the vertex had, when it was
//! chosen, and the bytes of its list as it is packed: those hold for this very graph alone, as gaps
//! are between internal ids. A run with less memory than the selection takes what was chosen first.
//!
//! ```text
//! "OCCACHE2"  length of the head (u32)  the head (JSON)
//! for each direction, vertices in ascending order of their ids:
//!     ids (u64 each; names: their ends, u64 each, and their bytes)
//!     numbers of the choice (u32 each)   degrees (u32 each)   packed bytes (u32 each)
//! CRC-32C of all that (u32)
//! ```
//!
//! `save`: how it is written; `saved`: [`Saved`], how it is opened and trusted; `columns`: which of
//! its vertices a graph has.

mod columns;
mod save;
mod saved;

use std::path::{Path, PathBuf};

use outercore_graph::{Direction, Result};
use outercore_storage::{Disk, DiskFile, checksum::Running};
use serde::{Deserialize, Serialize};

pub(crate) use columns::Found;
pub(crate) use save::{Choice, save};
pub use saved::Saved;

/// What the file begins with.
const MAGIC: &[u8; 8] = b"OCCACHE2";
/// Vertices looked up at once.
const BATCH: usize = 1 << 16;
/// Bytes of a vertex without its name.
pub(crate) const EACH: usize = 8 + 3 * 4;
/// Bytes that are read of the file at once to check it.
const PIECE: u64 = 256 << 10;

/// What is known of a selection.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct About {
    /// The graph that it was made for.
    pub graph: String,
    /// Whether that has directed edges.
    pub directed: bool,
    /// Whether its original ids are names.
    pub names: bool,
    /// How vertices were selected.
    pub select: String,
    /// Bytes that were asked for.
    pub size: u64,
    /// The settings of the selection.
    pub settings: Vec<(String, String)>,
    /// Seconds that it took.
    pub seconds: f64,
    /// The directions.
    pub sides: Vec<Side>,
}

/// What a selection is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Runs {
    /// One search.
    #[default]
    Search,
    /// Many searches at once.
    Many,
    /// Runs that begin at all vertices, as labels that spread.
    Spreading,
}

impl Runs {
    /// Those that begin at so many vertices.
    pub(crate) fn that_begin_at(vertices: usize) -> Self {
        match vertices {
            0 | 1 => Self::Search,
            usize::MAX => Self::Spreading,
            _ => Self::Many,
        }
    }
}

/// What is known of one direction of a selection.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct Side {
    /// Whose lists they are.
    pub direction: Direction,
    /// What they are for.
    pub runs: Runs,
    /// Vertices.
    pub lists: u64,
    /// Bytes of their lists without weights, and of all lists of the direction.
    pub bytes: [u64; 2],
    /// Bytes of their lists as they are packed.
    pub packed: u64,
    /// Bytes of names.
    pub name_bytes: u64,
    /// Of the bytes that were asked for, those that are better spent on lists than on pages; none:
    /// all.
    #[serde(default)]
    pub worth: Option<u64>,
    /// Bytes that a sample search reads with pages alone, and with what is worth it.
    #[serde(default)]
    pub searches: Option<[u64; 2]>,
}

impl About {
    /// What the first bytes of a selection say; nothing, if they are of something else.
    pub(crate) fn begins(bytes: &[u8]) -> Option<Self> {
        let (magic, rest) = bytes.split_first_chunk::<8>()?;
        let (len, rest) = rest.split_first_chunk::<4>()?;
        let head = rest.get(..u32::from_le_bytes(*len) as usize)?;
        serde_json::from_slice(head).ok().filter(|_| magic == MAGIC)
    }
}

impl Side {
    /// Bytes of it in the file.
    fn len(&self) -> Option<u64> {
        self.lists.checked_mul(EACH as u64)?.checked_add(self.name_bytes)
    }
}

/// Where the selection of a graph lies.
pub fn path_of(graph: &Path) -> PathBuf {
    let real = std::fs::canonicalize(graph).unwrap_or(graph.to_owned());
    let mut name = real.file_name().unwrap_or_default().to_owned();
    name.push(".cache");
    real.with_file_name(name)
}

/// Whether there is a selection beside a graph.
pub fn is_saved(disk: &Disk, graph: &Path) -> Result<bool> {
    Ok(disk.exists(&path_of(graph))?)
}

/// The checksum of so many first bytes of a file.
fn sum_of(file: &DiskFile, end: u64) -> Result<u32> {
    let (mut sum, mut piece, mut at) = (Running::new(), vec![0; PIECE.min(end) as usize], 0);
    while at < end {
        let part = &mut piece[..(end - at).min(PIECE) as usize];
        file.read_at(part, at)?;
        sum.add(part);
        at += part.len() as u64;
    }
    Ok(sum.sum())
}
