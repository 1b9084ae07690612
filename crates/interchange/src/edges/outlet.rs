//! What goes to the sink. Names are gathered, so that batches have about the same size whatever the
//! length of names and the number of rows that come at once.

use std::path::Path;

use outercore_graph::{
    GraphError, Result,
    input::{EdgeBatch, Ends, Item, Names, Sink, VertexBatch},
};

use super::fault;

/// Bytes of names in a batch, about.
const NAME_BYTES: usize = 1 << 20;
/// Names in a batch.
const NAMES: usize = 128 << 10;

/// A row that cannot be an edge: counted from 0 within its batch.
#[derive(Debug)]
pub(super) struct RowFault {
    pub row: usize,
    pub what: String,
    pub advice: &'static str,
}

/// Why rows could not be handed over.
#[derive(Debug)]
pub(super) enum RowError {
    /// A row is at fault.
    Row(RowFault),
    /// Anything else.
    Other(GraphError),
}

impl From<RowFault> for RowError {
    fn from(fault: RowFault) -> Self {
        Self::Row(fault)
    }
}

impl From<GraphError> for RowError {
    fn from(error: GraphError) -> Self {
        Self::Other(error)
    }
}

impl RowError {
    /// The error; `first` is the number of the batch's first row, from 0.
    pub(super) fn at(self, path: &Path, first: u64) -> GraphError {
        match self {
            Self::Row(RowFault { row, what, advice }) => {
                fault(path, format!("row {}: {what}", first + row as u64 + 1), advice)
            }
            Self::Other(error) => error,
        }
    }
}

/// One thread's way to the sink. What is gathered goes with [`Outlet::flush`].
pub(super) struct Outlet<'s> {
    sink: Sink<'s>,
    edges: Names,
    weights: Vec<f64>,
    vertices: Names,
}

impl<'s> Outlet<'s> {
    /// Nothing is gathered yet.
    pub(super) fn new(sink: Sink<'s>) -> Self {
        Self { sink, edges: Names::default(), weights: Vec::new(), vertices: Names::default() }
    }

    /// Hands over what needs no gathering.
    pub(super) fn send(&self, item: Item) -> Result<()> {
        (self.sink)(item)
    }

    /// Adds an edge between names. Either all edges have a weight, or none.
    pub(super) fn edge(&mut self, source: &str, target: &str, weight: Option<f64>) -> Result<()> {
        append(&mut self.edges, source);
        append(&mut self.edges, target);
        self.weights.extend(weight);
        if is_whole(&self.edges) { self.flush() } else { Ok(()) }
    }

    /// Adds a vertex.
    pub(super) fn vertex(&mut self, name: &str) -> Result<()> {
        append(&mut self.vertices, name);
        if is_whole(&self.vertices) { self.flush() } else { Ok(()) }
    }

    /// Hands over what is gathered.
    pub(super) fn flush(&mut self) -> Result<()> {
        if !self.edges.is_empty() {
            let weights = std::mem::take(&mut self.weights);
            let weights = (!weights.is_empty()).then_some(weights);
            let ends = Ends::Names(std::mem::take(&mut self.edges));
            self.send(Item::Edges(EdgeBatch { ends, weights }))?;
        }
        if !self.vertices.is_empty() {
            let vertices = std::mem::take(&mut self.vertices);
            self.send(Item::Vertices(VertexBatch::Names(vertices)))?;
        }
        Ok(())
    }
}

fn append(names: &mut Names, name: &str) {
    names.bytes.extend_from_slice(name.as_bytes());
    names.ends.push(names.bytes.len() as u32);
}

fn is_whole(names: &Names) -> bool {
    names.bytes.len() >= NAME_BYTES || names.len() >= NAMES
}
