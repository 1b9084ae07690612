//! [`Digest`]: what a set of edges is, in whatever order they come.

use std::ops::Sub;

/// Edges, however they are ordered: how many, the sum of their hashes, and that of the hashes with
/// their weights.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Digest {
    edges: u64,
    hashes: u64,
    weights: u64,
}

impl Digest {
    /// One edge more.
    #[inline(always)]
    pub fn add(&mut self, source: u64, target: u64, weight: Option<f64>) {
        // Two rounds of a multiplication, one for each end, after which no sum of a few edges is
        // likely to be that of others.
        let mix = |value: u64| (value ^ value >> 32).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let hash = mix(mix(source + 1).wrapping_add(target));
        self.edges += 1;
        self.hashes = self.hashes.wrapping_add(hash);
        if let Some(weight) = weight {
            self.weights = self.weights.wrapping_add(mix(mix(hash).wrapping_add(weight.to_bits())));
        }
    }

    /// How many edges.
    pub fn edges(&self) -> u64 {
        self.edges
    }

    /// The same without weights.
    pub fn unweighted(self) -> Self {
        Self { weights: 0, ..self }
    }
}

impl Sub for Digest {
    type Output = Self;

    /// Those that remain when these are taken away, which are among them.
    fn sub(self, some: Self) -> Self {
        Self {
            edges: self.edges.wrapping_sub(some.edges),
            hashes: self.hashes.wrapping_sub(some.hashes),
            weights: self.weights.wrapping_sub(some.weights),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(edges: &[(u64, u64, Option<f64>)]) -> Digest {
        edges.iter().fold(Digest::default(), |mut digest, &(source, target, weight)| {
            digest.add(source, target, weight);
            digest
        })
    }

    #[test]
    fn order_does_not_matter_and_everything_else_does() {
        let (one, two, three) = ((1, 2, Some(0.5)), (2, 1, Some(0.5)), (7, 7, Some(1.5)));
        let all = digest(&[one, two, three]);
        assert_eq!(all, digest(&[three, one, two]));
        assert_eq!(all - digest(&[two]), digest(&[three, one]));
        // The ends or the weights of two edges exchanged, an edge twice in the place of two, an
        // edge less.
        for other in [
            [(1, 1, Some(0.5)), (2, 2, Some(0.5)), three],
            [(1, 2, Some(1.5)), two, (7, 7, Some(0.5))],
            [one, one, three],
            [one, (0, 3, Some(0.5)), three],
        ] {
            assert_ne!(all, digest(&other));
        }
        assert_ne!(all, digest(&[one, two]));
        assert_eq!(all.unweighted(), digest(&[(1, 2, None), (2, 1, None), (7, 7, None)]));
    }
}
