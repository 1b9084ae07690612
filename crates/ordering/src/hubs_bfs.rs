//! `hubs-bfs`: vertices with many edges first, by classes of degree, and in each class by searches
//! in breadth that end after some levels.
//!
//! - Searches begin at the vertex of the largest in-degree. What the last level of one leads to
//!   are the next roots, so that each search goes on where an earlier one has ended. In a graph of
//!   few levels that is one search in breadth. In one of many, as a road network, it makes patches
//!   instead of long rings: a search from elsewhere is in few pages at a time.
//! - A class is a doubling of the degree, from twice the mean on; most vertices have less, and are
//!   one class. So the front of all ids is what is needed most, as in the order of degrees: words
//!   in the tiles are short, and one cached front of the lists serves all runs.

use outercore_graph::Result;

use crate::{Finder, search::Breadth};

/// How deep a search goes. Less cuts neighborhoods apart, more makes rings.
const DEPTH: u64 = 32;
/// The first class above all others has so many times the mean degree.
const TIMES: u64 = 2;

impl Finder<'_> {
    /// The connected vertices by classes of degree, and in each by neighborhoods.
    pub fn hubs_bfs(&self) -> Result<Vec<u32>> {
        let mut order = self.search(Breadth::Levels(DEPTH))?;
        let vertices = self.graph.connected();
        let degrees = self.degrees()?;
        let ends: u64 = degrees.iter().map(|&degree| u64::from(degree)).sum();
        let class = |vertex: u32| {
            let degree = u128::from(degrees[vertex as usize]) * u128::from(vertices);
            let times = degree / u128::from(TIMES * ends.max(1));
            times.checked_ilog2().map_or(0, |doublings| doublings + 1)
        };
        // Stable: within a class the order of the searches stays.
        order.sort_by_key(|&vertex| std::cmp::Reverse(class(vertex)));
        Ok(order)
    }
}
