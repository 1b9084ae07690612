//! What was read and stays in memory.
//!
//! - `prefix`: the front of a section, for lists.
//! - `pinned_chunks`: chunks of the grid that stay from their first reading on; `sub_block_buffer`:
//!   those with the most active edges, from one pass to the next.

pub(crate) mod pinned_chunks;
pub(crate) mod prefix;
pub(crate) mod sub_block_buffer;
