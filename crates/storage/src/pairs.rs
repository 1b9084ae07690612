//! [`Pairs`]: items of a round and of the next one, side by side; [`Fronted`]: such items, and some
//! of those behind them.

use std::ptr::NonNull;

use crate::{EverySecond, HugePages, HugeVec, Lookup, Pod, error::Result};

/// Items of this round and of the next one, side by side: what wants both finds them at one place.
/// The next ones of a range are written once, by one thread, then the range is marked as settled;
/// others read them only after that.
pub struct Pairs<T: Pod> {
    /// Owns what `base` points to, and is not used otherwise.
    _pairs: HugeVec<[T; 2]>,
    base: NonNull<[T; 2]>,
    len: u64,
    /// Which of a pair is this round's; the other one is the next one's.
    now: usize,
}

// SAFETY: it owns its items, like the `HugeVec` behind it.
unsafe impl<T: Pod + Send> Send for Pairs<T> {}
// SAFETY: this round's items change only through `turn`, which borrows exclusively. The next one's
// are written by `publish` and read through `settled`, whose contracts order them: a range is
// written by one thread before it is marked, and read by those that have seen the mark. So no item
// is written while another thread reads or writes it.
unsafe impl<T: Pod + Send + Sync> Sync for Pairs<T> {}

impl<T: Pod + Copy> Pairs<T> {
    /// So many pairs of zeros.
    pub fn zeroed(len: u64, huge: HugePages) -> Result<Self> {
        let mut pairs: HugeVec<[T; 2]> = HugeVec::zeroed(len as usize, huge)?;
        let base = NonNull::from(&mut *pairs).cast();
        Ok(Self { _pairs: pairs, base, len, now: 0 })
    }

    /// How many pairs there are.
    pub fn size(&self) -> u64 {
        self.len
    }

    /// Which of a pair is this round's.
    pub fn now(&self) -> usize {
        self.now
    }

    /// Between rounds: the next items become this round's.
    pub fn turn(&mut self) {
        self.now = 1 - self.now;
    }

    /// Writes the next items from `first` on.
    ///
    /// # Safety
    /// No other thread writes this range in this round, and it is not marked as settled yet.
    pub unsafe fn publish(&self, first: u64, items: &[T]) {
        assert!(first + items.len() as u64 <= self.len, "there are no such pairs");
        for (at, &item) in (first as usize..).zip(items) {
            // SAFETY: in bounds by the assertion; nothing else touches the next items of the range
            // (this function's contract).
            unsafe { self.base.add(at).cast::<T>().add(1 - self.now).write(item) };
        }
    }

    /// This round's items `first..=last`.
    pub fn current(&self, first: u64, last: u64) -> EverySecond<'_, T> {
        assert!(first <= last && last < self.len, "there are no such pairs");
        // SAFETY: in bounds by the assertion; this round's are not written while they are borrowed.
        unsafe {
            let base = self.base.add(first as usize).cast::<T>().add(self.now);
            EverySecond::new(base, (last - first + 1) as usize)
        }
    }

    /// The pairs `first..=last`, and which of each is this round's.
    ///
    /// # Safety
    /// The range is settled in this round: the thread has seen the mark.
    #[inline(always)]
    pub unsafe fn settled(&self, first: u64, last: u64) -> (&[[T; 2]], usize) {
        assert!(first <= last && last < self.len, "there are no such pairs");
        // SAFETY: in bounds by the assertion; written before the mark that this thread has seen,
        // and not since (this function's contract).
        let pairs = unsafe {
            let base = self.base.add(first as usize);
            NonNull::slice_from_raw_parts(base, (last - first + 1) as usize).as_ref()
        };
        (pairs, self.now)
    }
}

/// This round's items: those of the pairs in front, and a window of the others.
#[derive(Clone, Copy)]
pub struct Fronted<'s, T: Pod> {
    /// Those in front.
    pub front: &'s Pairs<T>,
    others: &'s [T],
    /// The number of the first of `others`.
    from: u64,
}

impl<'s, T: Pod + Copy> Fronted<'s, T> {
    /// Of the items from `first` on that are not in front, these.
    pub fn new(front: &'s Pairs<T>, others: &'s [T], first: u64) -> Self {
        Self { front, others, from: first.max(front.size()) }
    }

    /// The item of a number in front or in the window.
    #[inline(always)]
    pub fn of(&self, number: u64) -> T {
        if number < self.front.size() {
            // SAFETY: it is the only one.
            unsafe { self.front.current(number, number).at(0) }
        } else {
            self.others[(number - self.from) as usize]
        }
    }

    /// Those of the window from `first` on.
    pub fn others(&self, first: u64) -> &'s [T] {
        &self.others[(first - self.from) as usize..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::OrderedMarks;

    #[test]
    fn what_is_settled_is_seen() {
        let (mut items, marks) =
            (Pairs::<u64>::zeroed(40, HugePages::Off).unwrap(), OrderedMarks::new(4));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for part in [1u64, 0, 3, 2] {
                    // SAFETY: this thread alone has the parts.
                    unsafe { items.publish(part * 10, &[part + 1; 10]) };
                    marks.mark(part as usize, part != 3);
                }
            });
            scope.spawn(|| {
                let current = items.current(5, 39);
                // SAFETY: the items 5 to 39 are 35.
                let zero = |at| unsafe { current.at(at) } == 0;
                assert!((0..current.len()).all(zero) && current.len() == 35, "others publish");
                marks.wait(2).unwrap();
                // SAFETY: parts 0 and 1 are settled.
                let (pairs, _) = unsafe { items.settled(0, 19) };
                let right = |(&pair, at): (&[u64; 2], u64)| pair == [0, at / 10 + 1];
                assert!(pairs.iter().zip(0..).all(right));
                assert!(!marks.wait(4).unwrap(), "not all of part 3 have it");
            });
        });
        items.turn();
        let current = items.current(25, 39);
        // SAFETY: the items 25 to 39 are 15.
        let next = |at: usize| unsafe { current.at(at) } == (25 + at as u64) / 10 + 1;
        assert!((0..15).all(next), "they have become this round's");
        assert_eq!((items.now(), items.size()), (1, 40));
    }

    #[test]
    fn items_in_front_and_in_the_window_are_found() {
        let mut front = Pairs::<u64>::zeroed(4, HugePages::Off).unwrap();
        // SAFETY: no other thread has it.
        unsafe { front.publish(0, &[10, 11, 12, 13]) };
        front.turn();
        for (first, others, seen) in [(0, [14, 15, 16], 4..7), (7, [17, 18, 19], 7..10)] {
            let items = Fronted::new(&front, &others, first);
            assert!((0..4).chain(seen.clone()).all(|number| items.of(number) == 10 + number));
            assert_eq!(items.others(seen.start + 1), &others[1..]);
        }
    }
}
