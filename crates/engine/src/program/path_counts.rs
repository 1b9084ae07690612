//! [`PathCounts`]: shortest paths, in edges, are counted from several sources side by side, and
//! what the author makes of the counts is summed back from the last level to the sources (the two
//! sweeps of Brandes, 2001).
//!
//! Each source has a lane. Forwards, the counts of a level are gathered by vertices that are not
//! reached yet or, when few have one, sent (as in Beamer, Asanovic and Patterson, SC'12).
//! Backwards, each level gathers from the one after it. Of a vertex that is done, what the level
//! before gathers takes the place of its count.
//!
//! Memory for each vertex and lane: a count, and a level of a byte. Sources with deeper levels are
//! searched one by one, with levels of 32 bits. Counts and levels are met at random. What is added
//! up for a vertex is met in order, part by part, so it may be on scratch: then a vertex takes half
//! of the memory with one source, and a sum costs what it takes to read and write its part.
//!
//! Sums of a lane are made in the order of the lists, whatever worker makes them, gathered or sent.
//! Those of all sources are exact ([`ExactSum`]), so the number of lanes leaves no trace.

use std::ops::Range;

use outercore_graph::{Direction, Result, error, format::List};
use outercore_storage::{AtomicItem, Block, ExactSum, LaneLevels, LaneValues};

use super::lists::{Along, Lists, OpenLists};
use crate::{
    Frontier,
    edges::io_iterator::ALONE,
    plan::{Planner, Resource},
    report::ReadMode,
    session::Session,
    state::{Scratch, VertexArray},
    techniques::OWN_LISTS,
    totals,
};

/// Parts of the vertices, with about equally many edges, for each worker.
const PARTS: u64 = 8;
/// Sending is for one worker, and at random: it must take so many times fewer edges than there are.
const SENDING: u64 = 16;
/// Neighbors that are asked for together.
const BLOCK: usize = 16;
/// The most vertices of a part whose sums are on scratch.
const STORED: u64 = 1 << 14;
/// The weight by which sums share memory with lists, with totals of half their size.
const SUMS: u64 = 3;
/// Vertices of a part of a step without lists.
const STEP: u64 = 1 << 14;
/// Levels for which vertices are looked up at once, where there are more.
const SPAN: u64 = 16;
/// Lanes are put on one level by this one.
const ALIGNED: u64 = 8;

/// Counts of shortest paths that a plan has declared.
pub struct PathCounts {
    lanes: usize,
    lists: Lists,
}

impl PathCounts {
    /// Declares what counts from so many sources side by side need: 8, 4, 2 or 1.
    pub fn declare(planner: &mut Planner, lanes: usize) -> Result<Self> {
        let (vertices, each) = (planner.job.graph.connected(), lanes as u64);
        let threads = planner.job.config.threads as u64;
        let parts = vertices / STORED + PARTS * threads + 2;
        let stored = VertexArray::<ExactSum>::memory(vertices, parts)
            + (threads + 1) * Block::<ExactSum>::bytes(STORED.min(vertices) as usize);
        planner.memory("paths", [vertices * 8 * each; 2]);
        let levels = vertices * each.max(4) + 2 * Frontier::bytes(vertices);
        planner.memory("levels", [levels; 2]);
        planner.memory("sums", [vertices * 16, stored]);
        planner.caches([0, SUMS]);
        planner.scratch(vertices * 24);
        let how =
            format!("{lanes} sources side by side: lists are read for all of them, level by level");
        planner.external_method(Some(&format!("{how}; sums are on storage")));
        planner.method(how);
        // Lists come in order, each part's to one worker.
        let lists = Lists::along(&[Direction::Out, Direction::In]);
        let lists = planner.declare(Lists { can: OWN_LISTS, ..lists })?;
        Ok(Self { lanes, lists })
    }

