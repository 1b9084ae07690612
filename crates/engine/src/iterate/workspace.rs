//! [`Workspace`]: a worker's arrays for the intervals at hand.

use outercore_storage::{HugePages, HugeVec};

use crate::{error::Result, monoid::Monoid, program::VertexProgram, state::Block};

/// A worker's arrays. Those of sums are for all intervals of a batch, side by side; the others for
/// one interval at a time.
pub(crate) struct Workspace<P: VertexProgram> {
    /// The totals of this iteration.
    total: HugeVec<P::Message>,
    /// Where the interval at hand begins among the sums.
    pub base: usize,
    /// The sums along edges that serve two iterations: each adds to both at one place. None from
    /// one batch to the next.
    both: HugeVec<[P::Message; 2]>,
    /// Messages on their way from or to scratch.
    partial: Block<P::Message>,
    /// Values, where they are not in memory.
    pub values: Block<P::Value>,
    /// Degrees of the interval at hand.
    pub degrees: Block<u32>,
    /// Signals that the interval at hand makes.
    pub signals: Block<P::Signal>,
}

/// The sums of the interval at hand.
pub(crate) struct Sums<'w, P: VertexProgram> {
    /// The totals of this iteration, and those of the intervals behind it.
    pub total: &'w mut [P::Message],
    /// The sums along edges that serve two iterations.
    pub both: &'w mut [[P::Message; 2]],
    /// Messages on their way from or to scratch.
    pub partial: &'w mut Block<P::Message>,
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
        2 * Block::<P::Message>::bytes(widest)
            + Block::<P::Value>::bytes(widest)
            + Block::<u32>::bytes(widest)
            + Block::<P::Signal>::bytes(widest)
    }

    /// Bytes of memory that passes which serve two iterations take beside that.
    pub(crate) fn two_bytes(widest: usize) -> u64 {
        2 * Block::<P::Message>::bytes(widest)
    }

    /// The sums of the interval at hand.
    pub(crate) fn sums(&mut self) -> Sums<'_, P> {
        let both = self.base.min(self.both.len());
        Sums {
            total: &mut self.total[self.base..],
            both: &mut self.both[both..],
            partial: &mut self.partial,
        }
    }

    /// The totals of the interval at hand, which has `len` vertices, with no message yet.
    pub(crate) fn empty_total(&mut self, len: usize) -> &mut [P::Message] {
        let total = &mut self.total[self.base..][..len];
        total.fill(P::Message::IDENTITY);
        total
    }

    /// The totals of an interval of `len` vertices, its degrees, memory for its values, and memory
    /// for its signals.
    #[allow(clippy::type_complexity)]
    pub(crate) fn columns(
        &mut self,
        len: usize,
    ) -> (&[P::Message], &[u32], &mut Block<P::Value>, &mut [P::Signal]) {
        (
            &self.total[self.base..][..len],
            self.degrees.items(len),
            &mut self.values,
            self.signals.items(len),
        )
    }
}
