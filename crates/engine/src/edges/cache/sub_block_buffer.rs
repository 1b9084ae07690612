//! [`SubBlockBuffer`]: chunks of the grid that stay in memory from one pass to the next, those with
//! the most active edges (GraphSD, ICPP'22, section 4.3).
//!
//! Memory: what it is given. A chunk that comes in while there is no room takes the place of those
//! with fewer active edges, or of none.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, Mutex},
};

use outercore_storage::lock;

use crate::{
    edges::piece_stream::{ChunkCache, Held},
    techniques::Technique,
};

/// Chunks in memory.
pub struct SubBlockBuffer(Mutex<State>);

#[derive(Default)]
struct State {
    /// Bytes that are not in use.
    spare: u64,
    held: HashMap<usize, (u64, Held)>,
    /// Priority and number of those that are held, the lowest first.
    order: BTreeSet<(u64, usize)>,
}

/// Bytes that a chunk takes beside its words: its entries, and the rest of its last page.
const ENTRY: u64 = 8 << 10;

impl SubBlockBuffer {
    /// Room for `most` bytes.
    pub(crate) fn new(most: u64) -> Self {
        Self(Mutex::new(State { spare: most, ..State::default() }))
    }
}

impl ChunkCache for SubBlockBuffer {
    fn technique(&self) -> Technique {
        Technique::SubBlocks
    }

    fn get(&self, chunk: usize) -> Option<Held> {
        let state = lock(&self.0);
        state.held.get(&chunk).map(|(_, words)| words.clone())
    }

    /// Notes the priority, and keeps the words if there is room or others are worth less.
    fn offer(&self, chunk: usize, priority: u64, words: &[u8]) {
        let needed = words.len() as u64 + ENTRY;
        let mut state = lock(&self.0);
        if let Some((known, _)) = state.held.get_mut(&chunk) {
            let before = std::mem::replace(known, priority);
            state.order.remove(&(before, chunk));
            state.order.insert((priority, chunk));
            return;
        }
        // Nothing is given up unless that makes room enough, nor what others look at: they would
        // still have it.
        let (mut spare, mut out) = (state.spare, Vec::new());
        for &(other, number) in state.order.iter().take_while(|&&(other, _)| other < priority) {
            let words = &state.held[&number].1;
            if spare < needed && Arc::strong_count(words) == 1 {
                spare += words.len() as u64 + ENTRY;
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
        state.order.insert((priority, chunk));
        state.held.insert(chunk, (priority, Arc::new(words.to_vec())));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_priority_goes_first_and_only_for_a_higher_one() {
        let words = vec![7; 92 << 10];
        let blocks = SubBlockBuffer::new(300 << 10);
        for (chunk, priority) in [(1, 10), (2, 30), (3, 20)] {
            blocks.offer(chunk, priority, &words);
        }
        let held = || (0..8).filter(|&chunk| blocks.get(chunk).is_some()).collect::<Vec<_>>();
        assert_eq!(held(), [1, 2, 3]);
        blocks.offer(4, 10, &words);
        assert_eq!(held(), [1, 2, 3], "no higher than the lowest");
        blocks.offer(4, 11, &words);
        assert_eq!(held(), [2, 3, 4]);
        blocks.offer(2, 1, &words);
        blocks.offer(5, 5, &words);
        assert_eq!(held(), [3, 4, 5], "priorities follow the passes");
        blocks.offer(6, 1000, &vec![0; 400 << 10]);
        assert_eq!(held(), [3, 4, 5], "what does not fit at all drives nothing out");
        blocks.offer(7, 0, &[]);
        assert_eq!(held(), [3, 4, 5], "no vertex is active in it");
        let looked_at = blocks.get(5);
        blocks.offer(6, 1000, &words);
        assert_eq!(held(), [3, 5, 6], "what somebody looks at stays, whatever it is worth");
        drop(looked_at);
        assert_eq!(**blocks.get(5).unwrap(), words[..]);
    }
}
