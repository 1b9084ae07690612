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

use outercore_engine::{
    Along, Decided, HugeVec, Lists, MemoryModel, Plan, Preset, RunConfig, Values, totals,
};
use outercore_graph::GraphError;

use crate::common::*;

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
    pub enum Method: "method" {
        /// With what is left of their neighbors in memory.
        Peeling = "peeling",
        /// Vertices that depart tell their neighbors.
        Messages = "messages",
    }
}

/// Levels whose candidates are gathered at once.
const SPAN: u32 = 16;
/// Vertices that a worker looks through at a time.
const PART: u64 = 1 << 14;
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

/// How many vertices depart, and how many edges they have.
type Departing = [u64; 2];

impl<'p> Peel<'p> {
    fn new(session: &'p Session<'p>, lists: Along<'p>) -> Result<Self> {
        let (len, huge) = (session.graph.connected() as usize, session.config.huge_pages);
        let left: HugeVec<AtomicU32> = HugeVec::zeroed(len, huge)?;
        for (count, vertex) in left.iter().zip(0..) {
            count.store(lists.degree(vertex) as u32, Relaxed);
        }
        let (near, current) = (session.no_vertices()?, session.no_vertices()?);
        Ok(Self { session, lists, left, near, horizon: 0, current, next: session.no_vertices()? })
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
            while departing[0] > 0 {
                let [vertices, edges] = departing;
                (steps, remaining) = (steps + 1, remaining - vertices);
                departing = self.depart(level, edges)?;
                self.session.end_iteration(&mark, vertices, "on-demand");
                mark = self.session.mark();
                std::mem::swap(&mut self.current, &mut self.next);
                self.next.clear();
            }
            level += 1;
        }
        Ok(steps)
    }

    /// Gathers the vertices that may depart in the next levels; returns the first level at which
    /// one does.
    fn gather(&mut self, level: u32) -> u32 {
        let (left, workers) = (&self.left, &self.session.workers);
        let smallest = workers.over(
            left.len() as u64,
            PART,
            |_| u32::MAX,
            |smallest, range| {
                let counts = left[range.start as usize..range.end as usize].iter();
                let counts = counts.map(|count| count.load(Relaxed));
                // Below the level are the vertices that have departed.
                *smallest = counts.filter(|&count| count >= level).fold(*smallest, u32::min);
            },
        );
        let first = smallest.into_iter().min().unwrap_or(level);
        self.horizon = first.saturating_add(SPAN);
        let span = first..self.horizon;
        self.near.fill();
        self.near.retain(workers, |vertex| span.contains(&left[vertex as usize].load(Relaxed)));
        first
    }

    /// The vertices near that have `level` neighbors left become the frontier. Those with fewer
    /// have departed: a worker may bring a vertex near after another has had it depart.
    fn select(&self, level: u32) -> Departing {
        let select = |[vertices, edges]: &mut Departing, range| {
            *vertices += self.near.move_to(&self.current, range, |vertex| {
                let departs = self.left[vertex as usize].load(Relaxed) == level;
                if departs {
                    *edges += self.lists.degree(vertex);
                }
                departs
            });
        };
        totals(self.session.workers.over(self.near.len(), PART, |_| [0; 2], select))
    }

    /// The frontier departs: returns what follows at the same level.
    fn depart(&self, level: u32, edges: u64) -> Result<Departing> {
        let parts = self.lists.for_each(
            edges,
            |group| self.current.word(group),
            |_| [0; 2],
            |[vertices, edges], _, list| {
                for neighbor in list.neighbors() {
                    let count = &self.left[neighbor as usize];
                    let taken = count
                        .fetch_update(Relaxed, Relaxed, |count| (count > level).then(|| count - 1));
                    if taken == Ok(level + 1) {
                        self.next.insert(neighbor);
                        self.near.remove(neighbor);
                        *vertices += 1;
                        *edges += self.lists.degree(neighbor);
                    } else if taken == Ok(self.horizon) {
                        self.near.insert(neighbor);
                    }
                }
            },
        )?;
        Ok(totals(parts))
    }
}

/// What a method needs.
enum Chosen {
    Peeling(Lists),
    Messages(Iterations<Program>),
}

/// A plan with a method.
type Planned<'a> = (Decided<'a>, Chosen);

