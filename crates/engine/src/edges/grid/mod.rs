//! The grid: edges by segments of sources and intervals of targets, in chunks.
//!
//! - `index`: which chunks there are, by interval, and what each may serve.
//! - `scan`: [`Grid`], full scans: by segment with an inbox for every interval, or every edge once.
//! - `combine`: the messages of a chunk's edges.

pub(crate) mod combine;
pub(crate) mod index;
mod scan;

pub use scan::Grid;
