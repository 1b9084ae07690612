//! Taking in the edges: they are spooled as they come, and degrees are counted on the way while ids
//! look dense.
//!
//! Ids are dense when an array over their range fits the budget and is not wildly larger than the
//! number of edges. Other ids, and all names, go through the [`super::dictionary`].

use std::sync::{
    Mutex,
    atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed},
};

use outercore_storage::{Disk, HugePages, HugeVec};

use super::{
    BuildProgress, access::SourceAccess, dictionary::NumberHints, names::NameSpool,
    numbering::Domain, sample::Sample, smallest::Division, spool::Spool, weights::WeightSurvey,
};
use crate::{
    error::{GraphError, Result, refuse},
    input::{DeclaredVertices, Ends, IdKind, Item, VertexBatch},
};

/// The edges on scratch, and what was learned while they passed.
pub struct Ingested {
    /// Edges, with raw ids.
    pub ends: RawEnds,
    /// What the weights are like.
    pub weights: WeightSurvey,
    /// Edges in the input.
    pub edges: u64,
}

/// The raw ids.
pub enum RawEnds {
    /// Numbers in a range that an array can cover.
    Dense {
        /// The edges; `None`: the source is read again.
        spool: Option<Spool>,
        /// Degrees and presence over the range.
        domain: Domain,
    },
    /// Any numbers.
    Numbers {
        /// The edges.
        spool: Spool,
        /// Vertices beyond the edges' ends, and a sample of the ids.
        hints: NumberHints,
    },
    /// Names.
    Names(NameSpool),
}

/// Arrays over ids up to this are always allowed: they are small.
const SMALL_DOMAIN: u64 = 1 << 22;
/// A dense range may have this many ids for each edge.
const SPREAD: u64 = 32;

/// Edges whose degrees are counted together: their cache lines fit the first level.
const COUNTED: usize = 128;

/// What the threads that take in edges share.
struct Intake<'a> {
    spool: Option<Spool>,
    edges: AtomicU64,
    names: Option<NameSpool>,
    degrees: HugeVec<AtomicU32>,
    listed_bits: Option<HugeVec<AtomicU64>>,
    listed: Option<Spool>,
    sample: Mutex<Sample<u64>>,
    beyond: AtomicBool,
    smallest: AtomicU64,
    largest: AtomicU64,
    weights: WeightSurvey,
    saturated: AtomicBool,
    progress: &'a dyn BuildProgress,
}

/// Reads the source to the end. `memory` bounds the arrays, within the budget.
pub fn ingest(
    (disk, scratch): (&Disk, &std::path::Path),
    access: &SourceAccess,
    (budget, memory): (Division, u64),
    weighted: bool,
) -> Result<Ingested> {
    let SourceAccess { source, threads, parse, progress } = *access;
    let info = source.info();
    let names = matches!(info.ids, IdKind::Names);
    let lists = matches!(info.declared_vertices, Some(DeclaredVertices::Listed));
    let limit =
        if names { 0 } else { (memory / if lists { 5 } else { 4 }).min(u64::from(u32::MAX) - 1) };
    let again = source.reads_again() && !lists;
    let spool = || Spool::create(disk, scratch, budget);
    let mut intake = Intake {
        spool: if again { None } else { Some(spool()?) },
        names: if names { Some(NameSpool::create(disk, scratch)?) } else { None },
        listed_bits: if lists {
            Some(HugeVec::zeroed(limit.div_ceil(64) as usize, HugePages::Auto)?)
        } else {
            None
        },
        listed: if lists { Some(spool()?) } else { None },
        ..Intake::new(limit, progress)?
    };
    source.read(threads, parse, &ProgressOf(progress), &|item| intake.take(item, weighted))?;
    if again && intake.beyond.load(Relaxed) {
        // The ids turn out not to be dense: the dictionary wants them on scratch after all.
        intake.spool = Some(spool()?);
        intake.edges = AtomicU64::new(0);
        source.read(threads, parse, &ProgressOf(progress), &|item| intake.take(item, weighted))?;
    }
    if intake.saturated.load(Relaxed) {
        return refuse("a vertex has more than 4294967295 edges, which this version cannot hold");
    }
    let range = match info.declared_vertices {
        Some(DeclaredVertices::Range { first, count }) => Some((first, count)),
        _ => None,
    };
    intake.finish(range, limit)
}

/// The build's progress, as the readers want it.
struct ProgressOf<'a>(&'a dyn BuildProgress);

impl crate::input::Progress for ProgressOf<'_> {
    fn advance(&self, bytes: u64) {
        self.0.advance(bytes);
    }
    fn cancelled(&self) -> bool {
        self.0.cancelled()
    }
}

impl<'a> Intake<'a> {
    /// Takes in numbers below `limit` and neither names nor listed vertices.
    fn new(limit: u64, progress: &'a dyn BuildProgress) -> Result<Self> {
        Ok(Self {
            spool: None,
            edges: AtomicU64::new(0),
            names: None,
            degrees: HugeVec::zeroed(limit as usize, HugePages::Auto)?,
            listed_bits: None,
            listed: None,
            sample: Mutex::default(),
            beyond: AtomicBool::new(false),
            smallest: AtomicU64::new(u64::MAX),
            largest: AtomicU64::new(0),
            weights: WeightSurvey::default(),
            saturated: AtomicBool::new(false),
            progress,
        })
    }
}

