//! [`Fetch`]: runs of lists on their way to one worker. A run is a range of edges that one request
//! covers (with weights: one for each section), and who of its vertices is meant. Runs are handed
//! over in the order in which they arrive, or in their own.

use std::{collections::VecDeque, ops::Range, sync::atomic::Ordering::Relaxed};

use outercore_graph::{GraphError, format::INDEX_GROUP};
use outercore_storage::{Buffer, PAGE};

use super::{cache::prefix::PrefixCache, rows::Rows, stream::List, wanted::Group};
use crate::{
    error::Result,
    session::Reader,
    session::{OpenSection, QUEUE_DEPTH, Session},
};

const PAGE_BYTES: u64 = PAGE as u64;

/// Groups of all runs in flight: bounds the memory that they take.
const GROUPS: usize = 1 << 15;

/// Lists that are read together.
#[derive(Default)]
struct Run {
    /// Edges, by their number in the rows.
    edges: Range<u64>,
    groups: Vec<Group>,
    parts: [Part; 2],
    /// Parts that have not arrived, and one more until all are asked for.
    missing: usize,
}

/// The bytes of a run in one section.
#[derive(Default)]
struct Part {
    bytes: Range<u64>,
    /// `None`: in the cache, or on its way.
    buffer: Option<Buffer>,
}

/// One section of the rows: the neighbors' or the weights'.
#[derive(Clone, Copy)]
pub struct Lane<'s> {
    section: &'s OpenSection,
    cache: &'s PrefixCache,
    width: u64,
    block: u64,
}

impl<'s> Lane<'s> {
    /// The lanes of `rows`: neighbors, and weights if they are read.
    pub fn of(rows: &'s Rows, block: u64) -> (Self, Option<Self>) {
        let neighbors =
            Self { section: &rows.adjacency, cache: &rows.cache, width: rows.width as u64, block };
        let weights = rows.weights.as_ref().map(|section| Self {
            section,
            cache: &rows.weight_cache,
            width: rows.weight_width as u64,
            block,
        });
        (neighbors, weights)
    }

    /// Bytes of an entry.
    pub fn width(&self) -> u64 {
        self.width
    }

    /// The bytes that must be read for some edges: whole blocks, and whole pages where they will be
    /// kept.
    #[inline]
    pub fn span(&self, edges: &Range<u64>) -> Range<u64> {
        // Blocks and pages are powers of two: a division for each list would cost more than all the
        // rest.
        let mask = |byte: u64| {
            if byte / PAGE_BYTES < self.cache.pages() {
                self.block.max(PAGE_BYTES) - 1
            } else {
                self.block - 1
            }
        };
        let (first, last) = (edges.start * self.width, edges.end * self.width - 1);
        // A section's file ends with a whole page.
        first & !mask(first)..((last | mask(last)) + 1).min(self.section.pages() * PAGE_BYTES)
    }

    /// The blocks of that.
    #[inline]
    pub fn blocks(&self, edges: &Range<u64>) -> Range<u64> {
        let (bytes, bits) = (self.span(edges), self.block.trailing_zeros());
        bytes.start >> bits..((bytes.end - 1) >> bits) + 1
    }

    /// Whether all of some edges' pages are in memory.
    #[inline]
    pub fn is_cached(&self, edges: &Range<u64>) -> bool {
        let pages = self.pages(edges);
        pages.end <= self.cache.pages() && self.cache.has(pages.start, pages.end - pages.start)
    }

    /// The pages that some edges lie in.
    pub fn pages(&self, edges: &Range<u64>) -> Range<u64> {
        edges.start * self.width / PAGE_BYTES..(edges.end * self.width).div_ceil(PAGE_BYTES)
    }

    fn cached(&self, edges: &Range<u64>) -> &'s [u8] {
        let pages = self.pages(edges);
        let start = (edges.start * self.width - pages.start * PAGE_BYTES) as usize;
        let len = ((edges.end - edges.start) * self.width) as usize;
        &self.cache.get(pages.start, pages.end - pages.start)[start..start + len]
    }
}

