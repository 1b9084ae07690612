//! [`IoIterator`]: the lists of active vertices, in the order in which storage delivers them
//! (Graphene, FAST'17, section 2).
//!
//! The author says which vertices are active and what to do with a list. Everything between is
//! here:
//!
//! ```text
//! active vertices -> caches -> blocks (bitmap I/O) -> requests -> lists (list reader)
//!                       \----------------------------------------^
//! ```
//!
//! Lists that a cache holds are not read. The work is divided into shares, and workers that are
//! done steal from others' (work stealing). A list longer than a request arrives in pieces.

use std::{ops::Range, sync::atomic::Ordering::Relaxed};

use outercore_storage::MergePolicy;

use super::{
    bitmap_io::BitmapIo,
    cache::ListCache,
    list::List,
    list_reader::{Lane, ListReader},
    row_index::Group,
    rows::Rows,
    stopwatch::Stopwatch,
    work_stealing::WorkShares,
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
    /// Before the device, the first to be asked first.
    caches: Vec<&'a dyn ListCache>,
    ordered: bool,
    within: Range<u64>,
}

impl<'a> IoIterator<'a> {
    /// Lists of `rows`.
    pub(crate) fn new(session: &'a Session<'a>, rows: &'a Rows) -> Self {
        let prefix = (!rows.prefix.is_empty()).then_some(&rows.prefix as &dyn ListCache);
        let caches = prefix.into_iter().collect();
        Self { session, rows, caches, ordered: false, within: rows.window() }
    }

    /// With a cache that is asked before the others.
    pub(crate) fn behind(mut self, cache: &'a dyn ListCache) -> Self {
        self.caches.insert(0, cache);
        self
    }

    /// Only vertices of `range`, which lies in the window of the rows.
    pub(crate) fn within(self, range: Range<u64>) -> Self {
        Self { within: range, ..self }
    }

    /// With `true`, lists come in ascending order of their vertices, to one worker: for sums whose
    /// order matters.
    pub(crate) fn ordered(self, ordered: bool) -> Self {
        Self { ordered, ..self }
    }

