//! A graph that was replaced on disk since it was opened.

use outercore_graph::{Graph, GraphError, format::Manifest};

/// An error if the graph's folder has another graph by now: whoever has replaced it would be
/// surprised by answers of the old one.
pub fn check_fresh(graph: &Graph) -> Result<(), GraphError> {
    if Manifest::read(graph.disk(), graph.path())?.uuid == graph.manifest().uuid {
        return Ok(());
    }
    Err(GraphError::Usage(format!(
        "{} was replaced since it was opened; open it again",
        graph.path().display()
    )))
}
