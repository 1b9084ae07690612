//! Edges as arrays of ends, or as the compressed rows or columns of a sparse matrix.
//!
//! The arrays stay where they are, and are read by several threads, as often as the build wants.
//! Each reading adds up a digest of what it saw: arrays that another thread of the user's changes
//! meanwhile are found out, instead of becoming a graph that never was.

use std::{
    ops::Range,
    sync::{
        Mutex, OnceLock,
        atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed},
    },
};

use outercore_graph::{
    GraphError, WeightKind,
    input::{
        self, DeclaredVertices, EdgeBatch, EdgeSource, IdKind, InputOptions, Item, Progress, Sink,
        SourceInfo,
    },
};
use outercore_storage::threads;

use super::{
    EXACT, IDS, WEIGHTS,
    arrays::{NumberSlice, RealSlice},
    fault, row_fault,
};

/// Edges of a batch.
const BATCH: usize = 64 << 10;

/// Where the ends of edges are.
#[derive(Clone, Copy)]
pub enum Ends<'a> {
    /// One array of sources, one of targets.
    Pairs {
        /// The sources.
        sources: NumberSlice<'a>,
        /// The targets.
        targets: NumberSlice<'a>,
    },
    /// The edges `starts[v]..starts[v + 1]` are those of vertex `v`.
    Compressed {
        /// Where each vertex's edges begin, and the last one's end.
        starts: NumberSlice<'a>,
        /// The other ends.
        others: NumberSlice<'a>,
        /// Whether `v` is the target, as in compressed columns.
        columns: bool,
    },
}

/// Arrays as a source of edges.
pub struct ArrayEdges<'a> {
    name: &'static str,
    ends: Ends<'a>,
    weights: Option<RealSlice<'a>>,
    info: SourceInfo,
    /// Every end is below this.
    bound: u64,
    digest: OnceLock<u64>,
}

impl<'a> ArrayEdges<'a> {
    /// Edges with these ends and weights; `vertices` is the size of a square matrix, whose vertices
    /// all exist.
    pub fn new(
        ends: Ends<'a>,
        weights: Option<RealSlice<'a>>,
        vertices: Option<u64>,
        options: &InputOptions,
    ) -> Result<Self, GraphError> {
        let name = if vertices.is_some() { "sparse matrix" } else { "arrays" };
        if !options.vertices.is_empty() {
            return Err(GraphError::Usage("vertex files cannot be given with arrays".to_owned()));
        }
        if vertices.is_some() && options.ids == Some(IdKind::Names) {
            return Err(GraphError::Usage(
                "the ids of a matrix are its row numbers, not strings".to_owned(),
            ));
        }
        let weights = match options.weights {
            Some(WeightKind::None) => None,
            // A matrix that is all ones says which edges there are, and nothing else, unless
            // weights are asked for.
            None => weights.filter(|weights| vertices.is_none() || !weights.all_ones()),
            Some(_) => weights,
        };
        let len = ends.len();
        ends.check(name, vertices)?;
        if weights.is_some_and(|weights| weights.len() != len) {
            return Err(fault(
                name,
                format!("there are {} weights and {len} edges", weights.map_or(0, RealSlice::len)),
                "",
            ));
        }
        let width = ends.width() + weights.map_or(0, RealSlice::width);
        let info = SourceInfo {
            format: "arrays",
            description: format!("{name}, {len} edges"),
            directed: options.directed,
            ids: options.ids.unwrap_or(IdKind::Numbers),
            weights: weights.map(|weights| options.weights.unwrap_or(weights.kind())),
            bytes: Some((len * width) as u64),
            declared_vertices: vertices.map(|count| DeclaredVertices::Range { first: 0, count }),
        };
        Ok(Self {
            name,
            ends,
            weights,
            info,
            bound: vertices.unwrap_or(u64::MAX),
            digest: OnceLock::new(),
        })
    }

