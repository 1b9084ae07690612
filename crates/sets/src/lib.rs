//! Sets of neighbors in memory, and the triangles that they close.
//!
//! - `sets`: [`Set`], a vertex's smaller neighbors as blocks of bits; [`SetWindow`], those of
//!   consecutive vertices.
//! - `intersect`: [`Counter`], which counts triangles by intersecting sets; [`Counting`], what of
//!   them.

mod intersect;
mod sets;

pub use intersect::{Counter, Counting};
pub use sets::{Set, SetWindow};
