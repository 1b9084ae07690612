//! [`Mail`]: what workers send each other, and how they know that all is done, without a barrier.
//!
//! Batches lie in the box of their worker. A worker that has nothing left to do rests, and mail
//! wakes it. All is done when every worker rests and no box has mail. Both are known under one
//! lock, so a batch is always in a box or with a worker.
//!
//! A box holds so many batches. A worker that finds it full waits for room there or for mail of its
//! own, and takes that meanwhile: workers that wait for each other's room empty each other's boxes.

use std::mem::take;

use outercore_storage::{
    Monitor,
    atomic::{AtomicBool, Ordering::Relaxed},
};

/// Batches for one worker.
pub type Batches<T> = Vec<Vec<T>>;

/// What workers send each other.
pub struct Mail<T> {
    state: Monitor<State<T>>,
    /// Whether a box has got mail since it was looked into: a hint that takes no lock.
    arrived: Vec<AtomicBool>,
    /// Batches that a box holds.
    room: usize,
    stopped: AtomicBool,
}

struct State<T> {
    boxes: Vec<Batches<T>>,
    /// Workers that do not rest.
    busy: usize,
    done: bool,
}

impl<T> Mail<T> {
    /// Between so many workers, none of which rests.
    pub(crate) fn new(workers: usize, room: usize) -> Self {
        let boxes = (0..workers).map(|_| Vec::new()).collect();
        Self {
            state: Monitor::new(State { boxes, busy: workers, done: false }),
            arrived: (0..workers).map(|_| AtomicBool::new(false)).collect(),
            room,
            stopped: AtomicBool::new(false),
        }
    }

    /// Sends a batch. It comes back if the box is full: see [`Mail::wait_for_room`].
    pub(crate) fn send(&self, to: usize, batch: Vec<T>) -> Result<(), Vec<T>> {
        let sent = self.state.change(|state| {
            // A worker that has left off empties no box.
            if state.boxes[to].len() >= self.room && !state.done {
                return Err(batch);
            }
            state.boxes[to].push(batch);
            Ok(())
        });
        self.arrived[to].store(true, Relaxed);
        sent
    }

    /// Waits until a box has room, or there is mail for `worker`, which is taken; `None`: another
    /// worker has failed.
    pub(crate) fn wait_for_room(&self, worker: usize, to: usize) -> Option<Batches<T>> {
        self.state.wait(|state| {
            let mail = take(&mut state.boxes[worker]);
            let goes_on = state.done || state.boxes[to].len() < self.room;
            (!mail.is_empty() || goes_on).then_some(mail)
        })
    }

    /// What has come for a busy worker. It may miss what is just being sent.
    pub(crate) fn take(&self, worker: usize) -> Batches<T> {
        if !self.arrived[worker].load(Relaxed) {
            return Vec::new();
        }
        self.arrived[worker].store(false, Relaxed);
        // Workers that wait for room are woken.
        self.state.change(|state| take(&mut state.boxes[worker]))
    }

    /// Rests: this worker has nothing to do and nothing to send. Returns the mail that wakes it;
    /// `None`: all is done, or another worker has failed.
    pub(crate) fn rest(&self, worker: usize) -> Option<Batches<T>> {
        self.state.change(|state| {
            state.busy -= 1;
            state.done |= state.busy == 0 && state.boxes.iter().all(Vec::is_empty);
        });
        let woken = self.state.wait(|state| {
            let mail = take(&mut state.boxes[worker]);
            if mail.is_empty() {
                return state.done.then_some(None);
            }
            state.busy += 1;
            Some(Some(mail))
        });
        woken.flatten()
    }

    /// Asks all workers to leave off, whatever is left to do.
    pub(crate) fn stop(&self) {
        self.stopped.store(true, Relaxed);
        self.state.change(|state| state.done = true);
    }

    /// Whether they were asked to.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.load(Relaxed)
    }

    /// Does the work of a worker: if it fails or panics, the waiting of the others ends.
    pub(crate) fn attend<R, E>(&self, work: impl FnOnce() -> Result<R, E>) -> Result<R, E> {
        self.state.attend(work)
    }

    /// What no worker took, once all workers have left off.
    pub(crate) fn left(self) -> impl Iterator<Item = T> {
        self.state.into_inner().boxes.into_iter().flatten().flatten()
    }
}
