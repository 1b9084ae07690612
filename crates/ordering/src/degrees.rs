//! How many edges lead where.

use outercore_caches::degrees::{arriving, table};
use outercore_graph::{Direction, Result};

use crate::Finder;

impl Finder<'_> {
    /// How many edges lead to each connected vertex; in an undirected graph, how many it has.
    pub fn in_degrees(&self) -> Result<Vec<u32>> {
        arriving(self.graph, Direction::Out, self.progress)
    }

    /// How many edges each connected vertex has in both directions together.
    pub fn degrees(&self) -> Result<Vec<u32>> {
        let mut degrees = self.in_degrees()?;
        if self.graph.directed() {
            let outgoing = table(self.graph, Direction::Out)?;
            let sum = |(degree, out): (&mut u32, u32)| *degree = degree.saturating_add(out);
            degrees.iter_mut().zip(outgoing).for_each(sum);
        }
        Ok(degrees)
    }
}
