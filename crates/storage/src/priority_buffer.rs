//! [`PriorityBuffer`]: parts of files in memory, those that are worth most.
//!
//! Memory: what it is given. A part that comes in while there is no room takes the place of those
//! that are worth less, or of none.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, Mutex},
};

use crate::lock;

/// Parts in memory, by their number.
pub struct PriorityBuffer(Mutex<HeldParts>);

#[derive(Default)]
struct HeldParts {
    /// Bytes that are not in use.
    spare: u64,
    held: HashMap<usize, (u64, Arc<Vec<u8>>)>,
    /// Priority and number of those that are held, the lowest first.
    order: BTreeSet<(u64, usize)>,
}

/// Bytes that a part takes beside its own: its entries, and the rest of its last page.
const ENTRY: u64 = 8 << 10;

impl PriorityBuffer {
    /// Room for `most` bytes.
    pub fn new(most: u64) -> Self {
        Self(Mutex::new(HeldParts { spare: most, ..HeldParts::default() }))
    }

    /// The bytes of a part, if they are here.
    pub fn get(&self, part: usize) -> Option<Arc<Vec<u8>>> {
        lock(&self.0).held.get(&part).map(|(_, bytes)| bytes.clone())
    }

    /// Bytes that are not in use.
    pub fn spare(&self) -> u64 {
        lock(&self.0).spare
    }

    /// Notes the priority, and keeps the bytes if there is room or others are worth less.
    pub fn offer(&self, part: usize, priority: u64, bytes: &[u8]) {
        let needed = bytes.len() as u64 + ENTRY;
        let mut state = lock(&self.0);
        if let Some((known, _)) = state.held.get_mut(&part) {
            let before = std::mem::replace(known, priority);
            state.order.remove(&(before, part));
            state.order.insert((priority, part));
            return;
        }
        // Nothing is given up unless that makes room enough, nor what others look at: they would
        // still have it.
        let (mut spare, mut out) = (state.spare, Vec::new());
        for &(other, number) in state.order.iter().take_while(|&&(other, _)| other < priority) {
            let held = &state.held[&number].1;
            if spare < needed && Arc::strong_count(held) == 1 {
                spare += held.len() as u64 + ENTRY;
                out.push((other, number));
            }
        }
        if spare < needed || priority == 0 {
            return;
        }
        for (other, number) in out {
            state.order.remove(&(other, number));
            state.held.remove(&number);
        }
        state.spare = spare - needed;
        state.order.insert((priority, part));
        state.held.insert(part, (priority, Arc::new(bytes.to_vec())));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_priority_goes_first_and_only_for_a_higher_one() {
        let words = vec![7; 92 << 10];
        let parts = PriorityBuffer::new(300 << 10);
        for (part, priority) in [(1, 10), (2, 30), (3, 20)] {
            parts.offer(part, priority, &words);
        }
        let held = || (0..8).filter(|&part| parts.get(part).is_some()).collect::<Vec<_>>();
        assert_eq!(held(), [1, 2, 3]);
        parts.offer(4, 10, &words);
        assert_eq!(held(), [1, 2, 3], "no higher than the lowest");
        parts.offer(4, 11, &words);
        assert_eq!(held(), [2, 3, 4]);
        parts.offer(2, 1, &words);
        parts.offer(5, 5, &words);
        assert_eq!(held(), [3, 4, 5], "priorities change");
        parts.offer(6, 1000, &vec![0; 400 << 10]);
        assert_eq!(held(), [3, 4, 5], "what does not fit at all drives nothing out");
        parts.offer(7, 0, &[]);
        assert_eq!(held(), [3, 4, 5], "it is worth nothing");
        let looked_at = parts.get(5);
        parts.offer(6, 1000, &words);
        assert_eq!(held(), [3, 5, 6], "what somebody looks at stays, whatever it is worth");
        drop(looked_at);
        assert_eq!(**parts.get(5).unwrap(), words[..]);
    }
}
