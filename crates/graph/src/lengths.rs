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
    fn the_largest_number_is_not_unreached() {
        let lengths = PathLengths(WeightKind::F64);
        let most = lengths.plus_weight(f64::MAX.to_bits(), f64::MAX);
        assert_eq!(lengths.number(most), f64::MAX);
        assert!(most < lengths.unreached());
    }
}
