//! Edges of a Python iterable: pairs of ids, or triples with a weight. The first edge says whether
//! ids are numbers or strings, and whether there are weights.
//!
//! [`PairFeed`] is the half on the thread that called, which alone touches the iterable;
//! [`FedEdges`] is the half that the build reads.

use crossbeam_channel::{Receiver, RecvTimeoutError};
use outercore_graph::{
    GraphError, Result, WeightKind,
    input::{
        self, DeclaredVertices, EdgeBatch, EdgeSource, Ends, IdKind, InputOptions, Item, Names,
        Progress, Sink, SourceInfo, VertexBatch,
    },
};
use pyo3::{
    prelude::*,
    types::{PyInt, PyIterator, PyList, PyString, PyTuple},
};

use super::{
    EXACT, IDS, WEIGHTS, fault,
    matrix::{inexact, misfit},
    refuse_columns, row_fault,
};
use crate::{failure, supervise::POLL};

/// Edges of a batch.
const BATCH: usize = 16 << 10;
/// Bytes of names after which a batch is whole.
const NAME_BYTES: usize = 1 << 20;
/// What errors name instead of a file.
const NAME: &str = "edges";
const VERTEX_NAME: &str = "vertices";

/// Takes edges, and then vertices, out of Python iterables.
pub struct PairFeed<'py> {
    edges: Bound<'py, PyIterator>,
    vertices: Option<Bound<'py, PyIterator>>,
    /// The first vertex, where it was looked at because there is no edge.
    peeked: Option<Bound<'py, PyAny>>,
    shape: Shape,
    /// Edges taken so far.
    taken: u64,
    /// Vertices taken so far.
    listed: u64,
}

/// What every edge is like.
#[derive(Clone, Copy)]
struct Shape {
    names: bool,
    /// Numbers are wanted as strings.
    convert: bool,
    /// 2, or 3 with a weight.
    parts: usize,
    /// `None` if weights are not wanted.
    weights: Option<WeightKind>,
}

/// A batch being filled.
#[derive(Default)]
struct Batch {
    pairs: Vec<[u64; 2]>,
    names: Names,
    weights: Vec<f64>,
}

impl<'py> PairFeed<'py> {
    /// Looks at the first edge, or at the first vertex where there is no edge; returns the feed,
    /// its first batch, and what is known of all of them.
    pub fn begin(
        edges: &Bound<'py, PyAny>,
        vertices: Option<&Bound<'py, PyAny>>,
        options: &InputOptions,
    ) -> PyResult<(Self, Item, SourceInfo)> {
        let py = edges.py();
        refuse_columns(options).map_err(|error| raise(py, error))?;
        let mut edges = edges.try_iter()?;
        let empty = || raise(py, fault(NAME, "there is no edge in it".to_owned(), ""));
        let first = edges.next().transpose()?;
        let mut vertices = vertices.map(|vertices| vertices.try_iter()).transpose()?;
        let declared = vertices.is_some().then_some(DeclaredVertices::Listed);
        let mut peek = || vertices.as_mut().and_then(Iterator::next).ok_or_else(empty)?;
        let peeked = if first.is_none() { Some(peek()?) } else { None };
        let shape = match (&first, &peeked) {
            (Some(first), _) => Shape::of(first, options)?,
            (None, vertex) => Shape::of_vertex(vertex.as_ref(), options),
        };
        let mut feed = Self { edges, vertices, peeked, shape, taken: 0, listed: 0 };
        let batch = match first {
            Some(first) => feed.batch(Some(first))?,
            None => feed.vertex_batch()?,
        };
        let batch = batch.ok_or_else(empty)?;
        let kind = if shape.names { IdKind::Names } else { options.ids.unwrap_or(IdKind::Numbers) };
        let info = SourceInfo {
            format: "pairs",
            description: format!("a Python iterable, {} ids", kind.name()),
            directed: options.directed,
            ids: kind,
            weights: shape.weights,
            bytes: None,
            declared_vertices: declared,
        };
        Ok((feed, batch, info))
    }

    /// The next batch.
    pub fn next(&mut self) -> PyResult<Option<Item>> {
        match self.batch(None)? {
            None => self.vertex_batch(),
            batch => Ok(batch),
        }
    }

