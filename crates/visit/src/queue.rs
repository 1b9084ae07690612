//! [`Queue`]: the visitors of one worker, those with the smallest priority first: a radix heap
//! (Ahuja, Mehlhorn, Orlin and Tarjan, 1990).
//!
//! A visitor lies in the bucket of the highest bit in which its priority differs from the last
//! one that was taken. A bucket is spread over those below it when its turn comes, so a visitor
//! moves seldom, and always to the end of a list. Visitors that come with a smaller priority than
//! the last one wait in a binary heap, because they are few. Their order matters all the more.
//!
//! Where lists are read they are many: while some lists are on their way, others are followed. So
//! there is no heap. The smallest ones are taken in parts, a twentieth of all at a time, and each
//! part in the order of its vertices: what is read together lies together. A part has no order by
//! priority, so late ones join the next part.
//!
//! A queue that became too long drops the largest priorities. Then it takes no larger ones than the
//! smallest that it dropped, so that none of those is passed over.

use std::{cmp::Reverse, collections::BinaryHeap, mem::take};

/// Priority and vertex.
pub type Waiting = (u64, u64);

/// Of those that wait, such a part is taken at once where lists are read.
const PART: usize = 20;
/// Visitors for which an emptied bucket keeps its memory.
const KEPT: usize = 1 << 10;

/// The visitors of one worker.
pub struct Queue {
    /// Bucket 0 has those whose turn it is.
    buckets: Vec<Vec<Waiting>>,
    /// Of the others, those that are not empty, as bits.
    filled: u64,
    early: BinaryHeap<Reverse<Waiting>>,
    /// Those that come next: with the last priority, or not above it.
    again: Vec<Waiting>,
    /// No priority in a bucket but the first is below it, while the queue is not empty.
    pub last: u64,
    /// How many there are.
    pub len: usize,
    /// The largest priority that it takes.
    pub horizon: u64,
    /// Visitors that it dropped.
    pub dropped: u64,
    /// Whether they come in parts, each in ascending order of its vertices.
    by_vertex: bool,
}

/// The bit that says of a bucket that it is filled; bucket 0 has none.
#[inline(always)]
fn bit(bucket: usize) -> u64 {
    ((1u128 << bucket) >> 1) as u64
}

/// The smallest and the largest priority.
fn ends(some: &[Waiting]) -> (u64, u64) {
    some.iter()
        .fold((u64::MAX, 0), |(low, high), &(priority, _)| (priority.min(low), priority.max(high)))
}

impl Queue {
    /// An empty one.
    pub(crate) fn new(by_vertex: bool) -> Self {
        let (buckets, early) = ((0..=64).map(|_| Vec::new()).collect(), BinaryHeap::new());
        Self {
            buckets,
            filled: 0,
            early,
            again: Vec::new(),
            last: 0,
            len: 0,
            horizon: u64::MAX,
            dropped: 0,
            by_vertex,
        }
    }

    /// Puts a visitor in.
    #[inline(always)]
    pub(crate) fn push(&mut self, waiting: Waiting) {
        if waiting.0 > self.horizon {
            self.dropped += 1;
            return;
        }
        self.len += 1;
        if waiting.0 < self.last && !self.by_vertex {
            self.early.push(Reverse(waiting));
        } else {
            self.put(waiting);
        }
    }

    #[inline(always)]
    fn put(&mut self, waiting: Waiting) {
        if waiting.0 <= self.last {
            self.again.push(waiting);
            return;
        }
        let bucket = 64 - (waiting.0 ^ self.last).leading_zeros() as usize;
        self.filled |= bit(bucket);
        self.buckets[bucket].push(waiting);
    }

