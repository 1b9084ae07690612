//! Traversals by visitors as resources of plans: what they take, and how they are run.
//!
//! Memory for each vertex: 8 bytes and a bit, beside the lists; and the queues.

use std::sync::atomic::AtomicU64;

use outercore_engine::{
    Finished, Frontier, IoIterator, Job, Lists, MemoryModel, OWN_LISTS, Outcome, Planner, Prepared,
    Resource, RunConfig, Session, Start, Technique, VertexArray, Window,
};
use outercore_graph::{Graph, GraphError, Result};
use outercore_storage::lock;

use crate::{
    course::{Course, ROOM},
    executing::{Executing, Ownership},
    owner::{BATCH, Letter, Traversal, USUAL},
    queue::Waiting,
    visitor::Visitor,
};

/// Bytes of the queues of a traversal that has few visitors at a time.
pub(crate) const FEW_BYTES: u64 = 1 << 20;
/// Bytes that a visitor takes in a queue: lists grow by doubling, and the one at hand empties while
/// others fill.
const VISITOR: usize = 4 * size_of::<Waiting>();

/// Vertices of one owner where lists are read, as a power of two. Requests go over gaps: where the
/// groups of two workers lie close to each other, each would read what the other one wants.
const STRETCH: u32 = 12;

/// A plan that runs by visitors and makes its results of their labels.
pub fn prepared<'a, V: Visitor + 'a>(
    mut planner: Planner<'a>,
    asked: &Executing,
    visitor: V,
    results: impl FnOnce(&Session<'a>, VertexArray<u64>) -> Result<Outcome> + 'a,
) -> Result<Prepared<'a>> {
    let visits = Visits::declare::<V>(&mut planner, asked)?;
    let job = planner.job;
    let mut decided = planner.decide().map_err(|error| match error {
        GraphError::Memory { needed, budget, what } => {
            GraphError::Memory { needed: settled(needed, job), budget, what }
        }
        error => error,
    })?;
    let plan = &mut decided.plan;
    for needed in [&mut plan.smallest_budget_bytes, &mut plan.in_memory_budget_bytes] {
        *needed = settled(*needed, job);
    }
    Ok(decided.prepared(move |session| results(session, visits.run(session, &visitor)?)))
}

/// The least budget that is enough for what it makes of the queues, where with the queues of the
/// budget that was asked `needed` bytes are.
fn settled(needed: u64, Job { graph, config, .. }: Job) -> u64 {
    let least = needed.saturating_sub(queues(graph, config.memory));
    let mut budget = least;
    // Queues grow by an eighth of what the budget grows by: this comes to an end soon.
    loop {
        let enough = least + queues(graph, budget);
        if enough <= budget {
            return budget;
        }
        budget = enough;
    }
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
        let Job { graph, config, .. } = planner.job;
        let bytes = graph.connected() * 8
            + Frontier::bytes(graph.connected())
            + queues(graph, config.memory)
            + mail(config);
        planner.memory("labels, visitors", [bytes, 0]);
        planner.can(|_| Ok(vec![Technique::Visitors]));
        let mut lists = Lists::along(V::DIRECTIONS);
        (lists.weighted, lists.can) = (V::WEIGHTED, OWN_LISTS);
        // Most lists are wanted once, and so is a page of a long one. A page of short ones, which
        // come last, is wanted again and again.
        lists.last = true;
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
        let asked = (&self.asked, queues(session.graph, session.config.memory));
        let labels = Window::open(session, VertexArray::of(session)?, visitor.unreached())?;
        let (mut due, start) = (session.no_vertices()?, visitor.start());
        if let Start::All = start {
            due.fill();
        }
        over(session, visitor, lists, asked, (labels, due, start))
    }
}

/// Goes on along these lists instead of a search that turned out to have many small steps. That has
/// found the labels so far, and the vertices that are `due` it has not followed yet.
pub fn switch<'s, V: Visitor>(
    session: &'s Session<'s>,
    visitor: &V,
    lists: Vec<IoIterator<'s>>,
    labels: Window<u64>,
    due: Frontier,
) -> Result<VertexArray<u64>> {
    let asked = (&Executing::default(), FEW_BYTES);
    over(session, visitor, lists, asked, (labels, due, Start::Vertices(Vec::new())))
}

/// Bytes of the mail between workers.
pub(crate) fn mail(config: &RunConfig) -> u64 {
    let threads = config.threads.max(1) as u64;
    threads * (threads + ROOM as u64) * (BATCH * size_of::<Letter>()) as u64
}

/// Traverses these lists, with so many bytes for all queues, from these labels, vertices that are
/// due, and visitors.
fn over<'s, V: Visitor>(
    session: &'s Session<'s>,
    visitor: &V,
    lists: Vec<IoIterator<'s>>,
    (asked, queues): (&Executing, u64),
    (labels, due, start): (Window<u64>, Frontier, Start),
) -> Result<VertexArray<u64>> {
    let workers = session.workers.count();
    let queues = queues as usize;
    let in_flight = asked.in_flight.map(|asked| asked as usize);
    let reads = session.decision.model != MemoryModel::InMemory;
    let grain = match asked.ownership.unwrap_or_default() {
        Ownership::Vertex => 0,
        Ownership::Group if reads => STRETCH,
        Ownership::Group => 6,
    };
    let all = Traversal {
        session,
        visitor,
        labels: labels.cells(),
        due: &due,
        lists,
        workers,
        grain,
        peek: asked.peek.unwrap_or(true),
        reads,
        in_flight,
        most: queues / VISITOR / workers,
        few: in_flight.unwrap_or(2 * USUAL).min(queues / VISITOR / 16).max(1),
        waiting: (0..workers).map(|_| AtomicU64::new(0)).collect(),
        followed: AtomicU64::new(0),
    };
    let report = Course::new(&all).run(start)?;
    session.counters.note(Technique::Visitors, [report.visits, 0]);
    *lock(&session.visitors) = Some(report);
    labels.give_back()
}

/// Bytes of all queues: all vertices have visitors, unless memory is short.
fn queues(graph: &Graph, budget: u64) -> u64 {
    (graph.connected() * VISITOR as u64).clamp(1 << 16, (budget / 8).max(1 << 20))
}
