//! [`ByRank`]: a graph's edges as a source, their ends by rank or by internal id.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::parallel;
use crate::{
    error::{GraphError, Result},
    format::INDEX_GROUP,
    graph::Graph,
    input::{
        DeclaredVertices, EdgeBatch, EdgeSource, Ends, IdKind, Item, Progress, Sink, SourceInfo,
    },
    scan::RowReader,
    types::{Direction, WeightKind},
};

/// A graph's edges.
pub struct ByRank<'g> {
    graph: &'g Graph,
    info: SourceInfo,
    /// The rank of each connected vertex; `None`: the internal id is wanted.
    ranks: Option<Vec<u32>>,
}

/// Vertices whose lists a thread reads at a time.
const PART: u64 = 128 * INDEX_GROUP;
/// Bytes of an edge in a batch, and on its way to scratch.
const EDGE: usize = 48;

impl<'g> ByRank<'g> {
    /// Bytes of memory that it holds.
    pub fn bytes(graph: &Graph) -> u64 {
        if graph.manifest().id_bytes == 0 { 0 } else { graph.connected() * 4 }
    }

    /// The edges of `graph`, which has fewer than 2^32 vertices.
    pub fn of(graph: &'g Graph) -> Result<Self> {
        let weights = Some(graph.weights()).filter(|&weights| weights != WeightKind::None);
        let info = Self::info(graph, weights, graph.vertices());
        Ok(Self { graph, info, ranks: graph.ranks()? })
    }

    /// The edges of `graph` without their weights, by internal id.
    pub fn by_id(graph: &'g Graph) -> Self {
        Self { graph, info: Self::info(graph, None, graph.connected()), ranks: None }
    }

    fn info(graph: &Graph, weights: Option<WeightKind>, count: u64) -> SourceInfo {
        SourceInfo {
            format: "graph",
            description: "the edges of a graph".to_owned(),
            directed: Some(graph.directed()),
            ids: IdKind::Dense,
            weights,
            bytes: Some(graph.edges()),
            declared_vertices: Some(DeclaredVertices::Range { first: 0, count }),
        }
    }

    fn rank(&self, vertex: u64) -> Result<u64> {
        let Some(ranks) = &self.ranks else {
            return if vertex < self.graph.connected() {
                Ok(vertex)
            } else {
                self.no_vertex(vertex)
            };
        };
        match ranks.get(vertex as usize) {
            Some(&rank) => Ok(rank.into()),
            None => self.no_vertex(vertex),
        }
    }

    /// The error of an edge that leads to none of the connected vertices.
    #[cold]
    fn no_vertex(&self, vertex: u64) -> Result<u64> {
        let what = format!("vertex {vertex} is an edge's end, and there are {}", {
            self.graph.connected()
        });
        Err(GraphError::Corrupt { path: self.graph.path().to_owned(), what })
    }

    /// Hands the edges of a reader's vertices to `sink`; an undirected edge from its larger end
    /// alone.
    fn part(
        &self,
        rows: &mut RowReader,
        batch: usize,
        progress: &dyn Progress,
        sink: Sink,
    ) -> Result<()> {
        let directed = self.graph.directed();
        let (mut pairs, mut values) = (Vec::new(), Vec::new());
        let hand_over = |pairs: &mut Vec<[u64; 2]>, values: &mut Vec<f64>| {
            if progress.cancelled() {
                return Err(GraphError::Cancelled);
            }
            progress.advance(pairs.len() as u64);
            let weights = self.info.weights.map(|_| std::mem::take(values));
            sink(Item::Edges(EdgeBatch { ends: Ends::Numbers(std::mem::take(pairs)), weights }))
        };
        rows.for_each(&mut |source, targets, weights| {
            let from = self.rank(source)?;
            for (index, &target) in targets.iter().enumerate() {
                if directed || target <= source {
                    pairs.push([from, self.rank(target)?]);
                    values.extend(weights.get(index));
                }
                if pairs.len() >= batch {
                    hand_over(&mut pairs, &mut values)?;
                }
            }
            Ok(())
        })?;
        if pairs.is_empty() { Ok(()) } else { hand_over(&mut pairs, &mut values) }
    }
}

impl EdgeSource for ByRank<'_> {
    fn info(&self) -> &SourceInfo {
        &self.info
    }

    fn at_most(&self) -> Option<(u64, u64)> {
        Some((self.graph.edges(), self.graph.vertices()))
    }

    fn reads_again(&self) -> bool {
        true
    }

    fn read(
        &self,
        threads: usize,
        memory: usize,
        progress: &dyn Progress,
        sink: Sink<'_>,
    ) -> Result<()> {
        let batch = (memory / threads / EDGE).clamp(1 << 10, 1 << 16);
        let next = AtomicU64::new(0);
        parallel(threads, |_| {
            let mut rows = self.graph.row_reader(Direction::Out)?;
            if self.info.weights.is_none() {
                rows.leave_weights();
            }
            loop {
                let first = next.fetch_add(PART, Relaxed);
                if first >= self.graph.connected() {
                    return Ok(());
                }
                rows.limit_to(first..(first + PART).min(self.graph.connected()))?;
                self.part(&mut rows, batch, progress, sink)?;
            }
        })
    }
}
