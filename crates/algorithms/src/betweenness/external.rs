//! Betweenness with everything that a vertex keeps on storage: the two programs of a batch hand it
//! to each other, and the scores travel with it from batch to batch.

use outercore_engine::{
    EngineError, MemoryModel, Plan, Pod, Result, RunConfig, RunProgress, VertexArray,
    execute::{Finished, execute, plan},
    monoid::Sums,
    plan::PlanItem,
    program::{Context, Start, VertexProgram},
};
use outercore_graph::{Direction, Graph};

use super::Totals;

/// What a vertex keeps.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Entry<const L: usize> {
    /// Shortest paths from the source of each lane.
    paths: [f64; L],
    /// The dependency of each lane's source on this vertex.
    dependency: [f64; L],
    /// The dependencies of all sources of earlier batches.
    score: f64,
    /// One more than the level; 0: not reached.
    depth: [u32; L],
    /// The lanes in which it sends, as bits.
    fresh: u32,
}

// SAFETY: numbers of 64 bits, and of 32 bits an even number (see `Forward::of`): no padding; every
// bit pattern valid, nothing to drop.
unsafe impl<const L: usize> Pod for Entry<L> {}

impl<const L: usize> Entry<L> {
    /// The sum of all dependencies so far.
    fn total(&self) -> f64 {
        self.score + self.dependency.iter().sum::<f64>()
    }

    fn sends(&self, lane: usize) -> bool {
        self.fresh >> lane & 1 == 1
    }
}

/// Counts shortest paths, level by level.
struct Forward<'s, const L: usize> {
    /// One for each lane; `u64::MAX`: none.
    sources: [u64; L],
    /// The scores of the batches before.
    before: Option<&'s VertexArray<f64>>,
}

impl<'s, const L: usize> Forward<'s, L> {
    fn of(batch: &[u64], before: Option<&'s VertexArray<f64>>) -> Self {
        const {
            assert!(
                !L.is_multiple_of(2),
                "an even number of lanes would leave a gap at the end of what a vertex keeps"
            )
        };
        Self {
            sources: std::array::from_fn(|lane| batch.get(lane).copied().unwrap_or(u64::MAX)),
            before,
        }
    }
}

impl<const L: usize> VertexProgram for Forward<'_, L> {
    type Value = Entry<L>;
    type Signal = Sums<L>;
    type Message = Sums<L>;

    fn start(&self) -> Start {
        Start::Vertices(self.sources.to_vec())
    }

    fn init(&self, vertex: u64, _: u32) -> Entry<L> {
        let mut entry =
            Entry { paths: [0.0; L], dependency: [0.0; L], score: 0.0, depth: [0; L], fresh: 0 };
        for lane in (0..L).filter(|&lane| self.sources[lane] == vertex) {
            (entry.paths[lane], entry.depth[lane]) = (1.0, 1);
            entry.fresh |= 1 << lane;
        }
        entry
    }

    fn init_range(&self, first: u64, degrees: &[u32], values: &mut [Entry<L>]) -> Result<()> {
        let mut scores = vec![0.0; values.len()];
        if let Some(before) = self.before {
            before.copy(first, &mut scores)?;
        }
        for (((value, degree), vertex), score) in
            values.iter_mut().zip(degrees).zip(first..).zip(scores)
        {
            *value = Entry { score, ..self.init(vertex, *degree) };
        }
        Ok(())
    }

    #[inline(always)]
    fn scatter(&self, _: u64, entry: &Entry<L>, _: u32) -> Option<Sums<L>> {
        Some(Sums(std::array::from_fn(
            |lane| if entry.sends(lane) { entry.paths[lane] } else { 0.0 },
        )))
    }

    #[inline(always)]
    fn carry(&self, signal: Sums<L>, _: f64) -> Sums<L> {
        signal
    }

    #[inline(always)]
    fn apply(&self, context: &Context, _: u64, entry: &mut Entry<L>, message: Sums<L>) -> bool {
        entry.fresh = 0;
        for lane in 0..L {
            if entry.depth[lane] == 0 && message.0[lane] > 0.0 {
                (entry.paths[lane], entry.depth[lane]) =
                    (message.0[lane], context.iteration as u32 + 2);
                entry.fresh |= 1 << lane;
            }
        }
        entry.fresh != 0
    }
}

