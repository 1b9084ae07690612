//! [`ListReader`]: runs of lists on their way to one worker. A run is a range of edges that one
//! request covers (with weights: one for each section), and the vertices of it that are meant. Runs
//! are delivered in the order in which they arrive, or in their own.

use std::{collections::VecDeque, ops::Range, sync::atomic::Ordering::Relaxed};

use outercore_graph::GraphError;
use outercore_storage::{Buffer, PAGE};

use super::{
    cache::{ListCache, Section},
    list::List,
    row_index::Group,
    rows::Rows,
};
use crate::{
    error::Result,
    session::{OpenSection, QUEUE_DEPTH, Reader, Session},
};

const PAGE_BYTES: u64 = PAGE as u64;

/// Groups of all runs in flight: bounds the memory that they take.
const GROUPS: usize = 1 << 15;

/// Caches before the device, the first to be asked first.
pub type Chain<'s> = &'s [&'s dyn ListCache];

/// Lists that are read together.
#[derive(Default)]
struct Run<'s> {
    /// Edges, by their number in the rows.
    edges: Range<u64>,
    groups: Vec<Group>,
    parts: [Part<'s>; 2],
    /// Parts that have not arrived, and one more until all are requested.
    missing: usize,
}

/// The bytes of a run in one section.
#[derive(Default)]
struct Part<'s> {
    /// Where they begin in the section, and how many were read.
    start: u64,
    len: usize,
    content: Content<'s>,
}

#[derive(Default)]
enum Content<'s> {
    #[default]
    OnItsWay,
    Read(Buffer),
    Cached(&'s [u8]),
}

/// One section of the rows: the neighbors' or the weights'.
#[derive(Clone, Copy)]
pub struct Lane<'s> {
    file: &'s OpenSection,
    section: Section,
    /// Pages before this one are read whole: caches want them.
    kept: u64,
    width: u64,
    block: u64,
}

impl<'s> Lane<'s> {
    /// The lanes of `rows`: neighbors, and weights if they are read.
    pub(crate) fn of(rows: &'s Rows, caches: Chain, block: u64) -> (Self, Option<Self>) {
        let lane = |file, section, width| {
            let kept = caches.iter().map(|cache| cache.kept_pages(section)).max().unwrap_or(0);
            Self { file, section, kept, width: width as u64, block }
        };
        let neighbors = lane(&rows.adjacency, Section::Neighbors, rows.width);
        let weights = rows.weights.as_ref();
        (neighbors, weights.map(|file| lane(file, Section::Weights, rows.weight_width)))
    }

    /// Bytes of an entry.
    pub(crate) fn width(&self) -> u64 {
        self.width
    }

