//! What vertices send to each other: gathered by interval, and handed to the vertices when their
//! interval's turn comes (vertex passing, Seraph, FAST'24, section 3.3).
//!
//! [`Exchange`] is for vertices most of which are on storage: records wait in memory and in a log
//! on scratch. Where all vertices are in memory, `outercore_storage::Inbox` carries what is sent.

mod vertex_passing;

#[cfg(test)]
mod tests;

pub use outercore_storage::{Record, STEP, Sender};
pub use vertex_passing::Exchange;
