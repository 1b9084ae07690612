//! Betweenness with what a vertex keeps in memory and lists on storage (Brandes, 2001; levels are
//! gathered or sent, as in Beamer, Asanović and Patterson, SC'12).
//!
//! Some sources are searched at once, each in a lane of its own. Forwards, a level's counts of
//! paths are gathered by those who are not reached yet or, when few have some, sent. Backwards,
//! each level gathers from the one after it. Whoever is done backwards has no more use for its
//! count: (1 + dependency) / paths, which the level before gathers, takes its place.
//!
//! Memory for each vertex: its score and, for each lane, a count and a level. A level is a byte;
//! what is deeper is searched source by source, with 32 bits.
//!
//! Sums are made in the order of the lists, whichever worker makes them, gathered or sent.

use std::{
    ops::Range,
    sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed},
};

use outercore_engine::{
    HugeVec, Plan, Pod, Result, RunConfig,
    edges::{io_iterator::IoIterator, list::List, rows::Rows},
    error::all,
    plan::Needs,
    plan::PlanItem,
    session::{OpenSection, Session},
};
use outercore_graph::Graph;

use crate::{intersect::prefetch, lists};

/// Parts of the vertices, with about equally many edges, for each worker.
const PARTS: u64 = 8;
/// Sending is for one worker, and at random: it must take so many times fewer edges than there are.
const SENDING: u64 = 16;
/// How many neighbors ahead what is kept of one is asked for.
const AHEAD: usize = 12;
/// Vertices of a part of a step without lists.
const STEP: u64 = 1 << 14;

/// How the levels of a vertex are kept, those of all lanes in one word. 0 is not reached, 1 the
/// source; all ones in a lane: it has no source.
trait Lanes: Sync {
    /// The word.
    type Word: Pod + Sync + Send;
    /// Bits of a lane.
    const BITS: u32;
    fn read(word: &Self::Word) -> u64;
    fn write(word: &Self::Word, levels: u64);
}

/// Eight lanes.
struct Eight;

/// Four lanes.
struct Four;

/// One lane, as deep as may be.
struct One;

impl Lanes for Eight {
    type Word = AtomicU64;
    const BITS: u32 = 8;

    #[inline(always)]
    fn read(word: &AtomicU64) -> u64 {
        word.load(Relaxed)
    }

    #[inline(always)]
    fn write(word: &AtomicU64, levels: u64) {
        word.store(levels, Relaxed);
    }
}

impl Lanes for Four {
    type Word = AtomicU32;
    const BITS: u32 = 8;

    #[inline(always)]
    fn read(word: &AtomicU32) -> u64 {
        // As if the lanes that are not there had no source.
        u64::from(word.load(Relaxed)) | !u64::from(u32::MAX)
    }

    #[inline(always)]
    fn write(word: &AtomicU32, levels: u64) {
        word.store(levels as u32, Relaxed);
    }
}

impl Lanes for One {
    type Word = AtomicU32;
    const BITS: u32 = 32;

    #[inline(always)]
    fn read(word: &AtomicU32) -> u64 {
        u64::from(word.load(Relaxed))
    }

    #[inline(always)]
    fn write(word: &AtomicU32, levels: u64) {
        word.store(levels as u32, Relaxed);
    }
}

/// The deepest level that a lane holds.
const fn deepest<K: Lanes>() -> u64 {
    (1 << K::BITS) - 2
}

/// The level of a lane.
#[inline(always)]
fn level<K: Lanes>(levels: u64, lane: usize) -> u64 {
    levels >> (K::BITS * lane as u32) & ((1 << K::BITS) - 1)
}

/// Whether one of the lanes is at `level`.
#[inline(always)]
fn has<K: Lanes>(levels: u64, level: u64) -> bool {
    const ONES: u64 = 0x0101_0101_0101_0101;
    if K::BITS == 32 {
        return levels == level;
    }
    // Whether a byte of the difference is zero.
    let other = levels ^ (ONES * level);
    other.wrapping_sub(ONES) & !other & (ONES << 7) != 0
}

/// How many sources are searched at once: the most that are not mostly idle and fit the budget.
/// With the plan and the bytes that may cache edges.
pub fn choose(graph: &Graph, config: &RunConfig, wanted: usize) -> Result<(usize, Plan, u64)> {
    for (lanes, least) in [(8, 5), (4, 2)] {
        if wanted >= least
            && let Ok((plan, room)) = plan(graph, config, lanes)
        {
            return Ok((lanes, plan, room));
        }
    }
    let (plan, room) = plan(graph, config, 1)?;
    Ok((1, plan, room))
}

