//! [`HeldLists`]: lists that caches hold, on their way to a worker, between those that are read.
//! Where the order matters, all of them come in ascending order of their vertices.

use std::collections::VecDeque;

use outercore_graph::format::{Group, INDEX_GROUP, List, RowIndex};

use crate::ListCache;

/// Caches before the device, the first to be asked first.
pub type Chain<'c> = &'c [&'c dyn ListCache];

/// Groups of vertices, each of one cache, that may wait.
const MANY: usize = 1 << 12;

/// Lists that a worker wants and a chain of caches holds.
pub struct HeldLists<'c> {
    /// The caches.
    pub chain: Chain<'c>,
    /// Of each cache: hits, and bytes that need not be read because of it.
    pub hits: Vec<[u64; 2]>,
    /// In order, the first vertex whose list waits; else, and if none does, the greatest number.
    pub next: u64,
    in_order: bool,
    /// Places of caches in the chain, and what each of them holds.
    waiting: VecDeque<(usize, Group)>,
}

/// The first vertex of a group.
fn first((group, bits): Group) -> u64 {
    group * INDEX_GROUP + u64::from(bits.trailing_zeros())
}

impl<'c> HeldLists<'c> {
    /// None yet.
    pub fn new(chain: Chain<'c>, in_order: bool) -> Self {
        let hits = vec![[0; 2]; chain.len()];
        Self { chain, hits, next: u64::MAX, in_order, waiting: VecDeque::new() }
    }

    /// Takes those of a group's vertices whose lists a cache holds; returns the others. Groups come
    /// in ascending order where the order matters.
    pub fn take(&mut self, index: &RowIndex, (group, mut bits): Group) -> u64 {
        for (at, cache) in self.chain.iter().enumerate() {
            let held = cache.held(index, (group, bits));
            if held != 0 {
                self.waiting.push_back((at, (group, held)));
                bits &= !held;
                if self.in_order {
                    self.next = self.next.min(first((group, held)));
                }
            }
        }
        bits
    }

    /// Whether so many wait that they take memory.
    pub fn are_many(&self) -> bool {
        self.waiting.len() > MANY
    }

    /// Shows those that wait to a worker; in order, those of vertices before `end`.
    pub fn show(
        &mut self,
        (index, worker): (&RowIndex, usize),
        end: u64,
        visit: &mut dyn FnMut(u64, List),
    ) {
        while let Some((at, group)) = self.pop(end) {
            let [hits, bytes] = &mut self.hits[at];
            *hits += self.chain[at].show(index, group, worker, &mut |vertex, list| {
                *bytes += list.neighbors.len() as u64;
                visit(vertex, list);
            });
        }
    }

    /// Those that are shown next, all of one cache: in order, as far as the first one of another.
    fn pop(&mut self, end: u64) -> Option<(usize, Group)> {
        if !self.in_order {
            return self.waiting.pop_front();
        }
        let [(next, at), (other, _)] = self.firsts()?;
        if next >= end {
            return None;
        }
        let (cache, (group, bits)) = self.waiting[at];
        let ahead = end.min(other) - group * INDEX_GROUP;
        let now = if ahead < INDEX_GROUP { bits & ((1 << ahead) - 1) } else { bits };
        if now == bits {
            self.waiting.remove(at);
        } else {
            self.waiting[at].1.1 = bits & !now;
        }
        self.next = self.firsts().map_or(u64::MAX, |[(next, _), _]| next);
        Some((cache, (group, now)))
    }

    /// Of the first group, the cache with the first vertex and that with the next one: the vertex,
    /// and where they wait.
    fn firsts(&self) -> Option<[(u64, usize); 2]> {
        let group = self.waiting.front()?.1.0;
        let mut firsts = [(u64::MAX, 0); 2];
        for (at, &(_, held)) in self.waiting.iter().enumerate().take_while(|it| it.1.1.0 == group) {
            let own = (first(held), at);
            if own < firsts[0] {
                firsts = [own, firsts[0]];
            } else if own < firsts[1] {
                firsts[1] = own;
            }
        }
        Some(firsts)
    }

