//! [`Penalties`]: how badly pages are used for whose lists they are read (BASC, ATC'19, section
//! 3.1).
//!
//! The neighbors of a vertex are wanted together. Of those whose lists lie in one page, and are in
//! no cache, each bears a penalty: the fewer entries of the page are wanted with it, the higher. It
//! is less likely to be asked for along an edge the more edges lead to it, and its page is more
//! likely to be there the more lists lie in it.
//!
//! Lists ascend, so that neighbors of one page stand in a row: a list is gone through once. Sums
//! are of whole numbers, and so the same in any order: on any number of threads, and whether they
//! are made anew or only changed where something was chosen.

use std::{
    ops::Range,
    sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed},
};

use outercore_graph::{Result, error, format::List};
use outercore_storage::{Bitmap, HugePages, memory::prefetch, threads};

use super::{Divisor, Selector, gvs::Scores};
use crate::{Lists, lists::Shelf};

/// A page whose entries are all unwanted but one has this penalty.
const ONE: u64 = 1 << 31;
/// Bytes for each vertex: what a penalty needs, and two entries of the heap.
pub(super) const EACH: u64 = 16 + 4 + 1 + 32 + 4;
/// Pairs of a vertex and a page for which other threads are started.
const FEW: usize = 1 << 12;
/// Bytes of such a pair, with the copy that sorting makes.
const PAIR: u64 = 16;

/// What is asked for along each edge to a vertex, in one place of memory.
struct Vertex {
    /// What it bears.
    sum: AtomicU64,
    /// The page that its list begins in, of those in which some list does.
    page: u32,
    /// Entries of its list.
    degree: u32,
}

/// What is known of the vertices of a direction.
pub(super) struct Penalties<'s> {
    selector: &'s Selector<'s>,
    /// The lists of the edges that lead to vertices, where there are such lists.
    back: Option<Lists<'s>>,
    /// How many edges lead to each vertex.
    arriving: Vec<u32>,
    vertices: Vec<Vertex>,
    /// The first vertex of each page, and the end.
    first: Vec<u32>,
    /// How many lists begin in each.
    mates: Vec<u32>,
    /// Vertices that were chosen, and those of them that were in this round.
    chosen: Bitmap,
    fresh: Bitmap,
    /// Bytes of memory for what is read at a time.
    room: u64,
}

impl<'s> Penalties<'s> {
    /// Those of a graph of which nothing is chosen.
    pub fn new(selector: &'s Selector<'s>) -> Result<Self> {
        let graph = selector.graph;
        let (vertices, first, mates) = pages_of(selector);
        let back = graph.rows(selector.direction.reversed());
        let back = back.map(|rows| Lists::open(graph, rows, selector.options.threads));
        let kept = if selector.lists.is_kept() { Lists::entry_bytes(graph) } else { 0 };
        let used = super::memory(graph, selector.options) - super::READING + kept;
        let mut penalties = Self {
            selector,
            back: back.transpose()?,
            arriving: selector.arriving()?,
            vertices,
            first,
            mates,
            chosen: Bitmap::new(graph.connected(), HugePages::Off)?,
            fresh: Bitmap::new(graph.connected(), HugePages::Off)?,
            room: selector.options.memory.saturating_sub(used),
        };
        // What is chosen in one round needs no way back.
        if selector.options.rounds > 1
            && let Some(back) = &mut penalties.back
            && Lists::entry_bytes(graph) < penalties.room
        {
            back.keep()?;
            penalties.room -= Lists::entry_bytes(graph);
        }
        penalties.all()?;
        Ok(penalties)
    }

    fn of(&self, vertex: u32) -> &Vertex {
        &self.vertices[vertex as usize]
    }

    fn is_chosen(&self, vertex: u32) -> bool {
        self.chosen.contains(u64::from(vertex))
    }

    /// Entries of the wanted lists in a page's stretch of a list, without what is chosen, and of
    /// what was chosen in this round.
    fn wanted(&self, stretch: &[u32]) -> [u64; 2] {
        let mut wanted = [0; 2];
        for &vertex in stretch {
            let degree = u64::from(self.of(vertex).degree);
            if !self.is_chosen(vertex) {
                wanted[0] += degree;
            } else if self.fresh.contains(u64::from(vertex)) {
                wanted[1] += degree;
            }
        }
        wanted
    }

    /// Adds what the neighbors of a vertex bear.
    fn add(&self, neighbors: &[u32]) {
        let same = |a: &u32, b: &u32| self.of(*a).page == self.of(*b).page;
        for stretch in neighbors.chunk_by(same) {
            let [wanted, _] = self.wanted(stretch);
            let Some(penalty) = ONE.checked_div(wanted) else { continue };
            for &vertex in stretch.iter().filter(|&&vertex| self.is_free(vertex)) {
                self.of(vertex).sum.fetch_add(penalty, Relaxed);
            }
        }
    }