    /// The bytes that must be read for some edges: whole blocks, and whole pages where they will be
    /// kept.
    #[inline]
    fn span(&self, edges: &Range<u64>) -> Range<u64> {
        // Blocks and pages are powers of two: a division for each list would cost more than all the
        // rest.
        let mask = |byte: u64| {
            if byte / PAGE_BYTES < self.kept {
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

    /// The pages that some edges lie in.
    fn pages(&self, edges: &Range<u64>) -> Range<u64> {
        edges.start * self.width / PAGE_BYTES..(edges.end * self.width).div_ceil(PAGE_BYTES)
    }

    /// Those edges, if a cache has all of their pages.
    fn cached(
        &self,
        caches: Chain<'s>,
        edges: &Range<u64>,
    ) -> Option<(&'s dyn ListCache, Part<'s>)> {
        let pages = self.pages(edges);
        caches.iter().find_map(|&cache| {
            let bytes = cache.pages(self.section, pages.clone())?;
            let start = pages.start * PAGE_BYTES;
            Some((cache, Part { start, len: 0, content: Content::Cached(bytes) }))
        })
    }
}

impl Part<'_> {
    /// The bytes of some edges.
    #[inline(always)]
    fn slice(&self, edges: &Range<u64>, width: u64) -> &[u8] {
        let bytes: &[u8] = match &self.content {
            Content::Read(buffer) => buffer,
            Content::Cached(bytes) => bytes,
            Content::OnItsWay => &[],
        };
        let start = (edges.start * width - self.start) as usize;
        &bytes[start..start + ((edges.end - edges.start) * width) as usize]
    }

    fn is_read(&self) -> bool {
        matches!(self.content, Content::Read(_))
    }

    /// Takes the buffer out, if there is one.
    fn take(&mut self) -> Option<Buffer> {
        match std::mem::take(self).content {
            Content::Read(buffer) => Some(buffer),
            _ => None,
        }
    }
}

/// Runs on their way to a worker.
pub struct ListReader<'s, 'r> {
    session: &'s Session<'s>,
    rows: &'s Rows,
    caches: Chain<'s>,
    lanes: (Lane<'s>, Option<Lane<'s>>),
    reader: &'r mut Reader,
    worker: usize,
    ordered: bool,
    runs: Vec<Run<'s>>,
    /// Runs that are not in use.
    free: Vec<usize>,
    /// Runs that were requested, in that order.
    line: VecDeque<usize>,
    /// Runs that have arrived, where order does not matter.
    ready: VecDeque<usize>,
    /// Groups of all runs in the line.
    held: usize,
    edges: u64,
    useful: u64,
}

impl<'s, 'r> ListReader<'s, 'r> {
    /// Nothing on its way yet. With `ordered`, lists are delivered in the order of the requests.
    pub(crate) fn new(
        session: &'s Session<'s>,
        rows: &'s Rows,
        caches: Chain<'s>,
        (worker, reader): (usize, &'r mut Reader),
        ordered: bool,
    ) -> Self {
        Self {
            session,
            rows,
            caches,
            lanes: Lane::of(rows, caches, session.limits().block_bytes),
            reader,
            worker,
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

    /// Requests the lists of `groups` that lie in `edges`. Makes room first, by delivering what has
    /// arrived.
    pub(crate) fn request(
        &mut self,
        edges: Range<u64>,
        groups: impl Iterator<Item = Group>,
        compute: &mut impl FnMut(u64, List),
    ) -> Result<()> {
        while self.held >= GROUPS || self.line.len() >= 2 * QUEUE_DEPTH {
            self.poll(true, compute)?;
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
        lane: &Lane<'s>,
        compute: &mut impl FnMut(u64, List),
    ) -> Result<()> {
        let edges = self.runs[slot].edges.clone();
        if let Some((cache, cached)) = lane.cached(self.caches, &edges) {
            let pages = lane.pages(&edges);
            cache.hits(&self.session.counters).fetch_add(pages.end - pages.start, Relaxed);
            self.runs[slot].parts[part] = cached;
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
                None => self.poll(true, compute)?,
            };
        };
        let run = &mut self.runs[slot];
        run.parts[part] = Part { start: bytes.start, len, content: Content::OnItsWay };
        run.missing += 1;
        let tag = (slot * 2 + part) as u64;
        self.reader.submit(lane.file, bytes.start, len, buffer, tag)
    }

    /// Delivers one run that has arrived; with `wait`, waits for one. `false`: none has, or none
    /// was requested.
    pub(crate) fn poll(&mut self, wait: bool, compute: &mut impl FnMut(u64, List)) -> Result<bool> {
        let mut asked = false;
        loop {
            let next = if self.ordered {
                self.line.front().copied().filter(|&slot| self.runs[slot].missing == 0)
            } else {
                self.ready.pop_front()
            };
            if let Some(slot) = next {
                return self.process(slot, compute).map(|()| true);
            }
            if self.line.is_empty() || (asked && !wait) {
                return Ok(false);
            }
            asked = true;
            let (runs, ready, ordered) = (&mut self.runs, &mut self.ready, self.ordered);
            self.reader.reap(!wait, |tag, buffer, _| {
                let run = &mut runs[tag as usize / 2];
                run.parts[tag as usize % 2].content = Content::Read(buffer);
                run.missing -= 1;
                if run.missing == 0 && !ordered {
                    ready.push_back(tag as usize / 2);
                }
            })?;
        }
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
            if let Some(buffer) = part.take() {
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
        let mut doubtful = self.admit(&neighbors, &run.parts[0])?;
        if let Some(weights) = &weights {
            doubtful += self.admit(weights, &run.parts[1])?;
        }
        self.session.counters.unverified_bytes.fetch_add(doubtful, Relaxed);
        let (mut edges, mut useful) = (0, 0);
        let (width, weight_width) = (neighbors.width, weights.map_or(0, |weights| weights.width));
        let read = |part: usize, width: u64| if run.parts[part].is_read() { width } else { 0 };
        let bytes_read = read(0, width) + read(1, weight_width);
        let connected = self.session.graph.connected();
        let taken = self.caches.iter().any(|cache| cache.takes_lists());
        let mut sound = true;
        for &group in &run.groups {
            self.rows.for_lists(group, |vertex, first, count| {
                let part = first.max(run.edges.start)..(first + count).min(run.edges.end);
                if part.is_empty() {
                    return;
                }
                let list = List {
                    neighbors: run.parts[0].slice(&part, width),
                    weights: weights.map_or(&[], |_| run.parts[1].slice(&part, weight_width)),
                    width: width as usize,
                    weight_width: weight_width as usize,
                };
                edges += part.end - part.start;
                useful += (part.end - part.start) * bytes_read;
                sound &= doubtful == 0 || list.is_sound(connected);
                if sound {
                    compute(vertex, list);
                    if taken && part.end - part.start == count {
                        self.caches.iter().for_each(|cache| cache.offer(self.worker, vertex, list));
                    }
                }
            });
        }
        self.edges += edges;
        self.useful += useful;
        if sound {
            return Ok(());
        }
        let what = "a list that was read in part of a page is not ascending, or names a vertex \
                    that does not exist"
            .to_owned();
        Err(GraphError::Corrupt { path: neighbors.file.path().to_owned(), what }.into())
    }

    /// Verifies what was read just now and offers it to the caches; returns the bytes that could
    /// not be verified.
    fn admit(&self, lane: &Lane, part: &Part) -> Result<u64> {
        let Content::Read(buffer) = &part.content else { return Ok(0) };
        let bytes = &buffer[..part.len];
        let doubtful = lane.file.verify_blocks(part.start, bytes)?;
        let first = part.start.next_multiple_of(PAGE_BYTES);
        if first / PAGE_BYTES < lane.kept && first < part.start + part.len as u64 {
            let bytes = &bytes[(first - part.start) as usize..];
            let offer =
                |cache: &&dyn ListCache| cache.offer_pages(lane.section, first / PAGE_BYTES, bytes);
            self.caches.iter().for_each(offer);
        }
        Ok(doubtful)
    }

    /// Delivers lists that caches of the chain hold: the caches' places in it, and the vertices.
    pub(crate) fn deliver_held(
        &mut self,
        held: &[(usize, Group)],
        compute: &mut impl FnMut(u64, List),
    ) {
        let mut bytes = 0;
        for &(cache, group) in held {
            let cache = self.caches[cache];
            let hits = cache.show(self.rows, group, self.worker, &mut |vertex, list| {
                bytes += list.bytes().len() as u64;
                compute(vertex, list);
            });
            cache.hits(&self.session.counters).fetch_add(hits, Relaxed);
        }
        self.edges += bytes / self.lanes.0.width;
    }

    /// Whether caches want some of the pages that these edges lie in.
    #[inline]
    pub(crate) fn may_be_kept(&self, edges: &Range<u64>) -> bool {
        let may = |lane: &Lane| lane.pages(edges).start < lane.kept;
        !self.ordered && (may(&self.lanes.0) || self.lanes.1.as_ref().is_some_and(may))
    }

    /// Counts what was done. After an error (`failed`), takes back every buffer that the kernel may
    /// still write to.
    pub(crate) fn end(mut self, failed: bool) {
        let counters = &self.session.counters;
        counters.edges.fetch_add(self.edges, Relaxed);
        counters.useful_bytes.fetch_add(self.useful, Relaxed);
        if failed {
            self.session.stop.store(true, Relaxed);
            let parts = self.runs.iter_mut().flat_map(|run| &mut run.parts);
            let mut back: Vec<Buffer> = parts.filter_map(Part::take).collect();
            self.reader.drain(|buffer| back.push(buffer));
            back.into_iter().for_each(|buffer| self.reader.pool.give(buffer));
        }
    }
}
