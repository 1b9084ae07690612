//! [`IoIterator`]: the lists of active vertices, in the order in which storage delivers them
//! (Graphene, FAST'17, section 2).
//!
//! The author says who is active and what to do with a list; everything between is here: active
//! vertices become wanted blocks (`wanted`), these become requests, requests are kept in flight
//! (`fetch`), lists that are in memory are not read again. A list longer than a request arrives in
//! pieces.

use std::{ops::Range, sync::atomic::Ordering::Relaxed};

use outercore_graph::format::INDEX_GROUP;
use outercore_storage::MergePolicy;

use super::{
    fetch::{Fetch, Lane, for_lists},
    rows::Rows,
    shares::Shares,
    wanted::{Group, Stopwatch, Wanted},
};
use crate::{
    config::IoScheduling,
    error::{self, EngineError, Result},
    session::Session,
};

/// The lists of active vertices.
pub struct IoIterator<'a> {
    session: &'a Session<'a>,
    rows: &'a Rows,
    ordered: bool,
    within: Range<u64>,
}

/// A vertex's list, or a piece of it.
#[derive(Clone, Copy)]
pub struct List<'a> {
    pub(super) neighbors: &'a [u8],
    pub(super) weights: &'a [u8],
    pub(super) width: usize,
    pub(super) weight_width: usize,
}

impl<'a> List<'a> {
    /// How many neighbors there are.
    pub fn len(&self) -> usize {
        self.neighbors.len() / self.width
    }

    /// The neighbors as they are stored, `width` bytes each.
    pub(crate) fn bytes(&self) -> &'a [u8] {
        self.neighbors
    }

    /// A list of such bytes, without weights.
    pub(crate) fn of(neighbors: &'a [u8], width: usize) -> Self {
        Self { neighbors, weights: &[], width, weight_width: 0 }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.neighbors.is_empty()
    }

    /// The neighbors, ascending.
    #[inline(always)]
    pub fn neighbors(&self) -> impl Iterator<Item = u64> + 'a {
        let width = self.width;
        self.neighbors.chunks_exact(width).map(number)
    }

    /// The neighbors with the bits of their weights (0 where weights were not asked for).
    #[inline(always)]
    pub fn weighted(&self) -> impl Iterator<Item = (u64, u64)> + 'a {
        let (weights, weight_width) = (self.weights, self.weight_width);
        self.neighbors().enumerate().map(move |(index, neighbor)| {
            let weight = if weight_width == 0 {
                0
            } else {
                number(&weights[index * weight_width..(index + 1) * weight_width])
            };
            (neighbor, weight)
        })
    }
}

#[inline(always)]
fn number(bytes: &[u8]) -> u64 {
    match *bytes {
        [a, b, c] => u64::from(a) | u64::from(b) << 8 | u64::from(c) << 16,
        [a, b] => u64::from(a) | u64::from(b) << 8,
        [a] => u64::from(a),
        [a, b, c, d] => u64::from(u32::from_le_bytes([a, b, c, d])),
        _ => {
            let mut number = [0; 8];
            number[..bytes.len()].copy_from_slice(bytes);
            u64::from_le_bytes(number)
        }
    }
}

impl<'a> IoIterator<'a> {
    /// Lists of `rows`.
    pub fn new(session: &'a Session<'a>, rows: &'a Rows) -> Self {
        Self { session, rows, ordered: false, within: rows.window() }
    }

    /// Only vertices of `range`, which lies in the window of the rows.
    pub fn within(self, range: Range<u64>) -> Self {
        Self { within: range, ..self }
    }

    /// With `true`, lists come in ascending order of their vertices, to one worker: for sums whose
    /// order matters.
    pub fn ordered(self, ordered: bool) -> Self {
        Self { ordered, ..self }
    }

    /// Hands the list of every active vertex with edges to `compute`, on all workers; all pieces of
    /// a list go to one of them. `is_active` is asked once for each group of 64 vertices: it gets
    /// the group's number and answers with bits. `expected` is about how many edges there will be:
    /// a small step stays on one worker.
    pub fn for_each<S: Send>(
        &self,
        expected: u64,
        is_active: impl Fn(u64) -> u64 + Sync,
        state: impl Fn(usize) -> S + Sync,
        compute: impl Fn(&mut S, u64, List) + Sync,
    ) -> Result<Vec<S>> {
        let groups = self.within.end.div_ceil(64).saturating_sub(self.within.start / 64);
        let alone = self.ordered || expected < 1 << 14;
        let workers = if alone { 1 } else { self.session.workers.count() as u64 };
        let shares = self.shares(groups, workers, self.session.config.stealing);
        let body = |index: usize| {
            let mut state = state(index);
            let result = self.work((index, index), &shares, &is_active, &mut |vertex, list| {
                compute(&mut state, vertex, list)
            });
            result.map(|()| state)
        };
        let results = if alone { vec![body(0)] } else { self.session.workers.map(body) };
        self.session.counters.stolen.fetch_add(shares.stolen(), Relaxed);
        self.session.check()?;
        error::all(results)
    }

