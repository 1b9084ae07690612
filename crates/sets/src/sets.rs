//! Sets of smaller neighbors, as blocks of bits: a [`Set`] of one vertex, and a [`SetWindow`] of
//! those of consecutive vertices.
//!
//! A set is kept as the words of a bitmap that are not zero, with their numbers (as in Han, Zou and
//! Yu, SIGMOD 2018): in the order of degrees neighbors crowd at the front, so that one AND of two
//! words finds many common ones.
//!
//! ```text
//! neighbors   1 5 63    130 131
//! words       0         2
//! bits        1 5 63    2 3
//! ```

use outercore_graph::Result;
use std::{
    ops::Range,
    sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed},
};

use outercore_engine::{Batch, HugePages, HugeVec};
use outercore_storage::bitmap::members;

/// How many middle vertices ahead the place of a set is asked for.
const FAR: usize = 8;
/// How many middle vertices ahead a set is asked for.
const NEAR: usize = 3;

/// A vertex's smaller neighbors, each once: as numbers and as blocks.
pub struct Set {
    /// The neighbors, ascending.
    pub ids: Vec<u32>,
    incoming: Vec<u32>,
    /// The blocks, their words ascending.
    pub blocks: Vec<Block>,
}

/// A word of a bitmap that is not zero.
#[derive(Clone, Copy)]
pub struct Block {
    /// Its number.
    pub word: u32,
    /// The neighbors.
    pub bits: u64,
    /// Those to which edges lead both ways.
    pub both: u64,
}

impl Set {
    /// Bytes for a vertex with so many edges, at the most.
    pub fn bytes(edges: u64) -> u64 {
        edges * 32
    }

    /// An empty set; its memory is that of a vertex with so many edges, from the start.
    pub fn new(edges: u64) -> Self {
        let ids = || Vec::with_capacity(edges as usize);
        Self { ids: ids(), incoming: ids(), blocks: Vec::with_capacity(edges as usize) }
    }

    /// How many blocks the set of `vertex` in a batch has.
    pub fn count(&mut self, batch: &[Batch], vertex: u64) -> usize {
        if let [only] = batch {
            let (mut blocks, mut last) = (0, None);
            let is_next = |id: u32| {
                let before = last.replace(id);
                blocks += usize::from(before.is_none_or(|before| before >> 6 != id >> 6));
                before.is_none_or(|before| before <= id)
            };
            if only.neighbors(vertex).all(is_next) {
                return blocks;
            }
        }
        self.collect(batch, vertex);
        self.blocks.len()
    }

    /// Takes the set of a vertex of the window.
    pub fn take(&mut self, window: &SetWindow, vertex: u64) {
        self.ids.clear();
        self.blocks.clear();
        for at in window.blocks(vertex as u32) {
            let (word, bits) = (window.words[at].load(Relaxed), window.bits[at].load(Relaxed));
            let both = window.both.get(at).map_or(0, |both| both.load(Relaxed));
            self.ids.extend(members(word.into(), bits).map(|id| id as u32));
            self.blocks.push(Block { word, bits, both });
        }
    }

    /// Takes the set of `vertex` from a batch.
    pub fn collect(&mut self, batch: &[Batch], vertex: u64) {
        let Self { ids, incoming, blocks } = self;
        ascending(ids, &batch[0], vertex);
        if let Some(batch) = batch.get(1) {
            ascending(incoming, batch, vertex);
            ids.extend_from_slice(incoming);
            ids.sort_unstable();
        }
        blocks.clear();
        // An id that comes twice is in both lists.
        for same in ids.chunk_by(|a, b| a == b) {
            let (word, bit) = (same[0] >> 6, 1 << (same[0] & 63));
            let both = if same.len() > 1 { bit } else { 0 };
            match blocks.last_mut() {
                Some(block) if block.word == word => {
                    block.bits |= bit;
                    block.both |= both;
                }
                _ => blocks.push(Block { word, bits: bit, both }),
            }
        }
        if batch.len() > 1 {
            ids.dedup();
        }
    }

    /// Blocks at the front whose words are before this one.
    pub fn low(&self, word: usize) -> usize {
        self.blocks.partition_point(|block| (block.word as usize) < word)
    }
}

