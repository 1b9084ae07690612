//! `bfs`: one search in breadth after the other, each from the unvisited vertex of the largest
//! in-degree, along outgoing edges. Ids are given in the order of the visits.

use outercore_graph::Result;

use crate::{
    Finder,
    search::{Breadth, Search},
    sorting,
};

impl Finder<'_> {
    /// The connected vertices in the order in which such searches visit them. A search sees the
    /// neighbors of a vertex in the order of its list.
    pub fn search(&self, breadth: Breadth) -> Result<Vec<u32>> {
        let vertices = self.graph.connected();
        self.room.beside(sorting::BYTES * vertices, "sorting vertices")?;
        let roots = self.descending(&self.in_degrees()?)?;
        let room = self.room.beside(Search::bytes(self.graph), "searching a graph")?;
        Search::new(self, room)?.run(&roots, breadth)
    }
}
