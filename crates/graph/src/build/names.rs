//! Names on scratch: edges whose ends are strings, and listed vertices, in blocks as they came.
//!
//! A block: count of edges (u32), count of single vertices (u32), whether there are weights (u32),
//! then each name (u32 length, bytes), then the weights.

use std::{
    path::Path,
    sync::{
        Mutex,
        atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed},
    },
};

use outercore_storage::{Disk, Spill};

use super::{
    parallel,
    sample::{KEY_COST, Sample},
    spool::SpoolBlock,
};
use crate::{
    error::Result,
    input::{LONGEST_NAME, Names},
};

/// A block's name bytes are cut about here.
const BLOCK: usize = 1 << 20;
/// What a block may have beyond that: an edge whose names are the longest, and its header.
const MOST: usize = 2 * LONGEST_NAME + 64;

/// Bytes of a name that the sample keeps: names that agree in so many are in one range.
const SAMPLED: usize = 4 << 10;

/// Names on scratch.
pub struct NameSpool {
    spill: Spill,
    edges: AtomicU64,
    names: AtomicU64,
    bytes: AtomicU64,
    sample: Mutex<Sample<Vec<u8>>>,
}

/// A block read back.
pub struct NameBlock<'a> {
    /// Two names for each edge, then single vertices.
    pub names: Vec<&'a [u8]>,
    /// How many edges.
    pub edges: usize,
    /// One weight for each edge, or empty.
    pub weights: SpoolBlock,
}

impl NameSpool {
    /// An empty one.
    pub fn create(disk: &Disk, scratch: &Path) -> Result<Self> {
        Ok(Self {
            spill: Spill::create(disk, scratch, 1, BLOCK + MOST)?,
            edges: AtomicU64::new(0),
            names: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            sample: Mutex::default(),
        })
    }

    /// How many edges it holds.
    pub fn edges(&self) -> u64 {
        self.edges.load(Relaxed)
    }

    /// How many names it holds, repeats included.
    pub fn names(&self) -> u64 {
        self.names.load(Relaxed)
    }

    /// Bytes of all names, repeats included.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Relaxed)
    }

    /// The sample of names seen.
    pub fn take_sample(&self) -> Sample<Vec<u8>> {
        std::mem::take(&mut *self.sample.lock().expect("no holder panics"))
    }

    /// Appends edges.
    pub fn append_edges(&self, names: &Names, weights: &[f64]) -> Result<()> {
        self.append(names, 2, weights)?;
        self.edges.fetch_add(names.ends.len() as u64 / 2, Relaxed);
        Ok(())
    }

    /// Appends single vertices.
    pub fn append_vertices(&self, names: &Names) -> Result<()> {
        self.append(names, 1, &[])
    }

    fn append(&self, names: &Names, group: usize, weights: &[f64]) -> Result<()> {
        let name = |index: usize| {
            let start = if index == 0 { 0 } else { names.ends[index - 1] as usize };
            &names.bytes[start..names.ends[index] as usize]
        };
        self.names.fetch_add(names.ends.len() as u64, Relaxed);
        self.bytes.fetch_add(names.bytes.len() as u64, Relaxed);
        self.sample.lock().expect("no holder panics").see(names.ends.len(), |index| {
            let name = name(index);
            (name[..name.len().min(SAMPLED)].to_vec(), KEY_COST + name.len() as u64)
        });
        let count = names.ends.len() / group;
        let mut first = 0;
        let weight = if weights.is_empty() { 0 } else { size_of::<f64>() };
        let bytes = names.bytes.len() + names.len() * 4 + count * weight + 12;
        let mut block = Vec::with_capacity(bytes.min(BLOCK + MOST));
        while first < count {
            let mut end = first;
            block.clear();
            block.extend_from_slice(&[0; 12]);
            while end < count && block.len() + (end - first) * weight < BLOCK {
                for index in end * group..(end + 1) * group {
                    block.extend_from_slice(&(name(index).len() as u32).to_le_bytes());
                    block.extend_from_slice(name(index));
                }
                end += 1;
            }
            let at = if group == 2 { 0 } else { 4 };
            block[at..at + 4].copy_from_slice(&((end - first) as u32).to_le_bytes());
            if !weights.is_empty() {
                block[8] = 1;
                block.extend_from_slice(bytemuck::cast_slice(&weights[first..end]));
            }
            self.spill.append(0, &block)?;
            first = end;
        }
        Ok(())
    }

    /// Reads every block from `threads` threads; each has a state made by `state`.
    pub fn read<S>(
        &self,
        threads: usize,
        state: impl Fn() -> Result<S> + Sync,
        visit: impl Fn(&mut S, &NameBlock) -> Result<()> + Sync,
        finish: impl Fn(S) -> Result<()> + Sync,
    ) -> Result<()> {
        let extents = self.spill.extents(0);
        let next = AtomicUsize::new(0);
        parallel(threads, |_| {
            let mut state = state()?;
            let mut reader = self.spill.reader();
            while let Some(extent) = extents.get(next.fetch_add(1, Relaxed)) {
                let bytes = reader.read(*extent)?;
                visit(&mut state, &decode(bytes))?;
            }
            finish(state)
        })
    }
}

fn decode(bytes: &[u8]) -> NameBlock<'_> {
    let field =
        |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes")) as usize;
    let (edges, singles) = (field(0), field(4));
    let mut at = 12;
    let names = (0..edges * 2 + singles)
        .map(|_| {
            let len = field(at);
            at += 4 + len;
            &bytes[at - len..at]
        })
        .collect();
    let mut weights = SpoolBlock::default();
    if field(8) == 1 {
        weights.weights.extend(
            bytes[at..at + edges * 8]
                .chunks_exact(8)
                .map(|weight| f64::from_le_bytes(weight.try_into().expect("eight bytes"))),
        );
    }
    NameBlock { names, edges, weights }
}
