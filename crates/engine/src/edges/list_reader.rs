//! [`ListReader`]: runs of lists on their way to one worker. A run is a range of edges that one
//! request covers (with weights: one for each section), and the vertices of it that are meant. Runs
//! are delivered as they arrive, or in their own order.

use std::{collections::VecDeque, ops::Range, sync::atomic::Ordering::Relaxed};

use outercore_caches::{Chain, HeldLists};
use outercore_graph::{
    GraphError, Result,
    format::{Group, List},
};
use outercore_storage::{Buffer, PAGE, PageCache, PrefixCache, Reader, Units};

use super::rows::Rows;
use crate::{
    session::{OpenSection, Session},
    techniques::Technique,
};

const PAGE_BYTES: u64 = PAGE as u64;

/// Groups of all runs in flight: bounds the memory that they take.
const GROUPS: usize = 1 << 15;

/// Lists that are read together.
struct ListRun<'s> {
    /// How many were requested before it.
    number: u64,
    /// Edges, by their number in the rows.
    edges: Range<u64>,
    groups: Vec<Group>,
    parts: [LanePart<'s>; 2],
    /// Parts that have not arrived, and one more until all are requested.
    missing: usize,
}

/// The bytes of a run in one section.
#[derive(Default)]
struct LanePart<'s> {
    /// Where they begin in the section, and how many are read.
    start: u64,
    len: usize,
    /// What was read, once it has arrived.
    read: Option<Buffer>,
    /// What need not be read.
    cached: &'s [u8],
}

/// One section of the rows: the neighbors' or the weights'.
#[derive(Clone, Copy)]
pub struct Lane<'s> {
    file: &'s OpenSection,
    front: &'s PrefixCache,
    /// Bytes of an entry.
    pub width: u64,
    block: u64,
}

impl<'s> Lane<'s> {
    /// Those of some rows.
    fn all(session: &Session, rows: &'s Rows) -> Vec<Self> {
        let block = session.limits.block_bytes;
        let lane =
            |(file, front): (_, &'s PrefixCache)| Self { file, front, width: front.width, block };
        rows.lists.iter().zip(&rows.prefix.0).map(lane).collect()
    }

    /// The bytes that must be read for some edges: whole blocks, and whole pages where they will be
    /// kept.
    #[inline]
    fn span(&self, edges: &Range<u64>) -> Range<u64> {
        // Blocks and pages are powers of two: a division for each list would cost more than all the
        // rest.
        let mask = |byte: u64| {
            if self.front.wants_byte(byte) {
                self.block.max(PAGE_BYTES) - 1
            } else {
                self.block - 1
            }
        };
        let (first, last) = (edges.start * self.width, edges.end * self.width - 1);
        // A section's file ends with a whole page.
        first & !mask(first)..((last | mask(last)) + 1).min(self.file.pages() * PAGE_BYTES)
    }

    /// The blocks of that.
    #[inline]
    pub(crate) fn blocks(&self, edges: &Range<u64>) -> Range<u64> {
        let (bytes, bits) = (self.span(edges), self.block.trailing_zeros());
        bytes.start >> bits..((bytes.end - 1) >> bits) + 1
    }
}

impl LanePart<'_> {
    /// The bytes of some edges.
    #[inline(always)]
    fn slice(&self, edges: &Range<u64>, width: usize) -> &[u8] {
        let bytes = self.read.as_deref().unwrap_or(self.cached);
        let start = (edges.start * width as u64 - self.start) as usize;
        &bytes[start..start + (edges.end - edges.start) as usize * width]
    }
}

/// What is done with lists: called once for all of a run, so that what brings them is compiled
/// once.
pub trait Compute {
    /// A list.
    fn list(&mut self, vertex: u64, list: List);
    /// Those of a run.
    fn all(&mut self, run: &mut ArrivedRun);
}

impl<C: FnMut(u64, List)> Compute for C {
    fn list(&mut self, vertex: u64, list: List) {
        self(vertex, list);
    }
    fn all(&mut self, run: &mut ArrivedRun) {
        run.for_each(self);
    }
}

/// A run whose bytes are here, and what is found of its lists.
pub struct ArrivedRun<'a, 's> {
    run: &'a ListRun<'a>,
    lanes: &'a [Lane<'a>],
    rows: &'a Rows,
    cached: &'a mut HeldLists<'s>,
    worker: usize,
    /// Vertices with edges, if bytes could not be verified.
    doubtful: Option<u64>,
    used: Vec<Units>,
    edges: u64,
    sound: bool,
}

