//! [`top_rows`]: the best rows of a column.

use std::{cmp::Reverse, collections::BinaryHeap};

use outercore_graph::{Graph, Result};

use crate::{
    report::TopRow,
    state::{Cell, Column},
};

/// A score that can be compared; larger is better, the smaller internal id (the hub) first among
/// equals.
#[derive(PartialEq)]
struct Ranked(f64, Reverse<u64>);

impl Eq for Ranked {}

impl PartialOrd for Ranked {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ranked {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0).then(self.1.cmp(&other.1))
    }
}

/// The `count` largest values of `column` with their vertices, best first. Isolated vertices are
/// never among the best.
pub fn top_rows(graph: &Graph, column: &Column, count: usize) -> Result<Vec<TopRow>> {
    let mut best: BinaryHeap<Reverse<Ranked>> = BinaryHeap::new();
    let scan = column.for_each(|vertex, cell| {
        let value = match cell {
            Cell::Null => return,
            Cell::Integer(number) => number as f64,
            Cell::Float(number) => number,
        };
        let ranked = Ranked(value, Reverse(vertex));
        if best.len() < count {
            best.push(Reverse(ranked));
        } else if best.peek().is_some_and(|Reverse(worst)| ranked > *worst) {
            best.pop();
            best.push(Reverse(ranked));
        }
    });
    scan?;
    best.into_sorted_vec()
        .into_iter()
        .map(|Reverse(Ranked(value, Reverse(vertex)))| Ok(TopRow(graph.key_of(vertex)?, value)))
        .collect()
}
