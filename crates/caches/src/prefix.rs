//! [`Prefix`]: the front of the rows, kept in memory page by page as it is read. Vertices are
//! ordered by degree, so the front holds the lists of the hubs: the lists that are wanted most.
//!
//! A traversal that wants each list about once wants the front once, and a page of the end, which
//! has hundreds of lists, again and again: it keeps the end.

use std::ops::Range;

use outercore_graph::{
    Result,
    format::{Group, List, RowIndex},
};
use outercore_storage::{HugePages, PrefixCache};

use crate::{Kept, ListCache};

/// Groups whose lists have at most so many pages are looked up as a whole.
const FEW: u64 = 64;
/// A front of more pages may let pass what is read.
const LARGE: u64 = 1 << 12;

/// The front of the rows: of the neighbors, and of their weights if they are read.
#[derive(Default)]
pub struct Prefix(pub Vec<PrefixCache>);

/// Fronts that keep nothing more meanwhile.
pub struct Passing<'p>(Vec<&'p PrefixCache>);

impl Drop for Passing<'_> {
    fn drop(&mut self) {
        self.0.iter().for_each(|front| front.keep());
    }
}

impl Prefix {
    /// Room, in so many bytes of memory, for the front of files that have so many pages, each, and
    /// whose entries have such widths: as much of one as of the other. It is in the place of what
    /// was there, of which nothing is kept; unless that has room for all.
    pub fn make_room(
        &mut self,
        bytes: u64,
        files: impl Iterator<Item = (u64, usize)> + Clone,
        huge: HugePages,
    ) -> Result<()> {
        let mut both = self.0.iter().zip(files.clone());
        if !self.0.is_empty() && both.all(|(front, (pages, _))| front.size() >= pages) {
            return Ok(());
        }
        let all = files.clone().map(|file| file.0).sum::<u64>().max(1);
        let front = |(pages, width)| -> Result<_> {
            let bytes = (u128::from(bytes) * u128::from(pages) / u128::from(all)) as u64;
            Ok(PrefixCache::new(bytes, pages, width as u64, huge)?)
        };
        self.0 = files.map(front).collect::<Result<_>>()?;
        Ok(())
    }

    /// Whether it keeps anything at all.
    pub fn has_room(&self) -> bool {
        self.0.iter().any(|front| front.size() > 0)
    }

    /// Keeps as much of the end instead. Nothing has been read yet.
    pub fn turn_to_end(&mut self) {
        self.0.iter_mut().for_each(PrefixCache::turn_to_end);
    }

    /// The first time, and where there is much, nothing more is kept until what this returns is
    /// dropped: what is read is hardly wanted again, and the first touch of memory can take longer
    /// than to read it once more.
    pub fn pass_once(&self) -> Passing<'_> {
        let large = self.0.iter().filter(|front| front.size() > LARGE);
        Passing(large.filter(|front| front.pass_once()).collect())
    }

    /// All edges and what pads them, if all pages are here.
    #[inline]
    pub fn whole(&self) -> Option<List<'_>> {
        let (weights, weight_width) = match self.0.get(1) {
            Some(cache) => (cache.whole()?, cache.width as usize),
            None => (&[][..], 0),
        };
        let (neighbors, width) = (self.0[0].whole()?, self.0[0].width as usize);
        Some(List { neighbors, weights, width, weight_width })
    }

    /// Some edges, if all of their pages are here.
    #[inline]
    pub fn list(&self, edges: &Range<u64>) -> Option<List<'_>> {
        let (weights, weight_width) = match self.0.get(1) {
            Some(cache) => (cache.entries(edges)?, cache.width as usize),
            None => (&[][..], 0),
        };
        let (neighbors, width) = (self.0[0].entries(edges)?, self.0[0].width as usize);
        Some(List { neighbors, weights, width, weight_width })
    }

    /// All edges of a group, if they are here and few.
    #[inline]
    fn group(&self, edges: &Range<u64>) -> Option<List<'_>> {
        let pages = self.0[0].pages(edges);
        if pages.end - pages.start <= FEW { self.list(edges) } else { None }
    }
}

impl ListCache for Prefix {
    fn held(&self, index: &RowIndex, (group, bits): Group) -> u64 {
        let edges = index.group(group);
        if edges.is_empty() || self.0.iter().any(|cache| !cache.wants(&edges)) {
            return 0;
        }
        if self.group(&edges).is_some() {
            return bits;
        }
        if !self.0[0].has_some(&edges) {
            return 0;
        }
        let mut held = 0;
        index.for_lists((group, bits), |vertex, first, count| {
            let is_here = self.list(&(first..first + count)).is_some();
            held |= u64::from(is_here) << (vertex % 64);
        });
        held
    }

    fn show(
        &self,
        index: &RowIndex,
        group: Group,
        _: usize,
        visit: &mut dyn FnMut(u64, List),
    ) -> u64 {
        let edges = index.group(group.0);
        let (all, mut hits, mut last) = (self.group(&edges), 0, u64::MAX);
        index.for_lists(group, |vertex, first, count| {
            let own = first..first + count;
            let pages = self.0[0].pages(&own);
            hits += pages.end - pages.start - u64::from(pages.start == last);
            last = pages.end - 1;
            let list = match &all {
                Some(all) => all.part(first - edges.start, count),
                None => self.list(&own).expect("a page that is here stays"),
            };
            visit(vertex, list);
        });
        hits
    }

    fn kept(&self) -> Kept {
        Kept::Front
    }
}

#[cfg(test)]
mod tests {
    use outercore_storage::PAGE;

    use super::*;

    #[test]
    fn a_large_front_lets_pass_what_is_read_once() {
        for (pages, is_large) in [(LARGE, false), (LARGE + 1, true)] {
            let mut prefix = Prefix::default();
            let room = pages * (PAGE as u64 + 1);
            prefix.make_room(room, [(pages, 4)].into_iter(), HugePages::Off).unwrap();
            let front = &prefix.0[0];
            let keeps = |page: u64| {
                front.put(page, &[1; PAGE]);
                front.get(&(page..page + 1)).is_some()
            };
            assert!(keeps(0));
            let passing = prefix.pass_once();
            assert_eq!(keeps(1), !is_large);
            assert!(front.get(&(0..1)).is_some(), "what is there stays");
            drop(passing);
            assert!(keeps(1) && keeps(2));
            let _again = prefix.pass_once();
            assert!(keeps(3), "the second time it is kept");
        }
    }
}