/// Gathers dependencies, from the deepest level to the sources.
struct Backward<'s, const L: usize> {
    counted: Option<&'s VertexArray<Entry<L>>>,
    deepest: u32,
}

impl<const L: usize> VertexProgram for Backward<'_, L> {
    type Value = Entry<L>;
    type Signal = Sums<L>;
    type Message = Sums<L>;

    /// Everyone, but who is not of the deepest level sends nothing.
    fn start(&self) -> Start {
        Start::All
    }

    fn directions(&self) -> &'static [Direction] {
        &[Direction::In]
    }

    /// Who has no successor has no message, and sends all the same.
    fn applies_always(&self) -> bool {
        true
    }

    fn init(&self, _: u64, _: u32) -> Entry<L> {
        Entry { paths: [0.0; L], dependency: [0.0; L], score: 0.0, depth: [0; L], fresh: 0 }
    }

    fn init_range(&self, first: u64, _: &[u32], values: &mut [Entry<L>]) -> Result<()> {
        let Some(counted) = self.counted else { return Ok(()) };
        counted.copy(first, values)?;
        for entry in values {
            entry.fresh = (0..L)
                .filter(|&lane| entry.depth[lane] == self.deepest)
                .fold(0, |fresh, lane| fresh | 1 << lane);
        }
        Ok(())
    }

    #[inline(always)]
    fn scatter(&self, _: u64, entry: &Entry<L>, _: u32) -> Option<Sums<L>> {
        let share = |lane: usize| {
            if entry.sends(lane) { (1.0 + entry.dependency[lane]) / entry.paths[lane] } else { 0.0 }
        };
        (entry.fresh != 0).then(|| Sums(std::array::from_fn(share)))
    }

    #[inline(always)]
    fn carry(&self, signal: Sums<L>, _: f64) -> Sums<L> {
        signal
    }

    #[inline(always)]
    fn apply(&self, context: &Context, _: u64, entry: &mut Entry<L>, message: Sums<L>) -> bool {
        let sending = self.deepest - context.iteration as u32;
        entry.fresh = 0;
        for lane in 0..L {
            if entry.depth[lane] + 1 == sending && entry.depth[lane] > 0 {
                entry.dependency[lane] = entry.paths[lane] * message.0[lane];
                entry.fresh |= 1 << lane;
            }
        }
        entry.fresh != 0
    }

    /// The sources themselves, at depth 1, have no dependency.
    fn finished(&self, context: &Context, _: f64, _: u64) -> bool {
        u64::from(self.deepest) <= context.iteration + 2
    }
}

/// Bytes that a program takes beside its own: intervals of what the one before has left, and of the
/// scores, on their way from and to storage. The number of intervals was found by measuring.
fn handed_on<const L: usize>(graph: &Graph) -> Result<u64> {
    Ok((graph.grid()?.widest() * (4 * size_of::<Entry<L>>() + 2 * size_of::<f64>())) as u64)
}

/// The configuration of these programs: they run fully externally or not at all.
pub fn fully<const L: usize>(graph: &Graph, config: &RunConfig) -> Result<RunConfig> {
    let memory = config.memory.saturating_sub(handed_on::<L>(graph)?);
    Ok(RunConfig { model: Some(MemoryModel::FullyExternal), memory, ..config.clone() })
}

/// A run of nothing, whose session carries the report of all.
pub fn idle<'a>(
    graph: &'a Graph,
    config: &'a RunConfig,
    progress: &'a dyn RunProgress,
) -> Result<Finished<'a, Entry<1>>> {
    execute(&Forward::<1>::of(&[], None), "betweenness", graph, config, progress, None)
}

