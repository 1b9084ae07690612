//! Sample runs: sets of vertices whose lists are wanted at the same time.
//!
//! Greedy selection learns from them: from searches; from many searches at once; and, for runs that
//! begin at all vertices, from labels that spread. A few more searches are there to see how a
//! selection does with those that it was not made for.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use outercore_graph::{Result, error};
use outercore_storage::{Bitmap, HugePages, memory::prefetch, threads};

use super::{Selector, penalties::for_lists, plain::mixed};
use crate::Runs;

/// Searches that are made at once by a run of many.
const MANY: u64 = 64;
/// Edges that spreading labels follow, in all edges of the graph: then what is left is small.
const SPREADING: u64 = 16;
/// Vertices that a sample run has, in all vertices, at the most.
pub(super) const WANTED: u64 = 16;
/// What a search must reach to tell something, as a part of what the best one does.
const REACH: usize = 4;
/// Times that as many searches are tried as are asked for.
const WAVES: u64 = 4;
/// Searches that a selection is tried on beside those that it is made for, as a part of these.
const FRESH: u64 = 4;

/// Vertices for which other threads are started.
const FEW: usize = 1 << 12;
/// Neighbors that are asked for before the first of them is looked at.
const TOGETHER: usize = 256;

/// The vertices whose lists a run wants, by level.
#[derive(Default)]
pub(super) struct SampleRun {
    vertices: Vec<u32>,
    ends: Vec<u32>,
    /// Whether it would go on: there was no more room.
    pub is_cut: bool,
}

impl SampleRun {
    /// The vertices of each level, ascending.
    pub fn levels(&self) -> impl Iterator<Item = &[u32]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| &self.vertices[start as usize..end as usize])
    }
}

/// Which of many searches have reached each vertex.
struct Masks {
    all: Vec<AtomicU64>,
    /// Those that did in this step.
    new: Vec<AtomicU64>,
}

impl Masks {
    fn new(vertices: usize) -> Self {
        let [all, new] = [(); 2].map(|()| (0..vertices).map(|_| AtomicU64::new(0)).collect());
        Self { all, new }
    }

    fn prefetch(&self, vertex: u32) {
        prefetch(&raw const self.all[vertex as usize]);
    }

    /// Some searches reach a vertex. Whether they are the first in this step that had not before.
    fn add(&self, vertex: u32, searches: u64) -> bool {
        let (all, new) = (&self.all[vertex as usize], &self.new[vertex as usize]);
        // Most have: a plain load spares the exclusive access.
        let more = searches & !all.load(Relaxed);
        if more == 0 {
            return false;
        }
        let more = more & !all.fetch_or(more, Relaxed);
        more != 0 && new.fetch_or(more, Relaxed) == 0
    }

    /// Those of a step that is over.
    fn take(&self, vertex: u32) -> u64 {
        self.new[vertex as usize].swap(0, Relaxed)
    }
}