    /// Takes out a visitor with the smallest priority; returns its vertex.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<u64> {
        if let Some(Reverse(waiting)) = self.early.pop() {
            self.len -= 1;
            return Some(waiting.1);
        }
        if self.buckets[0].is_empty() {
            self.turn()?;
        }
        self.len -= 1;
        self.buckets[0].pop().map(|waiting| waiting.1)
    }

    /// Fills bucket 0: with those that have come meanwhile, and from the first buckets that have
    /// visitors.
    fn turn(&mut self) -> Option<()> {
        let few = if self.by_vertex { self.len / PART } else { 0 };
        while self.again.len() <= few && self.spread(few) {}
        if self.again.is_empty() {
            // What comes next may have any priority.
            self.last = 0;
            return None;
        }
        std::mem::swap(&mut self.again, &mut self.buckets[0]);
        if self.buckets[0].len() > 2 * few && self.by_vertex {
            // Too many are taken only if they have one priority, for the sake of their order.
            let (low, high) = ends(&self.buckets[0]);
            if low != high {
                let few = few.max(1);
                self.buckets[0].select_nth_unstable(few);
                self.again.extend(self.buckets[0].drain(few..));
            }
        }
        if self.again.capacity() > KEPT && self.again.is_empty() {
            self.again = Vec::new();
        }
        if self.by_vertex {
            self.buckets[0].sort_unstable_by_key(|&(_, vertex)| Reverse(vertex));
        }
        Some(())
    }

    /// Takes those of the first bucket that has visitors, if they are few or have one priority;
    /// else spreads it over those below it. `false`: there is none.
    fn spread(&mut self, few: usize) -> bool {
        if self.filled == 0 {
            return false;
        }
        let bucket = self.filled.trailing_zeros() as usize + 1;
        self.filled &= self.filled - 1;
        let mut moved = take(&mut self.buckets[bucket]);
        let (low, high) = ends(&moved);
        self.last = low;
        if low == high {
            self.again.append(&mut moved);
        } else if moved.len() <= few {
            self.last |= bit(bucket) - 1;
            self.again.append(&mut moved);
        } else {
            moved.drain(..).for_each(|waiting| self.put(waiting));
        }
        if moved.capacity() <= KEPT {
            self.buckets[bucket] = moved;
        }
        true
    }

    /// Drops visitors that are of no use.
    pub(crate) fn retain(&mut self, is_of_use: impl Fn(Waiting) -> bool) {
        self.early.retain(|Reverse(waiting)| is_of_use(*waiting));
        self.again.retain(|waiting| is_of_use(*waiting));
        self.len = self.early.len() + self.again.len();
        for (number, bucket) in self.buckets.iter_mut().enumerate() {
            bucket.retain(|waiting| is_of_use(*waiting));
            bucket.shrink_to_fit();
            self.len += bucket.len();
            if bucket.is_empty() {
                self.filled &= !bit(number);
            }
        }
    }

    /// Drops visitors with the largest priorities until at most `most` are left.
    pub(crate) fn shed(&mut self, most: usize) {
        let before = self.len;
        self.buckets[0].append(&mut self.again);
        for (number, bucket) in self.buckets.iter_mut().enumerate().rev() {
            let goes = self.len.saturating_sub(most).min(bucket.len());
            self.len -= goes;
            let gone = bucket.drain(bucket.len() - goes..).map(|waiting| waiting.0);
            self.horizon = gone.fold(self.horizon, u64::min);
            bucket.shrink_to_fit();
            if bucket.is_empty() {
                self.filled &= !bit(number);
            }
        }
        if self.len > most {
            let gone = take(&mut self.early).into_iter().map(|Reverse(waiting)| waiting.0);
            (self.horizon, self.len) = (gone.fold(self.horizon, u64::min), 0);
        }
        self.dropped += (before - self.len) as u64;
    }

    /// Takes out all.
    pub(crate) fn drain(&mut self) -> Vec<Waiting> {
        (self.filled, self.len, self.last) = (0, 0, 0);
        let early = take(&mut self.early).into_iter().map(|Reverse(waiting)| waiting);
        early.chain(take(&mut self.again)).chain(self.buckets.iter_mut().flat_map(take)).collect()
    }

    /// Bytes of memory.
    pub(crate) fn bytes(&self) -> u64 {
        let items = self.buckets.iter().chain([&self.again]).map(Vec::capacity).sum::<usize>();
        let items = items + self.early.capacity();
        (items * size_of::<Waiting>()) as u64
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Of what is in it the smallest comes first, also where smaller ones come late.
        #[test]
        fn the_smallest_comes_first(
            steps in prop::collection::vec(
                (prop::option::weighted(0.7, any::<u64>()), 0u32..64), 1..400,
            ),
            by_vertex: bool,
        ) {
            let (mut queue, mut model) = (Queue::new(by_vertex), Vec::new());
            for (vertex, (pushed, shift)) in steps.into_iter().enumerate() {
                match pushed {
                    Some(priority) => {
                        queue.push((priority >> shift, vertex as u64));
                        model.push((priority >> shift, vertex as u64));
                    }
                    None => {
                        let smallest = model.iter().map(|waiting| waiting.0).min();
                        let popped = queue.pop();
                        prop_assert_eq!(popped.is_some(), smallest.is_some());
                        let Some(popped) = popped else { continue };
                        let at = model.iter().position(|waiting| waiting.1 == popped).unwrap();
                        let priority = model.swap_remove(at).0;
                        prop_assert!(by_vertex || Some(priority) == smallest);
                    }
                }
                prop_assert_eq!(queue.len, model.len());
            }
            // Half of them go. What is dropped, and what comes later, is not below the horizon.
            let most = model.len() / 2;
            queue.shed(most);
            let gone = queue.dropped as usize;
            prop_assert!(queue.len <= most && queue.len + gone == model.len());
            let below = model.iter().filter(|waiting| waiting.0 < queue.horizon).count();
            prop_assert!(below <= queue.len);
            if queue.horizon < u64::MAX {
                queue.push((queue.horizon + 1, u64::MAX));
                prop_assert_eq!(queue.dropped as usize, gone + 1);
            }
            let left = queue.drain();
            prop_assert!(left.iter().all(|waiting| model.contains(waiting)));
            prop_assert_eq!((left.len() + gone, queue.len, queue.pop()), (model.len(), 0, None));
        }
    }

    /// By vertex they come in parts, each of which has the smallest ones that there are.
    #[test]
    fn parts_of_the_smallest_come_in_the_order_of_their_vertices() {
        let mut queue = Queue::new(true);
        let mut left: Vec<Waiting> = (0..5000).map(|at: u64| (at * 7919 % 5003, at)).collect();
        left.iter().for_each(|&waiting| queue.push(waiting));
        let (mut before, mut parts) = (u64::MAX, 0);
        while let Some(vertex) = queue.pop() {
            parts += u64::from(vertex < before);
            let at = left.iter().position(|waiting| waiting.1 == vertex).unwrap();
            let (priority, _) = left.swap_remove(at);
            let smaller = left.iter().filter(|waiting| waiting.0 < priority).count();
            assert!(smaller <= 2 * (left.len() / PART + 200), "{smaller} of {}", left.len());
            before = vertex;
        }
        assert!(left.is_empty() && parts > PART as u64 && parts < 500, "{parts}");
    }

    /// One that comes late, though it is the first, does not wait for many others.
    #[test]
    fn a_late_one_has_the_next_part() {
        let mut queue = Queue::new(true);
        (0..1200).for_each(|vertex| queue.push((1000 + vertex, vertex)));
        assert_eq!(queue.pop(), Some(0));
        queue.push((3, 5000));
        let next = std::iter::from_fn(|| queue.pop()).position(|vertex| vertex == 5000);
        assert!(next.unwrap() <= 4 * 1200 / PART, "{next:?}");
    }

    #[test]
    fn visitors_of_one_priority_come_in_the_order_of_their_vertices() {
        let mut queue = Queue::new(true);
        [5, 1, 9, 3].into_iter().for_each(|vertex| queue.push((7, vertex)));
        queue.push((8, 0));
        let order: Vec<u64> = std::iter::from_fn(|| queue.pop()).collect();
        assert_eq!(order, [1, 3, 5, 9, 0]);
    }
}
