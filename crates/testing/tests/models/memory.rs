//! Memory that threads share: never more than there is, and nobody waits for ever.

use loom::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    thread,
};

use crate::room::Room;

const ALL: u64 = 10;
/// Of which nobody can have these.
const HELD: u64 = 2;

/// Threads take so much, one after the other; the most that is taken at once is at most what there
/// is.
fn take(amounts: &'static [&'static [u64]]) {
    let (room, taken) = (Arc::new(Room::new(ALL, HELD)), Arc::new(AtomicU64::new(HELD)));
    let worker = |amounts: &'static [u64]| {
        let (room, taken) = (Arc::clone(&room), Arc::clone(&taken));
        thread::spawn(move || {
            for &amount in amounts {
                let mine = room.take(amount).map_err(drop).unwrap();
                assert!(taken.fetch_add(amount, Relaxed) + amount <= ALL);
                taken.fetch_sub(amount, Relaxed);
                drop(mine);
            }
        })
    };
    let workers: Vec<_> = amounts.iter().map(|amounts| worker(amounts)).collect();
    workers.into_iter().for_each(|worker| worker.join().unwrap());
    assert!(room.take(ALL - HELD).is_ok(), "all of it came back");
}

#[test]
fn never_more_is_taken_than_there_is() {
    loom::model(|| take(&[&[5, 8], &[4, 3]]));
}

#[test]
fn what_there_never_is_is_refused() {
    loom::model(|| {
        let room = Room::new(ALL, HELD);
        assert_eq!((room.take(9).err(), room.bytes()), (Some(11), ALL));
    });
}

/// Memory that is looked at and then taken.
#[test]
fn memory_that_is_taken_twice_is_found() {
    crate::is_found("memory::memory_that_is_taken_twice_is_found", "panicked", || {
        loom::model(|| {
            let taken = Arc::new(AtomicU64::new(HELD));
            let worker = |amount: u64| {
                let taken = Arc::clone(&taken);
                thread::spawn(move || {
                    if taken.load(Relaxed) + amount <= ALL {
                        assert!(taken.fetch_add(amount, Relaxed) + amount <= ALL);
                        taken.fetch_sub(amount, Relaxed);
                    }
                })
            };
            [5, 4].map(worker).into_iter().for_each(|worker| worker.join().unwrap());
        });
    });
}

/// A thread that waits for more while it has some.
#[test]
fn waiting_with_memory_in_hand_is_found() {
    crate::is_found("memory::waiting_with_memory_in_hand_is_found", "deadlock", || {
        loom::model(|| {
            let room = Arc::new(Room::new(ALL, HELD));
            let worker = |_| {
                let room = Arc::clone(&room);
                thread::spawn(move || {
                    let some = room.take(3).map_err(drop).unwrap();
                    drop((room.take(4).map_err(drop).unwrap(), some));
                })
            };
            [0, 1].map(worker).into_iter().for_each(|worker| worker.join().unwrap());
        });
    });
}
