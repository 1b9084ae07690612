//! [`Cells`]: which edges are in row format, and which in grid format (hybrid format, Seraph,
//! FAST'24, sections 3.2 and 3.3.2).
//!
//! The connected vertices are cut into equal [`Ranges`] (Seraph's partitions), the same for sources
//! and targets. The edges from one range into another are a *cell* (Seraph's chunk, a word that
//! here means what is read at once). A cell is in the format in which a pass over all edges moves
//! fewer bytes at the most. In grid format the pass reads the words and the attributes of both
//! ranges. In row format every edge is an update that is written to a log and read back. A cell on
//! the diagonal is in row format whatever its edges: its targets are in memory when its sources
//! are.
//!
//! We depart from Seraph in the number of ranges, which it takes from the memory of the run: a
//! graph is built once, for runs of any memory.

use serde::{Deserialize, Serialize};

/// Most ranges: so many squared counters are 32 KiB, which a first-level cache holds.
const MOST_RANGES: u64 = 64;
/// Vertices that a range has at the least, unless it is the only one.
const FEWEST_VERTICES: u64 = 4096;
/// Bytes of a vertex's attributes that a pass reads: a value, and what it sends.
const VERTEX_BYTES: u64 = 8;
/// Bytes of a word of the grid, at the most.
const WORD_BYTES: u64 = 3;
/// Bytes that an update moves: a target and a message, 12 bytes, written to a log and read back.
const UPDATE_BYTES: u64 = 2 * 12;

/// The connected vertices, cut into equal ranges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ranges {
    count: u64,
    width: u64,
    vertices: u64,
}

impl Ranges {
    /// Those of a graph with so many connected vertices.
    pub fn of(connected: u64) -> Self {
        Self::cut((connected / FEWEST_VERTICES).clamp(1, MOST_RANGES), connected)
    }

    fn cut(count: u64, vertices: u64) -> Self {
        Self { count, width: vertices.div_ceil(count).max(1), vertices }
    }

    /// How many there are: at least one.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// How many cells they have.
    pub fn cells(&self) -> usize {
        (self.count * self.count) as usize
    }

    /// The number of the cell of an edge, row by row.
    #[inline(always)]
    pub fn cell(&self, source: u64, target: u64) -> usize {
        (source / self.width * self.count + target / self.width) as usize
    }

    /// The vertices of range `index`.
    pub fn vertices(&self, index: u64) -> std::ops::Range<u64> {
        index * self.width..((index + 1) * self.width).min(self.vertices)
    }

    /// The ranges of the sources and of the targets of cell number `cell`.
    fn sides(&self, cell: usize) -> (u64, u64) {
        (cell as u64 / self.count, cell as u64 % self.count)
    }
}

/// Whether a cell off the diagonal is in row format: `edges` between ranges that have `vertices`
/// together.
fn is_cheaper_in_rows(edges: u64, vertices: u64) -> bool {
    edges * UPDATE_BYTES <= vertices * VERTEX_BYTES + edges * WORD_BYTES
}

/// A set of cells: bit `i mod 8` of byte `i / 8` is cell number `i`. As text, hexadecimal digits,
/// two for each byte.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CellSet(Vec<u8>);

impl CellSet {
    fn empty(cells: usize) -> Self {
        Self(vec![0; cells.div_ceil(8)])
    }

    fn insert(&mut self, cell: usize) {
        self.0[cell / 8] |= 1 << (cell % 8);
    }

    #[inline(always)]
    fn contains(&self, cell: usize) -> bool {
        self.0[cell / 8] >> (cell % 8) & 1 == 1
    }

    /// How many cells are in it.
    pub fn count(&self) -> u64 {
        self.0.iter().map(|byte| u64::from(byte.count_ones())).sum()
    }

    /// Whether it can be a set of some of so many cells.
    pub fn fits(&self, cells: usize) -> bool {
        self.0.len() == cells.div_ceil(8)
            && (cells..self.0.len() * 8).all(|cell| !self.contains(cell))
    }
}

impl From<CellSet> for String {
    fn from(set: CellSet) -> Self {
        set.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

impl TryFrom<String> for CellSet {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let digits = text.len().is_multiple_of(2)
            && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        if !digits {
            return Err("a set of cells is pairs of hexadecimal digits");
        }
        let byte = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).expect("two digits");
        Ok(Self((0..text.len()).step_by(2).map(byte).collect()))
    }
}

/// What the hybrid format came to, as the manifest has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hybrid {
    /// Ranges of vertices, for sources and for targets.
    pub ranges: u64,
    /// Cells in row format; those without edges are in neither format.
    pub row_cells: u64,
    /// Cells in grid format.
    pub grid_cells: u64,
    /// Entries of `row.adjacency`.
    pub row_arcs: u64,
    /// Edges of all tiles.
    pub grid_arcs: u64,
    /// Which cells are in row format.
    pub rows: CellSet,
}