impl Selector<'_> {
    /// Sample runs of the kind that is selected for. Lists are in memory, or they are searches.
    pub(super) fn samples(&self, room: u64) -> Result<Vec<SampleRun>> {
        if self.runs == Runs::Search {
            return self.searches(room);
        }
        let most = (self.graph.connected() * WANTED).min(u64::from(u32::MAX) / 2);
        let mut run = SampleRun::default();
        self.live(|active| {
            run.is_cut |= (run.vertices.len() + active.len()) as u64 > most;
            if !run.is_cut {
                run.vertices.extend(active);
                run.ends.push(run.vertices.len() as u32);
            }
        })?;
        Ok(vec![run])
    }

    /// Does a run that is no search, and hands the vertices of each step to `visit`.
    pub(super) fn live(&self, visit: impl FnMut(&[u32])) -> Result<()> {
        if self.runs == Runs::Many { self.many(visit) } else { self.labels(visit) }
    }

    /// Sample searches: from the vertex with the longest list, and from any that reach about as
    /// many. The same ones for any number of threads.
    fn searches(&self, room: u64) -> Result<Vec<SampleRun>> {
        let connected = self.graph.connected() as u32;
        let hub = (0..connected).max_by_key(|&v| (self.lists.degree(v), std::cmp::Reverse(v)));
        // Without lists there is nothing that a search could want.
        let Some(hub) = hub.filter(|&vertex| self.lists.degree(vertex) > 0) else {
            return Ok(Vec::new());
        };
        let any = (0..).map(|at| (mixed(at) % u64::from(connected)) as u32);
        // Where few vertices have lists, some of these are tried twice.
        let count = (self.options.sample + self.options.sample.div_ceil(FRESH)) as usize;
        let tries = count * WAVES as usize;
        let any = any.take(64 * tries).filter(|&vertex| self.lists.degree(vertex) > 0);
        let sources: Vec<u32> = std::iter::once(hub).chain(any).take(tries).collect();
        let mut found: Vec<SampleRun> = Vec::new();
        for wave in sources.chunks(count) {
            let next = AtomicUsize::new(0);
            let work = |_| {
                let mut own = Vec::new();
                while let Some(&source) = wave.get(next.fetch_add(1, Relaxed)) {
                    own.push((source, self.search(source, room / 4)?));
                }
                Ok(own)
            };
            let threads = if self.lists.is_kept() { self.options.threads } else { 1 };
            let made = error::all(threads::at_once(threads, work)?)?;
            let mut made: Vec<_> = made.into_iter().flatten().collect();
            // Whichever thread has made them.
            made.sort_by_key(|(source, _)| wave.iter().position(|other| other == source));
            found.extend(made.into_iter().map(|(_, search)| search));
            let most = found.iter().map(|search| search.vertices.len()).max().unwrap_or(0);
            found.retain(|search| search.vertices.len() * REACH >= most);
            found.truncate(count);
            if found.len() == count {
                break;
            }
        }
        Ok(found)
    }

    fn search(&self, source: u32, room: u64) -> Result<SampleRun> {
        let seen = Bitmap::new(self.graph.connected(), HugePages::Off)?;
        seen.insert(u64::from(source));
        let mut search = SampleRun { vertices: vec![source], ends: vec![1], is_cut: false };
        let mut start = 0;
        while start < search.vertices.len() {
            self.progress.check()?;
            let mut next = Vec::new();
            for_lists(&self.lists, &search.vertices[start..], room, |_, list| {
                self.lists.each(list, |vertex| {
                    if !seen.contains(u64::from(vertex)) {
                        seen.insert(u64::from(vertex));
                        next.push(vertex);
                    }
                })
            })?;
            next.retain(|&vertex| self.lists.degree(vertex) > 0);
            next.sort_unstable();
            start = search.vertices.len();
            search.vertices.append(&mut next);
            search.ends.push(search.vertices.len() as u32);
        }
        search.ends.pop();
        Ok(search)
    }

    /// Many searches at once: hands the vertices that are reached by another one in each step to
    /// `visit`. Lists are in memory. The same steps for any number of threads.
    fn many(&self, mut visit: impl FnMut(&[u32])) -> Result<()> {
        let masks = Masks::new(self.graph.connected() as usize);
        let mut active: Vec<u32> = Vec::new();
        for search in 0..if masks.all.is_empty() { 0 } else { MANY } {
            let source = (mixed(search + 1_000_000) % masks.all.len() as u64) as u32;
            active.extend(masks.add(source, 1 << search).then_some(source));
        }
        while !active.is_empty() {
            self.progress.check()?;
            active.sort_unstable();
            let come: Vec<(u32, u64)> =
                active.iter().map(|&vertex| (vertex, masks.take(vertex))).collect();
            active.retain(|&vertex| self.lists.degree(vertex) > 0);
            visit(&active);
            let threads = if come.len() < FEW { 1 } else { self.options.threads };
            let parts: Vec<_> = come.chunks(come.len().div_ceil(threads * 8)).collect();
            let next = AtomicUsize::new(0);
            let work = |_| {
                let mut reached = Vec::new();
                while let Some(part) = parts.get(next.fetch_add(1, Relaxed)) {
                    self.reach(part, &masks, &mut reached)?;
                }
                Ok(reached)
            };
            active = error::all(threads::at_once(threads, work)?)?.concat();
        }
        Ok(())
    }

    /// Many searches go on from some vertices. Adds those that one of them reaches first in this
    /// step.
    fn reach(&self, from: &[(u32, u64)], masks: &Masks, reached: &mut Vec<u32>) -> Result<()> {
        let mut neighbors = Vec::new();
        for (at, &(vertex, searches)) in (1..).zip(from) {
            self.lists.each(self.lists.kept(vertex), |to| {
                masks.prefetch(to);
                neighbors.push((to, searches));
            })?;
            // Most lists are short: their neighbors are waited for together.
            if neighbors.len() >= TOGETHER || at == from.len() {
                let first = |(to, searches)| masks.add(to, searches).then_some(to);
                reached.extend(neighbors.drain(..).filter_map(first));
            }
        }
        Ok(())
    }

    /// Smallest labels spread: hands the vertices with a new one in each step to `visit`. Lists are
    /// in memory.
    fn labels(&self, mut visit: impl FnMut(&[u32])) -> Result<()> {
        let all = self.graph.connected() as u32;
        let mut labels: Vec<u32> = (0..all).collect();
        let mut active: Vec<u32> = (0..all).filter(|&v| self.lists.degree(v) > 0).collect();
        let mut left = self.graph.manifest().arcs * SPREADING;
        let mut is_next = vec![false; all as usize];
        while !active.is_empty() && left > 0 {
            self.progress.check()?;
            visit(&active);
            let (mut next, mut come) = (Vec::new(), Vec::new());
            for &vertex in &active {
                left = left.saturating_sub(u64::from(self.lists.degree(vertex)));
                come.push(labels[vertex as usize]);
            }
            for (&vertex, label) in active.iter().zip(come) {
                self.lists.each(self.lists.kept(vertex), |to| {
                    let to = to as usize;
                    if label < labels[to] {
                        labels[to] = label;
                        if !std::mem::replace(&mut is_next[to], true) {
                            next.push(to as u32);
                        }
                    }
                })?;
            }
            next.sort_unstable();
            next.iter().for_each(|&vertex| is_next[vertex as usize] = false);
            active = next;
        }
        Ok(())
    }
}
