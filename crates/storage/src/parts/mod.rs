//! Arrays cut into parts, which threads read and change at the same time, each another one.
//!
//! - `resident`: [`Resident`], parts in memory. `scratch`: [`ScratchFile`], parts in a file.
//! - `block`: [`Block`], memory for one part on its way.

mod block;
mod resident;
mod scratch;

pub use block::Block;
pub use resident::Resident;
pub use scratch::ScratchFile;
