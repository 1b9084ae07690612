//! [`top_rows`]: the best rows of a column.

use outercore_graph::{Graph, Result};
use outercore_storage::Best;

use crate::{
    report::TopRow,
    state::{Cell, Column},
};

/// The `count` largest values of `column` with their vertices, best first; of equal ones the
/// smaller internal id (the hub). Isolated vertices are never among the best.
pub fn top_rows(graph: &Graph, column: &Column, count: usize) -> Result<Vec<TopRow>> {
    let mut best = Best::new(count);
    column.for_each(|vertex, cell| match cell {
        Cell::Null => {}
        Cell::Integer(number) => best.offer(number as f64, vertex),
        Cell::Float(number) => best.offer(number, vertex),
    })?;
    best.into_rows().map(|(value, vertex)| Ok(TopRow(graph.key_of(vertex)?, value))).collect()
}
