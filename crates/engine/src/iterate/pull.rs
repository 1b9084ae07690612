//! Iterations in which vertices take what their neighbors send, for edges that the grid does not
//! have: those with weights, and those against their direction. The lists of an interval's
//! vertices, of the direction from which signals come, are read in order. A vertex's messages are
//! combined in the order of its list.

use super::run::{Run, Step};
use crate::{
    edges::{io_iterator::IoIterator, rows::Rows},
    error::Result,
    monoid::Monoid,
    program::VertexProgram,
};

impl<P: VertexProgram> Run<'_, P> {
    /// One iteration by these lists, or what a window of signals adds to it.
    pub(crate) fn pull(&self, step: &Step<P>, rows: &Rows) -> Result<()> {
        let (weights, window) = (self.session.graph.weights(), &step.window.vertices);
        self.each_interval(|worker, interval, workspace| {
            let range = self.vertices(interval);
            let mut touched = self.resume(interval, workspace)?;
            let (first, total) = (range.start, workspace.sums().total);
            let lists = IoIterator::new(self.session, rows).within(range);
            let all = |_| u64::MAX;
            lists.for_each_here(worker, all, |vertex, list| {
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
            self.finish(step, interval, touched, workspace).map(drop)
        })
    }
}
