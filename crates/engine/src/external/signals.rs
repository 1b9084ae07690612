//! Signals of a fully-external run: this iteration's for all vertices in memory, the next one's in memory for the hubs and on scratch for the rest, and the order in which
//! stripes become settled.

use std::{
    cell::UnsafeCell,
    sync::{Condvar, Mutex},
};

use outercore_storage::{HugePages, HugeVec, Pod};

use crate::error::{EngineError, Result};

/// The hubs' next signals: each stripe writes its own once, then the stripe is marked as settled; others read it only after that.
pub struct NextSignals<T: Pod> {
    items: UnsafeCell<HugeVec<T>>,
    len: u64,
}

// SAFETY: `publish` and `get` are ordered by `Settled`: a range is written by the one worker that has its stripe, before that stripe is marked under a mutex; readers have seen
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

    /// The signal of a hub.
    ///
    /// # Safety
    /// `vertex` is a hub whose stripe is settled in this pass, as this thread has seen through [`Settled::wait`].
    #[inline(always)]
    pub unsafe fn get(&self, vertex: u64) -> T {
        debug_assert!(vertex < self.len);
        // SAFETY: in bounds and written before the mark that this thread has seen (this function's contract).
        unsafe { *(*self.items.get()).as_ptr().add(vertex as usize) }
    }

    /// All of them, between passes.
    pub fn all(&mut self) -> &[T] {
        self.items.get_mut()
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
                (0..20).for_each(|vertex| assert_eq!(unsafe { signals.get(vertex) }, vertex / 10));
                settled.wait(4).unwrap();
            });
        });
        settled.fail();
        assert!(settled.wait(4).is_err());
    }
}
