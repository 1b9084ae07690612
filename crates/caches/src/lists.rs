//! [`Lists`]: the lists of a graph, all of them in memory, or some of them read ahead.

use std::ops::Range;

use outercore_graph::{
    BuildProgress, Direction, Graph, GraphError, Result, Table, error,
    format::{INDEX_GROUP, List, Manifest, number},
};
use outercore_storage::{PAGE, lock, threads};

use crate::{degrees, packed::Unpacked};

/// Bytes that a thread reads at a time.
const PIECE: usize = 1 << 20;
/// Lists that are not further apart than this are read in one go...
const GAP: u64 = 16 << 10;
/// ...and so many of them at the most, which may take 2 MiB with what lies between them.
const MANY: usize = 128;
/// Bytes of memory of a list beside its neighbors.
const ENTRY: u64 = 48;

/// The lists of one direction.
pub struct Lists<'g> {
    graph: &'g Graph,
    direction: Direction,
    table: Table,
    degrees: Vec<u32>,
    /// Entries before each group of 64 vertices.
    before: Vec<u64>,
    width: usize,
    threads: usize,
    /// All entries, where they are in memory.
    kept: Option<Vec<u8>>,
}

/// Lists that were read, in the order of the disk.
#[derive(Default)]
pub struct Shelf {
    /// Where each begins: on disk, and in `bytes`.
    starts: Vec<(u64, usize)>,
    bytes: Vec<u8>,
}

impl<'g> Lists<'g> {
    /// Bytes of memory without the entries.
    pub fn index_bytes(graph: &Graph) -> u64 {
        Self::index_bytes_of(graph.connected())
    }

    /// The same of so many vertices.
    pub fn index_bytes_of(vertices: u64) -> u64 {
        vertices * 4 + vertices.div_ceil(INDEX_GROUP) * 8
    }

    /// Bytes of the entries.
    pub fn entry_bytes(graph: &Graph) -> u64 {
        let bytes = graph.manifest().arcs * u64::from(graph.manifest().neighbor_bytes);
        bytes.next_multiple_of(PAGE as u64)
    }

    /// Opens the lists of a direction, which must be there.
    pub fn open(graph: &'g Graph, direction: Direction, threads: usize) -> Result<Self> {
        let degrees = degrees::table(graph, direction)?;
        let (mut before, mut entries) = (Vec::new(), 0u64);
        for group in degrees.chunks(INDEX_GROUP as usize) {
            before.push(entries);
            entries += group.iter().map(|&degree| u64::from(degree)).sum::<u64>();
        }
        let table = graph.table(&format!("{}.adjacency", direction.name()))?;
        let width = graph.manifest().neighbor_bytes as usize;
        if entries * width as u64 != table.section.bytes {
            return Err(GraphError::Corrupt {
                path: table.section.path().to_owned(),
                what: "degrees do not add up to it".to_owned(),
            });
        }
        Ok(Self { graph, direction, table, degrees, before, width, threads, kept: None })
    }

    /// Reads all entries into memory.
    pub fn keep(&mut self) -> Result<()> {
        let mut bytes = vec![0; self.table.section.pages() as usize * PAGE];
        let pieces = std::sync::Mutex::new(bytes.chunks_mut(PIECE).enumerate());
        let read = |_| {
            while let Some((at, piece)) = { lock(&pieces).next() } {
                self.table.read_pages((at * PIECE / PAGE) as u64, piece)?;
            }
            Ok(())
        };
        error::all(threads::at_once(self.threads, read)?)?;
        self.kept = Some(bytes);
        Ok(())
    }

    /// Bytes that the list of each vertex takes in a static cache.
    pub(crate) fn packed(&self, progress: &dyn BuildProgress) -> Result<Vec<u32>> {
        let (parts, mut sizes) = (self.parts(), vec![0; self.degrees.len()]);
        let (mut rest, mut work) = (&mut sizes[..], Vec::new());
        for part in parts {
            let (own, others) = rest.split_at_mut((part.end - part.start) as usize);
            work.push((part, own));
            rest = others;
        }
        let parts = std::sync::Mutex::new(work.into_iter());
        let measure = |_| {
            while let Some((part, own)) = { lock(&parts).next() } {
                progress.check()?;
                let first = part.start;
                self.for_each(part, |vertex, list| {
                    let List { neighbors, width, .. } = list;
                    let list = Unpacked { vertex: vertex.into(), neighbors, width };
                    own[(vertex - first) as usize] = list.packed_bytes() as u32;
                    Ok(())
                })?;
            }
            Ok(())
        };
        error::all(threads::at_once(self.threads, measure)?)?;
        Ok(sizes)
    }

