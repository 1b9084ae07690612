//! What vertices send to each other: gathered by interval, and handed to the vertices when their
//! interval's turn comes (vertex passing, Seraph, FAST'24, section 3.3).
//!
//! - [`Record`]: what is sent.
//! - [`vertex_passing`]: [`Exchange`], where most vertices are on storage: records wait in memory
//!   and in a log on scratch.
//! - [`in_memory`]: [`InMemory`], where all vertices are in memory: records arrive batch by batch.
//!
//! Both exchanges are used alike: every worker has a sender, sends, and at the end of the step all
//! senders are collected.

pub(crate) mod in_memory;
mod vertex_passing;

#[cfg(test)]
mod tests;

pub(crate) use in_memory::InMemory;
pub use outercore_storage::{Record, STEP, Sender};
pub use vertex_passing::Exchange;