impl ArrivedRun<'_, '_> {
    /// Shows the lists, as long as they are sound.
    fn for_each(&mut self, mut compute: impl FnMut(u64, List)) {
        let (run, &Rows { width, weight_width, .. }) = (self.run, self.rows);
        let taken = self.cached.takes_lists();
        for &group in &run.groups {
            self.rows.for_lists(group, |vertex, first, count| {
                let part = first.max(run.edges.start)..(first + count).min(run.edges.end);
                if part.is_empty() {
                    return;
                }
                if self.cached.next < vertex {
                    self.cached.show((self.rows, self.worker), vertex, &mut compute);
                }
                let lanes = self.lanes.iter().zip(&run.parts);
                for (units, (Lane { width, .. }, LanePart { start, .. })) in
                    self.used.iter_mut().zip(lanes)
                {
                    let at = |edge: u64| (edge * width - start) as usize;
                    units.note(at(part.start)..at(part.end));
                }
                let list = List {
                    neighbors: run.parts[0].slice(&part, width),
                    weights: run.parts[1].slice(&part, weight_width),
                    width,
                    weight_width,
                };
                self.edges += part.end - part.start;
                self.sound &= self.doubtful.is_none_or(|connected| list.is_sound(connected));
                if self.sound {
                    compute(vertex, list);
                    if taken && part.end - part.start == count {
                        self.cached.offer(self.worker, vertex, list);
                    }
                }
            });
        }
    }
}

/// Runs on their way to a worker, which hands their lists to `compute`.
pub struct ListReader<'s, 'r> {
    session: &'s Session<'s>,
    rows: &'s Rows,
    /// Lists that need not be read.
    pub cached: HeldLists<'s>,
    /// Neighbors, and weights if they are read.
    lanes: Vec<Lane<'s>>,
    worker: usize,
    reader: &'r mut Reader,
    compute: &'r mut dyn Compute,
    ordered: bool,
    /// Runs that were requested and not delivered, in that order.
    line: VecDeque<ListRun<'s>>,
    /// Runs requested so far.
    requested: u64,
    /// Groups of all runs in the line.
    held: usize,
    /// Vertices of them.
    pub pending: usize,
    /// Whether what was read can be had again until its memory is needed.
    pub keeps: bool,
    edges: u64,
    useful: u64,
    /// Requests that begin or end within a page, and how many were in flight at most.
    small: u64,
    deepest: usize,
}

/// How many vertices are meant.
fn vertices(groups: &[Group]) -> usize {
    groups.iter().map(|group| group.1.count_ones() as usize).sum()
}

impl<'s, 'r> ListReader<'s, 'r> {
    /// Nothing on its way yet. With `ordered`, lists are delivered in the order of the requests.
    pub(crate) fn new(
        session: &'s Session<'s>,
        rows: &'s Rows,
        caches: Chain<'s>,
        (worker, reader, compute): (usize, &'r mut Reader, &'r mut dyn Compute),
        ordered: bool,
    ) -> Self {
        Self {
            session,
            rows,
            cached: HeldLists::new(caches, ordered),
            lanes: Lane::all(session, rows),
            worker,
            reader,
            compute,
            ordered,
            line: VecDeque::new(),
            requested: 0,
            held: 0,
            pending: 0,
            keeps: false,
            edges: 0,
            useful: 0,
            small: 0,
            deepest: 0,
        }
    }

    /// Lists of other rows are requested from now on. Those of the rows so far are delivered first.
    pub(crate) fn turn_to(&mut self, rows: &'s Rows, caches: Chain<'s>) -> Result<()> {
        while self.deliver(true)? {}
        (self.rows, self.cached.chain, self.lanes) = (rows, caches, Lane::all(self.session, rows));
        Ok(())
    }

