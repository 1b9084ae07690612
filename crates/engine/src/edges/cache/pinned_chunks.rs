//! [`PinnedChunks`]: chunks of the grid that stay in memory after their first reading. They are
//! spread evenly over a scan, so that reading and computing overlap all along.

use std::sync::{Arc, OnceLock};

use outercore_storage::{Arena, Buffer, HugePages, PAGE};

use crate::edges::grid::chunk_stream::{ChunkCache, Held};
use outercore_graph::Result;

/// Chunks in memory, each from its first reading on.
pub struct PinnedChunks {
    /// Where a chunk lies in the arena, if it stays, and its words once they were read.
    chunks: Vec<Option<(u64, OnceLock<Arc<Buffer>>)>>,
    arena: Arc<Arena>,
}

impl PinnedChunks {
    /// Chooses what stays of `count` chunks, at most `bytes`: an even share of every stretch of a
    /// scan. `sizes` gives number and padded bytes of each chunk in the order of the scan. `None`:
    /// nothing stays.
    pub(crate) fn choose(
        sizes: impl Iterator<Item = (usize, u64)> + Clone,
        count: usize,
        bytes: u64,
        huge: HugePages,
    ) -> Result<Option<Self>> {
        let total: u64 = sizes.clone().map(|(_, len)| len).sum();
        let share = (bytes as f64 / total as f64).min(1.0);
        let (mut seen, mut used) = (0, 0);
        let mut chunks: Vec<_> = (0..count).map(|_| None).collect();
        for (chunk, len) in sizes {
            seen += len;
            if used + len <= bytes && (used + len) as f64 <= seen as f64 * share + len as f64 * 0.5
            {
                chunks[chunk] = Some((used, OnceLock::new()));
                used += len;
            }
        }
        if used == 0 {
            return Ok(None);
        }
        Ok(Some(Self { chunks, arena: Arena::new(used as usize, huge)? }))
    }

    /// Whether a chunk stays once it was read.
    pub(crate) fn has(&self, chunk: usize) -> bool {
        self.chunks[chunk].is_some()
    }
}

impl ChunkCache for PinnedChunks {
    fn get(&self, chunk: usize) -> Option<Held> {
        let (_, buffer) = self.chunks[chunk].as_ref()?;
        buffer.get().map(|buffer| buffer.clone() as Held)
    }

    fn offer(&self, chunk: usize, _: u64, words: &[u8]) {
        if let Some((place, buffer)) = &self.chunks[chunk] {
            // Copied, not read into: the device is fast into the buffers, whose memory is there, in
            // huge pages, and known to it.
            buffer.get_or_init(|| {
                let mut kept =
                    self.arena.buffer(*place as usize, words.len().next_multiple_of(PAGE));
                kept[..words.len()].copy_from_slice(words);
                Arc::new(kept)
            });
        }
    }
}
