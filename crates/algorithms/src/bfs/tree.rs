//! [`Tree`]: the levels and parents that a search finds, in memory or in logs on scratch.

use std::sync::{
    Mutex,
    atomic::{AtomicU32, Ordering::Relaxed},
};

use outercore_engine::{
    EngineError, HugeVec, Result, Values,
    external::{
        array::{Block, DiskArray},
        run::folder,
        stored::Stored,
    },
    session::Session,
    values::Number,
};
use outercore_graph::Graph;
use outercore_storage::{Extent, Spill};

/// Neither level nor parent.
const UNREACHED: u32 = u32::MAX;
/// Entries of 8 bytes that a worker gathers for a window before they go to its log.
const BATCH: usize = 1 << 12;
/// Bytes of memory of logs, beside the windows: batches of every worker, and of each level the lengths of the logs.
pub const LOGS: u64 = 3 << 20;

/// Levels and parents by vertex. Of several parents the smallest counts.
pub enum Tree {
    /// In memory.
    Memory {
        /// The level of each vertex.
        levels: HugeVec<AtomicU32>,
        /// The parent of each vertex.
        parents: HugeVec<AtomicU32>,
    },
    /// In logs: who was found, and from where, in the order of the levels.
    Logs(Box<Logs>),
}

/// Logs of what was found, one for each window of vertices.
pub struct Logs {
    spill: Spill,
    /// Bounds of the stripes, and of the windows, which are some of them.
    stripes: Vec<u64>,
    windows: Vec<u64>,
    /// How many blocks each window's log had after each level.
    ends: Vec<Vec<usize>>,
    /// The first error of a worker.
    failed: Mutex<Option<EngineError>>,
}

/// What a worker has found and not yet logged, by window.
pub struct Batches(Vec<Vec<u8>>);

impl Tree {
    /// An empty tree in memory.
    pub fn memory(session: &Session) -> Result<Self> {
        let len = session.graph.connected();
        let unreached = || -> Result<HugeVec<AtomicU32>> {
            let array: HugeVec<AtomicU32> = HugeVec::zeroed(len as usize, session.config.huge_pages)?;
            session.workers.over(
                len,
                1 << 16,
                |_| (),
                |(), range| array[range.start as usize..range.end as usize].iter().for_each(|entry| entry.store(UNREACHED, Relaxed)),
            );
            Ok(array)
        };
        Ok(Tree::Memory { levels: unreached()?, parents: unreached()? })
    }

    /// An empty tree in logs; when it is read, windows take at most `room` bytes.
    pub fn logs(graph: &Graph, room: u64) -> Result<Self> {
        let stripes = graph.grid()?.stripes;
        let windows = crate::components::windows(&stripes, room / 16);
        let spill = Spill::create(graph.disk(), &folder(graph), windows.len().max(2) - 1, BATCH * 8).map_err(EngineError::from)?;
        Ok(Tree::Logs(Box::new(Logs { spill, stripes, windows, ends: Vec::new(), failed: Mutex::new(None) })))
    }

    /// A worker's share of a level.
    pub fn batches(&self) -> Batches {
        match self {
            Tree::Memory { .. } => Batches(Vec::new()),
            Tree::Logs(logs) => Batches(vec![Vec::new(); logs.windows.len() - 1]),
        }
    }

    /// Notes that `vertex` is on this level, and may be the child of `parent`.
    #[inline(always)]
    pub fn found(&self, batches: &mut Batches, level: u32, vertex: u64, parent: u64) {
        match self {
            Tree::Memory { levels, parents } => {
                levels[vertex as usize].store(level, Relaxed);
                parents[vertex as usize].fetch_min(parent as u32, Relaxed);
            }
            Tree::Logs(logs) => logs.push(batches, vertex, parent),
        }
    }

