//! Reading the rows from front to back, a list at a time, every page verified, in bounded memory:
//! for checking and exporting, not for running.

use std::ops::Range;

use crate::{
    error::{GraphError, Result},
    format::INDEX_GROUP,
    graph::{Graph, Table},
    types::{Direction, Key, WeightKind},
};

/// Reads one direction's rows, or the lists of the edges in row format.
pub struct RowReader {
    degrees: Table,
    index: Table,
    adjacency: Table,
    weights: Option<Table>,
    vertices: Range<u64>,
    width: usize,
    weight_width: usize,
    kind: WeightKind,
    edges: u64,
    /// Entries up to the end of the last list, or of its group.
    end: u64,
    /// Neighbors and weights that were read and not yet handed out, from `at` on.
    neighbors: Vec<u64>,
    values: Vec<f64>,
    at: usize,
}

/// What is done with a piece of a list: vertex, neighbors, weights (empty without weights).
pub type Visit<'v> = &'v mut dyn FnMut(u64, &[u64], &[f64]) -> Result<()>;

/// Edges in the order of the rows, as internal ids.
#[derive(Clone, Debug, Default)]
pub struct EdgeRows {
    /// Sources.
    pub sources: Vec<u64>,
    /// Targets.
    pub targets: Vec<u64>,
    /// Weights; empty without weights.
    pub weights: Vec<f64>,
}

/// Degrees read at once, and neighbors at the most.
const BATCH: u64 = 1 << 16;

impl RowReader {
    fn open(graph: &Graph, prefix: &str) -> Result<Self> {
        let manifest = graph.manifest();
        let section = |part: &str| graph.table(&format!("{prefix}.{part}"));
        let weighted = manifest.section(&format!("{prefix}.weights")).is_some();
        let (adjacency, width) = (section("adjacency")?, manifest.neighbor_bytes as usize);
        Ok(Self {
            end: adjacency.section.bytes / width as u64,
            degrees: section("degrees")?,
            adjacency,
            weights: if weighted { Some(section("weights")?) } else { None },
            vertices: 0..graph.connected(),
            index: section("index")?,
            width,
            weight_width: manifest.weight_bytes as usize,
            kind: manifest.weights,
            edges: 0,
            neighbors: Vec::new(),
            values: Vec::new(),
            at: 0,
        })
    }

    /// Only the lists of these vertices, the first of which begins a group of the index.
    pub fn limit_to(&mut self, vertices: Range<u64>) -> Result<()> {
        debug_assert!(vertices.start.is_multiple_of(INDEX_GROUP));
        let entry = |group: u64| Ok::<_, GraphError>(numbers(&self.index, group, 1, 8)?[0]);
        self.edges = entry(vertices.start / INDEX_GROUP)?;
        self.end = entry(vertices.end.div_ceil(INDEX_GROUP))?;
        self.neighbors.clear();
        self.at = 0;
        self.vertices = vertices;
        Ok(())
    }

    /// Does not read the weights, if there are some.
    pub fn leave_weights(&mut self) {
        self.weights = None;
    }

    /// Edges read so far, and those before the first vertex.
    pub fn edges(&self) -> u64 {
        self.edges
    }

    /// Hands every list to `visit`, long ones in pieces.
    pub fn for_each(&mut self, visit: Visit) -> Result<()> {
        let Range { start: mut first, end } = self.vertices;
        while first < end {
            let count = (end - first).min(BATCH);
            let bytes = self.degrees.read(first * 4, count as usize * 4)?;
            for (vertex, degree) in (first..).zip(bytes.chunks_exact(4)) {
                self.list(
                    vertex,
                    u32::from_le_bytes(degree.try_into().expect("four bytes")) as usize,
                    visit,
                )?;
            }
            first += count;
        }
        Ok(())
    }