    /// Counts from all `sources`, which have edges. Backwards, `turn` gets the count of a vertex
    /// and the sum of what the level after it has. It returns what is added up for the vertex, if
    /// a level comes after it, and what the level before gathers. Returns what was added up, source
    /// by source, and the number of levels.
    pub fn run(
        &self,
        session: &Session,
        sources: &[u64],
        turn: impl Fn(f64, f64) -> [f64; 2] + Sync,
    ) -> Result<(VertexArray<f64>, u64)> {
        let lists = self.lists.open(session)?;
        let sums = &sums(session, &lists)?;
        session.loaded();
        let (mut levels, of) = (0, &turn);
        let done = match self.lanes {
            8 => LaneSearch::<u64, 8>::over(&lists, session, sources, sums, of, &mut levels)?,
            4 => LaneSearch::<u32, 4>::over(&lists, session, sources, sums, of, &mut levels)?,
            2 => LaneSearch::<u16, 2>::over(&lists, session, sources, sums, of, &mut levels)?,
            _ => LaneSearch::<u8, 1>::over(&lists, session, sources, sums, of, &mut levels)?,
        };
        if done < sources.len() {
            let left = &sources[done..];
            LaneSearch::<u32, 1>::over(&lists, session, left, sums, of, &mut levels)?;
        }
        Ok((sums.map(ExactSum::total)?, levels))
    }
}

/// Sums of nothing, by parts with about equally many edges.
fn sums(session: &Session, lists: &OpenLists) -> Result<VertexArray<ExactSum>> {
    let outgoing = lists.along(session, Direction::Out);
    let mut bounds = outgoing.index().parts(PARTS * session.workers.count() as u64);
    if !session.decision.is_external() {
        return VertexArray::in_memory(bounds.into(), session.config.huge_pages);
    }
    bounds.extend((0..session.graph.connected()).step_by(STORED as usize));
    bounds.sort_unstable();
    bounds.dedup();
    let mut room = session.decision.share(SUMS - 1);
    let sums = VertexArray::create(&Scratch::of(session), bounds, &mut room)?;
    sums.fill(|_| ExactSum::default())?;
    Ok(sums)
}

/// Vertices that a step reached, and their outgoing edges.
type Reached = [u64; 2];

/// Up to `L` searches side by side. A level of 0 is not reached, 1 the source.
struct LaneSearch<'s, W: AtomicItem, const L: usize> {
    session: &'s Session<'s>,
    outgoing: Along<'s>,
    incoming: Along<'s>,
    /// By parts, which are handed to workers.
    sums: &'s VertexArray<ExactSum>,
    levels: LaneLevels<W, L>,
    /// Levels with so few vertices and edges that one worker does them alone, counted from 0.
    small: Frontier,
    /// The bits of counts; backwards, of vertices that are done, of what is gathered.
    counts: LaneValues<L>,
}

impl<'s, W: AtomicItem, const L: usize> LaneSearch<'s, W, L> {
    /// Searches from all `sources`, or from those before one that is too deep; returns how many
    /// these are.
    fn over(
        lists: &'s OpenLists,
        session: &'s Session<'s>,
        sources: &[u64],
        sums: &'s VertexArray<ExactSum>,
        turn: impl Fn(f64, f64) -> [f64; 2] + Sync,
        levels: &mut u64,
    ) -> Result<usize> {
        let (vertices, huge) = (session.graph.connected(), session.config.huge_pages);
        let mut search = Self {
            session,
            sums,
            outgoing: lists.along(session, Direction::Out),
            incoming: lists.along(session, Direction::In),
            levels: LaneLevels::new(vertices, huge)?,
            small: session.no_vertices()?,
            counts: LaneValues::new(vertices, huge)?,
        };
        let mut done = 0;
        for batch in sources.chunks(L) {
            let Some(last) = search.forward(batch)? else { break };
            search.backward(last, &turn)?;
            *levels += 2 * last;
            done += batch.len();
        }
        Ok(done)
    }

    /// Counts paths. Returns the last level; `None`: it is too deep.
    fn forward(&mut self, batch: &[u64]) -> Result<Option<u64>> {
        self.levels.begin(&self.session.workers, batch);
        self.small.clear();
        for (lane, &source) in batch.iter().enumerate() {
            self.counts.set(source, lane, 1.0);
        }
        let mut mark = self.session.mark();
        let most = self.outgoing.edges() / SENDING;
        let [first, mut sending] = self.align(batch, most)?;
        let mut is_near = batch.len() == 1;
        for level in first..=LaneLevels::<W, L>::DEEPEST {
            let few = sending < most;
            if few && !is_near {
                self.levels.gather(&self.session.workers, level..level + 1);
            }
            is_near = few;
            if sending < ALONE {
                self.small.insert(level - 1);
            }
            let reached = if few { self.send(level, sending, 0)? } else { self.receive(level)? };
            sending = reached[0] + reached[1];
            self.session.end_iteration(&mark, reached[0], ReadMode::OnDemand);
            if sending == 0 {
                // Sources gather nothing.
                let lanes = batch.iter().enumerate();
                lanes.for_each(|(lane, &source)| self.levels.top(source, lane));
                return Ok(Some(level));
            }
            mark = self.session.mark();
        }
        Ok(None)
    }

