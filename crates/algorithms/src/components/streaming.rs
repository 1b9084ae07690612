//! Components as a plain grid-streaming system finds them (GridGraph, ATC'15): the smallest label
//! spreads along all edges, in both directions, in scan after scan of all edges, until a scan
//! changes nothing; what a scan finds counts from the next one on. Two windows of labels are in
//! memory. The yardstick of `--preset streaming`.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

use outercore_engine::{
    HugeVec, Result, RunConfig,
    external::{
        array::{Block, DiskArray},
        stored::Stored,
    },
    session::Session,
};
use outercore_graph::Graph;

use super::external::cut;
use crate::edges::EdgeScan;

/// Labels of a range of vertices: those of the last scan, and those that this one finds.
struct Window {
    first: u64,
    end: u64,
    labels: HugeVec<u32>,
    next: HugeVec<AtomicU32>,
}

impl Window {
    fn new(most: u64, config: &RunConfig) -> Result<Self> {
        let huge = config.huge_pages;
        Ok(Self {
            first: 0,
            end: 0,
            labels: HugeVec::zeroed(most as usize, huge)?,
            next: HugeVec::zeroed(most as usize, huge)?,
        })
    }

    fn has(&self, vertex: u64) -> bool {
        (self.first..self.end).contains(&vertex)
    }

    fn label(&self, vertex: u64) -> u32 {
        self.labels[(vertex - self.first) as usize]
    }

    fn next(&self, vertex: u64) -> &AtomicU32 {
        &self.next[(vertex - self.first) as usize]
    }
}

struct Streaming<'s> {
    session: &'s Session<'s>,
    scan: EdgeScan,
    /// Labels of the last scan, and what this one has found.
    stored: [DiskArray<u32>; 2],
    bounds: Vec<u64>,
}

/// The label of each vertex, the smallest id of its component; and how many scans that took.
pub fn run(
    graph: &Graph,
    session: &Session,
    scan: EdgeScan,
    room: u64,
) -> Result<(Stored<u32>, u64)> {
    let bounds = scan.bounds().to_vec();
    let windows = cut(&bounds, room / 16);
    let widest = windows.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0);
    let (mut a, mut b) = (
        Window::new(widest, session.config)?,
        Window::new(if windows.len() > 2 { widest } else { 0 }, session.config)?,
    );
    let array = || DiskArray::create(session.disk(), &graph.scratch_folder(), &bounds);
    let streaming = Streaming { session, scan, stored: [array()?, array()?], bounds };
    streaming.begin()?;
    let mut scans = 0;
    loop {
        let mark = session.mark();
        let changed = AtomicBool::new(false);
        for (index, first) in windows.windows(2).enumerate() {
            streaming.load(&mut a, first)?;
            streaming.spread(&a, None, &changed)?;
            for second in windows[index + 1..].windows(2) {
                streaming.load(&mut b, second)?;
                streaming.spread(&a, Some(&b), &changed)?;
                streaming.store(&b, &streaming.stored[1..])?;
            }
            // Nothing in this scan comes back to this window.
            streaming.store(&a, &streaming.stored)?;
        }
        scans += 1;
        session.end_iteration(&mark, graph.connected(), "full");
        if !changed.into_inner() {
            let [labels, _] = streaming.stored;
            return Ok((Stored::new(labels, streaming.bounds)?, scans));
        }
    }
}

impl Streaming<'_> {
    /// Every vertex is its own label.
    fn begin(&self) -> Result<()> {
        let mut block = Block::new(
            self.bounds.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0) as usize,
        )?;
        for (interval, pair) in self.bounds.windows(2).enumerate() {
            let len = (pair[1] - pair[0]) as usize;
            block
                .items(len)
                .iter_mut()
                .zip(pair[0]..)
                .for_each(|(label, vertex)| *label = vertex as u32);
            self.stored.iter().try_for_each(|array| {
                array.store(&self.session.counters, interval, len, &mut block)
            })?;
        }
        Ok(())
    }

    fn intervals(&self, first: u64, end: u64) -> impl Iterator<Item = (usize, u64, usize)> + '_ {
        let from = self.bounds.partition_point(|&bound| bound < first);
        let pairs = self
            .bounds
            .windows(2)
            .enumerate()
            .skip(from)
            .take_while(move |(_, pair)| pair[0] < end);
        pairs.map(|(interval, pair)| (interval, pair[0], (pair[1] - pair[0]) as usize))
    }

    fn load(&self, window: &mut Window, bounds: &[u64]) -> Result<()> {
        (window.first, window.end) = (bounds[0], bounds[1]);
        let mut block = Block::new(1 << 17)?;
        for (interval, first, len) in self.intervals(window.first, window.end) {
            let at = (first - window.first) as usize;
            self.stored[0].load(&self.session.counters, interval, len, &mut block)?;
            window.labels[at..at + len].copy_from_slice(block.items(len));
            self.stored[1].load(&self.session.counters, interval, len, &mut block)?;
            block
                .items(len)
                .iter()
                .zip(first..)
                .for_each(|(&label, vertex)| window.next(vertex).store(label, Relaxed));
        }
        Ok(())
    }

    /// Stores what this scan has found.
    fn store(&self, window: &Window, arrays: &[DiskArray<u32>]) -> Result<()> {
        let mut block = Block::new(1 << 17)?;
        for (interval, first, len) in self.intervals(window.first, window.end) {
            block
                .items(len)
                .iter_mut()
                .zip(first..)
                .for_each(|(label, vertex)| *label = window.next(vertex).load(Relaxed));
            arrays.iter().try_for_each(|array| {
                array.store(&self.session.counters, interval, len, &mut block)
            })?;
        }
        Ok(())
    }

    /// Along the edges inside a window, or between two.
    fn spread(&self, a: &Window, b: Option<&Window>, changed: &AtomicBool) -> Result<()> {
        let meets =
            |window: &Window, range: (u64, u64)| range.0 < window.end && range.1 >= window.first;
        let other = b.unwrap_or(a);
        let wanted = |sources, targets| {
            (meets(a, sources) && meets(other, targets))
                || (meets(other, sources) && meets(a, targets))
        };
        let lower = |label: &AtomicU32, to: u32| {
            if label.load(Relaxed) > to && label.fetch_min(to, Relaxed) > to {
                changed.store(true, Relaxed);
            }
        };
        let visit = |(): &mut (), source, target| {
            let (from, to) = match b {
                None if a.has(source) && a.has(target) => (a, a),
                Some(b) if a.has(source) && b.has(target) => (a, b),
                Some(b) if b.has(source) && a.has(target) => (b, a),
                _ => return,
            };
            lower(to.next(target), from.label(source));
            lower(from.next(source), to.label(target));
        };
        self.scan.for_each(self.session, wanted, |_| (), visit)?;
        Ok(())
    }
}