    fn list(&mut self, vertex: u64, degree: usize, visit: Visit) -> Result<()> {
        let mut left = degree;
        while left > 0 {
            if self.at == self.neighbors.len() {
                self.refill()?;
            }
            let count = left.min(self.neighbors.len() - self.at);
            let part = self.at..self.at + count;
            let weights = if self.weights.is_some() { &self.values[part.clone()] } else { &[] };
            visit(vertex, &self.neighbors[part], weights)?;
            self.at += count;
            self.edges += count as u64;
            left -= count;
        }
        Ok(())
    }

    /// Reads the next neighbors.
    fn refill(&mut self) -> Result<()> {
        let count = self.end.saturating_sub(self.edges).min(BATCH);
        if count == 0 {
            return Err(GraphError::Corrupt {
                path: self.adjacency.section.path().to_owned(),
                what: "degrees add up to more than the adjacency".to_owned(),
            });
        }
        self.neighbors = numbers(&self.adjacency, self.edges, count, self.width)?;
        if let Some(section) = &self.weights {
            self.values = numbers(section, self.edges, count, self.weight_width)?
                .into_iter()
                .map(|bits| weight(self.kind, bits))
                .collect();
        }
        self.at = 0;
        Ok(())
    }
}

fn numbers(section: &Table, first: u64, count: u64, width: usize) -> Result<Vec<u64>> {
    Ok(crate::graph::numbers(&section.read(first * width as u64, count as usize * width)?, width))
}

/// A weight, of its bits.
pub(crate) fn weight(kind: WeightKind, bits: u64) -> f64 {
    match kind {
        WeightKind::None => 1.0,
        WeightKind::U32 => bits as f64,
        WeightKind::F32 => f64::from(f32::from_bits(bits as u32)),
        WeightKind::F64 => f64::from_bits(bits),
    }
}

impl Graph {
    /// A reader of the rows in `direction`, which must exist.
    pub fn row_reader(&self, direction: Direction) -> Result<RowReader> {
        RowReader::open(self, direction.name())
    }

    /// A reader of the lists of the edges in row format, which a graph in the hybrid layout has
    /// beside the complete ones.
    pub fn row_format_reader(&self) -> Result<RowReader> {
        RowReader::open(self, "row")
    }

    /// The first edge with a negative weight, in the order of the disk: its ends, and the weight.
    pub fn negative_edge(&self) -> Result<Option<(Key, Key, f64)>> {
        let mut found = None;
        let scanned = self.for_each_edge(1 << 16, &mut |rows| {
            let row = rows.weights.iter().position(|&weight| weight < 0.0);
            let Some(row) = row else { return Ok(()) };
            found = Some((rows.sources[row], rows.targets[row], rows.weights[row]));
            // There is no need to see the others.
            Err(GraphError::Cancelled)
        });
        match (found, scanned) {
            (Some((source, target, weight)), _) => {
                Ok(Some((self.key_of(source)?, self.key_of(target)?, weight)))
            }
            (None, scanned) => scanned.map(|()| None),
        }
    }

    /// Every edge, as internal ids, in batches of at most `batch`; an undirected edge once, from
    /// its larger to its smaller end.
    pub fn for_each_edge(
        &self,
        batch: usize,
        visit: &mut dyn FnMut(&EdgeRows) -> Result<()>,
    ) -> Result<()> {
        let mut rows = EdgeRows::default();
        let directed = self.directed();
        self.row_reader(Direction::Out)?.for_each(&mut |source, targets, weights| {
            for (index, &target) in targets.iter().enumerate() {
                if !directed && target > source {
                    continue;
                }
                rows.sources.push(source);
                rows.targets.push(target);
                rows.weights.extend(weights.get(index));
                if rows.sources.len() >= batch {
                    visit(&rows)?;
                    rows.clear();
                }
            }
            Ok(())
        })?;
        if rows.sources.is_empty() { Ok(()) } else { visit(&rows) }
    }
}

impl EdgeRows {
    fn clear(&mut self) {
        self.sources.clear();
        self.targets.clear();
        self.weights.clear();
    }
}
