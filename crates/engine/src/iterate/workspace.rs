//! [`Workspace`]: a worker's arrays for the intervals at hand.

use std::ops::Range;

use outercore_storage::{HugePages, HugeVec};

use crate::{error::Result, monoid::Monoid, program::VertexProgram, state::Block};

/// A worker's arrays. Those of sums are for all intervals of a batch, side by side; the others for
/// one interval at a time.
pub(crate) struct Workspace<P: VertexProgram> {
    /// The worker's number.
    pub worker: usize,
    /// The interval at hand.
    pub interval: usize,
    /// Its first vertex.
    pub first: u64,
    /// How many vertices it has.
    pub len: usize,
    /// Where it begins among the sums.
    pub base: usize,
    /// The totals of this iteration.
    pub total: HugeVec<P::Message>,
    /// The sums along edges that serve two iterations: each adds to both at one place. None from
    /// one batch to the next.
    pub both: HugeVec<[P::Message; 2]>,
    /// Messages on their way from or to scratch.
    pub partial: Block<P::Message>,
    /// Values, where they are not in memory.
    pub values: Block<P::Value>,
    /// Degrees of the interval at hand.
    pub degrees: Block<u32>,
    /// Signals that the interval at hand makes.
    pub signals: Block<P::Signal>,
}

impl<P: VertexProgram> Workspace<P> {
    /// Arrays for intervals of at most `widest` vertices, alone or together; with `two`, for passes
    /// that serve two iterations; with `windows`, for several windows of signals.
    pub(crate) fn new(
        worker: usize,
        widest: usize,
        (two, windows): (bool, bool),
        huge: HugePages,
    ) -> Result<Self> {
        let mut both = HugeVec::zeroed(if two { widest } else { 0 }, huge)?;
        both.fill([P::Message::IDENTITY; 2]);
        Ok(Self {
            worker,
            interval: 0,
            first: 0,
            len: 0,
            base: 0,
            total: HugeVec::zeroed(widest, huge)?,
            both,
            partial: Block::new(if two || windows { widest } else { 0 })?,
            values: Block::new(widest)?,
            degrees: Block::new(widest)?,
            signals: Block::new(widest)?,
        })
    }

    /// Bytes of memory, whatever the windows.
    pub(crate) fn bytes(widest: usize) -> u64 {
        Self::two_bytes(widest)
            + Block::<P::Value>::bytes(widest)
            + Block::<u32>::bytes(widest)
            + Block::<P::Signal>::bytes(widest)
    }

    /// Bytes of memory that passes which serve two iterations take beside that.
    pub(crate) fn two_bytes(widest: usize) -> u64 {
        2 * Block::<P::Message>::bytes(widest)
    }

    /// Turns to an interval with these vertices, which begins at `base` among the sums.
    pub(crate) fn turn_to(&mut self, interval: usize, vertices: &Range<u64>, base: u64) {
        (self.interval, self.first, self.base) = (interval, vertices.start, base as usize);
        self.len = (vertices.end - vertices.start) as usize;
    }

    /// The vertices of the interval at hand.
    pub(crate) fn vertices(&self) -> Range<u64> {
        self.first..self.first + self.len as u64
    }

    /// The totals of the interval at hand.
    pub(crate) fn total(&mut self) -> &mut [P::Message] {
        &mut self.total[self.base..][..self.len]
    }
}
