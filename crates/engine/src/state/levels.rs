//! [`Levels`]: what a search finds, the level of each vertex and perhaps its parent. In memory, or,
//! while values are on storage, in a log for each window of vertices, level after level. There the
//! number of an epoch is the level, and a record is the parent.
//!
//! Memory: 4 bytes for each vertex, 8 with parents; on storage nothing for each vertex.

use std::sync::{
    Mutex,
    atomic::{AtomicU32, Ordering::Relaxed},
};

use outercore_storage::{HugePages, HugeVec, Pod};

use super::{block::Block, scratch::Scratch, vertex_array::VertexArray, window::cut};
use crate::{
    error::Result,
    exchange::{Exchange, Record, Sender},
    plan::{Planner, Resource},
    session::Session,
};

/// Neither level nor parent.
const UNREACHED: u32 = u32::MAX;
/// Bytes of memory of logs, beside the windows: batches of every worker, and of each level the
/// lengths of the logs.
const LOGS: u64 = 3 << 20;

/// Bytes of scratch that levels leave unused, at the ends of pages of every worker's logs, where
/// there are not many levels.
const UNUSED: u64 = 1 << 20;

/// A vertex was found on the level of the epoch, and this may be its parent.
#[derive(Clone, Copy)]
#[repr(transparent)]
struct Parent(u32);

// SAFETY: a number.
unsafe impl Pod for Parent {}
impl Record for Parent {}

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
        let vertices = planner.job().graph.connected();
        if self.parents {
            planner.memory("levels, parents", [vertices * 8, 0]);
        } else {
            planner.memory("levels", [vertices * 4, 0]);
        }
        planner.memory("logs", [0, LOGS]);
        planner.caches([0, self.weight]);
        // A vertex is logged for each parent that is found, and then written as two numbers.
        let written = if self.parents { vertices * 8 } else { 0 };
        planner.scratch(self.records * 8 + written + UNUSED);
        Ok(())
    }

    fn open(&self, session: &Session) -> Result<OpenLevels> {
        let (graph, decision) = (session.graph, session.decision());
        let place = if decision.is_external() {
            let bounds = graph.grid()?.intervals.clone();
            let room = if self.weight == 0 { decision.room } else { decision.share(self.weight) };
            let windows = cut(&bounds, room / 16);
            let exchange = Exchange::new(session, &windows)?;
            Place::Logs(Box::new(Logs { exchange, windows, bounds }))
        } else {
            let array = || HugeVec::zeroed(graph.connected() as usize, session.config.huge_pages);
            let parents = self.parents.then(array).transpose()?;
            Place::Memory { levels: array()?, parents }
        };
        let mut levels = OpenLevels(place);
        levels.forget(session)?;
        Ok(levels)
    }
}

/// Levels that are open. Of several parents of a vertex the smallest counts.
pub struct OpenLevels(Place);

enum Place {
    Memory { levels: HugeVec<AtomicU32>, parents: Option<HugeVec<AtomicU32>> },
    Logs(Box<Logs>),
}

struct Logs {
    exchange: Exchange<Parent>,
    /// Bounds of the windows, which are some of the intervals', and of these.
    windows: Vec<u64>,
    bounds: Vec<u64>,
}

/// What a worker has found on a level.
pub struct Found(Option<Sender<Parent>>);

impl OpenLevels {
    /// No vertex is on any level.
    pub(crate) fn forget(&mut self, session: &Session) -> Result<()> {
        match &mut self.0 {
            Place::Memory { levels, parents } => {
                for array in std::iter::once(levels).chain(parents) {
                    let array: &[AtomicU32] = array;
                    session.workers.over(
                        array.len() as u64,
                        1 << 16,
                        |_| (),
                        |(), range| fill(&array[range.start as usize..range.end as usize]),
                    );
                }
            }
            Place::Logs(logs) => logs.exchange = Exchange::new(session, &logs.windows)?,
        }
        Ok(())
    }

    /// What a worker finds with.
    pub(crate) fn found(&self) -> Found {
        match &self.0 {
            Place::Memory { .. } => Found(None),
            Place::Logs(logs) => Found(Some(logs.exchange.sender())),
        }
    }

    /// Notes that `vertex` is on this level, which is not over, and may be the child of `parent`.
    #[inline(always)]
    pub(crate) fn find(&self, found: &mut Found, level: u32, vertex: u64, parent: u64) {
        match (&self.0, &mut found.0) {
            (Place::Memory { levels, parents }, _) => {
                levels[vertex as usize].store(level, Relaxed);
                if let Some(parents) = parents {
                    parents[vertex as usize].fetch_min(parent as u32, Relaxed);
                }
            }
            (Place::Logs(logs), Some(sender)) => {
                logs.exchange.send(sender, vertex, Parent(parent as u32));
            }
            (Place::Logs(_), None) => unreachable!("a worker finds with what these logs gave it"),
        }
    }

