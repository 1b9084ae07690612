//! Edges on their way from storage to the workers.
//!
//! - [`grid`]: [`grid::Grid`], full scans, destination by destination.
//! - `degrees`: how many edges each vertex has, read into little memory.
//! - [`heads`]: [`heads::Heads`], the first neighbor of each vertex.
//! - [`rows`]: [`rows::Rows`], the lists of one direction, and where each one lies.
//! - [`io_iterator`]: [`io_iterator::IoIterator`], the lists of active vertices in the order in
//!   which storage delivers them. `list_reader` keeps requests in flight; `BitmapIo` of the
//!   storage makes them, `WorkShares` divide the work.
//! - `piece_stream`: pieces of a section on their way to one worker, and the cache before the
//!   device; `table`: sections of numbers, read into memory.
//! - What was read and stays in memory is in `outercore-caches`.

mod degrees;
pub mod grid;
pub mod heads;
pub mod io_iterator;
mod list_reader;
pub(crate) mod piece_stream;
pub mod rows;
pub(crate) mod table;
#[cfg(test)]
mod tests;