/// The plan with batches of `L`: that of the program that needs more.
fn plan_batch<const L: usize>(graph: &Graph, config: &RunConfig) -> Result<Plan> {
    let asked = config.model.is_some();
    let (rest, kept) = (fully::<L>(graph, config)?, handed_on::<L>(graph)?);
    let more = |error| match error {
        EngineError::Memory { needed, what, .. } => {
            EngineError::Memory { needed: needed + kept, budget: config.memory, what }
        }
        error => error,
    };
    let forward = plan(&Forward::<L>::of(&[], None), "betweenness", graph, &rest, None);
    let idle = Backward::<L> { counted: None, deepest: 0 };
    let backward = plan(&idle, "betweenness", graph, &rest, None);
    let (forward, backward) = (forward.map_err(more)?.0, backward.map_err(more)?.0);
    let mut larger = if backward.smallest_budget_bytes > forward.smallest_budget_bytes {
        backward
    } else {
        forward
    };
    larger.memory.push(PlanItem { name: "values handed on", bytes: kept });
    larger.memory_budget_bytes = config.memory;
    larger.smallest_budget_bytes += kept;
    larger.in_memory_budget_bytes += kept;
    // The counts of one program are there until the next one has made its own, and so are the
    // scores.
    larger.disk_bytes += graph.connected() * (size_of::<Entry<L>>() as u64 + 8);
    if !asked {
        larger.reason = "not even vertex state fits the budget".to_owned();
    }
    larger.method = format!(
        "batches of {L} sources, with what a vertex keeps on storage: a pass counts paths, \
         or gathers dependencies, for all of them"
    );
    Ok(larger)
}

/// The largest batch that is not mostly empty for so many sources and fits the budget, and its
/// plan.
pub fn choose(graph: &Graph, config: &RunConfig, wanted: usize) -> Result<(usize, Plan)> {
    if wanted > 5
        && let Ok(plan) = plan_batch::<15>(graph, config)
    {
        return Ok((15, plan));
    }
    if wanted > 1
        && let Ok(plan) = plan_batch::<3>(graph, config)
    {
        return Ok((3, plan));
    }
    Ok((1, plan_batch::<1>(graph, config)?))
}

/// The sums of the dependencies of all `sources`, which have edges, by vertex.
pub fn scores(
    graph: &Graph,
    config: &RunConfig,
    progress: &dyn RunProgress,
    sources: &[u64],
    totals: &mut Totals,
) -> Result<VertexArray<f64>> {
    let mut scores: Option<VertexArray<f64>> = None;
    let mut left = sources;
    loop {
        let (lanes, _) = choose(graph, config, left.len())?;
        let (batch, rest) = left.split_at(lanes.min(left.len()));
        let add = match lanes {
            15 => add::<15>,
            3 => add::<3>,
            _ => add::<1>,
        };
        let next = add(batch, graph, config, progress, scores.as_ref(), totals)?;
        left = rest;
        if left.is_empty() {
            return Ok(next);
        }
        scores = Some(next);
    }
}

/// The scores with the dependencies of up to `L` sources.
fn add<const L: usize>(
    batch: &[u64],
    graph: &Graph,
    config: &RunConfig,
    progress: &dyn RunProgress,
    before: Option<&VertexArray<f64>>,
    totals: &mut Totals,
) -> Result<VertexArray<f64>> {
    let config = fully::<L>(graph, config)?;
    let forward =
        execute(&Forward::<L>::of(batch, before), "betweenness", graph, &config, progress, None)?;
    totals.add(&forward);
    let counted = forward.values;
    let mut deepest = 0;
    counted.for_each(|_, entry| deepest = entry.depth.into_iter().fold(deepest, u32::max))?;
    let entries = if deepest < 3 {
        counted
    } else {
        let backward = execute(
            &Backward { counted: Some(&counted), deepest },
            "betweenness",
            graph,
            &config,
            progress,
            None,
        )?;
        totals.add(&backward);
        backward.values
    };
    entries.map(Entry::total)
}
