//! [`Stays`]: for whose lists a page is read, and how many bytes of lists would save that reading.
//!
//! Sample runs want the lists of a whole level together, and not only those of one vertex's
//! neighbors as the paper assumes (ATC'19, section 3.1, assumption 1). A page comes into the page
//! cache for some of the lists in it, serves others while it stays, and goes. Were all the lists of
//! that stay in the static cache, it would not have been read. So the score of a vertex is what it
//! takes part in, of readings saved, for each byte: for each of its stays, one by the bytes that
//! are still to be had of the stay. Bytes are those of packed lists.
//!
//! A stay counts for more if its page is a request of its own, and for less if it lies within a
//! request, which would become two without it.
//!
//! Without the lists that were chosen, other pages stay together, and requests are others. So the
//! samples run anew some times while lists are chosen.
//!
//! The degrees of the paper's penalty are not needed: a stay is counted once, and not for each edge
//! that leads to it.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use outercore_graph::{Result, error};
use outercore_storage::{Bitmap, HugePages, PageCache, threads};

use super::{Selector, clock::Clock, gvs::Scores, layout::Pages, runs::SampleRun};

/// Bytes for each vertex: where its list begins, two entries of the heap, and what has changed.
pub(super) const EACH: u64 = 8 + 4 + 1 + 32 + 4;
/// Bytes for each vertex and sample: its place in a run, perhaps the end of a level, and half of
/// that for other runs; where its stays are, one of them, and perhaps what is known of that.
pub(super) const OF_SAMPLE: u64 = 4 + 4 + 4 + 4 + 4 + 12;
/// Bytes of a thread for each vertex: a stay that is to be sorted, and perhaps a request.
pub(super) const OF_THREAD: u64 = 8 + 8;
const NONE: u32 = u32::MAX;
/// What a request takes beside its pages, in readings of a page. A fast device takes more, and
/// bytes matter too.
const REQUEST: f32 = 0.5;
/// What a vertex that no sample wants takes part in: then short lists come first.
const UNWANTED: f64 = 1e-9;
/// Parts of the choice before each of which the samples run anew.
const ANEW: u64 = 5;

/// What is known of the vertices of a direction.
pub(super) struct Stays<'s> {
    selector: &'s Selector<'s>,
    pages: &'s Pages<'s>,
    runs: &'s [SampleRun],
    chosen: Bitmap,
    samples: Vec<Sample>,
}

/// The stays of pages during one run.
struct Sample {
    /// Where the stays of each vertex's list begin, and the end of all.
    first: Vec<u32>,
    /// Of each vertex those of the pages of its list, in their order.
    stays: Vec<u32>,
    /// The page of each stay.
    pages: Vec<u32>,
    /// Bytes of lists that each stay was for, without those that were chosen.
    bytes: Vec<u32>,
    /// What the device would be spared without each stay.
    worth: Vec<f32>,
}

impl<'s> Stays<'s> {
    /// Those of some runs through a page cache.
    pub fn new(
        selector: &'s Selector,
        pages: &'s Pages<'s>,
        runs: &'s [SampleRun],
    ) -> Result<Self> {
        let chosen = Bitmap::new(selector.graph.connected(), HugePages::Off)?;
        let mut stays = Self { selector, pages, runs, chosen, samples: Vec::new() };
        stays.sample()?;
        Ok(stays)
    }

    /// Does the runs, with what was chosen.
    fn sample(&mut self) -> Result<()> {
        // Two of each never are in memory.
        self.samples.clear();
        let (this, next) = (&*self, AtomicUsize::new(0));
        let work = |_| {
            let mut own = Vec::new();
            loop {
                let at = next.fetch_add(1, Relaxed);
                let Some(run) = this.runs.get(at) else { return Ok(own) };
                this.selector.progress.check()?;
                own.push((at, Sample::new(run, this)));
            }
        };
        let made = error::all(threads::at_once(self.selector.options.threads, work)?)?;
        let mut made: Vec<_> = made.into_iter().flatten().collect();
        made.sort_by_key(|(at, _)| *at);
        self.samples = made.into_iter().map(|(_, sample)| sample).collect();
        Ok(())
    }
}

impl Sample {
    fn new(run: &SampleRun, of: &Stays) -> Self {
        let (options, pages, connected) = (of.selector.options, of.pages, of.chosen.len());
        let frames = PageCache::frames(options.page_cache, options.block);
        let mut clock = Clock::new(pages.count(), frames, options.block);
        let mut now = vec![NONE; pages.count()];
        let [mut wanted, mut own] = [const { Vec::new() }; 2];
        let (mut requests, mut each) = (Vec::new(), Vec::new());
        let is_free = |vertex: &u32| !of.chosen.contains(u64::from(*vertex));
        for level in run.levels() {
            let level = || level.iter().copied().filter(is_free);
            pages.wanted(level(), &mut wanted);
            clock.want(&wanted, |page, begins| {
                now[page as usize] = own.len() as u32;
                if begins {
                    requests.push(own.len());
                }
                own.push(page);
            });
            for vertex in level() {
                each.extend(pages.of(vertex).map(|page| (vertex, now[page as usize])));
            }
        }
        let (first, stays) = by_vertex(each, connected as usize);
        let mut bytes = vec![0; own.len()];
        for vertex in 0..connected as u32 {
            for &stay in
                &stays[first[vertex as usize] as usize..first[vertex as usize + 1] as usize]
            {
                bytes[stay as usize] += pages.portion(vertex, own[stay as usize]) as u32;
            }
        }
        let worth = worth(&requests, own.len());
        Self { first, stays, pages: own, bytes, worth }
    }

