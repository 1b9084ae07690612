//! Core numbers: the largest k such that the vertex belongs to a subgraph in which every vertex has
//! at least k neighbors. On the undirected simple view.
//!
//! Vertices are peeled off level by level (Matula and Beck, 1983). At level k the vertices with at
//! most k neighbors left depart, and each takes one from every neighbor with more than k; one that
//! comes down to k departs next, at the same level. The k-core for one k is what level k - 1
//! leaves, if it is the first and only one.
//!
//! `peeling` has what is left of each vertex's neighbors in memory, and reads every list once, when
//! its vertex departs. A count never falls below the level at which its vertex departs: in the end
//! the counts are the core numbers. The vertices that may depart in the next [`SPAN`] levels are
//! kept as a set, so that a level does not look at all vertices (buckets as in Julienne, SPAA 2017,
//! one at a time). Memory for each vertex: about one byte (four for hubs) and three bits, beside
//! the lists and the result.
//!
//! `program` is a program in phases, for less memory than that: the smallest remaining degree k
//! opens a phase. A value is what is left of a vertex's neighbors, or, once the vertex has
//! departed, [`GONE`] plus its core number.

use std::ops::Range;

use outercore_engine::{
    ALONE, Along, Appender, Decided, Lists, MemoryModel, Monotone, Plan, Precompute, Preset,
    Remaining, RunConfig, Widths, totals,
};

use outercore_sets::Bucket;

use crate::{common::*, simple_view::on_simple_view};

/// Core numbers of all vertices, or the k-core for one k.
#[derive(Clone, Debug, Default)]
pub struct KCore {
    /// Only the k-core for this k: its vertices have k as their value, others none.
    pub k: Option<u64>,
    /// How it goes about it; `None`: the plan decides.
    pub method: Option<KCoreMethod>,
}

named! {
    /// How vertices are peeled off.
    pub enum KCoreMethod: "method" {
        /// With what is left of their neighbors in memory.
        Peeling = "peeling",
        /// Vertices that depart tell their neighbors.
        Program = "program",
    }
}

/// Levels whose candidates are gathered at once.
const SPAN: u32 = 16;
/// Vertices that a worker looks through at a time.
const PART: u64 = 1 << 17;
/// What a value is above of once its vertex has departed.
const GONE: u64 = 1 << 32;

/// Peeling by messages, at these levels.
struct KCoreProgram(Range<u64>);

impl VertexProgram for KCoreProgram {
    type Value = u64;
    type Signal = u32;
    type Message = Sum<u32>;

    const SILENCE: Option<u32> = Some(0);

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
        if *value >= self.0.end { u64::MAX } else { self.0.start.max(*value) }
    }
}

/// What a vertex loses counts once, in whatever order it comes at a level.
impl Monotone for KCoreProgram {}

/// Peeling with counts in memory.
struct Peel<'p> {
    session: &'p Session<'p>,
    lists: Along<'p>,
    bucket: Bucket,
}

/// How many vertices depart, and how many edges they have.
type Departing = [u64; 2];

impl<'p> Peel<'p> {
    fn new(session: &'p Session<'p>, lists: Along<'p>, left: Remaining) -> Result<Self> {
        let set = || session.no_vertices();
        let (near, current, next) = (set()?, set()?, set()?);
        let bucket = Bucket { left, near, horizon: 0, first: 0, current, next };
        Ok(Self { session, lists, bucket })
    }

    /// Peels off what departs at these levels; returns the number of steps.
    fn run(&mut self, levels: Range<u64>) -> Result<u64> {
        let (mut level, mut steps) = (levels.start as u32, 0);
        let mut remaining = self.bucket.near.len();
        self.bucket.first = level;
        while remaining > 0 && u64::from(level) < levels.end {
            if level >= self.bucket.horizon {
                level = self.gather(level);
                continue;
            }
            let mut mark = self.session.mark();
            let mut departing = self.select(level);
            while departing[0] > 0 {
                let [vertices, edges] = departing;
                (steps, remaining) = (steps + 1, remaining - vertices);
                departing = self.depart(level, edges)?;
                self.session.end_iteration(&mark, vertices, "on-demand");
                mark = self.session.mark();
                std::mem::swap(&mut self.bucket.current, &mut self.bucket.next);
                self.bucket.next.clear();
            }
            level += 1;
        }
        Ok(steps)
    }

