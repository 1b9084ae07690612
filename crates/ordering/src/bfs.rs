//! `bfs`: one search in breadth after the other, each from the unvisited vertex of the largest
//! in-degree, along outgoing edges. Ids are given in the order of the visits.

use outercore_graph::Result;

use crate::{
    Finder,
    room::{self, Sizes},
    search::{Breadth, Search},
};

impl Finder<'_> {
    /// The connected vertices in the order in which such searches visit them. A search sees the
    /// neighbors of a vertex in the order of its list.
    pub fn search(&self, breadth: Breadth) -> Result<Vec<u32>> {
        let roots = self.descending(&self.in_degrees()?)?;
        let room = room::beside(self.memory, Sizes::of(self.graph).of_search());
        Search::new(self, room)?.run(&roots, breadth)
    }
}
