//! Betweenness (Brandes, 2001): how many shortest paths lead over a vertex, each pair of vertices
//! counting as one.
//!
//! Sources are searched in batches, side by side. Forwards, shortest paths are counted level by
//! level. Backwards, from the deepest level to the sources, a vertex of a level sends
//! (1 + dependency) / paths to its predecessors, whose dependencies these are. Scores are sums of
//! dependencies. There are two methods:
//!
//! - `lists`: [`PathCounts`] of the engine. What the sources at hand need of a vertex is in memory;
//!   scores may be on storage. One reading of a list serves all sources at hand.
//! - `batches`: a program forwards and one backwards, which goes on from the values of the first.
//!   One scan of the edges serves all sources of a batch. For budgets in which not even what lists
//!   keep of one source fits.
//!
//! Memory of `lists`: for each of 8, 4, 2 or 1 sources 9 bytes, at least 12, and a sum of 16 bytes,
//! which may be on storage. Of `batches`: for each vertex a score, and for each lane of a batch two
//! numbers of 64 bits and one of 32, all of which may be on storage.
//!
//! Scores are not normalised. In an undirected graph they are halved: each path is found from both
//! ends. Parallel edges are paths of their own.

use outercore_engine::{MemoryModel, PathCounts, Plan, Sums};

use crate::common::*;

/// Betweenness of all vertices, from some sources or all of them.
#[derive(Clone, Debug, Default)]
pub struct Betweenness {
    /// The sources; none: every vertex.
    pub sources: Vec<Source>,
    /// How it goes about it; `None`: the plan decides.
    pub method: Option<BetweennessMethod>,
    /// Rows of the summary.
    pub top: usize,
}

named! {
    /// How sources are searched.
    pub enum BetweennessMethod: "method" {
        /// In batches: a scan of the edges serves many sources.
        Batches = "batches",
        /// A few at once: lists are read level by level.
        Lists = "lists",
    }
}
use BetweennessMethod::{Batches, Lists};

/// What a vertex keeps of `L` sources, each in a lane of its own.
#[repr(C)]
#[derive(Clone, Copy)]
struct Entry<const L: usize, const MARKS: usize> {
    /// Shortest paths from the source of each lane.
    paths: [f64; L],
    /// The dependency of each lane's source on this vertex.
    dependency: [f64; L],
    /// The dependencies of all sources of earlier batches.
    score: f64,
    /// For each lane one more than the level, 0: not reached. Then, as bits, the lanes that are
    /// active. The rest fills a word.
    marks: [u32; MARKS],
}

// SAFETY: numbers of 64 bits, and of 32 bits an even number (see `Entry::with`): no padding;
// every bit pattern valid, nothing to drop.
unsafe impl<const L: usize, const MARKS: usize> Pod for Entry<L, MARKS> {}

impl<const L: usize, const MARKS: usize> Entry<L, MARKS> {
    /// One that no source has reached.
    fn with(score: f64) -> Self {
        const { assert!(MARKS > L && MARKS.is_multiple_of(2), "marks fill whole words") };
        Self { paths: [0.0; L], dependency: [0.0; L], score, marks: [0; MARKS] }
    }

    /// The sum of all dependencies, source by source: the width of batches, which depends on the
    /// budget and on the number of threads, leaves no trace.
    fn total(&self) -> f64 {
        self.dependency.iter().fold(self.score, |sum, dependency| sum + dependency)
    }

    /// Makes the lanes active of which `is_active` says so; returns whether one is.
    #[inline(always)]
    fn activate(&mut self, mut is_active: impl FnMut(&mut Self, usize) -> bool) -> bool {
        let mut active = 0;
        for lane in 0..L {
            active |= u32::from(is_active(self, lane)) << lane;
        }
        self.marks[L] = active;
        active != 0
    }
}

/// Counts shortest paths, level by level; or, with `BACK`, gathers dependencies, from the deepest
/// level to the sources.
struct Sweep<const L: usize, const MARKS: usize, const BACK: bool> {
    /// Forwards, the source of each lane; lanes without one are idle.
    sources: Vec<u64>,
    /// Backwards, one more than the deepest level.
    deepest: u32,
}

impl<const L: usize, const MARKS: usize, const BACK: bool> Sweep<L, MARKS, BACK> {
    /// Goes on from what a vertex keeps; returns whether it is active.
    fn begin(&self, vertex: u64, entry: &mut Entry<L, MARKS>) -> bool {
        if BACK {
            return entry.activate(|entry, lane| entry.marks[lane] == self.deepest);
        }
        *entry = Entry::with(entry.total());
        entry.activate(|entry, lane| {
            let begins = self.sources.get(lane) == Some(&vertex);
            if begins {
                (entry.paths[lane], entry.marks[lane]) = (1.0, 1);
            }
            begins
        })
    }
}

impl<const L: usize, const MARKS: usize, const BACK: bool> VertexProgram for Sweep<L, MARKS, BACK> {
    type Value = Entry<L, MARKS>;
    type Signal = Sums<L>;
    type Message = Sums<L>;

