//! Selective cross-iteration update (SCIU; GraphSD, ICPP'22, Algorithm 2): lists that an on-demand
//! iteration has read stay for the next one, as far as memory goes. A vertex that is active again
//! needs no read then.

use std::sync::Mutex;

use outercore_graph::{
    Result,
    format::{Group, INDEX_GROUP, List, RowIndex},
};
use outercore_storage::{Bitmap, HugePages, lock};

use crate::{Kept, ListCache};

/// Lists in memory, between two iterations: those of the one before serve this one, and its own are
/// kept.
pub struct RetainedLists {
    /// Bytes of the lists that one worker may keep.
    most: usize,
    /// The lists that serve this iteration.
    before: Vec<WorkerShelf>,
    /// What each worker keeps of it.
    now: Vec<Mutex<WorkerShelf>>,
    /// The vertices of the lists that serve this iteration.
    held: Bitmap,
    /// Bytes of a neighbor, and of a weight; 0: weights are not read.
    widths: [usize; 2],
}

/// The lists that one worker keeps. No `Shelf` of `lists`: that one is read whole, and never grows.
#[derive(Default)]
struct WorkerShelf {
    /// Vertex, and where its list begins in `bytes`.
    lists: Vec<(u64, usize)>,
    bytes: Vec<u8>,
}

/// Bytes of memory that an entry of [`WorkerShelf::lists`] takes, beside its list.
const ENTRY: usize = 16;

impl RetainedLists {
    /// Nothing kept yet; at most `most` bytes of each worker's will be.
    pub fn new(vertices: u64, workers: usize, most: usize, widths: [usize; 2]) -> Result<Self> {
        let held = Bitmap::new(vertices, HugePages::Off)?;
        let now = (0..workers).map(|_| Mutex::default()).collect();
        Ok(Self { most, before: Vec::new(), now, held, widths })
    }

    /// Begins an iteration: what the last one kept serves it.
    pub fn turn(&mut self) {
        self.held.clear();
        // What served the last one goes first.
        self.before.clear();
        for shelf in &mut self.now {
            let mut shelf = std::mem::take(shelf.get_mut().expect("no holder panics"));
            shelf.lists.sort_unstable_by_key(|&(vertex, _)| vertex);
            shelf.lists.iter().for_each(|&(vertex, _)| {
                self.held.insert(vertex);
            });
            self.before.push(shelf);
        }
    }
}

impl ListCache for RetainedLists {
    fn held(&self, _: &RowIndex, (group, bits): Group) -> u64 {
        self.held.word(group) & bits
    }

    fn show(
        &self,
        index: &RowIndex,
        (group, bits): Group,
        worker: usize,
        visit: &mut dyn FnMut(u64, List),
    ) -> u64 {
        let (first, mut hits) = (group * INDEX_GROUP, 0);
        for shelf in &self.before {
            let from = shelf.lists.partition_point(|&(vertex, _)| vertex < first);
            for &(vertex, start) in
                shelf.lists[from..].iter().take_while(|list| list.0 < first + INDEX_GROUP)
            {
                if bits >> (vertex - first) & 1 == 1 {
                    let [width, weight_width] = self.widths;
                    let degree = index.degree(vertex) as usize;
                    let bytes = &shelf.bytes[start..start + degree * (width + weight_width)];
                    let (neighbors, weights) = bytes.split_at(degree * width);
                    let list = List { neighbors, weights, width, weight_width };
                    self.offer(worker, vertex, list);
                    visit(vertex, list);
                    hits += 1;
                }
            }
        }
        hits
    }

    fn kept(&self) -> Kept {
        Kept::Retained
    }

    fn takes_lists(&self) -> bool {
        true
    }

    fn offer(&self, worker: usize, vertex: u64, list: List) {
        let mut shelf = lock(&self.now[worker]);
        let len = list.neighbors.len() + list.weights.len();
        let needed = shelf.bytes.len() + len + (shelf.lists.len() + 1) * ENTRY;
        if needed <= self.most {
            let start = shelf.bytes.len();
            if shelf.lists.capacity() == 0 {
                // At once: a vector that doubles would have its old memory beside the new.
                shelf.bytes.reserve_exact(self.most);
            }
            shelf.lists.push((vertex, start));
            shelf.bytes.extend_from_slice(list.neighbors);
            shelf.bytes.extend_from_slice(list.weights);
        }
    }
}

#[cfg(test)]
mod tests {
    use outercore_storage::HugeVec;

    use super::*;
    use outercore_graph::format::Degrees;

    /// 128 vertices with as many neighbors as their last two bits say.
    fn index() -> RowIndex {
        let mut degrees: HugeVec<u32> = HugeVec::zeroed(128, HugePages::Off).unwrap();
        degrees.iter_mut().zip(0..).for_each(|(degree, vertex)| *degree = vertex % 4);
        let mut offsets: HugeVec<u64> = HugeVec::zeroed(3, HugePages::Off).unwrap();
        offsets.copy_from_slice(&[0, 96, 192]);
        RowIndex { degrees: Degrees::Wide(0, degrees), offsets, window: 0..128 }
    }

    fn shown(lists: &RetainedLists, group: Group) -> Vec<(u64, Vec<u64>)> {
        let mut shown = Vec::new();
        let hits = lists.show(&index(), group, 0, &mut |vertex, list| {
            shown.push((vertex, list.neighbors().collect()));
        });
        assert_eq!(hits, shown.len() as u64);
        shown.sort_unstable();
        shown
    }

    #[test]
    fn lists_serve_the_next_iteration_as_often_as_their_vertices_are_active() {
        let mut lists = RetainedLists::new(128, 2, 1000, [1, 0]).unwrap();
        lists.turn();
        assert_eq!(lists.held(&index(), (0, u64::MAX)), 0);
        lists.offer(1, 70, List::of(&[5, 6], 1));
        lists.offer(1, 7, List::of(&[1, 2, 3], 1));
        lists.offer(0, 9, List::of(&[4], 1));
        lists.turn();
        assert_eq!(lists.held(&index(), (0, u64::MAX)), 1 << 7 | 1 << 9);
        assert_eq!(lists.held(&index(), (1, 1)), 0, "not active");
        assert_eq!(shown(&lists, (0, 1 << 7 | 1 << 9)), [(7, vec![1, 2, 3]), (9, vec![4])]);
        lists.turn();
        assert_eq!(lists.held(&index(), (1, u64::MAX)), 0, "it was not active again");
        assert_eq!(lists.held(&index(), (0, u64::MAX)), 1 << 7 | 1 << 9);
        assert_eq!(shown(&lists, (0, 1 << 9)), [(9, vec![4])]);
    }

    #[test]
    fn what_does_not_fit_is_not_kept() {
        let mut lists = RetainedLists::new(128, 1, 2 * ENTRY + 4, [1, 0]).unwrap();
        lists.turn();
        lists.offer(0, 3, List::of(&[1, 2, 3], 1));
        lists.offer(0, 6, List::of(&[1, 2], 1));
        lists.offer(0, 5, List::of(&[9], 1));
        lists.turn();
        assert_eq!(lists.held(&index(), (0, u64::MAX)), 1 << 3 | 1 << 5);
        assert_eq!(shown(&lists, (0, 1 << 3 | 1 << 5)), [(3, vec![1, 2, 3]), (5, vec![9])]);
    }
}
