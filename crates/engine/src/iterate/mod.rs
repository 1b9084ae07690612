//! Synchronous iterations of [`VertexProgram`]s: one loop, and the strategies that it runs.
//!
//! - [`iterations`]: [`Iterations`], a program as a resource of a plan.
//! - [`run`]: what a run has in memory; [`apply`]: what happens to the vertices of an interval;
//!   [`signals`] and [`workspace`]: what goes there and comes from there.
//! - [`by_segment`]: everything in memory: the grid by segment, or lists.
//! - [`by_interval`]: an interval of vertices at a time at hand. [`interval_memory`]: what that
//!   needs, and what it does with more; [`full_pass`], [`pull`] and [`on_demand`]: how it reads
//!   edges.
//! - [`edge_path`]: the sections along which a program's signals travel.
//! - [`io_scheduling`]: what reading will cost (GraphSD, section 4.1); [`cross_iteration`]: one
//!   reading for two iterations (GraphSD, section 4.2); [`precompute`]: vertices of the next
//!   iteration that are computed in this one (Seraph, section 3.4).

mod apply;
mod by_interval;
mod by_segment;
mod cross_iteration;
mod edge_path;
mod full_pass;
mod interval_memory;
pub(crate) mod io_scheduling;
mod iterations;
mod on_demand;
mod precompute;
mod pull;
mod run;
mod signals;
mod workspace;

pub use iterations::Iterations;

use run::{Edges, Run};

use crate::{
    error::Result,
    monoid::Monoid,
    program::{Activity, Context, IterationEnd, Next, VertexProgram},
    report::Costs,
};

/// Runs to the end. Returns the number of iterations and the last residual.
fn iterate<P: VertexProgram>(run: &mut Run<P>) -> Result<(u64, f64)> {
    let (session, mut context, mut residual) = (run.session, Context::default(), 0.0);
    let mut active = run.total(|state| state.active);
    let idle = active == 0 && P::ACTIVITY == Activity::Frontier;
    let mut next = if idle { Next::Phase } else { Next::Iteration };
    while next != Next::End {
        let mark = session.mark();
        if next == Next::Phase {
            let keys = (0..run.states.len()).map(|interval| run.state(interval).key);
            context.phase = keys.min().unwrap_or(u64::MAX);
            if context.phase == u64::MAX {
                break;
            }
            run.begin_phase(&context)?;
            active = run.total(|state| state.active);
            if active == 0 {
                break;
            }
        }
        context.aggregate = run.total(|state| state.aggregate);
        run.program.begin_iteration(&context);
        let (mode, predicted) = deliver(run, &context)?;
        run.turn();
        residual = run.total(|state| state.residual);
        session.end_predicted(&mark, active, mode, predicted);
        session.check()?;
        context.iteration += 1;
        active = run.total(|state| state.active);
        let end = IterationEnd { iterations: context.iteration, residual, active };
        next = run.program.end_iteration(&end);
    }
    Ok((context.iteration, residual))
}

/// Signals travel along edges, and vertices apply. Returns how edges were read, and what was
/// predicted where there was a choice.
fn deliver<P: VertexProgram>(
    run: &mut Run<P>,
    context: &Context,
) -> Result<(&'static str, Option<Costs>)> {
    let Edges::Resident(edges) = &run.edges else { return run.by_interval(context) };
    let mut signals = run.signals.lock().expect("no holder panics");
    let (sent, count) = ((&**signals, &run.sending), run.total(|state| state.edges));
    let done = edges.deliver(&*run.program, run.session, sent, count)?;
    let (step, mut inbox) = (run.step_in_place(context, &mut signals), edges.inbox());
    let parts = run.parts(&mut inbox, 0..run.states.len());
    run.each_interval(|_, interval, workspace| {
        let mut messages = parts.get(interval).expect("one for each interval");
        let touched = messages.iter().any(|message| *message != P::Message::IDENTITY);
        if touched {
            workspace.sums().total[..messages.len()].copy_from_slice(&messages);
            messages.fill(P::Message::IDENTITY);
        } else {
            workspace.empty_total(messages.len());
        }
        run.apply(&step, interval, touched, workspace).map(drop)
    })?;
    Ok(done)
}
