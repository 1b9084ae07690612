//! The grid: edges by segments of sources and intervals of targets, in chunks.
//!
//! - `index`: which chunks there are, by interval, and what each may serve.
//! - `scan`: [`Grid`], full scans: by segment with an inbox for every interval, or every edge once.
//! - `edge_block`: [`EdgeBlock`], the edges of a chunk; `combine`: their messages.

pub(crate) mod combine;
mod edge_block;
pub(crate) mod index;
mod scan;

pub use edge_block::EdgeBlock;
pub use scan::Grid;
