//! The grid: edges by segments of sources and intervals of targets, in chunks.
//!
//! - `scan`: [`Grid`], full scans: by segment with an inbox for every interval, or every edge once.
//! - `combine`: the messages of the edges of a chunk.

pub(crate) mod combine;
mod scan;

pub use scan::Grid;
