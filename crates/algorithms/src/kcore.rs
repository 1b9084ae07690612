//! Core numbers: the largest k such that the vertex belongs to a subgraph in which every vertex has
//! at least k neighbors. On the undirected simple view.
//!
//! Vertices are peeled off level by level (Matula and Beck, 1983). At level k the vertices with at
//! most k neighbors left depart, and each takes one from every neighbor with more than k; one that
//! comes down to k departs next, at the same level.
//!
//! `peeling` has what is left of each vertex's neighbors in memory, and reads every list once, when
//! its vertex departs. A count never falls below the level at which its vertex departs: in the end
//! the counts are the core numbers. The vertices that may depart in the next [`SPAN`] levels are
//! kept as a set, so that a level does not look at all vertices (buckets as in Julienne, SPAA 2017,
//! one at a time). Memory for each vertex: 4 bytes and half a byte of sets, beside the lists.
//!
//! `messages` is a program in phases, for less memory than that: the smallest remaining degree k
//! opens a phase. A value is what is left of a vertex's neighbors, or, once the vertex has
//! departed, [`GONE`] plus its core number.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use outercore_engine::{
    Along, Column, Context, Decided, EngineError, Frontier, HugeVec, Isolated, Iterations, Job,
    Lists, MemoryModel, Plan, Planner, Prepared, Preset, Resource, Result, RunConfig, Session,
    Start, Sum, Values, VertexProgram, named,
};
use outercore_graph::{Direction, Graph};

use crate::algorithm::Algorithm;

/// Core numbers of all vertices, or the k-core for one k.
#[derive(Clone, Debug, Default)]
pub struct KCore {
    /// Only the k-core for this k.
    pub k: Option<u64>,
    /// How it goes about it; `None`: the plan decides.
    pub method: Option<Method>,
}

named! {
    /// How vertices are peeled off.
    #[derive(Debug)]
    pub enum Method: "method" {
        /// With what is left of their neighbors in memory.
        Peeling = "peeling",
        /// Vertices that depart tell their neighbors.
        Messages = "messages",
    }
}

/// Levels whose candidates are gathered at once.
const SPAN: u32 = 16;
/// Words of a set that a worker looks through at a time.
const PART: u64 = 1 << 8;
/// Vertices of a part of a step over all.
const STEP: u64 = 1 << 16;
/// What a value is above of once its vertex has departed.
const GONE: u64 = 1 << 32;

/// Peeling by messages.
struct Program;

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

    fn apply(&self, context: &Context, _: u64, value: &mut u64, message: Sum<u32>) -> bool {
        if *value >= GONE {
            return false;
        }
        *value -= u64::from(message.0);
        let departs = *value <= context.phase;
        if departs {
            *value = GONE + context.phase;
        }
        departs
    }

    fn phase_key(&self, value: &u64) -> u64 {
        if *value >= GONE { u64::MAX } else { *value }
    }
}

/// Peeling with counts in memory.
struct Peel<'p> {
    session: &'p Session<'p>,
    lists: Along<'p>,
    left: HugeVec<AtomicU32>,
    /// The vertices that may depart before `horizon`.
    near: Frontier,
    horizon: u32,
    current: Frontier,
    next: Frontier,
}

/// How many vertices depart, and their edges.
#[derive(Clone, Copy, Default)]
struct Departing {
    vertices: u64,
    edges: u64,
}

impl Departing {
    fn add(&mut self, vertices: u64, edges: u64) {
        self.vertices += vertices;
        self.edges += edges;
    }

    fn sum(parts: Vec<Self>) -> Self {
        let mut sum = Self::default();
        parts.into_iter().for_each(|part| sum.add(part.vertices, part.edges));
        sum
    }
}

impl<'p> Peel<'p> {
    fn new(session: &'p Session<'p>, lists: Along<'p>) -> Result<Self> {
        let (len, huge) = (session.graph.connected(), session.config.huge_pages);
        let left: HugeVec<AtomicU32> = HugeVec::zeroed(len as usize, huge)?;
        for (count, vertex) in left.iter().zip(0..) {
            count.store(lists.degree(vertex) as u32, Relaxed);
        }
        let set = || Frontier::new(len, huge);
        let (near, current, next) = (set()?, set()?, set()?);
        Ok(Self { session, lists, left, near, horizon: 0, current, next })
    }

    /// Peels everything off; returns the number of steps.
    fn run(&mut self) -> Result<u64> {
        let (mut level, mut steps, mut remaining) = (0, 0, self.left.len() as u64);
        while remaining > 0 {
            if level >= self.horizon {
                level = self.gather(level);
            }
            let mut mark = self.session.mark();
            let mut departing = self.select(level);
            while departing.vertices > 0 {
                (steps, remaining) = (steps + 1, remaining - departing.vertices);
                let after = self.depart(level, departing.edges)?;
                self.session.end_iteration(&mark, departing.vertices, "on-demand");
                mark = self.session.mark();
                std::mem::swap(&mut self.current, &mut self.next);
                self.next.clear();
                departing = after;
            }
            level += 1;
        }
        Ok(steps)
    }

