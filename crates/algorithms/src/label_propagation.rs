//! Communities by label propagation, as LDBC Graphalytics defines it (CDLP, version 1.0.5, section
//! 2.3.5; after Raghavan, Albert and Kumara, 2007, made deterministic): every vertex begins with
//! its own original id as label; in each round all take, at once, the label that is most frequent
//! among their neighbors, of equally frequent ones the smallest.
//!
//! In a directed graph a neighbor counts once for each edge, whatever its direction: twice where
//! edges lead both ways. Repeated edges count each time, a self-loop is an edge to oneself. A round
//! that changes nothing is the last.
//!
//! Labels are kept as ranks in the order of original ids, 4 bytes for each vertex; lists pass by in
//! batches. A round's new labels are in an array of their own or, fully externally, wait on scratch
//! until the round is over.

use std::{
    ops::Range,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU32, AtomicU64, Ordering::Relaxed},
    },
};

use outercore_engine::{
    Column, Figure, HugePages, HugeVec, Isolated, Meaning, MemoryModel, Outcome, Plan, Result,
    RunConfig, RunProgress,
    frontier::Frontier,
    plan::{Needs, PlanItem},
    session::Session,
    state::{Appender, Scratch},
};
use outercore_graph::Graph;

use crate::{
    algorithm::Algorithm,
    finish::{Done, Summary, fits_32_bits, open, outcome},
    lists::{self, Kept, Lists},
};

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

/// Bytes of a batch while rows are resident.
const BATCH: u64 = 8 << 20;
/// Places of a worker's table; longer lists are sorted.
const TABLE: usize = 1 << 16;
/// Lists up to this length are sorted, too: that is faster.
const SHORT: usize = 16;
/// The least ranks of a window, when labels are counted and named window by window.
const WINDOW: u64 = 1 << 18;
/// A free place of the table.
const FREE: u64 = u64::MAX;

/// Finds the most frequent of some labels.
struct Tally {
    labels: Vec<u32>,
    /// Labels, above their counts.
    table: Vec<u64>,
}

impl Tally {
    fn bytes(longest: u64) -> u64 {
        longest * 4 + TABLE as u64 * 8
    }

    fn new(longest: u64) -> Self {
        Self { labels: Vec::with_capacity(longest as usize), table: vec![FREE; TABLE] }
    }

    /// The most frequent of `labels`, of equally frequent ones the smallest; there is at least one.
    fn winner(&mut self) -> u32 {
        let majority = self.candidate();
        let votes = self.labels.iter().filter(|&&label| label == majority).count();
        if 2 * votes > self.labels.len() {
            majority
        } else if self.labels.len() <= SHORT || self.labels.len() > TABLE / 2 {
            self.by_sorting()
        } else {
            self.by_counting()
        }
    }

    /// The label that more than half have, if there is one (Boyer and Moore, 1981); else any.
    fn candidate(&self) -> u32 {
        let (mut candidate, mut lead) = (self.labels[0], 0u32);
        for &label in &self.labels {
            if lead == 0 {
                candidate = label;
            }
            lead = if label == candidate { lead + 1 } else { lead - 1 };
        }
        candidate
    }

    fn by_sorting(&mut self) -> u32 {
        self.labels.sort_unstable();
        let runs = self.labels.chunk_by(|a, b| a == b);
        // The first of the longest: labels ascend.
        runs.fold((0, 0), |best, run| if run.len() > best.1 { (run[0], run.len()) } else { best }).0
    }

    fn by_counting(&mut self) -> u32 {
        let places = (2 * self.labels.len()).next_power_of_two();
        let table = &mut self.table[..places];
        table.fill(FREE);
        let (mut best, mut most) = (u32::MAX, 0);
        for &label in &self.labels {
            let mut at = (label.wrapping_mul(0x9e37_79b1) >> 7) as usize & (places - 1);
            while table[at] != FREE && (table[at] >> 32) as u32 != label {
                at = (at + 1) & (places - 1);
            }
            let count = if table[at] == FREE { 1 } else { table[at] as u32 + 1 };
            table[at] = u64::from(label) << 32 | u64::from(count);
            if count > most || (count == most && label < best) {
                (best, most) = (label, count);
            }
        }
        best
    }
}

