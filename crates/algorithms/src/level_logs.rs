//! [`LevelLogs`]: who was found on which level of a search, and from where, in logs on scratch: one
//! for each window of vertices, in the order of the levels.

use std::sync::{Mutex, atomic::Ordering::Relaxed};

use outercore_engine::{EngineError, HugeVec, Result, session::Session, state::cut};
use outercore_storage::{Extent, Spill};

/// Neither level nor parent.
pub const UNREACHED: u32 = u32::MAX;
/// Entries of 8 bytes that a worker gathers for a window before they go to its log.
const BATCH: usize = 1 << 12;
/// Bytes of memory of logs, beside the windows: batches of every worker, and of each level the
/// lengths of the logs.
pub const LOGS: u64 = 3 << 20;

/// What a search found. Of several parents of a vertex the smallest counts.
pub struct LevelLogs {
    spill: Spill,
    /// Bounds of the intervals, and of the windows, which are some of them.
    intervals: Vec<u64>,
    windows: Vec<u64>,
    /// How many blocks each window's log had after each level.
    ends: Vec<Vec<usize>>,
    /// The first error of a worker.
    failed: Mutex<Option<EngineError>>,
}

/// What a worker has found and not yet logged, by window.
pub struct Batches(Vec<Vec<u8>>);

impl LevelLogs {
    /// Empty logs; when they are read, windows take at most `room` bytes.
    pub fn new(session: &Session, room: u64) -> Result<Self> {
        let graph = session.graph;
        let intervals = graph.grid()?.intervals.clone();
        let windows = cut(&intervals, room / 16);
        let spill = Spill::create(
            session.disk(),
            &graph.scratch_folder(),
            windows.len().max(2) - 1,
            BATCH * 8,
        )
        .map_err(EngineError::from)?;
        Ok(Self { spill, intervals, windows, ends: Vec::new(), failed: Mutex::new(None) })
    }

    /// The bounds of the intervals.
    pub fn intervals(&self) -> &[u64] {
        &self.intervals
    }

    /// The most vertices of an interval.
    pub fn widest(&self) -> usize {
        widest(&self.intervals)
    }

    /// A worker's share of a level.
    pub fn batches(&self) -> Batches {
        Batches(vec![Vec::new(); self.windows.len() - 1])
    }

    /// Notes that `vertex` is on the level at hand, and may be the child of `parent`.
    #[inline(always)]
    pub fn push(&self, batches: &mut Batches, vertex: u64, parent: u64) {
        let window = if self.windows.len() == 2 {
            0
        } else {
            self.windows.partition_point(|&bound| bound <= vertex) - 1
        };
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

    /// Takes what a worker still has.
    pub fn take(&self, mut batches: Batches) {
        (0..batches.0.len()).for_each(|window| self.flush(&mut batches, window));
    }

    /// Ends a level, of which workers have nothing left.
    pub fn end_level(&mut self) -> Result<()> {
        if let Some(error) = self.failed.lock().expect("no holder panics").take() {
            return Err(error);
        }
        self.ends.push(
            (0..self.windows.len() - 1).map(|window| self.spill.extents(window).len()).collect(),
        );
        Ok(())
    }

    /// Shows the levels and the parents of each interval, with its number: the logs are read window
    /// by window.
    pub fn for_each_interval(
        &self,
        session: &Session,
        mut visit: impl FnMut(usize, &[u32], &[u32]) -> Result<()>,
    ) -> Result<()> {
        let (widest, huge) = (widest(&self.windows), session.config.huge_pages);
        let (mut levels, mut parents): (HugeVec<u32>, HugeVec<u32>) =
            (HugeVec::zeroed(widest, huge)?, HugeVec::zeroed(widest, huge)?);
        for (window, pair) in self.windows.windows(2).enumerate() {
            levels.fill(UNREACHED);
            parents.fill(UNREACHED);
            self.replay(session, window, pair[0], &mut levels, &mut parents)?;
            for (interval, bounds) in self
                .intervals
                .windows(2)
                .enumerate()
                .filter(|(_, bounds)| bounds[0] >= pair[0] && bounds[0] < pair[1])
            {
                let place = (bounds[0] - pair[0]) as usize..(bounds[1] - pair[0]) as usize;
                visit(interval, &levels[place.clone()], &parents[place])?;
            }
        }
        Ok(())
    }

    fn replay(
        &self,
        session: &Session,
        window: usize,
        first: u64,
        levels: &mut [u32],
        parents: &mut [u32],
    ) -> Result<()> {
        let extents: Vec<Extent> = self.spill.extents(window);
        let mut reader = self.spill.reader();
        let mut begun = 0;
        for (level, ends) in self.ends.iter().enumerate() {
            for &extent in &extents[begun..ends[window]] {
                let bytes = reader.read(extent).map_err(EngineError::from)?;
                session.counters.useful_bytes.fetch_add(bytes.len() as u64, Relaxed);
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

fn widest(bounds: &[u64]) -> usize {
    bounds.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0) as usize
}
