//! `norder`: Neighborhood Ordering (Lee, Kim and others, ATC'19, section 4.2). The neighbors of all
//! vertices get ids side by side, those of vertices with many incoming edges first.
//!
//! Vertices come by descending in-degree, ties by original id. From each of them, visited or not, a
//! search in breadth of depth two gives ids to what has none, in the order of its visits. The
//! searches take two readings of about all lists: a vertex that one of them has expanded leads
//! later ones to nothing new.

use outercore_graph::Result;

use crate::{Finder, search::Breadth};

impl Finder<'_> {
    /// The connected vertices by neighborhoods.
    pub fn norder(&self) -> Result<Vec<u32>> {
        self.search(Breadth::TwoFromAll)
    }
}
