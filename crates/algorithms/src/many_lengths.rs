//! Lengths of shortest paths from several vertices: a lane for each source of a batch, so that one
//! reading of an edge serves all of them. A vertex whose length from any source fell sends all of
//! its lengths on, in rounds. A batch follows the other, over the vertices that it has left.
//!
//! Lengths are sums of weights, or numbers of edges where those may come early: a search by bits
//! takes the number of the iteration for the distance.

use std::collections::BTreeMap;

use outercore_engine::{Mins, Monoid, Monotone, Values, Wake, length_totals};
use outercore_graph::PathLengths;

use crate::common::*;

/// Sources of a batch.
const BATCH: usize = 8;

/// What a vertex keeps.
#[repr(C)]
#[derive(Clone, Copy)]
struct Distances {
    /// From each source of the batch; `u64::MAX`: that has not reached it.
    now: Mins<BATCH>,
    /// How many sources of the batches before have reached it, and the lengths from those together.
    reached: u64,
    sum: u64,
}

// SAFETY: numbers of 64 bits, without padding; every bit pattern valid, nothing to drop.
unsafe impl Pod for Distances {}

impl Distances {
    /// With the batch among those before.
    fn ended(&self, lengths: PathLengths) -> Self {
        self.now.present().fold(*self, |totals, length| Self {
            reached: totals.reached + 1,
            sum: lengths.join(totals.sum, length),
            now: Mins::IDENTITY,
        })
    }
}

/// A batch of sources, by lane; without weights (`W`) each edge has length 1.
struct Batch<const W: bool> {
    lengths: PathLengths,
    sources: Vec<u64>,
}

impl<const W: bool> VertexProgram for Batch<W> {
    type Value = Distances;
    type Signal = Mins<BATCH>;
    type Message = Mins<BATCH>;

    const SILENCE: Option<Mins<BATCH>> = Some(Mins::IDENTITY);
    const WEIGHTED: bool = W;

    fn start(&self) -> Start {
        Start::Vertices(self.sources.clone())
    }

    fn init(&self, vertex: u64, _: u32) -> Distances {
        let mut now = Mins::IDENTITY;
        let lanes = now.0.iter_mut().zip(&self.sources);
        lanes.filter(|lane| *lane.1 == vertex).for_each(|(length, _)| *length = 0);
        Distances { now, reached: 0, sum: 0 }
    }

    fn scatter(&self, _: u64, value: &Distances, _: u32) -> Option<Mins<BATCH>> {
        Some(value.now)
    }

    #[inline(always)]
    fn carry(&self, signal: Mins<BATCH>, weight: f64) -> Mins<BATCH> {
        signal.map(|length| self.lengths.plus_weight(length, weight))
    }

    fn apply(&self, _: &Context, _: u64, value: &mut Distances, message: Mins<BATCH>) -> bool {
        let before = value.now;
        value.now.combine(message);
        value.now != before
    }
}

impl<const W: bool> Monotone for Batch<W> {}

/// Whether a vertex that the batch before has left is a source of this one.
fn next<const W: bool>(batch: &Batch<W>, vertex: u64, value: &mut Distances) -> bool {
    *value = Distances { now: batch.init(vertex, 0).now, ..value.ended(batch.lengths) };
    value.now != Mins::IDENTITY
}

/// A plan that finds how many sources reach each vertex, and the sum of its distances from those.
pub fn by_lengths<'a, const W: bool>(sources: &[Source], job: Job<'a>) -> Result<Prepared<'a>> {
    let (mut planner, graph) = (Planner::new("multi-source", job), job.graph);
    let sources = Source::locate_all(sources, graph)?;
    let lengths = if W { PathLengths::of(graph)? } else { PathLengths::EDGES };
    let mut batch = Batch::<W> { lengths, sources: Vec::new() };
    let search = Iterations::declare_monotone(&mut planner, &batch)?;
    Ok(planner.decide()?.prepared(move |session| {
        let (mut rounds, mut left) = (0, None);
        for sources in sources.chunks(BATCH) {
            batch.sources = sources.to_vec();
            let ended = search.run(session, &mut batch, left.map(|it| (it, next as Wake<_>)))?;
            (rounds, left) = (rounds + ended.iterations, Some(ended.values));
        }
        let totals = |value: &Distances| {
            let all = value.ended(lengths);
            (all.reached as u32, all.sum)
        };
        outcome(session, (rounds, left.expect("one")), (&sources, lengths), totals)
    }))
}

/// The results of values of which is told how many sources have reached a vertex, and the sum of
/// its distances from those.
pub fn outcome<V: Pod + Copy>(
    session: &Session,
    (iterations, values): (u64, VertexArray<V>),
    (sources, lengths): (&[u64], PathLengths),
    totals: impl Fn(&V) -> (u32, u64),
) -> Result<Outcome> {
    // Without edges, a source reaches itself and nothing else.
    let (mut own, mut pairs) = (BTreeMap::new(), 0);
    for &source in sources.iter().filter(|&&source| source >= session.graph.connected()) {
        *own.entry(source).or_insert(0.0) += 1.0;
        pairs += 1;
    }
    let reached = values.map(|value| {
        let reached = totals(value).0;
        pairs += u64::from(reached);
        reached
    })?;
    let sums = values.map(|value| totals(value).1)?;
    let (_, [_, sum]) = length_totals(lengths, &sums)?;
    let sums: Values = if lengths.are_whole() { sums.into() } else { sums.into_floats().into() };
    Ok(session
        .results(iterations)
        .figure("sources", sources.len() as u64)
        .figure("reached_pairs", pairs)
        .figure("distance_sum", sum)
        .column(or_zero("reached", reached).except(own))
        .column(or_zero("distance_sum", sums))
        .outcome())
}
