//! The spool: edges on scratch, in the order in which they came, read back by several threads at
//! once.
//!
//! A block is a header of 16 bytes (count, whether ids take 8 bytes), the pairs, then the weights
//! (f64) if there are any.

use std::{
    path::Path,
    sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed},
};

use outercore_storage::{Disk, Spill};

use super::smallest::Division;
use crate::error::Result;

/// Most edges in a block, in ample budgets.
const BLOCK_EDGES: usize = 1 << 16;
const HEADER: usize = 16;

/// Edges on scratch.
pub struct Spool {
    spill: Spill,
    /// Most edges in a block.
    pub block: usize,
    edges: AtomicU64,
}

/// Edges read back; ids are raw or ranks, as they were appended.
#[derive(Default)]
pub struct SpoolBlock {
    /// Source and target of each edge.
    pub pairs: Vec<[u64; 2]>,
    /// One weight for each edge, or empty.
    pub weights: Vec<f64>,
}

/// A place to which one thread gathers edges until a block is full.
pub struct SpoolWriter<'a> {
    spool: &'a Spool,
    block: SpoolBlock,
    bytes: Vec<u8>,
}

impl Spool {
    /// An empty spool in the folder `scratch`, for a build with this budget.
    pub fn create(disk: &Disk, scratch: &Path, budget: Division) -> Result<Self> {
        let block = budget.buffer(BLOCK_EDGES);
        let spill = Spill::create(disk, scratch, 1, HEADER + block * 24)?;
        Ok(Self { spill, block, edges: AtomicU64::new(0) })
    }

    /// How many edges it holds.
    pub fn edges(&self) -> u64 {
        self.edges.load(Relaxed)
    }

    /// Appends at most a block of edges; `scratch` is working memory.
    pub fn append(&self, pairs: &[[u64; 2]], weights: &[f64], scratch: &mut Vec<u8>) -> Result<()> {
        if pairs.is_empty() {
            return Ok(());
        }
        let wide = pairs.iter().any(|pair| (pair[0] | pair[1]) >> 32 != 0);
        scratch.clear();
        scratch.extend_from_slice(&(pairs.len() as u32).to_le_bytes());
        scratch.extend_from_slice(&u32::from(wide).to_le_bytes());
        scratch.extend_from_slice(&(u32::from(!weights.is_empty())).to_le_bytes());
        scratch.extend_from_slice(&[0; 4]);
        if wide {
            scratch.extend_from_slice(bytemuck::cast_slice(pairs));
        } else {
            scratch.extend(pairs.iter().flat_map(|pair| (pair[0] | pair[1] << 32).to_le_bytes()));
        }
        scratch.extend_from_slice(bytemuck::cast_slice(weights));
        self.edges.fetch_add(pairs.len() as u64, Relaxed);
        Ok(self.spill.append(0, scratch)?)
    }

    /// A writer for one thread.
    pub fn writer(&self) -> SpoolWriter<'_> {
        SpoolWriter { spool: self, block: SpoolBlock::default(), bytes: Vec::new() }
    }

    /// Reads every block, from `threads` threads, in no particular order. Each thread has a state
    /// of its own, made by `state`.
    pub fn read<S>(
        &self,
        threads: usize,
        state: impl Fn() -> Result<S> + Sync,
        visit: impl Fn(&mut S, &SpoolBlock) -> Result<()> + Sync,
        finish: impl Fn(S) -> Result<()> + Sync,
    ) -> Result<()> {
        let extents = self.spill.extents(0);
        let next = AtomicUsize::new(0);
        super::parallel(threads, |_| {
            let mut state = state()?;
            let (mut reader, mut block) = (self.spill.reader(), SpoolBlock::default());
            while let Some(extent) = extents.get(next.fetch_add(1, Relaxed)) {
                let bytes = reader.read(*extent)?;
                block.decode(bytes);
                visit(&mut state, &block)?;
            }
            finish(state)
        })
    }
}

impl SpoolWriter<'_> {
    /// Adds an edge.
    pub fn push(&mut self, pair: [u64; 2], weight: Option<f64>) -> Result<()> {
        self.block.pairs.push(pair);
        self.block.weights.extend(weight);
        if self.block.pairs.len() == self.spool.block { self.flush() } else { Ok(()) }
    }

    /// Hands over what is gathered.
    pub fn flush(&mut self) -> Result<()> {
        self.spool.append(&self.block.pairs, &self.block.weights, &mut self.bytes)?;
        self.block.pairs.clear();
        self.block.weights.clear();
        Ok(())
    }
}

impl SpoolBlock {
    fn decode(&mut self, bytes: &[u8]) {
        let field = |at: usize| {
            u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes")) as usize
        };
        let (count, wide, weighted) = (field(0), field(4) == 1, field(8) == 1);
        let width = if wide { 16 } else { 8 };
        let (pairs, rest) = bytes[HEADER..].split_at(count * width);
        self.pairs.clear();
        self.weights.clear();
        if wide {
            self.pairs.extend(
                pairs.chunks_exact(16).map(|pair| [number(&pair[..8]), number(&pair[8..])]),
            );
        } else {
            self.pairs.extend(pairs.chunks_exact(8).map(|pair| {
                let both = number(pair);
                [both & 0xffff_ffff, both >> 32]
            }));
        }
        if weighted {
            self.weights.extend(
                rest[..count * 8].chunks_exact(8).map(|weight| f64::from_bits(number(weight))),
            );
        }
    }

    /// The weight of edge `index`.
    pub fn weight(&self, index: usize) -> Option<f64> {
        self.weights.get(index).copied()
    }
}

#[inline(always)]
fn number(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes.try_into().expect("eight bytes"))
}
