//! Triangles: three vertices, each two of them neighbors. On the undirected simple view:
//! directions, repetitions and self-loops do not count.
//!
//! Each triangle a < b < c is found once. The sets of smaller neighbors of a window of vertices b
//! are held in memory, as many as the budget allows; all c after the window's first vertex stream
//! past it, and their sets are intersected with those of their neighbors in the window
//! ([`Counter`]). One window when the sets fit; with half of them in memory, two. The
//! order of degrees makes sets short: no vertex has more smaller neighbors than the square root of
//! all edges (Chiba and Nishizeki, 1985).
//!
//! Memory: the window; a batch of lists; the row index, which slides while values are on storage;
//! and for counts by vertex 1 byte each, 4 at the front.

use std::ops::Range;

use outercore_engine::{
    Appender, Block, CompactCounters, Decision, Neighborhoods, OpenNeighborhoods, PerWorker, Widths,
};
use outercore_sets::{Counter, Counting, SetWindow};

use crate::common::*;

/// The number of triangles.
#[derive(Clone, Debug, Default)]
pub struct Triangles;

/// What was found.
pub struct Found {
    /// All triangles, where only they were counted.
    pub triangles: u64,
    /// Windows that were streamed past.
    pub windows: u64,
    /// For each vertex its triangles, or the edges between its neighbors; of no vertex where only
    /// the total was counted.
    pub counts: CompactCounters,
    /// For each vertex its neighbors, where they are not just its edges.
    pub degrees: Option<CompactCounters>,
}

/// Of the counts, and of the numbers of neighbors: these are counted where an edge may not be a
/// neighbor of its own.
fn widths(graph: &Graph, counting: Counting) -> Result<[Widths; 2]> {
    let of = |edges| graph.widths(edges);
    Ok(match counting {
        Counting::Total => [Widths::NONE; 2],
        // With k neighbors there are at most k (k - 1) / 2 edges between them, or k (k - 1)
        // directed ones.
        Counting::Each if graph.manifest().is_simple() => [of(23)?, Widths::NONE],
        Counting::Each => [of(23)?, of(255)?],
        Counting::Arcs => [of(16)?, of(255)?],
    })
}

/// The most blocks that sets can have.
fn most_blocks(graph: &Graph) -> u64 {
    graph.manifest().arcs / if graph.directed() { 1 } else { 2 } + 1
}

/// Blocks of the window: at the least, a batch fits it.
fn blocks(graph: &Graph, counting: Counting, decision: &Decision) -> u64 {
    let (external, room) = (decision.is_external(), decision.room);
    let [least, entries] =
        [0, room].map(|room| Neighborhoods::Smaller.entries(graph, external, room));
    let bytes = |entries| Neighborhoods::bytes(graph, entries);
    let left = room.saturating_sub(bytes(entries) - bytes(least));
    // Half as many vertices fit as blocks: more than all of both is of no use.
    let useful = most_blocks(graph).max(2 * graph.connected() + 2).max(entries);
    (least + left / SetWindow::block_bytes(counting.reciprocal())).min(useful)
}

/// A run of `algorithm` that counts, and makes its results of what was found.
pub fn count<'a>(
    algorithm: &'static str,
    job: Job<'a>,
    counting: Counting,
    results: impl FnOnce(&Session, Found, OpenNeighborhoods) -> Result<Outcome> + 'a,
) -> Result<Prepared<'a>> {
    let Job { graph, config, .. } = job;
    let mut planner = plan_32_bits(algorithm, job)?;
    let (vertices, widths) = (graph.connected(), widths(graph, counting)?);
    let sets = planner.declare(Neighborhoods::Smaller)?;
    let window = sets.entries(graph, true, 0) * SetWindow::block_bytes(counting.reciprocal());
    planner.memory("window of sets", [window + 4; 2]);
    // The lists stream past once for each window.
    planner.wants_room();
    let counter = Counter::bytes(counting, vertices, sets.longest(graph));
    planner.memory("tallies", [counter * config.threads as u64; 2]);
    if counting.by_vertex() {
        let counts: u64 = widths.iter().map(|widths| widths.bytes()).sum();
        planner.memory("counts, degrees", [counts; 2]);
        // On scratch by way of what the window leaves.
        planner.memory("result", [vertices * 8 + Block::<f64>::bytes(1 << 16), 0]);
        planner.scratch(Appender::<f64>::disk_bytes(vertices));
        planner.traffic_external([0, Appender::<f64>::disk_bytes(vertices)]);
    }
    planner.method(
        "sets of smaller neighbors of a window of vertices in memory, those of all others stream \
         past",
    );
    // The vertices of a window are read once, those that stream past once for each window, from its
    // end on.
    planner.scans(Some(0));
    planner.traffic(move |decision, _| {
        let blocks = blocks(graph, counting, decision);
        // Where most neighbors are hubs, two of them or more share a block.
        let all = most_blocks(graph) / if graph.has_hubs() { 2 } else { 1 };
        let windows = (all as f64 / blocks as f64).max(1.0);
        let whole = windows.ceil();
        let streams = whole - whole * (whole - 1.0) / (2.0 * windows);
        Ok([(sets.edge_bytes(graph) as f64 * streams) as u64, 0])
    });
    let decided = planner.decide()?;
    let blocks = blocks(graph, counting, &decided.decision);
    Ok(decided.prepared(move |session| {
        let mut lists = sets.open(session)?;
        session.loaded();
        let found = find(session, &mut lists, counting, widths, blocks)?;
        results(session, found, lists)
    }))
}

