//! Orders of vertices that are found in a graph: one file each. (Those that are a matter of degrees
//! and ids alone are the builder's, in `graph/order`.)
//!
//! - [`reorder()`]: writes a graph once more, in another order; [`build()`]: builds in any order.
//! - `in_degree`, `pagerank`, `random`, `bfs`, `norder`, `gorder`, `hubs_norder`,
//!   `hubs_bfs`: the orders.
//! - `search`: what visits along the lists of a graph, in memory or read ahead.
//! - `heap`: what finds the vertex that fits best, for `gorder`.
//! - `degrees`, `sorting`: how many edges lead where, and vertices in descending order of that.
//! - `room`: what the budget leaves, and the smallest one.
//! - [`settings`]: [`OrderSettings`], what can be asked for by name.
//!
//! A finder returns vertices by place. Ranks get their places at the end, in one pass
//! over the table of ids.

mod bfs;
mod degrees;
mod gorder;
mod heap;
mod hubs_bfs;
mod hubs_norder;
mod in_degree;
mod norder;
mod pagerank;
mod random;
mod room;
mod search;
pub mod settings;
mod sorting;

use std::path::Path;

use outercore_graph::{
    AtMost, BuildOptions, BuildProgress, Find, Graph, Order, Places, Result, build_in_order,
    format::Manifest, input::EdgeSource,
};
use outercore_storage::Disk;

pub use self::settings::{Means, OrderSettings};
use self::{room::Sizes, search::Breadth};

/// An order that is to be found in a graph, and what there is for it.
struct Finder<'a> {
    graph: &'a Graph,
    means: Means,
    /// The budget.
    memory: u64,
    threads: usize,
    progress: &'a dyn BuildProgress,
}

/// Writes `graph` once more, at `output`, with its vertices in the order of `options`. All else
/// stays as it is: original ids, weights, direction, vertices without edges. Afterwards it is there
/// whole, or `output` is as it was.
pub fn reorder(
    graph: &Graph,
    output: &Path,
    options: &BuildOptions,
    means: Means,
    progress: &dyn BuildProgress,
) -> Result<Manifest> {
    let find = Finding { options, means, progress };
    outercore_graph::reorder(graph, output, options, &find, progress)
}

/// Builds the graph of `source` at `output` in any order. Where the order is found in a graph, the
/// graph is built twice: first by original ids, without tiles, among the scratch files.
pub fn build(
    disk: &Disk,
    source: &dyn EdgeSource,
    output: &Path,
    options: &BuildOptions,
    progress: &dyn BuildProgress,
) -> Result<Manifest> {
    if !options.order.is_found() {
        return outercore_graph::build(disk, source, output, options, progress);
    }
    let find = Finding { options, means: Means::default(), progress };
    build_in_order(disk, source, output, options, &find, progress)
}

/// An order that is to be found, in some graph.
struct Finding<'a> {
    options: &'a BuildOptions,
    means: Means,
    progress: &'a dyn BuildProgress,
}

impl Find for Finding<'_> {
    fn least(&self, graph: &Graph) -> Result<u64> {
        room::smallest(graph, self.options.order)
    }

    fn certain(&self, most: AtMost) -> u64 {
        Sizes::at_most(most).certain(self.options.order)
    }

    fn find(&self, graph: &Graph, places: &mut Places) -> Result<()> {
        let Finding { options: &BuildOptions { order, memory, threads, .. }, means, progress } =
            *self;
        outercore_storage::memory::give_back_freed_memory();
        progress.stage("finding the order", None);
        let finder = Finder { graph, means, memory, threads, progress };
        match order {
            Order::Random => finder.random(places),
            order => {
                let vertices = finder.vertices(order)?;
                finder.write(vertices, places)
            }
        }
    }
}

impl Finder<'_> {
    /// The connected vertices by place.
    fn vertices(&self, order: Order) -> Result<Vec<u32>> {
        match order {
            Order::InDegree => self.by_in_degree(),
            Order::PageRank => self.by_pagerank(),
            Order::Norder => self.norder(),
            Order::Gorder => self.gorder(),
            Order::Bfs => self.search(Breadth::All),
            Order::HubsNorder => self.hubs_norder(),
            Order::HubsBfs => self.hubs_bfs(),
            Order::Degree | Order::Original | Order::Random => {
                unreachable!("these are found in no graph, or without an array")
            }
        }
    }

    /// Writes the place of each rank.
    fn write(&self, vertices: Vec<u32>, places: &mut Places) -> Result<()> {
        let connected = self.graph.connected();
        debug_assert_eq!(vertices.len() as u64, connected);
        let mut place_of = vec![0u32; vertices.len()];
        for (place, vertex) in (0..).zip(vertices) {
            place_of[vertex as usize] = place;
        }
        let mut isolated = connected;
        self.for_each_rank(|vertex| {
            let place = place_of.get(vertex as usize).map(|&place| u64::from(place));
            places.push(place.unwrap_or_else(|| {
                isolated += 1;
                isolated - 1
            }))
        })
    }

    /// Hands out the vertex of every rank, in order.
    fn for_each_rank(&self, mut visit: impl FnMut(u64) -> Result<()>) -> Result<()> {
        const BATCH: usize = 1 << 16;
        self.graph.for_each_rank(BATCH, &mut |vertices| {
            self.progress.check()?;
            vertices.iter().try_for_each(|&vertex| visit(vertex))
        })
    }
}
