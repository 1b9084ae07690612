//! Sets of vertices that edges join: union-find over one scan of all edges.
//!
//! Every vertex has a parent with a smaller id, or is the root of its tree ([`Trees`]): a set ends
//! up named by its smallest vertex. Parents are in memory by windows, from the last one to the
//! first:
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
//! memory, or where 4 bytes for each vertex fit. That scan passes by what lies between vertices
//! of one tree.

use std::ops::Range;

use outercore_storage::{Joined, Pod, Trees};

use super::edge_scan::{Edges, SomeEdges};
use crate::{
    config::ReadPolicy,
    exchange::{Exchange, Record},
    session::Session,
    state::{VertexArray, Window},
};
use outercore_graph::{Direction, Result};

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
    let trees = Trees::<true>::alone(&session.workers, 0, window.cells());
    if !before(trees)? {
        let all = session.config.read == ReadPolicy::Full || !session.graph.has_whole_grid();
        let joined = Joined::new(trees);
        edges.for_some(
            session,
            |from, to| all || !joined.has([from, to]),
            |_| (),
            |(), source, target| _ = trees.link(source as u32, target as u32),
        )?;
    }
    trees.flatten(&session.workers);
    window.give_back()
}

/// Links all vertices that have edges with each other by first neighbors, and then by the lists of
/// vertices outside of the largest set (Afforest; Sutton, Ben-Nun and Barak, IPDPS'18), if that
/// reads at most so many bytes of outgoing lists; `false`: edges are left to be looked at.
pub fn sample(session: &Session, some: SomeEdges, trees: Trees<true>, most: u64) -> Result<bool> {
    let link = |vertex, neighbor| _ = trees.link(vertex as u32, neighbor as u32);
    some.first_neighbors(session, link)?;
    // A vertex in this one's set needs no list: the same set for both directions, or an edge from
    // one that was left out to one that is could be missed.
    let member = trees.of_the_largest();
    let mut outside = session.no_vertices()?;
    outside.fill();
    let width = u64::from(session.graph.manifest().neighbor_bytes);
    for direction in [Direction::Out, Direction::In] {
        let within = trees.root(member);
        outside.retain(&session.workers, |vertex| trees.root(vertex as u32) != within);
        // An undirected graph has all edges in one direction.
        if outside.is_empty() || session.graph.rows(direction) != Some(direction) {
            break;
        }
        let lists = some.lists(session, direction)?;
        let lists = lists.all(session);
        let edges = lists.edges_of(&outside);
        if direction == Direction::Out && edges * width > most {
            return Ok(false);
        }
        lists.for_each(
            edges,
            |group| outside.word(group),
            |_| (),
            |(), vertex, list| list.neighbors().for_each(|other| link(vertex, other)),
        )?;
    }
    Ok(true)
}

/// From the last window to the first: links all edges, and stores what every vertex hangs from.
fn by_windows(
    session: &Session,
    edges: &Edges,
    mut window: Window<u32>,
) -> Result<VertexArray<u32>> {
    let exchange = Exchange::<Lower>::new(session, &window.windows, 0)?;
    for index in (0..window.windows.len() - 1).rev() {
        window.turn_to(index)?;
        let Range { start: first, end } = window.vertices;
        let trees = Trees::<false>::alone(&session.workers, first, window.cells());
        exchange.collect(edges.for_some(
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
        )?)?;
        let mut sender = exchange.sender();
        exchange.drain(index, |high, low| {
            if let Some((high, low)) = trees.link(high as u32, low.0) {
                exchange.send(&mut sender, high.into(), Lower(low));
            }
        })?;
        exchange.collect([sender])?;
        trees.flatten(&session.workers);
    }
    let labels = window.give_back()?;
    look_up(&labels, exchange.bounds())?;
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
            let below = vertices.iter().filter(|&&from| from < first).map(|&from| from.into());
            let mut below = Vec::from_iter(below);
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
    /// Counts vertices by ranges of labels, until no range that is left can have a larger set: a
    /// few first, where the largest mostly is, and then as many as `room` bytes hold.
    pub fn of(labels: &VertexArray<u32>, room: u64) -> Result<Self> {
        let vertices = labels.len() as u64;
        let (mut most, mut sizes) = (1 << 16, Vec::new());
        let (mut sets, mut left, mut first) = (Self::default(), vertices, 0);
        while left > sets.largest {
            sizes.clear();
            sizes.resize(vertices.min(most) as usize, 0u32);
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
            most = most.max(room / 4);
        }
        Ok(sets)
    }
}
