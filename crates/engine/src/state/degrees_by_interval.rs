//! [`DegreesByInterval`]: degrees on scratch, or in memory where there is room, each interval's in
//! as few bytes as its largest takes: vertices are ordered by degree, so most intervals need one.

use std::sync::{
    Arc,
    atomic::{AtomicU8, Ordering::Relaxed},
};

use outercore_graph::{Graph, Result, format::Degrees};
use outercore_storage::{Block, PAGE, backend::IoBackend, packing};

use super::{scratch::Scratch, vertex_array::VertexArray};

/// The degrees of all vertices, by interval.
pub(crate) struct DegreesByInterval {
    array: VertexArray<u32>,
    /// Bytes of a degree, by interval.
    widths: Vec<AtomicU8>,
}

impl DegreesByInterval {
    /// Interval `i` has the vertices `bounds[i]..bounds[i + 1]`. It must be stored before it is
    /// loaded. With `in_memory`, nothing goes to scratch.
    pub(crate) fn create(scratch: &Scratch, bounds: &Arc<[u64]>, in_memory: bool) -> Result<Self> {
        let widths = (1..bounds.len()).map(|_| AtomicU8::new(0)).collect();
        // What an interval's degrees do not take of its place is never touched, and costs nothing.
        let mut room = if in_memory { u64::MAX } else { 0 };
        Ok(Self { array: VertexArray::create(scratch, Arc::clone(bounds), &mut room)?, widths })
    }

    /// Bytes of memory for all of a graph's degrees.
    pub(crate) fn memory(graph: &Graph, intervals: usize) -> Result<u64> {
        let padding = (intervals * 2 * PAGE) as u64;
        Ok((Degrees::narrow_bytes(graph)? + padding).min(graph.connected() * 4))
    }

    /// Writes the degrees of an interval; `block` has them before and after.
    pub(crate) fn store(&self, interval: usize, block: &mut Block<u32>) -> Result<()> {
        let len = self.array.items(interval);
        let width = match block.items(len).iter().max() {
            Some(0..=0xff) | None => 1,
            Some(0x100..=0xffff) => 2,
            _ => 4,
        };
        self.widths[interval].store(width as u8, Relaxed);
        let [pack, unpack] = packing(width);
        pack(block.items(len));
        self.array.store_front(interval, (len * width).div_ceil(4), block)?;
        unpack(block.items(len));
        Ok(())
    }

    /// Reads the degrees of an interval.
    pub(crate) fn load(&self, interval: usize, block: &mut Block<u32>) -> Result<()> {
        let (len, width, front) = self.stored(interval);
        self.array.load_front(interval, front, block)?;
        packing(width)[1](block.items(len));
        Ok(())
    }

    /// Asks for the degrees of an interval, as [`VertexArray::ask`] does.
    pub(crate) fn ask(&self, interval: usize, block: &mut Block<u32>, io: IoBackend) -> Result<()> {
        self.array.ask((interval, self.stored(interval).2), block, io)
    }

    /// How many degrees an interval has, the bytes of one, and how many items they all take.
    fn stored(&self, interval: usize) -> (usize, usize, usize) {
        let len = self.array.items(interval);
        let width = self.widths[interval].load(Relaxed) as usize;
        (len, width, (len * width).div_ceil(4))
    }
}

#[cfg(test)]
mod tests {
    use outercore_storage::Disk;

    use super::*;

    #[test]
    fn small_degrees_take_fewer_bytes_and_come_back() {
        let (folder, disk) = (tempfile::tempdir().unwrap(), Disk::new());
        let scratch = Scratch::new(&disk, folder.path().into(), Arc::default());
        let written_so_far = || disk.counters().bytes_written.load(Relaxed);
        let bounds: Arc<[u64]> = Arc::new([0, 9_000, 18_000, 27_001, 27_001]);
        let degree = |vertex: u64| {
            [u32::MAX - 5, 65_535, 255][(vertex / 9_000).min(2) as usize]
                .saturating_sub(vertex as u32 % 200)
        };
        let mut block = Block::new(9_001).unwrap();
        for in_memory in [false, true] {
            let stored = DegreesByInterval::create(&scratch, &bounds, in_memory).unwrap();
            let mut written = Vec::new();
            for (interval, pair) in bounds.windows(2).enumerate() {
                let (before, len) = (written_so_far(), (pair[1] - pair[0]) as usize);
                let expected: Vec<u32> = (pair[0]..pair[1]).map(degree).collect();
                block.items(len).copy_from_slice(&expected);
                stored.store(interval, &mut block).unwrap();
                assert_eq!(block.items(len), expected, "the block keeps them");
                written.push(written_so_far() - before);
            }
            assert_eq!(written, if in_memory { [0; 4] } else { [36_864, 20_480, 12_288, 0] });
            for (interval, pair) in bounds.windows(2).enumerate() {
                stored.load(interval, &mut block).unwrap();
                let expected: Vec<u32> = (pair[0]..pair[1]).map(degree).collect();
                assert_eq!(block.items(expected.len()), expected, "interval {interval}");
            }
        }
    }
}