/// Runs on their way to a worker.
pub struct Fetch<'s, 'r> {
    session: &'s Session<'s>,
    rows: &'s Rows,
    lanes: (Lane<'s>, Option<Lane<'s>>),
    reader: &'r mut Reader,
    ordered: bool,
    runs: Vec<Run>,
    /// Runs that nobody uses.
    free: Vec<usize>,
    /// Runs that were asked for, in that order.
    line: VecDeque<usize>,
    /// Runs that have arrived, where order does not matter.
    ready: VecDeque<usize>,
    /// Groups of all runs in the line.
    held: usize,
    edges: u64,
    useful: u64,
}

impl<'s, 'r> Fetch<'s, 'r> {
    /// Nothing on its way yet.
    pub fn new(
        session: &'s Session<'s>,
        rows: &'s Rows,
        reader: &'r mut Reader,
        ordered: bool,
    ) -> Self {
        let lanes = Lane::of(rows, session.limits().block_bytes);
        Self {
            session,
            rows,
            lanes,
            reader,
            ordered,
            runs: Vec::new(),
            free: Vec::new(),
            line: VecDeque::new(),
            ready: VecDeque::new(),
            held: 0,
            edges: 0,
            useful: 0,
        }
    }

    /// Begins to read the lists of `groups` that lie in `edges`; makes room first.
    pub fn ask(
        &mut self,
        edges: Range<u64>,
        groups: impl Iterator<Item = Group>,
        compute: &mut impl FnMut(u64, List),
    ) -> Result<()> {
        while self.held >= GROUPS || self.line.len() >= 2 * QUEUE_DEPTH {
            self.hand_over(compute)?;
        }
        let slot = self.free.pop().unwrap_or_else(|| {
            self.runs.push(Run::default());
            self.runs.len() - 1
        });
        let run = &mut self.runs[slot];
        run.groups.extend(groups);
        run.edges = edges;
        run.missing = 1;
        self.held += run.groups.len();
        self.line.push_back(slot);
        let lanes = [Some(self.lanes.0), self.lanes.1];
        for (part, lane) in lanes.into_iter().flatten().enumerate() {
            self.start(slot, part, &lane, compute)?;
        }
        self.runs[slot].missing -= 1;
        if self.runs[slot].missing == 0 && !self.ordered {
            self.ready.push_back(slot);
        }
        Ok(())
    }

    fn start(
        &mut self,
        slot: usize,
        part: usize,
        lane: &Lane,
        compute: &mut impl FnMut(u64, List),
    ) -> Result<()> {
        let edges = self.runs[slot].edges.clone();
        if lane.is_cached(&edges) {
            let pages = lane.pages(&edges);
            self.session.counters.page_hits.fetch_add(pages.end - pages.start, Relaxed);
            return Ok(());
        }
        let bytes = lane.span(&edges);
        let len = (bytes.end - bytes.start) as usize;
        // Memory of whole pages: any device takes it.
        let buffer = loop {
            let room = (self.reader.pending() < QUEUE_DEPTH)
                .then(|| self.reader.pool.take(len.next_multiple_of(PAGE)))
                .flatten();
            match room {
                Some(buffer) => break buffer,
                None => self.hand_over(compute)?,
            }
        };
        let run = &mut self.runs[slot];
        run.parts[part].bytes = bytes.clone();
        run.missing += 1;
        self.reader.submit(
            &self.session.counters,
            lane.section,
            bytes.start,
            len,
            buffer,
            (slot * 2 + part) as u64,
        )
    }

