//! [`Search`]: searches in breadth, one after the other, that give vertices their places.
//!
//! One thread visits: the order of the visits is the result. The others read. Lists are in memory
//! where all of them fit; else those of the next roots and of their neighbors are read ahead,
//! several at a time.

use std::{collections::VecDeque, ops::Range};

use outercore_caches::{Lists, lists::Shelf};
use outercore_graph::{BuildProgress, Direction, Result};

use crate::Finder;

/// Where searches begin, and how far they go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Breadth {
    /// As far as edges lead, from each root that was not visited.
    All,
    /// So many levels, from each root that was not visited. What the last level leads to are the
    /// next roots.
    Levels(u64),
    /// Two levels, from every root, visited or not: its neighbors are expanded, whichever search
    /// has visited them.
    TwoFromAll,
}

/// Roots whose lists are read ahead.
const AHEAD: usize = 1 << 14;

/// Searches over a graph.
pub struct Search<'g> {
    source: Source<'g>,
    seen: Seen,
    progress: &'g dyn BuildProgress,
}

/// Where lists come from.
struct Source<'g> {
    lists: Lists<'g>,
    /// Those of roots, and those of their neighbors.
    shelves: [Shelf; 2],
    /// Bytes of each shelf.
    room: u64,
}

/// A bit for each vertex.
struct Marks(Vec<u64>);

/// Which vertices were visited, and in which order.
struct Seen {
    visited: Marks,
    order: Vec<u32>,
}

impl Marks {
    fn new(vertices: usize) -> Self {
        Self(vec![0; vertices.div_ceil(64)])
    }

    /// Nothing is in an empty one.
    fn contains(&self, vertex: u32) -> bool {
        let word = self.0.get(vertex as usize / 64).copied().unwrap_or(0);
        word >> (vertex % 64) & 1 == 1
    }

    /// Whether it was not there.
    #[inline(always)]
    fn insert(&mut self, vertex: u32) -> bool {
        let (word, bit) = (&mut self.0[vertex as usize / 64], 1 << (vertex % 64));
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }
}

impl Seen {
    #[inline(always)]
    fn visit(&mut self, vertex: u32) {
        if self.visited.insert(vertex) {
            self.order.push(vertex);
        }
    }
}

impl<'g> Search<'g> {
    /// A search that has `room` bytes for lists.
    pub fn new(finder: &Finder<'g>, room: u64) -> Result<Self> {
        let graph = finder.graph;
        let mut lists = Lists::open(graph, Direction::Out, finder.threads)?;
        // One is copied, and one is on each shelf.
        let left = room.saturating_sub(Lists::most_of_longest(graph));
        if Lists::entry_bytes(graph) <= left {
            lists.keep()?;
        }
        let vertices = graph.connected() as usize;
        let seen = Seen { visited: Marks::new(vertices), order: Vec::with_capacity(vertices) };
        let source = Source { lists, shelves: Default::default(), room: left / 2 };
        Ok(Self { source, seen, progress: finder.progress })
    }

    /// The vertices in the order of the visits. `roots` are all vertices.
    pub fn run(mut self, roots: &[u32], breadth: Breadth) -> Result<Vec<u32>> {
        match breadth {
            Breadth::All => self.nearest_first(roots, u64::MAX)?,
            Breadth::Levels(levels) => self.nearest_first(roots, levels)?,
            Breadth::TwoFromAll => self.around_all(roots)?,
        }
        Ok(self.seen.order)
    }

