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
//! Lists that a cache holds are not read. Workers have shares, and steal from others' once they are
//! done (work stealing). A list longer than a request arrives in pieces.

use std::{ops::Range, sync::atomic::Ordering::Relaxed};

use outercore_caches::ListCache;
use outercore_storage::{BitmapIo, Stopwatch, WantedBlocks, WorkShares, bits_of, bits_within};

use super::{
    list_reader::{Compute, Lane, ListReader},
    rows::Rows,
};
use crate::{session::Session, techniques::Technique};
use outercore_graph::{
    GraphError, Result, error,
    format::{Group, List, RowIndex},
};

/// The lists of active vertices.
pub struct IoIterator<'a> {
    session: &'a Session<'a>,
    /// Where they lie, and what stays in memory of them.
    pub rows: &'a Rows,
    /// Before the device, the first to be asked first.
    caches: Vec<&'a dyn ListCache>,
    ordered: bool,
    within: Range<u64>,
}

impl<'a> IoIterator<'a> {
    /// Lists of `rows`.
    pub(crate) fn new(session: &'a Session<'a>, rows: &'a Rows) -> Self {
        let front = rows.prefix.has_room().then_some(&rows.prefix as &dyn ListCache);
        let selected = session.selected.as_ref().and_then(|all| all.of(&rows.lists[0].name));
        let caches = selected.into_iter().chain(front).collect();
        Self { session, rows, caches, ordered: false, within: rows.window.clone() }
    }

    /// With a cache that is asked before the others.
    pub(crate) fn behind(mut self, cache: &'a dyn ListCache) -> Self {
        self.caches.insert(0, cache);
        self
    }

    /// Only vertices of a range, which lies in the window of the rows.
    pub(crate) fn within(self, within: Range<u64>) -> Self {
        Self { within, ..self }
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
        self.rows.keep_if_worth(self.session)?;
        let alone = self.ordered || expected < ALONE;
        let workers = if alone { 1 } else { self.session.workers.count() as u64 };
        let shares = self.shares(workers, self.session.config.stealing);
        let (first, whole) = (self.within.start / 64, self.whole());
        let body = |index: usize| {
            let mut state = state(index);
            let compute = |vertex, list: List| compute(&mut state, vertex, list);
            if let Some(all) = whole {
                let groups = std::iter::from_fn(|| shares.take(index)).flatten();
                let groups = groups.map(|at| first + at);
                let groups = groups.map(|at| (at, is_active(at) & bits_within(at, &self.within)));
                self.rows.show(self.session, all, groups, compute);
            } else {
                self.work((index, index), &shares, &is_active, compute)?;
            }
            Ok(state)
        };
        let results = if alone { vec![body(0)] } else { self.session.workers.map(body) };
        let stolen = [shares.stolen.load(Relaxed), 0];
        self.session.counters.note(Technique::WorkStealing, stolen);
        self.session.check()?;
        error::all(results)
    }

    /// The same in shares that do not depend on how many workers there are, at most [`SHARES`].
    /// Each has a state of its own, gets its lists in ascending order, and comes to its `end`.
    pub(crate) fn for_each_share<S>(
        &self,
        expected: u64,
        is_active: impl Fn(u64) -> u64 + Sync,
        state: impl Fn(u32) -> S + Sync,
        compute: impl Fn(&mut S, u64, List) + Sync,
        end: impl Fn(S) -> Result<()> + Sync,
    ) -> Result<()> {
        self.rows.keep_if_worth(self.session)?;
        let all = self.ranges(1, (expected / ALONE).clamp(1, SHARES.into()), false);
        let ranges: Vec<_> = std::iter::from_fn(|| all.take(0)).collect();
        let (first, Range { start, end: last }) = (self.within.start / 64, self.within.clone());
        let done = self.session.workers.try_over(ranges.len() as u64, 1, Ok, |worker, share| {
            let groups = &ranges[share.start as usize];
            let of = |group: u64| ((first + group) * 64).clamp(start, last);
            let within = of(groups.start)..of(groups.end);
            let (mut state, caches) = (state(share.start as u32), self.caches.clone());
            let compute = |vertex, list: List| compute(&mut state, vertex, list);
            Self { within, caches, ..*self }.for_each_here(*worker, &is_active, compute)?;
            end(state)
        });
        self.session.check()?;
        error::all(done).map(drop)
    }

