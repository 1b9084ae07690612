//! Work sharing: every range is taken once, by whomever, also while others steal.

use std::ops::Range;

use loom::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    thread,
};

use outercore_storage::WorkShares;

/// What three threads take of `all`, which are as many things.
fn taken(
    all: u64,
    workers: usize,
    take: impl Fn(usize) -> Option<Range<u64>> + Send + Sync + 'static,
) {
    let take = Arc::new(take);
    let worker = |index: usize| {
        let take = Arc::clone(&take);
        thread::spawn(move || std::iter::from_fn(|| take(index)).flatten().collect::<Vec<u64>>())
    };
    let others: Vec<_> = (1..workers).map(worker).collect();
    let mut taken: Vec<u64> = std::iter::from_fn(|| take(0)).flatten().collect();
    others.into_iter().for_each(|other| taken.extend(other.join().unwrap()));
    taken.sort_unstable();
    assert_eq!(taken, (0..all).collect::<Vec<_>>());
}

#[test]
fn every_range_is_taken_once_with_and_without_stealing() {
    for stealing in [true, false] {
        for ranges in [1, 2, 3] {
            loom::model(move || {
                let shares = WorkShares::new(6, 2, ranges, stealing, |at| at);
                taken(6, 2, move |worker| shares.take(worker));
            });
        }
    }
}

#[test]
fn three_workers_take_every_range_once() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.check(|| {
        let shares = WorkShares::new(4, 3, 2, true, |at| at);
        taken(4, 3, move |worker| shares.take(worker));
    });
}

/// A number that is read and then written: two take the same range.
#[test]
fn a_range_that_is_taken_twice_is_found() {
    crate::is_found("shares::a_range_that_is_taken_twice_is_found", "panicked", || {
        loom::model(|| {
            let next = AtomicU64::new(0);
            taken(3, 2, move |_| {
                let range = next.load(Relaxed);
                next.store(range + 1, Relaxed);
                (range < 3).then(|| range..range + 1)
            });
        });
    });
}
