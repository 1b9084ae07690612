//! Communities by label propagation, as LDBC Graphalytics defines it (CDLP, version 1.0.5, section
//! 2.3.5; after Raghavan, Albert and Kumara, 2007, made deterministic): every vertex begins with
//! its own original id as label; in each round all take, at once, the label that is most frequent
//! among their neighbors, of equally frequent ones the smallest.
//!
//! In a directed graph a neighbor counts once for each edge, whatever its direction: twice where
//! edges lead both ways. Repeated edges count each time, a self-loop is an edge to oneself. A round
//! that changes nothing is the last.
//!
//! A vertex may take another label only if a neighbor has just got one: once some vertices keep
//! theirs, the lists of those with a new label say who is due in the next round, and no other list
//! is read.
//!
//! Labels are kept as ranks in the order of original ids, 4 bytes for each vertex; lists pass by in
//! batches. A round's new labels are in an array of their own until the round is over: in memory,
//! or, while values are on storage, on scratch.

use outercore_engine::{
    Appender, Block, HugePages, HugeVec, Neighborhoods, OpenNeighborhoods, PerWorker, Tally,
};

use crate::common::*;

/// Communities after some rounds.
#[derive(Clone, Debug)]
pub struct LabelPropagation {
    /// At most so many rounds; fewer when a round changes nothing.
    pub iterations: u64,
}

impl Default for LabelPropagation {
    fn default() -> Self {
        Self { iterations: 10 }
    }
}

/// The least ranks of a window, when labels are counted and named window by window.
const WINDOW: u64 = 1 << 18;
/// A round tells who is due in the next one if at most so many eighths of the vertices have changed
/// in the last one: else nearly all are.
const TELLING: u64 = 6;

/// The labels of all vertices, and those of a round on their way.
struct LabelRounds<'s> {
    session: &'s Session<'s>,
    lists: OpenNeighborhoods,
    labels: HugeVec<AtomicU32>,
    /// The new labels of a batch, and of the batches before it.
    batch: HugeVec<AtomicU32>,
    new: Appender<u32>,
}

impl<'s> LabelRounds<'s> {
    fn new(session: &'s Session<'s>) -> Result<Self> {
        let (graph, huge) = (session.graph, session.config.huge_pages);
        let lists = Neighborhoods::All.open(session)?;
        let labels: HugeVec<AtomicU32> = HugeVec::zeroed(graph.connected() as usize, huge)?;
        by_original_id(graph, &mut |rank, vertex| labels[vertex as usize].store(rank, Relaxed))?;
        session.loaded();
        let batch = Neighborhoods::All.most_vertices(graph, session.decision.is_external());
        let batch = HugeVec::zeroed(batch as usize, huge)?;
        Ok(Self { session, batch, new: Appender::of(session)?, lists, labels })
    }

    /// Runs at most so many rounds; returns how many there were.
    fn run(&mut self, most: u64) -> Result<u64> {
        let longest = Neighborhoods::All.longest(self.session.graph);
        let mut tallies = PerWorker::new(&self.session.workers, || (Tally::new(longest), 0));
        let (mut due, mut next) = (self.session.no_vertices()?, self.session.no_vertices()?);
        // Whether the last round has told who is due, and whether this one tells.
        let (mut told, mut tells) = (false, false);
        for round in 1..=most {
            let mark = self.session.mark();
            self.round(&tallies, Some(&due).filter(|_| told), Some(&next).filter(|_| tells))?;
            let changed = tallies.iter_mut().map(|(_, changed)| std::mem::take(changed)).sum();
            self.session.end_iteration(&mark, changed, ReadMode::Full);
            self.new.drain(|first, new| {
                let old = self.labels[first as usize..].iter_mut();
                old.zip(new).for_each(|(label, &new)| *label.get_mut() = new);
            })?;
            if changed == 0 {
                return Ok(round);
            }
            std::mem::swap(&mut due, &mut next);
            next.clear();
            (told, tells) = (tells, changed <= self.labels.len() as u64 / 8 * TELLING);
        }
        Ok(most)
    }