/// A list of a batch, sorted, without repetitions.
fn ascending(ids: &mut Vec<u32>, batch: &Batch, vertex: u64) {
    ids.clear();
    ids.extend(batch.neighbors(vertex));
    if !ids.is_sorted() {
        ids.sort_unstable();
    }
    ids.dedup();
}

/// The sets of consecutive vertices, in memory.
pub struct SetWindow {
    /// The first vertex.
    pub first: u64,
    /// How many vertices there are.
    pub len: usize,
    /// Where each set begins; one more than there are vertices.
    starts: HugeVec<u32>,
    /// As in a [`Block`], set after set.
    pub words: HugeVec<AtomicU32>,
    /// Likewise.
    pub bits: HugeVec<AtomicU64>,
    /// Likewise; empty where it does not matter.
    pub both: HugeVec<AtomicU64>,
}

impl SetWindow {
    /// Bytes of a block, and of its share of half as many vertices.
    pub fn block_bytes(reciprocal: bool) -> u64 {
        if reciprocal { 22 } else { 14 }
    }

    /// An empty window for so many blocks, and half as many vertices.
    pub fn new(blocks: u64, reciprocal: bool, huge: HugePages) -> Result<Self> {
        let blocks = blocks as usize;
        Ok(Self {
            first: 0,
            len: 0,
            starts: HugeVec::zeroed(blocks / 2 + 1, huge)?,
            words: HugeVec::zeroed(blocks, huge)?,
            bits: HugeVec::zeroed(blocks, huge)?,
            both: HugeVec::zeroed(usize::from(reciprocal) * blocks, huge)?,
        })
    }

    /// Lays out further vertices with so many blocks each; `false`, and nothing done, where they do
    /// not fit.
    pub fn extend(&mut self, blocks: &[AtomicU32]) -> bool {
        let mut len = self.len;
        if len + blocks.len() >= self.starts.len() {
            return false;
        }
        for count in blocks {
            let end = self.starts[len] as usize + count.load(Relaxed) as usize;
            if end > self.words.len() {
                return false;
            }
            len += 1;
            self.starts[len] = end as u32;
        }
        self.len = len;
        true
    }

    /// The vertex after the last one.
    pub fn end(&self) -> u64 {
        self.first + self.len as u64
    }

    /// The blocks of a vertex of the window.
    #[inline(always)]
    pub fn blocks(&self, vertex: u32) -> Range<usize> {
        let at = (u64::from(vertex) - self.first) as usize;
        self.starts[at] as usize..self.starts[at + 1] as usize
    }

    /// Asks for what is needed of the vertices that come soon: sets lie anywhere in memory, and
    /// most are short, so that nearly all the time would go into waiting for their first block.
    #[inline(always)]
    pub fn ask_ahead(&self, coming: &[u32]) {
        if let Some(&far) = coming.get(FAR) {
            prefetch(&self.starts, (u64::from(far) - self.first) as usize);
        }
        if let Some(&near) = coming.get(NEAR) {
            let blocks = self.blocks(near);
            // 16 words, or 8 words of bits, are in a line of the cache.
            prefetch(&self.words, blocks.start);
            prefetch(&self.bits, blocks.start);
            if blocks.len() > 8 {
                prefetch(&self.bits, blocks.start + 8);
            }
            if blocks.len() > 16 {
                prefetch(&self.words, blocks.start + 16);
                prefetch(&self.bits, blocks.start + 16);
            }
        }
    }

    /// Puts the set of a vertex where [`SetWindow::extend`] made room for it.
    pub fn put(&self, vertex: u64, set: &Set) {
        for (at, block) in self.blocks(vertex as u32).zip(&set.blocks) {
            self.words[at].store(block.word, Relaxed);
            self.bits[at].store(block.bits, Relaxed);
            if let Some(both) = self.both.get(at) {
                both.store(block.both, Relaxed);
            }
        }
    }
}

/// Asks the processor to bring an item into its cache, if there is such an item.
#[inline(always)]
fn prefetch<T>(items: &[T], at: usize) {
    outercore_engine::prefetch(items.as_ptr().wrapping_add(at));
}
