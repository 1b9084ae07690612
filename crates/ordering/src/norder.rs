//! `norder`: Neighborhood Ordering (Lee, Kim and others, ATC'19, section 4.2). The neighbors of a
//! vertex get ids side by side, those of vertices with many incoming edges first.
//!
//! Roots come by descending in-degree, ties by original id. From each that was not visited a search
//! in breadth of depth two gives ids in the order of its visits. Its cost is one reading of about
//! all lists.

use outercore_graph::Result;

use crate::{Finder, search::Breadth};

/// How deep a search goes: deeper ones gain little and cost much.
const DEPTH: u64 = 2;

impl Finder<'_> {
    /// The connected vertices by neighborhoods.
    pub fn norder(&self) -> Result<Vec<u32>> {
        self.search(Breadth::Levels(DEPTH))
    }
}
