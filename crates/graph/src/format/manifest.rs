//! The manifest: the root of a graph, a JSON object and a line with its CRC-32C.
//!
//! It names every section with its length and the CRC of its page checksums. So each page can be
//! verified from the manifest on.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use outercore_storage::{DirLock, Disk};
use serde::{Deserialize, Serialize};

use super::{Cells, Hybrid, MANIFEST, VERSION};
use crate::{
    error::{GraphError, Result, of_part, refuse},
    order::Order,
    types::{GridPartition, Layout, WeightKind},
};

/// One section: a logical file, whole or striped.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub struct SectionEntry {
    /// Its name, `out.adjacency` say; the file's name too.
    pub name: String,
    /// Its length in bytes; the file is padded with zeros to a whole page.
    pub bytes: u64,
    /// CRC-32C of its `.crc` file.
    pub sums_crc: u32,
    /// Whether it is spread over the stripe directories.
    pub striped: bool,
}

/// How original ids are kept.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum IdTable {
    /// The ids are `first..first + vertices`: no table.
    Range {
        /// The smallest id.
        first: u64,
    },
    /// Ascending u64s in `ids.keys`.
    Numbers,
    /// Ascending strings in `ids.keys`, their ends (u64) in `ids.ends`.
    Names,
}

/// The root of a graph.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub struct Manifest {
    /// Always `graph`.
    pub outercore: String,
    /// The format version.
    pub version: u32,
    /// A random name, which the stripe directories carry too.
    pub uuid: String,
    /// All vertices.
    pub vertices: u64,
    /// Vertices with at least one edge: internal ids `0..connected`.
    pub connected: u64,
    /// Edges as the user counts them.
    pub edges: u64,
    /// Entries of `out.adjacency`: edges, or for an undirected graph each edge from both ends.
    pub arcs: u64,
    /// Whether edges have a direction.
    pub directed: bool,
    /// Whether `in.*` exists (an undirected graph needs none).
    pub transpose: bool,
    /// Whether duplicates and self-loops were dropped.
    pub simple: bool,
    /// How many there are; `None`: an earlier version did not count them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra: Option<Extra>,
    /// The weights' type.
    pub weights: WeightKind,
    /// Bytes of a stored weight; 0 without weights.
    pub weight_bytes: u32,
    /// Whether some weight is below zero.
    pub negative_weights: bool,
    /// Bytes of a neighbor in the adjacency sections.
    pub neighbor_bytes: u32,
    /// Bytes of an entry in `ids.vertex` and `ids.rank`; 0 when internal id and rank are the same.
    pub id_bytes: u32,
    /// How original ids are kept.
    pub ids: IdTable,
    /// The order of the vertices.
    pub order: Order,
    /// The largest out-degree and its vertex (the smallest original id among equals).
    pub max_out_degree: (u64, u64),
    /// The largest in-degree.
    pub max_in_degree: u64,
    /// Grid words, skips included.
    pub grid_words: u64,
    /// How the grid was cut. Readers take its bounds from `grid.stripes` and `grid.tiles`.
    #[serde(default, skip_serializing_if = "GridPartition::is_balanced")]
    pub partition: GridPartition,
    /// How the edges lie that passes over all of them read.
    #[serde(default, skip_serializing_if = "Layout::is_grid")]
    pub layout: Layout,
    /// Which edges are in row format, in the hybrid layout.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hybrid: Option<Hybrid>,
    /// Bytes of a stripe unit.
    pub stripe_unit: u64,
    /// The stripe directories; empty when everything lies in the graph's own folder.
    pub stripes: Vec<PathBuf>,
    /// Every section.
    pub sections: Vec<SectionEntry>,
}

/// The edges of a graph that a simple one does not have.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
pub struct Extra {
    /// Edges beyond the first between the same vertices (in a directed graph: in the same
    /// direction), self-loops left out.
    pub duplicates: u64,
    /// Edges from a vertex to itself.
    pub self_loops: u64,
}

/// How much of a graph is in row format, and how much in grid format.
#[derive(Clone, Copy, Debug, Serialize, PartialEq, Eq)]
pub struct Shares {
    /// Edges in row format. An undirected edge counts from both ends, as in [`Manifest::arcs`],
    /// which this and the next are together.
    pub row_arcs: u64,
    /// Edges in grid format.
    pub grid_arcs: u64,
    /// Ranges of vertices, in the hybrid layout.
    pub ranges: Option<u64>,
    /// Cells in row format, in the hybrid layout.
    pub row_cells: Option<u64>,
    /// Cells in grid format, in the hybrid layout.
    pub grid_cells: Option<u64>,
}

/// The part that must be read before the rest can be trusted to have a known shape.
#[derive(Deserialize)]
struct ManifestHeader {
    outercore: String,
    version: u32,
}

/// The most stripes that a graph has.
pub const MOST_STRIPES: usize = 64;
/// The most bytes that a manifest is believed to have. The longest part is the names of the
/// stripes: 4 KiB each, and six times that where each character has to be escaped.
const MOST: u64 = 2 << 20;

