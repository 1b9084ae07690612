//! Arrays cut into parts, which threads read and change at the same time, each another one.
//!
//! - `resident`: [`Resident`], parts in memory. `scratch`: [`ScratchFile`], parts in a file, which
//!   a [`Source`] may write later.
//! - `block`: [`Block`], memory for one part on its way.
//! - `windows`: [`windows()`], which parts are in memory together.

mod block;
mod resident;
mod scratch;
mod windows;

pub use block::Block;
pub use resident::Resident;
pub use scratch::{ScratchFile, Source};
pub use windows::{cut_windows, widest, windows};