    /// The stays of a vertex's list.
    fn of(&self, vertex: u32) -> std::ops::Range<usize> {
        self.first[vertex as usize] as usize..self.first[vertex as usize + 1] as usize
    }

    /// The readings that a vertex's list takes part in.
    fn part(&self, vertex: u32, pages: &Pages) -> f64 {
        let own = pages.of(vertex);
        let part = |&stay: &u32| {
            let (at, page) = (stay as usize, self.pages[stay as usize]);
            if *own.start() < page && page < *own.end() {
                // A list's own pages leave no request in two.
                return 1.0;
            }
            let portion = pages.portion(vertex, page) as f64;
            f64::from(self.worth[at]) * portion / f64::from(self.bytes[at].max(1))
        };
        self.stays[self.of(vertex)].iter().map(part).sum()
    }
}

/// The stays of each vertex, and where they begin. What is wanted again during a stay takes no more
/// of it.
fn by_vertex(each: Vec<(u32, u32)>, vertices: usize) -> (Vec<u32>, Vec<u32>) {
    let mut first = vec![0; vertices + 1];
    each.iter().for_each(|&(vertex, _)| first[vertex as usize + 1] += 1);
    (0..vertices).for_each(|vertex| first[vertex + 1] += first[vertex]);
    let mut stays = vec![0; each.len()];
    for (vertex, stay) in each {
        // Afterwards it is where the next one begins.
        let at = &mut first[vertex as usize];
        stays[*at as usize] = stay;
        *at += 1;
    }
    let (mut start, mut end) = (0, 0);
    for next in &mut first {
        let own = start..std::mem::replace(next, end as u32) as usize;
        start = own.end;
        stays[own.clone()].sort_unstable();
        let begins = end;
        for at in own {
            if end == begins || stays[end - 1] != stays[at] {
                stays[end] = stays[at];
                end += 1;
            }
        }
    }
    stays.truncate(end);
    (first, stays)
}

/// What the device would be spared without each of so many stays, whose pages are read in requests
/// that begin with some of them.
fn worth(requests: &[usize], stays: usize) -> Vec<f32> {
    let ends = requests.iter().copied().skip(1).chain([stays]);
    let of = |(&start, end): (&usize, usize)| {
        (start..end).map(move |at| match (at == start, at + 1 == end) {
            (true, true) => 1.0 + REQUEST,
            // A request from which a page within is missing is two.
            (false, false) => 1.0 - REQUEST,
            _ => 1.0,
        })
    };
    requests.iter().zip(ends).flat_map(of).collect()
}

impl Scores for Stays<'_> {
    fn score(&self, vertex: u32) -> f64 {
        let parts: f64 = self.samples.iter().map(|sample| sample.part(vertex, self.pages)).sum();
        (parts + UNWANTED) / self.pages.bytes(vertex) as f64
    }

    fn is_free(&self, vertex: u32) -> bool {
        self.selector.lists.degree(vertex) > 0 && !self.chosen.contains(u64::from(vertex))
    }

    fn choose(&self, vertex: u32) {
        self.chosen.insert(u64::from(vertex));
    }

    fn update(&mut self, round: u64, chosen: &[u32]) -> Result<Vec<u32>> {
        if round.is_multiple_of(self.selector.options.rounds.div_ceil(ANEW)) {
            self.sample()?;
            return Ok((0..self.chosen.len() as u32).collect());
        }
        let mut changed = Vec::new();
        for &vertex in chosen {
            for sample in &mut self.samples {
                for at in sample.of(vertex) {
                    let stay = sample.stays[at] as usize;
                    let portion = self.pages.portion(vertex, sample.pages[stay]);
                    sample.bytes[stay] -= portion as u32;
                }
            }
            let own = self.pages.of(vertex);
            changed.extend([*own.start(), *own.end()]);
        }
        changed.sort_unstable();
        changed.dedup();
        let mut vertices: Vec<u32> =
            changed.into_iter().flat_map(|page| self.pages.mates(page)).collect();
        vertices.dedup();
        Ok(vertices)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stays_are_sorted_by_vertex_and_each_is_there_once() {
        let each = vec![(2, 7), (0, 3), (2, 1), (2, 7), (4, 9), (0, 3), (2, 1)];
        assert_eq!(by_vertex(each, 5), (vec![0, 1, 1, 3, 3, 4], vec![3, 1, 7, 9]));
        assert_eq!(by_vertex(Vec::new(), 2), (vec![0; 3], vec![]));
    }

    #[test]
    fn pages_that_are_requests_of_their_own_are_worth_more() {
        assert_eq!(worth(&[0, 1, 3], 7), [1.5, 1.0, 1.0, 1.0, 0.5, 0.5, 1.0]);
        assert!(worth(&[], 0).is_empty());
    }
}