    fn batch(&mut self, first: Option<Bound<'py, PyAny>>) -> PyResult<Option<Item>> {
        let py = self.edges.py();
        let mut batch = Batch::default();
        let mut next = first.map(Ok);
        while batch.pairs.len() < BATCH
            && batch.names.len() < 2 * BATCH
            && batch.names.bytes.len() < NAME_BYTES
        {
            let Some(edge) = next.take().or_else(|| self.edges.next()) else { break };
            let edge = edge?;
            self.shape.add(&edge, &mut batch).map_err(|error| error.at(py, NAME, self.taken))?;
            self.taken += 1;
        }
        if batch.pairs.is_empty() && batch.names.is_empty() {
            return Ok(None);
        }
        if let Some((place, what)) = misfit(&batch.weights, self.shape.weights) {
            let first = self.taken - batch.weights.len() as u64;
            return Err(raise(py, row_fault(NAME, first + place as u64, &what, WEIGHTS)));
        }
        let ends =
            if self.shape.names { Ends::Names(batch.names) } else { Ends::Numbers(batch.pairs) };
        Ok(Some(Item::Edges(EdgeBatch {
            ends,
            weights: self.shape.weights.map(|_| batch.weights),
        })))
    }

    fn vertex_batch(&mut self) -> PyResult<Option<Item>> {
        let py = self.edges.py();
        let Some(vertices) = &mut self.vertices else { return Ok(None) };
        let (mut numbers, mut names) = (Vec::new(), Names::default());
        while numbers.len() < BATCH && names.len() < BATCH && names.bytes.len() < NAME_BYTES {
            let peeked = self.peeked.take().map(Ok);
            let Some(vertex) = peeked.or_else(|| vertices.next()) else { break };
            let vertex = vertex?;
            let added = if self.shape.names {
                self.shape.name(&vertex, &mut names)
            } else {
                number(&vertex).map(|id| numbers.push(id))
            };
            added.map_err(|error| error.at(py, VERTEX_NAME, self.listed))?;
            self.listed += 1;
        }
        Ok(match (numbers.is_empty(), names.is_empty()) {
            (true, true) => None,
            (true, false) => Some(Item::Vertices(VertexBatch::Names(names))),
            _ => Some(Item::Vertices(VertexBatch::Numbers(numbers))),
        })
    }
}

/// Why a row is no edge.
enum Misfit {
    /// What it is instead, and advice.
    Row(String, &'static str),
    /// Python code of the user's failed.
    Python(PyErr),
}

impl Misfit {
    fn at(self, py: Python<'_>, name: &str, index: u64) -> PyErr {
        match self {
            Misfit::Row(what, advice) => raise(py, row_fault(name, index, &what, advice)),
            Misfit::Python(error) => error,
        }
    }
}

impl From<PyErr> for Misfit {
    fn from(error: PyErr) -> Self {
        Misfit::Python(error)
    }
}

impl Shape {
    fn of(first: &Bound<'_, PyAny>, options: &InputOptions) -> PyResult<Self> {
        let py = first.py();
        let parts = parts(first).map_err(|error| error.at(py, NAME, 0))?;
        let string =
            |part: usize| Ok::<_, PyErr>(parts.get_item(part)?.is_instance_of::<PyString>());
        let strings = parts.len() >= 2 && string(0)? && string(1)?;
        let convert = options.ids == Some(IdKind::Names);
        let weights = match options.weights {
            _ if parts.len() < 3 => None,
            Some(WeightKind::None) => None,
            // The build finds the narrowest kind that holds them all.
            given => Some(given.unwrap_or(WeightKind::F64)),
        };
        Ok(Self {
            names: convert || (strings && options.ids.is_none()),
            convert,
            parts: parts.len(),
            weights,
        })
    }

    /// Where there is no edge, but perhaps a vertex.
    fn of_vertex(vertex: Option<&Bound<'_, PyAny>>, options: &InputOptions) -> Self {
        let convert = options.ids == Some(IdKind::Names);
        let string = vertex.is_some_and(|vertex| vertex.is_instance_of::<PyString>());
        let names = convert || (string && options.ids.is_none());
        Self { names, convert, parts: 2, weights: None }
    }

    /// Adds an edge.
    fn add(&self, edge: &Bound<'_, PyAny>, batch: &mut Batch) -> std::result::Result<(), Misfit> {
        let parts = parts(edge)?;
        if parts.len() != self.parts || !(2..=3).contains(&self.parts) {
            let expected = if self.parts == 3 {
                "a triple of source, target and weight"
            } else {
                "a pair of source and target"
            };
            return Err(Misfit::Row(
                format!("this has {} parts, and not those of {expected}", parts.len()),
                "give each edge the same parts",
            ));
        }
        let (source, target) = (parts.get_borrowed_item(0)?, parts.get_borrowed_item(1)?);
        if self.names {
            self.name(&source, &mut batch.names)?;
            self.name(&target, &mut batch.names)?;
        } else {
            batch.pairs.push([number(&source)?, number(&target)?]);
        }
        if self.weights.is_some() {
            let weight = parts.get_borrowed_item(2)?;
            batch.weights.push(self.weight(&weight)?);
        }
        Ok(())
    }

