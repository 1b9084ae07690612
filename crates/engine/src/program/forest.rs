//! Sets of vertices that edges join: union-find over one scan of all edges.
//!
//! Every vertex has a parent with a smaller id, or is the root of its tree. A link hangs the larger
//! of two roots under the smaller one by compare-and-swap (Shiloach and Vishkin's hooking, as in
//! GAPBS), so a set ends up named by its smallest vertex.
//!
//! Parents are in memory by windows, from the last one to the first:
//!
//! ```text
//!  0          first        end            n
//!  |  below    |  window    |  done       |
//!       ^------- parents ---+
//! ```
//!
//! The window takes every edge whose larger end lies in it. A parent may lie below the window. An
//! edge between two trees that both hang from below waits for the window of the larger of the two
//! vertices from which they hang. At last labels are looked up from the first window to the last.
//! There is one window, and so one scan that leaves nothing to wait, where the parents are in
//! memory, or where 4 bytes for each vertex fit.

use std::{
    ops::Range,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
};

use outercore_storage::Pod;

use super::edge_scan::Edges;
use crate::{
    exchange::{Exchange, Record},
    session::Session,
    state::{VertexArray, Window},
};
use outercore_graph::Result;

/// Vertices of a part in parallel steps.
const PART: u64 = 1 << 16;
/// Vertices that are looked at to find the largest tree.
const SAMPLE: u64 = 1 << 10;

/// The other end of an edge that waits: a vertex with a smaller id.
#[repr(transparent)]
#[derive(Clone, Copy)]
struct Lower(u32);

// SAFETY: a transparent wrapper of a number.
unsafe impl Pod for Lower {}

impl Record for Lower {
    const REMEMBERED: usize = 1 << 12;

    #[inline(always)]
    fn covers(&self, later: &Self) -> bool {
        self.0 == later.0
    }

    #[inline(always)]
    fn place(&self, vertex: u64) -> u64 {
        vertex.wrapping_mul(0x9e37_79b9).wrapping_add(u64::from(self.0))
    }
}

/// The trees of a window of vertices; with `WHOLE`, it has all of them.
#[derive(Clone, Copy)]
pub struct Trees<'w, const WHOLE: bool> {
    first: u32,
    parents: &'w [AtomicU32],
}

impl<'w, const WHOLE: bool> Trees<'w, WHOLE> {
    /// Every vertex of the window a tree of its own.
    fn alone(session: &Session, window: &'w Window<u32>) -> Self {
        let trees = Self { first: window.vertices.start as u32, parents: window.cells() };
        trees.each(session, |vertex| trees.cell(vertex).store(vertex, Relaxed));
        trees
    }

    /// Hands every vertex of the window to `visit`, on all workers.
    fn each(&self, session: &Session, visit: impl Fn(u32) + Sync) {
        let len = self.parents.len() as u64;
        session.workers.each(len, PART, |range| {
            range.for_each(|at| visit(self.first + at as u32));
        });
    }

    #[inline(always)]
    fn cell(&self, vertex: u32) -> &AtomicU32 {
        &self.parents[if WHOLE { vertex } else { vertex - self.first } as usize]
    }

    /// The parent of a vertex; a root is its own, and so is what lies below the window.
    #[inline(always)]
    fn parent(&self, vertex: u32) -> u32 {
        if !WHOLE && vertex < self.first { vertex } else { self.cell(vertex).load(Relaxed) }
    }

    /// Joins the trees of `a` and `b`; `Some`: both hang from below the window, from these two
    /// vertices, the larger one first.
    #[inline(always)]
    pub fn link(&self, a: u32, b: u32) -> Option<(u32, u32)> {
        let (mut a, mut b) = (self.parent(a), self.parent(b));
        while a != b {
            let (high, low) = if a > b { (a, b) } else { (b, a) };
            if !WHOLE && high < self.first {
                return Some((high, low));
            }
            let parent = self.parent(high);
            if parent == low
                || (parent == high
                    && self.cell(high).compare_exchange(high, low, Relaxed, Relaxed).is_ok())
            {
                return None;
            }
            a = self.parent(self.parent(high));
            b = self.parent(low);
            if !WHOLE {
                // The path is halved: windows are scanned again and again.
                self.cell(high).store(a, Relaxed);
            }
        }
        None
    }

    /// The root of a vertex's tree, or the vertex below the window from which the tree hangs. The
    /// vertex is hung there.
    #[inline(always)]
    pub fn root(&self, vertex: u32) -> u32 {
        let first = self.parent(vertex);
        let mut root = first;
        loop {
            let parent = self.parent(root);
            if parent == root {
                break;
            }
            root = parent;
        }
        if root != first {
            self.cell(vertex).store(root, Relaxed);
        }
        root
    }
}

