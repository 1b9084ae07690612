//! What the user asks of a build.

use std::path::PathBuf;

use crate::{
    order::Order,
    types::{GridPartition, Layout, WeightKind},
};

/// What the user asks of a build.
#[derive(Clone, Debug)]
pub struct BuildOptions {
    /// The memory budget in bytes: the peak resident size of the process stays below it.
    pub memory: u64,
    /// The most bytes that scratch and graph may take on disk; `None`: whatever is free.
    pub disk: Option<u64>,
    /// Threads that parse, sort and write.
    pub threads: usize,
    /// Whether edges have a direction; `None`: what the format says, else directed.
    pub directed: Option<bool>,
    /// The weights' type; `None`: what the format has.
    pub weights: Option<WeightKind>,
    /// Drop duplicate edges (the lightest stays) and self-loops.
    pub simple: bool,
    /// Keep the rows of incoming edges too (directed graphs).
    pub transpose: bool,
    /// The order of the vertices on disk.
    pub order: Order,
    /// How the grid is cut.
    pub partition: GridPartition,
    /// How the edges lie that passes over all of them read.
    pub layout: Layout,
    /// Directories over which the bulk of the graph is striped.
    pub stripes: Vec<PathBuf>,
    /// Replace a graph that exists.
    pub force: bool,
}

impl Default for BuildOptions {
    fn default() -> Self {
        Self {
            memory: outercore_storage::memory::machine_memory() / 2,
            disk: None,
            threads: outercore_storage::memory::cores(),
            directed: None,
            weights: None,
            simple: false,
            transpose: true,
            order: Order::Degree,
            partition: GridPartition::Balanced,
            layout: Layout::Grid,
            stripes: Vec::new(),
            force: false,
        }
    }
}
