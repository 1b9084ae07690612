//! Settled intervals: who has waited for some sees what was written before they were marked, and
//! none is looked at that is not settled.

use loom::{
    cell::UnsafeCell,
    sync::Arc,
    thread::{self, JoinHandle},
};

use outercore_storage::OrderedMarks;

/// What workers write of each interval, and the marks.
struct Pass {
    signals: Vec<UnsafeCell<u64>>,
    progress: OrderedMarks,
}

// SAFETY: this is what the checker looks at: each cell is written by one thread before its mark.
unsafe impl Sync for Pass {}

impl Pass {
    fn new(intervals: usize) -> Arc<Self> {
        let signals = (0..intervals).map(|_| UnsafeCell::new(0)).collect();
        Arc::new(Self { signals, progress: OrderedMarks::new(intervals) })
    }

    fn publish(&self, interval: usize) {
        // SAFETY: as above; the checker tells if it is not so.
        self.signals[interval].with_mut(|signal| unsafe { *signal = interval as u64 + 1 });
    }

    fn mark(&self, interval: usize) {
        self.progress.mark(interval, interval != 1);
    }

    /// Waits for the first `count` intervals, and looks at `seen` of them.
    fn look(&self, count: usize, seen: usize) -> bool {
        let all_send = self.progress.wait(count).unwrap();
        for interval in 0..seen {
            // SAFETY: as above.
            let signal = self.signals[interval].with(|signal| unsafe { *signal });
            assert_eq!(signal, interval as u64 + 1);
        }
        all_send
    }
}

fn worker(pass: &Arc<Pass>, work: impl FnOnce(&Pass) + 'static) -> JoinHandle<()> {
    let pass = Arc::clone(pass);
    thread::spawn(move || work(&pass))
}

/// Two workers settle intervals out of order, and one looks at those without a gap.
#[test]
fn what_is_settled_is_seen() {
    loom::model(|| {
        let pass = Pass::new(3);
        let workers = [
            worker(&pass, |pass| {
                for interval in [2, 0] {
                    pass.publish(interval);
                    pass.mark(interval);
                }
            }),
            worker(&pass, |pass| {
                pass.publish(1);
                pass.mark(1);
            }),
        ];
        pass.look(1, 1);
        assert!(!pass.look(3, 3), "the vertices of one do not all send");
        workers.into_iter().for_each(|worker| worker.join().unwrap());
    });
}

#[test]
fn none_waits_for_an_interval_of_a_worker_that_failed() {
    loom::model(|| {
        let pass = Pass::new(2);
        let fails = worker(&pass, |pass| {
            pass.mark(1);
            assert!(pass.progress.attend(|| Err::<(), _>(())).is_err());
        });
        assert!(pass.progress.wait(1).is_none());
        fails.join().unwrap();
    });
}

/// A mark that comes before what it stands for.
#[test]
fn a_mark_that_comes_early_is_found() {
    crate::is_found("intervals::a_mark_that_comes_early_is_found", "panicked", || {
        loom::model(|| {
            let pass = Pass::new(1);
            let early = worker(&pass, |pass| {
                pass.mark(0);
                pass.publish(0);
            });
            pass.look(1, 1);
            early.join().unwrap();
        });
    });
}

/// A reader that counts marks, whichever they are.
#[test]
fn a_gap_that_is_not_heeded_is_found() {
    crate::is_found("intervals::a_gap_that_is_not_heeded_is_found", "panicked", || {
        loom::model(|| {
            let pass = Pass::new(2);
            let workers = [0, 1].map(|interval| {
                worker(&pass, move |pass| {
                    pass.publish(interval);
                    pass.mark(interval);
                })
            });
            pass.look(1, 2);
            workers.into_iter().for_each(|worker| worker.join().unwrap());
        });
    });
}
