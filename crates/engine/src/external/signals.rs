//! Signals of a fully-external run: this iteration's in memory, for all vertices or for a window of
//! them at a time; the next one's beside them for the hubs, and on scratch for the rest; and the
//! order in which intervals become settled.

use std::{
    marker::PhantomData,
    ops::Range,
    ptr::NonNull,
    sync::{Condvar, Mutex},
};

use outercore_storage::{HugePages, HugeVec, Pod, memory::prefetch};

use crate::{
    edges::grid::combine::Lookup,
    error::{EngineError, Result},
    state::cut,
};

/// Vertices whose signals are in memory at the same time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    /// Their intervals.
    pub intervals: Range<usize>,
    /// The vertices.
    pub vertices: Range<u64>,
    /// Whether it is an iteration's last.
    pub last: bool,
}

impl Window {
    /// Cuts the intervals with these bounds into windows of at most `most` vertices, or of one
    /// interval.
    pub fn cut(bounds: &[u64], most: u64) -> Vec<Window> {
        let (cuts, intervals) = (cut(bounds, most), bounds.len() - 1);
        let first = |vertex| bounds[..intervals].partition_point(|&bound| bound < vertex);
        let count = cuts.len().max(2) - 1;
        let window = |index| {
            let (begin, last) = (cuts[index], index + 1 == count);
            let (end, after) = if last {
                (bounds[intervals], intervals)
            } else {
                (cuts[index + 1], first(cuts[index + 1]))
            };
            Window { intervals: first(begin)..after, vertices: begin..end, last }
        };
        (0..count).map(window).collect()
    }
}

/// The hubs' signals, this iteration's and the next one's side by side: an edge that serves both
/// finds them at one place. Each interval writes its own next ones once, then the interval is
/// marked as settled; others read them only after that.
pub struct HubSignals<T: Pod> {
    /// Owns what `base` points to, and is not used otherwise.
    _pairs: HugeVec<[T; 2]>,
    base: NonNull<[T; 2]>,
    len: u64,
    /// Which of a pair is this iteration's.
    now: usize,
}

// SAFETY: it owns its items, like the `HugeVec` behind it.
unsafe impl<T: Pod + Send> Send for HubSignals<T> {}
// SAFETY: this iteration's items change only through `turn`, which borrows exclusively. For the
// next one's, `publish` and `settled` are ordered by `Settled`: a range is written by the one
// worker that has its interval, before that interval is marked under a mutex; readers have seen the
// mark under the same mutex. So no item is written while another thread reads or writes it.
unsafe impl<T: Pod + Send + Sync> Sync for HubSignals<T> {}

impl<T: Pod + Copy> HubSignals<T> {
    /// Zeros for vertices below `len`.
    pub fn new(len: u64, huge: HugePages) -> Result<Self> {
        let mut pairs: HugeVec<[T; 2]> = HugeVec::zeroed(len as usize, huge)?;
        let base = NonNull::from(&mut *pairs).cast();
        Ok(Self { _pairs: pairs, base, len, now: 0 })
    }

    /// Vertices below this are hubs.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Which of a pair is this iteration's; the other one is the next one's.
    pub fn now(&self) -> usize {
        self.now
    }

    /// Between passes: the next signals become this iteration's.
    pub fn turn(&mut self) {
        self.now = 1 - self.now;
    }

    /// Writes the next signals of the vertices from `first` on.
    ///
    /// # Safety
    /// The caller is the only one that has these vertices' interval, and the interval is not
    /// settled yet in this pass.
    pub unsafe fn publish(&self, first: u64, signals: &[T]) {
        assert!(first + signals.len() as u64 <= self.len, "only hubs' signals are kept");
        for (vertex, &signal) in (first as usize..).zip(signals) {
            // SAFETY: in bounds by the assertion; nobody else touches the next signals of the range
            // (this function's contract).
            unsafe { self.base.add(vertex).cast::<T>().add(1 - self.now).write(signal) };
        }
    }

    /// This iteration's signals of the hubs `first..=last`.
    pub fn this(&self, first: u64, last: u64) -> ThisSignals<'_, T> {
        assert!(first <= last && last < self.len, "only hubs' signals are kept");
        // SAFETY: in bounds by the assertion.
        let base = unsafe { self.base.add(first as usize).cast::<T>().add(self.now) };
        ThisSignals { base, len: (last - first + 1) as usize, kind: PhantomData }
    }

    /// Both signals of the hubs `first..=last`.
    ///
    /// # Safety
    /// Their intervals are settled in this pass, as this thread has seen through [`Settled::wait`].
    #[inline(always)]
    pub unsafe fn settled(&self, first: u64, last: u64) -> &[[T; 2]] {
        assert!(first <= last && last < self.len, "only hubs' signals are kept");
        // SAFETY: in bounds by the assertion; written before the mark that this thread has seen,
        // and by nobody since (this function's contract).
        unsafe {
            std::slice::from_raw_parts(
                self.base.add(first as usize).as_ptr(),
                (last - first + 1) as usize,
            )
        }
    }
}

/// This iteration's signals of some hubs, every second item in memory: those between may be written
/// meanwhile.
#[derive(Clone, Copy)]
pub struct ThisSignals<'s, T> {
    base: NonNull<T>,
    len: usize,
    kind: PhantomData<&'s T>,
}

