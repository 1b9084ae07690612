//! Turns: threads that work side by side and write in order.

use std::sync::{
    Condvar, Mutex, PoisonError,
    atomic::{AtomicBool, Ordering::Relaxed},
};

use crate::error::{GraphError, Result};

/// Lets workers write in the order of the buckets.
pub struct Turns<T> {
    state: Mutex<(usize, T)>,
    changed: Condvar,
    stopped: AtomicBool,
}

impl<T> Turns<T> {
    /// Turn 0 comes first.
    pub fn new(writer: T) -> Self {
        Self {
            state: Mutex::new((0, writer)),
            changed: Condvar::new(),
            stopped: AtomicBool::new(false),
        }
    }

    /// Waits for turn number `turn`, then runs `write` alone.
    pub fn take(&self, turn: usize, write: impl FnOnce(&mut T) -> Result<()>) -> Result<()> {
        let mut state = self.state.lock().expect("no writer panics");
        while state.0 != turn {
            if self.stopped.load(Relaxed) {
                return Err(GraphError::Cancelled);
            }
            state = self.changed.wait(state).expect("no writer panics");
        }
        let result = write(&mut state.1);
        state.0 += 1;
        if result.is_err() {
            self.stopped.store(true, Relaxed);
        }
        self.changed.notify_all();
        result
    }

    /// Lets every waiting worker go: one has failed and its turn will not come.
    pub fn stop(&self) {
        // Under the lock: who has just asked, and does not wait yet, would not be woken.
        let _state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        self.stopped.store(true, Relaxed);
        self.changed.notify_all();
    }

    /// The writer, after the last turn.
    pub fn into_writer(self) -> T {
        self.state.into_inner().expect("no writer panics").1
    }
}
