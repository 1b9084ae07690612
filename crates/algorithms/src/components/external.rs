//! Components with the parents on storage: union-find by windows of vertices, from the last window
//! to the first.
//!
//! The window in memory takes every edge whose larger end lies in it. A root of the window is
//! linked below a smaller id, which may lie below the window; an edge between two ids below the
//! window waits in the log of the window of the larger one. When the first window is done, labels
//! are looked up from the first window to the last. One window, and so one scan without a log, is
//! enough where four bytes for each vertex fit the budget.

use std::{
    collections::HashMap,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
};

use outercore_engine::{
    Column, Figure, HugeVec, Isolated, Meaning, Outcome, Plan, Preset, Result, RunConfig,
    RunProgress,
    session::Session,
    state::{Block, Scratch, VertexArray, cut},
};
use outercore_graph::Graph;
use outercore_storage::Spill;

use super::streaming;
use crate::{
    edges::EdgeScan,
    finish::{Done, Summary, open, outcome},
};

/// Bytes of the smallest window: the widest interval.
pub const SMALLEST: u64 = 4 << 17;
/// Pairs of ids that a worker gathers for a window before they go to its log.
const BATCH: usize = 1 << 12;
/// Pairs that a worker remembers, not to log them again soon.
const REMEMBERED: usize = 1 << 12;

/// A window of vertices and its part of the forest; entries are ids.
struct Window<'w> {
    first: u64,
    parents: &'w [AtomicU32],
}

impl Window<'_> {
    /// The root of `vertex` in this window, or the id below the window that its tree hangs from.
    /// Halves the paths that it walks.
    #[inline(always)]
    fn find(&self, vertex: u64) -> u64 {
        let mut at = vertex;
        loop {
            if at < self.first {
                return at;
            }
            let slot = &self.parents[(at - self.first) as usize];
            let parent = u64::from(slot.load(Relaxed));
            if parent == at || parent < self.first {
                return parent;
            }
            let above = self.parents[(parent - self.first) as usize].load(Relaxed);
            if u64::from(above) == parent {
                return parent;
            }
            slot.store(above, Relaxed);
            at = u64::from(above);
        }
    }

    /// Joins two trees; `Some`: both hang below the window, from these two ids, the larger one
    /// first.
    #[inline(always)]
    fn link(&self, a: u64, b: u64) -> Option<(u64, u64)> {
        loop {
            let (a, b) = (self.find(a), self.find(b));
            if a == b {
                return None;
            }
            let (high, low) = if a > b { (a, b) } else { (b, a) };
            if high < self.first {
                return Some((high, low));
            }
            let slot = &self.parents[(high - self.first) as usize];
            if slot.compare_exchange(high as u32, low as u32, Relaxed, Relaxed).is_ok() {
                return None;
            }
        }
    }
}

/// The logs of edges for windows to come, by interval of the larger end.
struct Logs<'l> {
    spill: &'l Spill,
    /// The window of each interval, and the intervals' bounds.
    windows: &'l [u64],
}

/// A worker's edges on their way to the logs.
struct Outbox {
    batches: Vec<Vec<u8>>,
    remembered: Vec<(u32, u32)>,
}

impl Logs<'_> {
    fn outbox(&self) -> Outbox {
        Outbox {
            batches: vec![Vec::new(); self.windows.len() - 1],
            remembered: vec![(0, 0); REMEMBERED],
        }
    }

    fn push(&self, outbox: &mut Outbox, high: u64, low: u64) -> Result<()> {
        let pair = (high as u32, low as u32);
        let slot = &mut outbox.remembered
            [(high.wrapping_mul(0x9e37_79b9).wrapping_add(low) % REMEMBERED as u64) as usize];
        if *slot == pair {
            return Ok(());
        }
        *slot = pair;
        let window = self.windows.partition_point(|&bound| bound <= high) - 1;
        let batch = &mut outbox.batches[window];
        batch.extend_from_slice(&pair.0.to_le_bytes());
        batch.extend_from_slice(&pair.1.to_le_bytes());
        if batch.len() == BATCH * 8 {
            self.spill.append(window, batch).map_err(outercore_engine::EngineError::from)?;
            batch.clear();
        }
        Ok(())
    }

    fn flush(&self, outbox: &mut Outbox) -> Result<()> {
        for (window, batch) in outbox.batches.iter_mut().enumerate() {
            self.spill.append(window, batch).map_err(outercore_engine::EngineError::from)?;
            batch.clear();
        }
        Ok(())
    }
}

struct Run<'r> {
    session: &'r Session<'r>,
    scan: EdgeScan,
    /// Stored parents, by interval.
    forest: VertexArray<u32>,
    /// Bounds of the windows, which are bounds of intervals.
    windows: Vec<u64>,
    logs: Spill,
}

