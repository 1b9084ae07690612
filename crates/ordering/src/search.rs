//! [`Search`]: searches in breadth, one after the other, that give vertices their places.
//!
//! One thread visits: the order of the visits is the result. The others read. Lists are in memory
//! where all of them fit; else those of the next roots and of their neighbors are read ahead,
//! several at a time.

use outercore_caches::{Lists, lists::Shelf};
use outercore_graph::{BuildProgress, Direction, Graph, Result, error::too_small};

use crate::Finder;

/// How far a search goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Breadth {
    /// So many levels below the root.
    Levels(u64),
    /// As far as edges lead.
    All,
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

/// Which vertices were visited, and in which order.
struct Seen {
    bits: Vec<u64>,
    order: Vec<u32>,
}

impl Seen {
    fn contains(&self, vertex: u32) -> bool {
        self.bits[vertex as usize / 64] >> (vertex % 64) & 1 == 1
    }

    #[inline(always)]
    fn visit(&mut self, vertex: u32) {
        let (word, bit) = (&mut self.bits[vertex as usize / 64], 1 << (vertex % 64));
        if *word & bit == 0 {
            *word |= bit;
            self.order.push(vertex);
        }
    }
}

impl<'g> Search<'g> {
    /// Bytes of memory without lists: roots, visits, and the index.
    pub fn bytes(graph: &Graph) -> u64 {
        let vertices = graph.connected();
        8 * vertices + vertices.div_ceil(8) + Lists::index_bytes(graph)
    }

    /// A search that has `room` bytes for lists.
    pub fn new(finder: &Finder<'g>, room: u64) -> Result<Self> {
        let graph = finder.graph;
        let mut lists = Lists::open(graph, Direction::Out, finder.threads)?;
        if Lists::entry_bytes(graph) <= room {
            lists.keep()?;
        } else if 2 * lists.longest() > room {
            let budget = finder.room.budget();
            let needed = budget + 2 * lists.longest() - room;
            return too_small(needed, budget, "reading the longest list");
        }
        let vertices = graph.connected() as usize;
        let seen =
            Seen { bits: vec![0; vertices.div_ceil(64)], order: Vec::with_capacity(vertices) };
        let source = Source { lists, shelves: Default::default(), room: room / 2 };
        Ok(Self { source, seen, progress: finder.progress })
    }

    /// The vertices in the order of the visits, from each of the roots that was not visited before.
    pub fn run(mut self, roots: &[u32], breadth: Breadth) -> Result<Vec<u32>> {
        let levels = if let Breadth::Levels(levels) = breadth { levels } else { u64::MAX };
        for (at, &root) in roots.iter().enumerate() {
            if at % AHEAD == 0 {
                self.progress.check()?;
            }
            if self.seen.contains(root) {
                continue;
            }
            self.source.read_ahead(&roots[at..], &self.seen)?;
            let mut first = self.seen.order.len();
            self.seen.visit(root);
            for _ in 0..levels {
                let end = self.seen.order.len();
                if first == end {
                    break;
                }
                self.expand(first, end)?;
                first = end;
            }
        }
        Ok(self.seen.order)
    }

    /// Visits the neighbors of the vertices that were visited as number `first` to before `end`.
    fn expand(&mut self, first: usize, end: usize) -> Result<()> {
        for at in first..end {
            let vertex = self.seen.order[at];
            if self.source.lists.degree(vertex) == 0 {
                continue;
            }
            self.source.have(&self.seen.order[at..end])?;
            let Source { lists, shelves: [near, far], .. } = &self.source;
            let list = if lists.is_kept() {
                lists.kept(vertex)
            } else {
                lists.find(vertex, [near, far]).expect("it was read")
            };
            lists.each(list, |neighbor| self.seen.visit(neighbor))?;
            if at % 1024 == 0 {
                self.progress.check()?;
            }
        }
        Ok(())
    }
}

impl Source<'_> {
    fn has(&self, vertex: u32) -> bool {
        let [near, far] = &self.shelves;
        self.lists.is_kept() || self.lists.find(vertex, [near, far]).is_some()
    }

    /// Reads the list of the first of some vertices, unless it is there, and of those behind it.
    fn have(&mut self, vertices: &[u32]) -> Result<()> {
        if !self.has(vertices[0]) {
            self.shelves[1] = self.lists.read(vertices, self.room)?;
        }
        Ok(())
    }

    /// Reads the list of a root, unless it is there, those of roots behind it that will be visited,
    /// as it seems, and those of all their neighbors that were not.
    fn read_ahead(&mut self, roots: &[u32], seen: &Seen) -> Result<()> {
        if self.has(roots[0]) {
            return Ok(());
        }
        let next = roots.iter().copied().filter(|&root| !seen.contains(root));
        let next: Vec<u32> = next.take(AHEAD).collect();
        self.shelves = [self.lists.read(&next, self.room)?, Shelf::default()];
        let (mut neighbors, mut bytes) = (Vec::new(), 0);
        for &root in &next {
            let [near, far] = &self.shelves;
            let Some(list) = self.lists.find(root, [near, far]) else { break };
            self.lists.each(list, |neighbor| {
                if bytes < self.room && !seen.contains(neighbor) {
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