impl KCore {
    /// Plans a run on a graph that is undirected and simple, or stands for one.
    fn choose<'a>(&self, job: Job<'a>) -> Result<Planned<'a>> {
        let RunConfig { model, preset, .. } = *job.config;
        let fully = model == Some(MemoryModel::FullyExternal);
        if let Some(method) = self.method {
            return plan(job, method, "as asked");
        }
        if fully && preset != Preset::Best {
            return plan(job, Method::Messages, "as the preset does");
        }
        let ways = [
            (Method::Peeling, "counts of neighbors fit"),
            (Method::Messages, "counts of neighbors do not fit"),
        ];
        let ways = &ways[..if fully || model.is_none() { 2 } else { 1 }];
        let plans = ways.iter().map(|&(method, why)| plan(job, method, why));
        Plan::first(plans, |(decided, _)| &mut decided.plan)
    }

    /// A run on `job`'s graph, which is the view of `graph`.
    fn on_view<'a>(&'a self, graph: &'a Graph, (decided, chosen): Planned<'a>) -> Prepared<'a> {
        decided.prepared(move |session| {
            let members = session.no_vertices()?;
            let (mut degeneracy, mut vertex) = (0, 0);
            // Gets the core numbers in the order of the vertices.
            let mut core = |core: u32| {
                degeneracy = core.max(degeneracy);
                if self.k.is_some_and(|k| u64::from(core) >= k) {
                    members.insert(vertex);
                }
                vertex += 1;
                core
            };
            let (iterations, column): (u64, Values) = match chosen {
                Chosen::Peeling(lists) => {
                    let lists = lists.open(session)?;
                    let mut peel = Peel::new(session, lists.along(session, Direction::Out))?;
                    session.loaded();
                    let steps = peel.run()?;
                    let left = peel.left.into_plain();
                    left.iter().for_each(|&left| _ = core(left));
                    (steps, left.into())
                }
                Chosen::Messages(iterations) => {
                    let ended = iterations.run(session, &mut Program, None)?;
                    let cores = ended.values.map(|&value| core((value - GONE) as u32))?;
                    (ended.iterations, cores.into())
                }
            };
            let mut results = session
                .results(iterations)
                .on(graph)
                .column(or_zero("core", column))
                .figure("degeneracy", u64::from(degeneracy));
            if let Some(k) = self.k {
                let (mut edges, isolated) = (0, if k == 0 { graph.isolated() } else { 0 });
                session.graph.for_each_edge(1 << 16, &mut |rows| {
                    let pairs = rows.sources.iter().zip(&rows.targets);
                    let inner = |&(&a, &b): &_| members.contains(a) && members.contains(b);
                    edges += pairs.filter(inner).count() as u64;
                    Ok(())
                })?;
                results = results
                    .figure("k", k)
                    .figure("vertices", members.count() + isolated)
                    .figure("edges", edges);
            }
            Ok(results.outcome())
        })
    }
}

/// Plans a run by a method.
fn plan<'a>(job: Job<'a>, method: Method, why: &'static str) -> Result<Planned<'a>> {
    let mut planner = Planner::new("kcore", job);
    planner.runs(method.name(), why);
    let chosen = match method {
        Method::Peeling => {
            let vertices = job.graph.connected();
            planner.method("level by level, each list read once");
            planner.memory("neighbors left", [vertices * 4; 2]);
            planner.memory("frontiers, members", [4 * Frontier::bytes(vertices); 2]);
            planner.scans(Some(1));
            Chosen::Peeling(planner.declare(Lists::along(&[Direction::Out]))?)
        }
        Method::Messages => Chosen::Messages(Iterations::declare(&mut planner, &Program, None)?),
    };
    Ok((planner.decide()?, chosen))
}

/// A plan of a run that builds a view first. The error of a budget that is too small names one that
/// is enough for both.
fn plan_with_view(asked: &KCore, job: Job) -> Result<Plan> {
    let (graph, config) = (job.graph, job.config);
    let mut plan = match asked.choose(job) {
        Err(GraphError::Memory { needed, .. }) => {
            let ample = RunConfig { memory: needed, ..config.clone() };
            asked.choose(Job { config: &ample, ..job })?.0.plan
        }
        chosen => chosen?.0.plan,
    };
    // The view's intervals may be wider than the graph's, and its edges are more.
    plan.method = format!("on the undirected simple view, built on scratch first; {}", plan.method);
    plan.disk_bytes += graph.manifest().arcs * 40;
    let building = config.threads as u64 * (2 << 20) + 2 * graph.grid()?.bytes();
    let needed = plan.smallest_budget_bytes + building;
    let needed = needed.max(outercore_graph::build::SMALLEST_BUDGET);
    if config.memory < needed {
        return too_small(needed, config.memory, "kcore on the undirected simple view");
    }
    plan.smallest_budget_bytes = needed;
    plan.in_memory_budget_bytes = needed.max(plan.in_memory_budget_bytes);
    Ok(plan)
}

impl Algorithm for KCore {
    fn name(&self) -> &'static str {
        "kcore"
    }

    fn prepare<'a>(&'a self, job: Job<'a>) -> Result<Prepared<'a>> {
        if !job.graph.directed() && job.graph.manifest().simple {
            return Ok(self.on_view(job.graph, self.choose(job)?));
        }
        let plan = plan_with_view(self, job)?;
        Ok(Prepared::new(plan.clone(), move || {
            let begun = std::time::Instant::now();
            let view = job.simple_view()?;
            let (mut decided, chosen) =
                self.choose(Job { graph: view.derived().unwrap_or(job.graph), ..job })?;
            decided.plan = Plan { memory_model: decided.plan.memory_model, ..plan };
            decided.begun = Some(begun);
            self.on_view(job.graph, (decided, chosen)).run()
        }))
    }
}
