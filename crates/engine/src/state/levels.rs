//! [`Levels`]: what a search finds, the level of each vertex and perhaps its parent. In memory, or,
//! while values are on storage, in a log for each window of vertices.
//!
//! Memory: 4 bytes for each vertex, 8 with parents; on storage nothing for each vertex.

use std::{
    ops::Range,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
};

use outercore_storage::{
    AtomicItem, Block, HugePages, HugeVec, Source, StorageError, cut_windows, widest,
};

use super::{scratch::Scratch, vertex_array::VertexArray, window::fill};
use crate::{
    exchange::{Exchange, STEP, Sender},
    plan::{Planner, Resource},
    session::Session,
};
use outercore_graph::{Result, error};

/// Neither level nor parent.
const UNREACHED: u32 = u32::MAX;
/// Windows of logs that each worker reads when the rest is closed, at the least: their levels and
/// parents take the place of its index.
const WINDOWS: u64 = 8;

/// What a search finds, as a resource of a plan.
#[derive(Clone, Copy, Debug)]
pub struct Levels {
    /// Whether parents are kept.
    pub parents: bool,
    /// How often vertices are found, about.
    pub records: u64,
    /// The weight by which logs that are read share memory with what else a run has open; 0: the
    /// rest is closed by then.
    pub weight: u64,
}

impl Resource for Levels {
    type Opened = OpenLevels;

    fn declare(&self, planner: &mut Planner) -> Result<()> {
        let vertices = planner.job.graph.connected();
        // A vertex is logged for each parent that is found, and then written as two numbers.
        let (name, bytes, written) = if self.parents {
            ("levels, parents", vertices * 8, vertices * 8)
        } else {
            ("levels", vertices * 4, 0)
        };
        planner.memory(name, [bytes, 0]);
        planner.caches([0, self.weight]);
        planner.scratch(written);
        // A window ends before it is full.
        let windows = 2 * WINDOWS as usize * planner.job.config.threads + 1;
        let windows = if self.weight == 0 { windows } else { usize::MAX };
        Exchange::<u32>::declare(planner, windows, self.records).map(drop)
    }

    fn open(&self, session: &Session) -> Result<OpenLevels> {
        let (graph, decision) = (session.graph, session.decision);
        if decision.is_external() {
            let most = match self.weight {
                0 => (decision.room / 16).max(graph.connected() / WINDOWS),
                weight => decision.share(weight) / 16,
            };
            let each = most / session.workers.count() as u64;
            let windows = cut_windows(&graph.grid()?.intervals, each);
            return Ok(OpenLevels::Logs(Box::new(Exchange::new(session, &windows, 0)?)));
        }
        let levels = session.zeroed(graph.connected())?;
        let parents = session.zeroed(if self.parents { graph.connected() } else { 0 })?;
        let mut levels = OpenLevels::Memory { levels, parents };
        levels.forget(session)?;
        Ok(levels)
    }
}

/// Levels that are open. Of several parents of a vertex the smallest counts.
pub enum OpenLevels {
    /// In memory; without parents there are none of those.
    Memory { levels: HugeVec<AtomicU32>, parents: HugeVec<AtomicU32> },
    /// Logs for windows, whose bounds are some of the intervals': what may be a vertex's parent, in
    /// the step of its level.
    Logs(Box<Exchange<u32>>),
}

/// What a worker has found on a level, where that goes to logs; made when it is needed.
pub(crate) type Found = Option<Sender<u32>>;

impl OpenLevels {
    /// No vertex is on any level.
    pub(crate) fn forget(&mut self, session: &Session) -> Result<()> {
        match self {
            Self::Memory { levels, parents } => {
                fill(session, levels, UNREACHED);
                fill(session, parents, UNREACHED);
            }
            Self::Logs(logs) => **logs = Exchange::new(session, logs.bounds(), 0)?,
        }
        Ok(())
    }

    /// Notes that `vertex` may be the child of `parent`, and is on this level, which is not over;
    /// where that is known, there is none. What is known is not written again: that would take its
    /// place in memory away from other workers.
    #[inline(always)]
    pub(crate) fn find(&self, found: &mut Found, level: Option<u32>, vertex: u64, parent: u64) {
        match self {
            Self::Memory { levels, parents } => {
                if let Some(level) = level {
                    levels[vertex as usize].store(level, Relaxed);
                }
                parents.get(vertex as usize).map(|known| u32::lower(known, parent as u32));
            }
            Self::Logs(logs) => {
                let sender = found.get_or_insert_with(|| logs.sender());
                logs.send(sender, vertex, parent as u32);
            }
        }
    }

    /// Ends a level with what the workers have found.
    pub(crate) fn end_level(&mut self, found: impl IntoIterator<Item = Found>) -> Result<()> {
        let Self::Logs(logs) = self else { return Ok(()) };
        logs.collect(found.into_iter().flatten())?;
        logs.step += 1;
        Ok(())
    }

