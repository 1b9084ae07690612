//! Ranks to internal ids: the connected vertices by descending total degree (or as they come), the
//! isolated ones after them.
//!
//! A counting sort over the distinct degrees, in the degree array itself: the array of degrees
//! becomes the array of internal ids.

use std::collections::BTreeMap;

use crate::order::Order;

/// Entry of the map for an id that is no vertex.
pub const ABSENT: u32 = u32::MAX;

/// How many vertices have each degree.
#[derive(Clone, Debug, Default)]
pub struct DegreeCounts {
    small: Vec<u64>,
    large: BTreeMap<u64, u64>,
}

/// Degrees below this are counted in an array.
const SMALL: u64 = 1 << 16;

impl DegreeCounts {
    /// Counts one vertex of this degree.
    #[inline(always)]
    pub fn add(&mut self, degree: u64) {
        if degree < SMALL {
            if self.small.len() <= degree as usize {
                self.small.resize(SMALL as usize, 0);
            }
            self.small[degree as usize] += 1;
        } else {
            *self.large.entry(degree).or_default() += 1;
        }
    }

    /// Degrees above zero with their counts, descending.
    pub fn descending(&self) -> impl Iterator<Item = (u64, u64)> {
        let large = self.large.iter().rev().map(|(&degree, &count)| (degree, count));
        let small = self
            .small
            .iter()
            .enumerate()
            .skip(1)
            .rev()
            .map(|(degree, &count)| (degree as u64, count));
        large.chain(small).filter(|&(_, count)| count > 0)
    }

    /// Vertices with a degree above zero.
    pub fn connected(&self) -> u64 {
        self.descending().map(|(_, count)| count).sum()
    }

    /// The degree of each connected vertex in the order of internal ids (under [`Order::Degree`]).
    pub fn degrees(&self) -> impl Iterator<Item = u64> {
        self.descending().flat_map(|(degree, count)| std::iter::repeat_n(degree, count as usize))
    }
}

/// Hands out internal ids to vertices that come in ascending order of rank.
pub struct Numbering {
    order: Order,
    small: Vec<u64>,
    large: BTreeMap<u64, u64>,
    connected: u64,
    isolated: u64,
}

impl Numbering {
    /// Prepares to number vertices with these degrees.
    pub fn new(counts: &DegreeCounts, order: Order) -> Self {
        let (mut small, mut large) = (vec![0; SMALL as usize], BTreeMap::new());
        let mut next = 0;
        for (degree, count) in counts.descending() {
            if degree < SMALL {
                small[degree as usize] = next;
            } else {
                large.insert(degree, next);
            }
            next += count;
        }
        Self { order, small, large, connected: 0, isolated: next }
    }

    /// The internal id of the next vertex, which has this degree.
    #[inline(always)]
    pub fn next(&mut self, degree: u64) -> u64 {
        let slot = match self.order {
            _ if degree == 0 => &mut self.isolated,
            Order::Original => &mut self.connected,
            Order::Degree if degree < SMALL => &mut self.small[degree as usize],
            Order::Degree => self.large.get_mut(&degree).expect("every degree was counted"),
        };
        let id = *slot;
        *slot += 1;
        id
    }
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
            let mut numbering = Numbering::new(&counts, order);
            degrees.iter().map(|&degree| numbering.next(degree)).collect::<Vec<_>>()
        };
        assert_eq!(ids(Order::Degree), [1, 4, 0, 2, 3, 5]);
        assert_eq!(ids(Order::Original), [0, 4, 1, 2, 3, 5]);
        assert_eq!(counts.degrees().collect::<Vec<_>>(), [70_000, 2, 2, 1]);
    }
}