/// Runs within `room` bytes of memory beside what the plan counts.
pub fn run(
    graph: &Graph,
    config: &RunConfig,
    progress: &dyn RunProgress,
    plan: &Plan,
    room: u64,
) -> Result<Outcome> {
    let (session, sections) = open(graph, config, progress, &EdgeScan::sections(graph))?;
    let scan = EdgeScan::open(graph, &session, sections)?;
    let load_seconds = session.seconds();
    let (labels, roots, scans) = if config.preset == Preset::Streaming {
        let (labels, scans) = streaming::run(graph, &session, scan, room)?;
        let roots = count_roots(&labels)?;
        (labels, roots, scans)
    } else {
        let mark = session.mark();
        let (labels, roots) = union_find(graph, config, &session, scan, room)?;
        session.end_iteration(&mark, graph.connected(), "full");
        (labels, roots, 1)
    };
    let done = Done { session: &session, plan, iterations: scans, load_seconds };
    found(&done, graph, labels, roots, room)
}

/// The results of a run that left these labels; `most` bytes may be taken to find out how large the
/// largest component is.
pub fn found(
    done: &Done,
    graph: &Graph,
    labels: VertexArray<u32>,
    roots: u64,
    most: u64,
) -> Result<Outcome> {
    let largest = largest(&labels, graph.connected(), most)?.0.max(u64::from(graph.vertices() > 0));
    let mut summary = Summary::new();
    summary.insert("components", Figure::Integer(roots + graph.vertices() - graph.connected()));
    summary.insert("largest", Figure::Integer(largest));
    let column = Column {
        name: "component",
        values: labels.into(),
        isolated: Isolated::Own,
        meaning: Meaning::Vertex,
        exceptions: Vec::new(),
    };
    Ok(outcome(done, summary, vec![column], false))
}

/// Labels, each the smallest id of its component, and how many roots there are; windows of vertices
/// take at most `room` bytes.
pub fn union_find(
    graph: &Graph,
    config: &RunConfig,
    session: &Session,
    scan: EdgeScan,
    room: u64,
) -> Result<(VertexArray<u32>, u64)> {
    let bounds = scan.bounds().to_vec();
    let windows = cut(&bounds, room / 4);
    let (disk, folder) = (session.disk(), graph.scratch_folder());
    let logs = Spill::create(disk, &folder, windows.len().max(2) - 1, BATCH * 8)
        .map_err(outercore_engine::EngineError::from)?;
    let run = Run {
        session,
        scan,
        forest: VertexArray::on_scratch(&Scratch::of(session), bounds)?,
        windows,
        logs,
    };
    let roots = run.join(config)?;
    Ok((run.label()?, roots))
}

/// Vertices that are their own label.
fn count_roots(labels: &VertexArray<u32>) -> Result<u64> {
    let mut roots = 0;
    labels.for_each_interval(|first, labels| {
        roots += labels
            .iter()
            .zip(first..)
            .filter(|&(&label, vertex)| u64::from(label) == vertex)
            .count() as u64;
        Ok(())
    })?;
    Ok(roots)
}

