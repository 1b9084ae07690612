//! [`Counters`]: what is counted while a run goes. Bytes and requests are counted by the session's
//! disk alone.

use std::sync::atomic::AtomicU64;

/// What is counted while a run goes.
#[derive(Debug, Default)]
pub struct Counters {
    /// Bytes of what was read that were wanted.
    pub useful_bytes: AtomicU64,
    /// Edges looked at.
    pub edges: AtomicU64,
    /// Pages of rows served from memory.
    pub page_hits: AtomicU64,
    /// Lists served from those that the last iteration has read.
    pub retained_hits: AtomicU64,
    /// Grid chunks served from memory where they stay.
    pub pinned_hits: AtomicU64,
    /// Grid chunks served from the sub-block buffer.
    pub sub_block_hits: AtomicU64,
    /// Bytes that were used although their page's checksum could not be computed: blocks smaller
    /// than a page.
    pub unverified_bytes: AtomicU64,
    /// Nanoseconds of all workers that made requests of active vertices: marking and merging.
    pub prepare_nanos: AtomicU64,
    /// Ranges of vertices that workers took from others' shares.
    pub stolen: AtomicU64,
    /// Most bytes of the process that were seen in huge pages.
    pub huge_page_bytes: AtomicU64,
}
