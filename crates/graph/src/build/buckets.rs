//! Buckets: contiguous ranges of internal ids whose edges are sorted together, in memory.
//!
//! Bounds are cut by total degree, so that neither the incoming nor the outgoing edges of a bucket
//! exceed what a worker can sort. A single vertex with more edges than that gets several buckets,
//! one for each range of its neighbors; their order is the order of the rows all the same.

use std::collections::HashMap;

/// One unit of sorting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// The first vertex.
    pub first: u64,
    /// One past the last vertex.
    pub end: u64,
    /// Neighbors from this one on...
    pub other_first: u64,
    /// ...to before this one.
    pub other_end: u64,
}

/// All buckets, and the way from an edge to its bucket.
#[derive(Debug)]
pub struct Buckets {
    list: Vec<Bucket>,
    /// What a worker can sort.
    capacity: u64,
    /// Bounds of the vertex ranges; range `r` starts at bucket `first_bucket[r]`.
    bounds: Vec<u64>,
    first_bucket: Vec<u32>,
    /// How many ranges of neighbors share a bucket of range `r`.
    steps: Vec<u32>,
    /// A starting range for each leading pattern of an id (see [`pattern`]).
    guess: Vec<u32>,
}

/// Position of an id on a scale that is exact for small ids and logarithmic beyond: exponent and 6
/// bits of mantissa.
#[inline(always)]
fn pattern(vertex: u64) -> usize {
    let value = vertex + 64;
    let exponent = 63 - value.leading_zeros();
    let mantissa = (value >> (exponent - 6)) & 63;
    (((exponent - 6) as usize) << 6) | mantissa as usize
}

/// Cuts vertices into buckets while their degrees come in ascending order of internal id.
pub struct BucketCut {
    /// The most edges of a bucket.
    most: u64,
    /// What a worker can sort.
    capacity: u64,
    most_vertices: u64,
    bounds: Vec<u64>,
    /// Ranges of one vertex whose degree exceeds the capacity, and into how many buckets it goes.
    heavy: HashMap<usize, u64>,
    /// The next vertex, the first of the open range, and the degrees of those between.
    vertex: u64,
    start: u64,
    sum: u64,
}

impl BucketCut {
    /// Each bucket's total degree is to be at most `most`, where one vertex alone does not exceed
    /// it. A worker can sort `capacity` edges.
    pub fn new((most, capacity): (u64, u64), most_vertices: u64) -> Self {
        Self {
            most,
            capacity,
            most_vertices,
            bounds: vec![0],
            heavy: HashMap::new(),
            vertex: 0,
            start: 0,
            sum: 0,
        }
    }

    /// The next vertex's degree.
    #[inline(always)]
    pub fn push(&mut self, degree: u64) {
        let Self { most, vertex, start, .. } = *self;
        let is_full = self.sum + degree > most || vertex - start >= self.most_vertices;
        if vertex > start && is_full {
            self.bounds.push(vertex);
            (self.sum, self.start) = (0, vertex);
        }
        if degree > most {
            self.heavy.insert(self.bounds.len() - 1, degree.div_ceil(most));
        }
        self.sum += degree;
        self.vertex += 1;
    }

    /// The same of vertices that stay together, and whose edges come in order: they are not split,
    /// however many they are. Returns whether they begin a bucket.
    pub fn push_whole(&mut self, vertices: u64, degrees: u64) -> bool {
        let degrees = degrees.min(self.most);
        let many = self.vertex + vertices - self.start > self.most_vertices;
        let begins = self.vertex == self.start || many || self.sum + degrees > self.most;
        if begins && self.vertex > self.start {
            self.bounds.push(self.vertex);
            (self.sum, self.start) = (0, self.vertex);
        }
        self.sum += degrees;
        self.vertex += vertices;
        begins
    }

    /// The buckets of all vertices.
    pub fn finish(mut self) -> Buckets {
        if self.vertex > self.start {
            self.bounds.push(self.vertex);
        }
        Buckets::from_bounds(self.bounds, &self.heavy, (self.vertex, self.capacity))
    }
}

impl Buckets {
    fn from_bounds(
        bounds: Vec<u64>,
        heavy: &HashMap<usize, u64>,
        (vertices, capacity): (u64, u64),
    ) -> Self {
        let mut list = Vec::new();
        let ranges = bounds.len() - 1;
        let (mut first_bucket, mut steps) =
            (Vec::with_capacity(ranges + 1), Vec::with_capacity(ranges));
        for range in 0..ranges {
            first_bucket.push(list.len() as u32);
            // A heavy vertex's neighbors are split where the vertices are: those bounds hold equal
            // degrees, and so about equal shares of it.
            let step =
                heavy.get(&range).map_or(ranges, |&parts| (ranges / (2 * parts as usize)).max(1));
            steps.push(step as u32);
            for part in (0..ranges).step_by(step) {
                let other_end = if part + step >= ranges { vertices } else { bounds[part + step] };
                list.push(Bucket {
                    first: bounds[range],
                    end: bounds[range + 1],
                    other_first: bounds[part],
                    other_end,
                });
            }
        }
        first_bucket.push(list.len() as u32);
        let mut guess = Vec::with_capacity(pattern(bounds[ranges]) + 1);
        let mut range = 0u32;
        for index in 0..=pattern(bounds[ranges]) {
            while (range as usize) + 1 < ranges && pattern(bounds[range as usize + 1]) < index {
                range += 1;
            }
            guess.push(range);
        }
        Self { list, capacity, bounds, first_bucket, steps, guess }
    }

    /// The buckets, in the order of the rows.
    pub fn list(&self) -> &[Bucket] {
        &self.list
    }

    /// The most edges that a worker can sort at a time. A bucket may have more: of one vertex,
    /// copies of an edge, or neighbors that are closer together than most; any, where memory has no
    /// room for more buckets.
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// The bucket of an edge of `vertex` to (or from) `other`.
    #[inline(always)]
    pub fn find(&self, vertex: u64, other: u64) -> usize {
        let range = self.range(vertex);
        let bucket = self.first_bucket[range] as usize;
        if self.first_bucket[range + 1] as usize - bucket == 1 {
            bucket
        } else {
            bucket + self.range(other) / self.steps[range] as usize
        }
    }

    #[inline(always)]
    fn range(&self, vertex: u64) -> usize {
        let mut range = self.guess[pattern(vertex)] as usize;
        while vertex >= self.bounds[range + 1] {
            range += 1;
        }
        range
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_edge_has_the_bucket_that_covers_it(
            degrees in prop::collection::vec(0u64..40, 1..400),
            capacity in 5u64..100,
        ) {
            let n = degrees.len() as u64;
            let mut cut = BucketCut::new((capacity, capacity), 1 << 20);
            degrees.iter().for_each(|&degree| cut.push(degree));
            let buckets = cut.finish();
            for vertex in 0..n {
                for other in [0, vertex / 2, n - 1] {
                    let bucket = buckets.list()[buckets.find(vertex, other)];
                    prop_assert!((bucket.first..bucket.end).contains(&vertex));
                    prop_assert!((bucket.other_first..bucket.other_end).contains(&other));
                }
            }
            for bucket in buckets.list() {
                let sum: u64 = degrees[bucket.first as usize..bucket.end as usize].iter().sum();
                prop_assert!(sum <= capacity || bucket.end - bucket.first == 1);
            }
        }
    }
}
