//! Traversals by visitors as resources of plans: what they take, and how they are run.
//!
//! Memory for each vertex: 8 bytes and a bit, beside the lists; and the queues.

use std::sync::atomic::AtomicU64;

use outercore_engine::{
    Finished, Frontier, IoIterator, Job, Lists, MemoryModel, OF_VISITORS, Outcome, Planner,
    Prepared, Resource, RunConfig, Session, Start, Technique, VertexArray, Window,
};
use outercore_graph::{Graph, Result};
use outercore_storage::lock;

use crate::{
    course::{Course, ROOM},
    executing::{Executing, Ownership},
    owner::{BATCH, Letter, Traversal, USUAL},
    queue::Waiting,
    visitor::Visitor,
};

/// Vertices of a sample of visitors.
const SAMPLE: u64 = 1 << 10;
/// Bytes that a visitor takes in a queue: lists grow by doubling.
const VISITOR: usize = 3 * size_of::<Waiting>();

/// A plan that runs by visitors and makes its results of their labels.
pub fn prepared<'a, V: Visitor + 'a>(
    mut planner: Planner<'a>,
    asked: &Executing,
    visitor: V,
    results: impl FnOnce(&Session<'a>, VertexArray<u64>) -> Result<Outcome> + 'a,
) -> Result<Prepared<'a>> {
    let visits = Visits::declare::<V>(&mut planner, asked)?;
    let decided = planner.decide()?;
    Ok(decided.prepared(move |session| results(session, visits.run(session, &visitor)?)))
}

/// Runs a traversal by visitors to its end: the final label of each vertex, and what the run did.
pub fn visit<V: Visitor>(visitor: &V, name: &'static str, job: Job) -> Result<Finished<u64>> {
    let mut planner = Planner::new(name, job);
    let visits = Visits::declare::<V>(&mut planner, &Executing::default())?;
    let session = planner.decide()?.start()?;
    let labels = visits.run(&session, visitor)?;
    Ok((labels, session.results(1).outcome().report))
}

/// A traversal by visitors that a plan has declared.
struct Visits {
    lists: Lists,
    asked: Executing,
}

impl Visits {
    /// Declares what a traversal takes.
    fn declare<V: Visitor>(planner: &mut Planner, asked: &Executing) -> Result<Self> {
        declare_sample(planner);
        let mut lists = Lists::along(V::DIRECTIONS);
        (lists.weighted, lists.can) = (V::WEIGHTED, &OF_VISITORS);
        let lists = planner.declare(lists)?;
        planner.guess(1);
        planner.method("prioritized visitors, no iterations");
        planner.external_method(None);
        Ok(Self { lists, asked: asked.clone() })
    }

    /// Runs a traversal to its end; returns the labels.
    fn run<V: Visitor>(&self, session: &Session, visitor: &V) -> Result<VertexArray<u64>> {
        let lists = self.lists.open(session)?;
        let lists = lists.all(session).on_request();
        let labels = over(session, visitor, lists, (&self.asked, u64::MAX))?;
        Ok(labels.expect("a traversal that is no sample goes on to its end"))
    }
}

/// States what [`sample`] takes beside the lists.
pub fn declare_sample(planner: &mut Planner) {
    let Job { graph, config, .. } = planner.job;
    planner.memory("labels, visitors", [bytes(graph, config), 0]);
    planner.can(|_| Ok(vec![Technique::Visitors]));
}

/// Traverses these lists if a sample of visitors finds many small levels: to wait for the end of
/// each would take longer than its few vertices do.
pub fn sample<'s, V: Visitor>(
    session: &'s Session<'s>,
    visitor: &V,
    lists: Vec<IoIterator<'s>>,
) -> Result<Option<VertexArray<u64>>> {
    over(session, visitor, lists, (&Executing::default(), SAMPLE))
}

/// Bytes of memory of a traversal beside its lists.
fn bytes(graph: &Graph, config: &RunConfig) -> u64 {
    let (vertices, threads) = (graph.connected(), config.threads.max(1) as u64);
    vertices * 8
        + Frontier::bytes(vertices)
        + queues(vertices, config.memory)
        + threads * (threads + ROOM as u64) * (BATCH * size_of::<Letter>()) as u64
}

/// Traverses these lists. After `sample` visitors that read, it goes on only if their priorities
/// are so many that there must be many small levels; `None`: they are not.
fn over<'s, V: Visitor>(
    session: &'s Session<'s>,
    visitor: &V,
    lists: Vec<IoIterator<'s>>,
    (asked, sample): (&Executing, u64),
) -> Result<Option<VertexArray<u64>>> {
    let labels = Window::open(session, VertexArray::of(session)?, visitor.unreached())?;
    let workers = session.workers.count();
    let queues = queues(session.graph.connected(), session.config.memory) as usize;
    let in_flight = asked.in_flight.map(|asked| asked as usize);
    let is_by_group = asked.ownership.unwrap_or_default() == Ownership::Group;
    let (start, mut due) = (visitor.start(), session.no_vertices()?);
    if let Start::All = start {
        due.fill();
    }
    let all = Traversal {
        session,
        visitor,
        labels: labels.cells(),
        due: &due,
        lists,
        workers,
        grain: if is_by_group { 6 } else { 0 },
        peek: asked.peek.unwrap_or(true),
        reads: session.decision.model != MemoryModel::InMemory,
        in_flight,
        most: queues / VISITOR / workers,
        few: in_flight.unwrap_or(2 * USUAL).min(queues / VISITOR / 16).max(1),
        waiting: (0..workers).map(|_| AtomicU64::new(0)).collect(),
        sample: AtomicU64::new(sample),
    };
    let Some(report) = Course::new(&all).run(start)? else { return Ok(None) };
    session.counters.note(Technique::Visitors, [report.visits, 0]);
    *lock(&session.visitors) = Some(report);
    labels.give_back().map(Some)
}

/// Bytes of all queues: all vertices have visitors, unless memory is short.
fn queues(vertices: u64, memory: u64) -> u64 {
    (vertices * VISITOR as u64).clamp(1 << 16, (memory / 8).max(1 << 20))
}
