//! `in-degree`: descending in-degree, ties by original id.

use outercore_graph::Result;

use crate::Finder;

impl Finder<'_> {
    /// The connected vertices by in-degree.
    pub fn by_in_degree(&self) -> Result<Vec<u32>> {
        self.descending(&self.in_degrees()?)
    }
}
