//! What is asked before the device is: lists, and chunks of the grid; and how often it had what was
//! asked for.

use std::{ops::Deref, sync::Arc};

use outercore_graph::format::{Group, List, RowIndex};
use outercore_storage::PageCacheUse;
use serde::Serialize;

use crate::SelectedReport;

/// Whose hits they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// Lists at the front of the rows.
    Front,
    /// Lists of selected vertices.
    Selected,
    /// Lists of the last iteration.
    Retained,
    /// Chunks that stay through all scans.
    Chunks,
    /// Chunks that stay from one pass to the next.
    SubBlocks,
}

/// Lists in memory, before the device. Several caches form a chain: the first one that holds a list
/// shows it, and what none holds is read.
pub trait ListCache: Sync {
    /// Of a group's vertices, those whose whole lists are here, as bits. Vertices without edges may
    /// be among them.
    fn held(&self, index: &RowIndex, group: Group) -> u64;

    /// Shows lists that are held to a worker; returns the hits.
    fn show(
        &self,
        index: &RowIndex,
        group: Group,
        worker: usize,
        visit: &mut dyn FnMut(u64, List),
    ) -> u64;

    /// Whose hits these are.
    fn kept(&self) -> Kept;

    /// Whether it takes lists that were read.
    fn takes_lists(&self) -> bool {
        false
    }

    /// Offers the whole list of a vertex, which a worker has read.
    fn offer(&self, _worker: usize, _vertex: u64, _list: List) {}
}

/// Chunks in memory, before the device.
pub trait ChunkCache: Send + Sync {
    /// Whose hits these are.
    fn kept(&self) -> Kept;
    /// The words of a chunk, if they are here. They may be followed by others.
    fn get(&self, chunk: usize) -> Option<Held>;
    /// Bytes that are not in use.
    fn spare(&self) -> u64 {
        0
    }
    /// Bytes and requests that it takes to read so many bytes of a chunk, pass after pass: none
    /// where it is here, or if these are the `whole` of it will be after one of them, since there
    /// is room beside the `absent` bytes that were asked for before.
    fn reads(&self, (chunk, whole): (usize, bool), bytes: u64, absent: &mut u64) -> [u64; 2] {
        if self.get(chunk).is_some() {
            return [0; 2];
        }
        *absent += if whole { bytes } else { 0 };
        if whole && *absent <= self.spare() { [0; 2] } else { [bytes, 1] }
    }
    /// Offers the words of a chunk that was just shown; `priority` is what it is worth to have it
    /// in memory in the next pass.
    fn offer(&self, chunk: usize, priority: u64, words: &[u8]);
}

/// Words in memory, which are freed with the last handle.
pub type Held = Arc<dyn Deref<Target = [u8]> + Send + Sync>;

/// Cache hits, in pages or blocks.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct CacheReport {
    /// Pages of rows served from memory.
    pub page_hits: u64,
    /// Lists served from the static cache.
    pub static_hits: u64,
    /// Lists served from those that the last iteration has read (GraphSD's SCIU).
    pub retained_hits: u64,
    /// Grid chunks served from memory where they stay.
    pub pinned_hits: u64,
    /// Grid chunks served from the sub-block buffer (GraphSD).
    pub sub_block_hits: u64,
    /// What became of blocks of lists, with a page cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pages: Option<PageCacheUse>,
    /// What a static cache was loaded with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selected: Option<SelectedReport>,
}