    /// Computes the penalties of all vertices anew.
    fn all(&self) -> Result<()> {
        let Selector { lists, options, progress, .. } = self.selector;
        self.vertices.iter().for_each(|vertex| vertex.sum.store(0, Relaxed));
        self.fresh.replace(0..self.fresh.len(), |_| false);
        let (parts, next) = (lists.parts(), AtomicUsize::new(0));
        let work = |_| {
            let mut neighbors = Vec::new();
            while let Some(part) = parts.get(next.fetch_add(1, Relaxed)) {
                progress.check()?;
                lists.for_each(part.clone(), |_, list| {
                    neighbors.clear();
                    lists.each(list, |neighbor| {
                        prefetch(self.of(neighbor));
                        neighbors.push(neighbor);
                    })?;
                    self.add(&neighbors);
                    Ok(())
                })?;
            }
            Ok(())
        };
        error::all(threads::at_once(options.threads, work)?).map(drop)
    }

    fn fresh_no_more(&self, chosen: &[u32]) {
        chosen.iter().for_each(|&vertex| self.fresh.remove(u64::from(vertex)));
    }

    /// The vertices with an edge to one that was chosen, and the page of that, in order, each pair
    /// once. `None`: to go through all lists is less.
    fn pairs(&self, chosen: &[u32]) -> Result<Option<Vec<(u32, u32)>>> {
        let Some(back) = &self.back else { return Ok(None) };
        let edges: u64 = chosen.iter().map(|&vertex| u64::from(back.degree(vertex))).sum();
        let all = self.selector.graph.manifest().arcs;
        if edges > all / 4 || edges * PAIR > self.room / 2 {
            return Ok(None);
        }
        let mut pairs = Vec::with_capacity(edges as usize);
        for_lists(back, chosen, self.room / 4, |vertex, list| {
            let page = self.of(vertex).page;
            back.each(list, |source| pairs.push((source, page)))
        })?;
        pairs.sort_unstable();
        pairs.dedup();
        // What is not in memory is read whole.
        let sources = pairs.chunk_by(|a, b| a.0 == b.0);
        let read = sources.map(|of| u64::from(self.selector.lists.degree(of[0].0))).sum::<u64>();
        let is_less = self.selector.lists.is_kept() || read < all / 2;
        Ok(is_less.then_some(pairs))
    }

    /// Changes penalties along the lists of these vertices, in these pages. Returns the vertices
    /// whose penalties changed, ascending.
    fn change(&self, pairs: &[(u32, u32)]) -> Result<Vec<u32>> {
        let Selector { lists, options, progress, .. } = self.selector;
        let changed = Bitmap::new(self.chosen.len(), HugePages::Off)?;
        let mut rest = pairs;
        while !rest.is_empty() {
            progress.check()?;
            let (part, shelf) = self.readable(rest)?;
            let threads = if part.len() < FEW { 1 } else { options.threads };
            let parts: Vec<_> = part.chunks(part.len().div_ceil(threads * 8).max(64)).collect();
            let next = AtomicUsize::new(0);
            let work = |_| {
                let mut stretch = Vec::new();
                while let Some(part) = parts.get(next.fetch_add(1, Relaxed)) {
                    for &(source, page) in *part {
                        let list = lists.list(source, &shelf);
                        stretch.clear();
                        self.stretch(list, page, &mut stretch)?;
                        self.shift(&stretch, &changed);
                    }
                }
                Ok(())
            };
            let results =
                if threads == 1 { vec![work(0)] } else { threads::at_once(threads, work)? };
            error::all(results)?;
            rest = &rest[part.len()..];
        }
        Ok(changed.iter(0..changed.len()).map(|vertex| vertex as u32).collect())
    }

