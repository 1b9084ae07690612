//! Runs of a single program that makes no plan of its own.

use crate::{
    iterate::Iterations,
    job::Job,
    plan::Planner,
    program::{Ended, Monotone, VertexProgram},
    report::RunReport,
    state::VertexArray,
};
use outercore_graph::Result;

/// The final value of each vertex, and what the run did.
pub type Finished<V> = (VertexArray<V>, RunReport);

/// Runs `program` to its end. `scans` is the number of iterations, where it is known before.
pub fn execute<P: VertexProgram>(
    program: &mut P,
    name: &'static str,
    job: Job,
    scans: Option<u64>,
) -> Result<Finished<P::Value>> {
    run(program, Planner::new(name, job), |planner, program| {
        Iterations::declare(planner, program, scans)
    })
}

/// The same for a program whose vertices may be computed early, if the configuration says so.
pub fn execute_monotone<P: Monotone>(
    program: &mut P,
    name: &'static str,
    job: Job,
) -> Result<Finished<P::Value>> {
    run(program, Planner::new(name, job), Iterations::declare_monotone)
}

fn run<'a, P: VertexProgram>(
    program: &mut P,
    mut planner: Planner<'a>,
    declare: impl FnOnce(&mut Planner<'a>, &P) -> Result<Iterations<P>>,
) -> Result<Finished<P::Value>> {
    let iterations = declare(&mut planner, program)?;
    let session = planner.decide()?.start()?;
    let Ended { values, iterations, .. } = iterations.run(&session, program, None)?;
    Ok((values, session.results(iterations).outcome().report))
}
