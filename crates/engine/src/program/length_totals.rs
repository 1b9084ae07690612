//! [`length_totals`]: what is told of lengths of paths that were found.

use outercore_graph::{LengthTotals, PathLengths, Result};

use crate::{report::Figure, state::VertexArray};

/// How many vertices have a length, the largest one, and all of them together. An error: one is
/// beyond the numbers.
pub fn length_totals(lengths: PathLengths, found: &VertexArray<u64>) -> Result<(u64, [Figure; 2])> {
    let mut totals = LengthTotals::of(lengths);
    found.for_each(|_, &length| totals.add(length))?;
    let figure = |number| match number {
        Ok(whole) => Figure::Integer(whole),
        Err(real) => Figure::Float(real),
    };
    Ok((totals.count, totals.numbers()?.map(figure)))
}
