//! Signals of a fully-external run: this iteration's in memory, for all vertices or for a window of them at a time; the next one's in memory for the hubs and on scratch for the rest; and
//! the order in which stripes become settled.

use std::{
    cell::UnsafeCell,
    ops::Range,
    sync::{Condvar, Mutex},
};

use outercore_storage::{HugePages, HugeVec, Pod};

use crate::error::{EngineError, Result};

/// Vertices whose signals are in memory at the same time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    /// Their stripes.
    pub stripes: Range<usize>,
    /// The vertices.
    pub vertices: Range<u64>,
    /// Whether it is an iteration's last.
    pub last: bool,
}

impl Window {
    /// Cuts the stripes with these bounds into windows of at most `most` vertices, or of one stripe.
    pub fn cut(bounds: &[u64], most: u64) -> Vec<Window> {
        let (mut windows, mut begun) = (Vec::new(), 0);
        for stripe in 0..bounds.len() - 1 {
            let last = stripe + 2 == bounds.len();
            if last || bounds[stripe + 2] - bounds[begun] > most {
                let vertices = bounds[begun]..bounds[stripe + 1];
                windows.push(Window { stripes: begun..stripe + 1, vertices, last });
                begun = stripe + 1;
            }
        }
        windows
    }
}

/// The hubs' next signals: each stripe writes its own once, then the stripe is marked as settled; others read it only after that.
pub struct NextSignals<T: Pod> {
    items: UnsafeCell<HugeVec<T>>,
    len: u64,
}

// SAFETY: `publish` and `settled` are ordered by `Settled`: a range is written by the one worker that has its stripe, before that stripe is marked under a mutex; readers have seen
// the mark under the same mutex. So no element is written while another thread reads or writes it.
unsafe impl<T: Pod + Send + Sync> Sync for NextSignals<T> {}

impl<T: Pod + Copy> NextSignals<T> {
    /// Zeros for vertices below `len`.
    pub fn new(len: u64, huge: HugePages) -> Result<Self> {
        Ok(Self { items: UnsafeCell::new(HugeVec::zeroed(len as usize, huge)?), len })
    }

    /// Vertices below this are hubs.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Writes the signals of the vertices from `first` on.
    ///
    /// # Safety
    /// The caller is the only one that has these vertices' stripe, and the stripe is not settled yet in this pass.
    pub unsafe fn publish(&self, first: u64, signals: &[T]) {
        assert!(first + signals.len() as u64 <= self.len, "only hubs' signals are kept");
        // SAFETY: in bounds by the assertion; nobody else touches the range (this function's contract).
        unsafe {
            let target = (*self.items.get()).as_mut_ptr().add(first as usize);
            std::ptr::copy_nonoverlapping(signals.as_ptr(), target, signals.len());
        }
    }

    /// The signals of the hubs `first..=last`.
    ///
    /// # Safety
    /// Their stripes are settled in this pass, as this thread has seen through [`Settled::wait`].
    #[inline(always)]
    pub unsafe fn settled(&self, first: u64, last: u64) -> &[T] {
        assert!(first <= last && last < self.len, "only hubs' signals are kept");
        // SAFETY: in bounds by the assertion; written before the mark that this thread has seen, and by nobody since (this function's contract).
        unsafe { std::slice::from_raw_parts((*self.items.get()).as_ptr().add(first as usize), (last - first + 1) as usize) }
    }

    /// Between passes: they become this iteration's, which are `signals`.
    pub fn take(&mut self, signals: &mut HugeVec<T>) {
        let items = self.items.get_mut();
        if items.len() == signals.len() {
            std::mem::swap(items, signals);
        } else {
            signals[..items.len()].copy_from_slice(items);
        }
    }
}

/// How many stripes, in the order of a pass, are settled without a gap.
pub struct Settled {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    done: Vec<bool>,
    front: usize,
    failed: bool,
}

impl Settled {
    /// None of `stripes` is.
    pub fn new(stripes: usize) -> Self {
        Self { state: Mutex::new(State { done: vec![false; stripes], front: 0, failed: false }), changed: Condvar::new() }
    }

    /// The stripe at `position` of the pass is settled.
    pub fn mark(&self, position: usize) {
        let mut state = self.state.lock().expect("no holder panics");
        state.done[position] = true;
        while state.front < state.done.len() && state.done[state.front] {
            state.front += 1;
        }
        self.changed.notify_all();
    }

    /// Waits until the first `count` stripes of the pass are settled. Fails when another worker has failed.
    pub fn wait(&self, count: usize) -> Result<()> {
        let mut state = self.state.lock().expect("no holder panics");
        while state.front < count && !state.failed {
            state = self.changed.wait(state).expect("no holder panics");
        }
        if state.failed { Err(EngineError::Cancelled) } else { Ok(()) }
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
        let (signals, settled) = (NextSignals::<u64>::new(40, HugePages::Off).unwrap(), Settled::new(4));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for stripe in [1u64, 0, 3, 2] {
                    // SAFETY: this thread alone has the stripes.
                    unsafe { signals.publish(stripe * 10, &[stripe; 10]) };
                    settled.mark(stripe as usize);
                }
            });
            scope.spawn(|| {
                settled.wait(2).unwrap();
                // SAFETY: stripes 0 and 1 are settled.
                assert!(unsafe { signals.settled(0, 19) }.iter().zip(0..).all(|(&signal, vertex)| signal == vertex / 10));
                settled.wait(4).unwrap();
            });
        });
        settled.fail();
        assert!(settled.wait(4).is_err());
    }
}