    /// Hands the list of every active vertex with edges to `compute`, on all workers; all pieces of
    /// a list go to one of them. `is_active` is asked once for each group of 64 vertices: it gets
    /// the group's number and answers with bits. `expected` is about how many edges there will be:
    /// a small step stays on one worker.
    pub(crate) fn for_each<S: Send>(
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
    pub(crate) fn for_each_here(self, worker: usize, compute: impl FnMut(u64, List)) -> Result<()> {
        self.for_each_active_here(worker, |_| u64::MAX, compute)
    }

    /// The same with active vertices only; `is_active` is as in [`IoIterator::for_each`].
    pub(crate) fn for_each_active_here(
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
    ) -> WorkShares<impl Fn(u64) -> u64 + Sync> {
        let first = self.within.start / 64;
        let cost = move |group| self.rows.group_offset(first + group) + GROUP_COST * group;
        // Ranges are small enough to be shared out evenly, and large enough to form long runs.
        let most = if groups > 0 { (cost(groups) - cost(0)) / RANGE_COST } else { 0 };
        WorkShares::new(
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
        shares: &WorkShares<impl Fn(u64) -> u64>,
        is_active: &impl Fn(u64) -> u64,
        compute: &mut impl FnMut(u64, List),
    ) -> Result<()> {
        let mut reader = self.session.pooled_reader(worker);
        let (limits, scheduling) = (self.session.limits(), self.session.config.io_scheduling);
        let policy = MergePolicy {
            max_gap: limits.max_gap_bytes / limits.block_bytes,
            max_run: limits.max_request_bytes / limits.block_bytes,
        };
        let (neighbors, weights) = Lane::of(self.rows, &self.caches, limits.block_bytes);
        // Requests are made in the section whose entries are wider: the other's are no longer.
        let lead =
            weights.filter(|weights| weights.width() > neighbors.width()).unwrap_or(neighbors);
        let reader = (worker, &mut *reader);
        let mut worker = Worker {
            stream: self,
            lead,
            one_by_one: scheduling == IoScheduling::Pluglist,
            joined: policy.max_gap + 2,
            active: Vec::new(),
            held: Vec::new(),
            blocks: BitmapIo::new(scheduling, policy),
            requests: Vec::new(),
            reader: ListReader::new(self.session, self.rows, &self.caches, reader, self.ordered),
            preparing: Stopwatch::default(),
        };
        let result = worker.run(share, shares, is_active, compute);
        let Worker { reader, preparing, .. } = worker;
        reader.end(result.is_err());
        self.session.counters.prepare_nanos.fetch_add(preparing.nanos, Relaxed);
        result
    }
}

/// A request to be: its edges, and which of the groups that want something want them.
struct Request {
    edges: Range<u64>,
    groups: Range<usize>,
}

/// What it costs to look at 64 vertices and their lists, in edges: a list as much as 16, as was
/// measured.
const GROUP_COST: u64 = 1024;

/// The least that a range costs, in edges: some requests.
const RANGE_COST: u64 = 1 << 18;

/// Groups that are asked for their active vertices before what they want is marked.
const ASKED: u64 = 1 << 12;

/// Groups of vertices whose lists are held before they are delivered.
const HELD: usize = 1 << 10;

/// Lists that are marked together: the vertices' bits, their edges, their blocks.
type Marked = (u64, Range<u64>, Range<u64>);

struct Worker<'i, 'r> {
    stream: &'i IoIterator<'i>,
    lead: Lane<'i>,
    /// The pluglist takes every list as a request of its own.
    one_by_one: bool,
    /// The most blocks in a row that are read together if the first and the last one are, whatever
    /// else is wanted of them.
    joined: u64,
    /// The active vertices of a range.
    active: Vec<Group>,
    /// Vertices whose lists a cache holds, and its place in the chain.
    held: Vec<(usize, Group)>,
    blocks: BitmapIo,
    requests: Vec<Request>,
    reader: ListReader<'i, 'r>,
    preparing: Stopwatch,
}

impl Worker<'_, '_> {
    fn run(
        &mut self,
        share: usize,
        shares: &WorkShares<impl Fn(u64) -> u64>,
        is_active: &impl Fn(u64) -> u64,
        compute: &mut impl FnMut(u64, List),
    ) -> Result<()> {
        while let Some(range) = shares.take(share) {
            for first in range.clone().step_by(ASKED as usize) {
                self.mark_active(first..(first + ASKED).min(range.end), is_active, compute)?;
            }
            self.deliver_held(compute);
            if self.stream.session.stopped() {
                return Err(EngineError::Cancelled);
            }
        }
        self.preparing.start();
        self.request(compute)?;
        self.preparing.stop();
        while self.reader.poll(true, compute)? {}
        Ok(())
    }

    /// Asks for the active vertices of some groups, and then, by the stopwatch, marks what these
    /// want: which are active is the author's to say.
    fn mark_active(
        &mut self,
        groups: Range<u64>,
        is_active: &impl Fn(u64) -> u64,
        compute: &mut impl FnMut(u64, List),
    ) -> Result<()> {
        let mut active = std::mem::take(&mut self.active);
        active.clear();
        active.extend(self.stream.active(groups, is_active));
        self.preparing.start();
        for &(group, bits) in &active {
            let bits = self.set_held_aside((group, bits), compute);
            if bits != 0 {
                self.mark((group, bits), compute)?;
            }
        }
        self.preparing.stop();
        self.active = active;
        Ok(())
    }

    /// Notes those of a group's active vertices whose lists a cache holds; returns the others.
    /// Lists in order come from the reader alone.
    fn set_held_aside(
        &mut self,
        (group, mut bits): Group,
        compute: &mut impl FnMut(u64, List),
    ) -> u64 {
        if self.stream.ordered {
            return bits;
        }
        for (at, cache) in self.stream.caches.iter().enumerate() {
            let held = cache.held(self.stream.rows, (group, bits));
            if held != 0 {
                self.held.push((at, (group, held)));
                bits &= !held;
            }
        }
        if self.held.len() >= HELD {
            self.preparing.stop();
            self.deliver_held(compute);
            self.preparing.start();
        }
        bits
    }

    fn deliver_held(&mut self, compute: &mut impl FnMut(u64, List)) {
        self.reader.deliver_held(&self.held, compute);
        self.held.clear();
    }

    /// Marks what the active vertices of a group want. The stopwatch runs before and after.
    fn mark(&mut self, (group, bits): Group, compute: &mut impl FnMut(u64, List)) -> Result<()> {
        let rows = self.stream.rows;
        let whole = rows.group(group);
        if whole.is_empty() {
            return Ok(());
        }
        if self.one_by_one || self.reader.may_be_kept(&whole) {
            let mut result = Ok(());
            rows.for_lists((group, bits), |vertex, first, count| {
                if result.is_ok() {
                    let (one, edges) = ((group, 1 << (vertex % 64)), first..first + count);
                    let blocks = self.lead.blocks(&edges);
                    result = self.mark_blocks(one, edges, &blocks, compute);
                }
            });
            return result;
        }
        let blocks = self.lead.blocks(&whole);
        if bits == u64::MAX {
            return self.mark_blocks((group, bits), whole, &blocks, compute);
        }
        if blocks.end - blocks.start <= self.joined {
            let Some(edges) = rows.extent((group, bits)) else { return Ok(()) };
            let blocks = self.lead.blocks(&edges);
            return self.mark_blocks((group, bits), edges, &blocks, compute);
        }
        self.mark_touching((group, bits), compute)
    }

    /// Marks lists whose blocks touch together: most are shorter than a block.
    fn mark_touching(
        &mut self,
        (group, bits): Group,
        compute: &mut impl FnMut(u64, List),
    ) -> Result<()> {
        let (mut result, mut open): (_, Option<Marked>) = (Ok(()), None);
        self.stream.rows.for_lists((group, bits), |vertex, first, count| {
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
                        result = self.mark_blocks((group, bits), edges, &blocks, compute);
                    }
                }
            }
        });
        result?;
        open.map_or(Ok(()), |(bits, edges, blocks)| {
            self.mark_blocks((group, bits), edges, &blocks, compute)
        })
    }

    fn mark_blocks(
        &mut self,
        some: Group,
        edges: Range<u64>,
        blocks: &Range<u64>,
        compute: &mut impl FnMut(u64, List),
    ) -> Result<()> {
        if self.blocks.add(some, blocks) {
            return Ok(());
        }
        self.request(compute)?;
        if self.blocks.is_too_long(blocks) {
            return self.request_long(some, edges, compute);
        }
        let room = self.blocks.add(some, blocks);
        debug_assert!(room, "what is empty has room");
        Ok(())
    }

    /// Makes requests of everything that is wanted. The stopwatch runs before and after, and stands
    /// still while requests are submitted and lists computed.
    fn request(&mut self, compute: &mut impl FnMut(u64, List)) -> Result<()> {
        self.plan();
        self.preparing.stop();
        for Request { edges, groups } in self.requests.drain(..) {
            let groups = self.blocks.groups()[groups].iter().copied();
            self.reader.request(edges, groups, compute)?;
        }
        self.blocks.clear();
        self.preparing.start();
        Ok(())
    }

    /// Turns what is wanted into requests.
    fn plan(&mut self) {
        let rows = self.stream.rows;
        let (block, width) = (self.stream.session.limits().block_bytes, self.lead.width());
        self.blocks.sort();
        let (mut from, mut done, mut at) = (0, 0, 0);
        while let Some(run) = self.blocks.next(from) {
            let first = done.max((run.start * block).div_ceil(width));
            let end = (run.end * block / width).min(rows.edges());
            // An entry on the boundary of two requests belongs to the second, which begins with the
            // block where the entry does.
            let cut = self.blocks.has(run.end) && end < rows.edges();
            from = if cut { end * width / block } else { run.end };
            done = end;
            let groups = self.blocks.groups();
            at += groups[at..].partition_point(|&(group, _)| rows.group_offset(group + 1) <= first);
            let until =
                at + groups[at..].partition_point(|&(group, _)| rows.group_offset(group) < end);
            self.requests.push(Request { edges: first..end, groups: at..until });
        }
    }

    /// Requests lists that are longer than a window, request by request.
    fn request_long(
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
            self.reader.request(first..end, std::iter::once(some), compute)?;
            first = end;
        }
        self.preparing.start();
        Ok(())
    }
}