    /// Shows the levels and the parents of each interval of the grid, with its number, on all
    /// workers. In memory, without parents, those are none.
    pub fn for_each_interval<S: Send>(
        &self,
        session: &Session,
        state: impl Fn() -> Result<S> + Sync,
        visit: impl Fn(&mut S, usize, &[AtomicU32], &[AtomicU32]) -> Result<()> + Sync,
    ) -> Result<Vec<S>> {
        let bounds = &session.graph.grid()?.intervals;
        let (levels, parents) = match self {
            Self::Memory { levels, parents } => (levels, parents),
            Self::Logs(logs) => {
                let begin = |_| Ok((state()?, cells(logs, session.config.huge_pages)?));
                let show = |(state, cells): &mut (S, _), window: Range<u64>| {
                    let at = window.start as usize;
                    replay(logs, bounds, at, cells, |at, [levels, parents]| {
                        visit(state, at, levels, parents)
                    })
                };
                let done = session.workers.try_over(logs.parts() as u64, 1, begin, show);
                return Ok(error::all(done)?.into_iter().map(|(state, _)| state).collect());
            }
        };
        let count = bounds.len().saturating_sub(1) as u64;
        error::all(session.workers.try_over(
            count,
            1,
            |_| state(),
            |state, interval| {
                let at = interval.start as usize;
                let place = bounds[at] as usize..bounds[at + 1] as usize;
                let parents = parents.get(place.clone()).unwrap_or_default();
                visit(state, at, &levels[place], parents)
            },
        ))
    }

    /// Level and parent of a vertex, where they are in memory: the level in the upper half, all
    /// bits where there is none.
    pub fn both(&self, vertex: u64) -> u64 {
        let Self::Memory { levels, parents } = self else { return u64::MAX };
        let at = vertex as usize;
        u64::from(levels[at].load(Relaxed)) << 32 | u64::from(parents[at].load(Relaxed))
    }

    /// Levels and parents. What is in logs goes to arrays when one of them is read first.
    pub fn into_arrays(self, session: &Session) -> Result<[VertexArray<u32>; 2]> {
        let logs = match self {
            Self::Memory { levels, parents } => {
                return Ok([levels, parents].map(|array| array.into_plain().into()));
            }
            Self::Logs(logs) => logs,
        };
        let bounds: Arc<[u64]> = session.graph.grid()?.intervals.as_slice().into();
        let (scratch, huge) = (Scratch::of(session), session.config.huge_pages);
        let array = || VertexArray::create(&scratch, Arc::clone(&bounds), &mut 0);
        let arrays = [array()?, array()?];
        let files = || arrays.iter().flat_map(|array| &array.rest).map(|rest| &rest.file);
        let weak: Vec<_> = files().map(Arc::downgrade).collect();
        let source = Source::new(move || {
            let (cells, mut block) = (cells(&logs, huge)?, Block::new(widest(&bounds) as usize)?);
            let mut write = |interval, found: [&[AtomicU32]; 2]| {
                weak.iter().zip(found).try_for_each(|(file, cells)| {
                    let Some(file) = file.upgrade() else { return Ok(()) };
                    block.store((&file, interval), cells.iter().map(|cell| cell.load(Relaxed)))
                })
            };
            (0..logs.parts()).try_for_each(|at| replay(&logs, &bounds, at, &cells, &mut write))
        });
        files().for_each(|file| file.written_by(source.clone()));
        Ok(arrays)
    }
}

/// Levels and parents of the widest window.
fn cells(
    logs: &Exchange<u32>,
    huge: HugePages,
) -> outercore_storage::Result<[HugeVec<AtomicU32>; 2]> {
    let zeroed = || HugeVec::zeroed(widest(logs.bounds()) as usize, huge);
    Ok([zeroed()?, zeroed()?])
}

/// Reads the log of a window, and shows its intervals, which `bounds` bound.
fn replay<E: From<StorageError>>(
    logs: &Exchange<u32>,
    bounds: &[u64],
    window: usize,
    [levels, parents]: &[HugeVec<AtomicU32>; 2],
    mut visit: impl FnMut(usize, [&[AtomicU32]; 2]) -> std::result::Result<(), E>,
) -> std::result::Result<(), E> {
    let pair = &logs.bounds()[window..][..2];
    levels.iter().chain(parents.iter()).for_each(|cell| cell.store(UNREACHED, Relaxed));
    let mut level = 0;
    logs.replay(window, |vertex, parent| {
        let at = vertex - pair[0];
        if at == STEP {
            level = parent;
            return;
        }
        levels[at as usize].store(level, Relaxed);
        let cell = &parents[at as usize];
        cell.store(parent.min(cell.load(Relaxed)), Relaxed);
    })?;
    let all = bounds.windows(2).enumerate();
    let mut inside = all.filter(|(_, ends)| pair[0] <= ends[0] && ends[0] < pair[1]);
    inside.try_for_each(|(interval, ends)| {
        let place = (ends[0] - pair[0]) as usize..(ends[1] - pair[0]) as usize;
        visit(interval, [&levels[place.clone()], &parents[place]])
    })
}
