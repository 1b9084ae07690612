//! [`length_totals`]: what is told of lengths of paths that were found.

use outercore_graph::{PathLengths, Result, error::refuse};

use crate::{report::Figure, state::VertexArray};

/// How many vertices have a length, the largest one, and all of them together. An error: one is
/// beyond the numbers.
pub fn length_totals(lengths: PathLengths, found: &VertexArray<u64>) -> Result<(u64, [Figure; 2])> {
    let (mut reached, mut largest, mut whole, mut real) = (0, 0, 0u128, 0.0);
    found.for_each(|_, &length| {
        if length < lengths.unreached() {
            (reached, largest) = (reached + 1, length.max(largest));
            (whole, real) = (whole + u128::from(length), real + lengths.number(length));
        }
    })?;
    let figures = if lengths.are_whole() {
        // A sum that is no whole number of 64 bits is told to 16 digits.
        let sum = u64::try_from(whole).map_or_else(|_| (whole as f64).into(), Figure::from);
        [largest.into(), sum]
    } else {
        let largest = f64::from_bits(largest);
        if largest == f64::MAX || !real.is_finite() {
            return refuse(format!(
                "distances are beyond {:e}, the largest number: scale the weights down",
                f64::MAX
            ));
        }
        [largest.into(), real.into()]
    };
    Ok((reached, figures))
}
