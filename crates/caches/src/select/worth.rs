//! How much of a static cache is worth its memory: what it does not take is page cache.
//!
//! Where the pages that a search wants next are mostly those that it has just read, as in a road
//! network, a page cache gains more than any choice of lists. So a selection is tried on sample
//! runs of the kind that it is for: nothing of it, an eighth, and so on, in the same memory. What
//! reads least on average is worth it, if that is a tenth less, and takes no more requests: a page
//! within a request that need not be read makes two of it.

use std::{
    ops::Range,
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};

use outercore_graph::{Result, error};
use outercore_storage::{PageCache, threads};

use super::{Selector, clock::Clock, layout::Pages, runs::SampleRun};
use crate::SelectedLists;

/// Parts of a selection that are tried.
const PARTS: u64 = 8;
/// What runs must read at the most, of what they do without: the page cache of a run, which several
/// threads use, differs by some per cent.
const LESS: f64 = 0.9;
/// Bytes of a thread for each page: its place in the cache beside each part.
pub(super) const OF_PAGE: u64 = 4 * (PARTS + 2);

/// Pages that were read, and requests that they took.
type Read = [u64; 2];

/// Page caches beside some parts of a selection.
struct Trial<'t> {
    pages: &'t Pages<'t>,
    /// The first part that has each vertex's list.
    parts: &'t [u8],
    clocks: Vec<(u8, Clock, Read)>,
    wanted: Vec<u32>,
}

impl Trial<'_> {
    /// A run wants the lists of some vertices, ascending.
    fn want(&mut self, vertices: &[u32]) {
        for (part, clock, read) in &mut self.clocks {
            let not_held = |&vertex: &u32| self.parts[vertex as usize] > *part;
            self.pages.wanted(vertices.iter().copied().filter(not_held), &mut self.wanted);
            clock.want(&self.wanted, |_, begins| {
                read[0] += 1;
                read[1] += u64::from(begins);
            });
        }
    }

    /// What was read beside each part.
    fn read(self) -> Vec<Read> {
        self.clocks.into_iter().map(|(_, _, read)| read).collect()
    }
}

/// What was found by trying.
pub(super) struct Worth {
    /// Bytes of the cache that are better spent on lists than on pages.
    pub bytes: u64,
    /// Bytes that a run reads with pages alone, and with so many bytes of lists.
    pub searches: Option<[u64; 2]>,
}

