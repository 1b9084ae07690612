//! Components as a plain grid-streaming system finds them (GridGraph, ATC'15): the smallest label
//! spreads along all edges, in both directions, in scan after scan of all edges, until a scan
//! changes nothing; what a scan finds counts from the next one on. Two windows of labels are in
//! memory. The yardstick of `--preset streaming`.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

use outercore_engine::{
    HugePages, Result,
    session::Session,
    state::{Scratch, VertexArray, Window, cut},
};
use outercore_graph::Graph;

use crate::edges::EdgeScan;

/// A window of vertices: their labels of the last scan, and those that this one finds.
struct Labels {
    old: Window<u32>,
    new: Window<u32>,
}

impl Labels {
    /// Room for `most` vertices.
    fn of([old, new]: &mut [VertexArray<u32>; 2], most: u64, huge: HugePages) -> Result<Self> {
        Ok(Self { old: Window::of(old, most, huge)?, new: Window::of(new, most, huge)? })
    }

    fn load(&mut self, [old, new]: &[VertexArray<u32>; 2], bounds: &[u64]) -> Result<()> {
        self.old.load(old, bounds[0]..bounds[1])?;
        self.new.load(new, bounds[0]..bounds[1])
    }

    fn has(&self, vertex: u64) -> bool {
        self.old.has(vertex)
    }

    fn meets(&self, range: (u64, u64)) -> bool {
        range.0 < self.old.vertices().end && range.1 >= self.old.vertices().start
    }
}

/// The label of each vertex, the smallest id of its component; and how many scans that took.
pub fn run(
    graph: &Graph,
    session: &Session,
    scan: EdgeScan,
    room: u64,
) -> Result<(VertexArray<u32>, u64)> {
    let (bounds, huge) = (scan.bounds(), session.config.huge_pages);
    let windows = cut(bounds, room / 16);
    let widest = windows.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0);
    let scratch = Scratch::of(session);
    let array = || VertexArray::on_scratch(&scratch, bounds);
    // Labels of the last scan, and what this one has found.
    let mut stored = [array()?, array()?];
    let mut a = Labels::of(&mut stored, widest, huge)?;
    let mut b = Labels::of(&mut stored, if windows.len() > 2 { widest } else { 0 }, huge)?;
    stored.iter().try_for_each(|array| array.fill(|vertex| vertex as u32))?;
    let mut scans = 0;
    loop {
        let mark = session.mark();
        let changed = AtomicBool::new(false);
        for (index, first) in windows.windows(2).enumerate() {
            a.load(&stored, first)?;
            spread(session, &scan, &a, None, &changed)?;
            for second in windows[index + 1..].windows(2) {
                b.load(&stored, second)?;
                spread(session, &scan, &a, Some(&b), &changed)?;
                b.new.store(&stored[1])?;
            }
            // Nothing in this scan comes back to this window.
            stored.iter().try_for_each(|array| a.new.store(array))?;
        }
        scans += 1;
        session.end_iteration(&mark, graph.connected(), "full");
        if !changed.into_inner() {
            let [labels, _] = stored;
            return Ok((labels, scans));
        }
    }
}

/// Along the edges inside a window, or between two.
fn spread(
    session: &Session,
    scan: &EdgeScan,
    a: &Labels,
    b: Option<&Labels>,
    changed: &AtomicBool,
) -> Result<()> {
    let other = b.unwrap_or(a);
    let wanted = |sources, targets| {
        (a.meets(sources) && other.meets(targets)) || (other.meets(sources) && a.meets(targets))
    };
    let lower = |labels: &Labels, vertex, to: &AtomicU32| {
        if labels.new.lower(vertex, to.load(Relaxed)) {
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
        lower(to, target, from.old.cell(source));
        lower(from, source, to.old.cell(target));
    };
    scan.for_each(session, wanted, |_| (), visit)?;
    Ok(())
}
