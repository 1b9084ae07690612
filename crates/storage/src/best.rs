//! [`Best`]: the largest of many values, each with the number of what has it.

use std::{
    cmp::{Ordering, Reverse},
    collections::BinaryHeap,
};

/// A value that can be compared; of equal ones that with the smaller number comes first.
#[derive(PartialEq)]
struct Ranked(f64, Reverse<u64>);

impl Eq for Ranked {}

impl PartialOrd for Ranked {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ranked {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0).then(self.1.cmp(&other.1))
    }
}

/// At most so many values, the largest of those that were offered.
pub struct Best {
    count: usize,
    found: BinaryHeap<Reverse<Ranked>>,
}

impl Best {
    /// The best `count` of what will be offered.
    pub fn new(count: usize) -> Self {
        Self { count, found: BinaryHeap::new() }
    }

    /// Offers a value with its number.
    pub fn offer(&mut self, value: f64, number: u64) {
        let ranked = Ranked(value, Reverse(number));
        if self.found.len() < self.count {
            self.found.push(Reverse(ranked));
        } else if self.found.peek().is_some_and(|Reverse(worst)| ranked > *worst) {
            self.found.pop();
            self.found.push(Reverse(ranked));
        }
    }

    /// Values and numbers, the best first; of equal values the smaller number.
    pub fn into_rows(self) -> impl Iterator<Item = (f64, u64)> {
        let sorted = self.found.into_sorted_vec().into_iter();
        sorted.map(|Reverse(Ranked(value, Reverse(number)))| (value, number))
    }
}

#[cfg(test)]
mod tests {
    use super::Best;

    #[test]
    fn the_best_come_first() {
        let mut best = Best::new(3);
        for (number, value) in [1.0, 3.0, f64::NEG_INFINITY, 2.0, 3.0, 2.0].into_iter().enumerate()
        {
            best.offer(value, number as u64);
        }
        let rows: Vec<_> = best.into_rows().collect();
        assert_eq!(rows, [(3.0, 1), (3.0, 4), (2.0, 3)]);
        let mut none = Best::new(0);
        none.offer(1.0, 0);
        assert_eq!(none.into_rows().count(), 0);
    }
}
