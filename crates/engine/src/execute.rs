//! Runs of one program in a session of its own, for algorithms that have no plan of their own yet.

use outercore_graph::Graph;

pub use crate::iterate::Iterations;
use crate::{
    config::RunConfig,
    error::Result,
    job::Job,
    plan::{Plan, Planner},
    program::{Ended, Monotone, VertexProgram},
    progress::{RunProgress, Silent},
    session::Session,
    state::VertexArray,
};

/// A finished run of a program, with its session.
pub struct Finished<'a, V: outercore_storage::Pod> {
    /// The final values.
    pub values: VertexArray<V>,
    /// The session, for the report.
    pub session: Session<'a>,
    /// The plan that ran.
    pub plan: Plan,
    /// Iterations.
    pub iterations: u64,
    /// The last iteration's residual.
    pub residual: f64,
    /// Seconds of loading.
    pub load_seconds: f64,
}

/// What a program needs: the plan, and the bytes that may cache edges.
pub(crate) fn plan<P: VertexProgram>(
    program: &P,
    name: &'static str,
    graph: &Graph,
    config: &RunConfig,
    scans: Option<u64>,
) -> Result<(Plan, u64)> {
    let mut planner = Planner::new(name, Job { graph, config, progress: &Silent });
    Iterations::declare(&mut planner, program, scans)?;
    let decided = planner.decide()?;
    Ok((decided.plan, decided.decision.room))
}

/// The same for a program whose vertices may be computed early, if `config` says so.
pub(crate) fn plan_monotone<P: Monotone>(
    program: &P,
    name: &'static str,
    graph: &Graph,
    config: &RunConfig,
) -> Result<(Plan, u64)> {
    let mut planner = Planner::new(name, Job { graph, config, progress: &Silent });
    Iterations::declare_monotone(&mut planner, program)?;
    let decided = planner.decide()?;
    Ok((decided.plan, decided.decision.room))
}

/// Runs `program` to its end. `scans` is the number of iterations, where it is known before.
pub fn execute<'a, P: VertexProgram>(
    program: &mut P,
    name: &'static str,
    graph: &'a Graph,
    config: &'a RunConfig,
    progress: &'a dyn RunProgress,
    scans: Option<u64>,
) -> Result<Finished<'a, P::Value>> {
    let mut planner = Planner::new(name, Job { graph, config, progress });
    let iterations = Iterations::declare(&mut planner, &*program, scans)?;
    finish(planner, &iterations, program)
}

/// The same for a program whose vertices may be computed early, if `config` says so.
pub fn execute_monotone<'a, P: Monotone>(
    program: &mut P,
    name: &'static str,
    graph: &'a Graph,
    config: &'a RunConfig,
    progress: &'a dyn RunProgress,
) -> Result<Finished<'a, P::Value>> {
    let mut planner = Planner::new(name, Job { graph, config, progress });
    let iterations = Iterations::declare_monotone(&mut planner, &*program)?;
    finish(planner, &iterations, program)
}

fn finish<'a, P: VertexProgram>(
    planner: Planner<'a>,
    iterations: &Iterations<P>,
    program: &mut P,
) -> Result<Finished<'a, P::Value>> {
    let decided = planner.decide()?;
    let plan = decided.plan.clone();
    let session = decided.start()?;
    let Ended { values, iterations, residual } = iterations.run(&session, program)?;
    let load_seconds = session.load_seconds();
    Ok(Finished { values, session, plan, iterations, residual, load_seconds })
}
