//! Plans of small runs are tried out.
//!
//! How often a traversal comes back to a page depends on its course, and nothing in a graph's files
//! tells that. A run that is expected to move few bytes takes less time than it takes to read its
//! plan, so [`plan`] does the run, within bounds, and puts what it read and wrote, and the memory
//! that it took, in the place of what was reckoned. A trial that reaches a bound ends: then the
//! plan is what was reckoned, or what the trial has moved, whichever is more. Nothing stays of a
//! trial: a run that would keep a view beside the graph is not tried.

use std::{
    sync::atomic::Ordering::Relaxed,
    time::{Duration, Instant},
};

use outercore_algorithms::Algorithm;
use outercore_engine::{IterationReport, Job, Outcome, Plan, PlanItem, RunConfig, RunProgress};
use outercore_graph::{Graph, Result};
use outercore_storage::{Disk, memory};

/// Runs that are expected to read and write more are not tried, and a trial that has ends.
const MOST: u64 = 256 << 20;
/// A trial that has taken longer ends.
const LONGEST: Duration = Duration::from_secs(1);

/// A process that has never had more in memory has done nothing but to plan: the peak of a trial is
/// that of a run.
const FRESH: u64 = 16 << 20;

/// What a run of `algorithm` would do: as it does, if it is small. `allow` may refuse the plan
/// before it is tried out, and `progress` may end a trial.
pub fn plan(
    algorithm: &dyn Algorithm,
    graph: &Graph,
    config: &RunConfig,
    progress: &dyn RunProgress,
    allow: impl FnOnce(&Plan) -> Result<()>,
) -> Result<Plan> {
    let counted = graph.counted_apart();
    let bounds = Bounds { disk: counted.disk(), begun: Instant::now(), progress };
    let prepared = algorithm.prepare(Job::new(&counted, config, &bounds))?;
    let mut plan = prepared.plan.clone();
    allow(&plan)?;
    // What runs on the graph share is theirs: a trial would put its own in the place.
    if graph.shared().is_some()
        || plan.makes_view
        || plan.expected_bytes_read + plan.expected_bytes_written > MOST
    {
        return Ok(plan);
    }
    let is_fresh = memory::peak_rss_bytes() <= FRESH;
    // What is wrong with the graph or the disk is for the run to say.
    let ran = prepared.run();
    graph.share(None);
    if let Ok(Outcome { report, .. }) = ran {
        plan.expected_bytes_read = report.bytes_read;
        plan.expected_bytes_written = report.bytes_written;
        if is_fresh {
            fit(&mut plan.memory, report.peak_rss_bytes);
        }
        plan.tried = true;
        return Ok(plan);
    }
    let [read, written] = bounds.moved();
    plan.expected_bytes_read = plan.expected_bytes_read.max(read);
    plan.expected_bytes_written = plan.expected_bytes_written.max(written);
    Ok(plan)
}

/// Makes items add up to what a trial took. What was not taken is of what comes last, windows and
/// edges first: they are filled as far as there is something to keep. Caches that were asked for
/// stay. What has no name is the program's.
fn fit(items: &mut [PlanItem], peak: u64) {
    let planned: u64 = items.iter().map(|item| item.bytes).sum();
    let mut more = planned.saturating_sub(peak);
    for item in items.iter_mut().rev().filter(|item| !item.name.ends_with(" cache")) {
        let cut = more.min(item.bytes);
        item.bytes -= cut;
        more -= cut;
    }
    if let Some(program) = items.first_mut() {
        program.bytes += peak.saturating_sub(planned);
    }
}

/// Ends a trial that has become large.
struct Bounds<'a> {
    disk: &'a Disk,
    begun: Instant,
    progress: &'a dyn RunProgress,
}

impl Bounds<'_> {
    /// Bytes read and written so far.
    fn moved(&self) -> [u64; 2] {
        let counters = self.disk.counters();
        [&counters.bytes_read, &counters.bytes_written].map(|bytes| bytes.load(Relaxed))
    }
}

impl RunProgress for Bounds<'_> {
    fn iteration(&self, _: &IterationReport) {}

    fn cancelled(&self) -> bool {
        let is_large = self.moved().iter().sum::<u64>() > MOST;
        is_large || self.begun.elapsed() > LONGEST || self.progress.cancelled()
    }
}
