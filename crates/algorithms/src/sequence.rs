//! [`Sequence`]: an array on scratch that is written in order, one item after the other.

use outercore_engine::{
    Pod, Result,
    external::{
        array::{Block, DiskArray},
        stored::Stored,
    },
    session::Session,
};

/// Items of a block.
const BLOCK: u64 = 1 << 16;

/// An array with an item for each connected vertex, in blocks on scratch.
pub struct Sequence<'s, T: Pod> {
    session: &'s Session<'s>,
    array: DiskArray<T>,
    bounds: Vec<u64>,
    block: Block<T>,
    /// Whole blocks that were written.
    written: usize,
    /// Items of the next one.
    filled: usize,
}

impl<'s, T: Pod + Copy> Sequence<'s, T> {
    /// Bytes of memory, for so many vertices.
    pub fn bytes(vertices: u64) -> u64 {
        Block::<T>::bytes(vertices.min(BLOCK) as usize)
            + DiskArray::<T>::memory(vertices, vertices.div_ceil(BLOCK))
    }

    /// Bytes of scratch, likewise.
    pub fn disk_bytes(vertices: u64) -> u64 {
        DiskArray::<T>::disk_bytes(vertices, vertices.div_ceil(BLOCK))
    }

    /// An empty one, beside the graph.
    pub fn new(session: &'s Session<'s>) -> Result<Self> {
        let graph = session.graph;
        let vertices = graph.connected();
        let mut bounds: Vec<u64> = (0..vertices).step_by(BLOCK as usize).collect();
        bounds.push(vertices);
        let array = DiskArray::create(session.disk(), &graph.scratch_folder(), &bounds)?;
        Ok(Self {
            session,
            array,
            bounds,
            block: Block::new(vertices.min(BLOCK) as usize)?,
            written: 0,
            filled: 0,
        })
    }

    fn len(&self, block: usize) -> usize {
        (self.bounds[block + 1] - self.bounds[block]) as usize
    }

    /// Appends an item.
    pub fn push(&mut self, item: T) -> Result<()> {
        self.block.all()[self.filled] = item;
        self.filled += 1;
        let len = self.len(self.written);
        if self.filled == len {
            self.array.store(&self.session.counters, self.written, len, &mut self.block)?;
            (self.written, self.filled) = (self.written + 1, 0);
        }
        Ok(())
    }

    /// Shows all items, of which there is one for each vertex, in their order, block by block; then
    /// it is empty.
    pub fn drain(&mut self, mut visit: impl FnMut(u64, &[T])) -> Result<()> {
        for index in 0..std::mem::take(&mut self.written) {
            let len = self.len(index);
            self.array.load(&self.session.counters, index, len, &mut self.block)?;
            visit(self.bounds[index], self.block.items(len));
        }
        Ok(())
    }

    /// The items, of which there is one for each vertex, as results.
    pub fn into_stored(self) -> Result<Stored<T>> {
        Stored::new(self.array, self.bounds)
    }
}