    /// Gathers the vertices that may depart at this level and the next ones; returns the first
    /// level at which one does.
    fn gather(&mut self, level: u32) -> u32 {
        let last =
            std::mem::replace(&mut self.bucket.horizon, level.saturating_add(SPAN.max(level / 4)));
        let bucket = &self.bucket;
        let gather = |smallest: &mut u32, range| bucket.gather(last, smallest, range);
        let workers = &self.session.workers;
        let smallest = workers.over(bucket.near.len(), PART, |_| u32::MAX, gather);
        smallest.into_iter().min().unwrap_or(level).max(level)
    }

    /// What departs at this level becomes the frontier.
    fn select(&self, level: u32) -> Departing {
        let select = |[vertices, edges]: &mut Departing, range| {
            let departs = |vertex| *edges += self.lists.degree(vertex);
            *vertices += self.bucket.select(level, range, departs);
        };
        totals(self.session.workers.over(self.bucket.near.len(), PART, |_| [0; 2], select))
    }

    /// The frontier departs: returns what follows at the same level.
    fn depart(&self, level: u32, edges: u64) -> Result<Departing> {
        let alone = edges < ALONE;
        let parts = self.lists.for_each(
            edges,
            |group| self.bucket.current.word(group),
            |_| [0; 2],
            |[vertices, edges], _, list| {
                self.bucket.depart(list, level, alone, |neighbor| {
                    *vertices += 1;
                    *edges += self.lists.degree(neighbor);
                });
            },
        )?;
        Ok(totals(parts))
    }
}

/// What a method needs.
enum Chosen {
    Peeling(Lists, Widths),
    Messages(Iterations<KCoreProgram>),
}

/// A plan with a method.
type Planned<'a> = (Decided<'a>, Chosen);

impl KCore {
    /// The levels at which vertices are peeled off.
    fn levels(&self) -> Range<u64> {
        // No vertex has as many neighbors as the largest number.
        self.k.map_or(0..GONE, |k| k.clamp(1, GONE - 1) - 1..k.min(GONE - 1))
    }