impl LabelPropagation {
    /// The plan, the entries of a batch, and the bytes that may cache edges.
    fn prepare(&self, graph: &Graph, config: &RunConfig) -> Result<(Plan, u64, u64)> {
        fits_32_bits(graph, self.name())?;
        let (longest, vertices) = (lists::longest(graph, Kept::All), graph.connected());
        let entries = |model| {
            lists::batch_entries(
                graph,
                Kept::All,
                if model == MemoryModel::FullyExternal { 0 } else { BATCH },
            )
        };
        let items = |model| {
            vec![
                PlanItem {
                    name: "labels",
                    bytes: New::labels_bytes(vertices, entries(model), model),
                },
                PlanItem { name: "row index", bytes: lists::index_bytes(graph, model) },
                PlanItem {
                    name: "batch of lists",
                    bytes: lists::batch_bytes(graph, entries(model)),
                },
                PlanItem { name: "tallies", bytes: Tally::bytes(longest) * config.threads as u64 },
            ]
        };
        let (mut plan, room) = Needs {
            algorithm: self.name(),
            method: "synchronous rounds over all lists".to_owned(),
            resident: items(MemoryModel::SemiExternal),
            external: Some(items(MemoryModel::FullyExternal)),
            edges: lists::edge_sections(graph, self.name())?,
            scans: Some(self.iterations),
            ..Needs::default()
        }
        .plan(graph, config)?;
        if plan.memory_model == MemoryModel::FullyExternal {
            plan.disk_bytes = Appender::<u32>::disk_bytes(vertices);
        }
        let entries = entries(plan.memory_model);
        Ok((plan, entries, room))
    }

    /// Runs the rounds; returns how many there were.
    fn rounds(
        &self,
        session: &Session,
        lists: &mut Lists,
        labels: &mut HugeVec<AtomicU32>,
        new: &mut New,
    ) -> Result<u64> {
        let longest = lists::longest(session.graph, Kept::All);
        let tallies: Vec<Mutex<Tally>> =
            (0..session.workers.count()).map(|_| Mutex::new(Tally::new(longest))).collect();
        for round in 0..self.iterations {
            let mark = session.mark();
            let changed = AtomicU64::new(0);
            let mut first = 0;
            loop {
                let batch = lists.load(first)?;
                if batch.is_empty() {
                    break;
                }
                let (len, lists) = (batch.end - batch.start, &*lists);
                let (old, slots) = (&**labels, new.slots(batch.clone()));
                session.workers.over(
                    len,
                    (len / (16 * session.workers.count() as u64)).clamp(1, 1024),
                    |index| index,
                    |index, part| {
                        let mut tally =
                            tallies[*index].lock().unwrap_or_else(PoisonError::into_inner);
                        let mut moved = 0;
                        for vertex in batch.start + part.start..batch.start + part.end {
                            tally.labels.clear();
                            let neighbors =
                                lists.batch().iter().flat_map(|list| list.neighbors(vertex));
                            tally.labels.extend(
                                neighbors.map(|neighbor| old[neighbor as usize].load(Relaxed)),
                            );
                            let before = old[vertex as usize].load(Relaxed);
                            // Without loops, which may have been all its edges, a vertex may have
                            // no neighbors.
                            let label =
                                if tally.labels.is_empty() { before } else { tally.winner() };
                            moved += u64::from(label != before);
                            slots[(vertex - batch.start) as usize].store(label, Relaxed);
                        }
                        changed.fetch_add(moved, Relaxed);
                    },
                );
                session.check()?;
                new.end_batch(len)?;
                first = batch.end;
            }
            session.end_iteration(&mark, changed.load(Relaxed), "full");
            new.end_round(labels)?;
            if changed.load(Relaxed) == 0 {
                return Ok(round + 1);
            }
        }
        Ok(self.iterations)
    }
}

/// The new labels of a round.
#[allow(clippy::large_enum_variant)]
enum New {
    /// All of them.
    Array(HugeVec<AtomicU32>),
    /// Those of a batch, and the others on scratch.
    Scratch(HugeVec<AtomicU32>, Appender<u32>),
}

