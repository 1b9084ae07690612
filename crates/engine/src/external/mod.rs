//! Fully-external runs: what a vertex keeps is on scratch, and a stripe at a time is in memory.
//!
//! - [`run`]: iterations of a program.
//! - `pass`: one pass over the grid, for one iteration or for two.
//! - `demand`: the lists of active vertices instead, and what they send to stripes that are not in memory.
//! - `kept`: lists that serve the next iteration too.
//! - `columns`: the grid, stripe by stripe, and which chunks may serve two iterations.
//! - [`scan`]: the grid's chunks, for algorithms of their own.
//! - `stream`: chunks on their way to a worker.
//! - `sub_blocks`: chunks that stay in memory between passes.
//! - `signals`: what vertices send, and when it may be used.
//! - [`array`]: [`array::DiskArray`], an array on scratch; [`stored`]: results on scratch.

pub mod array;
mod columns;
mod demand;
mod kept;
mod pass;
pub mod run;
pub mod scan;
mod signals;
pub mod stored;
mod stream;
mod sub_blocks;

use outercore_graph::{Direction, Graph, WeightKind};

use crate::program::VertexProgram;

/// Whether a program can run fully externally: its signals travel along outgoing edges, without weights, and it keeps nothing else by vertex.
pub fn suits<P: VertexProgram>(program: &P, graph: &Graph) -> bool {
    let weighted = program.weighted() && graph.weights() != WeightKind::None;
    let direction = |direction| graph.rows(direction) == Some(Direction::Out);
    program.is_self_contained() && !weighted && program.directions().iter().copied().all(direction)
}
