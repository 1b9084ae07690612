//! Core numbers: the largest k such that the vertex belongs to a subgraph in which everyone has at
//! least k neighbors. On the undirected simple view.
//!
//! Vertices are peeled off level by level (Matula and Beck, 1983): with what is left of their
//! neighbors in memory by [`peel`]. Where not even that fits, or with a preset that behaves like
//! another system, a program in phases does it: the smallest remaining degree k opens a phase, and
//! whoever has no more than k neighbors left departs with core number k and takes one from each
//! neighbor, until nobody departs.

mod peel;

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use outercore_engine::{
    Column, EngineError, Figure, Isolated, Meaning, MemoryModel, Outcome, Plan, Preset, Result,
    RunConfig, RunProgress, Values,
    execute::{execute, plan},
    frontier::Frontier,
    monoid::Sum,
    program::{Context, Start, VertexProgram},
    session::Session,
};
use outercore_graph::{BuildProgress, Graph, view::SimpleView};

use crate::{
    algorithm::Algorithm,
    finish::{Done, Summary, outcome},
};

/// Core numbers of all vertices, or the k-core for one k.
#[derive(Clone, Debug, Default)]
pub struct KCore {
    /// Only the k-core for this k.
    pub k: Option<u64>,
}

/// What a vertex keeps: the neighbors that are left, or once it departed [`GONE`] plus its core
/// number.
struct Program;

const GONE: u64 = 1 << 32;

impl VertexProgram for Program {
    type Value = u64;
    type Signal = u32;
    type Message = Sum<u32>;

    fn start(&self) -> Start {
        Start::Vertices(Vec::new())
    }

    fn init(&self, _: u64, degree: u32) -> u64 {
        u64::from(degree)
    }

    fn scatter(&self, _: u64, _: &u64, _: u32) -> Option<u32> {
        Some(1)
    }

    fn carry(&self, signal: u32, _: f64) -> Sum<u32> {
        Sum(signal)
    }

    fn apply(&self, context: &Context, vertex: u64, value: &mut u64, message: Sum<u32>) -> bool {
        if *value >= GONE {
            return false;
        }
        *value -= u64::from(message.0);
        self.wake(context, vertex, value)
    }

    fn phase_key(&self, value: &u64) -> u64 {
        if *value >= GONE { u64::MAX } else { *value }
    }

    fn wake(&self, context: &Context, _: u64, value: &mut u64) -> bool {
        let departs = *value <= context.phase;
        if departs {
            *value = GONE + context.phase;
        }
        departs
    }
}

/// A run's progress, for the build of a view.
struct Building<'p> {
    run: &'p dyn RunProgress,
    stopped: AtomicBool,
}

impl BuildProgress for Building<'_> {
    fn stage(&self, _: &'static str, _: Option<u64>) {}
    fn advance(&self, _: u64) {}
    fn cancelled(&self) -> bool {
        if self.run.cancelled() {
            self.stopped.store(true, Relaxed);
        }
        self.stopped.load(Relaxed)
    }
}

