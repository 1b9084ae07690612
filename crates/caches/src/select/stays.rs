//! [`Stays`]: for whose lists a page is read, and how many bytes of lists would save that reading.
//!
//! Sample searches want the lists of a whole level together, and not only those of one vertex's
//! neighbors as the paper assumes (ATC'19, section 3.1, assumption 1). A page comes into the page
//! cache for some of the lists in it, serves others while it stays, and goes. Were all the lists of
//! that stay in the static cache, it would not have been read. So the score of a vertex is what it
//! takes part in, of readings saved, for each byte: for each of its stays, one by the bytes that
//! are still to be had of the stay.
//!
//! A stay counts for more if its page is a request of its own, and for less if it lies within a
//! request, which would become two without it.
//!
//! The degrees of the paper's penalty are not needed: a stay is counted once, and not for each edge
//! that leads to it.

use outercore_graph::Result;
use outercore_storage::{Bitmap, HugePages, PageCache};

use super::{Selector, clock::Clock, gvs::Scores, layout::Pages, searches::Search};

/// Bytes for each vertex: where its list begins, two entries of the heap, and what has changed.
pub(super) const EACH: u64 = 8 + 4 + 1 + 32 + 4;
/// Bytes for each vertex and sample: its place in a search, perhaps the end of a level, its stay,
/// and perhaps the bytes and the worth of one, and where a request begins.
pub(super) const OF_SAMPLE: u64 = 4 + 4 + 4 + 4 + 4 + 8;
const NONE: u32 = u32::MAX;
/// What a request takes beside its pages, in readings of a page. A fast device takes more, and
/// bytes matter too.
const REQUEST: f32 = 0.5;
/// What a vertex that no sample wants takes part in: then short lists come first.
const UNWANTED: f64 = 1e-9;

/// What is known of the vertices of a direction.
pub(super) struct Stays<'s> {
    selector: &'s Selector<'s>,
    pages: &'s Pages,
    chosen: Bitmap,
    samples: Vec<Sample>,
}

/// The stays of pages during one search.
struct Sample {
    /// The stay of the first page of each vertex's list.
    first: Vec<u32>,
    /// That of the last page, of lists in several, in the order of the vertices.
    last: Vec<(u32, u32)>,
    /// Bytes of lists that each stay was for, without those that were chosen.
    bytes: Vec<u32>,
    /// What the device would be spared without each stay.
    worth: Vec<f32>,
}

impl<'s> Stays<'s> {
    /// Those of some searches through a page cache.
    pub fn new(selector: &'s Selector, pages: &'s Pages, searches: &[Search]) -> Result<Self> {
        let chosen = Bitmap::new(selector.graph.connected(), HugePages::Off)?;
        let sample = |search| Sample::new(search, pages, selector);
        Ok(Self { selector, pages, chosen, samples: searches.iter().map(sample).collect() })
    }
}

impl Sample {
    fn new(search: &Search, pages: &Pages, selector: &Selector) -> Self {
        let options = selector.options;
        let frames = PageCache::frames(options.page_cache, options.block);
        let mut clock = Clock::new(pages.count(), frames, options.block);
        let mut stays = vec![NONE; pages.count()];
        let mut first = vec![NONE; selector.graph.connected() as usize];
        let (mut last, mut bytes, mut wanted) = (Vec::new(), Vec::new(), Vec::new());
        let mut requests = Vec::new();
        for level in search.levels() {
            pages.wanted(level.iter().copied(), &mut wanted);
            clock.want(&wanted, |page, begins| {
                stays[page as usize] = bytes.len() as u32;
                if begins {
                    requests.push(bytes.len());
                }
                bytes.push(0);
            });
            for &vertex in level {
                let own = pages.of(vertex);
                for page in own.clone() {
                    bytes[stays[page as usize] as usize] += pages.portion(vertex, page) as u32;
                }
                first[vertex as usize] = stays[*own.start() as usize];
                if own.start() < own.end() {
                    last.push((vertex, stays[*own.end() as usize]));
                }
            }
        }
        last.sort_unstable();
        let worth = worth(&requests, bytes.len());
        Self { first, last, bytes, worth }
    }

    /// The stays of the first and of the last page of a vertex's list.
    fn of(&self, vertex: u32, pages: &Pages) -> Option<[u32; 2]> {
        let first = self.first[vertex as usize];
        if first == NONE {
            return None;
        }
        let own = pages.of(vertex);
        let last = || {
            let at = self.last.binary_search_by_key(&vertex, |&(vertex, _)| vertex);
            at.map_or(first, |at| self.last[at].1)
        };
        Some([first, if own.start() < own.end() { last() } else { first }])
    }

    /// The readings that a vertex's list takes part in.
    fn part(&self, vertex: u32, pages: &Pages) -> f64 {
        let Some([first, last]) = self.of(vertex, pages) else { return 0.0 };
        let own = pages.of(vertex);
        let share = |page: u32, stay: u32| {
            let worth = f64::from(self.worth[stay as usize]);
            worth * pages.portion(vertex, page) as f64 / f64::from(self.bytes[stay as usize].max(1))
        };
        let begin = share(*own.start(), first);
        if own.start() == own.end() {
            return begin;
        }
        begin + f64::from(own.end() - own.start() - 1) + share(*own.end(), last)
    }
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

    fn update(&mut self, chosen: &[u32]) -> Result<Vec<u32>> {
        let mut changed = Vec::new();
        for &vertex in chosen {
            let own = self.pages.of(vertex);
            for sample in &mut self.samples {
                let Some([first, last]) = sample.of(vertex, self.pages) else { continue };
                let portion = |page| self.pages.portion(vertex, page) as u32;
                sample.bytes[first as usize] -= portion(*own.start());
                if own.start() < own.end() {
                    sample.bytes[last as usize] -= portion(*own.end());
                }
            }
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
    fn pages_that_are_requests_of_their_own_are_worth_more() {
        assert_eq!(worth(&[0, 1, 3], 7), [1.5, 1.0, 1.0, 1.0, 0.5, 0.5, 1.0]);
        assert!(worth(&[], 0).is_empty());
    }
}
