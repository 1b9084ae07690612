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

use std::{
    ops::Range,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

use outercore_graph::{Direction, Result, error, format::List};
use outercore_storage::{AtomicItem, Block, ExactSum, HugeVec, memory::prefetch};

use super::lists::{Along, Lists, OpenLists};
use crate::{
    plan::{Planner, Resource},
    session::Session,
    state::{Scratch, VertexArray},
    techniques::LISTS,
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
/// Vertices of a part of a step without lists.
const STEP: u64 = 1 << 14;

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
        planner.memory("levels", [vertices * each.max(4); 2]);
        planner.memory("sums", [vertices * 16, stored]);
        planner.scratch(vertices * 24);
        let how =
            format!("{lanes} sources side by side: lists are read for all of them, level by level");
        planner.external_method(Some(&format!("{how}; sums are on storage")));
        planner.method(how);
        // Lists come in order, each part's to one worker.
        let lists = Lists::along(&[Direction::Out, Direction::In]);
        let lists = planner.declare(Lists { can: &LISTS[3..], ..lists })?;
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
    let mut bounds = outgoing.parts(PARTS * session.workers.count() as u64);
    if !session.decision.is_external() {
        return VertexArray::in_memory(bounds.into(), session.config.huge_pages);
    }
    bounds.extend((0..session.graph.connected()).step_by(STORED as usize));
    bounds.sort_unstable();
    bounds.dedup();
    let sums = VertexArray::create(&Scratch::of(session), bounds, &mut 0)?;
    let mut block = sums.block()?;
    for part in 0..sums.intervals() {
        sums.write(part, &mut block, |sums| sums.fill(ExactSum::default()))?;
    }
    Ok(sums)
}

/// Vertices that a step reached, and their outgoing edges.
type Reached = [u64; 2];

/// Up to `L` searches side by side. The levels of a vertex share a word of type `W`, the first in
/// its lowest bits. A level of 0 is not reached, 1 the source; all ones: the lane has no source.
struct LaneSearch<'s, W: AtomicItem, const L: usize> {
    session: &'s Session<'s>,
    outgoing: Along<'s>,
    incoming: Along<'s>,
    /// By parts, which are handed to workers.
    sums: &'s VertexArray<ExactSum>,
    levels: HugeVec<W::Cell>,
    /// The bits of counts; backwards, of vertices that are done, of what is gathered.
    counts: HugeVec<AtomicU64>,
}