    /// Backwards, a vertex without successors has no message, and sends all the same.
    const ACTIVITY: Activity = if BACK { Activity::AllApply } else { Activity::Frontier };
    const SILENCE: Option<Sums<L>> = Some(Sums([0.0; L]));
    const DIRECTIONS: &'static [Direction] =
        if BACK { &[Direction::In] } else { &[Direction::Out] };

    fn start(&self) -> Start {
        Start::Vertices(self.sources.clone())
    }

    fn init(&self, vertex: u64, _: u32) -> Self::Value {
        let mut entry = Entry::with(0.0);
        self.begin(vertex, &mut entry);
        entry
    }

    #[inline(always)]
    fn scatter(&self, _: u64, entry: &Self::Value, _: u32) -> Option<Sums<L>> {
        Some(Sums(std::array::from_fn(|lane| match entry.marks[L] >> lane & 1 {
            0 => 0.0,
            _ if BACK => (1.0 + entry.dependency[lane]) / entry.paths[lane],
            _ => entry.paths[lane],
        })))
    }

    #[inline(always)]
    fn carry(&self, signal: Sums<L>, _: f64) -> Sums<L> {
        signal
    }

    #[inline(always)]
    fn apply(&self, context: &Context, _: u64, entry: &mut Self::Value, message: Sums<L>) -> bool {
        let iteration = context.iteration as u32;
        entry.activate(|entry, lane| {
            let mark = entry.marks[lane];
            if BACK && mark == self.deepest - iteration - 1 {
                entry.dependency[lane] = entry.paths[lane] * message.0[lane];
                return true;
            }
            let reached = !BACK && mark == 0 && message.0[lane] > 0.0;
            if reached {
                (entry.paths[lane], entry.marks[lane]) = (message.0[lane], iteration + 2);
            }
            reached
        })
    }

    fn end_iteration(&mut self, end: &IterationEnd) -> Next {
        // The sources themselves have no dependency.
        let deepest = u64::from(self.deepest);
        let more = if BACK { deepest > end.iterations + 2 } else { end.active > 0 };
        if more { Next::Iteration } else { Next::End }
    }
}

/// Adds the dependencies of sources to the scores of earlier ones; returns the scores and the
/// number of iterations.
type Search =
    Box<dyn Fn(&Session, &[u64], Option<VertexArray<f64>>) -> Result<(VertexArray<f64>, u64)>>;

/// Declares batches of `L` sources.
fn batches<const L: usize, const MARKS: usize>(planner: &mut Planner, _: usize) -> Result<Search> {
    let forwards = |batch: &[u64]| Sweep::<L, MARKS, false> { sources: batch.into(), deepest: 0 };
    let backwards = |deepest| Sweep::<L, MARKS, true> { sources: Vec::new(), deepest };
    let ahead = Iterations::declare(planner, &forwards(&[]), None)?;
    let back = Iterations::declare(planner, &backwards(0), None)?;
    let what = format!("of {L} sources, each scan is for all of them");
    planner.external_method(Some(&what));
    planner.method(what);
    Ok(Box::new(move |session, mut left, scores| {
        let mut iterations = 0;
        let mut values =
            scores.map(|scores| scores.map(|&score| Entry::with(score))).transpose()?;
        loop {
            let (batch, rest) = left.split_at(L.min(left.len()));
            let from = values.map(|values| (values, Sweep::begin as _));
            let mut ended = ahead.run(session, &mut forwards(batch), from)?;
            iterations += ended.iterations;
            // The last iteration reached nothing.
            let deepest = ended.iterations as u32;
            if deepest > 2 {
                let from = Some((ended.values, Sweep::begin as _));
                ended = back.run(session, &mut backwards(deepest), from)?;
                iterations += ended.iterations;
            }
            if rest.is_empty() {
                return Ok((ended.values.map(Entry::total)?, iterations));
            }
            (left, values) = (rest, Some(ended.values));
        }
    }))
}

/// Declares searches on the lists, from so many sources side by side.
fn lists(planner: &mut Planner, lanes: usize) -> Result<Search> {
    let paths = PathCounts::declare(planner, lanes)?;
    Ok(Box::new(move |session, sources, _| {
        paths.run(session, sources, |paths, sum| {
            let dependency = paths * sum;
            [dependency, (1.0 + dependency) / paths]
        })
    }))
}

/// A way to search.
struct Way {
    method: BetweennessMethod,
    /// Sources side by side.
    lanes: usize,
    /// So many sources are too few.
    few: usize,
    declare: fn(&mut Planner, usize) -> Result<Search>,
}