impl New {
    /// Room for them, where batches have so many entries.
    fn room(session: &Session, entries: u64, model: MemoryModel) -> Result<Self> {
        let huge = session.config.huge_pages;
        if model == MemoryModel::FullyExternal {
            return Ok(New::Scratch(
                HugeVec::zeroed(lists::batch_vertices(entries) as usize, huge)?,
                Appender::new(&Scratch::of(session), session.graph.connected())?,
            ));
        }
        Ok(New::Array(HugeVec::zeroed(session.graph.connected() as usize, huge)?))
    }

    /// Bytes of all labels, old and new, and of what names them in the end.
    fn labels_bytes(vertices: u64, entries: u64, model: MemoryModel) -> u64 {
        if model == MemoryModel::FullyExternal {
            let scratch = lists::batch_vertices(entries) * 4 + Appender::<u32>::bytes(vertices);
            vertices * 4 + scratch.max(window(vertices, model) * 4 + Frontier::bytes(vertices))
        } else {
            vertices * 8
        }
    }

    /// Where the labels of a batch go.
    fn slots(&self, batch: Range<u64>) -> &[AtomicU32] {
        match self {
            New::Array(all) => &all[batch.start as usize..batch.end as usize],
            New::Scratch(some, _) => &some[..(batch.end - batch.start) as usize],
        }
    }

    fn end_batch(&mut self, len: u64) -> Result<()> {
        match self {
            New::Array(_) => Ok(()),
            New::Scratch(some, scratch) => {
                some[..len as usize].iter().try_for_each(|label| scratch.push(label.load(Relaxed)))
            }
        }
    }

    /// The new labels become the old ones.
    fn end_round(&mut self, labels: &mut HugeVec<AtomicU32>) -> Result<()> {
        match self {
            New::Array(all) => std::mem::swap(all, labels),
            New::Scratch(_, scratch) => scratch.drain(|first, new| {
                labels[first as usize..]
                    .iter_mut()
                    .zip(new)
                    .for_each(|(label, &new)| *label.get_mut() = new);
            })?,
        }
        Ok(())
    }

    /// Working memory for [`window`] ranks, when all rounds are over.
    fn into_window(self, vertices: u64) -> Result<HugeVec<AtomicU32>> {
        match self {
            New::Array(all) => Ok(all),
            New::Scratch(some, scratch) => {
                drop((some, scratch));
                Ok(HugeVec::zeroed(
                    window(vertices, MemoryModel::FullyExternal) as usize,
                    HugePages::Off,
                )?)
            }
        }
    }
}

/// How many ranks are counted and named at once: all, or an eighth.
fn window(vertices: u64, model: MemoryModel) -> u64 {
    if model == MemoryModel::FullyExternal {
        (vertices / 8).max(WINDOW).min(vertices)
    } else {
        vertices
    }
}

/// Hands every connected vertex to `visit` in the order of original ids, with its rank among them.
fn by_original_id(graph: &Graph, visit: &mut dyn FnMut(u32, u64)) -> Result<()> {
    let mut rank = 0;
    let connected = graph.connected();
    graph.for_each_key(1 << 14, &mut |_, vertices| {
        for &vertex in vertices.iter().filter(|&&vertex| vertex < connected) {
            visit(rank, vertex);
            rank += 1;
        }
        Ok(())
    })?;
    Ok(())
}

impl Algorithm for LabelPropagation {
    fn name(&self) -> &'static str {
        "label-propagation"
    }

    fn plan(&self, graph: &Graph, config: &RunConfig) -> Result<Plan> {
        Ok(self.prepare(graph, config)?.0)
    }

    fn run(
        &self,
        graph: &Graph,
        config: &RunConfig,
        progress: &dyn RunProgress,
    ) -> Result<Outcome> {
        let (plan, entries, cache) = self.prepare(graph, config)?;
        let (session, sections) =
            open(graph, config, progress, &lists::sections(graph, self.name())?)?;
        let mut lists = Lists::open(
            &session,
            &mut sections.into_iter(),
            plan.memory_model,
            Kept::All,
            entries,
            cache,
        )?;
        let mut labels: HugeVec<AtomicU32> =
            HugeVec::zeroed(graph.connected() as usize, config.huge_pages)?;
        let mut new = New::room(&session, entries, plan.memory_model)?;
        by_original_id(graph, &mut |rank, vertex| labels[vertex as usize].store(rank, Relaxed))?;
        let load_seconds = session.seconds();
        let iterations = self.rounds(&session, &mut lists, &mut labels, &mut new)?;
        let mut window = new.into_window(graph.connected())?;
        let (communities, largest) = sizes(&labels, &mut window);
        let isolated = graph.vertices() - graph.connected();
        name(&labels, &window, |visit| by_original_id(graph, visit))?;
        let mut summary = Summary::new();
        summary.insert("communities", Figure::Integer(communities + isolated));
        summary.insert("largest", Figure::Integer(largest.max(u64::from(isolated > 0))));
        let column = Column {
            name: "label",
            values: labels.into_plain().into(),
            isolated: Isolated::Own,
            meaning: Meaning::Vertex,
            exceptions: Vec::new(),
        };
        Ok(outcome(
            &Done { session: &session, plan: &plan, iterations, load_seconds },
            summary,
            vec![column],
            false,
        ))
    }
}

