//! [`PathLengths`]: lengths of paths along edges with weights.
//!
//! A length is a sum of weights. It is 64 bits that are ordered like the numbers: whole numbers for
//! whole weights, non-negative doubles otherwise.

use crate::{
    error::{Result, refuse},
    graph::Graph,
    types::WeightKind,
};

/// Lengths of paths along edges with weights of this kind, which are not negative.
#[derive(Clone, Copy)]
pub struct PathLengths(pub WeightKind);

impl PathLengths {
    /// Numbers of edges.
    pub const EDGES: Self = Self(WeightKind::U32);

    /// Those of a graph. Refuses one without weights, and one with negative ones, of which it names
    /// an edge.
    pub fn of(graph: &Graph) -> Result<Self> {
        let path = graph.path().display();
        if graph.weights() == WeightKind::None {
            return refuse(format!(
                "{path} has no weights: run bfs for distances in edges, or build it again with \
                 --weights"
            ));
        }
        if graph.manifest().negative_weights {
            let of = graph.negative_edge()?.map(|(source, target, weight)| {
                format!(": the edge from {source} to {target} has weight {weight}")
            });
            return refuse(format!(
                "{path} has negative weights, for which shortest paths are not computed{}",
                of.unwrap_or_default()
            ));
        }
        Ok(Self(graph.weights()))
    }

    /// Whether they are whole numbers.
    pub fn are_whole(self) -> bool {
        self.0 == WeightKind::U32
    }

    /// More than any length.
    pub fn unreached(self) -> u64 {
        if self.are_whole() { u64::MAX } else { f64::INFINITY.to_bits() }
    }

    /// A path of this length and an edge of this weight, as it is stored.
    #[inline(always)]
    pub fn add(self, length: u64, weight: u64) -> u64 {
        if self.are_whole() {
            length + weight
        } else {
            self.plus_weight(length, self.0.value(weight))
        }
    }

    /// The same of a weight that is a number.
    #[inline(always)]
    pub fn plus_weight(self, length: u64, weight: f64) -> u64 {
        if self.are_whole() {
            length + weight as u64
        } else {
            // A sum beyond the largest number is that number, and not unreached.
            (f64::from_bits(length) + weight).min(f64::MAX).to_bits()
        }
    }

    /// A whole length in 32 bits; the largest number stays that, and what else is too large becomes
    /// the next one.
    pub fn narrow(length: u64) -> u32 {
        length.min(u64::from(u32::MAX - 1)) as u32 + u32::from(length == u64::MAX)
    }

    /// Two lengths together.
    #[inline(always)]
    pub fn join(self, one: u64, other: u64) -> u64 {
        if self.are_whole() {
            one.saturating_add(other)
        } else {
            self.plus_weight(one, f64::from_bits(other))
        }
    }

    /// The number that a length stands for.
    pub fn number(self, length: u64) -> f64 {
        if self.are_whole() { length as f64 } else { f64::from_bits(length) }
    }

    /// A length so much larger than this one, and larger in any case.
    pub fn plus(self, length: u64, delta: f64) -> u64 {
        if self.are_whole() {
            length.saturating_add((delta as u64).max(1))
        } else {
            (f64::from_bits(length) + delta).to_bits().max(length + 1)
        }
    }
}

/// What is told of lengths of paths that were found.
pub struct LengthTotals {
    lengths: PathLengths,
    /// How many there are.
    pub count: u64,
    largest: u64,
    whole: u128,
    real: f64,
}

impl LengthTotals {
    /// Of no lengths of this kind.
    pub fn of(lengths: PathLengths) -> Self {
        Self { lengths, count: 0, largest: 0, whole: 0, real: 0.0 }
    }

    /// Another one, unless it is no length.
    #[inline(always)]
    pub fn add(&mut self, length: u64) {
        if length < self.lengths.unreached() {
            self.count += 1;
            self.largest = self.largest.max(length);
            self.whole += u128::from(length);
            self.real += self.lengths.number(length);
        }
    }

    /// The largest length, and all of them together: whole numbers, or (`Err`) real ones. A sum
    /// that is no whole number of 64 bits is told to 16 digits. An error: one is beyond the
    /// numbers.
    pub fn numbers(&self) -> Result<[std::result::Result<u64, f64>; 2]> {
        if self.lengths.are_whole() {
            let sum = u64::try_from(self.whole).map_err(|_| self.whole as f64);
            return Ok([Ok(self.largest), sum]);
        }
        let largest = f64::from_bits(self.largest);
        if largest == f64::MAX || !self.real.is_finite() {
            return refuse(format!(
                "distances are beyond {:e}, the largest number: scale the weights down",
                f64::MAX
            ));
        }
        Ok([Err(largest), Err(self.real)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_ordered_like_their_numbers() {
        for kind in [WeightKind::U32, WeightKind::F32, WeightKind::F64] {
            let lengths = PathLengths(kind);
            let mut length = 0;
            for weight in [1.0, 7.0, 1e9] {
                let longer = lengths.plus_weight(length, weight);
                assert_eq!(lengths.number(longer), lengths.number(length) + weight);
                assert!(length < longer && longer < lengths.unreached());
                assert!(lengths.plus(length, 0.25) > length);
                length = longer;
            }
            assert_eq!(lengths.add(length, 0), length);
            assert_eq!(lengths.join(length, 0), length);
            let twice = lengths.join(length, length);
            assert_eq!(lengths.number(twice), 2.0 * lengths.number(length));
        }
    }

    #[test]
    fn totals_are_whole_numbers_or_real_ones() {
        let told = |kind, all: &[u64]| {
            let mut totals = LengthTotals::of(PathLengths(kind));
            all.iter().for_each(|&length| totals.add(length));
            (totals.count, totals.numbers().ok())
        };
        let most = u64::MAX - 1;
        let whole = told(WeightKind::U32, &[3, u64::MAX, 4]);
        assert_eq!(whole, (2, Some([Ok(4), Ok(7)])));
        let large = told(WeightKind::U32, &[most, most]);
        assert_eq!(large, (2, Some([Ok(most), Err(2.0 * most as f64)])));
        let real = [0.5, f64::INFINITY, 1.25].map(f64::to_bits);
        assert_eq!(told(WeightKind::F64, &real), (2, Some([Err(1.25), Err(1.75)])));
        assert_eq!(told(WeightKind::F64, &[f64::MAX.to_bits()]), (1, None));
        assert_eq!(told(WeightKind::F32, &[]), (0, Some([Err(0.0), Err(0.0)])));
    }

    #[test]
    fn the_largest_number_is_not_unreached() {
        let lengths = PathLengths(WeightKind::F64);
        let most = lengths.plus_weight(f64::MAX.to_bits(), f64::MAX);
        assert_eq!(lengths.number(most), f64::MAX);
        assert!(most < lengths.unreached());
    }
}