/// Which edges are in row format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cells {
    ranges: Ranges,
    rows: CellSet,
}

impl Cells {
    /// All edges are in row format: the layout `row`, as one cell.
    pub fn all_in_rows(connected: u64) -> Self {
        let mut rows = CellSet::empty(1);
        rows.insert(0);
        Self { ranges: Ranges::cut(1, connected), rows }
    }

    /// Decides for each cell by its edges, row by row. Cells without edges are in neither format.
    pub fn decide(ranges: Ranges, edges: &[u64]) -> Self {
        let mut rows = CellSet::empty(ranges.cells());
        let len = |index| {
            let vertices = ranges.vertices(index);
            vertices.end - vertices.start
        };
        for (cell, &edges) in edges.iter().enumerate().filter(|&(_, &edges)| edges > 0) {
            let (source, target) = ranges.sides(cell);
            if source == target || is_cheaper_in_rows(edges, len(source) + len(target)) {
                rows.insert(cell);
            }
        }
        Self { ranges, rows }
    }

    /// Those of a graph in the hybrid layout with so many connected vertices.
    pub(super) fn of(hybrid: &Hybrid, connected: u64) -> Self {
        Self { ranges: Ranges::of(connected), rows: hybrid.rows.clone() }
    }

    /// Whether an edge is in row format.
    #[inline(always)]
    pub fn in_rows(&self, source: u64, target: u64) -> bool {
        self.rows.contains(self.ranges.cell(source, target))
    }

    /// The ranges of vertices.
    pub fn ranges(&self) -> Ranges {
        self.ranges
    }

    /// The cells in row format.
    pub fn rows(&self) -> &CellSet {
        &self.rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_cover_the_vertices_evenly() {
        for connected in
            [0, 1, 4095, 8191, 8192, 8193, 12_289, 262_143, 262_144, 262_145, 5_000_001]
        {
            let ranges = Ranges::of(connected);
            assert!(
                ranges.count() <= 64
                    && (ranges.count() == 1 || connected / ranges.count() >= FEWEST_VERTICES),
                "{connected}"
            );
            let mut next = 0;
            for index in 0..ranges.count() {
                let vertices = ranges.vertices(index);
                assert!(
                    vertices.start == next && (vertices.end > next || connected == 0),
                    "{connected}: {vertices:?}"
                );
                for vertex in [vertices.start, vertices.end.saturating_sub(1)] {
                    let cell = ranges.cell(vertex, 0) as u64;
                    assert_eq!(
                        (cell / ranges.count(), ranges.cell(0, vertex) as u64),
                        (index, index),
                        "{connected}"
                    );
                }
                next = vertices.end;
            }
            assert_eq!(next, connected);
        }
        assert_eq!(
            [8191, 8192, 262_143, 262_144, 1 << 40].map(|connected| Ranges::of(connected).count()),
            [1, 2, 63, 64, 64]
        );
    }

    #[test]
    fn the_fewer_bytes_decide() {
        // 24 bytes of an update against 3 of a word: 21 bytes an edge pay for 8 bytes a vertex.
        let vertices = 21 * 1000;
        let most = vertices * 8 / 21;
        assert!(
            is_cheaper_in_rows(most, vertices)
                && !is_cheaper_in_rows(most + 1, vertices)
                && is_cheaper_in_rows(1, 1 << 20)
        );
        let ranges = Ranges::of(8192 + 4096 + 100);
        let mut edges = [0; 9];
        let (first, last) = (4130 + 4130, 4130 + 4128);
        edges[0] = 1 << 30;
        edges[1] = first * 8 / 21;
        edges[3] = first * 8 / 21 + 1;
        edges[5] = last * 8 / 21;
        edges[7] = last * 8 / 21 + 1;
        let cells = Cells::decide(ranges, &edges);
        let at = |cell: u64| (cell / 3 * 4130, cell % 3 * 4130 + 4127);
        let rows: Vec<u64> = (0..9).filter(|&cell| cells.in_rows(at(cell).0, at(cell).1)).collect();
        assert_eq!(rows, [0, 1, 5], "the diagonal whatever its edges; no cell without edges");
        assert_eq!(cells.rows().count(), 3);
        assert!(
            Cells::all_in_rows(1 << 20).in_rows(0, (1 << 20) - 1)
                && Cells::all_in_rows(0).ranges().count() == 1
        );
    }

    #[test]
    fn sets_of_cells_as_text() {
        let mut set = CellSet::empty(9);
        [0, 5, 8].into_iter().for_each(|cell| set.insert(cell));
        assert_eq!(String::from(set.clone()), "2101");
        assert_eq!(CellSet::try_from("2101".to_owned()).as_ref(), Ok(&set));
        assert!(set.fits(9) && set.fits(16) && !set.fits(8) && !set.fits(17));
        assert!(
            ["210", "2G", "ABCD", "é"]
                .into_iter()
                .all(|text| CellSet::try_from(text.to_owned()).is_err())
        );
    }
}