    /// Whether a cache takes lists that were read.
    pub fn takes_lists(&self) -> bool {
        self.chain.iter().any(|cache| cache.takes_lists())
    }

    /// Offers the whole list of a vertex, which a worker has read.
    pub fn offer(&self, worker: usize, vertex: u64, list: List) {
        self.chain.iter().for_each(|cache| cache.offer(worker, vertex, list));
    }
}

#[cfg(test)]
mod tests {
    use outercore_graph::format::Degrees;
    use outercore_storage::{HugePages, HugeVec};

    use super::*;
    use crate::Kept;

    /// Holds the lists of some vertices of each group, each of one neighbor.
    struct Holder(u64);

    impl ListCache for Holder {
        fn held(&self, _: &RowIndex, (_, bits): Group) -> u64 {
            bits & self.0
        }

        fn show(
            &self,
            _: &RowIndex,
            (group, bits): Group,
            _: usize,
            visit: &mut dyn FnMut(u64, List),
        ) -> u64 {
            let vertices = (0..INDEX_GROUP).filter(|at| bits >> at & 1 == 1);
            let list = List { neighbors: &[0; 4], weights: &[], width: 4, weight_width: 0 };
            vertices.map(|at| visit(group * INDEX_GROUP + at, list)).count() as u64
        }

        fn kept(&self) -> Kept {
            Kept::Front
        }
    }

    fn index() -> RowIndex {
        let degrees = Degrees::Wide(0, HugeVec::zeroed(0, HugePages::Off).unwrap());
        let offsets = HugeVec::zeroed(0, HugePages::Off).unwrap();
        RowIndex { degrees, offsets, window: 0..0 }
    }

    /// What is shown before each of `ends`.
    fn shown(in_order: bool, groups: &[Group], ends: &[u64]) -> (Vec<Vec<u64>>, Vec<[u64; 2]>) {
        let (odd, low) = (Holder(0xaaaa_aaaa_aaaa_aaaa), Holder(0xffff_ffff));
        let chain: [&dyn ListCache; 2] = [&odd, &low];
        let (mut held, index) = (HeldLists::new(&chain, in_order), index());
        for &(group, bits) in groups {
            let left = bits & !(odd.0 | low.0);
            assert_eq!(held.take(&index, (group, bits)), left);
        }
        let all = ends.iter().map(|&end| {
            let mut vertices = Vec::new();
            held.show((&index, 0), end, &mut |vertex, _| vertices.push(vertex));
            assert!(!in_order || held.next >= end);
            vertices
        });
        (all.collect(), held.hits.clone())
    }

    #[test]
    fn lists_of_several_caches_come_in_order() {
        let groups = [(0, 0b1111), (2, 1 << 40 | 1 << 41 | 1 << 63), (3, u64::MAX)];
        let ends = [0, 2, 3, 130, 191, 192, 193, 200, u64::MAX];
        let (all, hits) = shown(true, &groups, &ends);
        assert_eq!(all[..5], [vec![], vec![0, 1], vec![2], vec![3], vec![169]]);
        assert_eq!((&all[5][..], &all[6][..]), (&[191][..], &[192][..]));
        let wanted = (0..4).chain([169, 191]).chain((192..224).chain((225..256).step_by(2)));
        assert_eq!(all.concat(), wanted.collect::<Vec<_>>());
        assert_eq!(hits, [[2 + 2 + 32, 4 * 36], [2 + 16, 4 * 18]]);
    }

    #[test]
    fn in_any_order_all_are_shown_at_once() {
        let (all, hits) = shown(false, &[(0, 0b1111), (2, 0b11)], &[1, u64::MAX]);
        assert_eq!(all, [vec![1, 3, 0, 2, 129, 128], vec![]]);
        assert_eq!(hits, [[3, 12], [3, 12]]);
    }
}