    /// Finds the new labels of a round. Vertices that are not `due` keep theirs. Those that may
    /// change in the round after it come into `next`.
    fn round(
        &mut self,
        tallies: &PerWorker<(Tally, u64)>,
        due: Option<&Frontier>,
        next: Option<&Frontier>,
    ) -> Result<()> {
        let mut first = 0;
        while let Some(vertices) = self.lists.load(self.session, first, due)? {
            let (old, new, lists) = (&*self.labels, &*self.batch, &self.lists.batch);
            let visit = |(tally, changed): &mut (Tally, u64), vertex: u64| {
                let before = old[vertex as usize].load(Relaxed);
                tally.labels.clear();
                if due.is_none_or(|due| due.contains(vertex)) {
                    for lists in lists {
                        let label = |neighbor: u32| old[neighbor as usize].load(Relaxed);
                        tally.labels.extend(lists.neighbors(vertex).map(label));
                    }
                }
                // Without loops, which may have been all its edges, a vertex may have no neighbors.
                let label = if tally.labels.is_empty() { before } else { tally.winner() };
                new[(vertex - first) as usize].store(label, Relaxed);
                if label == before {
                    return;
                }
                *changed += 1;
                if let Some(next) = next {
                    let all = lists.iter().flat_map(|lists| lists.neighbors(vertex));
                    all.for_each(|neighbor| _ = next.insert(neighbor.into()));
                }
            };
            OpenNeighborhoods::each(self.session, tallies, vertices.clone(), visit)?;
            first = vertices.end;
            let mut batch = self.batch[..vertices.count()].iter();
            batch.try_for_each(|label| self.new.push(label.load(Relaxed)))?;
        }
        Ok(())
    }

    /// Makes vertices of labels: the results of so many rounds. As many ranks are counted and named
    /// at once as what else the rounds had in memory holds.
    fn finish(self, iterations: u64) -> Result<Outcome> {
        let Self { session, mut lists, labels, batch, new } = self;
        let (graph, vertices) = (session.graph, labels.len() as u64);
        let held = (lists.bytes(session)? / 4).max(least_window(vertices)).min(vertices);
        drop((lists, batch, new));
        let window: HugeVec<AtomicU32> = HugeVec::zeroed(held as usize, HugePages::Off)?;
        let found = name(&labels, &window, |visit| by_original_id(graph, visit))?;
        let labels = labels.into_plain();
        Ok(groups((session, session.graph), iterations, ["communities", "label"], found, labels))
    }
}

/// The least ranks that are counted and named at once.
fn least_window(vertices: u64) -> u64 {
    (vertices / 8).max(WINDOW).min(vertices)
}

/// Hands every connected vertex to `visit` in the order of original ids, with its rank among them.
fn by_original_id(graph: &Graph, visit: &mut dyn FnMut(u32, u64)) -> Result<()> {
    let mut ranks = 0..;
    graph.for_each_key(1 << 14, &mut |_, vertices| {
        let connected = vertices.iter().filter(|&&vertex| vertex < graph.connected());
        connected.zip(&mut ranks).for_each(|(&vertex, rank)| visit(rank, vertex));
        Ok(())
    })
}

