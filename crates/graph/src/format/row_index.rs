//! [`RowIndex`]: where each vertex's list lies. [`Degrees`] are in memory, four bytes for each or
//! about one; a list's offset is that of its group of 64 plus the degrees before it.
//!
//! Degrees and index are those of all vertices, or of a window of them that slides: then nothing
//! here grows with the graph.

use std::ops::Range;

use outercore_storage::{CompactNumbers, HugePages, HugeVec};

use super::INDEX_GROUP;
use crate::{Graph, Result};

/// Stands for a degree that does not fit a byte.
const LARGE: u32 = CompactNumbers::LARGE;

/// How many edges each vertex has in one direction.
pub enum Degrees {
    /// Four bytes for each vertex from this one on.
    Wide(u64, HugeVec<u32>),
    /// About one byte for each.
    Narrow(CompactNumbers),
}

impl Degrees {
    /// Most bytes that the narrow degrees of a graph take, and at most those of wide ones. In a
    /// graph ordered by degree a look at a few of them tells how many are large.
    pub fn narrow_bytes(graph: &Graph) -> Result<u64> {
        let (vertices, arcs) = (graph.connected(), graph.manifest().arcs);
        let large = match graph.front(LARGE.into())? {
            Some(front) => front * 4,
            // A large degree takes 16 bytes on its way, in a vector that doubles, and up to 8 in
            // the front.
            None => (arcs / u64::from(LARGE)).min(vertices) * 40,
        };
        Ok((vertices + large).min(vertices * 4))
    }

    /// The degrees as a slice, where they are wide.
    #[inline]
    pub fn as_slice(&self) -> Option<&[u32]> {
        match self {
            Degrees::Wide(_, degrees) => Some(degrees),
            Degrees::Narrow(_) => None,
        }
    }

    /// The degree of `vertex`.
    #[inline(always)]
    pub fn get(&self, vertex: u64) -> u32 {
        match self {
            Degrees::Wide(first, degrees) => degrees[(vertex - first) as usize],
            Degrees::Narrow(degrees) => degrees.get(vertex),
        }
    }

    /// The sum of a range's degrees.
    #[inline(always)]
    pub fn sum(&self, range: Range<u64>) -> u64 {
        match self {
            Degrees::Wide(first, degrees) => degrees
                [(range.start - first) as usize..(range.end - first) as usize]
                .iter()
                .map(|&degree| u64::from(degree))
                .sum(),
            Degrees::Narrow(degrees) => degrees.sum(range),
        }
    }
}

/// 64 vertices by their number, and which of them are meant, as bits.
pub type Group = (u64, u64);

/// Degrees, and how many edges come before each group of vertices.
pub struct RowIndex {
    /// The degree of each vertex of the window.
    pub degrees: Degrees,
    /// Edges before each group of the window, and before its end.
    pub offsets: HugeVec<u64>,
    /// The vertices whose degrees are in memory; the first one begins a group.
    pub window: Range<u64>,
}

impl RowIndex {
    /// Vertices of a window that slides.
    pub const WINDOW: u64 = 1 << 18;

    /// That of no vertex.
    #[inline]
    pub fn none() -> Result<Self> {
        let degrees = Degrees::Wide(0, HugeVec::zeroed(0, HugePages::Off)?);
        Ok(Self { degrees, offsets: HugeVec::zeroed(1, HugePages::Off)?, window: 0..0 })
    }

    /// The window where it has `vertex`, else one from there on, of so many vertices in all: what
    /// is before is seldom wanted.
    pub fn window_at(&self, vertex: u64, all: u64) -> Range<u64> {
        if self.window.contains(&vertex) {
            return self.window.clone();
        }
        let first = vertex / INDEX_GROUP * INDEX_GROUP;
        first..(first + Self::WINDOW).min(all)
    }

    /// The degree of a vertex of the window.
    #[inline(always)]
    pub fn degree(&self, vertex: u64) -> u32 {
        self.degrees.get(vertex)
    }

    /// Edges before the end of the window: all of them, unless it slides.
    #[inline]
    pub fn edges(&self) -> u64 {
        self.offsets[self.offsets.len() - 1]
    }

    /// Edges before group `group` of 64 vertices, which begins or ends in the window.
    #[inline]
    pub fn group_offset(&self, group: u64) -> u64 {
        self.offsets[(group - self.window.start / INDEX_GROUP) as usize]
    }

    /// The edges of a group.
    #[inline]
    pub fn group(&self, group: u64) -> Range<u64> {
        self.group_offset(group)..self.group_offset(group + 1)
    }

