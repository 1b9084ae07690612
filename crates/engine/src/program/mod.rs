//! What an author writes.
//!
//! - `vertex`: [`VertexProgram`], messages between neighbors in synchronous iterations.
//! - `lists`: [`Lists`], the adjacency lists of a run: those of active vertices.
//! - `traversal`: [`Search`], a frontier and its lists, pushed or pulled.
//! - `delta_stepping`: [`DeltaStepping`], the smallest lengths of paths, by windows of length.
//! - `length_totals`: [`length_totals`], what is told of them.
//! - `path_counts`: [`PathCounts`], shortest paths from several vertices, counted and summed back.
//! - `edge_scan`: [`EdgeScan`], every edge once; [`forest`]: sets of vertices that edges join.
//! - `spread`: [`spread`], the same sets by labels in scan after scan.
//! - `neighborhood`: [`Neighborhoods`], whole lists of neighbors in memory, batch by batch.

mod delta_stepping;
mod edge_scan;
pub mod forest;
mod length_totals;
mod lists;
mod neighborhood;
mod path_counts;
pub mod spread;
mod traversal;
mod vertex;

pub use delta_stepping::DeltaStepping;
pub use edge_scan::{EdgeScan, SomeEdges};
pub use length_totals::length_totals;
pub use lists::{Along, Lists};
pub use neighborhood::{Batch, Neighborhoods, OpenNeighborhoods};
pub use path_counts::PathCounts;
pub use traversal::{OpenSearch, Search};
pub use vertex::{
    Activity, Context, Ended, IterationEnd, Monotone, Next, Start, VertexProgram, Wake,
};
