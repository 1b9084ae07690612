//! [`GridPass`]: what a pass over the grid reads and in which order, where passes may serve two
//! rounds (GraphSD, ICPP'22, Algorithm 3).

use std::ops::Range;

use super::{ChunkSide, GridChunk, GridIndex};

/// Most intervals of a batch.
const MOST_TOGETHER: usize = 8;

/// What a pass reads and in which order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GridPass {
    /// Intervals in ascending order.
    pub up: bool,
    /// All sides are read; otherwise one was served by the pass before: the sources after an
    /// interval in an ascending pass, those before it in a descending one.
    pub whole: bool,
    /// Settled sources serve the next iteration too.
    pub ahead: bool,
}

impl GridPass {
    /// A pass that serves one iteration.
    pub const PLAIN: Self = Self { up: true, whole: true, ahead: false };

    /// The pass after this one. `more`: there is an iteration after the next one; `side`: whose
    /// chunks serve two iterations in every second pass.
    pub fn next(self, side: Option<ChunkSide>, more: bool) -> Self {
        let served = self.ahead;
        match side {
            // In a pass down everything before an interval was served already, and what is read
            // serves the pass after it.
            None => Self { up: !served || !self.up, whole: !served, ahead: more },
            Some(side) => {
                let up = served != (side == ChunkSide::Before);
                Self { up, whole: !served, ahead: !served && more }
            }
        }
    }

    /// Whether chunks of this side are read.
    pub fn reads(self, side: ChunkSide) -> bool {
        self.whole || side != if self.up { ChunkSide::After } else { ChunkSide::Before }
    }

    /// Whether chunks of this side serve the next iteration too.
    pub fn serves_next(self, side: ChunkSide) -> bool {
        self.ahead && side == if self.up { ChunkSide::Before } else { ChunkSide::After }
    }

    /// The place of an interval among those that are settled one after the other.
    pub fn position(self, interval: usize, intervals: usize) -> usize {
        if self.up { interval } else { intervals - 1 - interval }
    }

    /// Puts the chunks of a batch in order; with each comes how many intervals are closed before.
    /// Those that must wait for other intervals come last, the nearest of them at the very end.
    /// Within a side all go by their sources, whatever interval they lead to, so that the intervals
    /// of a batch find the same signals in a processor's cache.
    pub fn sort(self, chunks: &mut [(usize, GridChunk)]) {
        chunks.sort_by_key(|&(closed, ref chunk)| {
            let (side, first) = (chunk.side as usize, chunk.sources.0);
            let after = ChunkSide::After as usize - side;
            (closed, if self.up { (after, first) } else { (side, u64::MAX - first) })
        });
    }

    /// How many intervals must be settled before a chunk's turn.
    pub fn needs(self, chunk: &GridChunk, grid: &GridIndex) -> usize {
        let (first, last) = chunk.sources;
        let interval = grid.directory.interval_of(if self.up { last } else { first });
        if self.serves_next(chunk.side) { self.position(interval, grid.intervals()) + 1 } else { 0 }
    }

    /// The order in which `workers` take batches. Where none waits for another, those of many edges
    /// and those of many vertices go side by side: the device has more to do for the ones, the
    /// processors for the others.
    pub fn order(self, grid: &GridIndex, workers: usize) -> Vec<Range<usize>> {
        // Intervals of hubs have few sources before them: there is nothing to share.
        let far = self.whole || !self.up;
        let most = if far { (grid.intervals() / (8 * workers)).clamp(1, MOST_TOGETHER) } else { 1 };
        let mut batches = grid.directory.batches(most);
        if !self.up {
            batches.reverse();
        }
        if self.ahead { batches } else { grid.mixed(batches, |side| self.reads(side)) }
    }
}