/// How many labels there are, and how many have the most frequent one; `counts` is working memory
/// for a window of ranks.
fn sizes(labels: &[AtomicU32], counts: &mut [AtomicU32]) -> (u64, u64) {
    let (mut communities, mut largest) = (0, 0);
    for first in (0..labels.len()).step_by(counts.len().max(1)) {
        counts.iter_mut().for_each(|count| *count.get_mut() = 0);
        for label in labels {
            if let Some(count) =
                (label.load(Relaxed) as usize).checked_sub(first).and_then(|at| counts.get(at))
            {
                count.store(count.load(Relaxed) + 1, Relaxed);
            }
        }
        let sizes = || counts.iter().map(|count| u64::from(count.load(Relaxed)));
        communities += sizes().filter(|&size| size > 0).count() as u64;
        largest = largest.max(sizes().max().unwrap_or(0));
    }
    (communities, largest)
}

/// Makes internal ids of labels, which are ranks; `vertices` is working memory for those of a
/// window of ranks, and `each` shows all ranks with their vertices.
fn name(
    labels: &[AtomicU32],
    vertices: &[AtomicU32],
    each: impl Fn(&mut dyn FnMut(u32, u64)) -> Result<()>,
) -> Result<()> {
    let several = vertices.len() < labels.len();
    // Who has its name must not get another one of a later window.
    let named = Frontier::new(if several { labels.len() as u64 } else { 0 }, HugePages::Off)?;
    for first in (0..labels.len()).step_by(vertices.len().max(1)) {
        each(&mut |rank, vertex| {
            if let Some(slot) = (rank as usize).checked_sub(first).and_then(|at| vertices.get(at)) {
                slot.store(vertex as u32, Relaxed);
            }
        })?;
        for (label, at) in labels.iter().zip(0..) {
            let slot =
                (label.load(Relaxed) as usize).checked_sub(first).and_then(|at| vertices.get(at));
            if let Some(slot) = slot
                && (!several || named.insert(at))
            {
                label.store(slot.load(Relaxed), Relaxed);
            }
        }
    }
    Ok(())
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
            let mut window: Vec<AtomicU32> = (0..size).map(|_| AtomicU32::new(9)).collect();
            assert_eq!(sizes(&labels, &mut window), (3, 2), "windows of {size}");
            let each = |visit: &mut dyn FnMut(u32, u64)| {
                vertices.iter().zip(0..).for_each(|(&vertex, rank)| visit(rank, u64::from(vertex)));
                Ok(())
            };
            name(&labels, &window, each).unwrap();
            assert_eq!(labels.map(AtomicU32::into_inner), [2, 3, 3, 4, 2], "windows of {size}");
        }
    }

    /// Every way to find the winner finds the same.
    #[test]
    fn winners() {
        let mut state = 1u32;
        for length in 1..300 {
            let mut tally = Tally::new(300);
            tally.labels = (0..length)
                .map(|_| {
                    state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    (state >> 16) % (1 + length / 3) * 65_536
                })
                .collect();
            let all = tally.labels.clone();
            let votes = |label: u32| all.iter().filter(|&&other| other == label).count();
            let expected = all
                .iter()
                .copied()
                .max_by_key(|&label| (votes(label), std::cmp::Reverse(label)))
                .unwrap();
            let counted = tally.by_counting();
            assert_eq!(
                (tally.winner(), counted, tally.by_sorting()),
                (expected, expected, expected),
                "{length} labels"
            );
        }
    }
}