    /// A list of these rows with these edges, if what is kept has all of it.
    pub(crate) fn kept(&self, rows: &Rows, edges: &Range<u64>) -> Option<List<'_>> {
        let find = |at: usize, width: usize| {
            let file = rows.lists.get(at).map(|list| list.queued().1);
            let bytes = edges.start * width as u64..edges.end * width as u64;
            file.map_or(Some(&[][..]), |file| self.reader.pool.find(file, &bytes))
        };
        let Rows { width, weight_width, .. } = *rows;
        Some(List {
            neighbors: find(0, width)?,
            weights: find(1, weight_width)?,
            width,
            weight_width,
        })
    }

    /// The lane of the section whose entries are wider.
    pub(crate) fn lead(&self) -> Lane<'s> {
        let widest = self.lanes.iter().rev().max_by_key(|lane| lane.width);
        *widest.expect("neighbors are read")
    }

    /// Requests the lists of `groups` that lie in `edges`. Makes room first, by delivering what has
    /// arrived.
    pub(crate) fn request(
        &mut self,
        edges: Range<u64>,
        groups: impl Iterator<Item = Group>,
    ) -> Result<()> {
        while self.held >= GROUPS || self.line.len() >= 2 * self.session.config.queue_depth {
            self.deliver(true)?;
        }
        let (number, groups, parts) = (self.requested, groups.collect::<Vec<_>>(), <_>::default());
        self.requested += 1;
        self.held += groups.len();
        self.pending += vertices(&groups);
        self.line.push_back(ListRun { number, edges, groups, parts, missing: 1 });
        (0..self.lanes.len()).try_for_each(|part| self.start(part))?;
        self.newest().missing -= 1;
        Ok(())
    }

    /// The run that is being requested.
    fn newest(&mut self) -> &mut ListRun<'s> {
        self.line.back_mut().expect("it is in the line")
    }

    /// Takes a part of the newest run from the front, or requests it.
    fn start(&mut self, part: usize) -> Result<()> {
        let (lane, edges) = (self.lanes[part], self.newest().edges.clone());
        let pages = lane.front.pages(&edges);
        if let Some(cached) = lane.front.get(&pages) {
            let hits = pages.end - pages.start;
            self.session.counters.note(Technique::ListCache, [hits, hits * PAGE_BYTES]);
            let start = pages.start * PAGE_BYTES;
            self.newest().parts[part] = LanePart { start, cached, ..LanePart::default() };
            return Ok(());
        }
        let Range { start, end } = lane.span(&edges);
        let len = (end - start) as usize;
        // Memory of whole pages: any device takes it.
        let buffer = loop {
            // The run's other part may be all that is in flight: it is not delivered alone.
            let room = (self.reader.pending() < self.session.config.queue_depth + part)
                .then(|| self.reader.pool.take(len.next_multiple_of(PAGE)))
                .flatten();
            match room {
                Some(buffer) => break buffer,
                None => self.deliver(true)?,
            };
        };
        let run = self.newest();
        run.parts[part] = LanePart { start, len, ..LanePart::default() };
        run.missing += 1;
        let tag = run.number * 2 + part as u64;
        self.small += u64::from(!(start | len as u64).is_multiple_of(PAGE_BYTES));
        let (pages, file) = (self.session.pages.as_ref(), lane.file.queued());
        let here = self.reader.submit_through(pages, file, start, (len, buffer), tag);
        if here.is_some() {
            let run = self.newest();
            run.parts[part].read = here;
            run.missing -= 1;
        }
        self.deepest = self.deepest.max(self.reader.pending());
        Ok(())
    }

    /// Delivers a run that has arrived; with `wait`, waits for one. `false`: there is none.
    pub(crate) fn deliver(&mut self, wait: bool) -> Result<bool> {
        let mut polled = false;
        loop {
            let next = if self.ordered { 1 } else { self.line.len() };
            let arrived = self.line.iter().take(next).position(|run| run.missing == 0);
            if let Some(run) = arrived.and_then(|at| self.line.remove(at)) {
                let result = self.compute(&run);
                self.held -= run.groups.len();
                self.pending -= vertices(&run.groups);
                let keeps = self.keeps && matches!(result, Ok(true));
                for (lane, LanePart { start, len, read, .. }) in self.lanes.iter().zip(run.parts) {
                    match read {
                        Some(buffer) if keeps => {
                            self.reader.pool.keep(buffer, len, (lane.file.queued().1, start));
                        }
                        buffer => buffer.into_iter().for_each(|it| self.reader.pool.give(it)),
                    }
                }
                return result.map(|_| true);
            }
            if self.line.is_empty() || polled {
                return Ok(false);
            }
            polled = !wait;
            let line = &mut self.line;
            self.reader.reap(polled, |tag, buffer, _| {
                let run = line.partition_point(|run| run.number < tag / 2);
                line[run].parts[tag as usize % 2].read = Some(buffer);
                line[run].missing -= 1;
            })?;
        }
    }

    /// Verifies the bytes of a run that were read, and keeps those that the front wants. Returns
    /// how many could not be verified, and the bytes of an edge that were read.
    fn verified(&self, run: &ListRun) -> Result<(u64, u64)> {
        let (mut doubtful, mut bytes_read) = (0, 0);
        for (lane, part) in self.lanes.iter().zip(&run.parts) {
            if let Some(buffer) = &part.read {
                let bytes = &buffer[..part.len];
                doubtful += lane.file.verify_blocks(part.start, bytes)?;
                let first = part.start.next_multiple_of(PAGE_BYTES);
                let pages = bytes.get((first - part.start) as usize..).unwrap_or_default();
                lane.front.put(first / PAGE_BYTES, pages);
                bytes_read += lane.width;
            }
        }
        Ok((doubtful, bytes_read))
    }

    /// Keeps the blocks of a run in the page cache, if there is one, with the units that were used.
    fn keep(&self, run: &ListRun, used: Vec<Units>) {
        let Some(pages) = &self.session.pages else { return };
        for ((lane, part), used) in self.lanes.iter().zip(&run.parts).zip(&used) {
            let bytes = part.read.as_deref().unwrap_or_default();
            pages.put(lane.file.queued().1, part.start, &bytes[..part.len], used);
        }
    }

    /// Shows the lists of a run. Returns whether all of its bytes are verified.
    fn compute(&mut self, run: &ListRun) -> Result<bool> {
        let (doubtful, bytes_read) = self.verified(run)?;
        let pages = self.session.pages.as_ref();
        let units = |_: &PageCache| run.parts.iter().map(|part| Units::none(part.len)).collect();
        self.session.counters.unverified_bytes.fetch_add(doubtful, Relaxed);
        let mut arrived = ArrivedRun {
            run,
            lanes: &self.lanes,
            rows: self.rows,
            cached: &mut self.cached,
            worker: self.worker,
            doubtful: (doubtful > 0).then(|| self.session.graph.connected()),
            used: pages.map(units).unwrap_or_default(),
            edges: 0,
            sound: true,
        };
        self.compute.all(&mut arrived);
        let ArrivedRun { used, edges, sound, .. } = arrived;
        self.edges += edges;
        self.useful += edges * bytes_read;
        if sound {
            self.keep(run, used);
            return Ok(doubtful == 0);
        }
        let what = "a list that was read in part of a page is not ascending, or names a vertex \
                    that does not exist"
            .to_owned();
        Err(GraphError::Corrupt { path: self.lanes[0].file.path().to_owned(), what })
    }

    /// Delivers all lists that caches hold.
    pub(crate) fn deliver_held(&mut self) {
        let compute = &mut |vertex, list: List| self.compute.list(vertex, list);
        self.cached.show((self.rows, self.worker), u64::MAX, compute);
    }

    /// Whether the front wants some of the pages that these edges lie in.
    #[inline]
    pub(crate) fn may_be_kept(&self, edges: &Range<u64>) -> bool {
        !self.ordered && self.lanes.iter().any(|lane| lane.front.wants(edges))
    }

    /// Counts what was done. After an error (`failed`), takes back every buffer that the kernel may
    /// still write to.
    pub(crate) fn end(mut self, failed: bool) {
        self.reader.pool.forget();
        self.rows.waits.fetch_add((self.deepest > 0).into(), Relaxed);
        let counters = &self.session.counters;
        for (cache, hits) in self.cached.chain.iter().zip(self.cached.hits) {
            counters.note(cache.kept(), hits);
            self.edges += hits[1] / self.lanes[0].width;
        }
        self.session.workers.worked(self.edges);
        counters.useful_bytes.fetch_add(self.useful, Relaxed);
        counters.note_most(Technique::QueueDepth, self.deepest as u64);
        counters.note(Technique::SmallBlocks, [self.small, 0]);
        if failed {
            self.session.stop.store(true, Relaxed);
            let parts =
                self.line.into_iter().flat_map(|run| run.parts).filter_map(|part| part.read);
            self.reader.drain();
            parts.for_each(|buffer| self.reader.pool.give(buffer));
        }
    }
}
