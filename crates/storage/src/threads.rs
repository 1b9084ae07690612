//! Starting threads, which the system may refuse: a limit of processes, or of memory, is the
//! user's, and no bug.

use std::{
    sync::{Mutex, PoisonError},
    thread::{Builder, Scope, ScopedJoinHandle},
};

use crate::error::{Result, StorageError};

/// Starts a thread of a scope.
pub fn start<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    work: impl FnOnce() -> T + Send + 'scope,
) -> Result<ScopedJoinHandle<'scope, T>> {
    Builder::new().spawn_scoped(scope, work).map_err(|source| StorageError::Thread { source })
}

/// Runs `work` with `0..count` on as many threads at once, and returns what they return, in that
/// order. A panic of one is raised here. Where the system does not start them all, none begins.
pub fn at_once<T: Send>(count: usize, work: impl Fn(usize) -> T + Sync) -> Result<Vec<T>> {
    // Held until all threads are there: they may wait for each other.
    let (may_begin, work) = (Mutex::new(false), &work);
    std::thread::scope(|scope| {
        let mut begin = may_begin.lock().unwrap_or_else(PoisonError::into_inner);
        let gate = &may_begin;
        let body = move |index| {
            let begins = *gate.lock().unwrap_or_else(PoisonError::into_inner);
            begins.then(|| work(index))
        };
        let threads: Result<Vec<_>> =
            (0..count).map(|index| start(scope, move || body(index))).collect();
        *begin = threads.is_ok();
        drop(begin);
        let joined = threads?.into_iter().map(|thread| {
            let done = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            done.expect("every thread was let through")
        });
        Ok(joined.collect())
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;

    #[test]
    fn all_threads_are_there_at_once() {
        let barrier = Barrier::new(4);
        let all = at_once(4, |index| {
            barrier.wait();
            index * 2
        });
        assert_eq!(all.unwrap(), [0, 2, 4, 6]);
    }

    #[test]
    fn a_panic_is_raised_where_the_threads_were_started() {
        let caught = std::panic::catch_unwind(|| at_once(2, |index| assert_eq!(index, 0)));
        assert!(caught.is_err());
    }
}
