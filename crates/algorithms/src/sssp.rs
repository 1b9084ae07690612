//! Shortest paths from one vertex.
//!
//! - `delta-stepping`: windows of distance, by [`DeltaStepping`] of the engine.
//! - `program`: rounds, in which every vertex whose distance fell sends it on, and may do so again
//!   in a later round (Bellman and Ford's algorithm, with a frontier). Whole distances are kept in
//!   32 bits if these hold all of them: signals take most of the memory of a fully-external run.
//!   Those that are too large all become the second largest number, which is larger than any that
//!   is right, so no other distance is wrong for it.
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

use outercore_engine::{
    DeltaStepping, Idempotent, MemoryModel, Min, Monoid, Monotone, Values, length_totals,
};
use outercore_graph::{PathLengths, WeightKind};
use outercore_visit::{self as visit, Executor, lengths::Paths};

use crate::common::*;

/// Shortest paths from one vertex.
#[derive(Clone, Debug)]
pub struct Sssp {
    /// Where they start.
    pub source: Source,
    /// The width of a window of distance; `None`: from the mean weight and degree.
    pub delta: Option<f64>,
    /// How; `None`: the plan decides.
    pub method: Option<SsspMethod>,
    /// Whether it waits at the end of each window.
    pub executing: Executing,
}

named! {
    /// How distances are found.
    pub enum SsspMethod: "method" {
        /// Those of a window of distance before those of the next one.
        DeltaStepping = "delta-stepping",
        /// In rounds: each vertex whose distance fell sends it on.
        Program = "program",
    }
}

/// What is said of distances that 32 bits do not hold.
const BEYOND: &str = "a distance is beyond 32 bits";

/// Distances from one vertex, as `keep` makes them of 64 bits; the largest number stays that.
struct Rounds<F> {
    distances: PathLengths,
    source: u64,
    keep: F,
}

impl<L, F> VertexProgram for Rounds<F>
where
    L: Pod + Copy + Ord + Into<u64> + Send + Sync,
    F: Fn(u64) -> L + Sync,
    Min<L>: Idempotent,
{
    type Value = L;
    type Signal = L;
    type Message = Min<L>;

    const SILENCE: Option<L> = Some(Min::IDENTITY.0);
    const WEIGHTED: bool = true;

    fn start(&self) -> Start {
        Start::Vertices(vec![self.source])
    }

    fn init(&self, vertex: u64, _: u32) -> L {
        (self.keep)(if vertex == self.source { 0 } else { self.distances.unreached() })
    }

    fn scatter(&self, _: u64, distance: &L, _: u32) -> Option<L> {
        Some(*distance)
    }

    #[inline(always)]
    fn carry(&self, distance: L, weight: f64) -> Min<L> {
        match Min(distance) {
            silent if silent == Min::IDENTITY => silent,
            _ => Min((self.keep)(self.distances.plus_weight(distance.into(), weight))),
        }
    }

    fn apply(&self, _: &Context, _: u64, distance: &mut L, message: Min<L>) -> bool {
        lower(distance, message.0)
    }
}

impl<F> Monotone for Rounds<F> where Self: VertexProgram<Message: Idempotent> {}

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
            let of = graph.negative_edge()?.map(|(source, target, weight)| {
                format!(": the edge from {source} to {target} has weight {weight}")
            });
            return refuse(format!(
                "{path} has negative weights, for which shortest paths are not computed{}",
                of.unwrap_or_default()
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
        let distances = PathLengths(job.graph.weights());
        // Where vertices have few neighbors, as in road networks, windows are many and small.
        let auto = job.graph.manifest().arcs <= 4 * job.graph.connected() && !job.graph.has_hubs();
        let other = self.delta.map(|_| "--delta").or(self.method.map(|_| "--method"));
        if self.executing.is_async(job, other, auto)? {
            let mut visiting = plan_32_bits(self.name(), job)?;
            visiting.runs("visitors", "as asked, or few edges, no hubs: windows would be small");
            let visitor = Paths::new(job.graph, distances, source)?;
            let end =
                move |session: &Session, found| outcome(session, (source, 1), found, distances);
            let prepared = visit::prepared(visiting, &self.executing, visitor, end);
            let runs = |it: &Prepared| it.plan.memory_model != MemoryModel::FullyExternal;
            if self.executing.executor == Executor::Async || prepared.as_ref().is_ok_and(runs) {
                return prepared;
            }
        }
        let usual = if spreads(job.config) {
            (SsspMethod::Program, "the preset's, or vertices may be computed early")
        } else {
            (SsspMethod::DeltaStepping, "relaxes fewest edges")
        };
        let (method, why) = method(self.method, usual);
        planner.runs(method.name(), why);
        if method == SsspMethod::Program {
            if self.delta.is_some() {
                return refuse("--delta is for --method delta-stepping; leave it out");
            }
            let wide = by_rounds(planner, (distances, source), |length| length)?;
            if !distances.are_whole() {
                return Ok(wide);
            }
            let mut planner = plan_32_bits(self.name(), job)?;
            planner.runs(method.name(), why);
            return Ok(by_rounds(planner, (distances, source), narrow)?.or_beyond(BEYOND, wide));
        }
        let search = DeltaStepping::declare(&mut planner)?;
        Ok(planner.decide()?.prepared(move |session| {
            let (rounds, found) = search.run(session, distances, source, self.delta)?;
            outcome(session, (source, rounds), found, distances)
        }))
    }
}

/// Distances in rounds, as `keep` makes them of 64 bits.
fn by_rounds<'a, L, F>(
    mut planner: Planner<'a>,
    (distances, source): (PathLengths, u64),
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
        let (most, none, mut fits) = (keep(u64::MAX - 1).into(), keep(u64::MAX).into(), true);
        let found = ended.values.map(|&length| {
            fits &= length.into() != most;
            if length.into() == none { u64::MAX } else { length.into() }
        })?;
        if !fits {
            return refuse(BEYOND);
        }
        outcome(session, (source, ended.iterations), found, distances)
    }))
}

/// In 32 bits; the largest number stays that, and what else is too large becomes the next one.
fn narrow(length: u64) -> u32 {
    length.min(u64::from(u32::MAX - 1)) as u32 + u32::from(length == u64::MAX)
}

/// The results of distances from a source that took so many rounds.
fn outcome(
    session: &Session,
    (source, rounds): (u64, u64),
    found: VertexArray<u64>,
    distances: PathLengths,
) -> Result<Outcome> {
    let (reached, [largest, sum]) = length_totals(distances, &found)?;
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