    /// Processes one run that has arrived; waits for it.
    fn hand_over(&mut self, compute: &mut impl FnMut(u64, List)) -> Result<()> {
        loop {
            let next = if self.ordered {
                self.line.front().copied().filter(|&slot| self.runs[slot].missing == 0)
            } else {
                self.ready.pop_front()
            };
            if let Some(slot) = next {
                return self.process(slot, compute);
            }
            let (runs, ready, ordered) = (&mut self.runs, &mut self.ready, self.ordered);
            self.reader.reap(false, |tag, buffer, _| {
                let run = &mut runs[tag as usize / 2];
                run.parts[tag as usize % 2].buffer = Some(buffer);
                run.missing -= 1;
                if run.missing == 0 && !ordered {
                    ready.push_back(tag as usize / 2);
                }
            })?;
        }
    }

    /// Waits for everything and processes it.
    pub fn finish(&mut self, compute: &mut impl FnMut(u64, List)) -> Result<()> {
        while !self.line.is_empty() {
            self.hand_over(compute)?;
        }
        Ok(())
    }

    fn process(&mut self, slot: usize, compute: &mut impl FnMut(u64, List)) -> Result<()> {
        let at = self
            .line
            .iter()
            .position(|&other| other == slot)
            .expect("a run is in the line until it is processed");
        self.line.remove(at);
        let mut run = std::mem::take(&mut self.runs[slot]);
        let result = self.deliver(&run, compute);
        self.held -= run.groups.len();
        for part in &mut run.parts {
            if let Some(buffer) = part.buffer.take() {
                self.reader.pool.give(buffer);
            }
        }
        run.groups.clear();
        self.runs[slot] = run;
        self.free.push(slot);
        result
    }

    fn deliver(&mut self, run: &Run, compute: &mut impl FnMut(u64, List)) -> Result<()> {
        let (neighbors, weights) = self.lanes;
        let mut doubtful = admit(&neighbors, &run.parts[0])?;
        if let Some(weights) = &weights {
            doubtful += admit(weights, &run.parts[1])?;
        }
        self.session.counters.unverified_bytes.fetch_add(doubtful, Relaxed);
        let (mut edges, mut useful) = (0, 0);
        let (width, weight_width) = (neighbors.width, weights.map_or(0, |weights| weights.width));
        let read =
            |part: usize, width: u64| if run.parts[part].buffer.is_some() { width } else { 0 };
        let bytes_read = read(0, width) + read(1, weight_width);
        let connected = self.session.graph.connected();
        let mut sound = true;
        for &group in &run.groups {
            for_lists(self.rows, group, |vertex, first, count| {
                let piece = first.max(run.edges.start)..(first + count).min(run.edges.end);
                if piece.is_empty() {
                    return;
                }
                let list = List {
                    neighbors: slice(&neighbors, &run.parts[0], &piece),
                    weights: weights.map_or(&[], |weights| slice(&weights, &run.parts[1], &piece)),
                    width: width as usize,
                    weight_width: weight_width as usize,
                };
                edges += piece.end - piece.start;
                useful += (piece.end - piece.start) * bytes_read;
                sound &= doubtful == 0 || is_sound(&list, connected);
                if sound {
                    compute(vertex, list);
                }
            });
        }
        self.edges += edges;
        self.useful += useful;
        if sound {
            return Ok(());
        }
        let what = "a list that was read in part of a page is not ascending, or names a vertex that does not exist".to_owned();
        Err(GraphError::Corrupt { path: neighbors.section.path().to_owned(), what }.into())
    }

    /// Hands the lists of some vertices over that are in memory, all of them.
    pub fn deliver_cached(&mut self, groups: &[Group], compute: &mut impl FnMut(u64, List)) {
        let (neighbors, weights) = self.lanes;
        let (mut edges, mut hits, mut last_page) = (0, 0, u64::MAX);
        for &group in groups {
            for_lists(self.rows, group, |vertex, first, count| {
                let whole = first..first + count;
                let pages = neighbors.pages(&whole);
                hits += pages.end - pages.start - u64::from(pages.start == last_page);
                last_page = pages.end - 1;
                edges += count;
                let list = List {
                    neighbors: neighbors.cached(&whole),
                    weights: weights.map_or(&[], |weights| weights.cached(&whole)),
                    width: neighbors.width as usize,
                    weight_width: weights.map_or(0, |weights| weights.width as usize),
                };
                compute(vertex, list);
            });
        }
        self.edges += edges;
        self.session.counters.page_hits.fetch_add(hits, Relaxed);
    }

