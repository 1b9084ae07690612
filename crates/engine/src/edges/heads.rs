//! [`Heads`]: the first neighbor of each vertex, in memory. Lists are sorted and vertices ordered by degree, so it is the largest hub among the neighbors.

use outercore_graph::Graph;
use outercore_storage::HugeVec;

use super::rows::load_table;
use crate::{
    error::Result,
    session::{OpenSection, Session},
};

/// The first neighbors.
pub struct Heads {
    bytes: HugeVec<u8>,
    width: usize,
    none: u64,
}

impl Heads {
    /// The section that holds the first incoming neighbors.
    pub fn section(graph: &Graph) -> String {
        if graph.directed() { "in.heads" } else { "out.heads" }.to_owned()
    }

    /// Bytes of memory.
    pub fn bytes(graph: &Graph) -> u64 {
        graph.connected() * u64::from(graph.manifest().neighbor_bytes) + 8
    }

    /// Loads them.
    pub fn load(session: &Session, section: &OpenSection) -> Result<Self> {
        let width = session.graph.manifest().neighbor_bytes as usize;
        let bytes = load_table(session, section, session.graph.connected() as usize * width)?;
        Ok(Self { bytes, width, none: u64::MAX >> (64 - 8 * width) })
    }

    /// The first neighbor of `vertex`, if it has any. An id of all ones means none, unless it is a vertex: then every list holds at most it.
    #[inline(always)]
    pub fn get(&self, vertex: u64) -> Option<u64> {
        let at = vertex as usize * self.width;
        let mut number = [0; 8];
        number[..self.width].copy_from_slice(&self.bytes[at..at + self.width]);
        let head = u64::from_le_bytes(number);
        (head != self.none).then_some(head)
    }
}
