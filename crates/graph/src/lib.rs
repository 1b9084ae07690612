//! The graph at rest: reading edge lists, building the on-disk graph, opening and checking it.
//!
//! - [`types`]: original ids, directions, weights.
//! - [`format`]: the on-disk format: manifest, sections, tiles.
//! - [`input`]: edge lists in every supported format, as batches of edges.
//! - [`graph`]: [`Graph`], an opened graph.
//! - [`order`]: the orders that vertices can have on disk.
//! - `lengths`: [`PathLengths`], lengths of paths as sums of weights.
//! - `probe`: what a look at a few pages tells of a graph.
//! - [`build`]: edges to a graph, inside a memory budget.
//! - [`scan`]: the rows from front to back.
//! - [`check`]: every checksum and invariant.
//! - `info`: [`GraphInfo`], what a graph is, in figures.
//! - [`generate`]: synthetic graphs.
//! - `start`: [`Source`], how a start vertex is named, and found.
//! - `vector`: [`Vector`], a number for each vertex, which the user brings.
//! - [`view`]: the undirected simple view.
//! - [`error`]: [`GraphError`] and [`InputError`].

pub mod build;
pub mod check;
pub mod error;
mod estimate;
pub mod format;
pub mod generate;
pub mod graph;
mod info;
pub mod input;
mod lengths;
pub mod order;
mod probe;
pub mod scan;
mod start;
pub mod types;
mod vector;
pub mod view;

pub use build::{
    AtMost, BuildOptions, BuildProgress, BuildSettings, Find, Places, Silent, build,
    build_in_order, reorder,
};
pub use check::{Fault, check};
pub use error::{GraphError, InputError, Result};
pub use graph::{Graph, SectionFile, Table};
pub use info::{GraphInfo, SectionInfo, Spread, TileEdges, ViewInfo};
pub use lengths::{LengthTotals, PathLengths};
pub use order::Order;
pub use scan::EdgeRows;
pub use start::Source;
pub use types::{Direction, GridPartition, Key, Keys, Layout, WeightKind};
pub use vector::Vector;