    /// Whether they are in memory.
    pub fn is_kept(&self) -> bool {
        self.kept.is_some()
    }

    /// How many neighbors a vertex has.
    #[inline(always)]
    pub fn degree(&self, vertex: u32) -> u32 {
        self.degrees[vertex as usize]
    }

    /// Where the list of a vertex lies, in bytes.
    #[inline(always)]
    fn span(&self, vertex: u32) -> Range<u64> {
        let (group, vertex) = (vertex as usize / INDEX_GROUP as usize, vertex as usize);
        let earlier = &self.degrees[group * INDEX_GROUP as usize..vertex];
        let first = self.before[group] + earlier.iter().map(|&d| u64::from(d)).sum::<u64>();
        let width = self.width as u64;
        first * width..(first + u64::from(self.degrees[vertex])) * width
    }

    fn of<'b>(&self, neighbors: &'b [u8]) -> List<'b> {
        List { neighbors, weights: &[], width: self.width, weight_width: 0 }
    }

    /// The list of a vertex, of lists in memory.
    #[inline(always)]
    pub fn kept(&self, vertex: u32) -> List<'_> {
        let span = self.span(vertex);
        let bytes = self.kept.as_deref().unwrap_or_default();
        self.of(&bytes[span.start as usize..span.end as usize])
    }

    /// The list of a vertex, in memory or on a shelf; empty if it is on neither.
    pub fn list<'s>(&'s self, vertex: u32, shelf: &'s Shelf) -> List<'s> {
        match self.kept {
            Some(_) => self.kept(vertex),
            None => self.find(vertex, [shelf; 2]).unwrap_or(self.of(&[])),
        }
    }

    /// All vertices, in parts whose lists are read in one go: long ones alone.
    pub fn parts(&self) -> Vec<Range<u32>> {
        let (mut parts, mut first, mut bytes) = (Vec::new(), 0, 0);
        for (vertex, &degree) in (0..).zip(&self.degrees) {
            let len = degree as usize * self.width;
            if bytes + len > PIECE && bytes > 0 {
                parts.push(first..vertex);
                (first, bytes) = (vertex, 0);
            }
            bytes += len;
        }
        parts.push(first..self.degrees.len() as u32);
        parts
    }

    /// Hands the lists of some vertices in a row to `visit`, those with edges. What is not in
    /// memory is read in one go.
    pub fn for_each(
        &self,
        vertices: Range<u32>,
        mut visit: impl FnMut(u32, List) -> Result<()>,
    ) -> Result<()> {
        if vertices.is_empty() {
            return Ok(());
        }
        let bytes = self.span(vertices.start).start..self.span(vertices.end - 1).end;
        let read;
        let all = match &self.kept {
            Some(kept) => &kept[bytes.start as usize..bytes.end as usize],
            None => {
                read = self.table.read(bytes.start, (bytes.end - bytes.start) as usize)?;
                &read[..]
            }
        };
        let mut at = 0;
        for vertex in vertices {
            let len = self.degrees[vertex as usize] as usize * self.width;
            if len > 0 {
                visit(vertex, self.of(&all[at..at + len]))?;
            }
            at += len;
        }
        Ok(())
    }

    /// The list of a vertex on one of some shelves.
    pub fn find<'s>(&self, vertex: u32, shelves: [&'s Shelf; 2]) -> Option<List<'s>> {
        let span = self.span(vertex);
        shelves.into_iter().find_map(|shelf| shelf.get(&span)).map(|bytes| self.of(bytes))
    }

    /// The most bytes that reading the longest outgoing list of `graph` takes.
    pub fn most_of_longest(graph: &Graph) -> u64 {
        let Manifest { max_out_degree: (most, _), neighbor_bytes, .. } = *graph.manifest();
        2 * most * u64::from(neighbor_bytes) + 2 * PAGE as u64
    }

    /// Reads the lists of the first of some vertices, as many as fit into `room` bytes, but at
    /// least one.
    // Not by `storage::wanted`: that merges blocks, which a run keeps whole; these are lists alone.
    pub fn read(&self, vertices: &[u32], room: u64) -> Result<Shelf> {
        let (mut spans, mut used) = (Vec::new(), 0);
        let spans_of = vertices.iter().map(|&vertex| self.span(vertex));
        // An empty list begins where another does, and is never looked for.
        for span in spans_of.filter(|span| !span.is_empty()) {
            used += span.end - span.start + ENTRY;
            if used > room && !spans.is_empty() {
                break;
            }
            spans.push(span);
        }
        spans.sort_unstable_by_key(|span| span.start);
        let mut shelf = Shelf::default();
        let mut len = 0;
        for span in &spans {
            shelf.starts.push((span.start, len));
            len += (span.end - span.start) as usize;
        }
        shelf.bytes = vec![0; len];
        let mut left = &mut shelf.bytes[..];
        let mut parts = Vec::new();
        for near in spans.chunk_by(|one, next| next.start <= one.end + GAP) {
            // A worker's buffer has a limit, but for lists that are longer.
            for lists in near.chunks(near.len().min(MANY)) {
                let bytes: u64 = lists.iter().map(|span| span.end - span.start).sum();
                let (part, rest) = std::mem::take(&mut left).split_at_mut(bytes as usize);
                parts.push((lists, part));
                left = rest;
            }
        }
        let next = std::sync::Mutex::new(parts.into_iter());
        let read = |_| {
            while let Some((lists, part)) = { lock(&next).next() } {
                self.copy(lists, part)?;
            }
            Ok(())
        };
        error::all(threads::at_once(self.threads, read)?)?;
        Ok(shelf)
    }

    /// Reads from the first of some lists to the last, and copies them one after the other.
    fn copy(&self, lists: &[Range<u64>], mut to: &mut [u8]) -> Result<()> {
        let (first, end) = (lists[0].start, lists[lists.len() - 1].end);
        let bytes = self.table.read(first, (end - first) as usize)?;
        for list in lists {
            let from = &bytes[(list.start - first) as usize..(list.end - first) as usize];
            let (place, rest) = to.split_at_mut(from.len());
            place.copy_from_slice(from);
            to = rest;
        }
        Ok(())
    }

    /// Hands the neighbors in a list to `visit`.
    #[inline(always)]
    pub fn each(&self, list: List, visit: impl FnMut(u32)) -> Result<()> {
        let (bytes, vertices) = (list.neighbors, self.graph.connected());
        let stranger = match self.width {
            1 => each::<1>(bytes, vertices, visit),
            2 => each::<2>(bytes, vertices, visit),
            3 => each::<3>(bytes, vertices, visit),
            _ => each::<4>(bytes, vertices, visit),
        };
        let error = |vertex| degrees::stranger(self.graph, self.direction, vertex);
        stranger.map_or(Ok(()), |vertex| Err(error(vertex)))
    }
}

/// Hands numbers of `WIDTH` bytes to `visit`; returns one that is no vertex.
#[inline(always)]
fn each<const WIDTH: usize>(
    bytes: &[u8],
    vertices: u64,
    mut visit: impl FnMut(u32),
) -> Option<u64> {
    let mut stranger = None;
    for neighbor in bytes.as_chunks::<WIDTH>().0 {
        let neighbor = number(neighbor);
        if neighbor < vertices {
            visit(neighbor as u32);
        } else {
            stranger = Some(neighbor);
        }
    }
    stranger
}

impl Shelf {
    /// The bytes of a span, if they are there.
    fn get(&self, span: &Range<u64>) -> Option<&[u8]> {
        if span.is_empty() {
            return Some(&[]);
        }
        let at = self.starts.partition_point(|(start, _)| *start < span.start);
        let (start, first) = *self.starts.get(at)?;
        let len = (span.end - span.start) as usize;
        (start == span.start).then(|| &self.bytes[first..first + len])
    }
}
