//! Synchronous iterations of [`VertexProgram`]s: one loop, and the strategies that it runs.
//!
//! - [`iterations`]: [`Iterations`], a program as a resource of a plan.
//! - [`run`]: what a run has in memory; [`apply`]: what happens to the vertices of an interval;
//!   [`signals`] and [`workspace`]: what goes there and comes from there.
//! - [`by_segment`]: everything in memory: the grid by segment, or lists.
//! - [`by_interval`]: an interval of vertices at a time at hand. [`interval_memory`]: what that
//!   needs, and what it does with more; [`full_pass`] and [`by_lists`]: how it reads edges;
//!   [`on_demand`]: the lists of active vertices.
//! - [`edge_path`]: the sections along which a program's signals travel.
//! - [`io_scheduling`]: what reading will cost (GraphSD, section 4.1); [`cross_iteration`]: one
//!   reading for two iterations (GraphSD, section 4.2); [`precompute`]: vertices of the next
//!   iteration that are computed in this one (Seraph, section 3.4).

mod apply;
mod by_interval;
mod by_lists;
mod by_segment;
mod cross_iteration;
mod edge_path;
mod full_pass;
mod interval_memory;
pub(crate) mod io_scheduling;
mod iterations;
mod on_demand;
mod precompute;
mod run;
mod signals;
mod workspace;

pub use iterations::Iterations;

use run::Run;

use crate::{
    error::Result,
    program::{Activity, IterationEnd, Next, VertexProgram},
};

/// Runs to the end. Returns the last residual.
fn iterate<P: VertexProgram>(run: &mut Run<P>) -> Result<f64> {
    let (session, mut residual) = (run.session, 0.0);
    let mut active = run.total(|state| state.active);
    let idle = active == 0 && P::ACTIVITY == Activity::Frontier;
    let mut next = if idle { Next::Phase } else { Next::Iteration };
    while next != Next::End {
        let mark = session.mark();
        if next == Next::Phase {
            let keys = (0..run.states.len()).map(|interval| run.state(interval).key);
            run.context.phase = keys.min().unwrap_or(u64::MAX);
            if run.context.phase == u64::MAX {
                break;
            }
            run.begin_phase()?;
            active = run.total(|state| state.active);
            if active == 0 {
                break;
            }
        }
        run.context.aggregate = run.total(|state| state.aggregate);
        run.program.begin_iteration(&run.context);
        let (mode, predicted) = match run.edges.resident() {
            Some(edges) => run.by_segment(edges)?,
            None => run.by_interval()?,
        };
        run.turn();
        residual = run.total(|state| state.residual);
        session.end_predicted(&mark, active, mode, predicted);
        session.check()?;
        run.context.iteration += 1;
        active = run.total(|state| state.active);
        let end = IterationEnd { iterations: run.context.iteration, residual, active };
        next = run.program.end_iteration(&end);
    }
    Ok(residual)
}