/// Counts, window by window.
fn find(
    session: &Session,
    lists: &mut OpenNeighborhoods,
    counting: Counting,
    [counts, degrees]: [Widths; 2],
    blocks: u64,
) -> Result<Found> {
    let (vertices, huge) = (session.graph.connected(), session.config.huge_pages);
    let longest = Neighborhoods::Smaller.longest(session.graph);
    let degrees = (degrees != Widths::NONE).then(|| CompactCounters::new(degrees, huge));
    let mut run = Run {
        session,
        lists,
        tallies: PerWorker::new(&session.workers, || Counter::new(counting, vertices, longest)),
        window: SetWindow::new(blocks, counting.reciprocal(), huge)?,
        counts: CompactCounters::new(counts, huge)?,
        degrees: degrees.transpose()?,
    };
    let (mut first, mut windows) = (0, 0);
    while first < vertices {
        let mark = session.mark();
        run.fill(first)?;
        run.stream()?;
        let len = run.window.len as u64;
        assert!(len > 0, "a window has room for the largest set");
        session.end_iteration(&mark, len, ReadMode::Full);
        (first, windows) = (first + len, windows + 1);
    }
    let Run { mut tallies, counts, degrees, .. } = run;
    let triangles = tallies.iter_mut().map(|counter| counter.finish(&counts)).sum();
    Ok(Found { triangles, windows, counts, degrees })
}

/// A run.
struct Run<'s> {
    session: &'s Session<'s>,
    lists: &'s mut OpenNeighborhoods,
    tallies: PerWorker<Counter>,
    window: SetWindow,
    counts: CompactCounters,
    degrees: Option<CompactCounters>,
}

impl Run<'_> {
    /// Fills the window with the sets of vertices from `first` on.
    fn fill(&mut self, first: u64) -> Result<()> {
        (self.window.first, self.window.len) = (first, 0);
        while let Some(batch) = self.lists.load(self.session, self.window.end(), None)? {
            let blocks: Vec<_> = batch.clone().map(|_| AtomicU32::new(0)).collect();
            self.each(batch.clone(), |counter, vertex| {
                let count = counter.set.count(&self.lists.batch, vertex) as u32;
                blocks[(vertex - batch.start) as usize].store(count, Relaxed);
            })?;
            if !self.window.extend(&blocks) {
                break;
            }
            self.each(batch, |counter, vertex| {
                counter.set.collect(&self.lists.batch, vertex);
                self.window.put(vertex, &counter.set);
            })?;
        }
        Ok(())
    }

    /// Lets the vertices of the window, whose sets it has, and all after it stream past it.
    fn stream(&mut self) -> Result<()> {
        let mut next = self.window.end();
        self.each(self.window.first..next, |counter, vertex| {
            counter.set.take(&self.window, vertex);
            self.close(counter, vertex);
        })?;
        while let Some(batch) = self.lists.load(self.session, next, None)? {
            next = batch.end;
            self.each(batch, |counter, vertex| {
                counter.set.collect(&self.lists.batch, vertex);
                self.close(counter, vertex);
            })?;
        }
        Ok(())
    }

    /// A vertex with this set streams past the window.
    fn close(&self, counter: &mut Counter, vertex: u64) {
        counter.close(&self.window, vertex, &self.counts);
        if let (0, Some(degrees)) = (self.window.first, &self.degrees) {
            counter.set.ids.iter().for_each(|&id| degrees.add(u64::from(id), 1));
            degrees.add(vertex, counter.set.ids.len() as u64);
        }
    }

    /// Hands these vertices to `work`, on all workers.
    fn each(&self, vertices: Range<u64>, work: impl Fn(&mut Counter, u64) + Sync) -> Result<()> {
        OpenNeighborhoods::each(self.session, &self.tallies, vertices, work)
    }
}

impl Algorithm for Triangles {
    fn name(&self) -> &'static str {
        "triangles"
    }

    fn has_columns(&self) -> bool {
        false
    }

    fn declare<'a>(&'a self, job: Job<'a>) -> Result<Prepared<'a>> {
        count(self.name(), job, Counting::Total, |session, found, _| {
            Ok(session.results(found.windows).figure("triangles", found.triangles).outcome())
        })
    }
}
