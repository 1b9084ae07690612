//! Selective pre-computation (Seraph, FAST'24, section 3.4): lists are read interval by interval,
//! whether vertices are in memory or not. An interval whose turn comes first takes what was passed
//! to it so far, so that some of its vertices are known to be active in the next iteration. Those
//! near a vertex that is active now are computed with it: their bits move from the next bitmap to
//! the current one.
//!
//! ```text
//! active now          . . x . . . . . . . . .
//! active next         . . . . x . . . . . . x
//! promoted (gap 32)           ^ near an active one: its list is read with that one's
//! ```
//!
//! Only programs that are [`Monotone`](crate::program::Monotone) can ask for it
//! ([`Iterations::declare_monotone`](super::Iterations::declare_monotone)).

use std::ops::Range;

use outercore_storage::{Carries, lock, promote};

use super::{Run, by_lists::Gathering};
use crate::{config::Precompute, edges::rows::Rows, program::VertexProgram, techniques::Technique};
use outercore_graph::Result;

impl<P: VertexProgram> Run<'_, P> {
    /// Reads the lists of vertices of a window that send, and of those that will send and are
    /// promoted, and passes their messages on; interval by interval. Signals that are known of the
    /// next iteration go to scratch with those of the window.
    pub(crate) fn gather_early(
        &self,
        (rows, exchange, retained): Gathering<&[&Rows], impl Carries<P::Message>>,
        window: Range<u64>,
        signals: &mut [P::Signal],
    ) -> Result<()> {
        let all = self.precompute == Some(Precompute::On);
        for interval in self.values.within(&window) {
            let range = self.vertices(interval);
            let passed = exchange.pending(interval);
            if range.is_empty() || !(self.sends(&range) || all && passed) {
                continue;
            }
            // Those of vertices that send, and of those that may be promoted: what wakes other
            // workers must be worth it.
            let mut edges = self.state(interval).edges;
            let part = (range.start - window.start) as usize..(range.end - window.start) as usize;
            let part = &mut signals[part];
            if passed {
                let step = self.step_in_place(self.parts(part, &range));
                let mut workspace = lock(&self.workspaces[0]);
                workspace.turn_to(interval, &range, 0);
                self.collect(exchange, &step, &mut workspace)?;
                edges += self.state(interval).edges;
            }
            let moved = promote(&self.sending, &self.next_sending, range.clone(), all);
            self.session.counters.note(Technique::Precompute, [moved, 0]);
            for &rows in rows {
                self.gather((rows, exchange, retained), range.clone(), part, edges)?;
            }
            let known = self.next_sending.any(range.start, range.end - 1);
            if let (true, Some(tail)) = (known && self.windows.len() > 1, &self.tail) {
                let mut workspace = lock(&self.workspaces[0]);
                workspace.signals.items(part.len()).copy_from_slice(part);
                tail.store(interval, &mut workspace.signals)?;
                self.state(interval).tail = true;
            }
        }
        Ok(())
    }
}