    /// The same on the calling worker alone, in ascending order.
    pub(crate) fn for_each_here(
        mut self,
        worker: usize,
        is_active: impl Fn(u64) -> u64,
        compute: impl FnMut(u64, List),
    ) -> Result<()> {
        self.ordered = true;
        self.work((worker, 0), &self.shares(1, false), is_active, compute)
    }

    /// Shares of the groups of the range: small enough to be shared out evenly, and large enough to
    /// form long runs.
    fn shares(&self, workers: u64, stealing: bool) -> WorkShares<impl Fn(u64) -> u64 + Sync> {
        let (groups, cost) = self.cost();
        let most = if groups > 0 { (cost(groups) - cost(0)) / RANGE_COST } else { 0 };
        self.ranges(workers, most.min(64 * workers).max(groups / 4096).max(workers), stealing)
    }

    /// The same, so many.
    fn ranges(
        &self,
        workers: u64,
        ranges: u64,
        stealing: bool,
    ) -> WorkShares<impl Fn(u64) -> u64 + Sync> {
        let (groups, cost) = self.cost();
        WorkShares::new(groups, workers, ranges, stealing, cost)
    }

    /// How many groups the range has, and what those before one of them cost.
    fn cost(&self) -> (u64, impl Fn(u64) -> u64 + Sync) {
        let first = self.within.start / 64;
        let groups = self.within.end.div_ceil(64).saturating_sub(first);
        (groups, move |group| self.rows.group_offset(first + group) + GROUP_COST * group)
    }

    /// What one worker does, with its own share of `shares`.
    fn work(
        &self,
        (worker, share): (usize, usize),
        shares: &WorkShares<impl Fn(u64) -> u64>,
        is_active: impl Fn(u64) -> u64,
        mut compute: impl FnMut(u64, List),
    ) -> Result<()> {
        let mut ask = |requests: &mut Requests| requests.run((share, shares), &is_active);
        self.serve(worker, &mut compute, &mut ask)
    }

    /// Lets `ask` request lists, which are handed to `compute`, on worker `worker`.
    pub fn serve<'i>(
        &'i self,
        worker: usize,
        compute: &mut dyn Compute,
        ask: &mut dyn FnMut(&mut Requests<'i, '_>) -> Result<()>,
    ) -> Result<()> {
        let mut reader = self.session.reader(worker);
        let (session, caches, reader) = (self.session, &self.caches[..], &mut *reader);
        let reader =
            ListReader::new(session, self.rows, caches, (worker, reader, compute), self.ordered);
        let lead = reader.lead();
        let mut requests = Requests {
            stream: self,
            lead,
            blocks: BitmapIo::new(WantedBlocks::new(
                self.session.config.io_scheduling,
                self.session.limits.merging(),
                lead.width,
            )),
            reader,
            preparing: Stopwatch::default(),
        };
        let result = ask(&mut requests);
        requests.reader.end(result.is_err());
        let counters = &self.session.counters;
        let BitmapIo { marks, along, cut, .. } = requests.blocks;
        counters.note(Technique::BitmapIo, [marks, 0]);
        counters.note(Technique::GapMerging, [along, 0]);
        counters.note(Technique::RequestBound, [cut, 0]);
        counters.prepare_nanos.fetch_add(requests.preparing.nanos, Relaxed);
        result
    }

    /// Reads what stays in memory, if that is all; then gives all lists, and where each lies.
    pub fn load(&self) -> Result<Option<(&'a RowIndex, List<'a>)>> {
        self.rows.keep(self.session, u64::MAX)?;
        Ok(self.whole().map(|all| (&**self.rows, all)))
    }

    /// All lists, if memory has all and no other cache is asked.
    fn whole(&self) -> Option<List<'a>> {
        self.rows.prefix.whole().filter(|_| self.caches.len() == 1)
    }
}

/// What it costs to look at 64 vertices and their lists, in edges: a list as much as 16, as was
/// measured.
const GROUP_COST: u64 = 1024;

/// Steps with fewer edges are one worker's.
pub const ALONE: u64 = 1 << 14;

/// Shares of a step in which the order of lists matters, at most.
pub const SHARES: u32 = 16;

/// The least that a range costs, in edges: some requests.
const RANGE_COST: u64 = 1 << 18;

/// Groups that are asked for their active vertices before what they want is marked.
const ASKED: u64 = 1 << 12;

/// Lists that are marked together.
struct Marked {
    some: Group,
    edges: Range<u64>,
    blocks: Range<u64>,
}

