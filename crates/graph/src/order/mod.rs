//! The orders that vertices can have on disk: one file each, and what the rest of the crate asks of
//! them.
//!
//! A vertex without edges comes after all others in every order, if it is set apart.

mod counts;
mod degree;
mod original;

pub(crate) use self::counts::DegreeCounts;
use self::{degree::ByDegree, original::ByOriginalId};
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
    }
}

/// The total degree of each vertex, in ascending order of original id.
pub(crate) trait Degrees {
    /// Hands out every degree.
    fn for_each(&self, visit: impl FnMut(u64)) -> Result<()>;
}

impl Order {
    /// Whether total degrees descend with internal ids: vertex 0 has the largest.
    pub fn is_by_degree(self) -> bool {
        match self {
            Order::Degree => true,
            Order::Original => false,
        }
    }

    /// Whether connected vertices are in ascending order of original id.
    pub(crate) fn is_by_original_id(self) -> bool {
        match self {
            Order::Degree => false,
            Order::Original => true,
        }
    }

    /// Hands out the degree of each connected vertex, in ascending order of internal id.
    pub(crate) fn each_degree(
        self,
        counts: &DegreeCounts,
        degrees: &impl Degrees,
        mut visit: impl FnMut(u64),
    ) -> Result<()> {
        match self {
            Order::Degree => counts.degrees().for_each(visit),
            Order::Original => degrees.for_each(|degree| {
                if degree > 0 {
                    visit(degree);
                }
            })?,
        }
        Ok(())
    }
}

/// Hands out internal ids to vertices that come in ascending order of original id.
pub(crate) struct Numbering {
    connected: Connected,
    isolated: u64,
}

/// The ids of connected vertices.
enum Connected {
    Degree(ByDegree),
    Original(ByOriginalId),
}

impl Numbering {
    /// Prepares to number vertices with these degrees.
    pub(crate) fn new(order: Order, counts: &DegreeCounts) -> Self {
        let connected = match order {
            Order::Degree => Connected::Degree(ByDegree::new(counts)),
            Order::Original => Connected::Original(ByOriginalId::default()),
        };
        Self { connected, isolated: counts.connected() }
    }

    /// The internal id of the next vertex, which has this degree.
    #[inline(always)]
    pub(crate) fn next(&mut self, degree: u64) -> u64 {
        match &mut self.connected {
            _ if degree == 0 => take(&mut self.isolated),
            Connected::Degree(ids) => ids.next(degree),
            Connected::Original(ids) => ids.next(),
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
        let ids = |order| {
            let mut numbering = Numbering::new(order, &counts);
            degrees.iter().map(|&degree| numbering.next(degree)).collect::<Vec<_>>()
        };
        assert_eq!(ids(Order::Degree), [1, 4, 0, 2, 3, 5]);
        assert_eq!(ids(Order::Original), [0, 4, 1, 2, 3, 5]);
        assert_eq!(counts.degrees().collect::<Vec<_>>(), [70_000, 2, 2, 1]);
    }
}
