//! [`Progress`]: which intervals of a pass are settled.

use outercore_graph::{GraphError, Result};
use outercore_storage::Monitor;

/// Which intervals are settled, in the order of a pass; how many are without a gap; whether all of
/// their vertices send.
pub struct Progress(pub Monitor<(Vec<bool>, usize, bool)>);

impl Progress {
    /// None of `intervals` is settled.
    pub(crate) fn new(intervals: usize) -> Self {
        Self(Monitor::new((vec![false; intervals], 0, true)))
    }

    /// The interval at `position` of the pass is settled; `all_send`: each of its vertices sends in
    /// the next iteration.
    pub(crate) fn mark(&self, position: usize, all_send: bool) {
        self.0.change(|(settled, front, all)| {
            *all &= all_send;
            settled[position] = true;
            while settled.get(*front) == Some(&true) {
                *front += 1;
            }
        });
    }

    /// Waits until the first `count` intervals of the pass are settled; returns whether all
    /// vertices of all that are send in the next iteration. Fails when another worker has failed.
    pub(crate) fn wait(&self, count: usize) -> Result<bool> {
        let all_send = |(_, front, all): &mut (_, usize, bool)| (*front >= count).then_some(*all);
        self.0.wait(all_send).ok_or(GraphError::Cancelled)
    }
}
