//! Where the intervals of the grid end: its columns, cut by edges or by vertices (Graphene,
//! FAST'17, section 4.1).

use crate::{
    format::{GridDirectory, STRIPE_BITS},
    types::GridPartition,
};

/// Most vertices of an interval that this builder makes: half of what the words allow. Their 8-byte
/// sums are 512 KiB, which a second-level cache holds.
const STRIPE_VERTICES: u64 = 1 << (STRIPE_BITS - 1);

/// Where an interval of the grid ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IntervalCut {
    /// After about so many edges, and where a bucket ends.
    Edges(u64),
    /// At multiples of `width` vertices, whatever their edges, of `connected`.
    Vertices {
        /// Vertices of an interval.
        width: u64,
        /// All of them.
        connected: u64,
    },
}

/// An interval, as far as it is in a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// Its first vertex, which may be before the bucket.
    pub first: u64,
    /// One past its last vertex, which may be behind the bucket.
    pub end: u64,
    /// One past the last vertex that is in the bucket, counted from its first.
    pub upto: usize,
    /// How many edges the bucket has of it.
    pub edges: usize,
}

impl IntervalCut {
    /// The cut of a graph: enough intervals for many workers, enough edges in each that a 7-bit
    /// source delta rarely overflows; or as many intervals, of equal width.
    pub fn new(partition: GridPartition, edges: u64, connected: u64) -> Self {
        let interval_edges = (edges / 64).clamp(1 << 16, 1 << 22).max(connected / 16);
        match partition {
            GridPartition::Balanced => IntervalCut::Edges(interval_edges),
            GridPartition::Uniform => IntervalCut::Vertices {
                width: connected
                    .div_ceil(edges.div_ceil(interval_edges).max(1))
                    .clamp(1, STRIPE_VERTICES),
                connected,
            },
        }
    }

    /// Whether rows are cut by edges too, and not by vertices.
    pub fn is_by_edges(self) -> bool {
        matches!(self, IntervalCut::Edges(_))
    }

    /// About what [`GridDirectory::lag`] will be, which is known only when all intervals are cut.
    /// Of so many edges in the grid, from so many pieces, each of which ends an interval that is
    /// cut by edges. Rather more than less: with less, no tile would serve two iterations.
    pub fn lag(self, edges: u64, connected: u64, pieces: u64) -> u64 {
        GridDirectory::lag_of(match self {
            IntervalCut::Edges(most) => {
                // Those before the widest ones, and these, which have few edges.
                let intervals = edges / most.max(1) + connected / STRIPE_VERTICES;
                // The last interval of a piece is half as large as others; in small pieces the only
                // one.
                (intervals + pieces / 2).max(pieces + pieces / 8)
            }
            IntervalCut::Vertices { width, .. } => connected.div_ceil(width),
        })
    }

    /// The interval of the vertex at `start` of a bucket of so many edges to each vertex from
    /// `base` on.
    pub fn interval(self, degrees: &[u64], start: usize, base: u64) -> Interval {
        let vertex = base + start as u64;
        match self {
            IntervalCut::Edges(most) => {
                let (mut upto, mut edges) = (start, 0);
                while upto < degrees.len()
                    && upto - start < STRIPE_VERTICES as usize
                    && (edges == 0 || edges + degrees[upto] <= most)
                {
                    edges += degrees[upto];
                    upto += 1;
                }
                Interval { first: vertex, end: base + upto as u64, upto, edges: edges as usize }
            }
            IntervalCut::Vertices { width, connected } => {
                let first = vertex / width * width;
                let end = (first + width).min(connected);
                let upto = degrees.len().min((end - base) as usize);
                let edges = degrees[start..upto].iter().sum::<u64>() as usize;
                Interval { first, end, upto, edges }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All intervals of a bucket.
    fn intervals(degrees: &[u64], base: u64, cut: IntervalCut) -> Vec<Interval> {
        let mut start = 0;
        std::iter::from_fn(|| {
            (start < degrees.len()).then(|| {
                let interval = cut.interval(degrees, start, base);
                start = interval.upto;
                interval
            })
        })
        .collect()
    }

    #[test]
    fn balanced_intervals_have_equal_edges_and_uniform_ones_equal_widths() {
        // A skewed bucket: the first vertices have most of the edges.
        let degrees: Vec<u64> = (0..1000u64).map(|vertex| 100_000 / (vertex + 1)).collect();
        let total: u64 = degrees.iter().sum();
        let balanced = intervals(&degrees, 24, IntervalCut::Edges(100_000));
        assert!(balanced.iter().all(|interval| interval.edges <= 100_000));
        assert_eq!(balanced.len() as u64, total.div_ceil(100_000));
        assert!(balanced.windows(2).all(|pair| pair[0].end == pair[1].first));
        assert_eq!((balanced[0].first, balanced[balanced.len() - 1].end), (24, 1024));
        // The bucket begins and ends in the middle of intervals that others have parts of.
        let cut = IntervalCut::Vertices { width: 100, connected: 1060 };
        let uniform = intervals(&degrees, 24, cut);
        let bounds: Vec<_> =
            uniform.iter().map(|interval| (interval.first, interval.end)).collect();
        let expected = (0..11).map(|at| (at * 100, (at * 100 + 100).min(1060)));
        assert_eq!(bounds, expected.collect::<Vec<_>>());
        assert_eq!((uniform[0].upto, uniform[9].upto, uniform[10].upto), (76, 976, 1000));
        assert!(uniform[0].edges as u64 * 2 > total, "the first has more than half of the edges");
        assert_eq!(uniform.iter().map(|interval| interval.edges as u64).sum::<u64>(), total);
        assert_eq!(
            IntervalCut::new(GridPartition::Balanced, 1 << 28, 1 << 24),
            IntervalCut::Edges(1 << 22)
        );
        assert_eq!(
            IntervalCut::new(GridPartition::Uniform, 1 << 28, 1 << 20),
            IntervalCut::Vertices { width: 1 << 14, connected: 1 << 20 }
        );
    }
}
