//! Connected components (weak ones, in a directed graph), each named by its smallest internal id:
//! its vertex of the highest degree.
//!
//! - `scan`: union-find over one scan of all edges ([`forest`]), whatever the graph's diameter.
//! - `sampled`: every vertex is linked to its first neighbor, which joins most of them to the hubs;
//!   then only vertices outside of the largest component read their lists (Afforest; Sutton,
//!   Ben-Nun and Barak, IPDPS'18). Every edge that leaves the component is in the list of its other
//!   end, so none is missed; in a directed graph that takes the incoming lists, too. Where that
//!   would read more than half of a scan, there is a scan.
//! - `program`: the smallest label spreads until no vertex gets another one, as Seraph (FAST'24)
//!   and plain streaming systems (GridGraph, ATC'15) do. Labels may come early. They travel along
//!   outgoing edges: those of a directed graph's undirected view. With `--preset streaming` they
//!   take the directed edges both ways ([`spread`]).
//!
//! With `--executor async` visitors carry the labels (Pearce, Gokhale and Amato, SC'10), along
//! edges of both directions, the smallest first: each vertex sends about once.
//!
//! Memory: 8 bytes for each vertex, or a window of parents while values are on storage.

use outercore_engine::{
    Decision, EdgeScan, Min, Monotone, Preset, ReadPolicy, SomeEdges,
    forest::{self, Sets},
    spread,
};
use outercore_visit::{self as visit, smallest::Smallest};

use crate::{
    common::*,
    simple_view::{Adjust, on_simple_view},
};

/// Connected components.
#[derive(Clone, Debug, Default)]
pub struct Components {
    /// How; `None`: chosen by the plan.
    pub method: Option<ComponentsMethod>,
    /// Whether labels, where they spread, wait for each other.
    pub executing: Executing,
}

named! {
    /// How components are found.
    pub enum ComponentsMethod: "method" {
        /// First neighbors, then the lists of vertices outside of the largest component.
        Sampled = "sampled",
        /// Union-find over one scan of all edges.
        Scan = "scan",
        /// Labels that spread along edges.
        Program = "program",
    }
}

/// Bytes of the smallest window of parents, the widest interval, and of what waits for others.
const LEAST: u64 = (4 << 17) + (3 << 20);

impl Components {
    /// The method, and why.
    fn choose(&self, Job { graph, config, .. }: Job) -> Result<(ComponentsMethod, &'static str)> {
        let usual = if spreads(config) && !graph.directed() {
            (ComponentsMethod::Program, "vertices may be computed early, or edges are streamed")
        } else if config.read.scans() {
            (ComponentsMethod::Scan, "all edges are to be read")
        } else if config.read != ReadPolicy::OnDemand && !graph.meets_at_hubs() {
            (ComponentsMethod::Scan, "no hubs that first neighbors lead to")
        } else {
            (ComponentsMethod::Sampled, "where first neighbors are kept, reads least")
        };
        Ok(method(self.method, usual))
    }
}

/// The spreading of labels.
struct Labels;

impl VertexProgram for Labels {
    type Value = u32;
    type Signal = u32;
    type Message = Min<u32>;

    const SILENCE: Option<u32> = Some(u32::MAX);

    fn init(&self, vertex: u64, _: u32) -> u32 {
        vertex as u32
    }

    fn scatter(&self, _: u64, label: &u32, _: u32) -> Option<u32> {
        Some(*label)
    }

    #[inline(always)]
    fn carry(&self, signal: u32, _: f64) -> Min<u32> {
        Min(signal)
    }

    fn apply(&self, _: &Context, _: u64, label: &mut u32, message: Min<u32>) -> bool {
        lower(label, message.0)
    }
}

impl Monotone for Labels {}

/// The results on `graph` of a run that left these labels; to count them `room` bytes may be taken.
fn results(
    (session, graph): (&Session, &Graph),
    labels: VertexArray<u32>,
    iterations: u64,
    room: u64,
) -> Result<Outcome> {
    let Sets { count, largest, .. } = Sets::of(&labels, room)?;
    Ok(groups((session, graph), iterations, ["components", "component"], [count, largest], labels))
}

/// Labels that spread, on the view of a directed graph.
fn by_labels<'a>(planner: Planner<'a>, why: &'static str) -> Result<Prepared<'a>> {
    let job = planner.job;
    if !job.graph.directed() {
        return spreading(planner, why, job.graph, &|_| ());
    }
    on_simple_view("components", job, move |job, graph, adjust| {
        spreading(plan_32_bits("components", job)?, why, graph, adjust)
    })
}

