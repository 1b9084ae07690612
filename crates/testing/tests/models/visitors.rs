//! Mail between workers: nobody leaves off while something is left to do, and nobody waits for
//! ever.

use std::mem::take;

use loom::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
    thread,
};
use outercore_storage::Monitor;

use crate::mail::Mail;

/// Two workers and what they have done together.
struct Work {
    mail: Mail<u32>,
    done: AtomicU32,
}

impl Work {
    fn new(room: usize) -> Self {
        Self { mail: Mail::new(2, room), done: AtomicU32::new(0) }
    }

    /// Does what there is. A number is done by sending the one below it to the other worker.
    fn work(&self, worker: usize, mut numbers: Vec<u32>) {
        loop {
            numbers.extend(self.mail.take(worker).into_iter().flatten());
            for number in take(&mut numbers) {
                self.done.fetch_add(1, Relaxed);
                if number > 0 {
                    self.send(worker, number - 1, &mut numbers);
                }
            }
            if numbers.is_empty() {
                let Some(mail) = self.mail.rest(worker) else { return };
                numbers.extend(mail.into_iter().flatten());
            }
        }
    }

    fn send(&self, worker: usize, number: u32, numbers: &mut Vec<u32>) {
        let mut batch = vec![number];
        while let Err(back) = self.mail.send(1 - worker, batch) {
            let Some(mail) = self.mail.wait_for_room(worker, 1 - worker) else { return };
            numbers.extend(mail.into_iter().flatten());
            batch = back;
        }
    }
}

/// Both workers begin with some numbers, and all of them and what follows is done.
fn is_all_done(room: usize, numbers: [&'static [u32]; 2], all: u32) {
    let work = Arc::new(Work::new(room));
    let other = {
        let work = Arc::clone(&work);
        thread::spawn(move || work.work(1, numbers[1].to_vec()))
    };
    work.work(0, numbers[0].to_vec());
    other.join().unwrap();
    assert_eq!(work.done.load(Relaxed), all);
}

/// As many preemptions as bugs of this kind take, and many more.
fn model(check: impl Fn() + Send + Sync + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(check);
}

#[test]
fn nobody_leaves_off_while_the_other_may_send() {
    model(|| is_all_done(2, [&[2], &[]], 3));
    model(|| is_all_done(2, [&[1], &[1]], 4));
}

/// Each box holds one batch, and both are full at once.
#[test]
fn workers_that_wait_for_room_empty_each_others_boxes() {
    model(|| is_all_done(1, [&[1, 1], &[1, 1]], 8));
}

#[test]
fn what_is_left_when_all_are_stopped_is_there() {
    model(|| {
        let work = Arc::new(Work::new(1));
        let other = {
            let work = Arc::clone(&work);
            thread::spawn(move || work.work(1, vec![1]))
        };
        work.mail.stop();
        assert!(work.mail.is_stopped());
        work.work(0, Vec::new());
        other.join().unwrap();
        let Ok(work) = Arc::try_unwrap(work) else { panic!("the workers have ended") };
        assert_eq!(work.done.into_inner() + work.mail.left().count() as u32, 2);
    });
}

#[test]
fn nobody_rests_for_ever_when_another_has_failed() {
    model(|| {
        let work = Arc::new(Work::new(1));
        let other = {
            let work = Arc::clone(&work);
            thread::spawn(move || work.mail.attend(|| Err::<(), _>(())))
        };
        work.work(0, vec![3]);
        assert!(other.join().unwrap().is_err());
    });
}

/// Workers that leave off when all boxes are empty, though the other has something in hand.
#[test]
fn leaving_off_by_empty_boxes_is_found() {
    crate::is_found("visitors::leaving_off_by_empty_boxes_is_found", "deadlock", || {
        loom::model(|| {
            let boxes = Arc::new(Monitor::new([vec![1], Vec::new()]));
            let worker = |worker: usize| {
                let boxes = Arc::clone(&boxes);
                thread::spawn(move || {
                    let next = |boxes: &mut [Vec<u32>; 2]| match boxes[worker].pop() {
                        None => boxes.iter().all(Vec::is_empty).then_some(None),
                        number => Some(number),
                    };
                    while let Some(number) = boxes.wait(next).flatten() {
                        if number > 0 {
                            boxes.change(|boxes| boxes[1 - worker].push(number - 1));
                        }
                    }
                })
            };
            [0, 1].map(worker).into_iter().for_each(|worker| worker.join().unwrap());
        });
    });
}
