//! What the budget leaves for finding an order, and the smallest budget in which one is found.

use outercore_caches::Lists;
use outercore_graph::{AtMost, Direction, Graph, Order, Result, error::refuse, types::bytes_for};

use crate::{heap::UnitHeap, pagerank, sorting};

/// Bytes of the program itself, its stacks, and batches that are on their way.
const PROGRAM: u64 = 24 << 20;
/// Refusals name whole steps.
const STEP: u64 = 1 << 20;

/// Bytes of shelves of lists at the least, unless all lists take less: with smaller ones nearly
/// every list is a read of its own, and a search takes a hundred times as long.
const SHELVES: u64 = 4 << 20;

/// The bytes that a budget leaves beside `held` ones.
pub fn beside(budget: u64, held: u64) -> u64 {
    budget.saturating_sub(PROGRAM + held)
}

/// The sizes on which it depends what an order takes.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// Vertices with edges.
    connected: u64,
    /// Bytes of all lists of a direction.
    entries: u64,
    /// Bytes that reading the longest list takes.
    longest: u64,
    /// Directions that have lists of their own.
    directions: u64,
}

impl Sizes {
    /// Those of a graph.
    pub fn of(graph: &Graph) -> Self {
        Self {
            connected: graph.connected(),
            entries: Lists::entry_bytes(graph),
            longest: Lists::most_of_longest(graph),
            directions: if graph.directed() { 2 } else { 1 },
        }
    }

    /// Those that a graph can have of which not more is known.
    pub fn at_most(AtMost { edges, vertices }: AtMost) -> Self {
        let entries = 2 * edges * bytes_for(vertices) as u64 + STEP;
        Self { connected: vertices, entries, longest: 2 * entries, directions: 2 }
    }

    /// What searches hold beside lists: roots, visits, and the index.
    pub fn of_search(self) -> u64 {
        8 * self.connected + 2 * self.connected.div_ceil(8) + Lists::index_bytes_of(self.connected)
    }

    /// The bytes that finding and writing an order takes at the least, but for runs.
    fn held(self, order: Order) -> u64 {
        let Sizes { connected, entries, longest, directions } = self;
        // One list is copied, and some are on each shelf; or all are in memory, and one is copied.
        let searching = self.of_search() + longest + entries.min((2 * longest).max(SHELVES));
        let sorting = sorting::BYTES * connected;
        let own = match order {
            Order::Random | Order::Degree | Order::Original => return 0,
            Order::InDegree | Order::PageRank => sorting,
            Order::Norder | Order::Bfs => searching.max(sorting),
            // What the searches have found is held.
            Order::HubsNorder | Order::HubsBfs => searching.max(sorting + 4 * connected),
            Order::Gorder => {
                let arrays = (UnitHeap::BYTES + 8) * connected;
                arrays.max(sorting) + directions * (Lists::index_bytes_of(connected) + entries)
            }
        };
        // An order is an array and becomes another one.
        own.max(8 * connected)
    }

    /// The smallest budget in which an order is found, but for runs.
    fn least(self, order: Order) -> u64 {
        (PROGRAM + self.held(order)).next_multiple_of(STEP)
    }

    /// A budget in which an order is certainly found, in graphs of these sizes.
    pub fn certain(self, order: Order) -> u64 {
        self.least(order).max(if order == Order::PageRank {
            pagerank::certain(self.connected)
        } else {
            0
        })
    }
}

/// The smallest budget in which an order of `graph` is found.
pub fn smallest(graph: &Graph, order: Order) -> Result<u64> {
    if order == Order::Gorder && graph.rows(Direction::In).is_none() {
        return refuse(
            "the order gorder needs incoming edges, which the graph does not keep; build it with \
             --transpose on",
        );
    }
    let least = Sizes::of(graph).least(order);
    Ok(if order == Order::PageRank { least.max(pagerank::smallest(graph)?) } else { least })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_budget_leaves_what_the_order_takes() {
        let sizes = Sizes { connected: 1 << 20, entries: 9 << 20, longest: 77, directions: 2 };
        for order in [Order::InDegree, Order::Bfs, Order::HubsNorder, Order::Gorder] {
            let least = sizes.least(order);
            assert_eq!(least % STEP, 0);
            assert!(beside(least, sizes.held(order)) < STEP && least > PROGRAM, "{order}");
            assert!(sizes.certain(order) >= least);
        }
        assert_eq!(sizes.least(Order::Random), PROGRAM);
        assert_eq!(beside(7, 8), 0);
    }
}
