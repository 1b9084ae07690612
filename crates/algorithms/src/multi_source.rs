//! Breadth-first search from up to 128 vertices at once: a bit for each source, so that one reading
//! of a list serves all of them (Then et al., VLDB 2015).

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

use outercore_engine::{
    Column, EngineError, Figure, Isolated, Meaning, Outcome, Plan, Pod, Result, RunConfig,
    RunProgress,
    execute::{execute, plan},
    monoid::{Lanes, Monoid},
    program::{Context, Start, VertexProgram},
};
use outercore_graph::Graph;

use crate::{
    algorithm::{Algorithm, Source},
    finish::{Done, Summary, locate, outcome},
};

/// Hop counts from many vertices.
#[derive(Clone, Debug)]
pub struct MultiSource {
    /// Where they start, at most [`MOST`].
    pub sources: Vec<Source>,
}

/// Most sources.
pub const MOST: usize = 128;

/// What a vertex keeps.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct Reached {
    /// The sources that have reached it.
    seen: Lanes,
    /// Those that did in the last iteration.
    fresh: Lanes,
    /// The sum of its distances from them.
    distances: u64,
}

// SAFETY: five 64-bit numbers without padding; every bit pattern valid, nothing to drop.
unsafe impl Pod for Reached {}

struct Program {
    /// Internal ids, by lane.
    sources: Vec<u64>,
    pairs: AtomicU64,
    distances: AtomicU64,
}

impl Program {
    fn new(graph: &Graph, sources: &[Source]) -> Result<Self> {
        if sources.is_empty() || sources.len() > MOST {
            return Err(EngineError::Usage(format!(
                "multi-source takes 1 to {MOST} sources, not {}",
                sources.len()
            )));
        }
        let sources = sources.iter().map(|source| locate(graph, source)).collect::<Result<_>>()?;
        Ok(Self { sources, pairs: AtomicU64::new(0), distances: AtomicU64::new(0) })
    }
}

impl VertexProgram for Program {
    type Value = Reached;
    type Signal = Lanes;
    type Message = Lanes;

    fn start(&self) -> Start {
        Start::Vertices(self.sources.clone())
    }

    fn init(&self, vertex: u64, _: u32) -> Reached {
        let mut lanes = Lanes::IDENTITY;
        for (lane, _) in self.sources.iter().enumerate().filter(|&(_, &source)| source == vertex) {
            lanes.0[lane / 64] |= 1 << (lane % 64);
        }
        Reached { seen: lanes, fresh: lanes, distances: 0 }
    }

    fn scatter(&self, _: u64, value: &Reached, _: u32) -> Option<Lanes> {
        Some(value.fresh)
    }

    #[inline(always)]
    fn carry(&self, signal: Lanes, _: f64) -> Lanes {
        signal
    }

    fn apply(&self, context: &Context, _: u64, value: &mut Reached, message: Lanes) -> bool {
        let fresh = [message.0[0] & !value.seen.0[0], message.0[1] & !value.seen.0[1]];
        let count = u64::from(fresh[0].count_ones() + fresh[1].count_ones());
        value.fresh = Lanes(fresh);
        value.seen.combine(value.fresh);
        if count > 0 {
            value.distances += count * (context.iteration + 1);
            self.pairs.fetch_add(count, Relaxed);
            self.distances.fetch_add(count * (context.iteration + 1), Relaxed);
        }
        count > 0
    }
}

impl Algorithm for MultiSource {
    fn name(&self) -> &'static str {
        "multi-source"
    }

    fn plan(&self, graph: &Graph, config: &RunConfig) -> Result<Plan> {
        Ok(plan(&Program::new(graph, &self.sources)?, self.name(), graph, config, None)?.0)
    }

    fn run(
        &self,
        graph: &Graph,
        config: &RunConfig,
        progress: &dyn RunProgress,
    ) -> Result<Outcome> {
        let program = Program::new(graph, &self.sources)?;
        let finished = execute(&program, self.name(), graph, config, progress, None)?;
        let reached = finished.values.map(graph, config.huge_pages, |value| {
            value.seen.0[0].count_ones() + value.seen.0[1].count_ones()
        })?;
        let distances = finished.values.map(graph, config.huge_pages, |value| value.distances)?;
        let sources = program.sources.len() as u64;
        let mut summary = Summary::new();
        summary.insert("sources", Figure::Integer(sources));
        summary.insert("reached_pairs", Figure::Integer(program.pairs.load(Relaxed) + sources));
        summary.insert("distance_sum", Figure::Integer(program.distances.load(Relaxed)));
        // Without edges, a source reaches itself and nothing else.
        let alone = program.sources.iter().filter(|&&source| source >= graph.connected());
        let mut own = BTreeMap::new();
        alone.for_each(|&source| *own.entry(source).or_insert(0.0) += 1.0);
        let exceptions = own.into_iter().collect();
        let columns = vec![
            Column {
                name: "reached",
                values: reached,
                isolated: Isolated::Value(0.0),
                meaning: Meaning::Number,
                exceptions,
            },
            Column {
                name: "distance_sum",
                values: distances,
                isolated: Isolated::Value(0.0),
                meaning: Meaning::Number,
                exceptions: Vec::new(),
            },
        ];
        let done = Done {
            session: &finished.session,
            plan: &finished.plan,
            iterations: finished.iterations,
            load_seconds: finished.load_seconds,
        };
        Ok(outcome(&done, summary, columns, false))
    }
}