fn plan(graph: &Graph, config: &RunConfig, lanes: usize) -> Result<(Plan, u64)> {
    let vertices = graph.connected();
    let levels = if lanes == 8 { 8 } else { 4 };
    let item = |name, each: usize| PlanItem { name, bytes: vertices * each as u64 };
    let index = Rows::index_bytes(graph) * lists::directions(graph).len() as u64;
    Needs {
        algorithm: "betweenness",
        method: format!(
            "batches of {lanes} sources: lists are read for all of them, level by level"
        ),
        resident: vec![
            item("paths", 8 * lanes),
            item("levels", levels),
            item("scores", 8),
            PlanItem { name: "row index", bytes: index },
        ],
        external: None,
        edges: lists::edge_sections(graph, "betweenness")?,
        scans: None,
        ..Needs::default()
    }
    .plan(graph, config)
}

/// A run's lists and scores.
pub struct Resident<'s> {
    session: &'s Session<'s>,
    /// Outgoing lists, then incoming ones where they are others.
    rows: Vec<Rows>,
    /// The bounds of parts of the vertices.
    bounds: Vec<u64>,
    /// The bits of the sums of dependencies.
    scores: HugeVec<AtomicU64>,
}

impl<'s> Resident<'s> {
    /// Of the sections that [`lists::sections`] names.
    pub fn open(session: &'s Session<'s>, sections: Vec<OpenSection>, cache: u64) -> Result<Self> {
        let directions = lists::directions(session.graph).len();
        let (mut sections, mut rows) = (sections.into_iter(), Vec::new());
        for _ in 0..directions {
            rows.push(Rows::load(
                session,
                sections.by_ref().take(3).collect(),
                cache / directions as u64,
            )?);
        }
        let (vertices, parts) = (session.graph.connected(), PARTS * session.workers.count() as u64);
        let mut bounds = vec![0];
        let index = &rows[0];
        for part in 1..parts {
            let edges = index.edges() / parts * part;
            let (mut low, mut high) = (0, vertices / 64);
            while low < high {
                let middle = low.midpoint(high);
                if index.group_offset(middle) < edges { low = middle + 1 } else { high = middle }
            }
            bounds.push(low * 64);
        }
        bounds.push(vertices);
        bounds.dedup();
        Ok(Self {
            session,
            rows,
            bounds,
            scores: HugeVec::zeroed(vertices as usize, session.config.huge_pages)?,
        })
    }

    /// The sums of the dependencies of all `sources`, which have edges, by vertex; and how many
    /// levels there were. `lanes` is what [`choose`] chose.
    pub fn scores(self, lanes: usize, sources: &[u64]) -> Result<(HugeVec<f64>, u64)> {
        let mut levels = 0;
        let done = match lanes {
            8 => Search::<Eight, 8>::over(&self, sources, &mut levels)?,
            4 => Search::<Four, 4>::over(&self, sources, &mut levels)?,
            _ => 0,
        };
        if done < sources.len() {
            Search::<One, 1>::over(&self, &sources[done..], &mut levels)?;
        }
        Ok((self.scores.into_plain().into_floats(), levels))
    }

    fn outgoing(&self) -> &Rows {
        &self.rows[0]
    }

    fn incoming(&self) -> &Rows {
        &self.rows[self.rows.len() - 1]
    }
}

/// Who was reached in a step.
#[derive(Clone, Copy, Default)]
struct Reached {
    vertices: u64,
    /// Their outgoing edges.
    edges: u64,
}

impl Reached {
    fn add(&mut self, more: Self) {
        self.vertices += more.vertices;
        self.edges += more.edges;
    }

    fn sum(parts: Vec<Self>) -> Self {
        let mut sum = Self::default();
        parts.into_iter().for_each(|part| sum.add(part));
        sum
    }
}

/// What is kept of up to `L` sources.
struct Search<'r, 's, K: Lanes, const L: usize> {
    run: &'r Resident<'s>,
    levels: HugeVec<K::Word>,
    /// The bits of counts of paths; backwards, of those who are done, of what is gathered.
    paths: HugeVec<AtomicU64>,
}

