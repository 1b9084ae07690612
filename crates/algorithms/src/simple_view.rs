//! Runs on the undirected simple view of a graph: every edge in both directions, none twice, no
//! self-loops. It has the graph's ids. It is made before the run, kept beside the graph, and used
//! again.

use std::time::Instant;

use outercore_engine::{Decided, Plan, RunConfig};
use outercore_graph::{GraphError, view};

use crate::common::*;

/// What is done to a run that was decided for a view, before it is prepared: it gets the plan that
/// has the view in it.
pub type Adjust<'f> = &'f dyn Fn(&mut Decided);

/// A run of an algorithm on the view of `job`'s graph. `make` prepares one on a graph that is
/// undirected and simple, with results on `job`'s.
pub fn on_simple_view<'a>(
    name: &'static str,
    job: Job<'a>,
    make: impl for<'b> Fn(Job<'b>, &'b Graph, Adjust) -> Result<Prepared<'b>> + 'a,
) -> Result<Prepared<'a>> {
    if job.config.static_cache.is_some() {
        return refuse(format!(
            "--static-cache: {name} runs on the undirected simple view of {}, of which no lists \
             are selected. Leave it out, or build the graph with --undirected --simple",
            job.graph.path().display()
        ));
    }
    let plan = plan_with_view(name, job, |job| Ok(make(job, job.graph, &|_| ())?.plan))?;
    Ok(Prepared::new(plan.clone(), move || {
        let begun = Instant::now();
        job.with_simple_view(|graph| {
            let adjust = |decided: &mut Decided| {
                decided.plan = Plan { memory_model: decided.plan.memory_model, ..plan.clone() };
                decided.begun = Some(begun);
            };
            make(Job { graph, ..job }, job.graph, &adjust)?.run()
        })
    }))
}

/// A plan of a run on a view. The error of a budget that is too small names one that is enough for
/// making the view, too.
fn plan_with_view(name: &str, job: Job, plan: impl Fn(Job) -> Result<Plan>) -> Result<Plan> {
    let (graph, config) = (job.graph, job.config);
    if let Some(view) = view::kept(graph)? {
        let plan = plan(Job { graph: &view, ..job })?;
        let method = format!("on the undirected simple view, which is kept; {}", plan.method);
        return Ok(Plan { method, ..plan });
    }
    let mut plan = match plan(job) {
        Err(GraphError::Memory { needed, .. }) => {
            let ample = RunConfig { memory: needed, ..config.clone() };
            plan(Job { config: &ample, ..job })?
        }
        planned => planned?,
    };
    plan.method = format!("on the undirected simple view, made first; {}", plan.method);
    plan.makes_view = true;
    plan.disk_bytes += view::disk_bytes(graph);
    plan.expected_bytes_read += view::traffic(graph);
    plan.expected_bytes_written += view::traffic(graph);
    let needed = view::smallest_budget(graph, config.threads, plan.smallest_budget_bytes)?;
    if config.memory < needed {
        let what = format!("{name} on the undirected simple view");
        return too_small(needed, config.memory, &what);
    }
    plan.smallest_budget_bytes = needed;
    plan.in_memory_budget_bytes = needed.max(plan.in_memory_budget_bytes);
    Ok(plan)
}
