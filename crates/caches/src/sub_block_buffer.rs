//! [`SubBlockBuffer`]: chunks of the grid that stay in memory from one pass to the next, those with
//! the most active edges (GraphSD, ICPP'22, section 4.3). Memory: what it is given.

use outercore_storage::PriorityBuffer;

use crate::{ChunkCache, Held, Kept};

/// Chunks in memory.
pub struct SubBlockBuffer(pub PriorityBuffer);

impl ChunkCache for SubBlockBuffer {
    fn kept(&self) -> Kept {
        Kept::SubBlocks
    }

    fn get(&self, chunk: usize) -> Option<Held> {
        self.0.get(chunk).map(|words| words as Held)
    }

    fn offer(&self, chunk: usize, priority: u64, words: &[u8]) {
        self.0.offer(chunk, priority, words);
    }
}