    /// Whether a list is in memory as a whole.
    #[inline]
    pub fn is_cached(&self, edges: &Range<u64>) -> bool {
        self.lanes.0.is_cached(edges) && self.lanes.1.is_none_or(|weights| weights.is_cached(edges))
    }

    /// Whether some of it may be.
    #[inline]
    pub fn may_be_cached(&self, edges: &Range<u64>) -> bool {
        let may = |lane: &Lane| lane.pages(edges).start < lane.cache.pages();
        !self.ordered && (may(&self.lanes.0) || self.lanes.1.as_ref().is_some_and(may))
    }

    /// Counts what was done. After an error (`failed`), takes back every buffer that the kernel may
    /// still write to.
    pub fn end(mut self, failed: bool) {
        let counters = &self.session.counters;
        counters.edges.fetch_add(self.edges, Relaxed);
        counters.useful_bytes.fetch_add(self.useful, Relaxed);
        if failed {
            self.session.stop.store(true, Relaxed);
            let mut back: Vec<Buffer> = self
                .runs
                .iter_mut()
                .flat_map(|run| &mut run.parts)
                .filter_map(|part| part.buffer.take())
                .collect();
            self.reader.drain(|buffer| back.push(buffer));
            back.into_iter().for_each(|buffer| self.reader.pool.give(buffer));
        }
    }
}

/// Hands every vertex of a group to `visit` that has edges: the vertex, its first edge, and how
/// many.
#[inline(always)]
pub fn for_lists(rows: &Rows, (group, mut bits): Group, mut visit: impl FnMut(u64, u64, u64)) {
    let mut edge = rows.group_offset(group);
    let mut vertex = group * INDEX_GROUP;
    while bits != 0 {
        let skip = u64::from(bits.trailing_zeros());
        edge += rows.degrees.sum(vertex..vertex + skip);
        vertex += skip;
        let degree = u64::from(rows.degrees.get(vertex));
        if degree > 0 {
            visit(vertex, edge, degree);
        }
        edge += degree;
        vertex += 1;
        bits = (bits >> skip) >> 1;
    }
}

/// Verifies what was read just now and offers it to the cache; returns the bytes that could not be
/// verified.
fn admit(lane: &Lane, part: &Part) -> Result<u64> {
    let Some(buffer) = &part.buffer else { return Ok(0) };
    let bytes = &buffer[..(part.bytes.end - part.bytes.start) as usize];
    let doubtful = lane.section.verify_blocks(part.bytes.start, bytes)?;
    let first = part.bytes.start.next_multiple_of(PAGE_BYTES);
    if first / PAGE_BYTES < lane.cache.pages() && first < part.bytes.end {
        lane.cache.put(first / PAGE_BYTES, &bytes[(first - part.bytes.start) as usize..]);
    }
    Ok(doubtful)
}

#[inline(always)]
fn slice<'b>(lane: &Lane<'b>, part: &'b Part, edges: &Range<u64>) -> &'b [u8] {
    match &part.buffer {
        Some(buffer) => {
            let start = (edges.start * lane.width - part.bytes.start) as usize;
            &buffer[start..start + ((edges.end - edges.start) * lane.width) as usize]
        }
        None => lane.cached(edges),
    }
}

/// What every list is, and what a computation may rely on: ascending, and of vertices that exist.
fn is_sound(list: &List, connected: u64) -> bool {
    let mut before = 0;
    list.neighbors().all(|neighbor| {
        std::mem::replace(&mut before, neighbor) <= neighbor && neighbor < connected
    })
}
