//! Greedy vertex selection (GVS; BASC, ATC'19, Algorithm 1): vertices whose penalty is highest for
//! the memory that their lists take, in rounds. After each round penalties are computed again where
//! something was chosen.
//!
//! What is wanted together is what sample searches want so (`stays`), or the neighbors of a vertex,
//! as the paper has it (`penalties`). Its text takes the highest penalty, divided by the vertex's
//! degree; its listing the lowest, divided by the in-degree. Each can be asked for ([`Penalty`],
//! [`Divisor`](super::Divisor)); by itself the highest is taken, divided by both.
//!
//! Lists are in memory if the budget has room for them, or read: all of them where most are needed.

use std::{cmp::Reverse, collections::BinaryHeap};

use outercore_graph::Result;
use outercore_storage::threads;

use super::{Penalty, Selector};

/// What vertices are chosen by.
pub(super) trait Scores: Sync {
    /// What a vertex gains for each unit of memory, as a number that is larger for more.
    fn score(&self, vertex: u32) -> f64;
    /// Whether a vertex has a list that was not chosen.
    fn is_free(&self, vertex: u32) -> bool;
    /// Chooses a vertex.
    fn choose(&self, vertex: u32);
    /// Scores anew where something was chosen in a round. Returns vertices whose scores may be
    /// others.
    fn update(&mut self, round: u64, chosen: &[u32]) -> Result<Vec<u32>>;
}

/// A vertex by its score; the smaller id is the better one among equals.
type Scored = (u64, Reverse<u32>);

/// Vertices with their scores, from which the best is taken. What has changed since it was made is
/// there twice, and counts once.
#[derive(Default)]
struct Best {
    /// All that could be chosen when it was made, ascending.
    sorted: Vec<Scored>,
    /// What has changed since.
    changed: BinaryHeap<Scored>,
    lowest: bool,
    /// How many could be chosen when it was made.
    all: usize,
    /// Whether scores may have changed since.
    is_old: bool,
}

impl Selector<'_> {
    /// The vertices in the order of their choice.
    pub fn gvs(&self, mut scores: impl Scores) -> Result<Vec<u32>> {
        let lowest = self.options.sample == 0 && self.options.penalty == Penalty::Lowest;
        let mut best = Best { lowest, ..Best::default() };
        best.fill(self, &scores)?;
        let (mut chosen, mut used, rounds) = (Vec::new(), 0u64, self.options.rounds);
        for round in 1..=rounds {
            self.progress.check()?;
            let first = chosen.len();
            let most = (u128::from(self.room) * u128::from(round) / u128::from(rounds)) as u64;
            while let Some(vertex) = best.next(&scores) {
                let bytes = self.bytes(vertex);
                if used + bytes <= most {
                    scores.choose(vertex);
                    chosen.push(vertex);
                    used += bytes;
                } else if round < rounds {
                    best.add(vertex, &scores);
                    break;
                }
            }
            if round < rounds {
                let changed = scores.update(round, &chosen[first..])?;
                if best.sorted.len() + best.changed.len() + changed.len() > 2 * best.all {
                    best.fill(self, &scores)?;
                } else {
                    best.is_old = true;
                    changed.into_iter().for_each(|vertex| best.add(vertex, &scores));
                }
            }
        }
        Ok(chosen)
    }
}

impl Best {
    fn key(&self, vertex: u32, scores: &impl Scores) -> u64 {
        // Numbers that are not below zero are in the order of their bits.
        let bits = scores.score(vertex).to_bits();
        if self.lowest { !bits } else { bits }
    }

    /// Makes it anew.
    fn fill(&mut self, selector: &Selector, scores: &impl Scores) -> Result<()> {
        (self.sorted, self.changed) = Default::default();
        let (all, threads) = (selector.graph.connected(), selector.options.threads);
        let part = |at: usize| (all * at as u64 / threads as u64) as u32;
        let sorted = |at| {
            let free = (part(at)..part(at + 1)).filter(|&vertex| scores.is_free(vertex));
            let mut own: Vec<Scored> =
                free.map(|vertex| (self.key(vertex, scores), Reverse(vertex))).collect();
            own.sort_unstable();
            own
        };
        self.sorted = threads::at_once(threads, sorted)?.concat();
        // To sort once costs less than to sift each vertex that is taken through a large heap.
        // This sort finds the parts that are sorted, and merges them.
        self.sorted.sort();
        (self.all, self.is_old) = (self.sorted.len(), false);
        Ok(())
    }

    fn add(&mut self, vertex: u32, scores: &impl Scores) {
        if scores.is_free(vertex) {
            self.changed.push((self.key(vertex, scores), Reverse(vertex)));
        }
    }

    fn next(&mut self, scores: &impl Scores) -> Option<u32> {
        loop {
            let of_changed = self.changed.peek() > self.sorted.last();
            let best = if of_changed { self.changed.pop() } else { self.sorted.pop() };
            let (key, Reverse(vertex)) = best?;
            let is_current = !self.is_old || key == self.key(vertex, scores);
            if scores.is_free(vertex) && is_current {
                return Some(vertex);
            }
        }
    }
}