    /// The first of some pairs, whose lists are in memory or fit there, and those lists.
    fn readable<'p>(&self, pairs: &'p [(u32, u32)]) -> Result<(&'p [(u32, u32)], Shelf)> {
        let lists = &self.selector.lists;
        if lists.is_kept() {
            return Ok((pairs, Shelf::default()));
        }
        let mut sources: Vec<u32> = pairs.iter().map(|pair| pair.0).collect();
        sources.dedup();
        let shelf = lists.read(&sources, self.room / 4)?;
        let count = pairs.iter().take_while(|pair| lists.find(pair.0, [&shelf; 2]).is_some());
        Ok((&pairs[..count.count()], shelf))
    }

    /// The neighbors in a list whose lists begin in a page.
    fn stretch(&self, list: List, page: u32, stretch: &mut Vec<u32>) -> Result<()> {
        let Range { start, end } =
            u64::from(self.first[page as usize])..u64::from(self.first[page as usize + 1]);
        let at = |index: u64| list.part(index, 1).neighbors().next().unwrap_or(u64::MAX);
        let lower = |bound: u64, mut low: u64| {
            let mut high = list.count();
            while low < high {
                let middle = low.midpoint(high);
                if at(middle) < bound { low = middle + 1 } else { high = middle }
            }
            low
        };
        let first = lower(start, 0);
        let last = lower(end, first);
        self.selector.lists.each(list.part(first, last - first), |vertex| stretch.push(vertex))
    }

    /// Replaces what the neighbors of a vertex in a page bear by what they do without those that
    /// were chosen in this round.
    fn shift(&self, stretch: &[u32], changed: &Bitmap) {
        let [wanted, gone] = self.wanted(stretch);
        let Some(penalty) = ONE.checked_div(wanted) else { return };
        let more = penalty - ONE / (wanted + gone);
        if more > 0 {
            for &vertex in stretch.iter().filter(|&&vertex| self.is_free(vertex)) {
                self.of(vertex).sum.fetch_add(more, Relaxed);
                changed.insert(u64::from(vertex));
            }
        }
    }
}

impl Scores for Penalties<'_> {
    fn score(&self, vertex: u32) -> f64 {
        let Vertex { sum, page, degree } = self.of(vertex);
        let mates = self.mates[*page as usize];
        let (own, arriving) =
            (f64::from(*degree), f64::from(self.arriving[vertex as usize].max(1)));
        let divisor = match self.selector.options.divisor {
            Divisor::Both => own * arriving,
            Divisor::Own => own,
            Divisor::Arriving => arriving,
        };
        let by = f64::from(mates) * arriving * divisor;
        sum.load(Relaxed) as f64 / by
    }

    fn is_free(&self, vertex: u32) -> bool {
        self.of(vertex).degree > 0 && !self.is_chosen(vertex)
    }

    fn choose(&self, vertex: u32) {
        self.chosen.insert(u64::from(vertex));
        self.fresh.insert(u64::from(vertex));
    }

    fn update(&mut self, _: u64, chosen: &[u32]) -> Result<Vec<u32>> {
        if chosen.is_empty() {
            return Ok(Vec::new());
        }
        let Some(pairs) = self.pairs(chosen)? else {
            self.all()?;
            return Ok((0..self.vertices.len() as u32).collect());
        };
        let changed = self.change(&pairs)?;
        self.fresh_no_more(chosen);
        Ok(changed)
    }
}

/// Hands the lists of some vertices to `visit`, as many at a time as fit into `room` bytes.
pub(super) fn for_lists(
    lists: &Lists,
    vertices: &[u32],
    room: u64,
    mut visit: impl FnMut(u32, List) -> Result<()>,
) -> Result<()> {
    let mut sorted = vertices.to_vec();
    sorted.sort_unstable();
    let mut rest = &sorted[..];
    while let Some(&first) = rest.first() {
        let shelf = if lists.is_kept() { Shelf::default() } else { lists.read(rest, room)? };
        let here = |vertex: u32| lists.is_kept() || lists.find(vertex, [&shelf; 2]).is_some();
        debug_assert!(here(first), "one at the least was read");
        let count = rest.iter().take_while(|&&vertex| here(vertex)).count();
        for &vertex in &rest[..count] {
            visit(vertex, lists.list(vertex, &shelf))?;
        }
        rest = &rest[count..];
    }
    Ok(())
}

/// Each vertex with the page that its list begins in, counting those in which some list does, and
/// the first vertex and the number of lists of each. A vertex without edges belongs to the page
/// before it.
fn pages_of(selector: &Selector) -> (Vec<Vertex>, Vec<u32>, Vec<u32>) {
    let connected = selector.graph.connected() as u32;
    let (mut first, mut mates) = (Vec::new(), Vec::new());
    let (mut vertices, mut byte, mut last) = (Vec::with_capacity(connected as usize), 0, u64::MAX);
    for vertex in 0..connected {
        let (len, page) = (selector.stored_bytes(vertex), byte / selector.options.block);
        if first.is_empty() || (len > 0 && page != last) {
            first.push(vertex);
            mates.push(0);
            last = if len > 0 { page } else { last };
        }
        if let Some(mates) = mates.last_mut() {
            *mates += u32::from(len > 0);
        }
        let (degree, page) = (selector.lists.degree(vertex), first.len() as u32 - 1);
        vertices.push(Vertex { sum: AtomicU64::new(0), page, degree });
        byte += len;
    }
    first.push(connected);
    (vertices, first, mates)
}
