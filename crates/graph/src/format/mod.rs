//! The on-disk format, version 5; `docs/format.md` says the same in prose.
//!
//! - [`manifest`]: [`Manifest`], the root of a graph, and how it is written and trusted.
//! - `files`: the names of its files.
//! - [`List`]: a vertex's neighbors; [`RowIndex`]: where each vertex's list lies;
//!   [`FirstNeighbors`]: the first one of each.
//! - `shape`: whether a manifest agrees with itself.
//! - [`cells`]: which edges are in row format, and which in grid format.
//! - [`tiles`]: the directory of the grid: intervals, tiles and chunks; [`words`]: what edges
//!   become in it; [`EdgeBlock`]: the edges of a chunk, decoded from its words; [`add_all`]: what
//!   their sources have, added up at their targets; [`first_edges`]: which of them lead from one
//!   set to another; [`GridWeights`]: their weights; [`GridIndex`]: the chunks of each interval;
//!   [`SubBlockIndex`]: the parts of chunks; [`GridPass`]: in which order a pass reads, and
//!   [`PassEdges`]: what passes read.
//! - [`Piece`]: what of a section is read at a time.

mod add_all;
pub mod cells;
mod edge_block;
mod files;
mod first_edges;
mod first_neighbors;
mod grid_index;
mod grid_pass;
mod grid_weights;
mod list;
pub mod manifest;
mod pass_edges;
mod piece;
mod row_index;
mod shape;
mod sub_block_index;
pub mod tiles;
pub mod words;

pub use add_all::add_all;
pub use cells::{Cells, Hybrid, Ranges};
pub use edge_block::EdgeBlock;
pub(crate) use files::{is_a_graphs, section_files, sums_file};
pub use first_edges::first_edges;
pub use first_neighbors::FirstNeighbors;
pub use grid_index::{ChunkSide, GridChunk, GridIndex};
pub use grid_pass::GridPass;
pub use grid_weights::GridWeights;
pub use list::List;
pub(crate) use manifest::no_graph;
pub use manifest::{
    Extra, IdTable, MOST_STRIPES, Manifest, SectionEntry, Shares, check_outside_of_graphs,
};
pub use pass_edges::PassEdges;
pub use piece::Piece;
pub use row_index::{Degrees, Group, RowIndex};
pub use sub_block_index::SubBlockIndex;
pub use tiles::{Chunk, GridDirectory, Tile};
pub use words::{WordCode, WordKind};

/// The format version that is written, the newest that this code reads. Older ones are read too.
pub const VERSION: u32 = 5;
/// The newest version in which all edges are in the grid.
pub const GRID_VERSION: u32 = 2;
/// The newest version whose vertices are in order of degrees or of ids.
pub const OLD_ORDERS_VERSION: u32 = 4;
/// The manifest's file name inside a graph.
pub const MANIFEST: &str = "manifest.json";
/// Vertices in a source segment of the grid (log 2): 16 MiB of 4-byte signals, which a last-level
/// cache holds.
pub const SEGMENT_BITS: u32 = 22;
/// Most vertices in a destination interval of the grid (log 2): the most bits of a destination in a
/// word.
pub const STRIPE_BITS: u32 = 17;
/// Words in a whole chunk: whole pages, whatever the bits of a word.
pub const CHUNK_WORDS: u64 = 1 << 18;
/// Most bytes of a chunk.
pub const CHUNK_BYTES: u64 = WordCode::FIRST.bytes(CHUNK_WORDS);
const _: () = assert!(CHUNK_BYTES as usize == outercore_storage::reader::BUFFER_BYTES);
/// Vertices that share one entry of a row index.
pub const INDEX_GROUP: u64 = 64;

/// A little-endian number of up to eight bytes.
#[inline(always)]
pub fn number(bytes: &[u8]) -> u64 {
    match *bytes {
        [a, b, c] => u64::from(a) | u64::from(b) << 8 | u64::from(c) << 16,
        [a, b] => u64::from(a) | u64::from(b) << 8,
        [a] => u64::from(a),
        [a, b, c, d] => u64::from(u32::from_le_bytes([a, b, c, d])),
        _ => {
            let mut number = [0; 8];
            number[..bytes.len()].copy_from_slice(bytes);
            u64::from_le_bytes(number)
        }
    }
}
