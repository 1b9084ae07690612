//! Sets of vertices in memory: of neighbors, with the triangles that they close, and of those that
//! may leave a core.
//!
//! - `sets`: [`Set`], a vertex's smaller neighbors as blocks of bits; [`SetWindow`], those of
//!   consecutive vertices.
//! - `intersect`: [`Counter`], which counts triangles by intersecting sets; [`Counting`], what of
//!   them.
//! - `bucket`: [`Bucket`], the vertices that have few neighbors left.

mod bucket;
mod intersect;
mod sets;

use outercore_engine::{Frontier, Remaining};

pub use bucket::Bucket;
pub use intersect::{Counter, Counting};
pub use sets::{Set, SetWindow};