impl Trees<'_, true> {
    /// A vertex of the largest tree, as far as a sample tells which that is.
    pub fn of_the_largest(&self) -> u32 {
        let len = self.parents.len() as u64;
        let count = SAMPLE.min(len);
        let mut sample: Vec<u32> =
            (0..count).map(|at| self.root((at * len / count) as u32)).collect();
        sample.sort_unstable();
        sample.chunk_by(|a, b| a == b).max_by_key(|group| group.len()).map_or(0, |group| group[0])
    }
}

/// Makes `labels` the label of every vertex, the smallest vertex of its set. Windows of labels that
/// are on scratch take at most `room` bytes. Where all trees are in memory together, `before` may
/// link some of them; `true`: nothing is left for a scan.
pub fn join(
    session: &Session,
    edges: &Edges,
    labels: VertexArray<u32>,
    room: u64,
    before: impl FnOnce(Trees<true>) -> Result<bool>,
) -> Result<VertexArray<u32>> {
    if labels.len() == 0 {
        return Ok(labels);
    }
    let mut window = Window::of(labels, room / 4, session.config.huge_pages)?;
    if window.windows.len() > 2 {
        return by_windows(session, edges, window);
    }
    window.turn_to(0)?;
    let trees = Trees::<true>::alone(session, &window);
    if !before(trees)? {
        edges.for_each(session, |source, target| {
            trees.link(source as u32, target as u32);
        })?;
    }
    trees.each(session, |vertex| _ = trees.root(vertex));
    window.give_back()
}

/// From the last window to the first: links all edges, and stores what every vertex hangs from.
fn by_windows(
    session: &Session,
    edges: &Edges,
    mut window: Window<u32>,
) -> Result<VertexArray<u32>> {
    let exchange = Exchange::<Lower>::new(session, &window.windows)?;
    for index in (0..window.windows.len() - 1).rev() {
        window.turn_to(index)?;
        let trees = Trees::<false>::alone(session, &window);
        let Range { start: first, end } = window.vertices;
        let senders = edges.for_some(
            session,
            |sources, targets| sources.0.max(targets.0) < end && sources.1.max(targets.1) >= first,
            |_| exchange.sender(),
            |sender, source, target| {
                if window.has(source.max(target))
                    && let Some((high, low)) = trees.link(source as u32, target as u32)
                {
                    exchange.send(sender, high.into(), Lower(low));
                }
            },
        )?;
        exchange.collect(senders)?;
        let mut sender = exchange.sender();
        exchange.drain(index, |high, low| {
            if let Some((high, low)) = trees.link(high as u32, low.0) {
                exchange.send(&mut sender, high.into(), Lower(low));
            }
        })?;
        exchange.collect([sender])?;
        trees.each(session, |vertex| _ = trees.root(vertex));
    }
    let labels = window.give_back()?;
    look_up(&labels, &exchange.bounds)?;
    Ok(labels)
}

/// From the first window to the last: every vertex gets the label of what it hangs from.
fn look_up(labels: &VertexArray<u32>, windows: &[u64]) -> Result<()> {
    let mut block = labels.block()?;
    for interval in 0..labels.intervals() {
        let begun = labels.bounds()[interval];
        let first = windows[windows.partition_point(|&bound| bound <= begun) - 1] as u32;
        if first == 0 {
            continue;
        }
        labels.update(interval, &mut block, |vertices| -> Result<()> {
            let below = vertices.iter().filter(|&&from| from < first);
            let mut below: Vec<u64> = below.map(|&from| from.into()).collect();
            below.sort_unstable();
            below.dedup();
            let known = labels.gather(&below)?;
            for from in vertices.iter_mut().filter(|from| **from < first) {
                let at = below.partition_point(|&vertex| vertex < u64::from(*from));
                *from = known[at];
            }
            Ok(())
        })??;
    }
    Ok(())
}

/// The sets that labels name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sets {
    /// How many there are.
    pub count: u64,
    /// How many vertices the largest one has.
    pub largest: u64,
    /// Its label; of several that are as large, the smallest.
    pub label: u64,
}

impl Sets {
    /// Counts vertices by ranges of labels, as many as `room` bytes hold, until no range that is
    /// left can have a larger set.
    pub fn of(labels: &VertexArray<u32>, room: u64) -> Result<Self> {
        let vertices = labels.len() as u64;
        let most = (room / 4).max(1 << 16).min(vertices);
        let mut sizes = vec![0u32; most as usize];
        let (mut sets, mut left, mut first) = (Self::default(), vertices, 0);
        while left > sets.largest {
            sizes.fill(0);
            labels.for_each(|vertex, &label| {
                sets.count += u64::from(first == 0 && u64::from(label) == vertex);
                if let Some(size) = sizes.get_mut(u64::from(label).wrapping_sub(first) as usize) {
                    *size += 1;
                }
            })?;
            for (&size, label) in sizes.iter().zip(first..) {
                if u64::from(size) > sets.largest {
                    (sets.largest, sets.label) = (size.into(), label);
                }
                left -= u64::from(size);
            }
            first += most;
        }
        Ok(sets)
    }
}