/// The error of a folder without a manifest, or of no folder.
pub(crate) fn no_graph<T>(disk: &Disk, path: &Path) -> Result<T> {
    let there = disk.exists(path)?;
    let why = if there { "it has no manifest.json" } else { "there is no such folder" };
    Err(GraphError::NotAGraph { path: path.to_owned(), why: why.to_owned() })
}

/// Says no to a place inside of a graph's folder: what is there and not the graph's is damage.
pub fn check_outside_of_graphs(path: &Path) -> Result<()> {
    let (disk, absolute) = (Disk::new(), std::path::absolute(path));
    let absolute = absolute.as_deref().unwrap_or(path);
    match absolute.ancestors().skip(1).find(|folder| Manifest::read(&disk, folder).is_ok()) {
        Some(graph) => refuse(format!(
            "{} cannot be written: {} is a graph, in whose folder nothing else may be",
            path.display(),
            graph.display()
        )),
        None => Ok(()),
    }
}

impl Manifest {
    /// The section of that name.
    pub fn section(&self, name: &str) -> Option<&SectionEntry> {
        self.sections.iter().find(|section| section.name == name)
    }

    /// Whether there are no duplicates and no self-loops: they were dropped, or there were none.
    pub fn is_simple(&self) -> bool {
        self.simple || self.extra == Some(Extra::default())
    }

    /// Which edges are in row format; `None`: all are in the grid.
    pub fn cells(&self) -> Option<Cells> {
        match self.layout {
            Layout::Grid => None,
            Layout::Row => Some(Cells::all_in_rows(self.connected)),
            Layout::Hybrid => self.hybrid.as_ref().map(|hybrid| Cells::of(hybrid, self.connected)),
        }
    }

    /// How much is in row format, and how much in grid format.
    pub fn shares(&self) -> Shares {
        let hybrid = self.hybrid.as_ref();
        let (row_arcs, grid_arcs) = match (self.layout, hybrid) {
            (Layout::Row, _) => (self.arcs, 0),
            (Layout::Hybrid, Some(hybrid)) => (hybrid.row_arcs, hybrid.grid_arcs),
            _ => (0, self.arcs),
        };
        let (row_cells, grid_cells) =
            (hybrid.map(|hybrid| hybrid.row_cells), hybrid.map(|hybrid| hybrid.grid_cells));
        Shares {
            row_arcs,
            grid_arcs,
            ranges: hybrid.map(|hybrid| hybrid.ranges),
            row_cells,
            grid_cells,
        }
    }

    /// The bytes of the manifest's file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = serde_json::to_vec_pretty(self).expect("a manifest is plain data");
        let crc = outercore_storage::checksum::crc32c(&bytes);
        bytes.extend_from_slice(format!("\n# crc32c {crc:08x}\n").as_bytes());
        bytes
    }

    /// Reads the manifest of the graph at `graph` and verifies its checksum and version.
    pub fn read(disk: &Disk, graph: &Path) -> Result<Self> {
        let path = graph.join(MANIFEST);
        if !disk.exists(&path)? {
            return no_graph(disk, graph);
        }
        let bytes = disk.read_all(&path, MOST).map_err(of_part)?;
        Self::from_bytes(&bytes, &path)
    }

    /// The same of a graph whose folder is locked, and so open.
    pub(crate) fn read_in(disk: &Disk, graph: &DirLock) -> Result<Self> {
        let file = match disk.open_buffered_in(graph, MANIFEST) {
            Err(error)
                if matches!(error.kind(), Some(ErrorKind::NotFound | ErrorKind::NotADirectory)) =>
            {
                return no_graph(disk, graph.path());
            }
            file => file.map_err(of_part)?,
        };
        Self::from_bytes(&file.read_all(MOST).map_err(of_part)?, file.path())
    }

    /// Parses and verifies the bytes of a manifest; `path` is for the errors.
    pub fn from_bytes(bytes: &[u8], path: &Path) -> Result<Self> {
        let corrupt =
            |what: &str| GraphError::Corrupt { path: path.to_owned(), what: what.to_owned() };
        let mark = b"\n# crc32c ";
        let at = bytes
            .windows(mark.len())
            .rposition(|window| window == mark)
            .ok_or_else(|| corrupt("the line with the checksum is missing"))?;
        let json = &bytes[..at];
        let header: Option<ManifestHeader> = serde_json::from_slice(json).ok();
        if let Some(header) = &header
            && header.version > VERSION
        {
            return Err(GraphError::Newer {
                path: path.to_owned(),
                version: header.version,
                known: VERSION,
            });
        }
        let expected = format!("\n# crc32c {:08x}\n", outercore_storage::checksum::crc32c(json));
        if &bytes[at..] != expected.as_bytes() {
            return Err(corrupt("its checksum does not match its text"));
        }
        if header.is_none_or(|header| header.outercore != "graph") {
            return Err(corrupt("it is not the manifest of a graph"));
        }
        let manifest: Self =
            serde_json::from_slice(json).map_err(|error| corrupt(&error.to_string()))?;
        match manifest.contradiction() {
            Some(what) => Err(corrupt(&what)),
            None => Ok(manifest),
        }
    }
}