impl Way {
    /// What searches from so many sources are expected to be; none: from all vertices.
    fn estimate(&self, planner: &mut Planner, sources: usize) {
        let graph = planner.job.graph;
        let all = if sources > 0 { sources as u64 } else { graph.connected() };
        // Lists are read about once forwards and once back, scans level by level.
        let (steps, batches) = (graph.steps(), all.div_ceil(self.lanes as u64));
        planner.guess(batches * if self.method == Lists { 2 } else { steps });
        if self.method == Lists {
            // Of each level with many vertices, four numbers of a vertex wait for the way back.
            let bytes = (32 * batches * graph.connected()).saturating_mul(steps - 2);
            planner.traffic_external([bytes.min(1 << 60); 2]);
        }
    }
}

/// Batches of `L` sources, of which `few` are too few.
const fn in_batches<const L: usize, const MARKS: usize>(few: usize) -> Way {
    Way { method: Batches, lanes: L, few, declare: batches::<L, MARKS> }
}

/// Searches on the lists, likewise.
const fn on_lists(lanes: usize, few: usize) -> Way {
    Way { method: Lists, lanes, few, declare: lists }
}

/// All ways, in the order in which they are tried. Batches are followed by narrower ones, for the
/// sources that are left.
const WAYS: [Way; 7] = [
    on_lists(8, 4),
    on_lists(4, 2),
    on_lists(2, 1),
    on_lists(1, 0),
    in_batches::<15, 16>(5),
    in_batches::<3, 4>(1),
    in_batches::<1, 2>(0),
];

impl Betweenness {
    /// A run in the first of these ways.
    fn by<'a>(
        &'a self,
        job: Job<'a>,
        ways: &'static [Way],
        mut sources: Vec<u64>,
    ) -> Result<Prepared<'a>> {
        let (first, mut planner) = (&ways[0], Planner::new(self.name(), job));
        let (ways, why) = match first.method {
            Batches => (ways, "values of one source do not fit"),
            Lists => (&ways[..1], "as many sources at once as there is memory for"),
        };
        let (method, why) = method(self.method, (first.method, why));
        let searches = ways.iter().map(|way| (way.declare)(&mut planner, way.lanes));
        let searches = searches.collect::<Result<Vec<_>>>()?;
        planner.runs(method.name(), why);
        first.estimate(&mut planner, sources.len());
        largest(&mut planner, self.top);
        Ok(planner.decide()?.prepared(move |session| {
            let connected = session.graph.connected();
            if sources.is_empty() {
                sources = (0..connected).collect();
            }
            let wanted = sources.len() as u64;
            sources.retain(|&source| source < connected);
            // By degree: those side by side come to the hubs on about the same level.
            sources.sort_unstable();
            let (mut left, mut found, mut iterations) = (&sources[..], None, 0);
            for (at, (way, search)) in (1..).zip(ways.iter().zip(&searches)) {
                let rest = left.len() % way.lanes;
                let rest = if rest > way.few || at == ways.len() { 0 } else { rest };
                let (now, rest) = left.split_at(left.len() - rest);
                if !now.is_empty() || at == ways.len() && found.is_none() {
                    let (scores, more) = search(session, now, found)?;
                    (left, found, iterations) = (rest, Some(scores), iterations + more);
                }
            }
            let mut scores = found.expect("the last way takes all");
            let mut sound = true;
            scores.for_each(|_, score| sound &= score.is_finite())?;
            if !sound {
                return refuse("more than 1e308 shortest paths join two vertices");
            }
            if !session.graph.directed() {
                scores = scores.map(|score| score / 2.0)?;
            }
            let results = session.results(iterations).figure("sources", wanted);
            Ok(results.column(or_zero("betweenness", scores)).ranked(self.top)?.outcome())
        }))
    }
}

impl Algorithm for Betweenness {
    fn name(&self) -> &'static str {
        "betweenness"
    }

    fn declare<'a>(&'a self, job: Job<'a>) -> Result<Prepared<'a>> {
        let sources = Source::locate_all(&self.sources, job.graph)?;
        let wanted = match sources.len() {
            // Where no vertex has edges, as for a source without.
            0 => job.graph.connected().max(1) as usize,
            some => some,
        };
        let suits =
            |way: &Way| wanted > way.few && self.method.is_none_or(|method| method == way.method);
        let ways = (0..WAYS.len()).filter(|&at| suits(&WAYS[at]));
        let prepared = ways.map(|at| (at, self.by(job, &WAYS[at..], sources.clone())));
        let mut prepared = prepared.collect::<Vec<_>>();
        // Where there are many levels, each reads anew what does not stay in memory: fewer sources
        // at once, with all lists in memory, then take less time.
        let is_best = |(at, prepared): &(usize, Result<Prepared>)| {
            let keeps = |it: &Prepared| it.plan.memory_model == MemoryModel::InMemory;
            WAYS[*at].method == Lists && prepared.as_ref().is_ok_and(keeps)
        };
        if !job.graph.meets_at_hubs() {
            prepared.sort_by_key(|prepared| !is_best(prepared));
        }
        Plan::first(prepared.into_iter().map(|(_, prepared)| prepared), |way| &mut way.plan)
    }
}