impl Algorithm for LabelPropagation {
    fn name(&self) -> &'static str {
        "label-propagation"
    }

    fn declare<'a>(&'a self, job: Job<'a>) -> Result<Prepared<'a>> {
        let Job { graph, config, .. } = job;
        let (mut planner, vertices) = (plan_32_bits(self.name(), job)?, graph.connected());
        // Old and new ones; while new ones are on scratch, what names them in the end, too.
        let batch = |external| Neighborhoods::All.most_vertices(graph, external) * 4;
        let naming = least_window(vertices) * 4 + Frontier::bytes(vertices);
        let naming = naming.max(batch(true) + Appender::<u32>::bytes(vertices));
        let resident = vertices * 8 + batch(false) + Block::<u32>::bytes(1 << 16);
        planner.memory("labels", [resident, vertices * 4 + naming]);
        planner.memory("vertices that are due", [2 * Frontier::bytes(vertices); 2]);
        let lists = planner.declare(Neighborhoods::All)?;
        let tallies = Tally::bytes(lists.longest(graph)) * config.threads as u64;
        planner.memory("tallies", [tallies; 2]);
        let round = Appender::<u32>::disk_bytes(vertices);
        planner.scratch(round);
        // Where vertices have many neighbors, few labels change after some rounds.
        let most = if graph.mean_degree() > 20.0 { graph.steps() } else { u64::MAX };
        planner.scans(Some(self.iterations.min(most)));
        planner.traffic_external([round * self.iterations; 2]);
        // Original ids give labels their order, and their names in the end.
        planner.reads(2 * vertices * u64::from(graph.manifest().neighbor_bytes));
        planner.method("synchronous rounds over the lists of vertices that may change");
        Ok(planner.decide()?.prepared(move |session| {
            let mut rounds = LabelRounds::new(session)?;
            let iterations = rounds.run(self.iterations)?;
            rounds.finish(iterations)
        }))
    }
}

/// Makes internal ids of labels, which are ranks; returns how many labels there are, and how many
/// vertices have the most frequent one. `window` is working memory for a window of ranks: their
/// counts, then their vertices; `each` shows all ranks with their vertices.
fn name(
    labels: &[AtomicU32],
    window: &[AtomicU32],
    each: impl Fn(&mut dyn FnMut(u32, u64)) -> Result<()>,
) -> Result<[u64; 2]> {
    // A vertex that has its name must not get another one of a later window.
    let named = Frontier::new(labels.len() as u64, HugePages::Off)?;
    let (mut communities, mut largest) = (0, 0);
    for first in (0..labels.len()).step_by(window.len().max(1)) {
        let slot = |rank: u32| (rank as usize).checked_sub(first).and_then(|at| window.get(at));
        let slots = || {
            let labels = labels.iter().zip(0..);
            let new = labels.filter(|&(_, vertex)| !named.contains(vertex));
            new.filter_map(|(label, vertex)| Some((label, vertex, slot(label.load(Relaxed))?)))
        };
        window.iter().for_each(|count| count.store(0, Relaxed));
        slots().for_each(|(.., count)| count.store(count.load(Relaxed) + 1, Relaxed));
        for size in window.iter().map(|count| u64::from(count.load(Relaxed))) {
            communities += u64::from(size > 0);
            largest = size.max(largest);
        }
        each(&mut |rank, vertex| {
            if let Some(slot) = slot(rank) {
                slot.store(vertex as u32, Relaxed);
            }
        })?;
        for (label, vertex, name) in slots() {
            label.store(name.load(Relaxed), Relaxed);
            named.insert(vertex);
        }
    }
    Ok([communities, largest])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A window of any size counts and names alike, and no vertex is named twice.
    #[test]
    fn windows() {
        let vertices = [3u32, 0, 4, 1, 2];
        for size in 1..=5 {
            let labels = [4u32, 0, 0, 2, 4].map(AtomicU32::new);
            let window: Vec<AtomicU32> = (0..size).map(|_| AtomicU32::new(9)).collect();
            let each = |visit: &mut dyn FnMut(u32, u64)| {
                vertices.iter().zip(0..).for_each(|(&vertex, rank)| visit(rank, u64::from(vertex)));
                Ok(())
            };
            assert_eq!(name(&labels, &window, each).unwrap(), [3, 2], "windows of {size}");
            assert_eq!(labels.map(AtomicU32::into_inner), [2, 3, 3, 4, 2], "windows of {size}");
        }
    }
}