    /// Each lane sends alone until its next level has at least `most` edges. Then all are put on
    /// one level: what one comes to near the hubs others come to in the same step, so that a list
    /// is read for all of them. Returns that level, and about how many edges it has.
    fn align(&mut self, batch: &[u64], most: u64) -> Result<[u64; 2]> {
        let (mut at, mut sum) = ([1; L], 0);
        for (lane, &source) in batch.iter().enumerate() {
            let mut edges = self.outgoing.degree(source) + 1;
            let others = self.levels.others(lane);
            self.levels.bring_alone(source);
            while batch.len() > 1 && at[lane] < ALIGNED && (1..most).contains(&edges) {
                let [vertices, more] = self.send(at[lane], edges, others)?;
                (edges, at[lane]) = (vertices + more, at[lane] + 1);
            }
            sum += edges;
        }
        let first = at.into_iter().max().unwrap_or(1);
        self.levels.deepen(&self.session.workers, at.map(|at| first - at));
        Ok([first, sum])
    }

    /// Vertices at level `sender` of lanes that are not `idle` send their counts, when they have
    /// about so many `edges`.
    fn send(&self, sender: u64, edges: u64, idle: u64) -> Result<Reached> {
        let reached = Along { ordered: true, ..self.outgoing.clone() }.for_each(
            edges,
            |group| self.levels.pass(group, sender, idle),
            |_| [0; 2],
            |reached, vertex, list| {
                let from = self.levels.get(vertex) | idle;
                for lane in self.levels.lanes(from, sender) {
                    let count = self.counts.get(vertex, lane);
                    for neighbor in list.neighbors() {
                        let Some(is_new) = self.levels.reach(neighbor, lane, sender + 1) else {
                            continue;
                        };
                        let counted = if is_new {
                            *reached = totals([*reached, self.reached(neighbor)]);
                            0.0
                        } else {
                            self.counts.get(neighbor, lane)
                        };
                        self.counts.set(neighbor, lane, counted + count);
                    }
                }
            },
        )?;
        Ok(totals(reached))
    }

    #[inline(always)]
    fn reached(&self, vertex: u64) -> Reached {
        [1, self.outgoing.degree(vertex)]
    }

    /// Vertices that are not reached yet gather the counts of level `sender`.
    fn receive(&self, sender: u64) -> Result<Reached> {
        let unreached = |group| self.levels.all(group, 0);
        self.each_part(1, unreached, |worker, _, part| {
            self.gather(worker, part, (&self.incoming, sender), unreached, |vertex, sums| {
                let before = self.levels.get(vertex);
                let mut levels = before;
                for lane in self.levels.lanes(before, 0) {
                    if sums[lane] > 0.0 {
                        self.counts.set(vertex, lane, sums[lane]);
                        levels |= LaneLevels::<W, L>::at(sender + 1, lane);
                    }
                }
                self.levels.set(vertex, levels);
                if levels == before { [0; 2] } else { self.reached(vertex) }
            })
        })
    }

    /// Gathers from the level before the last one to that after the sources.
    fn backward(&mut self, last: u64, turn: impl Fn(f64, f64) -> [f64; 2] + Sync) -> Result<()> {
        // Where there are few levels, all vertices are soon due.
        self.levels.bring_all();
        let mut near = if last > SPAN { last } else { 0 };
        let (this, workers) = (&*self, &self.session.workers);
        let level = LaneLevels::<W, L>::level;
        let turn = |vertex: u64, lane: usize, sum: f64| {
            let [own, gathered] = turn(this.counts.get(vertex, lane), sum);
            this.counts.set(vertex, lane, gathered);
            own
        };
        // Nothing comes after the end of every path.
        workers.each(this.session.graph.connected(), STEP, |range| {
            for vertex in range {
                let (levels, ends) = (this.levels.get(vertex), this.outgoing.degree(vertex) == 0);
                let ends = |lane| {
                    let level = level(levels, lane);
                    level == last || ends && (1..last).contains(&level)
                };
                (0..L).filter(|&lane| ends(lane)).for_each(|lane| _ = turn(vertex, lane, 0.0));
            }
        });
        for receiver in (2..last).rev() {
            let (mark, due) = (this.session.mark(), |group| this.levels.near(group, receiver));
            if receiver < near {
                near = receiver.saturating_sub(SPAN);
                this.levels.gather(workers, near..receiver + 1);
            }
            let grain = if this.small.contains(receiver - 1) { u64::MAX } else { 1 };
            let [active, _] = this.each_part(grain, due, |worker, block, part| {
                let (first, from) = (this.sums.bounds()[part], (&this.outgoing, receiver + 1));
                this.sums.update(part, block, |all| {
                    this.gather(worker, part, from, due, |vertex, sums| {
                        let (levels, at) = (this.levels.get(vertex), (vertex - first) as usize);
                        let lanes = this.levels.lanes(levels, receiver);
                        lanes.for_each(|lane| all[at].add(turn(vertex, lane, sums[lane])));
                        [1, 0]
                    })
                })?
            })?;
            this.session.end_iteration(&mark, active, ReadMode::OnDemand);
        }
        Ok(())
    }

