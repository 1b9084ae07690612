//! Edges in, columns out: the only crate that knows Arrow and Parquet.
//!
//! - [`edges`]: [`open`], edge lists of every format; Parquet files and Arrow streams as sources of
//!   edges.
//! - [`result`]: [`write_result`], a run's columns by original id, as CSV, Parquet or NumPy.
//! - [`export`]: [`export_edges`], a graph's edges as Parquet, CSV or Matrix Market.
//! - `keys`: internal ids back to original ones, many at a time, in bounded memory.
//! - `publish`: a file that appears whole under its name, or not at all.
//! - `text`: text into such a file, packed or not, or to standard output.

pub mod edges;
pub mod export;
mod keys;
mod publish;
pub mod result;
#[cfg(test)]
mod testing;
mod text;

pub use edges::{ArrowEdges, EdgeFormat, is_parsing, open};
pub use export::{ExportFormat, export_edges};
pub use result::{ResultFormat, result_scratch, write_result, write_result_with};
pub use text::is_standard_output;

use outercore_graph::GraphError;

/// How much memory a writer may use, and whether it shall go on.
pub struct WriteOptions<'a> {
    /// Bytes for the tables that lead from internal to original ids, and for windows of rows of
    /// values that are on scratch; the fixed buffers (some 16 MiB) come on top.
    pub memory: u64,
    /// Is given the number of rows that were written since the last call.
    pub advance: &'a dyn Fn(u64),
    /// Whether the user wants to stop.
    pub cancelled: &'a dyn Fn() -> bool,
}

impl Default for WriteOptions<'_> {
    fn default() -> Self {
        Self { memory: 64 << 20, advance: &|_| {}, cancelled: &|| false }
    }
}

impl WriteOptions<'_> {
    /// To be called after each batch.
    fn step(&self, rows: usize) -> Result<(), GraphError> {
        (self.advance)(rows as u64);
        if (self.cancelled)() { Err(GraphError::Cancelled) } else { Ok(()) }
    }
}
