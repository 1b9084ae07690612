//! [`BlockReader`]: the blocks of a part come back in their order, the next ones while one is
//! shown.

use std::sync::Arc;

use crate::{
    arena::{Arena, Buffer, HugePages},
    backend::{Completion, IoBackend, Queue, QueueOptions, ReadRequest, open_queue, probe_uring},
    error::Result,
    spill::{Extent, Spill},
};

/// Blocks that are read at once.
pub(super) const DEPTH: usize = 4;

/// Reads blocks into memory of its own, for one thread.
pub(super) struct BlockReader {
    /// `None`: threads would read, and wait for a processor.
    queue: Option<Box<dyn Queue>>,
    free: Vec<Buffer>,
    there: [Option<Buffer>; DEPTH],
    done: Vec<Completion>,
}

impl BlockReader {
    /// A reader of blocks of so many bytes.
    pub(super) fn new(spill: &Spill, bytes: usize, backend: IoBackend) -> Result<Self> {
        let arena = Arena::new(DEPTH * bytes, HugePages::Off)?;
        let file = Arc::clone(&spill.file);
        let options = QueueOptions { backend, depth: DEPTH, registered: vec![Arc::clone(&arena)] };
        let asks = backend != IoBackend::Blocking && probe_uring();
        Ok(Self {
            queue: asks
                .then(|| open_queue(file.disk(), std::slice::from_ref(&file), &options))
                .transpose()?,
            free: (0..DEPTH).map(|at| arena.buffer(at * bytes, bytes)).collect(),
            there: Default::default(),
            done: Vec::new(),
        })
    }

    /// Shows blocks. After an error the reader is of no more use.
    pub(super) fn read(
        &mut self,
        spill: &Spill,
        blocks: &[Extent],
        mut show: impl FnMut(&[u8]),
    ) -> Result<()> {
        let mut asked = 0;
        for (at, &block) in blocks.iter().enumerate() {
            let buffer = if let Some(queue) = &mut self.queue {
                for block in &blocks[asked..blocks.len().min(at + DEPTH)] {
                    let buffer = self.free.pop().expect("one for each that is asked for");
                    let (offset, len, tag) = (block.offset(), block.padded(), asked as u64);
                    queue.submit(ReadRequest { file: 0, offset, buffer, len, tag });
                    asked += 1;
                }
                while self.there[at % DEPTH].is_none() {
                    queue.wait(1, &mut self.done)?;
                    for Completion { tag, buffer, result, .. } in self.done.drain(..) {
                        result?;
                        self.there[tag as usize % DEPTH] = Some(buffer);
                    }
                }
                self.there[at % DEPTH].take().expect("it is there")
            } else {
                let mut buffer = self.free.pop().expect("nothing is on its way");
                spill.file.read_at(&mut buffer[..block.padded()], block.offset())?;
                buffer
            };
            let bytes = &buffer[..block.len()];
            spill.verify(block, bytes)?;
            show(bytes);
            self.free.push(buffer);
        }
        Ok(())
    }
}
