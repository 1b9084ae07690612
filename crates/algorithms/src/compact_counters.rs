//! [`CompactCounters`]: a count for each vertex, in as few bytes as most of them take.
//!
//! A vertex with few edges has a small count, and in the order of degrees those are at the end: it
//! has a byte for each vertex, the front has four. What does not fit is carried to a map. That is
//! rare: where the order tells degrees, only counts of the front can be too large, except for the
//! few whose repeated edges were dropped after vertices had been ordered.

use std::{
    collections::HashMap,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU8, AtomicU32, Ordering::Relaxed},
    },
};

use outercore_engine::{HugePages, HugeVec};
use outercore_graph::{Graph, Result};

/// How many vertices have four bytes, and how many one.
#[derive(Clone, Copy, PartialEq)]
pub struct Widths {
    wide: u64,
    narrow: u64,
}

impl Widths {
    /// Those for counts of no vertex.
    pub const NONE: Self = Self { wide: 0, narrow: 0 };

    /// Those for counts that fit a byte where a vertex has at most `edges` edges.
    pub fn of(graph: &Graph, edges: u64) -> Result<Self> {
        let vertices = graph.connected();
        let wide = graph.front(edges + 1)?.unwrap_or(vertices);
        Ok(Self { wide, narrow: vertices - wide })
    }

    /// Bytes of memory.
    pub fn bytes(self) -> u64 {
        self.wide * 4 + self.narrow
    }
}

/// A count for each vertex, to which several workers add.
pub struct CompactCounters {
    wide: HugeVec<AtomicU32>,
    narrow: HugeVec<AtomicU8>,
    /// How often each count has run over.
    carries: Mutex<HashMap<u64, u64>>,
}

impl CompactCounters {
    /// Zeros.
    pub fn new(widths: Widths, huge: HugePages) -> Result<Self> {
        Ok(Self {
            wide: HugeVec::zeroed(widths.wide as usize, huge)?,
            narrow: HugeVec::zeroed(widths.narrow as usize, huge)?,
            carries: Mutex::default(),
        })
    }

    /// Adds to the count of `vertex`.
    #[inline(always)]
    pub fn add(&self, vertex: u64, count: u64) {
        if count == 0 {
            return;
        }
        let carry = match (vertex as usize).checked_sub(self.wide.len()) {
            Some(at) => {
                let before = self.narrow[at].fetch_add(count as u8, Relaxed);
                (u64::from(before) + count) >> 8
            }
            None => {
                let before = self.wide[vertex as usize].fetch_add(count as u32, Relaxed);
                (u64::from(before) + count) >> 32
            }
        };
        if carry > 0 {
            self.carry(vertex, carry);
        }
    }

    #[cold]
    fn carry(&self, vertex: u64, times: u64) {
        *self.carries.lock().unwrap_or_else(PoisonError::into_inner).entry(vertex).or_default() +=
            times;
    }

    /// The count of a vertex, between steps.
    pub fn get(&mut self, vertex: u64) -> u64 {
        let (count, bits) = match (vertex as usize).checked_sub(self.wide.len()) {
            Some(at) => (u64::from(*self.narrow[at].get_mut()), 8),
            None => (u64::from(*self.wide[vertex as usize].get_mut()), 32),
        };
        let carries = self.carries.get_mut().unwrap_or_else(PoisonError::into_inner);
        count + (carries.get(&vertex).copied().unwrap_or(0) << bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_any_size_come_back() {
        let widths = Widths { wide: 3, narrow: 3 };
        let mut counts = CompactCounters::new(widths, HugePages::Off).unwrap();
        let added = [0, u64::from(u32::MAX), 1 << 40, 255, 256, 12_345_678_901];
        for (vertex, &count) in (0..).zip(&added) {
            counts.add(vertex, count / 3);
            counts.add(vertex, count - count / 3);
            counts.add(vertex, 7);
        }
        let seen: Vec<u64> = (0..6).map(|vertex| counts.get(vertex)).collect();
        assert_eq!(seen, added.map(|count| count + 7));
    }
}
