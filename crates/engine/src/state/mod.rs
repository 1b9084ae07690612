//! What vertices keep: arrays with an item for each connected vertex, in memory, with a part in
//! memory, or on scratch, behind one interface.
//!
//! - `vertex_array`: [`VertexArray`], read and changed by interval; `walk`: all of it, in order.
//! - `scratch`: [`Scratch`], where the intervals go that do not stay in memory.
//! - `window`: [`Window`], several intervals in memory with atomic cells.
//! - `append`: [`Appender`], an array that is written in order.
//! - `column`: [`Column`], an array as a result.
//! - `levels`: [`Levels`], what a search finds.
//! - `vector`: a vector of the user's.
//! - `degrees_by_interval`: degrees in as few bytes as those of an interval take.

mod append;
mod column;
mod degrees_by_interval;
mod levels;
mod scratch;
#[cfg(test)]
mod tests;
mod vector;
mod vertex_array;
mod walk;
mod window;

pub use append::Appender;
pub use column::{Cell, Column, Isolated, Meaning, Number, NumberKind, Values};
pub(crate) use degrees_by_interval::DegreesByInterval;
pub(crate) use levels::Found;
pub use levels::{Levels, OpenLevels};
pub use scratch::Scratch;
pub use vertex_array::VertexArray;
pub use window::Window;
