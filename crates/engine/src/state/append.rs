//! [`Appender`]: an array that is written in order, one item after the other.

use outercore_storage::{Block, PAGE, Pod};

use super::{scratch::Scratch, vertex_array::VertexArray};
use crate::session::Session;
use outercore_graph::Result;

/// Items of an interval.
const INTERVAL: u64 = 1 << 16;

/// An array with an item for each vertex, on its way to memory or scratch.
pub struct Appender<T: Pod> {
    /// The items so far, in whole intervals.
    pub array: VertexArray<T>,
    block: Block<T>,
    /// Whole intervals that were written.
    written: usize,
    /// Items of the next one.
    filled: usize,
}

impl<T: Pod + Copy> Appender<T> {
    /// Bytes of memory for so many vertices, where they go to scratch.
    pub fn bytes(vertices: u64) -> u64 {
        Block::<T>::bytes(vertices.min(INTERVAL) as usize)
            + VertexArray::<T>::memory(vertices, vertices.div_ceil(INTERVAL))
    }

    /// Bytes of scratch, then.
    pub fn disk_bytes(vertices: u64) -> u64 {
        vertices * size_of::<T>() as u64 + vertices.div_ceil(INTERVAL) * PAGE as u64
    }

    /// An empty one, in memory or on scratch: where the plan has decided that values are.
    pub fn of(session: &Session) -> Result<Self> {
        let room = if session.decision.is_external() { 0 } else { u64::MAX };
        Self::new(&Scratch::of(session), session.graph.connected(), room)
    }

    /// An empty one, for so many vertices. As many of the first ones as `room` bytes hold stay in
    /// memory.
    pub(crate) fn new(scratch: &Scratch, vertices: u64, mut room: u64) -> Result<Self> {
        let steps = (0..vertices).step_by(INTERVAL as usize);
        let bounds: Vec<u64> = steps.chain([vertices]).collect();
        let array = VertexArray::create(scratch, bounds, &mut room)?;
        let block = Block::new(vertices.min(INTERVAL) as usize)?;
        Ok(Self { array, block, written: 0, filled: 0 })
    }

    /// Appends an item.
    pub fn push(&mut self, item: T) -> Result<()> {
        self.block.items(self.filled + 1)[self.filled] = item;
        self.filled += 1;
        if self.filled == self.array.items(self.written) {
            self.array.store(self.written, &mut self.block)?;
            (self.written, self.filled) = (self.written + 1, 0);
        }
        Ok(())
    }

    /// Shows all items, of which there is one for each vertex, in their order, interval by
    /// interval; then it is empty.
    pub fn drain(&mut self, mut visit: impl FnMut(u64, &[T])) -> Result<()> {
        for interval in 0..std::mem::take(&mut self.written) {
            let first = self.array.bounds()[interval];
            self.array.read(interval, &mut self.block, |items| visit(first, items))?;
        }
        Ok(())
    }
}
