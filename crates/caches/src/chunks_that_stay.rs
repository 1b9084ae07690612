//! Which chunks of the grid stay in memory from one pass to the next.

use outercore_graph::{
    Result,
    format::{CHUNK_BYTES, GridChunk, GridIndex},
};
use outercore_storage::{HugePages, PriorityBuffer};

use crate::{ChunkCache, PinnedChunks, SubBlockBuffer, SubBlocks};

/// Chunks that stay, of so many bytes; the same ones always where each pass reads them all.
pub fn chunks_that_stay(
    index: &GridIndex,
    (which, huge): (SubBlocks, HugePages),
    (bytes, each_reads): (u64, bool),
) -> Result<Option<Box<dyn ChunkCache>>> {
    if each_reads && which == SubBlocks::On {
        let side = |near| {
            let wanted = |chunk: &GridChunk| index.is_served(chunk) != near;
            let chunks = (0..index.intervals()).flat_map(|interval| index.chunks(interval, wanted));
            chunks.map(|chunk| (chunk.number, index.read(chunk))).collect()
        };
        let kept = PinnedChunks::choose(&[side(true), side(false)], bytes, huge)?;
        return Ok(kept.map(PinnedChunks::of_passes).map(boxed));
    }
    // Copies of chunks are blocks of the heap, with what goes with that.
    let room = bytes / 4 * 3;
    Ok((room >= 2 * CHUNK_BYTES).then(|| boxed(SubBlockBuffer(PriorityBuffer::new(room)))))
}

fn boxed(cache: impl ChunkCache + 'static) -> Box<dyn ChunkCache> {
    Box::new(cache)
}
