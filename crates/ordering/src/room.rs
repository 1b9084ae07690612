//! [`Room`]: what the budget leaves for finding an order.

use outercore_graph::{Result, error::too_small};

/// Bytes of the program itself, its stacks, and batches that are on their way.
const PROGRAM: u64 = 24 << 20;
/// Refusals name whole steps.
const STEP: u64 = 1 << 20;

/// A budget.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    budget: u64,
}

impl Room {
    /// That of so many bytes.
    pub fn of(budget: u64) -> Self {
        Self { budget }
    }

    /// All of it.
    pub fn budget(self) -> u64 {
        self.budget
    }

    /// The bytes that are left beside `held` ones, which `what` takes; refuses where they are too
    /// many.
    pub fn beside(self, held: u64, what: &str) -> Result<u64> {
        match self.budget.checked_sub(PROGRAM + held) {
            Some(left) => Ok(left),
            None => too_small((PROGRAM + held).next_multiple_of(STEP), self.budget, what),
        }
    }
}

#[cfg(test)]
mod tests {
    use outercore_graph::GraphError;

    use super::*;

    #[test]
    fn the_budget_that_is_named_is_enough() {
        assert_eq!(Room::of(PROGRAM + 10).beside(7, "this").unwrap(), 3);
        let error = Room::of(30 << 20).beside((9 << 20) + 1, "this").unwrap_err();
        let GraphError::Memory { needed, budget, .. } = error else { panic!("{error}") };
        assert_eq!(budget, 30 << 20);
        assert!(Room::of(needed).beside((9 << 20) + 1, "this").is_ok());
    }
}
