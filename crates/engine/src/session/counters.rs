//! [`Counters`]: what is counted while a run goes. Bytes and requests are counted by the session's
//! disk alone.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use outercore_storage::Named;

use crate::techniques::Technique;

/// What is counted while a run goes.
#[derive(Debug, Default)]
pub struct Counters {
    /// Bytes of what was read that were wanted.
    pub useful_bytes: AtomicU64,
    /// Bytes that were used although their page's checksum could not be computed: blocks smaller
    /// than a page.
    pub unverified_bytes: AtomicU64,
    /// Nanoseconds of all workers that made requests of active vertices: marking and merging.
    pub prepare_nanos: AtomicU64,
    /// Of each technique: how often it acted, and bytes that need not be read because of it.
    techniques: [[AtomicU64; 2]; Technique::ALL.len()],
}

impl Counters {
    /// Counts what a technique did.
    pub fn note(&self, technique: impl Into<Technique>, [acted, saved]: [u64; 2]) {
        let [of, bytes] = &self.techniques[technique.into() as usize];
        of.fetch_add(acted, Relaxed);
        bytes.fetch_add(saved, Relaxed);
    }

    /// Counts records that were passed on, and bytes of them that came from scratch. Returns how
    /// many records.
    pub(crate) fn passed(&self, [records, read]: [u64; 2]) -> u64 {
        self.useful_bytes.fetch_add(read, Relaxed);
        self.note(Technique::VertexPassing, [records, 0]);
        records
    }

    /// Notes how much a technique has of something, at the most.
    pub(crate) fn note_most(&self, technique: Technique, most: u64) {
        self.techniques[technique as usize][0].fetch_max(most, Relaxed);
    }

    /// What was counted of a technique.
    pub(crate) fn of(&self, technique: Technique) -> [u64; 2] {
        self.techniques[technique as usize].each_ref().map(|count| count.load(Relaxed))
    }
}
