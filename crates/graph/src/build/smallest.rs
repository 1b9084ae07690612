//! How the budget of a build is divided, and the budgets that refusals name.
//!
//! The program itself takes what it takes. Buffers, of the readers and of the sections on their
//! way out, have what makes them fast; in small budgets all of them are smaller, by the same share.
//! The rest is for the work.

use crate::error::{self, GraphError};

/// Bytes of the program itself: its code, its heap, its stacks.
const PROGRAM: u64 = 16 << 20;
/// Bytes of all buffers in budgets of [`AMPLE`] and more.
const BUFFERS: u64 = 28 << 20;
/// The smallest budget whose buffers are as large as they get.
const AMPLE: u64 = 64 << 20;
/// The smallest budget of a build: its buffers have an eighth of what they have in ample ones.
pub const SMALLEST_BUDGET: u64 = PROGRAM + (AMPLE - PROGRAM) / 8;
/// The share of the work's memory that a source has which comes in pages, in tenths...
const PAGED_TENTHS: u64 = 4;
/// ...and what it has in any case in ample budgets: other readers' part of the buffers.
const LEAST_PAGED: usize = 24 << 20;

/// A budget of a build.
#[derive(Clone, Copy, Debug)]
pub struct Division(pub u64);

impl Division {
    /// Bytes of all buffers.
    fn buffers(self) -> u64 {
        let beyond = self.0.clamp(PROGRAM, AMPLE) - PROGRAM;
        BUFFERS * beyond / (AMPLE - PROGRAM)
    }

    /// Bytes for the work.
    pub fn work(self) -> u64 {
        self.0.saturating_sub(PROGRAM + self.buffers())
    }

    /// What a buffer has that has `ample` in ample budgets.
    pub fn buffer(self, ample: usize) -> usize {
        (ample as u64 * self.buffers() / BUFFERS) as usize
    }

    /// Bytes that reading the source may take, which comes in pages or does not.
    pub fn reading(self, paged: bool) -> usize {
        if paged {
            ((self.work() * PAGED_TENTHS / 10) as usize).max(self.buffer(LEAST_PAGED))
        } else {
            ((self.work() / 8) as usize).clamp(self.buffer(4 << 20), 64 << 20)
        }
    }
}

/// Bytes for ids and for renumbering, of a build that has so many for its work.
pub fn of_ranking(work: u64) -> u64 {
    work * 8 / 10
}

/// As many of so many workers as `fits` finds room for, by halves.
pub fn most_workers<T>(threads: usize, fits: impl Fn(usize) -> Option<T>) -> Option<(usize, T)> {
    halves(threads).find_map(|workers| Some((workers, fits(workers)?)))
}

/// So many workers, half of them, and so on to one.
pub fn halves(threads: usize) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(threads), |&workers| (workers > 1).then_some(workers / 2))
}

/// The error of a budget that is too small for `what`. It names the smallest larger one that
/// `fits`.
pub fn budget_for(budget: u64, what: String, fits: impl Fn(Division) -> bool) -> GraphError {
    GraphError::Memory { needed: smallest_above(budget, fits), budget, what }
}

/// The smallest budget above this one that `fits`, in whole steps.
pub fn smallest_above(budget: u64, fits: impl Fn(Division) -> bool) -> u64 {
    error::smallest_above(budget, |memory| fits(Division(memory))).unwrap_or(u64::MAX / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_larger_budget_that_fits_is_named() {
        for least in [70 << 20, (100 << 20) + 1, 5 << 30, 3 << 40] {
            let error = budget_for(64 << 20, "this".to_owned(), |division| division.0 >= least);
            let GraphError::Memory { needed, budget, .. } = error else { panic!("{error}") };
            assert_eq!(budget, 64 << 20);
            assert!((least..least + (2 << 20)).contains(&needed), "{needed} for {least}");
        }
    }

    #[test]
    fn no_part_falls_as_the_budget_grows_and_all_together_fit_it() {
        let mut last = [0; 4];
        for budget in (SMALLEST_BUDGET..200 << 20).step_by(100_000) {
            let division = Division(budget);
            assert_eq!(PROGRAM + division.buffers() + division.work(), budget);
            let parts = [
                division.work(),
                division.buffers(),
                division.reading(true) as u64,
                division.reading(false) as u64,
            ];
            assert!(parts.iter().zip(&last).all(|(part, last)| part >= last), "{budget}");
            last = parts;
        }
        assert_eq!(Division(AMPLE).buffer(1 << 20), 1 << 20);
        assert_eq!(Division(SMALLEST_BUDGET).buffer(1 << 20), 128 << 10);
    }

    #[test]
    fn as_many_work_as_there_is_room_for() {
        let fits = |most: usize| move |workers| (workers <= most).then_some(workers * 10);
        assert_eq!(most_workers(7, fits(7)), Some((7, 70)));
        assert_eq!(most_workers(7, fits(6)), Some((3, 30)));
        assert_eq!(most_workers(7, fits(1)), Some((1, 10)));
        assert_eq!(most_workers(7, fits(0)), None);
    }
}