    /// Refuses arrays that have another digest than when they were first read.
    fn check_unchanged(&self, digest: u64) -> Result<(), GraphError> {
        if *self.digest.get_or_init(|| digest) == digest {
            return Ok(());
        }
        Err(fault(
            self.name,
            "the arrays changed while they were being read".to_owned(),
            "build again when nothing writes to them",
        ))
    }

    /// The edges of `range`, and their digest.
    fn batch(&self, range: Range<usize>) -> Result<(EdgeBatch, u64), GraphError> {
        let complain = |place: usize, what: String, advice: &str| {
            row_fault(self.name, (range.start + place) as u64, &what, advice)
        };
        let mut edges = vec![[0; 2]; range.len()];
        self.ends
            .put(range.clone(), &mut edges)
            .map_err(|place| complain(place, "an id is negative".to_owned(), IDS))?;
        if self.bound != u64::MAX
            && let Some(place) = edges.iter().position(|edge| edge[0].max(edge[1]) >= self.bound)
        {
            let what = format!(
                "the index {} is outside of the matrix",
                edges[place][0].max(edges[place][1])
            );
            return Err(complain(place, what, "make the matrix anew"));
        }
        let weights = self.weights.map(|weights| weights.read(range.clone()));
        if let Some((place, what)) =
            weights.as_ref().and_then(|weights| misfit(weights, self.info.weights))
        {
            return Err(complain(place, what, WEIGHTS));
        }
        let kind = self.info.weights.filter(|kind| *kind != WeightKind::U32);
        if let Some((weights, kind)) = self.weights.zip(kind)
            && let Some((place, weight)) = weights.inexact(range.clone(), kind)
        {
            return Err(complain(place, inexact(&weight, kind), EXACT));
        }
        let digest = digest(&edges, weights.as_deref().unwrap_or(&[]));
        let ends = if self.info.ids == IdKind::Names {
            names(&edges)
        } else {
            input::Ends::Numbers(edges)
        };
        Ok((EdgeBatch { ends, weights }, digest))
    }
}

/// The first weight that is not of the kind, and what to say of it.
pub(super) fn misfit(weights: &[f64], kind: Option<WeightKind>) -> Option<(usize, String)> {
    let fits = |weight: f64| match kind {
        Some(WeightKind::U32) => {
            weight.trunc() == weight && (0.0..4_294_967_296.0).contains(&weight)
        }
        Some(WeightKind::F32) => (weight as f32).is_finite(),
        _ => weight.is_finite(),
    };
    let place = weights.iter().position(|&weight| !fits(weight))?;
    let weight = weights[place];
    let why = match kind {
        _ if !weight.is_finite() => "is not finite",
        Some(WeightKind::U32) => "is not a whole number from 0 to 2^32 - 1",
        _ => "is too large for f32",
    };
    Some((place, format!("the weight {weight} {why}")))
}

/// What to say of a whole number that a kind of weights cannot be.
pub(super) fn inexact(weight: &str, kind: WeightKind) -> String {
    format!("the weight {weight} is a whole number that {kind} cannot hold exactly")
}

/// A sum that does not depend on the order of batches.
fn digest(edges: &[[u64; 2]], weights: &[f64]) -> u64 {
    let mix = |a: u64, b: u64| (a ^ b.rotate_left(32)).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ b;
    let ends = edges.iter().fold(0u64, |sum, edge| sum.wrapping_add(mix(edge[0], edge[1])));
    weights
        .iter()
        .zip(edges)
        .fold(ends, |sum, (weight, edge)| sum.wrapping_add(mix(weight.to_bits(), edge[0])))
}

fn names(edges: &[[u64; 2]]) -> input::Ends {
    let mut names = input::Names::default();
    let mut text = itoa::Buffer::new();
    for &id in edges.as_flattened() {
        names.bytes.extend_from_slice(text.format(id).as_bytes());
        names.ends.push(names.bytes.len() as u32);
    }
    input::Ends::Names(names)
}

