//! Sample runs: sets of vertices whose lists are wanted at the same time.
//!
//! Greedy selection learns from them: from searches; from many searches at once; and, for runs that
//! begin at all vertices, from labels that spread. A few more searches are there to see how a
//! selection does with those that it was not made for.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use outercore_graph::{Result, error};
use outercore_storage::{Bitmap, HugePages, threads};

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
    /// `visit`. Lists are in memory.
    fn many(&self, mut visit: impl FnMut(&[u32])) -> Result<()> {
        let all = self.graph.connected() as usize;
        let [mut has, mut new, mut more] = [const { Vec::<u64>::new() }; 3].map(|mut masks| {
            masks.resize(all, 0);
            masks
        });
        let mut active = Vec::new();
        for search in 0..if all > 0 { MANY } else { 0 } {
            let source = mixed(search + 1_000_000) as usize % all;
            has[source] |= 1 << search;
            new[source] |= 1 << search;
            active.push(source as u32);
        }
        while !active.is_empty() {
            self.progress.check()?;
            active.sort_unstable();
            active.dedup();
            active.retain(|&vertex| self.lists.degree(vertex) > 0);
            visit(&active);
            let mut next = Vec::new();
            for &vertex in &active {
                let come = new[vertex as usize];
                self.lists.each(self.lists.kept(vertex), |to| {
                    let to = to as usize;
                    if come & !has[to] & !more[to] != 0 {
                        more[to] |= come & !has[to];
                        next.push(to as u32);
                    }
                })?;
            }
            active.iter().for_each(|&vertex| new[vertex as usize] = 0);
            active = next;
            for &vertex in &active {
                let vertex = vertex as usize;
                let come = std::mem::take(&mut more[vertex]);
                (has[vertex], new[vertex]) = (has[vertex] | come, new[vertex] | come);
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