    /// Ends a level with what the workers have found.
    pub(crate) fn end_level(&mut self, found: impl IntoIterator<Item = Found>) -> Result<()> {
        let Place::Logs(logs) = &mut self.0 else { return Ok(()) };
        logs.exchange.collect(found.into_iter().filter_map(|found| found.0))?;
        logs.exchange.end_epoch()
    }

    /// Shows the levels and the parents of each interval of the grid, with its number. What is in
    /// memory is shown on all workers, and without parents those are none; logs are shown in order.
    pub fn for_each_interval<S: Send>(
        &self,
        session: &Session,
        state: impl Fn() -> Result<S> + Sync,
        visit: impl Fn(&mut S, usize, &[AtomicU32], &[AtomicU32]) -> Result<()> + Sync,
    ) -> Result<Vec<S>> {
        let (levels, parents) = match &self.0 {
            Place::Memory { levels, parents } => (levels, parents.as_deref().unwrap_or_default()),
            Place::Logs(logs) => return logs.for_each_interval(session, state()?, visit),
        };
        let bounds = &session.graph.grid()?.intervals;
        let results = session.workers.over(
            bounds.len().saturating_sub(1) as u64,
            1,
            |_| state(),
            |result, intervals| {
                for at in intervals.start as usize..intervals.end as usize {
                    let place = bounds[at] as usize..bounds[at + 1] as usize;
                    let parents = parents.get(place.clone()).unwrap_or_default();
                    if let Ok(state) = result
                        && let Err(error) = visit(state, at, &levels[place], parents)
                    {
                        *result = Err(error);
                    }
                }
            },
        );
        results.into_iter().collect()
    }

    /// Levels and parents.
    pub fn into_arrays(self, session: &Session) -> Result<[VertexArray<u32>; 2]> {
        let logs = match self.0 {
            Place::Memory { levels, parents } => {
                let parents = parents.map_or_else(|| HugeVec::zeroed(0, HugePages::Off), Ok)?;
                return Ok([levels, parents].map(|array| array.into_plain().into()));
            }
            Place::Logs(logs) => logs,
        };
        let (scratch, bounds) = (Scratch::of(session), logs.bounds.as_slice());
        let array = || VertexArray::on_scratch(&scratch, bounds);
        let arrays: [VertexArray<u32>; 2] = [array()?, array()?];
        let block = Mutex::new(Block::new(arrays[0].widest())?);
        logs.for_each_interval(session, (), |(), interval, levels, parents| {
            let mut block = block.lock().expect("no holder panics");
            for (array, cells) in arrays.iter().zip([levels, parents]) {
                array.write(interval, &mut block, |items| {
                    items.iter_mut().zip(cells).for_each(|(item, cell)| *item = cell.load(Relaxed));
                })?;
            }
            Ok(())
        })?;
        Ok(arrays)
    }
}

impl Logs {
    /// Reads the logs window by window, and shows every interval.
    fn for_each_interval<S>(
        &self,
        session: &Session,
        mut state: S,
        visit: impl Fn(&mut S, usize, &[AtomicU32], &[AtomicU32]) -> Result<()>,
    ) -> Result<Vec<S>> {
        let widest = self.windows.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0);
        let array = || HugeVec::zeroed(widest as usize, session.config.huge_pages);
        let (levels, parents): (HugeVec<AtomicU32>, HugeVec<AtomicU32>) = (array()?, array()?);
        let mut interval = 0;
        for (window, pair) in self.windows.windows(2).enumerate() {
            fill(&levels);
            fill(&parents);
            self.exchange.replay(window, |level, vertex, Parent(parent)| {
                let at = (vertex - pair[0]) as usize;
                levels[at].store(level as u32, Relaxed);
                let cell = &parents[at];
                cell.store(parent.min(cell.load(Relaxed)), Relaxed);
            })?;
            while interval + 1 < self.bounds.len() && self.bounds[interval] < pair[1] {
                let ends = [self.bounds[interval], self.bounds[interval + 1]];
                let [start, end] = ends.map(|bound| (bound - pair[0]) as usize);
                visit(&mut state, interval, &levels[start..end], &parents[start..end])?;
                interval += 1;
            }
        }
        Ok(vec![state])
    }
}

fn fill(cells: &[AtomicU32]) {
    cells.iter().for_each(|cell| cell.store(UNREACHED, Relaxed));
}