    /// Ends a level with what the workers still have.
    pub fn end_level(&mut self, session: &Session, batches: impl IntoIterator<Item = Batches>) -> Result<()> {
        let Tree::Logs(logs) = self else { return Ok(()) };
        for mut batches in batches {
            (0..batches.0.len()).for_each(|window| logs.flush(&mut batches, window));
        }
        if let Some(error) = logs.failed.lock().expect("no holder panics").take() {
            return Err(error);
        }
        logs.ends.push((0..logs.windows.len() - 1).map(|window| logs.spill.extents(window).len()).collect());
        session.counters.bytes_written.store(logs.spill.written_bytes(), Relaxed);
        Ok(())
    }

    /// Levels and parents as columns.
    pub fn columns(self, session: &Session) -> Result<(Values, Values)> {
        match self {
            Tree::Memory { levels, parents } => Ok((Values::U32(levels.into_plain()), Values::U32(parents.into_plain()))),
            Tree::Logs(logs) => logs.columns(session),
        }
    }
}

impl Logs {
    #[inline(always)]
    fn push(&self, batches: &mut Batches, vertex: u64, parent: u64) {
        let window = if self.windows.len() == 2 { 0 } else { self.windows.partition_point(|&bound| bound <= vertex) - 1 };
        let batch = &mut batches.0[window];
        batch.extend_from_slice(&(vertex << 32 | parent).to_le_bytes());
        if batch.len() == BATCH * 8 {
            self.flush(batches, window);
        }
    }

    fn flush(&self, batches: &mut Batches, window: usize) {
        let batch = &mut batches.0[window];
        if let Err(error) = self.spill.append(window, batch) {
            self.failed.lock().expect("no holder panics").get_or_insert(error.into());
        }
        batch.clear();
    }

    /// Window by window: the logs are read, and levels and parents stored by stripe.
    fn columns(self, session: &Session) -> Result<(Values, Values)> {
        let graph = session.graph;
        let (disk, folder) = (graph.disk(), folder(graph));
        let (levels, parents) = (DiskArray::create(disk, &folder, &self.stripes)?, DiskArray::create(disk, &folder, &self.stripes)?);
        let widest = self.windows.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0) as usize;
        let huge = session.config.huge_pages;
        let (mut level, mut parent): (HugeVec<u32>, HugeVec<u32>) = (HugeVec::zeroed(widest, huge)?, HugeVec::zeroed(widest, huge)?);
        let mut block = Block::new(self.stripes.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0) as usize)?;
        for (window, pair) in self.windows.windows(2).enumerate() {
            level.fill(UNREACHED);
            parent.fill(UNREACHED);
            self.replay(session, window, pair[0], &mut level, &mut parent)?;
            for (stripe, bounds) in self.stripes.windows(2).enumerate().filter(|(_, bounds)| bounds[0] >= pair[0] && bounds[0] < pair[1]) {
                let (first, len) = ((bounds[0] - pair[0]) as usize, (bounds[1] - bounds[0]) as usize);
                for (array, values) in [(&levels, &level), (&parents, &parent)] {
                    block.items(len).copy_from_slice(&values[first..first + len]);
                    array.store(&session.counters, stripe, len, &mut block)?;
                }
            }
        }
        Ok((u32::stored(Stored::new(levels, self.stripes.clone())?), u32::stored(Stored::new(parents, self.stripes)?)))
    }

    fn replay(&self, session: &Session, window: usize, first: u64, levels: &mut [u32], parents: &mut [u32]) -> Result<()> {
        let extents: Vec<Extent> = self.spill.extents(window);
        let mut reader = self.spill.reader();
        let mut begun = 0;
        for (level, ends) in self.ends.iter().enumerate() {
            for &extent in &extents[begun..ends[window]] {
                let bytes = reader.read(extent).map_err(EngineError::from)?;
                session.counters.bytes_read.fetch_add(bytes.len() as u64, Relaxed);
                session.counters.useful_bytes.fetch_add(bytes.len() as u64, Relaxed);
                session.counters.requests.fetch_add(1, Relaxed);
                for entry in bytes.chunks_exact(8) {
                    let entry = u64::from_le_bytes(entry.try_into().expect("eight bytes"));
                    let at = ((entry >> 32) - first) as usize;
                    levels[at] = level as u32;
                    parents[at] = parents[at].min(entry as u32);
                }
            }
            begun = ends[window];
        }
        Ok(())
    }
}