impl Intake<'_> {
    fn take(&self, item: Item, weighted: bool) -> Result<()> {
        if self.progress.cancelled() {
            return Err(GraphError::Cancelled);
        }
        match item {
            Item::Edges(batch) => {
                let weights = if weighted { batch.weights.as_deref().unwrap_or(&[]) } else { &[] };
                self.weights.see(weights);
                match batch.ends {
                    Ends::Numbers(pairs) => self.numbers(&pairs, weights),
                    Ends::Names(names) => self
                        .names
                        .as_ref()
                        .map_or(Ok(()), |spool| spool.append_edges(&names, weights)),
                }
            }
            Item::Vertices(VertexBatch::Numbers(ids)) => {
                ids.iter().for_each(|&id| self.list(id));
                self.sample_ids(ids.len(), |index| ids[index]);
                let pairs: Vec<[u64; 2]> = ids.iter().map(|&id| [id, id]).collect();
                self.listed.as_ref().map_or(Ok(()), |spool| append(spool, &pairs, &[]))
            }
            Item::Vertices(VertexBatch::Names(names)) => {
                self.names.as_ref().map_or(Ok(()), |spool| spool.append_vertices(&names))
            }
        }
    }

    fn numbers(&self, pairs: &[[u64; 2]], weights: &[f64]) -> Result<()> {
        let (mut smallest, mut largest) = (u64::MAX, 0);
        for &[source, target] in pairs {
            smallest = smallest.min(source.min(target));
            largest = largest.max(source.max(target));
        }
        self.smallest.fetch_min(smallest, Relaxed);
        self.largest.fetch_max(largest, Relaxed);
        if largest >= self.degrees.len() as u64 {
            self.beyond.store(true, Relaxed);
        }
        if !self.beyond.load(Relaxed) {
            pairs.chunks(COUNTED).for_each(|part| self.count(part));
        }
        self.sample_ids(pairs.len() * 2, |index| pairs[index / 2][index % 2]);
        self.edges.fetch_add(pairs.len() as u64, Relaxed);
        self.spool.as_ref().map_or(Ok(()), |spool| append(spool, pairs, weights))
    }

    fn sample_ids(&self, len: usize, id: impl Fn(usize) -> u64) {
        self.sample.lock().expect("no holder panics").see(len, |index| (id(index), 1));
    }

    /// Counts degrees. An atomic addition waits for its cache line alone; plain loads before it
    /// bring in many at once.
    fn count(&self, pairs: &[[u64; 2]]) {
        let near = pairs
            .iter()
            .flatten()
            .fold(0, |sum: u32, &id| sum.wrapping_add(self.degrees[id as usize].load(Relaxed)));
        std::hint::black_box(near);
        let mut saturated = false;
        for &[source, target] in pairs {
            saturated |= self.degrees[source as usize].fetch_add(1, Relaxed) == u32::MAX;
            saturated |= self.degrees[target as usize].fetch_add(1, Relaxed) == u32::MAX;
        }
        if saturated {
            self.saturated.store(true, Relaxed);
        }
    }

    fn list(&self, id: u64) {
        self.smallest.fetch_min(id, Relaxed);
        self.largest.fetch_max(id, Relaxed);
        match &self.listed_bits {
            Some(bits) if id < self.degrees.len() as u64 => {
                bits[(id / 64) as usize].fetch_or(1 << (id % 64), Relaxed);
            }
            _ => self.beyond.store(true, Relaxed),
        }
    }

    fn finish(self, range: Option<(u64, u64)>, limit: u64) -> Result<Ingested> {
        let weights = self.weights;
        if let Some(names) = self.names {
            let edges = names.edges();
            return Ok(Ingested { ends: RawEnds::Names(names), weights, edges });
        }
        let edges = self.edges.into_inner();
        let (mut smallest, mut largest) = (self.smallest.into_inner(), self.largest.into_inner());
        if let Some((first, count)) = range
            && count > 0
        {
            smallest = smallest.min(first);
            largest = largest.max(first + count - 1);
        }
        if smallest > largest {
            (smallest, largest) = (0, 0);
        }
        // Ids may span all of 64 bits: then the length is one less than it should be, and dense it
        // is not.
        let len = (largest - smallest).saturating_add(1);
        let dense = !self.beyond.into_inner()
            && largest < limit
            && (len <= SMALL_DOMAIN || len / SPREAD <= edges);
        let declared = range.is_some_and(|(_, count)| count == len);
        let ends = if dense || (declared && largest < limit) {
            RawEnds::Dense {
                spool: self.spool,
                domain: Domain {
                    first: smallest,
                    len,
                    degrees: self.degrees,
                    listed: self.listed_bits,
                    range,
                },
            }
        } else {
            let spool = self.spool.ok_or_else(|| {
                GraphError::Usage(
                    "ids are spread too widely to be counted in place; give --ids u64".to_owned(),
                )
            })?;
            let sample = self.sample.into_inner().expect("no holder panics");
            RawEnds::Numbers { spool, hints: NumberHints { listed: self.listed, range, sample } }
        };
        Ok(Ingested { ends, weights, edges })
    }
}

/// Appends a batch of any length.
fn append(spool: &Spool, pairs: &[[u64; 2]], weights: &[f64]) -> Result<()> {
    let mut bytes = Vec::with_capacity(16 + pairs.len().min(spool.block) * 8);
    for (at, part) in pairs.chunks(spool.block).enumerate() {
        let first = at * spool.block;
        let weights =
            if weights.is_empty() { weights } else { &weights[first..first + part.len()] };
        spool.append(part, weights, &mut bytes)?;
    }
    Ok(())
}
