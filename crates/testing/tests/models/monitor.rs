//! [`Monitor`]: nobody sleeps for ever.

use loom::{
    sync::{
        Arc, Condvar, Mutex,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    thread,
};
use outercore_storage::Monitor;

/// Two workers take turns, and the third of three turns belongs to the first worker.
#[test]
fn turns_come_in_order_and_all_of_them() {
    loom::model(|| {
        let turns = Arc::new(Monitor::new((0, Vec::new())));
        let worker = |mine: &'static [usize]| {
            let turns = Arc::clone(&turns);
            thread::spawn(move || {
                for &turn in mine {
                    turns.wait(|(next, _)| (*next == turn).then_some(())).expect("open");
                    turns.change(|(next, written)| {
                        written.push(turn);
                        *next += 1;
                    });
                }
            })
        };
        let workers = [worker(&[0, 2]), worker(&[1])];
        workers.into_iter().for_each(|worker| worker.join().unwrap());
        assert_eq!(turns.change(|(_, written)| written.clone()), [0, 1, 2]);
    });
}

/// One waits for what the other does not bring, because it fails.
#[test]
fn nobody_waits_for_a_worker_that_failed() {
    loom::model(|| {
        let monitor = Arc::new(Monitor::new(false));
        let waits = {
            let monitor = Arc::clone(&monitor);
            thread::spawn(move || monitor.wait(|brought| brought.then_some(())))
        };
        assert_eq!(monitor.attend(|| Err::<(), _>("failed")), Err("failed"));
        assert_eq!(waits.join().unwrap(), None);
    });
}

/// The same without the lock around the mark: who has just looked at it, and does not wait yet, is
/// never woken.
#[test]
fn a_lost_wakeup_is_found() {
    crate::is_found("monitor::a_lost_wakeup_is_found", "deadlock", || {
        loom::model(|| {
            let shared = Arc::new((Mutex::new(()), Condvar::new(), AtomicBool::new(false)));
            let waits = {
                let shared = Arc::clone(&shared);
                thread::spawn(move || {
                    let (mutex, changed, closed) = &*shared;
                    let mut guard = mutex.lock().unwrap();
                    while !closed.load(SeqCst) {
                        guard = changed.wait(guard).unwrap();
                    }
                })
            };
            let (_, changed, closed) = &*shared;
            closed.store(true, SeqCst);
            changed.notify_all();
            waits.join().unwrap();
        });
    });
}
