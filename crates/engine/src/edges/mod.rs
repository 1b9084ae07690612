//! Edges on their way from storage to the workers.
//!
//! - [`grid`]: [`grid::Grid`], full scans, destination by destination.
//! - [`degrees`]: [`degrees::Degrees`], how many edges each vertex has.
//! - [`heads`]: [`heads::Heads`], the first neighbor of each vertex.
//! - [`rows`]: [`rows::Rows`], the row index and the lists of single vertices.
//! - [`stream`]: [`stream::IoIterator`], the lists of active vertices in the order in which storage
//!   delivers them. `wanted` makes requests of vertices, `fetch` keeps them in flight, `shares`
//!   divides the work.
//! - `cache`: what was read and stays in memory.

pub(crate) mod cache;
pub mod degrees;
mod fetch;
pub mod grid;
pub mod heads;
pub mod rows;
mod shares;
pub mod stream;
mod wanted;