impl<'r, 's, K: Lanes, const L: usize> Search<'r, 's, K, L> {
    /// Adds the dependencies of all `sources`, or of those before one that is too deep; returns how
    /// many those are.
    fn over(run: &'r Resident<'s>, sources: &[u64], levels: &mut u64) -> Result<usize> {
        let (vertices, huge) =
            (run.session.graph.connected() as usize, run.session.config.huge_pages);
        let search = Self {
            run,
            levels: HugeVec::zeroed(vertices, huge)?,
            paths: HugeVec::zeroed(vertices * L, huge)?,
        };
        let mut done = 0;
        for batch in sources.chunks(L) {
            let Some(last) = search.forward(batch)? else { break };
            search.backward(last)?;
            *levels += 2 * last;
            done += batch.len();
        }
        Ok(done)
    }

    #[inline(always)]
    fn levels(&self, vertex: u64) -> u64 {
        K::read(&self.levels[vertex as usize])
    }

    #[inline(always)]
    fn path(&self, vertex: u64, lane: usize) -> f64 {
        f64::from_bits(self.paths[vertex as usize * L + lane].load(Relaxed))
    }

    #[inline(always)]
    fn set_path(&self, vertex: u64, lane: usize, path: f64) {
        self.paths[vertex as usize * L + lane].store(path.to_bits(), Relaxed);
    }

    /// Which of a group of 64 have a lane at `level`, as bits.
    fn members(&self, group: u64, level: u64) -> u64 {
        let words =
            &self.levels[group as usize * 64..(group as usize * 64 + 64).min(self.levels.len())];
        words
            .iter()
            .rev()
            .fold(0, |bits, word| bits << 1 | u64::from(has::<K>(K::read(word), level)))
    }

    /// Hands ranges of the vertices to `work`, on all workers.
    fn each(&self, work: impl Fn(Range<u64>) + Sync) {
        self.run.session.workers.over(
            self.levels.len() as u64,
            STEP,
            |_| (),
            |(), range| work(range),
        );
    }

    /// Puts the sources in their lanes.
    fn begin(&self, batch: &[u64]) {
        let idle = (batch.len()..L)
            .fold(0, |levels, lane| levels | ((1 << K::BITS) - 1) << (K::BITS * lane as u32));
        self.each(|range| range.for_each(|vertex| K::write(&self.levels[vertex as usize], idle)));
        for (lane, &source) in batch.iter().enumerate() {
            K::write(
                &self.levels[source as usize],
                self.levels(source) | 1 << (K::BITS * lane as u32),
            );
            self.set_path(source, lane, 1.0);
        }
    }

    /// Counts paths. Returns the last level; `None`: it is too deep.
    fn forward(&self, batch: &[u64]) -> Result<Option<u64>> {
        let (session, outgoing) = (self.run.session, self.run.outgoing());
        self.begin(batch);
        let mut sending: u64 =
            batch.iter().map(|&source| u64::from(outgoing.degree(source)) + 1).sum();
        for level in 1..=deepest::<K>() {
            let mark = session.mark();
            let few = sending < outgoing.edges() / SENDING;
            let reached = if few { self.send(level, sending)? } else { self.receive(level)? };
            sending = reached.edges + reached.vertices;
            session.end_iteration(&mark, reached.vertices, "on-demand");
            if sending == 0 {
                return Ok(Some(level));
            }
            if level == deepest::<K>() {
                break;
            }
        }
        Ok(None)
    }

    /// Those at level `sender` send their counts, when they have about so many `edges`.
    fn send(&self, sender: u64, edges: u64) -> Result<Reached> {
        let rows = self.run.outgoing();
        let reached = IoIterator::new(self.run.session, rows).ordered(true).for_each(
            edges,
            |group| self.members(group, sender),
            |_| Reached::default(),
            |reached, vertex, list| {
                let from = self.levels(vertex);
                for lane in (0..L).filter(|&lane| level::<K>(from, lane) == sender) {
                    let path = self.path(vertex, lane);
                    for neighbor in list.neighbors() {
                        let levels = self.levels(neighbor);
                        match level::<K>(levels, lane) {
                            0 => {
                                self.set_path(neighbor, lane, path);
                                K::write(
                                    &self.levels[neighbor as usize],
                                    levels | (sender + 1) << (K::BITS * lane as u32),
                                );
                                reached.add(Reached {
                                    vertices: 1,
                                    edges: u64::from(rows.degree(neighbor)),
                                });
                            }
                            other if other == sender + 1 => {
                                self.set_path(neighbor, lane, self.path(neighbor, lane) + path)
                            }
                            _ => {}
                        }
                    }
                }
            },
        )?;
        Ok(Reached::sum(reached))
    }

