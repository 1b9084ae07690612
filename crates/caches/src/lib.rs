//! Edges that are in memory, before the device, and which of them are worth it.
//!
//! - `kept`: [`ListCache`], lists, and [`ChunkCache`], chunks of the grid: what is asked before the
//!   device is; [`Kept`], whose hits these are. `held_lists`: [`HeldLists`], what a chain of such
//!   caches holds of the lists that a worker wants.
//! - `prefix`: [`Prefix`], the lists at the front of the rows; `sciu`: [`RetainedLists`], those
//!   that the last iteration has read; `selected`: [`SelectedLists`], those of vertices that were
//!   selected before the run, `packed` into fewer bytes.
//! - `pinned_chunks`: [`PinnedChunks`], chunks that stay from their first reading on;
//!   `sub_block_buffer`: [`SubBlockBuffer`], those with the most active edges;
//!   `chunks_that_stay`: [`chunks_that_stay()`], which of the two a run has.
//! - [`select`](mod@select): which lists are selected; `sidecar`: [`Saved`], the file that says so;
//!   `told`: [`Told`], what a plan says of it.
//! - [`lists`]: [`Lists`], the lists of a graph, in memory or read ahead; [`degrees`]: how many
//!   edges lead where; `io_cost`: [`io_cost()`], what an order costs searches.
//!
//! None of the caches reads while a run is under way: they are shown what others have read, or were
//! loaded before. It stands below the engine, which asks the caches, and knows no iterations.

mod chunks_that_stay;
pub mod degrees;
mod held_lists;
mod io_cost;
mod kept;
pub mod lists;
mod packed;
mod pinned_chunks;
mod prefix;
mod sciu;
pub mod select;
mod selected;
mod sidecar;
mod sub_block_buffer;
mod told;

pub use chunks_that_stay::chunks_that_stay;
pub use held_lists::{Chain, HeldLists};
pub use io_cost::io_cost;
pub use kept::{CacheReport, ChunkCache, Held, Kept, ListCache};
pub use lists::Lists;
pub use pinned_chunks::PinnedChunks;
pub use prefix::Prefix;
pub use sciu::RetainedLists;
pub use select::{Divisor, Penalty, Select, SelectOptions, SelectSettings, select};
pub use selected::{SelectedLists, SelectedReport};
pub use sidecar::{About, Runs, Saved, Side, is_saved, path_of};
pub use sub_block_buffer::{SubBlockBuffer, SubBlocks};
pub use told::Told;
