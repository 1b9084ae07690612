//! Selective pre-computation (Seraph, FAST'24, section 3.4): lists are read interval by interval.
//! An interval that comes in first takes what was passed to it so far, so that some of its vertices
//! are known to be active in the next iteration. Those near a vertex that is active now are
//! computed with it: their bits move from the next bitmap to the current one.
//!
//! ```text
//! active now          . . x . . . . . . . . .
//! active next         . . . . x . . . . . . x
//! promoted (gap 32)           ^ near an active one: its list is read with that one's
//! ```
//!
//! Only programs that are [`Monotone`](crate::program::Monotone) can ask for it
//! ([`Iterations::declare_monotone`](super::Iterations::declare_monotone)).

use outercore_storage::{lock, promote};

use super::{Run, by_lists::OnDemand};
use crate::{config::Precompute, program::VertexProgram, techniques::Technique};
use outercore_graph::Result;

impl<P: VertexProgram> Run<'_, P> {
    /// Reads the lists of vertices that send, and of those that will send and are promoted, and
    /// passes their messages on; interval by interval.
    pub(crate) fn gather_early(
        &self,
        lists: &OnDemand<P::Message>,
        signals: &mut [P::Signal],
    ) -> Result<()> {
        let all = self.precompute == Some(Precompute::On);
        for interval in 0..self.states.len() {
            let range = self.vertices(interval);
            let passed = lists.exchange.pending(interval);
            if range.is_empty() || !(self.sends(&range) || all && passed) {
                continue;
            }
            // Those of vertices that send, and of those that may be promoted: what wakes other
            // workers must be worth it.
            let mut edges = self.state(interval).edges;
            let part = &mut signals[range.start as usize..range.end as usize];
            if passed {
                let step = self.step_in_place(self.parts(part, &range));
                let mut workspace = lock(&self.workspaces[0]);
                workspace.turn_to(interval, &range, 0);
                self.collect(lists, &step, &mut workspace)?;
                edges += self.state(interval).edges;
            }
            let moved = promote(&self.sending, &self.next_sending, range.clone(), all);
            self.session.counters.note(Technique::Precompute, [moved, 0]);
            self.gather(lists, range, part, edges)?;
        }
        Ok(())
    }
}