    /// Those who are not reached yet gather the counts of level `sender`.
    fn receive(&self, sender: u64) -> Result<Reached> {
        let rows = self.run.outgoing();
        self.gather(self.run.incoming(), (0, sender), |vertex, sums| {
            let mut levels = self.levels(vertex);
            let before = levels;
            for lane in (0..L).filter(|&lane| level::<K>(before, lane) == 0 && sums[lane] > 0.0) {
                self.set_path(vertex, lane, sums[lane]);
                levels |= (sender + 1) << (K::BITS * lane as u32);
            }
            K::write(&self.levels[vertex as usize], levels);
            if levels == before {
                Reached::default()
            } else {
                Reached { vertices: 1, edges: u64::from(rows.degree(vertex)) }
            }
        })
    }

    /// Gathers dependencies, from the level before the last one to that after the sources.
    fn backward(&self, last: u64) -> Result<()> {
        let (session, rows) = (self.run.session, self.run.outgoing());
        // Nobody depends on those at the end of every path.
        self.each(|range| {
            for vertex in range {
                let (levels, end) = (self.levels(vertex), rows.degree(vertex) == 0);
                for lane in (0..L).filter(|&lane| level::<K>(levels, lane) == last || end) {
                    self.set_path(vertex, lane, 1.0 / self.path(vertex, lane));
                }
            }
        });
        for receiver in (2..last).rev() {
            let mark = session.mark();
            let active = self.gather(rows, (receiver, receiver + 1), |vertex, sums| {
                let levels = self.levels(vertex);
                for lane in (0..L).filter(|&lane| level::<K>(levels, lane) == receiver) {
                    let paths = self.path(vertex, lane);
                    let dependency = paths * sums[lane];
                    let score = &self.run.scores[vertex as usize];
                    score.store(
                        (f64::from_bits(score.load(Relaxed)) + dependency).to_bits(),
                        Relaxed,
                    );
                    self.set_path(vertex, lane, (1.0 + dependency) / paths);
                }
                Reached { vertices: 1, edges: 0 }
            })?;
            session.end_iteration(&mark, active.vertices, "on-demand");
        }
        Ok(())
    }

    /// Every vertex with a lane at level `to` adds up what its neighbors at level `from` have, lane
    /// by lane; `end` gets the sums, and what it returns is added up.
    fn gather(
        &self,
        rows: &Rows,
        (to, from): (u64, u64),
        end: impl Fn(u64, &[f64; L]) -> Reached + Sync,
    ) -> Result<Reached> {
        let (session, bounds) = (self.run.session, &self.run.bounds);
        let part = |worker: usize, part: usize, total: &mut Reached| -> Result<()> {
            let mut open = None;
            let range = bounds[part]..bounds[part + 1];
            IoIterator::new(session, rows).within(range).for_each_active_here(
                worker,
                |group| self.members(group, to),
                |vertex, list| {
                    // A long list comes in pieces, one after the other.
                    if open.as_ref().is_none_or(|&(last, _)| last != vertex)
                        && let Some((last, sums)) = open.replace((vertex, [0.0; L]))
                    {
                        total.add(end(last, &sums));
                    }
                    if let Some((_, sums)) = &mut open {
                        self.add_up(list, from, sums);
                    }
                },
            )?;
            open.into_iter().for_each(|(last, sums)| total.add(end(last, &sums)));
            Ok(())
        };
        let results = session.workers.over(
            bounds.len() as u64 - 1,
            1,
            |worker| (worker, Ok(Reached::default())),
            |(worker, result), parts| {
                for at in parts {
                    if let Ok(total) = result {
                        let mut total = *total;
                        *result = part(*worker, at as usize, &mut total).map(|()| total);
                    }
                }
            },
        );
        session.check()?;
        Ok(Reached::sum(all(results.into_iter().map(|(_, result)| result).collect())?))
    }

    #[inline(always)]
    fn add_up(&self, list: List, from: u64, sums: &mut [f64; L]) {
        let mut ahead = list.neighbors().skip(AHEAD);
        for neighbor in list.neighbors() {
            // Neighbors lie anywhere in memory: nearly all the time would go into waiting for them.
            if let Some(next) = ahead.next() {
                prefetch(&self.levels, next as usize);
                prefetch(&self.paths, next as usize * L);
            }
            let levels = self.levels(neighbor);
            if has::<K>(levels, from) {
                for (lane, sum) in sums.iter_mut().enumerate() {
                    *sum += if level::<K>(levels, lane) == from {
                        self.path(neighbor, lane)
                    } else {
                        0.0
                    };
                }
            }
        }
    }
}
