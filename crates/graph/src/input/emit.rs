//! Gathering decoded records into batches for the sink. Each worker has an [`Emitter`] of its own.

use super::{EdgeBatch, Ends, Item, Names, Sink, VertexBatch};
use crate::error::Result;

/// Batches being filled by one worker.
pub(super) struct Emitter<'a> {
    sink: Sink<'a>,
    /// Edges in a whole batch.
    limit: usize,
    /// Bytes of names in a whole batch.
    name_bytes: usize,
    weighted: bool,
    pairs: Vec<[u64; 2]>,
    weights: Vec<f64>,
    names: Names,
    vertices: Vec<u64>,
    vertex_names: Names,
    /// Edges handed over so far.
    edges: u64,
    /// Edges that stand for no record of their own.
    mirrored: u64,
}

impl<'a> Emitter<'a> {
    pub(super) fn new(sink: Sink<'a>, limit: usize) -> Self {
        let name_bytes = limit * 32;
        Self {
            sink,
            limit,
            name_bytes,
            weighted: false,
            pairs: Vec::new(),
            weights: Vec::new(),
            names: Names::default(),
            vertices: Vec::new(),
            vertex_names: Names::default(),
            edges: 0,
            mirrored: 0,
        }
    }

    /// Records that were emitted so far as edges, those still in the batch included.
    pub(super) fn records(&self) -> u64 {
        self.emitted() - self.mirrored
    }

    fn emitted(&self) -> u64 {
        self.edges + self.pairs.len() as u64 + self.names.len() as u64 / 2
    }

    /// Makes room for a whole batch of numbers.
    pub(super) fn prepare(&mut self, weighted: bool) {
        self.weighted = weighted;
        // One more: a mirrored edge comes as two.
        self.pairs.reserve_exact((self.limit + 1).saturating_sub(self.pairs.len()));
        if weighted {
            self.weights.reserve_exact((self.limit + 1).saturating_sub(self.weights.len()));
        }
    }

    /// Adds an edge; to be followed by [`Emitter::check`] before the next but one.
    #[inline(always)]
    pub(super) fn pair<const WEIGHTED: bool>(&mut self, pair: [u64; 2], weight: f64) {
        self.pairs.push(pair);
        if WEIGHTED {
            self.weights.push(weight);
        }
    }

    /// Adds an edge that stands for no record of its own.
    pub(super) fn mirror<const WEIGHTED: bool>(&mut self, pair: [u64; 2], weight: f64) {
        self.pair::<WEIGHTED>([pair[1], pair[0]], weight);
        self.mirrored += 1;
    }

    /// Hands the batch over if it is whole.
    #[inline(always)]
    pub(super) fn check(&mut self) -> Result<()> {
        if self.pairs.len() >= self.limit { self.whole() } else { Ok(()) }
    }

    #[cold]
    fn whole(&mut self) -> Result<()> {
        self.flush()?;
        self.prepare(self.weighted);
        Ok(())
    }

    /// Adds edges that lie in memory already.
    pub(super) fn batch(&mut self, pairs: Vec<[u64; 2]>) -> Result<()> {
        self.edges += pairs.len() as u64;
        self.send(Item::Edges(EdgeBatch { ends: Ends::Numbers(pairs), weights: None }))
    }

    /// The most edges that a batch should have.
    pub(super) fn limit(&self) -> usize {
        self.limit
    }

    /// Adds an edge between names.
    pub(super) fn named(
        &mut self,
        source: &[u8],
        target: &[u8],
        weight: Option<f64>,
    ) -> Result<()> {
        append(&mut self.names, source);
        append(&mut self.names, target);
        if let Some(weight) = weight {
            self.weighted = true;
            self.weights.push(weight);
        }
        let whole = self.names.len() >= 2 * self.limit || self.names.bytes.len() >= self.name_bytes;
        if whole { self.flush() } else { Ok(()) }
    }

    /// Adds a vertex.
    pub(super) fn vertex(&mut self, id: u64) -> Result<()> {
        self.vertices.push(id);
        if self.vertices.len() >= self.limit { self.flush() } else { Ok(()) }
    }

    /// Adds a named vertex.
    pub(super) fn named_vertex(&mut self, name: &[u8]) -> Result<()> {
        append(&mut self.vertex_names, name);
        let whole = self.vertex_names.len() >= self.limit
            || self.vertex_names.bytes.len() >= self.name_bytes;
        if whole { self.flush() } else { Ok(()) }
    }

    /// Hands everything over.
    pub(super) fn flush(&mut self) -> Result<()> {
        self.edges = self.emitted();
        let weights = self.weighted.then(|| std::mem::take(&mut self.weights));
        if !self.pairs.is_empty() {
            let ends = Ends::Numbers(std::mem::take(&mut self.pairs));
            self.send(Item::Edges(EdgeBatch { ends, weights }))?;
        } else if !self.names.is_empty() {
            let ends = Ends::Names(std::mem::take(&mut self.names));
            self.send(Item::Edges(EdgeBatch { ends, weights }))?;
        }
        if !self.vertices.is_empty() {
            let vertices = std::mem::take(&mut self.vertices);
            self.send(Item::Vertices(VertexBatch::Numbers(vertices)))?;
        }
        if !self.vertex_names.is_empty() {
            let names = std::mem::take(&mut self.vertex_names);
            self.send(Item::Vertices(VertexBatch::Names(names)))?;
        }
        Ok(())
    }

    fn send(&self, item: Item) -> Result<()> {
        (self.sink)(item)
    }
}

fn append(names: &mut Names, name: &[u8]) {
    names.bytes.extend_from_slice(name);
    names.ends.push(names.bytes.len() as u32);
}
