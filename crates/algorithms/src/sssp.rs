//! Shortest paths from one vertex.
//!
//! - `delta-stepping`: windows of distance, by [`DeltaStepping`] of the engine.
//! - `program`: rounds, in which every vertex whose distance fell sends it on.
//!
//! With `--executor async` visitors carry the distances (Pearce, Gokhale and Amato, SC'10), the
//! smallest first, and no window waits for another.
//!
//! A relaxation is one atomic minimum, so distances do not depend on the order of events.
//!
//! Memory for each vertex: 8 bytes and two bits, beside the lists; fully externally the bits alone.
//!
//! A distance is 64 bits that are ordered like the numbers: whole numbers for whole weights,
//! non-negative doubles otherwise.

mod rounds;

use outercore_engine::{DeltaStepping, Figure, Lengths, MemoryModel, Monotone, Preset, Values};
use outercore_graph::{GraphError, WeightKind};
use outercore_visit::{self as visit, Executor, lengths::Paths};

use self::rounds::Rounds;
use crate::common::*;

/// Shortest paths from one vertex.
#[derive(Clone, Debug)]
pub struct Sssp {
    /// Where they start.
    pub source: Source,
    /// The width of a window of distance; `None`: from the mean weight and degree.
    pub delta: Option<f64>,
    /// How; `None`: the plan decides.
    pub method: Option<Method>,
    /// Whether it waits at the end of each window.
    pub executing: Executing,
}

named! {
    /// How distances are found.
    pub enum Method: "method" {
        /// Those of a window of distance before those of the next one.
        DeltaStepping = "delta-stepping",
        /// In rounds: each vertex whose distance fell sends it on.
        Program = "program",
    }
}

/// What is said of distances that 32 bits do not hold.
const BEYOND: &str = "a distance is beyond 32 bits";

/// Distances of edges with weights of this kind.
#[derive(Clone, Copy)]
struct Distances(WeightKind);

impl Distances {
    fn are_whole(self) -> bool {
        self.0 == WeightKind::U32
    }

    /// A distance, and an edge of this weight more.
    #[inline(always)]
    fn plus_weight(self, length: u64, weight: f64) -> u64 {
        if self.are_whole() {
            length + weight as u64
        } else {
            // A sum beyond the largest number is that number, and not unreached.
            (f64::from_bits(length) + weight).min(f64::MAX).to_bits()
        }
    }
}

impl Lengths for Distances {
    fn unreached(self) -> u64 {
        if self.are_whole() { u64::MAX } else { f64::INFINITY.to_bits() }
    }

    #[inline(always)]
    fn add(self, length: u64, weight: u64) -> u64 {
        if self.are_whole() {
            length + weight
        } else {
            self.plus_weight(length, self.0.value(weight))
        }
    }

    fn number(self, length: u64) -> f64 {
        if self.are_whole() { length as f64 } else { f64::from_bits(length) }
    }

    fn plus(self, length: u64, delta: f64) -> u64 {
        if self.are_whole() {
            length.saturating_add((delta as u64).max(1))
        } else {
            (f64::from_bits(length) + delta).to_bits().max(length + 1)
        }
    }
}

/// The first edge with a negative weight, for the refusal.
fn negative_edge(graph: &Graph) -> Result<String> {
    let mut found = None;
    let scanned = graph.for_each_edge(1 << 16, &mut |rows| {
        let Some(row) = rows.weights.iter().position(|&weight| weight < 0.0) else { return Ok(()) };
        found = Some((rows.sources[row], rows.targets[row], rows.weights[row]));
        // There is no need to see the others.
        Err(GraphError::Cancelled)
    });
    match (found, scanned) {
        (Some((source, target, weight)), _) => {
            let (source, target) = (graph.key_of(source)?, graph.key_of(target)?);
            Ok(format!(": the edge from {source} to {target} has weight {weight}"))
        }
        (None, scanned) => scanned.map(|()| String::new()),
    }
}

/// What is told of the distances.
struct Totals {
    reached: u64,
    largest: Figure,
    sum: Figure,
}

/// Adds up the distances. An error: one is beyond the numbers.
fn totals(found: &VertexArray<u64>, distances: Distances) -> Result<Totals> {
    let (mut reached, mut largest, mut whole, mut real) = (0, 0, 0u128, 0.0);
    let is_whole = distances.are_whole();
    found.for_each(|_, &length| {
        if length < distances.unreached() {
            (reached, largest) = (reached + 1, length.max(largest));
            if is_whole {
                whole += u128::from(length);
            } else {
                real += f64::from_bits(length);
            }
        }
    })?;
    if is_whole {
        // A sum that is no whole number of 64 bits is told to 16 digits.
        let sum = u64::try_from(whole).map_or_else(|_| (whole as f64).into(), Figure::from);
        return Ok(Totals { reached, largest: largest.into(), sum });
    }
    let largest = f64::from_bits(largest);
    if largest == f64::MAX || !f64::is_finite(real) {
        return refuse(format!(
            "distances are beyond {:e}, the largest number: scale the weights down",
            f64::MAX
        ));
    }
    Ok(Totals { reached, largest: largest.into(), sum: real.into() })
}

impl Sssp {
    /// Refuses graphs and parameters that the search is not for.
    fn suits(&self, graph: &Graph) -> Result<()> {
        let path = graph.path().display();
        if graph.weights() == WeightKind::None {
            return refuse(format!(
                "{path} has no weights: run bfs for distances in edges, or build it again with \
                 --weights"
            ));
        }
        if graph.manifest().negative_weights {
            let edge = negative_edge(graph)?;
            return refuse(format!(
                "{path} has negative weights, for which shortest paths are not computed{edge}"
            ));
        }
        if !self.delta.is_none_or(|delta| delta > 0.0) {
            return refuse("--delta must be above 0");
        }
        Ok(())
    }
}

