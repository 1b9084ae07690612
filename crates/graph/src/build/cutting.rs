//! How edges are cut into buckets that the budget has room for.
//!
//! While edges are handed out, each worker has a block of memory for every bucket. With fewer
//! workers each can sort more, and so there are fewer buckets and fewer blocks of each: memory for
//! blocks goes down with the square of the workers. In a small budget fewer work, then. Where one
//! is too many, buckets are larger than it can sort in memory, and are sorted on scratch.

use super::{
    Builder,
    buckets::{BucketCut, Buckets},
    emit::ENCODED_BYTES,
    partition::block_bytes,
    relabel::Relabel,
    smallest::{budget_for, halves, of_ranking},
};
use crate::{
    error::{GraphError, Result},
    types::bytes_for,
};

/// Edges that are sorted together even if there is memory for more: larger arrays take longer, for
/// each edge, to touch and to sort.
const CACHED: u64 = 1 << 22;
/// Buckets into which the edges of a very large graph go; where memory is short, more.
const MOST_BUCKETS: u64 = 512;

/// Edges that are to be cut.
#[derive(Clone, Copy, Debug)]
pub struct Cutting {
    /// Vertices that have been ranked, and may have to be renumbered.
    pub ranked: u64,
    /// Vertices with edges.
    pub connected: u64,
    /// The sum of their degrees.
    pub degrees: u64,
    /// Whether records have weights.
    pub weighted: bool,
    /// The buckets that an edge goes to lie in so many partitions, of which each has its blocks.
    pub sides: usize,
    /// What is left for blocks, in tenths of the memory for the work: the map of ids has the rest.
    pub tenths: u64,
}

impl Cutting {
    /// Edges of a graph without vertices so far, of which a map of ids is held.
    pub fn new(directed: bool, weighted: bool) -> Self {
        let sides = if directed { 2 } else { 1 };
        Self { ranked: 0, connected: 0, degrees: 0, weighted, sides, tenths: 4 }
    }

    /// The most edges that one of so many workers sorts at a time: as many as it has memory for,
    /// and no more than it sorts in a processor's cache, unless that makes too many buckets.
    pub fn capacity(self, memory: u64, workers: usize) -> u64 {
        let record = if self.weighted { 16 } else { 8 };
        let other = bytes_for(self.connected) as u64 + if self.weighted { 16 } else { 0 };
        let sortable = memory / workers as u64 / (2 * record + ENCODED_BYTES + other);
        sortable.max(1 << 12).min(CACHED.max(self.degrees / MOST_BUCKETS))
    }

    /// The most vertices of a bucket of which a worker can sort so many edges.
    pub fn most_vertices(self, capacity: u64) -> u64 {
        let id_bits = 64 - self.connected.leading_zeros();
        (capacity / 4).max(1).min(1 << (63 - id_bits).min(40))
    }

    /// Whether so many workers have room for a block of each of so many buckets.
    fn has_room(self, memory: u64, workers: usize, buckets: u64) -> bool {
        let blocks = memory * self.tenths / 10 * 8 / 10;
        block_bytes(blocks, workers * self.sides, buckets.max(1) as usize).is_some()
    }

    /// Whether edges can be cut, and their ends renumbered, where the work has so much memory: into
    /// the fewest buckets, by one worker.
    pub fn fits(self, memory: u64) -> bool {
        let most = self.most_vertices(self.capacity(memory, 1));
        self.has_room(memory, 1, self.connected.div_ceil(most))
            && Relabel::ranges(of_ranking(memory), 1, self.ranked).is_some()
    }

    /// The error of a budget that is too small.
    pub fn too_small(self, budget: u64) -> GraphError {
        let what = format!("partitioning the edges of {} vertices", self.connected);
        budget_for(budget, what, |division| self.fits(division.work()))
    }
}

impl Builder<'_> {
    /// Cuts edges, whose degrees `push` hands over, into buckets. Returns how many workers there
    /// is memory for, too.
    pub(super) fn cut(
        &self,
        cutting: Cutting,
        push: impl Fn(&mut BucketCut) -> Result<()>,
    ) -> Result<(Buckets, usize)> {
        let Cutting { degrees, .. } = cutting;
        let memory = self.memory;
        let fewer = halves(self.options.threads).map(|workers| (workers, 1));
        let capacity = cutting.capacity(memory, 1);
        let larger = std::iter::successors(Some(2), |&times| {
            (capacity.saturating_mul(times) < degrees).then_some(times * 2)
        });
        for (workers, times) in fewer.chain(larger.map(|times| (1, times))) {
            let capacity = cutting.capacity(memory, workers);
            let most = (capacity.saturating_mul(times), capacity);
            let mut cut = BucketCut::new(most, cutting.most_vertices(capacity));
            push(&mut cut)?;
            let buckets = cut.finish();
            if cutting.has_room(memory, workers, buckets.list().len() as u64) {
                return Ok((buckets, workers));
            }
        }
        Err(cutting.too_small(self.options.memory))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_a_budget_fits_every_larger_one() {
        for (vertices, edges) in [(1000, 1 << 40), (1 << 26, 1 << 28), (1 << 31, 1 << 33)] {
            for weighted in [false, true] {
                let cutting = Cutting {
                    ranked: vertices,
                    connected: vertices,
                    degrees: edges,
                    ..Cutting::new(true, weighted)
                };
                let fits: Vec<bool> =
                    (1..4000).map(|step| cutting.fits(step * 1_000_003)).collect();
                assert!(fits.is_sorted() && fits[3998], "{vertices} {weighted}");
            }
        }
    }
}
