//! `gorder`: Graph Ordering (Wei, Yu, Lu and Lin, SIGMOD'16). The next vertex is the one that has
//! most in common with the last few: an edge to or from them counts one, and so does each vertex
//! that leads to both.
//!
//! As in its authors' program, a vertex with more outgoing edges than the square root of the number
//! of vertices is passed over: it leads to everything, and following it for each of its neighbors
//! takes the square of its degree. The first vertex is that of the largest in-degree, and where
//! nothing has anything in common, the next by in-degree follows. Of equals, the last to get its
//! score.
//!
//! All lists of both directions are in memory.

use outercore_caches::Lists;
use outercore_graph::{Direction, GraphError, Result};

use crate::{Finder, heap::UnitHeap};

/// The lists that are followed.
struct Neighbors<'g> {
    outgoing: Lists<'g>,
    /// `None`: they are the same.
    incoming: Option<Lists<'g>>,
    /// Longer lists are not followed.
    longest: u32,
}

impl<'g> Neighbors<'g> {
    fn open(finder: &Finder<'g>) -> Result<Self> {
        let open = |direction| {
            let mut lists = Lists::open(finder.graph, direction, finder.threads)?;
            lists.keep()?;
            Ok::<_, GraphError>(lists)
        };
        Ok(Self {
            outgoing: open(Direction::Out)?,
            incoming: finder.graph.directed().then(|| open(Direction::In)).transpose()?,
            longest: finder.graph.connected().isqrt().max(2) as u32,
        })
    }

    /// Hands every vertex to `change` that has something in common with `vertex`, once for each
    /// thing.
    fn near(&self, vertex: u32, mut change: impl FnMut(u32)) -> Result<()> {
        let (outgoing, incoming) =
            (&self.outgoing, self.incoming.as_ref().unwrap_or(&self.outgoing));
        let is_followed = |vertex| outgoing.degree(vertex) <= self.longest;
        if self.incoming.is_some() && is_followed(vertex) {
            outgoing.each(outgoing.kept(vertex), &mut change)?;
        }
        let mut wrong = Ok(());
        incoming.each(incoming.kept(vertex), |middle| {
            if is_followed(middle) {
                change(middle);
                let followed = outgoing.each(outgoing.kept(middle), &mut change);
                wrong = std::mem::replace(&mut wrong, Ok(())).and(followed);
            }
        })?;
        wrong
    }
}

impl Finder<'_> {
    /// The connected vertices by what they have in common.
    pub fn gorder(&self) -> Result<Vec<u32>> {
        let vertices = self.graph.connected();
        let mut heap = UnitHeap::new(&self.descending(&self.in_degrees()?)?);
        let neighbors = Neighbors::open(self)?;
        let mut order: Vec<u32> = Vec::with_capacity(vertices as usize);
        let window = usize::try_from(self.means.window).unwrap_or(usize::MAX);
        self.progress.stage("finding the order", Some(vertices));
        while let Some(vertex) = heap.take() {
            if let Some(at) = order.len().checked_sub(window) {
                neighbors.near(order[at], |other| heap.lose(other))?;
            }
            neighbors.near(vertex, |other| heap.gain(other))?;
            order.push(vertex);
            if order.len().is_multiple_of(1024) {
                self.progress.advance(1024);
                self.progress.check()?;
            }
        }
        Ok(order)
    }
}
