//! Descending total degree, ties by original id: hubs come first.
//!
//! A counting sort over the distinct degrees.

use std::collections::BTreeMap;

use super::{
    counts::{DegreeCounts, SMALL},
    take,
};

/// The next id of a vertex of each degree.
pub(super) struct ByDegree {
    small: Vec<u64>,
    large: BTreeMap<u64, u64>,
}

impl ByDegree {
    /// Prepares to number vertices with these degrees.
    pub(super) fn new(counts: &DegreeCounts) -> Self {
        let (mut small, mut large) = (vec![0; SMALL as usize], BTreeMap::new());
        let mut next = 0;
        for (degree, count) in counts.descending() {
            if degree < SMALL {
                small[degree as usize] = next;
            } else {
                large.insert(degree, next);
            }
            next += count;
        }
        Self { small, large }
    }

    /// The internal id of the next connected vertex, which has this degree.
    #[inline(always)]
    pub(super) fn next(&mut self, degree: u64) -> u64 {
        take(if degree < SMALL {
            &mut self.small[degree as usize]
        } else {
            self.large.get_mut(&degree).expect("every degree was counted")
        })
    }
}
