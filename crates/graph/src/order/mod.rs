//! The orders that vertices can have on disk: one file each, and what the rest of the crate asks of
//! them.
//!
//! Two orders are a matter of degrees and ids, and a build makes them on its way. The others are
//! found in a graph that is there already, by the crate `ordering`: they come as a file of places,
//! one for each rank ([`Given`]).
//!
//! A vertex without edges comes after all others in every order, if it is set apart.

mod counts;
mod degree;
mod given;
mod original;

pub(crate) use self::{counts::DegreeCounts, given::Given};
use self::{degree::ByDegree, given::GivenIds, original::ByOriginalId};
use crate::error::Result;

outercore_storage::named! {
    /// The order of the vertices on disk.
    #[derive(Default)]
    pub enum Order: "order" {
        /// Hubs first: descending total degree, ties by original id.
        #[default]
        Degree = "degree",
        /// Ascending original id.
        Original = "original",
        /// Descending in-degree, ties by original id.
        InDegree = "in-degree",
        /// Descending PageRank, ties by original id.
        PageRank = "pagerank",
        /// Neighborhoods: searches of depth two from all vertices, by descending in-degree.
        Norder = "norder",
        /// Common neighbors side by side, greedily, within a window.
        Gorder = "gorder",
        /// One search in breadth after the other, from vertices of descending in-degree.
        Bfs = "bfs",
        /// At random, by a seed.
        Random = "random",
        /// Hubs first, by descending total degree, and neighborhoods behind them.
        HubsNorder = "hubs-norder",
        /// Classes of degree, and in each searches that end after some levels, the nearest next.
        HubsBfs = "hubs-bfs",
    }
}

/// The total degree of each vertex, in ascending order of original id.
pub(crate) trait TotalDegrees {
    /// Hands out every degree.
    fn for_each(&self, visit: impl FnMut(u64)) -> Result<()>;
}

impl Order {
    /// Whether total degrees descend with internal ids: vertex 0 has the largest.
    pub fn is_by_degree(self) -> bool {
        self == Order::Degree
    }

    /// Whether it is found in a graph that is there already, and not made on the way to one.
    pub fn is_found(self) -> bool {
        !matches!(self, Order::Degree | Order::Original)
    }

    /// Whether connected vertices are in ascending order of original id.
    pub(crate) fn is_by_original_id(self) -> bool {
        self == Order::Original
    }
}

/// How vertices get their places.
#[derive(Clone, Copy)]
pub(crate) enum Placing<'g> {
    /// By degrees.
    Degree,
    /// By original ids.
    Original,
    /// As a file says.
    Given(&'g Given),
}

impl Placing<'_> {
    /// Vertices with a place among the connected ones.
    pub(crate) fn connected(self, counts: &DegreeCounts) -> u64 {
        match self {
            Placing::Given(given) => given.connected(),
            _ => counts.connected(),
        }
    }

    /// Hands out the degree of each connected vertex, in ascending order of internal id. Holds at
    /// most `room` bytes.
    pub(crate) fn each_degree(
        self,
        counts: &DegreeCounts,
        degrees: &impl TotalDegrees,
        room: u64,
        mut visit: impl FnMut(u64),
    ) -> Result<()> {
        match self {
            Placing::Degree => counts.degrees().for_each(visit),
            Placing::Original => degrees.for_each(|degree| {
                if degree > 0 {
                    visit(degree);
                }
            })?,
            Placing::Given(given) => given.each_degree(degrees, room, visit)?,
        }
        Ok(())
    }
}

/// Hands out internal ids to vertices that come in ascending order of original id.
pub(crate) struct Numbering<'g> {
    connected: Connected<'g>,
    isolated: u64,
}

/// The ids of connected vertices.
enum Connected<'g> {
    Degree(ByDegree),
    Original(ByOriginalId),
    Given(GivenIds<'g>),
}

impl<'g> Numbering<'g> {
    /// Prepares to number vertices with these degrees.
    pub(crate) fn new(placing: Placing<'g>, counts: &DegreeCounts) -> Self {
        let connected = match placing {
            Placing::Degree => Connected::Degree(ByDegree::new(counts)),
            Placing::Original => Connected::Original(ByOriginalId::default()),
            Placing::Given(given) => Connected::Given(given.ids()),
        };
        Self { connected, isolated: counts.connected() }
    }

    /// The internal id of the next vertex, which has this degree.
    #[inline(always)]
    pub(crate) fn next(&mut self, degree: u64) -> u64 {
        match &mut self.connected {
            Connected::Given(ids) => ids.next(),
            _ if degree == 0 => take(&mut self.isolated),
            Connected::Degree(ids) => ids.next(degree),
            Connected::Original(ids) => ids.next(),
        }
    }

    /// Whether every id was there to hand out.
    pub(crate) fn finish(self) -> Result<()> {
        match self.connected {
            Connected::Given(ids) => ids.finish(),
            _ => Ok(()),
        }
    }
}

/// The number, which grows by one.
#[inline(always)]
fn take(next: &mut u64) -> u64 {
    let number = *next;
    *next += 1;
    number
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_by_descending_degree_then_rank() {
        let degrees = [2u64, 0, 70_000, 2, 1, 0];
        let mut counts = DegreeCounts::default();
        degrees.iter().for_each(|&degree| counts.add(degree));
        let ids = |placing| {
            let mut numbering = Numbering::new(placing, &counts);
            degrees.iter().map(|&degree| numbering.next(degree)).collect::<Vec<_>>()
        };
        assert_eq!(ids(Placing::Degree), [1, 4, 0, 2, 3, 5]);
        assert_eq!(ids(Placing::Original), [0, 4, 1, 2, 3, 5]);
        assert_eq!(counts.degrees().collect::<Vec<_>>(), [70_000, 2, 2, 1]);
    }
}