/// Labels that spread on a graph that is undirected, or stands for `graph`.
fn spreading<'a>(
    mut planner: Planner<'a>,
    why: &'static str,
    graph: &'a Graph,
    adjust: Adjust,
) -> Result<Prepared<'a>> {
    planner.runs(ComponentsMethod::Program.name(), why);
    let labels = Iterations::declare_monotone(&mut planner, &Labels)?;
    let mut decided = planner.decide()?;
    adjust(&mut decided);
    Ok(decided.prepared(move |session| {
        let ended = labels.run(session, &mut Labels, None)?;
        results((session, graph), ended.values, ended.iterations, 1 << 20)
    }))
}

fn by_visitors<'a>(mut planner: Planner<'a>, executing: &Executing) -> Result<Prepared<'a>> {
    planner.memory("32-bit labels, sizes", [planner.job.graph.connected() * 8, 0]);
    visit::prepared(planner, executing, Smallest, |session, labels| {
        let labels = labels.map(|&label| label as u32)?;
        results((session, session.graph), labels, 1, session.decision.room)
    })
}

/// The most bytes of edges that wait for other windows of parents, where there are several.
fn waiting(graph: &Graph, decision: &Decision) -> u64 {
    if decision.room >= 4 * graph.connected() || !decision.is_external() {
        0
    } else {
        8 * graph.edges()
    }
}

/// States what sets of vertices take. With `streams`, labels spread while values are on storage.
fn declare_sets(planner: &mut Planner, streams: bool, some: Option<SomeEdges>) -> Result<()> {
    let graph = planner.job.graph;
    VertexArray::<u32>::declare(planner, "labels")?;
    planner.memory("sizes", [graph.connected() * 4, 0]);
    planner.memory("smallest window, logs", [0, LEAST]);
    if streams {
        spread::declare(planner)?;
    }
    planner.scans(Some(0).filter(|_| !streams));
    planner.traffic(move |decision, _| {
        // Lists of vertices outside of the largest component take less than half of a scan, or are
        // not read unasked. A scan passes by what lies between vertices of one tree.
        let few = some.is_some_and(|some| some.fits(graph, decision));
        let waiting = waiting(graph, decision) / 2;
        let share = match waiting {
            _ if few => 4,
            0 if graph.has_hubs() && !streams => 2,
            _ => 1,
        };
        Ok([graph.scan_bytes() / share + waiting, waiting])
    });
    let [inner, external] = if streams {
        ["labels that spread in scan after scan of all edges"; 2]
    } else {
        ["union-find", "union-find by windows of vertices, each edge once"]
    };
    planner.method(inner);
    planner.external_method(Some(external));
    Ok(())
}

impl Algorithm for Components {
    fn name(&self) -> &'static str {
        "components"
    }

    fn declare<'a>(&'a self, job: Job<'a>) -> Result<Prepared<'a>> {
        let Job { graph, config, .. } = job;
        let mut planner = plan_32_bits(self.name(), job)?;
        if self.executing.is_async(job, self.method.map(|_| "--method"), false)? {
            return by_visitors(planner, &self.executing);
        }
        let (mut method, mut why) = self.choose(job)?;
        if method == ComponentsMethod::Program {
            return by_labels(planner, why);
        }
        let edges = planner.declare(EdgeScan::Always)?;
        let some = (method == ComponentsMethod::Sampled).then(|| SomeEdges::declare(&mut planner));
        let streams = config.preset == Preset::Streaming && self.method.is_none();
        declare_sets(&mut planner, streams, some)?;
        let mut decided = planner.decide()?;
        decided.plan.disk_bytes += waiting(graph, &decided.decision);
        let some = some.filter(|some| some.fits(graph, &decided.decision));
        if some.is_none() && method == ComponentsMethod::Sampled {
            if self.method.is_some() {
                return refuse("--method sampled needs incoming edges and, in memory, all parents");
            }
            (method, why) = (ComponentsMethod::Scan, "no first neighbors, or no room for lists");
        }
        decided.plan.method = format!("{} ({why}): {}", method.name(), decided.plan.method);
        Ok(decided.prepared(move |session| {
            let (edges, labels) = (edges.open(session)?, VertexArray::of(session)?);
            session.loaded();
            let most = if self.method.is_some() || config.read == ReadPolicy::OnDemand {
                u64::MAX
            } else {
                graph.scan_bytes() / 2
            };
            let (mark, room, mut sampled) = (session.mark(), session.decision.room, false);
            if streams {
                let (labels, scans) = spread::labels(session, &edges, labels, room)?;
                return results((session, graph), labels, scans, room);
            }
            let labels = forest::join(session, &edges, labels, room, |trees| {
                sampled =
                    some.map_or(Ok(false), |few| forest::sample(session, few, trees, most))?;
                Ok(sampled)
            })?;
            session.end_iteration(
                &mark,
                graph.connected(),
                if sampled { ReadMode::OnDemand } else { ReadMode::Full },
            );
            results((session, graph), labels, 1, room)
        }))
    }
}
