//! Searches that wait at the end of each level or window, and go over to visitors when these turn
//! out to be small: to wait for the end of each takes longer than its few vertices do.

use std::sync::atomic::Ordering::Relaxed;

use outercore_engine::{Planner, Prepared, Session, Technique, VertexArray, Window};
use outercore_graph::Result;

use crate::visits::{FEW_BYTES, mail};

/// Where so many steps have fewer than so many vertices on average, visitors are faster.
const STEPS: u64 = 8;
const WIDTH: u64 = 512;

/// A small step takes as long as to go over so many vertices, as a change does: it comes once small
/// steps have taken as long as it does.
const SWITCH: u64 = 1 << 15;
/// Once an eighth of the vertices had their turn, most have had it, as a rule. For what is left a
/// change must be worth so many times more: it may read all lists.
const LATE: u64 = 8;
const RELUCTANCE: u64 = 32;

/// How small the steps of a search are.
pub struct SmallSteps {
    /// All vertices, and those of the steps so far.
    vertices: u64,
    seen: u64,
    /// The small steps in a row at the end.
    small: u64,
    /// Steps that were noted together, and their vertices.
    recent: [u64; 2],
}

impl SmallSteps {
    /// None yet of a search over so many vertices.
    pub fn of(vertices: u64) -> Self {
        Self { vertices, seen: 0, small: 0, recent: [0; 2] }
    }

    /// Notes a step with so many vertices; whether there were too many small ones.
    pub fn note(&mut self, vertices: u64) -> bool {
        let [steps, all] = self.recent;
        self.recent = [steps + 1, all + vertices];
        if self.recent[0] < STEPS {
            return false;
        }
        let is_small = self.recent[1] < STEPS * WIDTH;
        self.small = if is_small { self.small + STEPS } else { 0 };
        self.seen += self.recent[1];
        self.recent = [0; 2];
        let is_late = self.seen > self.vertices / LATE;
        let most = self.vertices / SWITCH * if is_late { RELUCTANCE } else { 1 };
        self.small >= most.max(STEPS)
    }
}

/// States what [`switch`](crate::switch) takes beside lists, labels and what is due.
pub fn declare_switch(planner: &mut Planner) {
    planner.memory("visitors", [FEW_BYTES + mail(planner.job.config), 0]);
    planner.can(|_| Ok(vec![Technique::Visitors]));
}

/// Labels that [`switch`](crate::switch) goes on from: those that were `found`.
pub fn labels(session: &Session, found: impl Fn(u64) -> u64 + Sync) -> Result<Window<u64>> {
    let labels = Window::open(session, VertexArray::of(session)?, u64::MAX)?;
    let cells = labels.cells();
    session.workers.each(cells.len() as u64, 1 << 16, |vertices| {
        vertices.for_each(|vertex| cells[vertex as usize].store(found(vertex), Relaxed));
    });
    Ok(labels)
}

/// A run that may change over, if it is in the model of `plain`, which does not.
pub fn or_plain<'a>(switching: Result<Prepared<'a>>, plain: Prepared<'a>) -> Prepared<'a> {
    match switching {
        Ok(mut it) if it.plan.memory_model == plain.plan.memory_model => {
            it.plan.smallest_budget_bytes = plain.plan.smallest_budget_bytes;
            it
        }
        _ => plain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After how many of these steps a search of so many vertices changes over.
    fn after(vertices: u64, steps: impl IntoIterator<Item = u64>) -> Option<usize> {
        let mut small = SmallSteps::of(vertices);
        steps.into_iter().position(|step| small.note(step)).map(|at| at + 1)
    }

    #[test]
    fn many_small_steps_in_a_row_are_too_many() {
        assert_eq!(after(1000, [1; 100]), Some(8));
        assert_eq!(after(32 * SWITCH, [WIDTH - 1; 100]), Some(32));
        assert_eq!(after(1000, [WIDTH; 100]), None);
        let wide = [[1; 24].as_slice(), &[1 << 10; 8], &[1; 100]].concat();
        assert_eq!(after(32 * SWITCH, wide), Some(64), "in a row");
        // The end of a large search is hardly worth a change.
        let end = |len| [vec![1 << 14; 8], vec![1; len]].concat();
        assert_eq!(after(32 * SWITCH, end(1023)), None);
        assert_eq!(after(32 * SWITCH, end(1100)), Some(8 + 1024));
    }
}