    /// Hands every part with a vertex that is `wanted` to `work`, with the worker's number and a
    /// block for sums; on one worker if there are no more than `grain`. What it returns is added
    /// up.
    fn each_part(
        &self,
        grain: u64,
        wanted: impl Fn(u64) -> u64 + Sync,
        work: impl Fn(usize, &mut Block<ExactSum>, usize) -> Result<Reached> + Sync,
    ) -> Result<Reached> {
        type Summing = (usize, Block<ExactSum>, Reached);
        let visit = |(worker, block, total): &mut Summing, parts: Range<u64>| {
            for part in parts.start as usize..parts.end as usize {
                let ends = &self.sums.bounds()[part..];
                let mut groups = ends[0] / 64..ends[1].div_ceil(64);
                if groups.any(|group| wanted(group) != 0) {
                    *total = totals([*total, work(*worker, block, part)?]);
                }
            }
            Ok(())
        };
        let state = |worker| Ok((worker, self.sums.block()?, [0; 2]));
        let ends = self.session.workers.try_over(self.sums.intervals() as u64, grain, state, visit);
        self.session.check()?;
        Ok(totals(error::all(ends)?.into_iter().map(|(_, _, total)| total)))
    }

    /// Every vertex of a part that is `wanted` adds up what its neighbors at level `from` have,
    /// lane by lane; `end` gets the sums, and what it returns is added up.
    fn gather(
        &self,
        worker: usize,
        part: usize,
        (lists, from): (&Along, u64),
        wanted: impl Fn(u64) -> u64,
        mut end: impl FnMut(u64, &[f64; L]) -> Reached,
    ) -> Result<Reached> {
        let (mut open, mut total): (Option<(u64, [f64; L])>, _) = (None, [0; 2]);
        let vertices = self.sums.bounds()[part]..self.sums.bounds()[part + 1];
        Along { vertices, ..lists.clone() }.for_each_here(worker, wanted, |vertex, list| {
            // A long list comes in pieces, one after the other.
            if open.is_none_or(|(last, _)| last != vertex)
                && let Some((last, sums)) = open.replace((vertex, [0.0; L]))
            {
                total = totals([total, end(last, &sums)]);
            }
            if let Some((_, sums)) = &mut open {
                self.add_up(list, from, sums);
            }
        })?;
        let last = open.map(|(last, sums)| end(last, &sums));
        Ok(totals([total].into_iter().chain(last)))
    }

    /// Adds to `sums` what the neighbors at level `from` have. Neighbors lie anywhere in memory:
    /// nearly all the time would go into waiting for them, so a block of them is asked for while
    /// that before it is added.
    #[inline(always)]
    fn add_up(&self, list: List, from: u64, sums: &mut [f64; L]) {
        let (mut now, mut next) = ([0; BLOCK], [0; BLOCK]);
        let mut len = self.ask(list, 0, &mut now);
        let mut first = 0;
        while len > 0 {
            first += len;
            let more = self.ask(list, first, &mut next);
            for &neighbor in &now[..len] {
                self.levels.add_up(neighbor, from, &self.counts, sums);
            }
            (len, now) = (more, next);
        }
    }

    /// Asks for what is kept of a block of neighbors; returns how many they are.
    #[inline(always)]
    fn ask(&self, list: List, first: usize, block: &mut [u64; BLOCK]) -> usize {
        let len = list.copy(first, block);
        for &neighbor in &block[..len] {
            self.levels.prefetch(neighbor);
            self.counts.prefetch(neighbor);
        }
        len
    }
}
