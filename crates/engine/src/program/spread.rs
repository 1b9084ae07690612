//! Sets of vertices that edges join, as a plain streaming system finds them (GridGraph,
//! ATC'15). The smaller label spreads along every edge, both ways, in scan after scan of all edges,
//! until a scan changes nothing. What a scan finds counts from the next one on, so the number of
//! scans is the same on any number of threads. The yardstick of `--preset streaming`.
//!
//! A vertex has a pair of labels in one number: in the upper half the one that this scan found, in
//! the lower half the one with which the scan began. Two windows of pairs are in memory. A scan
//! takes the edges within each window, and those between each two.

use std::sync::Arc;

use super::edge_scan::Edges;
use crate::{
    plan::Planner,
    report::ReadMode,
    session::Session,
    state::{VertexArray, Window},
};
use outercore_graph::Result;

/// States what [`labels`] takes.
pub fn declare(planner: &mut Planner) -> Result<()> {
    let graph = planner.job.graph;
    // Two windows, pairs and labels, and blocks of each.
    let least = 6 * Window::<u64>::SMALLEST + VertexArray::<u64>::memory_of(graph)?;
    planner.memory("labels at hand", [graph.connected() * 16, least]);
    planner.scratch(graph.connected() * 8);
    Ok(())
}

/// Makes `labels` the label of every vertex, the smallest vertex of its set; returns the number of
/// scans. Windows of labels that are on scratch take at most `room` bytes.
pub fn labels(
    session: &Session,
    edges: &Edges,
    labels: VertexArray<u32>,
    room: u64,
) -> Result<(VertexArray<u32>, u64)> {
    if labels.len() == 0 {
        return Ok((labels, 0));
    }
    let pairs = Arc::new(VertexArray::<u64>::of(session)?);
    let mut block = pairs.block()?;
    for interval in 0..pairs.intervals() {
        let vertices = pairs.bounds()[interval]..;
        pairs.write(interval, &mut block, |items| {
            items.iter_mut().zip(vertices).for_each(|(pair, vertex)| *pair = vertex << 32 | vertex);
        })?;
    }
    let most = if session.decision.is_external() { room / 16 } else { u64::MAX };
    let window = || Window::over(&pairs, most, session.config.huge_pages);
    let (mut windows, mut scans, mut changed) = ([window()?, window()?], 0, true);
    while changed {
        let mark = session.mark();
        scan(session, edges, &mut windows)?;
        changed = false;
        for interval in 0..pairs.intervals() {
            pairs.update(interval, &mut block, |items| {
                for pair in items {
                    let found = *pair >> 32;
                    changed |= found < u64::from(*pair as u32);
                    *pair = found << 32 | found;
                }
            })?;
        }
        scans += 1;
        session.end_iteration(&mark, session.graph.connected(), ReadMode::Full);
    }
    let mut to = labels.block()?;
    for interval in 0..pairs.intervals() {
        pairs.read(interval, &mut block, |pairs| {
            labels.write(interval, &mut to, |labels| {
                labels.iter_mut().zip(pairs).for_each(|(label, &pair)| *label = pair as u32);
            })
        })??;
    }
    Ok((labels, scans))
}

/// Every edge once: lowers what its ends found.
fn scan(session: &Session, edges: &Edges, [a, b]: &mut [Window<u64>; 2]) -> Result<()> {
    let count = a.windows.len() - 1;
    for first in 0..count {
        a.bring(first)?;
        along(session, edges, [a, a])?;
        for second in first + 1..count {
            b.bring(second)?;
            along(session, edges, [a, b])?;
        }
        a.put_away()?;
        b.put_away()?;
    }
    Ok(())
}

/// The edges that have an end in each of two windows.
fn along(session: &Session, edges: &Edges, [a, b]: [&Window<u64>; 2]) -> Result<()> {
    let meets = |window: &Window<u64>, (first, last)| {
        first < window.vertices.end && last >= window.vertices.start
    };
    let wanted = |sources, targets| {
        meets(a, sources) && meets(b, targets) || meets(b, sources) && meets(a, targets)
    };
    let visit = |(): &mut (), source, target| {
        let [x, y] = if a.has(source) && b.has(target) { [a, b] } else { [b, a] };
        if x.has(source) && y.has(target) {
            let [from, to] = [x.load(source), y.load(target)].map(|pair| u64::from(pair as u32));
            if from < to {
                y.lower(target, from << 32 | to);
            } else if to < from {
                x.lower(source, to << 32 | from);
            }
        }
    };
    edges.for_some(session, wanted, |_| (), visit).map(drop)
}
