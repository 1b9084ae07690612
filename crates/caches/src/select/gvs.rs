//! Greedy vertex selection (GVS; BASC, ATC'19, Algorithm 1): vertices whose penalty is highest for
//! the memory that their lists take, in rounds. After each round penalties are computed again where
//! something was chosen.
//!
//! The paper's text takes the highest penalty, divided by the vertex's degree; its listing the
//! lowest, divided by the in-degree. Each can be asked for ([`Penalty`],
//! [`Divisor`](super::Divisor)); by itself the highest is taken, divided by both.
//!
//! Lists are in memory if the budget has room for them, or read: all of them where most are needed.

use std::{cmp::Reverse, collections::BinaryHeap};

use outercore_graph::Result;

use super::{Penalty, Selector, penalties::Penalties};

/// Vertices with their scores, the one that is to be chosen next first; the smaller id among
/// equals. What has changed since is there twice, and counts once.
struct Best<'p, 's> {
    penalties: &'p Penalties<'s>,
    heap: BinaryHeap<(u64, Reverse<u32>)>,
    lowest: bool,
    /// Vertices that could be chosen when it was made.
    all: usize,
}

impl Selector<'_> {
    /// The vertices in the order of their choice.
    pub fn gvs(&self) -> Result<Vec<u32>> {
        let penalties = Penalties::new(self)?;
        let lowest = self.options.penalty == Penalty::Lowest;
        let mut best = Best { penalties: &penalties, heap: BinaryHeap::new(), lowest, all: 0 };
        best.fill(self);
        let (mut chosen, mut used, rounds) = (Vec::new(), 0u64, self.options.rounds);
        for round in 1..=rounds {
            self.progress.check()?;
            let first = chosen.len();
            let most = (u128::from(self.room) * u128::from(round) / u128::from(rounds)) as u64;
            while let Some(vertex) = best.next() {
                let bytes = self.bytes(vertex);
                if used + bytes <= most {
                    penalties.choose(vertex);
                    chosen.push(vertex);
                    used += bytes;
                } else if round < rounds {
                    best.add(vertex);
                    break;
                }
            }
            if round < rounds && first < chosen.len() {
                penalties.update(&chosen[first..], |vertex| best.add(vertex))?;
                if best.heap.len() > 2 * best.all {
                    best.fill(self);
                }
            }
        }
        Ok(chosen)
    }
}

impl Best<'_, '_> {
    fn key(&self, vertex: u32) -> u64 {
        // Numbers that are not below zero are in the order of their bits.
        let bits = self.penalties.score(vertex).to_bits();
        if self.lowest { !bits } else { bits }
    }

    /// Makes the heap anew.
    fn fill(&mut self, selector: &Selector) {
        let all = 0..selector.graph.connected() as u32;
        let entries: Vec<_> = all
            .filter(|&vertex| self.penalties.is_free(vertex))
            .map(|vertex| (self.key(vertex), Reverse(vertex)))
            .collect();
        self.all = entries.len();
        self.heap = BinaryHeap::from(entries);
    }

    fn add(&mut self, vertex: u32) {
        if self.penalties.is_free(vertex) {
            self.heap.push((self.key(vertex), Reverse(vertex)));
        }
    }

    fn next(&mut self) -> Option<u32> {
        loop {
            let (key, Reverse(vertex)) = self.heap.pop()?;
            if self.penalties.is_free(vertex) && key == self.key(vertex) {
                return Some(vertex);
            }
        }
    }
}
