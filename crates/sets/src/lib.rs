//! Sets of vertices in memory: of neighbors, with the triangles that they close, and of those that
//! may leave a core.
//!
//! - `sets`: [`Set`], a vertex's smaller neighbors as blocks of bits; [`SetWindow`], those of
//!   consecutive vertices.
//! - `intersect`: [`Counter`], which counts triangles by intersecting sets; [`Counting`], what of
//!   them.
//! - `bucket`: the vertices that have few neighbors left; `peeling`: [`Peeling`], which has them
//!   depart.

mod bucket;
mod intersect;
mod peeling;
mod sets;

use outercore_engine::{Frontier, Remaining};

use bucket::Bucket;
pub use intersect::{Counter, Counting};
pub use peeling::Peeling;
pub use sets::{Set, SetWindow};
