//! The on-disk format, version 1; `docs/format.md` says the same in prose.
//!
//! - [`manifest`]: [`Manifest`], the root of a graph, and how it is written and trusted.
//! - `shape`: whether a manifest agrees with itself.
//! - [`tiles`]: the directory of the grid: stripes, tiles and chunks.

pub mod manifest;
mod shape;
pub mod tiles;

pub use manifest::{IdTable, Manifest, SectionEntry};
pub use tiles::{Chunk, GridDirectory, Tile};

/// The newest format version that this code reads, and the one that it writes.
pub const VERSION: u32 = 1;
/// The manifest's file name inside a graph.
pub const MANIFEST: &str = "manifest.json";
/// Vertices in a source segment of the grid (log 2): 16 MiB of 4-byte signals, which a last-level cache holds.
pub const SEGMENT_BITS: u32 = 22;
/// Most vertices in a destination stripe of the grid (log 2): the destination's bits of a word.
pub const STRIPE_BITS: u32 = 17;
/// The source delta that means: advance the source by the low bits, no edge.
pub const SKIP: u32 = 127;
/// Bytes of a grid word.
pub const WORD_BYTES: usize = 3;
/// Words in a whole chunk.
pub const CHUNK_WORDS: u64 = 1 << 18;
/// Bytes of a whole chunk: a multiple of the page and of the word.
pub const CHUNK_BYTES: u64 = CHUNK_WORDS * WORD_BYTES as u64;
/// Vertices that share one entry of a row index.
pub const INDEX_GROUP: u64 = 64;
