//! Fully-external runs: what a vertex keeps is on scratch, and an interval at a time is in memory.
//!
//! - [`run`]: iterations of a program; [`needs`]: what they need; `choice`: passes or lists;
//!   `intervals`: what happens to an interval.
//! - `pass`: one pass over the grid, for one iteration or for two.
//! - `pull`: lists instead of the grid, for weights and for signals against the direction of edges.
//! - `demand`: the lists of active vertices instead, and what they send to intervals that are not
//!   in memory.
//! - [`early`]: vertices of the next iteration that are computed in this one.
//! - `signals`: what vertices send, and when it may be used.

mod choice;
mod demand;
mod desk;
pub mod early;
mod intervals;
pub mod needs;
mod pass;
mod pull;
pub mod run;
mod signals;

use outercore_graph::{Direction, Graph, WeightKind};

use crate::program::VertexProgram;

/// Whether a program's signals travel along the edges of the grid and of the lists that complete
/// it, which lead along outgoing edges and have no weights.
fn fits_grid<P: VertexProgram>(program: &P, graph: &Graph) -> bool {
    let weighted = program.weighted() && graph.weights() != WeightKind::None;
    let direction = |direction| graph.rows(direction) == Some(Direction::Out);
    !weighted && program.directions().iter().copied().all(direction)
}

/// Whether a program can run fully externally: it keeps nothing by vertex but values, and the graph
/// has the edges that bring its signals.
pub fn suits<P: VertexProgram>(program: &P, graph: &Graph) -> bool {
    program.is_self_contained()
        && (fits_grid(program, graph) || pull::Route::of(program, graph).is_some())
}

/// What a fully-external run does, in words.
pub fn method<P: VertexProgram>(program: &P, graph: &Graph) -> &'static str {
    if fits_grid(program, graph) && !graph.has_whole_grid() {
        "the lists of active vertices, whose messages wait for their interval, then passes over \
         the rest of the grid"
    } else if fits_grid(program, graph) {
        "passes over the grid, an interval of vertices at a time"
    } else {
        "passes over the lists along which signals come, an interval of vertices at a time"
    }
}
