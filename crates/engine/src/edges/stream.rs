//! [`IoIterator`]: the lists of active vertices, in the order in which storage delivers them (Graphene, FAST'17, section 2).
//!
//! The author says who is active and what to do with a list; everything between is here: active vertices become byte ranges, ranges closer than the gap merge into
//! one request, requests are kept in flight, pages that are in memory are not read again. A list longer than a request arrives in pieces.

use std::{
    collections::VecDeque,
    ops::Range,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

use outercore_storage::{Buffer, PAGE};

use super::{cache::PrefixCache, rows::Rows};
use crate::{
    error::{EngineError, Result},
    session::{DEPTH, OpenSection, Reader, Session},
};

const PAGE_BYTES: u64 = PAGE as u64;

/// The lists of active vertices.
pub struct IoIterator<'a> {
    session: &'a Session<'a>,
    rows: &'a Rows,
    max_gap: u64,
    max_request: u64,
    ordered: bool,
}

/// A vertex's list, or a piece of it.
#[derive(Clone, Copy)]
pub struct List<'a> {
    neighbors: &'a [u8],
    weights: &'a [u8],
    width: usize,
    weight_width: usize,
}

impl<'a> List<'a> {
    /// How many neighbors there are.
    pub fn len(&self) -> usize {
        self.neighbors.len() / self.width
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
            let weight = if weight_width == 0 { 0 } else { number(&weights[index * weight_width..(index + 1) * weight_width]) };
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

/// One vertex in a run: which edges of it, by number in the rows.
struct Entry {
    vertex: u64,
    first: u64,
    count: u64,
}

/// Adjacent lists that are read together.
#[derive(Default)]
struct Run {
    entries: Vec<Entry>,
    neighbors: Part,
    weights: Part,
}

/// The bytes of a run in one section.
#[derive(Default)]
struct Part {
    /// Pages, the first and one past the last.
    pages: Range<u64>,
    buffer: Option<Buffer>,
    /// Served from the cache.
    cached: bool,
}

impl<'a> IoIterator<'a> {
    /// Lists of `rows`.
    pub fn new(session: &'a Session<'a>, rows: &'a Rows) -> Self {
        let config = session.config;
        Self {
            session,
            rows,
            max_gap: config.max_gap.unwrap_or(32 << 10),
            max_request: config.max_request.unwrap_or(256 << 10).clamp(16 << 10, session.buffer_bytes() as u64),
            ordered: false,
        }
    }

    /// With `true`, lists come in ascending order of their vertices, to one worker: for sums whose order matters.
    pub fn ordered(self, ordered: bool) -> Self {
        Self { ordered, ..self }
    }

    /// Hands the list of every active vertex with edges to `compute`, on all workers. `is_active` is asked once for each vertex of `0..vertices`, in groups of 64:
    /// it gets the group's number and answers with bits. `expected` is about how many edges there will be: a small step stays on one worker.
    pub fn for_each<S: Send>(
        &self,
        expected: u64,
        is_active: impl Fn(u64) -> u64 + Sync,
        state: impl Fn(usize) -> S + Sync,
        compute: impl Fn(&mut S, u64, List) + Sync,
    ) -> Result<Vec<S>> {
        let groups = self.session.graph.connected().div_ceil(64);
        // Parts are small enough to be shared out evenly, and large enough to form long runs.
        let grain = (groups / (self.session.workers.count() as u64 * 64)).clamp(1, 4096);
        let next = AtomicU64::new(0);
        let body = |index: usize| {
            let mut state = state(index);
            let mut reader = self.session.reader(index);
            let mut worker =
                Worker { stream: self, reader: &mut reader, window: VecDeque::new(), free_runs: Vec::new(), sequence: 0, edges: 0 };
            let result = worker.run(groups, grain, &next, &is_active, &mut state, &compute);
            self.session.counters.edges.fetch_add(worker.edges, Relaxed);
            if result.is_err() {
                worker.abandon();
            }
            result.map(|()| state)
        };
        let alone = self.ordered || expected < 1 << 14;
        let results = if alone { vec![body(0)] } else { self.session.workers.map(body) };
        self.session.check()?;
        results.into_iter().collect()
    }
}

struct Worker<'i, 'r> {
    stream: &'i IoIterator<'i>,
    reader: &'r mut Reader,
    window: VecDeque<(u64, Run)>,
    free_runs: Vec<Run>,
    sequence: u64,
    edges: u64,
}

impl Worker<'_, '_> {
    fn run<S>(
        &mut self,
        groups: u64,
        grain: u64,
        next: &AtomicU64,
        is_active: &(impl Fn(u64) -> u64 + Sync),
        state: &mut S,
        compute: &(impl Fn(&mut S, u64, List) + Sync),
    ) -> Result<()> {
        let mut run = Run::default();
        loop {
            let first = next.fetch_add(grain, Relaxed);
            if first >= groups {
                break;
            }
            for group in first..(first + grain).min(groups) {
                let mut bits = is_active(group);
                if bits == 0 {
                    continue;
                }
                let mut edge = self.stream.rows.group_offset(group);
                let mut vertex = group * 64;
                while bits != 0 {
                    let skip = u64::from(bits.trailing_zeros());
                    let degrees = &self.stream.rows.degrees;
                    edge += degrees[vertex as usize..(vertex + skip) as usize].iter().map(|&degree| u64::from(degree)).sum::<u64>();
                    vertex += skip;
                    bits >>= skip;
                    let degree = u64::from(degrees[vertex as usize]);
                    if degree > 0 {
                        self.add(&mut run, vertex, edge, degree, state, compute)?;
                    }
                    edge += degree;
                    vertex += 1;
                    bits >>= 1;
                }
            }
            if self.stream.session.stopped() {
                return Err(EngineError::Cancelled);
            }
        }
        if !run.entries.is_empty() {
            self.submit(run, state, compute)?;
        }
        while !self.window.is_empty() {
            self.process_front(state, compute)?;
        }
        Ok(())
    }

    /// Adds a list to the run, ending the run where the gap or the length says so, and cutting long lists.
    fn add<S>(
        &mut self,
        run: &mut Run,
        vertex: u64,
        first: u64,
        count: u64,
        state: &mut S,
        compute: &impl Fn(&mut S, u64, List),
    ) -> Result<()> {
        let rows = self.stream.rows;
        let width = rows.width.max(rows.weight_width) as u64;
        let (mut first, mut count) = (first, count);
        while count > 0 {
            if let Some(last) = run.entries.last() {
                let start = run.entries[0].first;
                let gap = (first - (last.first + last.count)) * width;
                let room = (self.stream.max_request.saturating_sub(2 * PAGE_BYTES) / width).saturating_sub(first - start);
                if gap > self.stream.max_gap || room < count.min(64) {
                    let full = std::mem::replace(run, self.free_runs.pop().unwrap_or_default());
                    self.submit(full, state, compute)?;
                    continue;
                }
                let part = count.min(room);
                run.entries.push(Entry { vertex, first, count: part });
                (first, count) = (first + part, count - part);
            } else {
                let part = count.min(self.stream.max_request.saturating_sub(2 * PAGE_BYTES) / width);
                run.entries.push(Entry { vertex, first, count: part });
                (first, count) = (first + part, count - part);
            }
        }
        Ok(())
    }

    /// Begins to read a run; makes room first.
    fn submit<S>(&mut self, mut run: Run, state: &mut S, compute: &impl Fn(&mut S, u64, List)) -> Result<()> {
        let rows = self.stream.rows;
        let parts = 1 + usize::from(rows.weights.is_some());
        while self.reader.free.len() < parts || self.window.len() >= 4 * DEPTH {
            self.process_front(state, compute)?;
        }
        let (first, last) = (run.entries[0].first, run.entries.last().map_or(0, |entry| entry.first + entry.count));
        let tag = self.sequence * 2;
        self.sequence += 1;
        let wanted: u64 = run.entries.iter().map(|entry| entry.count).sum();
        self.start(&mut run.neighbors, &rows.adjacency, &rows.cache, first, last, wanted, rows.width as u64, tag)?;
        if let Some(weights) = &rows.weights {
            self.start(&mut run.weights, weights, &rows.weight_cache, first, last, wanted, rows.weight_width as u64, tag + 1)?;
        }
        self.window.push_back((tag, run));
        Ok(())
    }

    #[allow(clippy::too_many_arguments)]
    fn start(
        &mut self,
        part: &mut Part,
        section: &OpenSection,
        cache: &PrefixCache,
        first: u64,
        last: u64,
        wanted: u64,
        width: u64,
        tag: u64,
    ) -> Result<()> {
        part.pages = first * width / PAGE_BYTES..(last * width).div_ceil(PAGE_BYTES);
        let count = part.pages.end - part.pages.start;
        part.cached = cache.has(part.pages.start, count);
        let counters = &self.stream.session.counters;
        if part.cached {
            counters.page_hits.fetch_add(count, Relaxed);
            return Ok(());
        }
        counters.useful_bytes.fetch_add(wanted * width, Relaxed);
        let buffer = self.reader.free.pop().expect("room was made");
        self.reader.submit(counters, section, part.pages.start * PAGE_BYTES, (count * PAGE_BYTES) as usize, buffer, tag)
    }

    /// Processes a finished run: the oldest that is complete, or waits for one.
    fn process_front<S>(&mut self, state: &mut S, compute: &impl Fn(&mut S, u64, List)) -> Result<()> {
        let weighted = self.stream.rows.weights.is_some();
        let complete = |run: &Run| {
            (run.neighbors.cached || run.neighbors.buffer.is_some()) && (!weighted || run.weights.cached || run.weights.buffer.is_some())
        };
        let ahead = if self.stream.ordered { 1 } else { self.window.len() };
        loop {
            if let Some(at) = self.window.iter().take(ahead).position(|(_, run)| complete(run)) {
                let (_, run) = self.window.remove(at).expect("found above");
                return self.process(run, state, compute);
            }
            let window = &mut self.window;
            self.reader.reap(false, |tag, buffer, _| {
                let (_, run) = window.iter_mut().find(|(first, _)| *first == tag & !1).expect("every read has a run");
                let part = if tag & 1 == 0 { &mut run.neighbors } else { &mut run.weights };
                part.buffer = Some(buffer);
            })?;
        }
    }

    fn process<S>(&mut self, mut run: Run, state: &mut S, compute: &impl Fn(&mut S, u64, List)) -> Result<()> {
        let rows = self.stream.rows;
        {
            let neighbors = bytes(&run.neighbors, &rows.adjacency, &rows.cache)?;
            let weights = match &rows.weights {
                Some(section) => bytes(&run.weights, section, &rows.weight_cache)?,
                None => &[],
            };
            let (width, weight_width) = (rows.width, rows.weight_width);
            for entry in &run.entries {
                let cut = |bytes: &'_ [u8], part: &Part, width: usize| -> Range<usize> {
                    debug_assert!(!bytes.is_empty() || width == 0);
                    let start = (entry.first * width as u64 - part.pages.start * PAGE_BYTES) as usize;
                    start..start + entry.count as usize * width
                };
                let list = List {
                    neighbors: &neighbors[cut(neighbors, &run.neighbors, width)],
                    weights: if weight_width == 0 { &[] } else { &weights[cut(weights, &run.weights, weight_width)] },
                    width,
                    weight_width,
                };
                self.edges += entry.count;
                compute(state, entry.vertex, list);
            }
        }
        self.reader.free.extend(run.neighbors.buffer.take());
        self.reader.free.extend(run.weights.buffer.take());
        run.entries.clear();
        self.free_runs.push(run);
        Ok(())
    }

    /// After an error: takes back every buffer that the kernel may still write to.
    fn abandon(&mut self) {
        self.stream.session.stop.store(true, Relaxed);
        let free = &mut self.reader.free;
        for (_, mut run) in self.window.drain(..) {
            free.extend(run.neighbors.buffer.take());
            free.extend(run.weights.buffer.take());
        }
        let mut back = Vec::new();
        self.reader.drain(|buffer| back.push(buffer));
        self.reader.free.extend(back);
    }
}

/// A part's bytes: verified and offered to the cache when they were read just now.
fn bytes<'b>(part: &'b Part, section: &OpenSection, cache: &'b PrefixCache) -> Result<&'b [u8]> {
    let count = part.pages.end - part.pages.start;
    match &part.buffer {
        None => Ok(cache.get(part.pages.start, count)),
        Some(buffer) => {
            let bytes = &buffer[..(count * PAGE_BYTES) as usize];
            section.verify(part.pages.start * PAGE_BYTES, bytes)?;
            cache.put(part.pages.start, bytes);
            Ok(bytes)
        }
    }
}