    /// Plans a run on a graph that is undirected and simple, or stands for one.
    fn choose<'a>(&self, job: Job<'a>) -> Result<Planned<'a>> {
        let RunConfig { model, preset, precompute, .. } = *job.config;
        let fully = model == Some(MemoryModel::FullyExternal);
        let given = match self.method {
            None if fully && preset != Preset::Best => {
                Some((KCoreMethod::Program, "as the preset does"))
            }
            None if precompute.is_some_and(|early| early != Precompute::Off) => {
                Some((KCoreMethod::Program, "vertices may be computed early"))
            }
            method => method.map(|method| (method, "as asked")),
        };
        let ways = [
            (KCoreMethod::Peeling, false, "counts of neighbors fit"),
            (
                KCoreMethod::Peeling,
                true,
                "counts of neighbors fit, an index of their lists does not",
            ),
            (KCoreMethod::Program, false, "counts of neighbors do not fit"),
        ];
        let wanted = |&(method, ..): &(KCoreMethod, bool, &str)| match given {
            Some((given, _)) => method == given,
            None => method == KCoreMethod::Peeling || fully || model.is_none(),
        };
        let plans = ways.into_iter().filter(wanted).map(|(method, slides, why)| {
            self.plan(job, (method, slides), given.map_or(why, |(_, why)| why))
        });
        Plan::first(plans, |(decided, _)| &mut decided.plan)
    }

    /// Plans a run by a method; while values are on storage, the index of the lists may slide.
    fn plan<'a>(
        &self,
        job: Job<'a>,
        (method, slides): (KCoreMethod, bool),
        why: &'static str,
    ) -> Result<Planned<'a>> {
        let mut planner = Planner::new("kcore", job);
        planner.runs(method.name(), why);
        let chosen = match method {
            KCoreMethod::Peeling => {
                let vertices = job.graph.connected();
                let widths = job.graph.widths(Remaining::SMALL)?;
                planner.method("level by level, each list read once");
                planner.memory("neighbors left", [widths.bytes(); 2]);
                planner.memory("frontiers", [3 * Frontier::bytes(vertices); 2]);
                planner.memory("result", [vertices * 4, Appender::<u32>::bytes(vertices)]);
                planner.scratch(Appender::<u32>::disk_bytes(vertices));
                planner.traffic_external([0, Appender::<u32>::disk_bytes(vertices)]);
                // A page comes again for about each level at which one of its vertices departs:
                // 9 to 36 times on real graphs, and more in larger ones.
                planner.guess(u64::from(vertices.max(2).ilog2() * 3 / 2));
                let mut lists = Lists::along(&[Direction::Out]);
                lists.slides = slides;
                Chosen::Peeling(planner.declare(lists)?, widths)
            }
            KCoreMethod::Program => {
                let program = KCoreProgram(self.levels());
                Chosen::Messages(Iterations::declare_monotone(&mut planner, &program)?)
            }
        };
        Ok((planner.decide()?, chosen))
    }

    /// A run on `job`'s graph, which is the view of `graph`.
    fn on_view<'a>(self, graph: &'a Graph, (decided, chosen): Planned<'a>) -> Prepared<'a> {
        decided.prepared(move |session| {
            let (mut degeneracy, mut members, mut ends) = (0, 0, 0);
            // Of what a vertex had left in the end, departed or not.
            let mut core = |left: u32| match self.k {
                None => {
                    degeneracy = left.max(degeneracy);
                    left
                }
                Some(k) if u64::from(left) >= k => {
                    (members, ends) = (members + 1, ends + u64::from(left));
                    k as u32
                }
                Some(_) => u32::MAX,
            };
            let (iterations, cores) = match chosen {
                Chosen::Peeling(lists, widths) => {
                    let (mut lists, mut cores) = (lists.open(session)?, Appender::of(session)?);
                    let degree = |vertex| lists.degree(session, vertex);
                    let left = Remaining::new(widths, session.config.huge_pages, degree)?;
                    let along = lists.along(session, Direction::Out);
                    let mut peel = Peel::new(session, along, left)?;
                    session.loaded();
                    let (steps, left) = (peel.run(self.levels())?, &peel.bucket.left);
                    let mut left = (0..session.graph.connected()).map(|at| left.get(at));
                    left.try_for_each(|left| cores.push(core(left)))?;
                    (steps, cores.array)
                }
                Chosen::Messages(iterations) => {
                    let ended = iterations.run(session, &mut KCoreProgram(self.levels()), None)?;
                    (ended.iterations, ended.values.map(|&value| core(value as u32))?)
                }
            };
            let results = session.results(iterations).on(graph);
            Ok(match self.k {
                None => results
                    .column(or_zero("core", cores))
                    .figure("degeneracy", u64::from(degeneracy)),
                Some(k) => {
                    let (column, isolated) = match k {
                        0 => (or_zero("core", cores), graph.isolated()),
                        _ => (Column::new("core", cores), 0),
                    };
                    let results = results.column(column).figure("k", k);
                    results.figure("vertices", members + isolated).figure("edges", ends / 2)
                }
            }
            .outcome())
        })
    }
}

impl Algorithm for KCore {
    fn name(&self) -> &'static str {
        "kcore"
    }

    fn prepare<'a>(&'a self, job: Job<'a>) -> Result<Prepared<'a>> {
        if !job.graph.directed() && job.graph.manifest().is_simple() {
            return Ok(self.clone().on_view(job.graph, self.choose(job)?));
        }
        on_simple_view(self.name(), job, |job, graph, adjust| {
            let (mut decided, chosen) = self.choose(job)?;
            adjust(&mut decided);
            Ok(self.clone().on_view(graph, (decided, chosen)))
        })
    }
}
