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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_ones_are_done_when_no_gap_is_left() {
        let marks = OrderedMarks::new(3);
        assert_eq!(marks.wait(0), Some(true));
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| marks.wait(2));
            marks.mark(1, true);
            marks.mark(0, true);
            assert_eq!(waiting.join().unwrap(), Some(true));
        });
        marks.mark(2, false);
        assert_eq!(marks.wait(2), Some(false), "one of those that are done has it not");
    }

    #[test]
    fn a_failure_ends_the_waiting() {
        let marks = OrderedMarks::new(2);
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| marks.wait(1));
            assert!(marks.attend(|| Err::<(), _>(())).is_err());
            assert_eq!(waiting.join().unwrap(), None);
        });
        assert_eq!(marks.wait(1), None);
    }
}