    /// Gathers the vertices that may depart in the next levels; returns the first level at which
    /// one does.
    fn gather(&mut self, level: u32) -> u32 {
        let (left, workers) = (&self.left, &self.session.workers);
        let counts = |range: std::ops::Range<u64>| {
            left[range.start as usize..range.end as usize].iter().map(|count| count.load(Relaxed))
        };
        // Below the level are the vertices that have departed.
        let smallest = workers.over(
            left.len() as u64,
            STEP,
            |_| u32::MAX,
            |smallest, range| {
                *smallest = counts(range).filter(|&count| count >= level).fold(*smallest, u32::min);
            },
        );
        let first = smallest.into_iter().min().unwrap_or(level);
        self.horizon = first.saturating_add(SPAN);
        let (near, span) = (&self.near, first..self.horizon);
        workers.over(
            left.len() as u64,
            STEP,
            |_| (),
            |(), range| {
                near.replace(range, |vertex| span.contains(&left[vertex as usize].load(Relaxed)));
            },
        );
        first
    }

    /// The vertices near that have no more than `level` neighbors left become the frontier.
    fn select(&self, level: u32) -> Departing {
        let nothing = |_| Departing::default();
        let groups = self.near.len().div_ceil(64);
        let select = |departing: &mut Departing, groups: std::ops::Range<u64>| {
            for group in groups {
                let (mut near, mut bits) = (self.near.word(group), 0);
                while near != 0 {
                    let bit = near & near.wrapping_neg();
                    near ^= bit;
                    let vertex = group * 64 + u64::from(bit.trailing_zeros());
                    if self.left[vertex as usize].load(Relaxed) <= level {
                        bits |= bit;
                        departing.add(1, self.lists.degree(vertex));
                    }
                }
                self.current.set_word(group, bits);
                self.near.set_word(group, self.near.word(group) & !bits);
            }
        };
        Departing::sum(self.session.workers.over(groups, PART, nothing, select))
    }

    /// The frontier departs: returns what follows at the same level.
    fn depart(&self, level: u32, edges: u64) -> Result<Departing> {
        let parts = self.lists.for_each(
            edges,
            |group| self.current.word(group),
            |_| Departing::default(),
            |departing, _, list| {
                for neighbor in list.neighbors() {
                    let count = &self.left[neighbor as usize];
                    let taken = count
                        .fetch_update(Relaxed, Relaxed, |count| (count > level).then(|| count - 1));
                    match taken {
                        Ok(before) if before == level + 1 => {
                            self.next.insert(neighbor);
                            self.near.remove(neighbor);
                            departing.add(1, self.lists.degree(neighbor));
                        }
                        Ok(before) if before == self.horizon => drop(self.near.insert(neighbor)),
                        _ => {}
                    }
                }
            },
        )?;
        Ok(Departing::sum(parts))
    }
}

/// What is known of the core numbers that were shown so far, in the order of the vertices.
struct Cores {
    k: Option<u64>,
    degeneracy: u64,
    /// The k-core that was asked for.
    members: Frontier,
    seen: u64,
}

impl Cores {
    fn add(&mut self, core: u64) {
        self.degeneracy = self.degeneracy.max(core);
        if self.k.is_some_and(|k| core >= k) {
            self.members.insert(self.seen);
        }
        self.seen += 1;
    }
}

/// A plan with a method, and what the method needs.
enum Chosen {
    Peeling(Lists),
    Messages(Iterations<Program>),
}

