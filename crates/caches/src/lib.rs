//! Edges that are in memory, before the device.
//!
//! - `kept`: [`ListCache`], lists, and [`ChunkCache`], chunks of the grid: what is asked before the
//!   device is; [`Kept`], whose hits these are.
//! - `prefix`: [`Prefix`], the lists at the front of the rows; `retained`: [`RetainedLists`], those
//!   that the last iteration has read.
//! - `pinned_chunks`: [`PinnedChunks`], chunks that stay from their first reading on;
//!   `sub_block_buffer`: [`SubBlockBuffer`], those with the most active edges.
//!
//! None of these reads while a run is under way: they are shown what others have read.

mod kept;
mod pinned_chunks;
mod prefix;
mod retained;
mod sub_block_buffer;

pub use kept::{ChunkCache, Held, Kept, ListCache};
pub use pinned_chunks::PinnedChunks;
pub use prefix::Prefix;
pub use retained::RetainedLists;
pub use sub_block_buffer::SubBlockBuffer;
