//! What can be asked of a build by name.

use std::path::Path;

use outercore_storage::{Disk, Resources, settings};

use super::BuildOptions;
use crate::{
    error::Result,
    order::Order,
    types::{GridPartition, Layout},
};

settings! {
    /// How a graph is laid out.
    pub struct BuildSettings {
        /// Keep the incoming edges of each vertex too; some algorithms need them.
        transpose: Option<bool> = ("transpose", "TRANSPOSE", "on"),
        /// The order of the vertices on disk.
        order: Option<Order> = ("order", "METHOD", "degree"),
        /// How the grid is cut, by targets and by sources.
        partition: Option<GridPartition> = ("partition", "HOW", "balanced"),
        /// How the edges lie that full passes read.
        layout: Option<Layout> = ("layout", "HOW", "grid"),
    }
}

impl BuildSettings {
    /// The options of a build of the graph at `path`; what is not asked for is as usual.
    pub fn options(&self, using: &Resources, disk: &Disk, path: &Path) -> Result<BuildOptions> {
        let usual = BuildOptions::default();
        Ok(BuildOptions {
            memory: using.memory(),
            disk: Some(using.disk(disk, path)?),
            threads: using.threads(),
            transpose: self.transpose.unwrap_or(usual.transpose),
            order: self.order.unwrap_or(usual.order),
            partition: self.partition.unwrap_or(usual.partition),
            layout: self.layout.unwrap_or(usual.layout),
            ..usual
        })
    }
}