    /// Hands every vertex of a group to `visit` that has edges: the vertex, its first edge, and how
    /// many.
    #[inline(always)]
    pub fn for_lists(&self, (group, mut bits): Group, mut visit: impl FnMut(u64, u64, u64)) {
        let mut edge = self.group_offset(group);
        let mut vertex = group * INDEX_GROUP;
        while bits != 0 {
            let skip = u64::from(bits.trailing_zeros());
            if skip > 0 {
                edge += self.degrees.sum(vertex..vertex + skip);
                vertex += skip;
            }
            let degree = u64::from(self.degrees.get(vertex));
            if degree > 0 {
                visit(vertex, edge, degree);
            }
            edge += degree;
            vertex += 1;
            bits = (bits >> skip) >> 1;
        }
    }

    /// How many pages of so many `edges` hold the lists of the vertices that are `wanted`, which
    /// answers with bits for each of the groups.
    pub fn pages(&self, groups: Range<u64>, wanted: impl Fn(u64) -> u64, edges: u64) -> u64 {
        let (mut pages, mut end) = (0, 0);
        for group in groups {
            self.for_lists((group, wanted(group)), |_, first, degree| {
                let begin = end.max(first / edges);
                end = (first + degree).div_ceil(edges);
                pages += end - begin;
            });
        }
        pages
    }

    /// Bounds of at most `count` parts of the vertices of the window that have about equally many
    /// edges.
    pub fn parts(&self, count: u64) -> Vec<u64> {
        let (vertices, mut bounds) = (self.window.end, vec![self.window.start]);
        for part in 1..count {
            let edges = self.edges() / count * part;
            let (mut low, mut high) = (bounds[0] / INDEX_GROUP, vertices / INDEX_GROUP);
            while low < high {
                let middle = low.midpoint(high);
                if self.group_offset(middle) < edges { low = middle + 1 } else { high = middle }
            }
            bounds.push(low * INDEX_GROUP);
        }
        bounds.push(vertices);
        bounds.dedup();
        bounds
    }

    /// From the first list of a group's vertices to the last one; `None`: all are empty.
    #[inline]
    pub fn extent(&self, (group, mut bits): Group) -> Option<Range<u64>> {
        let first = group * INDEX_GROUP;
        let mut low = u64::from(bits.trailing_zeros());
        while bits != 0 && self.degree(first + low) == 0 {
            bits &= bits - 1;
            low = u64::from(bits.trailing_zeros());
        }
        if bits == 0 {
            return None;
        }
        // Ends with the lowest bit at the latest, whose list is not empty.
        let mut high = u64::from(bits.ilog2());
        while self.degree(first + high) == 0 {
            bits &= !(1 << high);
            high = u64::from(bits.ilog2());
        }
        let start = self.group_offset(group) + self.degrees.sum(first..first + low);
        Some(start..start + self.degrees.sum(first + low..first + high + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lists of 3 edges, in pages of 8: a page counts once, and one between two lists does not.
    #[test]
    fn pages_of_lists() {
        let mut degrees = HugeVec::zeroed(128, HugePages::Off).unwrap();
        degrees.fill(3);
        let mut offsets = HugeVec::zeroed(3, HugePages::Off).unwrap();
        offsets.copy_from_slice(&[0, 192, 384]);
        let index = RowIndex { degrees: Degrees::Wide(0, degrees), offsets, window: 0..128 };
        let pages = |bits: [u64; 2]| index.pages(0..2, |group| bits[group as usize], 8);
        assert_eq!([pages([0, 0]), pages([1, 0]), pages([0b11, 0])], [0, 1, 1]);
        // The third lies in two pages; the ninth in the fourth.
        assert_eq!([pages([0b100, 0]), pages([0b111, 0]), pages([0b1_0000_0001, 0])], [2, 2, 2]);
        assert_eq!([pages([u64::MAX; 2]), pages([1 << 63, 1])], [48, 2]);
        assert_eq!(index.parts(4), [0, 64, 128]);
    }

    /// An index of all vertices, of which there are more than a window has, stays as it is.
    #[test]
    fn a_window_that_has_the_vertex_stays() {
        let all = RowIndex::WINDOW + 2202;
        let mut index = RowIndex::none().unwrap();
        assert_eq!(index.window_at(70, all), 64..64 + RowIndex::WINDOW);
        index.window = 0..all;
        assert_eq!(index.window_at(70, all), 0..all);
    }
}