impl Run<'_> {
    /// From the last window to the first: links all edges and stores the forest. Returns the number
    /// of roots.
    fn join(&self, config: &RunConfig) -> Result<u64> {
        let widest = self.windows.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0);
        let parents: HugeVec<AtomicU32> = HugeVec::zeroed(widest as usize, config.huge_pages)?;
        let mut roots = 0;
        for (index, pair) in self.windows.windows(2).enumerate().rev() {
            let (first, end) = (pair[0], pair[1]);
            let window = Window { first, parents: &parents[..(end - first) as usize] };
            self.session.workers.over(
                end - first,
                1 << 16,
                |_| (),
                |(), range| {
                    range.for_each(|at| {
                        window.parents[at as usize].store((first + at) as u32, Relaxed)
                    })
                },
            );
            let logs = Logs { spill: &self.logs, windows: &self.windows };
            self.edges(&window, end, &logs)?;
            self.logged(&window, index, &logs)?;
            roots += self.store(&window, end)?;
        }
        Ok(roots)
    }

    /// The edges whose larger end lies in the window.
    fn edges(&self, window: &Window, end: u64, logs: &Logs) -> Result<()> {
        if window.first == 0 && self.windows.len() == 2 {
            let link = |(): &mut (), source, target| {
                window.link(source, target);
            };
            return self.scan.for_each(self.session, |_, _| true, |_| (), link).map(drop);
        }
        let wanted = |sources: (u64, u64), targets: (u64, u64)| {
            let (least, most) = (sources.0.max(targets.0), sources.1.max(targets.1));
            most >= window.first && least < end
        };
        let states = self.scan.for_each(
            self.session,
            wanted,
            |_| (logs.outbox(), Ok(())),
            |(outbox, failed): &mut (Outbox, Result<()>), source, target| {
                let larger = source.max(target);
                if larger >= window.first
                    && larger < end
                    && let Some((high, low)) = window.link(source, target)
                    && failed.is_ok()
                {
                    *failed = logs.push(outbox, high, low);
                }
            },
        )?;
        for (mut outbox, failed) in states {
            failed?;
            logs.flush(&mut outbox)?;
        }
        Ok(())
    }

    /// The edges that windows above have left to this one.
    fn logged(&self, window: &Window, index: usize, logs: &Logs) -> Result<()> {
        let mut outbox = logs.outbox();
        let mut reader = self.logs.reader();
        for extent in self.logs.extents(index) {
            let bytes = reader.read(extent).map_err(outercore_engine::EngineError::from)?;
            self.session.counters.useful_bytes.fetch_add(bytes.len() as u64, Relaxed);
            for pair in bytes.chunks_exact(8) {
                let id = |at: usize| {
                    u64::from(u32::from_le_bytes([
                        pair[at],
                        pair[at + 1],
                        pair[at + 2],
                        pair[at + 3],
                    ]))
                };
                if let Some((high, low)) = window.link(id(0), id(4)) {
                    logs.push(&mut outbox, high, low)?;
                }
            }
        }
        logs.flush(&mut outbox)
    }

    /// Stores what every vertex of the window hangs from; returns how many roots there are.
    fn store(&self, window: &Window, end: u64) -> Result<u64> {
        let bounds = self.scan.bounds();
        let (from, to) = (
            bounds.partition_point(|&bound| bound < window.first),
            bounds.partition_point(|&bound| bound < end),
        );
        let counts = self.session.workers.over(
            (to - from) as u64,
            1,
            |_| (0u64, Ok(())),
            |(roots, failed): &mut (u64, Result<()>), range| {
                for interval in range.start as usize + from..range.end as usize + from {
                    let vertices = bounds[interval]..bounds[interval + 1];
                    let len = (vertices.end - vertices.start) as usize;
                    let stored = Block::new(len).and_then(|mut block| {
                        for (entry, vertex) in block.items(len).iter_mut().zip(vertices) {
                            let root = window.find(vertex);
                            *roots += u64::from(root == vertex);
                            *entry = root as u32;
                        }
                        self.forest.store(interval, &mut block)
                    });
                    if failed.is_ok() {
                        *failed = stored;
                    }
                }
            },
        );
        counts.into_iter().try_fold(0, |sum, (roots, failed)| failed.map(|()| sum + roots))
    }

    /// From the first window to the last: every vertex gets the label of what it hangs from.
    fn label(self) -> Result<VertexArray<u32>> {
        if self.windows.len() <= 2 {
            return Ok(self.forest);
        }
        let bounds = self.scan.bounds();
        let labels = VertexArray::on_scratch(&Scratch::of(self.session), bounds)?;
        let mut block = Block::new(labels.widest())?;
        for (window, interval) in (0..bounds.len() - 1).map(|interval| {
            (self.windows.partition_point(|&bound| bound <= bounds[interval]) - 1, interval)
        }) {
            let (first, len) =
                (self.windows[window], (bounds[interval + 1] - bounds[interval]) as usize);
            self.forest.load(interval, &mut block)?;
            let mut below: Vec<u64> =
                block.items(len).iter().map(|&id| u64::from(id)).filter(|&id| id < first).collect();
            below.sort_unstable();
            below.dedup();
            let known: HashMap<u64, u32> =
                below.iter().copied().zip(labels.gather(&below)?).collect();
            for id in block.items(len) {
                *id = known.get(&u64::from(*id)).copied().unwrap_or(*id);
            }
            labels.store(interval, &mut block)?;
        }
        Ok(labels)
    }
}

/// The size of the largest component and its label, the smallest of several: labels are counted by
/// ranges of as many as `most` bytes hold, until no range that is left can hold a larger one.
pub fn largest(labels: &VertexArray<u32>, vertices: u64, most: u64) -> Result<(u64, u64)> {
    let most = (most / 4).clamp(1 << 16, 1 << 20).min(vertices.max(1));
    let mut counts = vec![0u32; most as usize];
    let (mut largest, mut left, mut first) = ((0, 0), vertices, 0);
    while left > largest.0 {
        counts.fill(0);
        labels.for_each(|_, &label| {
            let at = u64::from(label).wrapping_sub(first);
            if at < most {
                counts[at as usize] += 1;
            }
        })?;
        for (&count, label) in counts.iter().zip(first..) {
            if u64::from(count) > largest.0 {
                largest = (u64::from(count), label);
            }
            left -= u64::from(count);
        }
        first += most;
    }
    Ok(largest)
}
