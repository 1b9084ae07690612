//! What can be asked of an order by name, and the means that it is found with.

use std::path::Path;

use outercore_graph::{BuildOptions, Graph, GridPartition, Layout, Order, Result, error::refuse};
use outercore_storage::{Disk, Resources, settings};

/// What orders are found with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Means {
    /// Places of `gorder`'s window.
    pub window: u64,
    /// The seed of `random`.
    pub seed: u64,
}

impl Default for Means {
    fn default() -> Self {
        Self { window: 5, seed: 1 }
    }
}

settings! {
    /// How a graph is written in another order.
    pub struct OrderSettings {
        /// Places before a vertex with which `gorder` compares it.
        window: Option<u64> = ("window", "N", "5"),
        /// The seed of the order `random`.
        seed: Option<u64> = ("seed", "N", "1"),
        /// Keep the incoming edges of each vertex too.
        transpose: Option<bool> = ("transpose", "TRANSPOSE", "as the graph"),
        /// How the grid is cut, by targets and by sources.
        partition: Option<GridPartition> = ("partition", "HOW", "balanced"),
        /// How the edges lie that full passes read.
        layout: Option<Layout> = ("layout", "HOW", "as the graph"),
    }
}

impl OrderSettings {
    /// The means that were asked for, if `order` has a use for them.
    pub fn means(&self, order: Order) -> Result<Means> {
        let usual = Means::default();
        if self.window.is_some() && order != Order::Gorder {
            return refuse(format!("--window is for the order gorder, and not for {order}"));
        }
        if self.seed.is_some() && order != Order::Random {
            return refuse(format!("--seed is for the order random, and not for {order}"));
        }
        if self.window == Some(0) {
            return refuse("--window cannot be 0: a vertex is compared with those before it");
        }
        Ok(Means {
            window: self.window.unwrap_or(usual.window),
            seed: self.seed.unwrap_or(usual.seed),
        })
    }

    /// The options of writing `graph` at `path` in this order; what is not asked for is as it is in
    /// the graph.
    pub fn options(
        &self,
        (graph, order): (&Graph, Order),
        using: &Resources,
        disk: &Disk,
        path: &Path,
    ) -> Result<BuildOptions> {
        let usual = BuildOptions::default();
        Ok(BuildOptions {
            memory: using.memory(),
            disk: Some(using.disk(disk, path)?),
            threads: using.threads(),
            order,
            // An undirected graph has one kind of lists, and says that it keeps no incoming ones.
            transpose: self.transpose.unwrap_or(graph.manifest().transpose || !graph.directed()),
            partition: self.partition.unwrap_or(usual.partition),
            layout: self.layout.unwrap_or(graph.layout()),
            ..usual
        })
    }
}