    /// Hands the list of every vertex of the range to `compute`, on the calling worker alone, in
    /// ascending order.
    pub fn for_each_here(self, worker: usize, compute: impl FnMut(u64, List)) -> Result<()> {
        self.for_each_active_here(worker, |_| u64::MAX, compute)
    }

    /// The same with active vertices only; `is_active` is as in [`IoIterator::for_each`].
    pub fn for_each_active_here(
        mut self,
        worker: usize,
        is_active: impl Fn(u64) -> u64,
        mut compute: impl FnMut(u64, List),
    ) -> Result<()> {
        self.ordered = true;
        let groups = self.within.end.div_ceil(64).saturating_sub(self.within.start / 64);
        self.work((worker, 0), &self.shares(groups, 1, false), &is_active, &mut compute)
    }

    /// Shares of the groups of the range.
    fn shares(
        &self,
        groups: u64,
        workers: u64,
        stealing: bool,
    ) -> Shares<impl Fn(u64) -> u64 + Sync> {
        let first = self.within.start / 64;
        let cost = move |group| self.rows.group_offset(first + group) + GROUP_COST * group;
        // Ranges are small enough to be shared out evenly, and large enough to form long runs.
        let most = if groups > 0 { (cost(groups) - cost(0)) / RANGE_COST } else { 0 };
        Shares::new(
            groups,
            workers,
            most.min(64 * workers).max(groups / 4096).max(workers),
            stealing,
            cost,
        )
    }

    /// Those of a share's groups that have active vertices.
    fn active(
        &self,
        range: Range<u64>,
        is_active: &impl Fn(u64) -> u64,
    ) -> impl Iterator<Item = Group> {
        let first = self.within.start / 64;
        (first + range.start..first + range.end)
            .map(|group| (group, is_active(group) & self.members(group)))
            .filter(|&(_, bits)| bits != 0)
    }

    /// Which of a group's vertices are in the range, as bits.
    #[inline(always)]
    fn members(&self, group: u64) -> u64 {
        let (first, Range { start, end }) = (group * 64, self.within.clone());
        let before = start.saturating_sub(first).min(63);
        let after = (first + 64).saturating_sub(end).min(63);
        (u64::MAX << before) & (u64::MAX >> after)
    }

    /// All that one worker does, with its own share of `shares`.
    fn work(
        &self,
        (worker, share): (usize, usize),
        shares: &Shares<impl Fn(u64) -> u64>,
        is_active: &impl Fn(u64) -> u64,
        compute: &mut impl FnMut(u64, List),
    ) -> Result<()> {
        let mut reader = self.session.pooled_reader(worker);
        let mut scratch = std::mem::take(&mut reader.scratch);
        let limits = self.session.limits();
        let policy = MergePolicy {
            max_gap: limits.max_gap_bytes / limits.block_bytes,
            max_run: limits.max_request_bytes / limits.block_bytes,
        };
        scratch.wanted.reset(self.session.config.io_scheduling, policy);
        scratch.cached.clear();
        let (neighbors, weights) = Lane::of(self.rows, limits.block_bytes);
        // Requests are made in the section whose entries are wider: the other's are no longer.
        let lead =
            weights.filter(|weights| weights.width() > neighbors.width()).unwrap_or(neighbors);
        let fetch = Fetch::new(self.session, self.rows, &mut reader, self.ordered);
        let one_by_one = self.session.config.io_scheduling == IoScheduling::Pluglist;
        let joined = policy.max_gap + 2;
        let mut worker = Worker {
            stream: self,
            lead,
            one_by_one,
            joined,
            scratch: &mut scratch,
            fetch,
            preparing: Stopwatch::default(),
        };
        let result = worker.run(share, shares, is_active, compute);
        let Worker { fetch, preparing, .. } = worker;
        fetch.end(result.is_err());
        self.session.counters.prepare_nanos.fetch_add(preparing.nanos, Relaxed);
        reader.scratch = scratch;
        result
    }
}

/// What a worker's streams use one after the other.
#[derive(Default)]
pub struct Scratch {
    /// The active vertices of a range.
    active: Vec<Group>,
    wanted: Wanted,
    /// Vertices whose lists are in memory.
    cached: Vec<Group>,
    requests: Vec<Request>,
}

