//! Core numbers: the largest k such that the vertex belongs to a subgraph in which every vertex has
//! at least k neighbors. On the undirected simple view.
//!
//! Vertices are peeled off level by level (Matula and Beck, 1983). At level k the vertices with at
//! most k neighbors left depart, and each takes one from every neighbor with more than k; one that
//! comes down to k departs next, at the same level. The k-core for one k is what level k - 1
//! leaves, if it is the first and only one.
//!
//! `peeling` has what is left of each vertex's neighbors in memory, and reads every list once, when
//! its vertex departs ([`Peeling`]). A count never falls below the level at which its vertex
//! departs: in the end the counts are the core numbers. The vertices that may depart in the next
//! levels are kept as a set, so that a level does not look at all vertices (buckets as in Julienne,
//! SPAA 2017, one at a time). Memory for each vertex: about one byte (four for hubs) and three
//! bits, beside the lists and the result.
//!
//! `program` is a program in phases, for less memory than that: the smallest remaining degree k
//! opens a phase. A value is what is left of a vertex's neighbors, or, once the vertex has
//! departed, [`GONE`] plus its core number.

use std::ops::Range;

use outercore_engine::{
    Appender, Decided, Lists, MemoryModel, Monotone, Plan, Precompute, Preset, Remaining,
    RunConfig, Widths,
};
use outercore_sets::Peeling;

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
                    let mut peeling = Peeling::new(session, along, left, self.k.is_none())?;
                    session.loaded();
                    let (steps, left) = (peeling.run(self.levels())?, peeling.left());
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

    fn declare<'a>(&'a self, job: Job<'a>) -> Result<Prepared<'a>> {
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