/// What a worker wants, has requested and gets.
pub struct Requests<'i, 'r> {
    stream: &'i IoIterator<'i>,
    /// Requests are made in the section whose entries are wider: the other's are no longer.
    lead: Lane<'i>,
    blocks: BitmapIo,
    reader: ListReader<'i, 'r>,
    preparing: Stopwatch,
}

impl<'i> Requests<'i, '_> {
    /// The list of a vertex, if it is in memory, or was read and is kept.
    #[inline]
    pub fn list<'l>(&'l self, of: &IoIterator<'l>, vertex: u64) -> Option<List<'l>> {
        let (rows, mut edges) = (of.rows, 0..0);
        let only = (vertex / 64, 1 << (vertex % 64));
        rows.for_lists(only, |_, first, count| edges = first..first + count);
        rows.prefix.list(&edges).or_else(|| self.reader.kept(rows, &edges))
    }

    /// Requests the lists of some vertices, ascending, and keeps what is read until its memory is
    /// needed. Another direction than before waits for all that were requested.
    pub fn ask(&mut self, of: &'i IoIterator<'i>, vertices: &[u64]) -> Result<()> {
        if !std::ptr::eq(self.stream, of) {
            self.reader.turn_to(of.rows, &of.caches)?;
            (self.stream, self.lead) = (of, self.reader.lead());
        }
        self.reader.keeps = true;
        self.preparing.start();
        for some in vertices.chunk_by(|a, b| a / 64 == b / 64) {
            let group = some[0] / 64;
            let bits = bits_of(some.iter().copied());
            let bits = self.reader.cached.take(of.rows, (group, bits));
            self.mark((group, bits))?;
        }
        self.request()?;
        self.preparing.stop();
        self.reader.deliver_held();
        Ok(())
    }

    /// Hands over lists that have arrived; with `wait`, waits for some. `false`: there are none.
    pub fn deliver(&mut self, wait: bool) -> Result<bool> {
        self.reader.deliver(wait)
    }

    /// Vertices whose lists have not arrived.
    pub fn pending(&self) -> usize {
        self.reader.pending
    }

    fn run(
        &mut self,
        (share, shares): (usize, &WorkShares<impl Fn(u64) -> u64>),
        is_active: impl Fn(u64) -> u64,
    ) -> Result<()> {
        while let Some(range) = shares.take(share) {
            for first in range.clone().step_by(ASKED as usize) {
                self.mark_active(first..(first + ASKED).min(range.end), &is_active)?;
                self.deliver_held()?;
            }
            if self.stream.session.stopped() {
                return Err(GraphError::Cancelled);
            }
        }
        self.finish()?;
        self.deliver_held()
    }

    /// Hands over all lists that were marked or requested.
    fn finish(&mut self) -> Result<()> {
        if !self.blocks.groups.is_empty() {
            self.preparing.start();
            self.request()?;
            self.preparing.stop();
        }
        while self.reader.deliver(true)? {}
        Ok(())
    }

    /// Hands over the lists that caches hold. In order, what was marked or requested comes between
    /// them: they wait for it, unless they have become too many.
    fn deliver_held(&mut self) -> Result<()> {
        let ordered = self.stream.ordered;
        if ordered && self.reader.cached.are_many() {
            self.finish()?;
        }
        if !ordered || self.reader.pending + self.blocks.groups.len() == 0 {
            self.reader.deliver_held();
        }
        Ok(())
    }

    /// Asks for the active vertices of some groups of the range, notes those whose lists a cache
    /// holds, and then, by the stopwatch, marks what the others want.
    fn mark_active(&mut self, groups: Range<u64>, is_active: impl Fn(u64) -> u64) -> Result<()> {
        let first = self.stream.within.start / 64;
        let mut others = Vec::new();
        for group in first + groups.start..first + groups.end {
            let mut bits = is_active(group) & bits_within(group, &self.stream.within);
            if bits != 0 {
                bits = self.reader.cached.take(self.stream.rows, (group, bits));
            }
            if bits != 0 {
                others.push((group, bits));
            }
        }
        // The time costs more to ask for than most groups of a small frontier do.
        if !others.is_empty() {
            self.preparing.start();
            others.into_iter().try_for_each(|some| self.mark(some))?;
            self.preparing.stop();
        }
        Ok(())
    }

    /// Some lists, and the blocks that they want.
    fn wanted(&self, some: Group, edges: Range<u64>) -> Marked {
        Marked { some, blocks: self.lead.blocks(&edges), edges }
    }

    /// Marks what the active vertices of a group want. The stopwatch runs before and after.
    fn mark(&mut self, (group, bits): Group) -> Result<()> {
        let rows = self.stream.rows;
        let whole = rows.group(group);
        if whole.is_empty() {
            return Ok(());
        }
        if self.blocks.wanted.takes_ranges() || self.reader.may_be_kept(&whole) {
            return self.mark_lists((group, bits), false);
        }
        let all = self.wanted((group, bits), whole);
        if bits == u64::MAX {
            return self.mark_blocks(all);
        }
        // So many blocks in a row are read together if the first and the last one are, whatever
        // else is wanted of them.
        if all.blocks.end - all.blocks.start > self.blocks.wanted.policy.max_gap + 2 {
            return self.mark_lists((group, bits), true);
        }
        match rows.extent((group, bits)) {
            Some(edges) => self.mark_blocks(self.wanted((group, bits), edges)),
            None => Ok(()),
        }
    }

    /// Marks lists; with `together`, those whose blocks touch at once: most are shorter than a
    /// block.
    fn mark_lists(&mut self, (group, bits): Group, together: bool) -> Result<()> {
        let (mut result, mut open): (_, Option<Marked>) = (Ok(()), None);
        self.stream.rows.for_lists((group, bits), |vertex, first, count| {
            let next = self.wanted((group, 1 << (vertex % 64)), first..first + count);
            match &mut open {
                Some(open) if together && next.blocks.start <= open.blocks.end => {
                    open.some.1 |= next.some.1;
                    open.edges.end = next.edges.end;
                    open.blocks.end = next.blocks.end;
                }
                _ => {
                    if let Some(lists) = open.replace(next)
                        && result.is_ok()
                    {
                        result = self.mark_blocks(lists);
                    }
                }
            }
        });
        result?;
        open.map_or(Ok(()), |lists| self.mark_blocks(lists))
    }

    fn mark_blocks(&mut self, Marked { some, edges, blocks }: Marked) -> Result<()> {
        if self.blocks.add(some, &blocks) {
            return Ok(());
        }
        self.request()?;
        if self.blocks.add(some, &blocks) {
            return Ok(());
        }
        // Longer than a window: request by request.
        let limits = self.stream.session.limits;
        let step = (limits.max_request_bytes - limits.block_bytes) / self.lead.width;
        self.preparing.stop();
        for first in edges.clone().step_by(step as usize) {
            let part = first..(first + step).min(edges.end);
            self.blocks.cut += 1;
            self.reader.request(part, std::iter::once(some))?;
        }
        self.preparing.start();
        Ok(())
    }

    /// Makes requests of everything that is wanted. The stopwatch runs before and after, and stands
    /// still while requests are submitted and lists computed.
    fn request(&mut self) -> Result<()> {
        self.blocks.wanted.sort();
        let requests = self.plan();
        self.preparing.stop();
        for (edges, groups) in requests {
            self.reader.request(edges, self.blocks.groups[groups].iter().copied())?;
        }
        self.blocks.clear();
        self.preparing.start();
        Ok(())
    }

    /// Turns what is wanted into requests: the edges of each, and which of the groups that want
    /// something want them.
    fn plan(&mut self) -> Vec<(Range<u64>, Range<usize>)> {
        let blocks = &mut self.blocks;
        let (rows, groups) = (self.stream.rows, &blocks.groups);
        let (block, width) = (self.stream.session.limits.block_bytes, self.lead.width);
        let (mut requests, mut from, mut done, mut at) = (Vec::new(), 0, 0, 0);
        while let Some(run) = blocks.wanted.next(from) {
            blocks.along += blocks.wanted.unwanted(&run);
            let first = done.max((run.start * block).div_ceil(width));
            let end = (run.end * block / width).min(rows.edges());
            // An entry on the boundary of two requests belongs to the second, which begins with the
            // block where the entry does.
            let cut = blocks.wanted.has(run.end) && end < rows.edges();
            blocks.cut += u64::from(cut);
            from = if cut { end * width / block } else { run.end };
            done = end;
            at += groups[at..].partition_point(|&(group, _)| rows.group_offset(group + 1) <= first);
            let until =
                at + groups[at..].partition_point(|&(group, _)| rows.group_offset(group) < end);
            requests.push((first..end, at..until));
        }
        requests
    }
}
