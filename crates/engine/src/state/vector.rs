//! A [`Vector`] of the user's as a resource of a plan, which opens as a [`VertexArray`].

use super::vertex_array::VertexArray;
use crate::{
    exchange::Exchange,
    plan::{Planner, Resource},
    session::Session,
};
use outercore_graph::{Result, Vector};

/// The numbers of the connected vertices. What it states is beside the array, which is in memory
/// or on scratch as the plan has decided.
impl Resource for Vector {
    type Opened = VertexArray<f64>;

    fn declare(&self, planner: &mut Planner) -> Result<()> {
        let vertices = planner.job.graph.connected();
        planner.memory("vector", [self.bytes(); 2]);
        planner.reads(self.reads(planner.job.graph));
        // Each number is logged beside 4 bytes, and then stored.
        planner.traffic_external([12 * vertices, 20 * vertices]);
        Exchange::<f64>::declare(planner, usize::MAX, vertices).map(drop)
    }

    fn open(&self, session: &Session) -> Result<VertexArray<f64>> {
        let show =
            |put: &mut dyn FnMut(u64, f64)| self.for_each(session.graph, &|| session.check(), put);
        if !session.decision.is_external() {
            let mut memory = session.zeroed(session.graph.connected())?;
            show(&mut |vertex, number| memory[vertex as usize] = number)?;
            return Ok(memory.into());
        }
        let array = VertexArray::of(session)?;
        let log = Exchange::new(session, array.bounds(), 0)?;
        let mut sender = log.sender();
        show(&mut |vertex, number| log.send(&mut sender, vertex, number))?;
        log.collect([sender])?;
        let mut block = array.block()?;
        for interval in 0..array.intervals() {
            let first = array.bounds()[interval];
            array.write(interval, &mut block, |items| {
                log.drain(interval, |vertex, number| items[(vertex - first) as usize] = number)
            })??;
        }
        Ok(array)
    }
}
