//! [`Workspace`]: a worker's arrays for the intervals at hand.

use outercore_storage::{HugePages, HugeVec};

use crate::{error::Result, monoid::Monoid, program::VertexProgram, state::Block};

/// A worker's arrays. Those of sums are for all intervals of a batch, side by side; the others for
/// one interval at a time.
pub(crate) struct Workspace<P: VertexProgram> {
    /// The totals of this iteration.
    pub total: HugeVec<P::Message>,
    /// Where the interval at hand begins among the sums.
    pub base: usize,
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
    pub(crate) fn new(widest: usize, two: bool, windows: bool, huge: HugePages) -> Result<Self> {
        let mut both = HugeVec::zeroed(if two { widest } else { 0 }, huge)?;
        both.fill([P::Message::IDENTITY; 2]);
        Ok(Self {
            total: HugeVec::zeroed(widest, huge)?,
            base: 0,
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

    /// The totals of the interval at hand, which has `len` vertices.
    pub(crate) fn total(&mut self, len: usize) -> &mut [P::Message] {
        &mut self.total[self.base..][..len]
    }
}
