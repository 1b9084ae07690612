//! [`Bucket`]: what is left of each vertex's neighbors, and the vertices that may depart soon. Many
//! may take from it at once; the model checker has every order in which a few do (`make model`).

use std::ops::Range;

use outercore_graph::format::List;

use super::{Frontier, Remaining};

/// How many neighbors are asked for before the first one is taken from.
const AHEAD: usize = 32;

/// The vertices that depart, now and soon.
pub struct Bucket {
    /// What is left of each vertex's neighbors.
    pub left: Remaining,
    /// The vertices that may depart before `horizon`.
    pub near: Frontier,
    /// The first level that is not near.
    pub horizon: u32,
    /// The first level of the run.
    pub first: u32,
    /// The vertices that depart now.
    pub current: Frontier,
    /// Those that do so next.
    pub next: Frontier,
}

impl Bucket {
    /// Brings near those of a range that may depart before the horizon; `smallest` becomes the
    /// least that one of the range has left. What has departed has less than the last horizon.
    pub fn gather(&self, last: u32, smallest: &mut u32, range: Range<u64>) {
        self.near.replace_words(range, |part| {
            let mut bits = 0;
            self.left.each(part, |bit, count| {
                if count >= last {
                    *smallest = count.min(*smallest);
                }
                bits |= u64::from((last..self.horizon).contains(&count)) << bit;
            });
            bits
        });
    }

    /// The vertices near, in a range, that have `level` neighbors left become the frontier; at the
    /// first level those with fewer, too. Returns how many. Later, what has fewer has departed: a
    /// worker may bring a vertex near after another has had it depart.
    pub fn select(&self, level: u32, range: Range<u64>, mut departs: impl FnMut(u64)) -> u64 {
        let floor = if level == self.first { 0 } else { level };
        self.near.move_to(&self.current, range, |vertex| {
            let is_due = (floor..=level).contains(&self.left.get(vertex));
            if is_due {
                departs(vertex);
            }
            is_due
        })
    }

    /// A vertex with this list departs at this level; tells of the neighbors that do so next. If
    /// this is all that one worker does, it is `alone`.
    #[inline(always)]
    pub fn depart(&self, list: List, level: u32, alone: bool, next: impl FnMut(u64)) {
        if alone {
            self.depart_by::<true>(list, level, next);
        } else {
            self.depart_by::<false>(list, level, next);
        }
    }

    /// An update of a count waits for all loads before it. So the counts of many neighbors are
    /// asked for at once, and come while others are updated.
    #[inline(always)]
    fn depart_by<const ALONE: bool>(&self, list: List, level: u32, mut next: impl FnMut(u64)) {
        let (mut neighbors, mut first, mut count) = ([0; AHEAD], 0, AHEAD);
        // To ask how long the list is costs a division.
        while count == AHEAD {
            count = list.copy(first, &mut neighbors);
            neighbors[..count].iter().for_each(|&neighbor| self.left.prefetch(neighbor));
            for &neighbor in &neighbors[..count] {
                if self.take::<ALONE>(neighbor, level) {
                    next(neighbor);
                }
            }
            first += count;
        }
    }

    /// A neighbor of the vertex departs at this level; returns whether the vertex does so next.
    #[inline(always)]
    pub fn take<const ALONE: bool>(&self, vertex: u64, level: u32) -> bool {
        let before = self.left.take::<ALONE>(vertex, level);
        let departs = before == level + 1;
        match (departs, ALONE) {
            (true, true) => {
                self.next.insert_alone(vertex);
                self.near.remove_alone(vertex);
            }
            (true, false) => {
                self.next.insert(vertex);
                self.near.remove(vertex);
            }
            _ if before == self.horizon => _ = self.near.insert(vertex),
            _ => {}
        }
        departs
    }
}