    /// Searches of so many levels from roots that were not visited. What a last level leads to
    /// comes before the next of `roots`, the nearest first.
    fn nearest_first(&mut self, roots: &[u32], levels: u64) -> Result<()> {
        // Last levels, by place.
        let mut ends: VecDeque<Range<usize>> = VecDeque::new();
        for (at, &root) in roots.iter().enumerate() {
            if at % AHEAD == 0 {
                self.progress.check()?;
            }
            if self.seen.visited.contains(root) {
                continue;
            }
            let visited = &self.seen.visited;
            self.source.read_ahead(&roots[at..], visited, visited)?;
            ends.push_back(self.search(root, levels)?);
            while let Some(end) = ends.pop_front() {
                for place in end.clone() {
                    self.source.have(0, &self.seen.order[place..end.end])?;
                    for next in self.source.neighbors(self.seen.order[place])? {
                        if !self.seen.visited.contains(next) {
                            ends.push_back(self.search(next, levels)?);
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// A search of so many levels from a vertex that was not visited. Returns its last level, by
    /// place, which was not expanded.
    fn search(&mut self, root: u32, levels: u64) -> Result<Range<usize>> {
        let mut first = self.seen.order.len();
        self.seen.visit(root);
        for _ in 0..levels {
            let end = self.seen.order.len();
            if first == end {
                break;
            }
            for at in first..end {
                self.source.have(1, &self.seen.order[at..end])?;
                self.expand(self.seen.order[at])?;
                if at % 1024 == 0 {
                    self.progress.check()?;
                }
            }
            first = end;
        }
        Ok(first..self.seen.order.len())
    }

    /// Searches of two levels from all roots. No list is gone through by more than two of them.
    fn around_all(&mut self, roots: &[u32]) -> Result<()> {
        let mut expanded = Marks::new(roots.len());
        for (at, &root) in roots.iter().enumerate() {
            if at % 1024 == 0 {
                self.progress.check()?;
            }
            self.source.read_ahead(&roots[at..], &Marks::new(0), &expanded)?;
            self.seen.visit(root);
            expanded.insert(root);
            let mut neighbors = self.source.neighbors(root)?;
            neighbors.iter().for_each(|&neighbor| self.seen.visit(neighbor));
            neighbors.retain(|&neighbor| expanded.insert(neighbor));
            for at in 0..neighbors.len() {
                self.source.have(1, &neighbors[at..])?;
                self.expand(neighbors[at])?;
            }
        }
        Ok(())
    }

    /// Visits the neighbors of a vertex, whose list is there.
    fn expand(&mut self, vertex: u32) -> Result<()> {
        self.source.each(vertex, |neighbor| self.seen.visit(neighbor))
    }
}

impl Source<'_> {
    fn has(&self, vertex: u32) -> bool {
        let [near, far] = &self.shelves;
        self.lists.is_kept() || self.lists.find(vertex, [near, far]).is_some()
    }

    /// Hands the neighbors of a vertex to `visit`. Its list is there.
    #[inline(always)]
    fn each(&self, vertex: u32, visit: impl FnMut(u32)) -> Result<()> {
        let Source { lists, shelves: [near, far], .. } = self;
        let list = if lists.is_kept() {
            lists.kept(vertex)
        } else {
            lists.find(vertex, [near, far]).expect("it was read")
        };
        lists.each(list, visit)
    }

    /// The neighbors of a vertex. Its list is there.
    fn neighbors(&self, vertex: u32) -> Result<Vec<u32>> {
        let mut neighbors = Vec::with_capacity(self.lists.degree(vertex) as usize);
        self.each(vertex, |neighbor| neighbors.push(neighbor))?;
        Ok(neighbors)
    }

    /// Reads the list of the first of some vertices, unless it is there, and of those behind it,
    /// into a shelf.
    fn have(&mut self, shelf: usize, vertices: &[u32]) -> Result<()> {
        if !self.has(vertices[0]) {
            self.shelves[shelf] = self.lists.read(vertices, self.room)?;
        }
        Ok(())
    }

    /// Reads the list of a root, unless it is there, those of roots behind it that are not among
    /// `past`, and those of all their neighbors that are not among `done`.
    fn read_ahead(&mut self, roots: &[u32], past: &Marks, done: &Marks) -> Result<()> {
        if self.has(roots[0]) {
            return Ok(());
        }
        let next = roots.iter().copied().filter(|&root| !past.contains(root));
        let next: Vec<u32> = next.take(AHEAD).collect();
        self.shelves = [self.lists.read(&next, self.room)?, Shelf::default()];
        let (mut neighbors, mut bytes) = (Vec::new(), 0);
        for &root in &next {
            let [near, far] = &self.shelves;
            let Some(list) = self.lists.find(root, [near, far]) else { break };
            self.lists.each(list, |neighbor| {
                if bytes < self.room && !done.contains(neighbor) {
                    bytes += u64::from(self.lists.degree(neighbor)) * 4;
                    neighbors.push(neighbor);
                }
            })?;
        }
        neighbors.sort_unstable();
        neighbors.dedup();
        if !neighbors.is_empty() {
            self.shelves[1] = self.lists.read(&neighbors, self.room)?;
        }
        Ok(())
    }
}
