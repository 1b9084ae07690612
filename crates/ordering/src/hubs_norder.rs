//! `hubs-norder`: hubs first, by descending total degree, and `norder` behind them.
//!
//! Norder spreads the hubs over the ids, next to the neighborhoods that met them first. What this
//! engine does with hubs at the front is lost then: lists that begin with them, short words in the
//! tiles, one cached front of all lists. Yet few vertices are hubs, and the neighborhoods of all
//! others stay together.

use outercore_graph::Result;

use crate::Finder;

/// A hub has more edges than so many times the mean.
const TIMES: u64 = 8;

impl Finder<'_> {
    /// The hubs, and the other connected vertices by neighborhoods.
    pub fn hubs_norder(&self) -> Result<Vec<u32>> {
        let neighborhoods = self.norder()?;
        let vertices = self.graph.connected();
        let degrees = self.degrees()?;
        let ends = degrees.iter().map(|&degree| u64::from(degree)).sum::<u64>();
        let least = TIMES * ends / vertices.max(1);
        let is_hub = |vertex: u32| u64::from(degrees[vertex as usize]) > least;
        let mut order = self.descending(&degrees)?;
        order.truncate(order.partition_point(|&vertex| is_hub(vertex)));
        order.extend(neighborhoods.into_iter().filter(|&vertex| !is_hub(vertex)));
        Ok(order)
    }
}
