//! Starting threads, which the system may refuse: a limit of processes, or of memory, is the
//! user's, and no bug. On which processors they run.

use std::{
    mem::{size_of, zeroed},
    sync::Mutex,
    thread::{Builder, Scope, ScopedJoinHandle},
};

use crate::{
    error::{Result, StorageError},
    monitor::lock,
};

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
        let mut begin = lock(&may_begin);
        let gate = &may_begin;
        let body = move |index| {
            let begins = *lock(gate);
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

/// The processors on which the calling thread may run. Empty: the system does not say.
pub fn processors() -> Vec<usize> {
    // SAFETY: the set is plain bits, for which zeros are a value.
    let mut set: libc::cpu_set_t = unsafe { zeroed() };
    // SAFETY: the kernel writes at most the size that it is told into the set.
    if unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set) } != 0 {
        return Vec::new();
    }
    // SAFETY: the numbers are below the set's size.
    let has = |&processor: &usize| unsafe { libc::CPU_ISSET(processor, &set) };
    (0..libc::CPU_SETSIZE as usize).filter(has).collect()
}

/// The other processors of a processor's core, of some; itself, if there is none.
pub fn beside(processor: usize, of: &[usize]) -> Vec<usize> {
    let core = format!("/sys/devices/system/cpu/cpu{processor}/topology/thread_siblings_list");
    let text = std::fs::read_to_string(core).unwrap_or_default();
    let others = numbers(&text).filter(|other| *other != processor && of.contains(other));
    let others: Vec<usize> = others.collect();
    if others.is_empty() { vec![processor] } else { others }
}

/// The numbers of a list such as `0-2,5`.
fn numbers(list: &str) -> impl Iterator<Item = usize> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.parse().ok()?..=last.parse().ok()?)
    };
    list.trim().split(',').filter_map(range).flatten()
}

/// Has the calling thread run on some processors alone; where the system refuses, nothing changes.
pub fn pin(processors: &[usize]) {
    // SAFETY: the set is plain bits, for which zeros are a value.
    let mut set: libc::cpu_set_t = unsafe { zeroed() };
    for &processor in processors.iter().filter(|&&at| at < libc::CPU_SETSIZE as usize) {
        // SAFETY: the number is below the set's size.
        unsafe { libc::CPU_SET(processor, &mut set) };
    }
    // SAFETY: the kernel reads the size that it is told of the set.
    let refused =
        unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set) } != 0;
    if refused {
        let error = std::io::Error::last_os_error();
        tracing::debug!(%error, ?processors, "a thread is not pinned");
    }
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

    #[test]
    fn lists_of_processors_are_read() {
        assert_eq!(numbers("0-2,5\n").collect::<Vec<_>>(), [0, 1, 2, 5]);
        assert_eq!(numbers("").count() + numbers("x,3-").count(), 0);
    }

    #[test]
    #[cfg_attr(miri, ignore = "the system is asked")]
    fn a_pinned_thread_stays_where_it_is_put() {
        let all = processors();
        let Some(&last) = all.last() else { return };
        let there = std::thread::spawn(move || {
            pin(&[last]);
            processors()
        });
        assert_eq!(there.join().unwrap(), [last]);
        assert_eq!(processors(), all, "the other thread is pinned, too");
        let others = beside(last, &all);
        assert!(others == [last] || others.iter().all(|it| *it != last && all.contains(it)));
        assert_eq!(beside(last, &[]), [last]);
    }
}