impl<T: Copy> Lookup<T> for ThisSignals<'_, T> {
    const STRIDE: usize = 2 * size_of::<T>();

    fn len(self) -> usize {
        self.len
    }

    #[inline(always)]
    unsafe fn at(self, index: usize) -> T {
        // SAFETY: in bounds (this function's contract); nobody writes this iteration's signals
        // while they are borrowed.
        unsafe { self.base.add(2 * index).read() }
    }

    #[inline(always)]
    fn prefetch(self, index: usize) {
        prefetch(self.base.as_ptr().wrapping_add(2 * index));
    }
}

/// This iteration's signals: the hubs', and those of a window's other vertices.
#[derive(Clone, Copy)]
pub struct Signals<'s, T: Pod> {
    /// The hubs'.
    pub hubs: &'s HubSignals<T>,
    others: &'s [T],
    /// The vertex whose signal is the first of `others`.
    from: u64,
}

impl<'s, T: Pod + Copy> Signals<'s, T> {
    /// Of the vertices from `first` on that are no hubs, these.
    pub fn new(hubs: &'s HubSignals<T>, others: &'s [T], first: u64) -> Self {
        Self { hubs, others, from: first.max(hubs.len()) }
    }

    /// That of a vertex of the window.
    #[inline(always)]
    pub fn of(&self, vertex: u64) -> T {
        if vertex < self.hubs.len() {
            // SAFETY: it is the only one.
            unsafe { self.hubs.this(vertex, vertex).at(0) }
        } else {
            self.others[(vertex - self.from) as usize]
        }
    }

    /// Those of vertices that are no hubs, from `first` on.
    pub fn others(&self, first: u64) -> &'s [T] {
        &self.others[(first - self.from) as usize..]
    }
}

/// Signals from vertex `first` on, some of which are hubs'.
#[derive(Clone, Copy)]
pub struct Mixed<'s, T: Pod> {
    /// All signals.
    pub signals: Signals<'s, T>,
    /// The first vertex.
    pub first: u64,
}

impl<T: Pod + Copy> Lookup<T> for Mixed<'_, T> {
    const STRIDE: usize = size_of::<T>();

    fn len(self) -> usize {
        // Each is looked for where it is, and compared there.
        usize::MAX
    }

    // SAFETY: asks nothing of its caller: `of` compares.
    #[inline(always)]
    unsafe fn at(self, index: usize) -> T {
        self.signals.of(self.first + index as u64)
    }

    fn prefetch(self, _: usize) {}
}

/// How many intervals, in the order of a pass, are settled without a gap, and whether all of their
/// vertices send.
pub struct Settled {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    done: Vec<bool>,
    front: usize,
    all_send: bool,
    failed: bool,
}

impl Settled {
    /// None of `intervals` is.
    pub fn new(intervals: usize) -> Self {
        Self {
            state: Mutex::new(State {
                done: vec![false; intervals],
                front: 0,
                all_send: true,
                failed: false,
            }),
            changed: Condvar::new(),
        }
    }

    /// The interval at `position` of the pass is settled; `all_send`: each of its vertices sends in
    /// the next iteration.
    pub fn mark(&self, position: usize, all_send: bool) {
        let mut state = self.state.lock().expect("no holder panics");
        state.all_send &= all_send;
        state.done[position] = true;
        while state.front < state.done.len() && state.done[state.front] {
            state.front += 1;
        }
        self.changed.notify_all();
    }

    /// Waits until the first `count` intervals of the pass are settled; returns whether all
    /// vertices of all that are send in the next iteration. Fails when another worker has failed.
    pub fn wait(&self, count: usize) -> Result<bool> {
        let mut state = self.state.lock().expect("no holder panics");
        while state.front < count && !state.failed {
            state = self.changed.wait(state).expect("no holder panics");
        }
        if state.failed { Err(EngineError::Cancelled) } else { Ok(state.all_send) }
    }

    /// Lets everyone go who waits.
    pub fn fail(&self) {
        self.state.lock().expect("no holder panics").failed = true;
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_settled_is_seen() {
        let (mut signals, settled) =
            (HubSignals::<u64>::new(40, HugePages::Off).unwrap(), Settled::new(4));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for interval in [1u64, 0, 3, 2] {
                    // SAFETY: this thread alone has the intervals.
                    unsafe { signals.publish(interval * 10, &[interval + 1; 10]) };
                    settled.mark(interval as usize, interval != 3);
                }
            });
            scope.spawn(|| {
                let this = signals.this(5, 39);
                // SAFETY: the vertices 5 to 39 are 35.
                let zero = |at| unsafe { this.at(at) } == 0;
                assert!((0..this.len()).all(zero) && this.len() == 35, "whatever others publish");
                settled.wait(2).unwrap();
                // SAFETY: intervals 0 and 1 are settled.
                let pairs = unsafe { signals.settled(0, 19) };
                let right = |(&pair, vertex): (&[u64; 2], u64)| pair == [0, vertex / 10 + 1];
                assert!(pairs.iter().zip(0..).all(right));
                assert!(!settled.wait(4).unwrap(), "not all of interval 3 send");
            });
        });
        settled.fail();
        assert!(settled.wait(4).is_err());
        signals.turn();
        let this = signals.this(25, 39);
        // SAFETY: the vertices 25 to 39 are 15.
        let next = |at: usize| unsafe { this.at(at) } == (25 + at as u64) / 10 + 1;
        assert!((0..15).all(next), "they have become this iteration's");
        assert_eq!(signals.now(), 1);
    }
}