/// A request to be: its edges, and who of those that want something wants them.
struct Request {
    edges: Range<u64>,
    groups: Range<usize>,
}

/// What it costs to look at 64 vertices and their lists, in edges: a list as much as 16, as was
/// measured.
const GROUP_COST: u64 = 1024;

/// The least that a range costs, in edges: some requests.
const RANGE_COST: u64 = 1 << 18;

/// Groups that are asked for who is active before what they want is marked.
const ASKED: u64 = 1 << 12;

/// Groups of vertices whose lists are in memory before they are handed over.
const CACHED: usize = 1 << 10;

/// Lists that are marked together: the vertices' bits, their edges, their blocks.
type Marked = (u64, Range<u64>, Range<u64>);

struct Worker<'i, 's, 'r> {
    stream: &'i IoIterator<'i>,
    lead: Lane<'i>,
    /// The pluglist takes every list as a request of its own.
    one_by_one: bool,
    /// The most blocks in a row that are read together if the first and the last one are, whatever
    /// else is wanted of them.
    joined: u64,
    scratch: &'s mut Scratch,
    fetch: Fetch<'i, 'r>,
    preparing: Stopwatch,
}

impl Worker<'_, '_, '_> {
    fn run(
        &mut self,
        share: usize,
        shares: &Shares<impl Fn(u64) -> u64>,
        is_active: &impl Fn(u64) -> u64,
        compute: &mut impl FnMut(u64, List),
    ) -> Result<()> {
        while let Some(range) = shares.take(share) {
            for first in range.clone().step_by(ASKED as usize) {
                self.want_active(first..(first + ASKED).min(range.end), is_active, compute)?;
            }
            self.hand_over_cached(compute);
            if self.stream.session.stopped() {
                return Err(EngineError::Cancelled);
            }
        }
        self.preparing.start();
        self.ask(compute)?;
        self.preparing.stop();
        self.fetch.finish(compute)
    }

    /// Asks who is active of some groups, and then, by the stopwatch, marks what these want: who is
    /// active is the author's to say.
    fn want_active(
        &mut self,
        groups: Range<u64>,
        is_active: &impl Fn(u64) -> u64,
        compute: &mut impl FnMut(u64, List),
    ) -> Result<()> {
        let mut active = std::mem::take(&mut self.scratch.active);
        active.clear();
        active.extend(self.stream.active(groups, is_active));
        self.preparing.start();
        active.iter().try_for_each(|&some| self.want(some, compute))?;
        self.preparing.stop();
        self.scratch.active = active;
        Ok(())
    }

    /// Marks what the active vertices of a group want. The stopwatch runs before and after.
    fn want(&mut self, (group, bits): Group, compute: &mut impl FnMut(u64, List)) -> Result<()> {
        let rows = self.stream.rows;
        let whole = rows.group_offset(group)..rows.group_offset(group + 1);
        if whole.is_empty() {
            return Ok(());
        }
        if self.one_by_one || self.fetch.may_be_cached(&whole) {
            let mut result = Ok(());
            for_lists(rows, (group, bits), |vertex, first, count| {
                if result.is_ok() {
                    result =
                        self.want_list((group, 1 << (vertex % 64)), first..first + count, compute);
                }
            });
            return result;
        }
        let blocks = self.lead.blocks(&whole);
        if bits == u64::MAX {
            return self.want_blocks((group, bits), whole, &blocks, compute);
        }
        if blocks.end - blocks.start <= self.joined {
            let Some(edges) = extent(rows, (group, bits)) else { return Ok(()) };
            let blocks = self.lead.blocks(&edges);
            return self.want_blocks((group, bits), edges, &blocks, compute);
        }
        // Lists whose blocks touch are marked together: most are shorter than a block.
        let (mut result, mut open): (_, Option<Marked>) = (Ok(()), None);
        for_lists(rows, (group, bits), |vertex, first, count| {
            let (bit, edges) = (1 << (vertex % 64), first..first + count);
            let blocks = self.lead.blocks(&edges);
            match &mut open {
                Some((bits, all, near)) if blocks.start <= near.end => {
                    *bits |= bit;
                    all.end = edges.end;
                    near.end = blocks.end;
                }
                _ => {
                    if let Some((bits, edges, blocks)) = open.replace((bit, edges, blocks))
                        && result.is_ok()
                    {
                        result = self.want_blocks((group, bits), edges, &blocks, compute);
                    }
                }
            }
        });
        result?;
        open.map_or(Ok(()), |(bits, edges, blocks)| {
            self.want_blocks((group, bits), edges, &blocks, compute)
        })
    }

    fn want_list(
        &mut self,
        one: Group,
        edges: Range<u64>,
        compute: &mut impl FnMut(u64, List),
    ) -> Result<()> {
        if self.stream.ordered || !self.fetch.is_cached(&edges) {
            return self.want_blocks(one, edges.clone(), &self.lead.blocks(&edges), compute);
        }
        match self.scratch.cached.last_mut() {
            Some(last) if last.0 == one.0 => last.1 |= one.1,
            _ => self.scratch.cached.push(one),
        }
        if self.scratch.cached.len() >= CACHED {
            self.preparing.stop();
            self.hand_over_cached(compute);
            self.preparing.start();
        }
        Ok(())
    }

    fn want_blocks(
        &mut self,
        some: Group,
        edges: Range<u64>,
        blocks: &Range<u64>,
        compute: &mut impl FnMut(u64, List),
    ) -> Result<()> {
        if self.scratch.wanted.add(some, blocks) {
            return Ok(());
        }
        self.ask(compute)?;
        if self.scratch.wanted.is_too_long(blocks) {
            return self.ask_long(some, edges, compute);
        }
        let room = self.scratch.wanted.add(some, blocks);
        debug_assert!(room, "what is empty has room");
        Ok(())
    }

    fn hand_over_cached(&mut self, compute: &mut impl FnMut(u64, List)) {
        self.fetch.deliver_cached(&self.scratch.cached, compute);
        self.scratch.cached.clear();
    }

    /// Makes requests of everything that is wanted. The stopwatch runs before and after, and stands
    /// still while requests are submitted and lists computed.
    fn ask(&mut self, compute: &mut impl FnMut(u64, List)) -> Result<()> {
        self.plan();
        self.preparing.stop();
        let Scratch { wanted, requests, .. } = &mut *self.scratch;
        for Request { edges, groups } in requests.drain(..) {
            self.fetch.ask(edges, wanted.groups()[groups].iter().copied(), compute)?;
        }
        wanted.clear();
        self.preparing.start();
        Ok(())
    }

    /// Turns what is wanted into requests.
    fn plan(&mut self) {
        let rows = self.stream.rows;
        let (block, width) = (self.stream.session.limits().block_bytes, self.lead.width());
        let Scratch { wanted, requests, .. } = &mut *self.scratch;
        wanted.seal();
        let (mut from, mut done, mut at) = (0, 0, 0);
        while let Some(run) = wanted.next(from) {
            let first = done.max((run.start * block).div_ceil(width));
            let end = (run.end * block / width).min(rows.edges());
            // An entry on the boundary of two requests belongs to the second, which begins with the
            // block where the entry does.
            let cut = wanted.has(run.end) && end < rows.edges();
            from = if cut { end * width / block } else { run.end };
            done = end;
            let groups = wanted.groups();
            at += groups[at..].partition_point(|&(group, _)| rows.group_offset(group + 1) <= first);
            let until =
                at + groups[at..].partition_point(|&(group, _)| rows.group_offset(group) < end);
            requests.push(Request { edges: first..end, groups: at..until });
        }
    }

    /// Asks for lists that are longer than a window, request by request.
    fn ask_long(
        &mut self,
        some: Group,
        edges: Range<u64>,
        compute: &mut impl FnMut(u64, List),
    ) -> Result<()> {
        let limits = self.stream.session.limits();
        let step = (limits.max_request_bytes - limits.block_bytes) / self.lead.width();
        let mut first = edges.start;
        self.preparing.stop();
        while first < edges.end {
            let end = (first + step).min(edges.end);
            self.fetch.ask(first..end, std::iter::once(some), compute)?;
            first = end;
        }
        self.preparing.start();
        Ok(())
    }
}

/// From the first list of a group's vertices to the last one; `None`: all are empty.
fn extent(rows: &Rows, (group, mut bits): Group) -> Option<Range<u64>> {
    let first = group * INDEX_GROUP;
    let mut low = u64::from(bits.trailing_zeros());
    while bits != 0 && rows.degree(first + low) == 0 {
        bits &= bits - 1;
        low = u64::from(bits.trailing_zeros());
    }
    if bits == 0 {
        return None;
    }
    // Ends with the lowest bit at the latest, whose list is not empty.
    let mut high = u64::from(bits.ilog2());
    while rows.degree(first + high) == 0 {
        bits &= !(1 << high);
        high = u64::from(bits.ilog2());
    }
    let start = rows.group_offset(group) + rows.degrees.sum(first..first + low);
    Some(start..start + rows.degrees.sum(first + low..first + high + 1))
}
