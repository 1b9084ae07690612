//! [`Writer`]: blocks on their way to the logs. They are gathered into one large write, which a
//! thread of its own does: those that fill blocks wait for the device only where it is slower than
//! they are, and a write costs what it costs however long it is.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, OnceLock},
    thread::{Builder, JoinHandle},
};

use crate::{
    PAGE,
    arena::{Arena, Buffer, HugePages},
    error::{Result, StorageError},
    monitor::{Monitor, lock},
    spill::{Placed, Spill},
};

/// Bytes of a write, unless a block is larger.
const WRITE: usize = 256 << 10;
/// Writes that have memory: one is filled while the other is on its way.
const WRITES: usize = 2;

/// Blocks on their way.
pub(super) struct Writer {
    shared: Arc<BlockQueue>,
    /// What is being filled.
    open: Mutex<Blocks>,
    /// Bytes of a write.
    bytes: usize,
    thread: OnceLock<Option<JoinHandle<()>>>,
}

/// Blocks that are written together.
#[derive(Default)]
struct Blocks {
    memory: Option<Buffer>,
    len: usize,
    placed: Vec<Placed>,
}

struct BlockQueue {
    spill: Spill,
    state: Monitor<QueueState>,
}

#[derive(Default)]
struct QueueState {
    free: Vec<Buffer>,
    /// What is not written yet, in the order in which it came.
    waiting: VecDeque<Blocks>,
    /// The parts whose blocks are being written.
    written: Vec<usize>,
    failed: Option<StorageError>,
    ended: bool,
}

/// Bytes of memory of a writer of blocks of so many bytes.
pub(super) fn memory(block: usize) -> usize {
    WRITES * write_bytes(block)
}

fn write_bytes(block: usize) -> usize {
    WRITE.max(block.next_multiple_of(PAGE))
}

impl Writer {
    /// A writer of blocks of at most so many bytes.
    pub(super) fn new(spill: Spill, block: usize) -> Result<Self> {
        let bytes = write_bytes(block);
        let arena = Arena::new(WRITES * bytes, HugePages::Off)?;
        let free = (0..WRITES).map(|at| arena.buffer(at * bytes, bytes)).collect();
        let state = Monitor::new(QueueState { free, ..QueueState::default() });
        let shared = Arc::new(BlockQueue { spill, state });
        Ok(Self { shared, open: Mutex::default(), bytes, thread: OnceLock::new() })
    }

    pub(super) fn spill(&self) -> &Spill {
        &self.shared.spill
    }

    /// Writes a block behind those that came before. A tag says where it belongs among the blocks
    /// of its part: behind those with a smaller one, and those with the same that came before.
    pub(super) fn write(&self, part: usize, block: &[u8], tag: u32) {
        let padded = block.len().next_multiple_of(PAGE);
        let mut open = lock(&self.open);
        if open.len + padded > self.bytes {
            self.send(&mut open);
        }
        let take = || self.shared.state.wait(|state| state.free.pop());
        let Blocks { memory, len, placed } = &mut *open;
        let memory = memory.get_or_insert_with(|| take().expect("it is never closed"));
        let room = &mut memory[*len..*len + padded];
        room[..block.len()].copy_from_slice(block);
        room[block.len()..].fill(0);
        placed.push(Placed { part, at: *len, len: block.len(), tag });
        *len += padded;
    }

    /// Hands blocks to the thread.
    fn send(&self, open: &mut Blocks) {
        let blocks = std::mem::take(open);
        self.shared.state.change(|state| state.waiting.push_back(blocks));
        let start = || {
            let shared = Arc::clone(&self.shared);
            let thread = Builder::new().name("outercore-log".into()).spawn(move || shared.run());
            let refused = |source| StorageError::Thread { source };
            thread.map_err(|error| self.shared.state.change(|it| it.fail(refused(error)))).ok()
        };
        if self.thread.get_or_init(start).is_none() {
            self.shared.state.change(QueueState::give_up);
        }
    }

    /// Whether blocks of a part are on their way.
    pub(super) fn has(&self, part: usize) -> bool {
        let sent = || self.shared.state.wait(|state| Some(state.has(part)));
        lock(&self.open).has(part) || sent() == Some(true)
    }

    /// Waits until no block of a part is on its way; the first error since the last call.
    pub(super) fn settle(&self, part: usize) -> Result<()> {
        let mut open = lock(&self.open);
        if open.has(part) {
            self.send(&mut open);
        }
        drop(open);
        self.shared.state.wait(|state| (!state.has(part)).then_some(()));
        self.check()
    }

    /// The first error so far, once.
    pub(super) fn check(&self) -> Result<()> {
        self.shared.state.change(|state| state.failed.take()).map_or(Ok(()), Err)
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.shared.state.change(|state| state.ended = true);
        if let Some(Some(thread)) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Blocks {
    fn has(&self, part: usize) -> bool {
        self.placed.iter().any(|block| block.part == part)
    }
}

impl QueueState {
    fn has(&self, part: usize) -> bool {
        self.written.contains(&part) || self.waiting.iter().any(|blocks| blocks.has(part))
    }

    fn fail(&mut self, error: StorageError) {
        self.failed.get_or_insert(error);
    }

    /// What waits is never written: a run that has failed has no use for it.
    fn give_up(&mut self) {
        let all = std::mem::take(&mut self.waiting);
        self.free.extend(all.into_iter().filter_map(|blocks| blocks.memory));
    }
}

impl BlockQueue {
    /// Writes until the end.
    fn run(&self) {
        loop {
            let next = self.state.wait(|state| {
                if state.ended {
                    return Some(None);
                }
                let blocks = state.waiting.pop_front()?;
                state.written.extend(blocks.placed.iter().map(|block| block.part));
                Some(Some(blocks))
            });
            let Some(Some(Blocks { memory, len, placed })) = next else { return };
            let memory = memory.expect("something was put there");
            let result = self.spill.append_all(&memory[..len], &placed);
            self.state.change(|state| {
                state.written.clear();
                state.free.push(memory);
                if let Err(error) = result {
                    state.fail(error);
                    state.give_up();
                }
            });
        }
    }
}
