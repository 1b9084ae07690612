//! [`Tree`]: the levels and parents that a search finds, in memory or in logs on scratch.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use outercore_engine::{
    HugeVec, Result, Values,
    session::Session,
    state::{Block, Scratch, VertexArray},
};

use crate::level_logs::{self, LevelLogs, UNREACHED};

/// Levels and parents by vertex. Of several parents the smallest counts.
pub enum Tree {
    /// In memory.
    Memory {
        /// The level of each vertex.
        levels: HugeVec<AtomicU32>,
        /// The parent of each vertex.
        parents: HugeVec<AtomicU32>,
    },
    /// In logs.
    Logs(Box<LevelLogs>),
}

/// What a worker has found and not yet logged; nothing where the tree is in memory.
pub type Batches = Option<level_logs::Batches>;

impl Tree {
    /// An empty tree in memory.
    pub fn memory(session: &Session) -> Result<Self> {
        let len = session.graph.connected();
        let unreached = || -> Result<HugeVec<AtomicU32>> {
            let array: HugeVec<AtomicU32> =
                HugeVec::zeroed(len as usize, session.config.huge_pages)?;
            session.workers.over(
                len,
                1 << 16,
                |_| (),
                |(), range| {
                    array[range.start as usize..range.end as usize]
                        .iter()
                        .for_each(|entry| entry.store(UNREACHED, Relaxed))
                },
            );
            Ok(array)
        };
        Ok(Tree::Memory { levels: unreached()?, parents: unreached()? })
    }

    /// An empty tree in logs; when it is read, windows take at most `room` bytes.
    pub fn logs(session: &Session, room: u64) -> Result<Self> {
        Ok(Tree::Logs(Box::new(LevelLogs::new(session, room)?)))
    }

    /// A worker's share of a level.
    pub fn batches(&self) -> Batches {
        match self {
            Tree::Memory { .. } => None,
            Tree::Logs(logs) => Some(logs.batches()),
        }
    }

    /// Notes that `vertex` is on this level, and may be the child of `parent`.
    #[inline(always)]
    pub fn found(&self, batches: &mut Batches, level: u32, vertex: u64, parent: u64) {
        match (self, batches) {
            (Tree::Memory { levels, parents }, _) => {
                levels[vertex as usize].store(level, Relaxed);
                parents[vertex as usize].fetch_min(parent as u32, Relaxed);
            }
            (Tree::Logs(logs), Some(batches)) => logs.push(batches, vertex, parent),
            (Tree::Logs(_), None) => unreachable!("batches were made for these logs"),
        }
    }

    /// Ends a level with what the workers still have.
    pub fn end_level(&mut self, batches: impl IntoIterator<Item = Batches>) -> Result<()> {
        let Tree::Logs(logs) = self else { return Ok(()) };
        batches.into_iter().flatten().for_each(|batches| logs.take(batches));
        logs.end_level()
    }

    /// Levels and parents as columns.
    pub fn columns(self, session: &Session) -> Result<(Values, Values)> {
        match self {
            Tree::Memory { levels, parents } => {
                Ok((levels.into_plain().into(), parents.into_plain().into()))
            }
            Tree::Logs(logs) => stored(session, &logs),
        }
    }
}

/// Levels and parents, stored by interval.
fn stored(session: &Session, logs: &LevelLogs) -> Result<(Values, Values)> {
    let scratch = Scratch::of(session);
    let array = || VertexArray::<u32>::on_scratch(&scratch, logs.intervals());
    let (levels, parents) = (array()?, array()?);
    let mut block = Block::new(logs.widest())?;
    logs.for_each_interval(session, |interval, found_levels, found_parents| {
        for (array, values) in [(&levels, found_levels), (&parents, found_parents)] {
            block.items(values.len()).copy_from_slice(values);
            array.store(interval, &mut block)?;
        }
        Ok(())
    })?;
    Ok((levels.into(), parents.into()))
}
