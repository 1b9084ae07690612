//! [`OrderedMarks`]: which parts of an ordered work are done. Parts are done in any order; a thread
//! waits for the first ones.

use crate::monitor::Monitor;

/// The parts of a work that are done.
pub struct OrderedMarks(Monitor<Marks>);

struct Marks {
    done: Vec<bool>,
    /// How many are done without a gap.
    front: usize,
    /// Whether all that are done were marked with `true`.
    all: bool,
}

impl OrderedMarks {
    /// None of so many parts is done.
    pub fn new(parts: usize) -> Self {
        Self(Monitor::new(Marks { done: vec![false; parts], front: 0, all: true }))
    }

    /// The part at `position` is done, and has something that all of them may have, or not.
    pub fn mark(&self, position: usize, has: bool) {
        self.0.change(|Marks { done, front, all }| {
            *all &= has;
            done[position] = true;
            while done.get(*front) == Some(&true) {
                *front += 1;
            }
        });
    }

    /// Waits until the first `count` parts are done; returns whether all that are done have what
    /// they may have. `None`: a thread has failed.
    pub fn wait(&self, count: usize) -> Option<bool> {
        self.0.wait(|marks| (marks.front >= count).then_some(marks.all))
    }

    /// Works; an error or a panic ends the waiting of all.
    pub fn attend<R, E>(&self, work: impl FnOnce() -> Result<R, E>) -> Result<R, E> {
        self.0.attend(work)
    }
}
