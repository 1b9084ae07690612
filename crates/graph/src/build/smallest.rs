//! The budgets that refusals of builds name.

use super::BASE;
use crate::error::GraphError;

/// Refusals name whole steps.
const STEP: u64 = 1 << 20;

/// Bytes for ids and for renumbering, of a build that has so many for its work.
pub fn of_ranking(memory: u64) -> u64 {
    memory * 8 / 10
}

/// The error of a budget that is too small for `what`. It names the smallest larger one whose
/// memory, all but what the program itself takes, passes `fits`.
pub fn budget_for(budget: u64, what: String, fits: impl Fn(u64) -> bool) -> GraphError {
    let fits = |budget: u64| fits(budget.saturating_sub(BASE));
    let (mut refused, mut needed) = (budget, budget.saturating_add(STEP));
    while !fits(needed) && needed < u64::MAX / 2 {
        (refused, needed) = (needed, needed * 2);
    }
    while needed - refused > STEP {
        let middle = refused + (needed - refused) / 2;
        if fits(middle) {
            needed = middle;
        } else {
            refused = middle;
        }
    }
    GraphError::Memory { needed: needed.next_multiple_of(STEP), budget, what }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_larger_budget_that_fits_is_named() {
        for least in [70 << 20, (100 << 20) + 1, 5 << 30, 3 << 40] {
            let error = budget_for(64 << 20, "this".to_owned(), |memory| memory + BASE >= least);
            let GraphError::Memory { needed, budget, .. } = error else { panic!("{error}") };
            assert_eq!(budget, 64 << 20);
            assert!((least..least + 2 * STEP).contains(&needed), "{needed} for {least}");
        }
    }
}