impl Ends<'_> {
    fn len(self) -> usize {
        match self {
            Ends::Pairs { sources, .. } => sources.len(),
            Ends::Compressed { others, .. } => others.len(),
        }
    }

    fn width(self) -> usize {
        match self {
            Ends::Pairs { sources, targets } => sources.width() + targets.width(),
            Ends::Compressed { others, .. } => others.width(),
        }
    }

    /// Whether lengths fit together.
    fn check(self, name: &str, vertices: Option<u64>) -> Result<(), GraphError> {
        let broken = |what: String| Err(fault(name, what, ""));
        match self {
            Ends::Pairs { sources, targets } if sources.len() != targets.len() => {
                broken(format!("there are {} sources and {} targets", sources.len(), targets.len()))
            }
            Ends::Pairs { .. } if self.len() == 0 && vertices.is_none() => {
                broken("there is no edge in them".to_owned())
            }
            Ends::Compressed { starts, others, .. } => {
                let rows =
                    starts.len().checked_sub(1).filter(|&rows| Some(rows as u64) == vertices);
                let whole = rows.is_some_and(|rows| {
                    starts.get(0) == Some(0) && starts.get(rows) == Some(others.len() as u64)
                });
                if !whole || starts.descent().is_some() {
                    broken("its indptr is damaged".to_owned())
                } else {
                    Ok(())
                }
            }
            Ends::Pairs { .. } => Ok(()),
        }
    }

    /// Writes the edges of `range`. The error is the place in `range` of a negative end.
    fn put(self, range: Range<usize>, edges: &mut [[u64; 2]]) -> Result<(), usize> {
        match self {
            Ends::Pairs { sources, targets } => {
                sources.put(range.clone(), edges, 0)?;
                targets.put(range, edges, 1)
            }
            Ends::Compressed { starts, others, columns } => {
                let (own, other) = if columns { (1, 0) } else { (0, 1) };
                others.put(range.clone(), edges, other)?;
                // The vertex of the first edge: the last one that begins at it or before.
                let mut vertex = starts.up_to(range.start as u64) - 1;
                let mut end = starts.get(vertex + 1).unwrap_or(0);
                for (number, edge) in range.zip(edges) {
                    while number as u64 >= end {
                        vertex += 1;
                        end = starts.get(vertex + 1).unwrap_or(u64::MAX);
                    }
                    edge[own] = vertex as u64;
                }
                Ok(())
            }
        }
    }
}

impl EdgeSource for ArrayEdges<'_> {
    fn info(&self) -> &SourceInfo {
        &self.info
    }

    fn reads_again(&self) -> bool {
        true
    }

    fn read(
        &self,
        threads: usize,
        _memory: usize,
        progress: &dyn Progress,
        sink: Sink<'_>,
    ) -> Result<(), GraphError> {
        let len = self.ends.len();
        let (next, sum) = (AtomicUsize::new(0), AtomicU64::new(0));
        let error: Mutex<Option<(usize, GraphError)>> = Mutex::new(None);
        let lock = || error.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let bytes = self.info.bytes.unwrap_or(0) / len.max(1) as u64;
        let work = || {
            while lock().is_none() {
                let start = next.fetch_add(BATCH, Relaxed);
                if start >= len {
                    return;
                }
                let range = start..(start + BATCH).min(len);
                let count = range.len() as u64;
                let step = || {
                    if progress.cancelled() {
                        return Err(GraphError::Cancelled);
                    }
                    let (batch, digest) = self.batch(range)?;
                    sum.fetch_add(digest, Relaxed);
                    sink(Item::Edges(batch))
                };
                match step() {
                    Ok(()) => progress.advance(count * bytes),
                    // Earlier batches were handed out before, and end before this returns: the
                    // earliest error wins.
                    Err(found) => {
                        let mut error = lock();
                        if error.as_ref().is_none_or(|(earliest, _)| start < *earliest) {
                            *error = Some((start, found));
                        }
                    }
                }
            }
        };
        std::thread::scope(|scope| {
            (1..threads.min(len.div_ceil(BATCH))).for_each(|_| drop(threads::start(scope, work)));
            work();
        });
        if let Some((_, error)) = lock().take() {
            return Err(error);
        }
        self.check_unchanged(sum.into_inner())
    }
}