impl<'s, W: AtomicItem, const L: usize> LaneSearch<'s, W, L> {
    /// Bits of a level.
    const BITS: u32 = (8 * size_of::<W>() / L) as u32;
    /// The bits of a lane.
    const LANE: u64 = (1 << Self::BITS) - 1;
    /// The deepest level that a lane holds.
    const DEEPEST: u64 = Self::LANE - 1;
    /// The lanes that a word of 64 bits has beside those of `W`.
    const BEYOND: u64 = if size_of::<W>() == 8 { 0 } else { !0 << (8 * size_of::<W>()) };

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
        let vertices = session.graph.connected();
        let search = Self {
            session,
            sums,
            outgoing: lists.along(session, Direction::Out),
            incoming: lists.along(session, Direction::In),
            levels: session.zeroed(vertices)?,
            counts: session.zeroed(vertices * L as u64)?,
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

    /// The levels of a vertex.
    #[inline(always)]
    fn levels(&self, vertex: u64) -> u64 {
        Self::of_word(&self.levels[vertex as usize])
    }

    #[inline(always)]
    fn of_word(word: &W::Cell) -> u64 {
        W::load(word).into() | Self::BEYOND
    }

    #[inline(always)]
    fn set_levels(&self, vertex: u64, levels: u64) {
        W::store(&self.levels[vertex as usize], W::of_bits(levels));
    }

    /// The level of a lane.
    #[inline(always)]
    fn level(levels: u64, lane: usize) -> u64 {
        levels >> (Self::BITS * lane as u32) & Self::LANE
    }

    /// One level in its lane.
    #[inline(always)]
    fn at(level: u64, lane: usize) -> u64 {
        level << (Self::BITS * lane as u32)
    }

    /// Not zero if one of the lanes is at `level`.
    #[inline(always)]
    fn matches(levels: u64, level: u64) -> u64 {
        const ONES: u64 = 0x0101_0101_0101_0101;
        if L == 1 {
            return (Self::level(levels, 0) == level).into();
        }
        // Whether a byte of the difference is zero.
        let other = levels ^ (ONES * level);
        other.wrapping_sub(ONES) & !other & (ONES << 7)
    }

    /// Whether one of the lanes is at `level`.
    #[inline(always)]
    fn has(levels: u64, level: u64) -> bool {
        Self::matches(levels, level) != 0
    }

    #[inline(always)]
    fn count(&self, vertex: u64, lane: usize) -> f64 {
        f64::from_bits(self.counts[vertex as usize * L + lane].load(Relaxed))
    }

    #[inline(always)]
    fn set_count(&self, vertex: u64, lane: usize, count: f64) {
        self.counts[vertex as usize * L + lane].store(count.to_bits(), Relaxed);
    }

    /// The vertices of a group of 64 that have a lane at `level`, as bits.
    fn members(&self, group: u64, level: u64) -> u64 {
        let first = group as usize * 64;
        let words = &self.levels[first..(first + 64).min(self.levels.len())];
        let matches = |word| Self::matches(Self::of_word(word), level);
        // Where there are many levels, most groups have none of one: that is told faster.
        if words.iter().fold(0, |any, word| any | matches(word)) == 0 {
            return 0;
        }
        words.iter().rev().fold(0, |bits, word| bits << 1 | u64::from(matches(word) != 0))
    }

    /// Hands every vertex to `work`, on all workers.
    fn each(&self, work: impl Fn(u64) + Sync) {
        let vertices = self.levels.len() as u64;
        self.session.workers.each(vertices, STEP, |range| range.for_each(&work));
    }

    /// Counts paths. Returns the last level; `None`: it is too deep.
    fn forward(&self, batch: &[u64]) -> Result<Option<u64>> {
        let idle = (batch.len()..L).fold(0, |levels, lane| levels | Self::at(Self::LANE, lane));
        self.each(|vertex| self.set_levels(vertex, idle));
        let mut sending = 0;
        for (lane, &source) in batch.iter().enumerate() {
            self.set_levels(source, self.levels(source) | Self::at(1, lane));
            self.set_count(source, lane, 1.0);
            sending += self.outgoing.degree(source) + 1;
        }
        for level in 1..=Self::DEEPEST {
            let mark = self.session.mark();
            let few = sending < self.outgoing.edges() / SENDING;
            let reached = if few { self.send(level, sending)? } else { self.receive(level)? };
            sending = reached[0] + reached[1];
            self.session.end_iteration(&mark, reached[0], "on-demand");
            if sending == 0 {
                return Ok(Some(level));
            }
        }
        Ok(None)
    }

    /// Vertices at level `sender` send their counts, when they have about so many `edges`.
    fn send(&self, sender: u64, edges: u64) -> Result<Reached> {
        let reached = Along { ordered: true, ..self.outgoing.clone() }.for_each(
            edges,
            |group| self.members(group, sender),
            |_| [0; 2],
            |reached, vertex, list| {
                let from = self.levels(vertex);
                for lane in (0..L).filter(|&lane| Self::level(from, lane) == sender) {
                    let count = self.count(vertex, lane);
                    for neighbor in list.neighbors() {
                        let levels = self.levels(neighbor);
                        match Self::level(levels, lane) {
                            0 => {
                                self.set_count(neighbor, lane, count);
                                self.set_levels(neighbor, levels | Self::at(sender + 1, lane));
                                *reached = totals([*reached, self.reached(neighbor)]);
                            }
                            other if other == sender + 1 => {
                                let counted = self.count(neighbor, lane);
                                self.set_count(neighbor, lane, counted + count);
                            }
                            _ => {}
                        }
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
        self.each_part(0, |worker, _, part| {
            self.gather(worker, part, &self.incoming, (0, sender), |vertex, sums| {
                let before = self.levels(vertex);
                let mut levels = before;
                let is_reached = |&lane: &usize| Self::level(before, lane) == 0 && sums[lane] > 0.0;
                for lane in (0..L).filter(is_reached) {
                    self.set_count(vertex, lane, sums[lane]);
                    levels |= Self::at(sender + 1, lane);
                }
                self.set_levels(vertex, levels);
                if levels == before { [0; 2] } else { self.reached(vertex) }
            })
        })
    }

    /// Gathers from the level before the last one to that after the sources.
    fn backward(&self, last: u64, turn: impl Fn(f64, f64) -> [f64; 2] + Sync) -> Result<()> {
        let turn = |vertex: u64, lane: usize, sum: f64| {
            let [own, gathered] = turn(self.count(vertex, lane), sum);
            self.set_count(vertex, lane, gathered);
            own
        };
        // Nothing comes after the end of every path.
        self.each(|vertex| {
            let (levels, ends) = (self.levels(vertex), self.outgoing.degree(vertex) == 0);
            for lane in 0..L {
                let level = Self::level(levels, lane);
                if level == last || ends && (1..last).contains(&level) {
                    turn(vertex, lane, 0.0);
                }
            }
        });
        for receiver in (2..last).rev() {
            let (mark, between) = (self.session.mark(), (receiver, receiver + 1));
            let [active, _] = self.each_part(receiver, |worker, block, part| {
                let first = self.sums.bounds()[part];
                self.sums.update(part, block, |all| {
                    self.gather(worker, part, &self.outgoing, between, |vertex, sums| {
                        let (levels, at) = (self.levels(vertex), (vertex - first) as usize);
                        let lanes = (0..L).filter(|&lane| Self::level(levels, lane) == receiver);
                        lanes.for_each(|lane| all[at].add(turn(vertex, lane, sums[lane])));
                        [1, 0]
                    })
                })?
            })?;
            self.session.end_iteration(&mark, active, "on-demand");
        }
        Ok(())
    }

    /// Hands every part with a vertex that has a lane at `level` to `work`, on all workers, with
    /// the worker's number and a block for sums. What it returns is added up.
    fn each_part(
        &self,
        level: u64,
        work: impl Fn(usize, &mut Block<ExactSum>, usize) -> Result<Reached> + Sync,
    ) -> Result<Reached> {
        type Summing = (usize, Block<ExactSum>, Reached);
        let visit = |(worker, block, total): &mut Summing, part: Range<u64>| {
            let part = part.start as usize;
            let ends = &self.sums.bounds()[part..];
            let mut groups = ends[0] / 64..ends[1].div_ceil(64);
            if groups.any(|group| self.members(group, level) != 0) {
                *total = totals([*total, work(*worker, block, part)?]);
            }
            Ok(())
        };
        let state = |worker| Ok((worker, self.sums.block()?, [0; 2]));
        let ends = self.session.workers.try_over(self.sums.intervals() as u64, 1, state, visit);
        self.session.check()?;
        Ok(totals(error::all(ends)?.into_iter().map(|(_, _, total)| total)))
    }

    /// Every vertex of a part with a lane at level `to` adds up what its neighbors at level `from`
    /// have, lane by lane; `end` gets the sums, and what it returns is added up.
    fn gather(
        &self,
        worker: usize,
        part: usize,
        lists: &Along,
        (to, from): (u64, u64),
        mut end: impl FnMut(u64, &[f64; L]) -> Reached,
    ) -> Result<Reached> {
        let (mut open, mut total): (Option<(u64, [f64; L])>, _) = (None, [0; 2]);
        let vertices = self.sums.bounds()[part]..self.sums.bounds()[part + 1];
        Along { vertices, ..lists.clone() }.for_each_here(
            worker,
            |group| self.members(group, to),
            |vertex, list| {
                // A long list comes in pieces, one after the other.
                if open.is_none_or(|(last, _)| last != vertex)
                    && let Some((last, sums)) = open.replace((vertex, [0.0; L]))
                {
                    total = totals([total, end(last, &sums)]);
                }
                if let Some((_, sums)) = &mut open {
                    self.add_up(list, from, sums);
                }
            },
        )?;
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
            now[..len].iter().for_each(|&neighbor| self.add(neighbor, from, sums));
            (len, now) = (more, next);
        }
    }

    /// Asks for what is kept of a block of neighbors; returns how many they are.
    #[inline(always)]
    fn ask(&self, list: List, first: usize, block: &mut [u64; BLOCK]) -> usize {
        let len = list.copy(first, block);
        for &neighbor in &block[..len] {
            prefetch(&raw const self.levels[neighbor as usize]);
            prefetch(&raw const self.counts[neighbor as usize * L]);
        }
        len
    }

    #[inline(always)]
    fn add(&self, neighbor: u64, from: u64, sums: &mut [f64; L]) {
        // Loads without branches, which would be guessed wrong, for the sums of all lanes.
        let levels = self.levels(neighbor);
        if Self::has(levels, from) {
            let counts = &self.counts[neighbor as usize * L..][..L];
            for (lane, (sum, count)) in sums.iter_mut().zip(counts).enumerate() {
                let at = u64::from(Self::level(levels, lane) == from).wrapping_neg();
                *sum += f64::from_bits(count.load(Relaxed) & at);
            }
        }
    }
}
