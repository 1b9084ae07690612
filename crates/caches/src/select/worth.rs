//! How much of a static cache is worth its memory: what it does not take is page cache.
//!
//! Where the pages that a search wants next are mostly those that it has just read, as in a road
//! network, a page cache gains more than any choice of lists. So a selection is tried on sample
//! runs, of each kind: nothing of it, an eighth, and so on, in the same memory. What reads least on
//! average of the kinds is worth it, if no kind reads more than it does without, nor takes more
//! requests: a page within a request that need not be read makes two of it.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use outercore_graph::{Result, error};
use outercore_storage::{PageCache, threads};

use super::{Selector, clock::Clock, layout::Pages, searches::Search};
use crate::SelectedLists;

/// Parts of a selection that are tried.
const PARTS: u64 = 8;
/// Bytes of a thread for each page: its place in the cache beside each part.
pub(super) const OF_PAGE: u64 = 4 * (PARTS + 2);

/// Pages that were read, and requests that they took.
type Read = [u64; 2];

/// Page caches beside each part of a selection.
struct Trial<'t> {
    pages: &'t Pages,
    /// The first part that has each vertex's list.
    parts: &'t [u8],
    clocks: Vec<(Clock, Read)>,
    wanted: Vec<u32>,
}

impl Trial<'_> {
    /// A run wants the lists of some vertices, ascending.
    fn want(&mut self, vertices: &[u32]) {
        for (part, (clock, read)) in (0..).zip(&mut self.clocks) {
            let not_held = |&vertex: &u32| self.parts[vertex as usize] > part;
            self.pages.wanted(vertices.iter().copied().filter(not_held), &mut self.wanted);
            clock.want(&self.wanted, |_, begins| {
                read[0] += 1;
                read[1] += u64::from(begins);
            });
        }
    }

    /// What was read beside each part.
    fn read(self) -> Vec<Read> {
        self.clocks.into_iter().map(|(_, read)| read).collect()
    }
}

/// What was found by trying.
pub(super) struct Worth {
    /// Bytes of the cache that are better spent on lists than on pages.
    pub bytes: u64,
    /// Bytes that a search reads with pages alone, and with so many bytes of lists.
    pub searches: Option<[u64; 2]>,
}

impl Selector<'_> {
    /// How much of a cache is worth it, of what was chosen.
    pub(super) fn worth(
        &self,
        pages: &Pages,
        searches: &[Search],
        chosen: &[u32],
    ) -> Result<Worth> {
        // Without them in memory, trying would cost more than runs do.
        if !self.lists.is_kept() || chosen.is_empty() {
            return Ok(Worth { bytes: self.options.size, searches: None });
        }
        let parts = self.parts(chosen);
        // Searches, and then many at once; labels spread along both directions.
        let kinds = searches.len() + 1 + usize::from(!self.graph.manifest().directed);
        let next = AtomicUsize::new(0);
        let work = |_| {
            let mut own = Vec::new();
            loop {
                let kind = next.fetch_add(1, Relaxed);
                if kind >= kinds {
                    return Ok(own);
                }
                let mut trial = self.trial(pages, &parts);
                match searches.get(kind) {
                    Some(search) => search.levels().for_each(|level| trial.want(level)),
                    None if kind == searches.len() => self.many(|active| trial.want(active))?,
                    None => self.labels(|active| trial.want(active))?,
                }
                own.push((kind, trial.read()));
            }
        };
        let mut read = error::all(threads::at_once(self.options.threads, work)?)?.concat();
        read.sort_by_key(|(kind, _)| *kind);
        let read: Vec<Vec<Read>> = read.into_iter().map(|(_, read)| read).collect();
        let part = best(&read, searches.len());
        let mean = |part: u64| {
            let all: u64 = read[..searches.len()].iter().map(|read| read[part as usize][0]).sum();
            all * self.options.block / searches.len() as u64
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

    fn trial<'t>(&self, pages: &'t Pages, parts: &'t [u8]) -> Trial<'t> {
        let options = self.options;
        let clock = |part| {
            let left = options.size - self.bytes_of(part);
            let frames = PageCache::frames(options.page_cache + left, options.block);
            (Clock::new(pages.count(), frames, options.block), [0; 2])
        };
        Trial { pages, parts, clocks: (0..=PARTS).map(clock).collect(), wanted: Vec::new() }
    }

    /// Bytes of the cache that so many parts of a selection take.
    fn bytes_of(&self, part: u64) -> u64 {
        let own = SelectedLists::overhead(self.graph) + self.room * part / PARTS;
        if part == 0 { 0 } else { own.min(self.options.size) }
    }
}

/// The part with which least is read, on average of the kinds of runs, by pages and by requests
/// alike, and with which no kind reads more of either. The first kinds are `searches`, which count
/// as one.
fn best(read: &[Vec<Read>], searches: usize) -> u64 {
    let (searches, others) = read.split_at(searches);
    let judged = |part: u64| {
        let shares = |which: usize| {
            let of =
                |read: &Vec<Read>| read[part as usize][which] as f64 / read[0][which].max(1) as f64;
            let search = searches.iter().map(of).sum::<f64>() / searches.len().max(1) as f64;
            others.iter().map(of).chain([search]).collect::<Vec<f64>>()
        };
        let shares = [0, 1].map(shares).concat();
        let most = shares.iter().copied().fold(0.0, f64::max);
        (most <= 1.0).then(|| (part, shares.iter().sum::<f64>()))
    };
    let judged = (0..=PARTS).filter_map(judged);
    judged.min_by(|one, other| one.1.total_cmp(&other.1)).map_or(0, |(part, _)| part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_with_which_some_kind_reads_more_is_not_worth_it() {
        let both = |mut read: Vec<Read>, at: usize, found| {
            read[at] = found;
            read
        };
        let part = |at, pages| both(vec![[100; 2]; PARTS as usize + 1], at, [pages, 100]);
        let searches = vec![both(part(3, 50), 5, [20, 100]), part(3, 110)];
        // On average the searches read less with 3 parts, and with 5 even more so.
        let with = |other| best(&[searches.clone(), vec![other]].concat(), 2);
        assert_eq!(with(part(0, 100)), 5);
        assert_eq!(with(part(5, 101)), 3);
        assert_eq!(with(both(part(5, 101), 3, [150, 100])), 0);
        // Fewer pages, but in more requests; and a few more pages in half the requests.
        assert_eq!(with(both(part(5, 10), 5, [10, 101])), 3);
        assert_eq!(with(both(part(3, 100), 3, [100, 20])), 3);
    }
}