impl Algorithm for Sssp {
    fn name(&self) -> &'static str {
        "sssp"
    }

    fn prepare<'a>(&'a self, job: Job<'a>) -> Result<Prepared<'a>> {
        let mut planner = plan_32_bits(self.name(), job)?;
        self.suits(job.graph)?;
        let source = locate(job.graph, &self.source)?;
        let distances = Distances(job.graph.weights());
        // Where vertices have few neighbors, as in road networks, windows are many and small.
        let few = job.graph.manifest().arcs <= 4 * job.graph.connected();
        let auto = few && !job.graph.has_hubs();
        let other = self.delta.map(|_| "--delta").or(self.method.map(|_| "--method"));
        if self.executing.is_async(job, other, auto)? {
            let mut visiting = plan_32_bits(self.name(), job)?;
            visiting.runs("visitors", "as asked, or few edges, no hubs: windows would be small");
            let visitor = Paths::new(job.graph, distances, source)?;
            let prepared =
                visit::prepared(visiting, &self.executing, visitor, move |session, found| {
                    outcome(session, (source, 1), found, distances)
                });
            let runs = |it: &Prepared| it.plan.memory_model != MemoryModel::FullyExternal;
            if self.executing.executor == Executor::Async || prepared.as_ref().is_ok_and(runs) {
                return prepared;
            }
        }
        let preset = [Preset::Streaming, Preset::Graphsd].contains(&job.config.preset);
        let usual = if preset || job.config.wants_monotone() {
            (Method::Program, "the preset's, or vertices may be computed early")
        } else {
            (Method::DeltaStepping, "relaxes fewest edges")
        };
        let (method, why) = method(self.method, usual);
        planner.runs(method.name(), why);
        if method == Method::Program {
            if self.delta.is_some() {
                return refuse("--delta is for --method delta-stepping; leave it out");
            }
            let wide = by_rounds(planner, (distances, source), |length| length)?;
            if !distances.are_whole() {
                return Ok(wide);
            }
            let mut planner = plan_32_bits(self.name(), job)?;
            planner.runs(method.name(), why);
            return Ok(either(by_rounds(planner, (distances, source), narrow)?, wide));
        }
        let search = DeltaStepping::declare(&mut planner)?;
        Ok(planner.decide()?.prepared(move |session| {
            let (found, rounds) = search.run(session, distances, source, self.delta)?;
            outcome(session, (source, rounds), found, distances)
        }))
    }
}

/// Distances in rounds, as `keep` makes them of 64 bits.
fn by_rounds<'a, L, F>(
    mut planner: Planner<'a>,
    (distances, source): (Distances, u64),
    keep: F,
) -> Result<Prepared<'a>>
where
    L: Pod + Copy + Into<u64>,
    F: Fn(u64) -> L + Copy + 'a,
    Rounds<F>: Monotone<Value = L>,
{
    let mut program = Rounds { distances, source, keep };
    let rounds = Iterations::declare_monotone(&mut planner, &program)?;
    Ok(planner.decide()?.prepared(move |session| {
        let ended = rounds.run(session, &mut program, None)?;
        let (most, none) = (keep(u64::MAX - 1).into(), keep(u64::MAX).into());
        let mut fits = true;
        let found = ended.values.map(|&length| {
            fits &= length.into() != most;
            if length.into() == none { u64::MAX } else { length.into() }
        })?;
        if fits {
            outcome(session, (source, ended.iterations), found, distances)
        } else {
            refuse(BEYOND)
        }
    }))
}

/// In 32 bits; the largest number stays that, and what else is too large becomes the next one.
fn narrow(length: u64) -> u32 {
    length.min(u64::from(u32::MAX - 1)) as u32 + u32::from(length == u64::MAX)
}

/// The first run, or if its numbers do not hold all distances, the second.
fn either<'a>(narrow: Prepared<'a>, wide: Prepared<'a>) -> Prepared<'a> {
    let mut plan = narrow.plan.clone();
    for (most, other) in [
        (&mut plan.smallest_budget_bytes, wide.plan.smallest_budget_bytes),
        (&mut plan.in_memory_budget_bytes, wide.plan.in_memory_budget_bytes),
        (&mut plan.disk_bytes, wide.plan.disk_bytes),
    ] {
        *most = other.max(*most);
    }
    Prepared::new(plan, move || match narrow.run() {
        Err(GraphError::Usage(what)) if what == BEYOND => wide.run(),
        ran => ran,
    })
}

/// The results of distances from a source that took so many rounds.
fn outcome(
    session: &Session,
    (source, rounds): (u64, u64),
    found: VertexArray<u64>,
    distances: Distances,
) -> Result<Outcome> {
    let Totals { reached, largest, sum } = totals(&found, distances)?;
    let is_whole = distances.are_whole();
    let values: Values = if is_whole { found.into() } else { found.into_floats().into() };
    let alone = (source >= session.graph.connected()).then_some((source, 0.0));
    Ok(session
        .results(rounds)
        .figure("reached", 1.max(reached))
        .figure("max_distance", largest)
        .figure("distance_sum", sum)
        .figure("source", session.graph.key_of(source)?)
        .column(Column::new("distance", values).except(alone))
        .outcome())
}