impl Selector<'_> {
    /// How much of a cache is worth it, of what was chosen.
    pub(super) fn worth(&self, pages: &Pages, runs: &[SampleRun], chosen: &[u32]) -> Result<Worth> {
        // Without them in memory, trying would cost more than runs do.
        if !self.lists.is_kept() || chosen.is_empty() {
            return Ok(Worth { bytes: self.options.size, searches: None });
        }
        let (parts, next) = (self.parts(chosen), AtomicUsize::new(0));
        let tried = self.tried(runs);
        let work = |_| {
            let mut own = Vec::new();
            loop {
                let at = next.fetch_add(1, Relaxed);
                let Some((run, some)) = tried.get(at) else { return Ok(own) };
                let mut trial = self.trial(pages, &parts, some.clone());
                if run.is_cut {
                    self.live(|active| trial.want(active))?;
                } else {
                    run.levels().for_each(|level| trial.want(level));
                }
                own.push((at, trial.read()));
            }
        };
        let mut read = error::all(threads::at_once(self.options.threads, work)?)?.concat();
        read.sort_by_key(|(at, _)| *at);
        let read: Vec<Read> = read.into_iter().flat_map(|(_, read)| read).collect();
        let read: Vec<Vec<Read>> = read.chunks(PARTS as usize + 1).map(<[_]>::to_vec).collect();
        let part = best(&read);
        let mean = |part: u64| {
            let all: u64 = read.iter().map(|read| read[part as usize][0]).sum();
            all * self.options.block / read.len().max(1) as u64
        };
        Ok(Worth { bytes: self.bytes_of(part), searches: Some([mean(0), mean(part)]) })
    }

    /// The first part of a selection that has each vertex's list.
    fn parts(&self, chosen: &[u32]) -> Vec<u8> {
        let mut parts = vec![u8::MAX; self.graph.connected() as usize];
        let mut used = 0;
        for &vertex in chosen {
            used += self.bytes(vertex);
            let part = (used * PARTS).div_ceil(self.room.max(1)).clamp(1, PARTS);
            parts[vertex as usize] = part as u8;
        }
        parts
    }

    /// Each run with parts that are tried in one go: in order, and such that all threads have some.
    fn tried<'r>(&self, runs: &'r [SampleRun]) -> Vec<(&'r SampleRun, Range<u64>)> {
        let all = PARTS + 1;
        let of = |run: &'r SampleRun| {
            // One that is made again for each trial is made once.
            let alone = run.is_cut || runs.len() >= self.options.threads;
            let each = if alone { all } else { all.div_ceil(self.options.threads as u64) };
            let starts = (0..all).step_by(each as usize);
            starts.map(move |start| (run, start..(start + each).min(all)))
        };
        runs.iter().flat_map(of).collect()
    }

    fn trial<'t>(&self, pages: &'t Pages<'t>, parts: &'t [u8], some: Range<u64>) -> Trial<'t> {
        let options = self.options;
        let clock = |part| {
            let left = options.size - self.bytes_of(part);
            let frames = PageCache::frames(options.page_cache + left, options.block);
            (part as u8, Clock::new(pages.count(), frames, options.block), [0; 2])
        };
        Trial { pages, parts, clocks: some.map(clock).collect(), wanted: Vec::new() }
    }

    /// Bytes of the cache that so many parts of a selection take.
    fn bytes_of(&self, part: u64) -> u64 {
        let own = SelectedLists::overhead(self.graph) + self.room * part / PARTS;
        if part == 0 { 0 } else { own.min(self.options.size) }
    }
}

/// The part with which least is read, on average of the runs, by pages and by requests alike, if it
/// is worth the doubt: on average they read a tenth less, in no more requests; no run reads more,
/// and none takes a tenth more requests.
fn best(read: &[Vec<Read>]) -> u64 {
    let judged = |part: u64| {
        let shares = |which: usize| {
            read.iter()
                .map(move |read| read[part as usize][which] as f64 / read[0][which].max(1) as f64)
        };
        let [pages, requests] = [0, 1].map(|which| shares(which).sum::<f64>() / read.len() as f64);
        let [most, most_requests] = [0, 1].map(|which| shares(which).fold(0.0, f64::max));
        let is_worth_it =
            pages <= LESS && requests <= 1.0 && most <= 1.0 && most_requests <= 2.0 - LESS;
        is_worth_it.then_some((part, pages + requests))
    };
    let judged = (1..=PARTS).filter_map(judged);
    judged.min_by(|one, other| one.1.total_cmp(&other.1)).map_or(0, |(part, _)| part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_with_which_more_is_read_is_not_worth_it() {
        let both = |mut read: Vec<Read>, at: usize, found| {
            read[at] = found;
            read
        };
        let part = |at, pages| both(vec![[100; 2]; PARTS as usize + 1], at, [pages, 100]);
        assert_eq!(best(&[part(3, 50), part(3, 90)]), 3);
        assert_eq!(best(&[part(3, 50), part(3, 110)]), 0, "one reads more");
        assert_eq!(best(&[both(part(3, 50), 5, [20, 100]), both(part(3, 90), 5, [90, 100])]), 5);
        assert_eq!(best(&[part(5, 95)]), 0, "a twentieth less");
        let requests = |one, other| {
            let runs = [one, other].map(|count| both(part(5, 50), 5, [50, count]));
            best(&runs)
        };
        assert_eq!([requests(105, 90), requests(105, 99), requests(115, 50)], [5, 0, 0]);
        // Fewer pages, but in more requests; and a few more pages in half the requests.
        assert_eq!(best(&[both(part(3, 89), 5, [10, 101])]), 3);
        assert_eq!(best(&[both(part(3, 89), 2, [101, 20])]), 3);
    }
}
