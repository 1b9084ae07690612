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
    DeltaStepping, Idempotent, Min, Monoid, Monotone, Results, Values, length_totals,
};
use outercore_graph::{GraphError, PathLengths};
use outercore_visit::{self as visit, SmallSteps, lengths::Paths};

use crate::{common::*, parents::Tree};

/// Shortest paths from one vertex.
#[derive(Clone, Debug)]
pub struct Sssp {
    /// Where they start.
    pub source: Source,
    /// The width of a window of distance; `None`: from the mean weight and degree.
    pub delta: Option<f64>,
    /// How; `None`: the plan decides.
    pub method: Option<SsspMethod>,
    /// Whether parents are wanted, too.
    pub parents: bool,
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

/// Distances from the root of a tree, as the function makes them of 64 bits; the largest number
/// stays that.
struct Rounds<F>(Tree, F);

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
        Start::Vertices(vec![self.0.source])
    }

    fn init(&self, vertex: u64, _: u32) -> L {
        self.1(if vertex == self.0.source { 0 } else { self.0.distances.unreached() })
    }

    fn scatter(&self, _: u64, distance: &L, _: u32) -> Option<L> {
        Some(*distance)
    }

    #[inline(always)]
    fn carry(&self, distance: L, weight: f64) -> Min<L> {
        match Min(distance) {
            silent if silent == Min::IDENTITY => silent,
            _ => Min(self.1(self.0.distances.plus_weight(distance.into(), weight))),
        }
    }

    fn apply(&self, _: &Context, _: u64, distance: &mut L, message: Min<L>) -> bool {
        lower(distance, message.0)
    }
}

impl<F> Monotone for Rounds<F> where Self: VertexProgram {}

impl Sssp {
    /// A plan that finds what was asked for. Refuses graphs and parameters that it is not for.
    fn wanted<'a>(&self, job: Job<'a>) -> Result<(Planner<'a>, Wanted)> {
        let (mut planner, graph) = (plan_32_bits(self.name(), job)?, job.graph);
        let distances = PathLengths::of(graph)?;
        if !self.delta.is_none_or(|delta| delta > 0.0) {
            return refuse("--delta must be above 0");
        }
        let tree = Tree { distances, source: self.source.locate(graph)? };
        let parents = self.parents.then(|| tree.declare(&mut planner)).transpose()?;
        Ok((planner, (tree, parents)))
    }
}

impl Algorithm for Sssp {
    fn name(&self) -> &'static str {
        "sssp"
    }

    fn declare<'a>(&'a self, job: Job<'a>) -> Result<Prepared<'a>> {
        let (mut planner, wanted) = self.wanted(job)?;
        let other = self.delta.map(|_| "--delta").or(self.method.map(|_| "--method"));
        if self.executing.is_async(job, other, false)? {
            let visitor = Paths::new(job.graph, wanted.0.distances, wanted.0.source)?;
            let end = move |session: &Session, found| outcome(session, wanted, (1, found));
            return visit::prepared(planner, &self.executing, visitor, end);
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
            let wide = by_rounds(planner, wanted, |length| length)?;
            let (mut planner, wanted) = self.wanted(job)?;
            if !wanted.0.distances.are_whole() {
                return Ok(wide);
            }
            planner.runs(method.name(), why);
            return Ok(by_rounds(planner, wanted, PathLengths::narrow)?.or_beyond(wide));
        }
        let plain = by_windows(planner, wanted, (self.delta, false))?;
        if !self.executing.is_async(job, other, true)? {
            return Ok(plain);
        }
        let (mut planner, wanted) = self.wanted(job)?;
        planner.runs(method.name(), "relaxes fewest edges; by visitors, if windows are small");
        Ok(visit::or_plain(by_windows(planner, wanted, (None, true)), plain))
    }
}

/// Distances by windows. A search that `switches` goes by visitors as soon as it has had many small
/// ones.
fn by_windows<'a>(
    mut planner: Planner<'a>,
    wanted: Wanted,
    (delta, switches): (Option<f64>, bool),
) -> Result<Prepared<'a>> {
    let search = DeltaStepping::declare(&mut planner)?;
    if switches {
        visit::declare_switch(&mut planner);
    }
    Ok(planner.decide()?.prepared(move |session| {
        let (graph, Tree { distances, source }) = (session.graph, wanted.0);
        let mut small = SmallSteps::of(graph.connected());
        let is_over = |active| switches && small.note(active);
        let found =
            search.run(session, (distances, source, delta), is_over, |lists, found, due| {
                visit::switch(session, &Paths::new(graph, distances, source)?, lists, found, due)
            })?;
        outcome(session, wanted, found)
    }))
}

/// Paths from where, with what distances; what finds parents, if they are wanted.
type Wanted = (Tree, Option<Iterations<Tree>>);

/// Distances in rounds, as `keep` makes them of 64 bits.
fn by_rounds<'a, L, F>(mut planner: Planner<'a>, wanted: Wanted, keep: F) -> Result<Prepared<'a>>
where
    L: Pod + Copy + Into<u64>,
    F: Fn(u64) -> L + Copy + 'a,
    Rounds<F>: Monotone<Value = L>,
{
    let mut program = Rounds(wanted.0, keep);
    let rounds = Iterations::declare_monotone(&mut planner, &program)?;
    Ok(planner.decide()?.prepared(move |session| {
        let ended = rounds.run(session, &mut program, None)?;
        let ([most, none], mut fits) = ([u64::MAX - 1, u64::MAX].map(|it| keep(it).into()), true);
        let found = ended.values.map(|&length| {
            let length = length.into();
            fits &= length != most;
            if length == none { u64::MAX } else { length }
        })?;
        drop(ended.values);
        if !fits {
            return Err(GraphError::Beyond);
        }
        outcome(session, wanted, (ended.iterations, found))
    }))
}

/// The results of distances that were found in so many rounds.
fn outcome(
    session: &Session,
    (tree, parents): Wanted,
    (mut rounds, mut found): (u64, VertexArray<u64>),
) -> Result<Outcome> {
    let Tree { distances, source } = tree;
    let (reached, [largest, sum]) = length_totals(distances, &found)?;
    let mut columns = Vec::new();
    if let Some(parents) = parents {
        let ended = tree.grow(&parents, session, found)?;
        rounds += ended.iterations;
        found = ended.values.map(|&value| (value >> 64) as u64)?;
        let parents = ended.values.map(|&value| value as u32)?;
        columns.push((Column::of_vertices("parent", parents), source as f64));
    }
    let is_whole = distances.are_whole();
    let values: Values = if is_whole { found.into() } else { found.into_floats().into() };
    columns.push((Column::new("distance", values), 0.0));
    let results = session
        .results(rounds)
        .figure("reached", 1.max(reached))
        .figure("max_distance", largest)
        .figure("distance_sum", sum)
        .figure("source", session.graph.key_of(source)?);
    // Without edges it is in no array.
    let is_alone = source >= session.graph.connected();
    let own = |(column, value): (Column, _)| column.except(is_alone.then_some((source, value)));
    Ok(columns.into_iter().rev().map(own).fold(results, Results::column).outcome())
}