    fn weight(&self, weight: &Bound<'_, PyAny>) -> std::result::Result<f64, Misfit> {
        let no_number =
            |_| Misfit::Row(format!("the weight {} is not a number", shown(weight)), WEIGHTS);
        let number = weight.extract::<f64>().map_err(no_number)?;
        let kind = match self.weights {
            Some(kind @ (WeightKind::F32 | WeightKind::F64)) => kind,
            _ => return Ok(number),
        };
        // Whole numbers of Python's and NumPy's own, which the float has rounded perhaps.
        let is_large = number.abs() >= kind.whole_below() && number.is_finite();
        let rounded = is_large
            && match weight.extract::<i128>() {
                Ok(whole) => !kind.holds(whole),
                Err(_) => kind.rounds_whole(number) || weight.is_instance_of::<PyInt>(),
            };
        if rounded { Err(Misfit::Row(inexact(&shown(weight), kind), EXACT)) } else { Ok(number) }
    }

    fn name(&self, id: &Bound<'_, PyAny>, names: &mut Names) -> std::result::Result<(), Misfit> {
        let wrong = |what: &str| {
            Misfit::Row(format!("the id {} is {what}", shown(id)), "give all ids as strings")
        };
        match id.cast::<PyString>() {
            Ok(name) => names.bytes.extend_from_slice(
                name.to_str().map_err(|_| wrong("not valid Unicode"))?.as_bytes(),
            ),
            Err(_) if self.convert => names.bytes.extend_from_slice(id.str()?.to_str()?.as_bytes()),
            Err(_) => return Err(wrong("not a string, and others are")),
        }
        names.ends.push(u32::try_from(names.bytes.len()).map_err(|_| wrong("too long"))?);
        Ok(())
    }
}

/// The parts of an edge.
fn parts<'py>(edge: &Bound<'py, PyAny>) -> std::result::Result<Bound<'py, PyTuple>, Misfit> {
    if let Ok(tuple) = edge.cast::<PyTuple>() {
        return Ok(tuple.clone());
    }
    if let Ok(list) = edge.cast::<PyList>() {
        return Ok(list.to_tuple());
    }
    let no_pair = || {
        Misfit::Row(
            format!("{} is not a pair of ids", shown(edge)),
            "give an iterable of (source, target) or (source, target, weight)",
        )
    };
    if edge.is_instance_of::<PyString>() {
        return Err(no_pair());
    }
    let parts = edge.try_iter().map_err(|_| no_pair())?.take(4).collect::<PyResult<Vec<_>>>()?;
    Ok(PyTuple::new(edge.py(), parts)?)
}

fn number(id: &Bound<'_, PyAny>) -> std::result::Result<u64, Misfit> {
    id.extract::<u64>().map_err(|_| {
        let what = match id.is_instance_of::<PyInt>() {
            true if id.lt(0).unwrap_or(false) => "negative",
            true => "too large",
            false if id.is_instance_of::<PyString>() => "a string, and others are numbers",
            false => "not a whole number",
        };
        Misfit::Row(format!("the id {} is {what}", shown(id)), IDS)
    })
}

/// A value as Python shows it, not too long.
fn shown(value: &Bound<'_, PyAny>) -> String {
    let text = value.repr().map(|text| text.to_string()).unwrap_or_default();
    if text.chars().count() > 60 {
        text.chars().take(57).chain("...".chars()).collect()
    } else {
        text
    }
}

fn raise(py: Python<'_>, error: GraphError) -> PyErr {
    failure::raise(py, error)
}

/// The edges as they arrive.
pub struct FedEdges {
    info: SourceInfo,
    receiver: Receiver<Option<Item>>,
}

impl FedEdges {
    /// Edges that come through `receiver`.
    pub fn new(info: SourceInfo, receiver: Receiver<Option<Item>>) -> Self {
        Self { info, receiver }
    }
}

impl EdgeSource for FedEdges {
    fn info(&self) -> &SourceInfo {
        &self.info
    }

    fn read(
        &self,
        _threads: usize,
        _memory: usize,
        progress: &dyn Progress,
        sink: Sink<'_>,
    ) -> Result<()> {
        loop {
            match self.receiver.recv_timeout(POLL) {
                Ok(None) => return Ok(()),
                Ok(Some(item)) => {
                    let count = if let Item::Edges(EdgeBatch { ends, .. }) = &item {
                        edges(ends)
                    } else {
                        0
                    };
                    sink(item)?;
                    progress.advance(count);
                }
                Err(RecvTimeoutError::Timeout) if !progress.cancelled() => {}
                // The feed broke off before its end: its thread knows why.
                Err(_) => return Err(GraphError::Cancelled),
            }
        }
    }
}

fn edges(ends: &input::Ends) -> u64 {
    match ends {
        Ends::Numbers(pairs) => pairs.len() as u64,
        Ends::Names(names) => names.len() as u64 / 2,
    }
}