impl Algorithm for KCore {
    fn name(&self) -> &'static str {
        "kcore"
    }

    fn plan(&self, graph: &Graph, config: &RunConfig) -> Result<Plan> {
        let mut plan = choose(graph, config)?.0;
        if graph.directed() || !graph.manifest().simple {
            plan.method =
                format!("on the undirected simple view, built on scratch first; {}", plan.method);
            plan.disk_bytes += graph.manifest().arcs * 40;
            // The view's intervals may be wider than the graph's, and its edges are more.
            let viewed = plan.smallest_budget_bytes
                + config.threads as u64 * (2 << 20)
                + 2 * graph.grid()?.bytes();
            plan.smallest_budget_bytes = viewed.max(outercore_graph::build::SMALLEST_BUDGET);
            plan.in_memory_budget_bytes =
                plan.in_memory_budget_bytes.max(plan.smallest_budget_bytes);
            if config.memory < plan.smallest_budget_bytes {
                let what = "kcore on the undirected simple view".to_owned();
                return Err(EngineError::Memory {
                    needed: plan.smallest_budget_bytes,
                    budget: config.memory,
                    what,
                });
            }
        }
        Ok(plan)
    }

    fn run(
        &self,
        graph: &Graph,
        config: &RunConfig,
        progress: &dyn RunProgress,
    ) -> Result<Outcome> {
        self.plan(graph, config)?;
        let begun = std::time::Instant::now();
        let building = Building { run: progress, stopped: AtomicBool::new(false) };
        let view = SimpleView::of(graph, config.memory, config.threads, &building)
            .map_err(EngineError::from)?;
        let viewed = view.derived().unwrap_or(graph);
        let viewing = begun.elapsed().as_secs_f64();
        let peeled = match choose(viewed, config)? {
            (plan, Some(cache)) => peel::run(viewed, config, progress, plan, cache, self.k)?,
            (_, None) => by_program(viewed, config, progress, self.k)?,
        };
        let mut summary = Summary::new();
        summary.insert("degeneracy", Figure::Integer(peeled.degeneracy));
        if let Some(k) = self.k {
            summary.insert("k", Figure::Integer(k));
            let isolated = if k == 0 { graph.vertices() - graph.connected() } else { 0 };
            summary.insert("vertices", Figure::Integer(peeled.members.count() + isolated));
            summary.insert("edges", Figure::Integer(inner_edges(viewed, &peeled.members)?));
        }
        let column = Column {
            name: "core",
            values: peeled.cores,
            isolated: Isolated::Value(0.0),
            meaning: Meaning::Number,
            exceptions: Vec::new(),
        };
        let done = Done {
            session: &peeled.session,
            plan: &peeled.plan,
            iterations: peeled.iterations,
            load_seconds: peeled.load_seconds,
        };
        let mut result = outcome(&done, summary, vec![column], false);
        result.report.graph = graph
            .path()
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default();
        (result.report.vertices, result.report.edges) = (graph.vertices(), graph.edges());
        result.report.seconds += viewing;
        result.report.load_seconds += viewing;
        Ok(result)
    }
}

/// A graph in its undirected simple view, peeled.
struct Peeled<'a> {
    session: Session<'a>,
    plan: Plan,
    iterations: u64,
    load_seconds: f64,
    degeneracy: u64,
    /// The k-core that was asked for.
    members: Frontier,
    cores: Values,
}

/// The plan; with the bytes that may cache edges where counts fit the budget, without where the
/// program must run.
fn choose(graph: &Graph, config: &RunConfig) -> Result<(Plan, Option<u64>)> {
    let external =
        |memory| RunConfig { model: Some(MemoryModel::FullyExternal), memory, ..config.clone() };
    let fully = config.model == Some(MemoryModel::FullyExternal);
    if !fully || config.preset == Preset::Best {
        match peel::needs("kcore", graph)?.plan(graph, config) {
            Ok((resident, cache)) if config.model.is_some() && !fully => {
                return Ok((resident, Some(cache)));
            }
            Ok((mut resident, cache)) => {
                let least = plan(&Program, "kcore", graph, &external(u64::MAX / 4), None)?
                    .0
                    .smallest_budget_bytes;
                resident.smallest_budget_bytes = resident.smallest_budget_bytes.min(least);
                return Ok((resident, Some(cache)));
            }
            Err(EngineError::Memory { .. }) if config.model.is_none() || fully => {}
            Err(error) => return Err(error),
        }
    }
    Ok((plan(&Program, "kcore", graph, &external(config.memory), None)?.0, None))
}

/// Peels with the counts on storage.
fn by_program<'a>(
    graph: &'a Graph,
    config: &'a RunConfig,
    progress: &'a dyn RunProgress,
    k: Option<u64>,
) -> Result<Peeled<'a>> {
    let finished = execute(&Program, "kcore", graph, config, progress, None)?;
    let members = Frontier::new(graph.connected(), config.huge_pages)?;
    let mut degeneracy = 0;
    finished.values.for_each(|vertex, value| {
        degeneracy = degeneracy.max(value - GONE);
        if k.is_some_and(|k| value - GONE >= k) {
            members.insert(vertex);
        }
    })?;
    let cores = finished.values.map(|value| (value - GONE) as u32)?.into();
    Ok(Peeled {
        plan: finished.plan,
        iterations: finished.iterations,
        load_seconds: finished.load_seconds,
        degeneracy,
        members,
        cores,
        session: finished.session,
    })
}

/// Edges between members, of a graph in its undirected simple view.
fn inner_edges(graph: &Graph, members: &Frontier) -> Result<u64> {
    let mut edges = 0;
    graph.for_each_edge(1 << 16, &mut |rows| {
        let inside = |&(&source, &target): &(&u64, &u64)| {
            members.contains(source) && members.contains(target)
        };
        edges += rows.sources.iter().zip(&rows.targets).filter(inside).count() as u64;
        Ok(())
    })?;
    Ok(edges)
}
