//! [`Monitor`]: what several threads share, change and wait for. The only place where threads wait
//! for each other: an error or a panic of one ends the waiting of all.
//!
//! With `--cfg outercore_model` its primitives are those of the model checker (`make model`), and
//! so is [`atomic`], for what threads share without waiting.

use std::sync::PoisonError;

#[cfg(outercore_model)]
pub use loom::sync::atomic;
#[cfg(outercore_model)]
use loom::sync::{Condvar, Mutex, MutexGuard};
#[cfg(not(outercore_model))]
pub use std::sync::atomic;
#[cfg(not(outercore_model))]
use std::sync::{Condvar, Mutex, MutexGuard};

/// What several threads share (Hoare, 1974).
#[derive(Default)]
pub struct Monitor<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
}

#[derive(Default)]
struct State<T> {
    shared: T,
    /// Threads that wait for a change: to wake nobody is a system call, too.
    waiting: usize,
    closed: bool,
}

/// Locks, even after a panic of a holder: that is raised again when its thread is joined, and until
/// then the others must be able to end.
pub fn lock<T>(mutex: &std::sync::Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a lock keeps, for who has it alone, likewise.
pub fn locked<T>(mutex: &mut std::sync::Mutex<T>) -> &mut T {
    mutex.get_mut().unwrap_or_else(PoisonError::into_inner)
}

/// What a lock has kept, likewise.
pub fn unlocked<T>(mutex: std::sync::Mutex<T>) -> T {
    mutex.into_inner().unwrap_or_else(PoisonError::into_inner)
}

impl<T> Monitor<T> {
    /// Open.
    pub fn new(shared: T) -> Self {
        let state = State { shared, waiting: 0, closed: false };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes what is shared, and wakes those that wait.
    pub fn change<R>(&self, change: impl FnOnce(&mut T) -> R) -> R {
        let mut state = self.lock();
        let result = change(&mut state.shared);
        let awaited = state.waiting > 0;
        drop(state);
        if awaited {
            self.changed.notify_all();
        }
        result
    }

    /// Waits until there is an answer, which is asked for now and after every change; `None`: it
    /// was closed.
    pub fn wait<R>(&self, mut answer: impl FnMut(&mut T) -> Option<R>) -> Option<R> {
        let mut state = self.lock();
        loop {
            if state.closed {
                return None;
            }
            let found = answer(&mut state.shared);
            if found.is_some() {
                return found;
            }
            state.waiting += 1;
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.waiting -= 1;
        }
    }

    /// Ends all waiting, now and from now on.
    pub fn close(&self) {
        // Under the lock: who has just asked, and does not wait yet, would not be woken.
        self.lock().closed = true;
        self.changed.notify_all();
    }

    /// Does work that others may wait for: if it fails or panics, their waiting ends.
    pub fn attend<R, E>(&self, work: impl FnOnce() -> Result<R, E>) -> Result<R, E> {
        ending(|| self.close(), work)
    }

    /// What was shared, once no thread is left that waits for it.
    pub fn into_inner(self) -> T {
        self.state.into_inner().unwrap_or_else(PoisonError::into_inner).shared
    }
}

/// Does work; if it fails or panics, does `end`.
pub fn ending<R, E>(end: impl Fn(), work: impl FnOnce() -> Result<R, E>) -> Result<R, E> {
    let mut guard = Ending(Some(end));
    let result = work()?;
    guard.0 = None;
    Ok(result)
}

struct Ending<F: Fn()>(Option<F>);

impl<F: Fn()> Drop for Ending<F> {
    fn drop(&mut self) {
        self.0.iter().for_each(|end| end());
    }
}
