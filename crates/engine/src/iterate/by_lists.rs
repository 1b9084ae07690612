//! Iterations by lists, where an interval of vertices at a time is at hand.
//!
//! - Vertices that are active send along their lists; messages wait until their interval comes in.
//! - Vertices take what their neighbors send, for edges that the grid does not have: those with
//!   weights, and those against their direction. The lists of an interval's vertices, of the
//!   direction from which signals come, are read in order. A vertex's messages are combined in the
//!   order of its list.

use std::ops::Range;

use super::{Run, Step, on_demand::OnDemand, signals::Signals, workspace::Workspace};
use crate::{
    edges::{io_iterator::IoIterator, rows::Rows},
    error::Result,
    monoid::Monoid,
    program::VertexProgram,
};

impl<P: VertexProgram> Run<'_, P> {
    /// Vertices of a window send along their lists.
    pub(crate) fn send_along(
        &self,
        lists: &OnDemand<P::Message>,
        window: &Range<u64>,
    ) -> Result<()> {
        let mut signals = self.signals();
        if self.precompute.is_some() {
            return self.gather_early(lists, &mut signals);
        }
        self.gather(lists, window.clone(), &signals, self.total(|state| state.edges))
    }

    /// Reads the lists of those of these vertices that send, and passes their messages on; they
    /// have about so many edges. `signals` are those of the vertices that are no hubs.
    pub(crate) fn gather(
        &self,
        lists: &OnDemand<P::Message>,
        vertices: Range<u64>,
        signals: &[P::Signal],
        edges: u64,
    ) -> Result<()> {
        let OnDemand { rows, exchange, retained, .. } = lists;
        let signals = Signals::new(&self.hubs, signals, vertices.start);
        let mut retained = retained.as_ref().map(|lists| lists.lock().expect("no holder panics"));
        let stream = IoIterator::new(self.session, rows).ordered(!P::Message::EXACT);
        let mut stream = stream.within(vertices);
        if let Some(retained) = &mut retained {
            retained.turn();
            stream = stream.behind(&**retained);
        }
        let senders = stream.for_each(
            edges.min(rows.edges()),
            |group| self.sending.word(group),
            |_| exchange.sender(),
            |sender, vertex, list| {
                let signal = signals.of(vertex);
                list.neighbors().for_each(|target| {
                    exchange.send(sender, target, self.program.carry(signal, 1.0));
                });
            },
        )?;
        exchange.collect(senders)
    }

    /// The messages that were passed to an interval become its total, and reach its vertices.
    pub(crate) fn collect(
        &self,
        lists: &OnDemand<P::Message>,
        step: &Step<P>,
        workspace: &mut Workspace<P>,
    ) -> Result<bool> {
        workspace.total().fill(P::Message::IDENTITY);
        let touched = self.receive(lists, workspace)?;
        self.apply(step, touched, workspace)
    }

    /// Combines what waits for an interval with its total. Returns whether there was any.
    pub(crate) fn receive(
        &self,
        lists: &OnDemand<P::Message>,
        workspace: &mut Workspace<P>,
    ) -> Result<bool> {
        let (interval, first, total) = (workspace.interval, workspace.first, workspace.total());
        let combine = |target, message| total[(target - first) as usize].combine(message);
        Ok(lists.exchange.drain(interval, combine)? > 0)
    }

    /// One iteration by the lists of targets, or what a window of signals adds to it.
    pub(crate) fn pull(&self, step: &Step<P>, rows: &Rows) -> Result<()> {
        let (weights, window) = (self.session.graph.weights(), step.window);
        self.each_interval(|workspace| {
            let mut touched = self.resume(workspace)?;
            let (worker, range) = (workspace.worker, workspace.vertices());
            let (first, total) = (range.start, workspace.total());
            let lists = IoIterator::new(self.session, rows).within(range);
            lists.for_each_here(worker, |vertex, list| {
                let sum = &mut total[(vertex - first) as usize];
                let sends = |&(neighbor, _): &(u64, u64)| {
                    window.contains(&neighbor) && self.sending.contains(neighbor)
                };
                for (neighbor, weight) in list.weighted().filter(sends) {
                    touched = true;
                    let signal = step.signals.of(neighbor);
                    sum.combine(self.program.carry(signal, weights.value(weight)));
                }
            })?;
            self.finish(step, touched, workspace)
        })
    }
}
