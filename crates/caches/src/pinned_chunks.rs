//! [`PinnedChunks`]: chunks of the grid that stay in memory after their first reading. They are
//! spread evenly over a scan, so that reading and computing overlap all along.

use std::sync::{Arc, OnceLock};

use outercore_graph::Result;
use outercore_storage::{Arena, Buffer, HugePages, PAGE};

use crate::{ChunkCache, Held, Kept};

/// Where a chunk lies in the arena, if it stays, and its words once they were read.
type Place = Option<(u64, OnceLock<Arc<Buffer>>)>;

/// Chunks in memory, each from its first reading on.
pub struct PinnedChunks {
    chunks: Vec<Place>,
    arena: Arc<Arena>,
    /// Whose hits these are.
    kept: Kept,
}

impl PinnedChunks {
    /// Chooses what stays of all chunks, at most `bytes` with a place for each: of one group after
    /// the other an even share of every stretch of a scan. A group gives number and padded bytes
    /// of each of its chunks in the order of the scan. `None`: nothing stays.
    pub fn choose(
        groups: &[Vec<(usize, u64)>],
        bytes: u64,
        huge: HugePages,
    ) -> Result<Option<Self>> {
        let mut chunks: Vec<Place> = groups.iter().flatten().map(|_| None).collect();
        let bytes = bytes.saturating_sub(size_of_val(chunks.as_slice()) as u64);
        let mut used = 0;
        for group in groups {
            let (before, mut seen) = (used, 0);
            let total: u64 = group.iter().map(|&(_, len)| len).sum();
            let share = ((bytes - used) as f64 / total as f64).min(1.0);
            for &(chunk, len) in group {
                seen += len;
                let most = before as f64 + seen as f64 * share + len as f64 * 0.5;
                if used + len <= bytes && (used + len) as f64 <= most {
                    chunks[chunk] = Some((used, OnceLock::new()));
                    used += len;
                }
            }
        }
        if used == 0 {
            return Ok(None);
        }
        let arena = Arena::new(used as usize, huge)?;
        Ok(Some(Self { chunks, arena, kept: Kept::Chunks }))
    }

    /// The same in the place of a sub-block buffer.
    pub fn of_passes(self) -> Self {
        Self { kept: Kept::SubBlocks, ..self }
    }

    /// Whether a chunk stays once it was read.
    pub fn has(&self, chunk: usize) -> bool {
        self.chunks[chunk].is_some()
    }
}

impl ChunkCache for PinnedChunks {
    fn kept(&self) -> Kept {
        self.kept
    }

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