impl KCore {
    /// Plans a run on a graph that is undirected and simple, or stands for one.
    fn choose<'a>(&self, job: Job<'a>) -> Result<(Decided<'a>, Chosen)> {
        let (model, preset) = (job.config.model, job.config.preset);
        let fully = model == Some(MemoryModel::FullyExternal);
        match self.method {
            Some(Method::Peeling) => return peeling(job, "as asked"),
            Some(Method::Messages) => return messages(job, "as asked"),
            None if fully && preset != Preset::Best => return messages(job, "as the preset does"),
            None => {}
        }
        match peeling(job, "counts of neighbors fit the budget") {
            Err(EngineError::Memory { .. }) if model.is_none() || fully => {
                messages(job, "counts of neighbors do not fit the budget")
            }
            Ok((mut decided, chosen)) if model.is_none() || fully => {
                let (model, memory) = (Some(MemoryModel::FullyExternal), u64::MAX / 4);
                let ample = RunConfig { model, memory, ..job.config.clone() };
                let (least, _) = messages(Job { config: &ample, ..job }, "")?;
                let smallest = &mut decided.plan.smallest_budget_bytes;
                *smallest = least.plan.smallest_budget_bytes.min(*smallest);
                Ok((decided, chosen))
            }
            other => other,
        }
    }

    /// A run on `job`'s graph, which is the view of `graph`.
    fn on_view<'a>(
        &'a self,
        graph: &'a Graph,
        (decided, chosen): (Decided<'a>, Chosen),
    ) -> Prepared<'a> {
        decided.prepared(move |session| {
            let len = session.graph.connected();
            let members = Frontier::new(len, session.config.huge_pages)?;
            let mut cores = Cores { k: self.k, degeneracy: 0, members, seen: 0 };
            let (iterations, column): (u64, Values) = match chosen {
                Chosen::Peeling(lists) => {
                    let lists = lists.open(session)?;
                    let mut peel = Peel::new(session, lists.along(session, Direction::Out))?;
                    session.loaded();
                    let steps = peel.run()?;
                    let left = peel.left.into_plain();
                    left.iter().for_each(|&core| cores.add(core.into()));
                    (steps, left.into())
                }
                Chosen::Messages(iterations) => {
                    let ended = iterations.run(session, &mut Program)?;
                    let core = |&value: &u64| {
                        cores.add(value - GONE);
                        (value - GONE) as u32
                    };
                    (ended.iterations, ended.values.map(core)?.into())
                }
            };
            let column = Column::new("core", column).isolated(Isolated::Value(0.0));
            let results = session.results(iterations).on(graph).column(column);
            let results = results.figure("degeneracy", cores.degeneracy);
            let Some(k) = self.k else { return Ok(results.outcome()) };
            let isolated = if k == 0 { graph.vertices() - graph.connected() } else { 0 };
            let results = results.figure("k", k);
            let results = results.figure("vertices", cores.members.count() + isolated);
            let edges = inner_edges(session.graph, &cores.members)?;
            Ok(results.figure("edges", edges).outcome())
        })
    }
}

fn peeling<'a>(job: Job<'a>, why: &'static str) -> Result<(Decided<'a>, Chosen)> {
    let (mut planner, vertices) = (Planner::new("kcore", job), job.graph.connected());
    planner.runs(Method::Peeling.name(), why);
    planner.method("level by level, each list read once");
    planner.memory("neighbors left", [vertices * 4; 2]);
    planner.memory("frontiers, members", [4 * Frontier::bytes(vertices); 2]);
    planner.scans(Some(1));
    let lists = planner.declare(Lists::along(&[Direction::Out]))?;
    Ok((planner.decide()?, Chosen::Peeling(lists)))
}

fn messages<'a>(job: Job<'a>, why: &'static str) -> Result<(Decided<'a>, Chosen)> {
    let mut planner = Planner::new("kcore", job);
    planner.runs(Method::Messages.name(), why);
    let iterations = Iterations::declare(&mut planner, &Program, None)?;
    Ok((planner.decide()?, Chosen::Messages(iterations)))
}

/// A plan of a run that builds a view of `graph` first. The view's intervals may be wider than the
/// graph's, and its edges are more.
fn with_view(mut plan: Plan, job: Job) -> Result<Plan> {
    let (graph, config) = (job.graph, job.config);
    plan.method = format!("on the undirected simple view, built on scratch first; {}", plan.method);
    plan.disk_bytes += graph.manifest().arcs * 40;
    let least =
        plan.smallest_budget_bytes + config.threads as u64 * (2 << 20) + 2 * graph.grid()?.bytes();
    plan.smallest_budget_bytes = least.max(outercore_graph::build::SMALLEST_BUDGET);
    let smallest = plan.smallest_budget_bytes;
    plan.in_memory_budget_bytes = plan.in_memory_budget_bytes.max(smallest);
    if config.memory < smallest {
        let what = "kcore on the undirected simple view".to_owned();
        return Err(EngineError::Memory { needed: smallest, budget: config.memory, what });
    }
    Ok(plan)
}

impl Algorithm for KCore {
    fn name(&self) -> &'static str {
        "kcore"
    }

    fn prepare<'a>(&'a self, job: Job<'a>) -> Result<Prepared<'a>> {
        let chosen = self.choose(job)?;
        if !job.graph.directed() && job.graph.manifest().simple {
            return Ok(self.on_view(job.graph, chosen));
        }
        let plan = with_view(chosen.0.plan, job)?;
        let shown = plan.clone();
        Ok(Prepared::new(plan, move || {
            let begun = std::time::Instant::now();
            let view = job.simple_view()?;
            let (mut decided, chosen) =
                self.choose(Job { graph: view.derived().unwrap_or(job.graph), ..job })?;
            decided.plan = Plan { memory_model: decided.plan.memory_model, ..shown };
            self.on_view(job.graph, (decided.since(begun), chosen)).run()
        }))
    }
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
