//! Components by first neighbors, and then the lists of vertices outside of the largest one
//! (Afforest; Sutton, Ben-Nun and Barak, IPDPS'18).

use outercore_engine::{SomeEdges, Trees};

use crate::common::*;

/// Links all vertices that have edges with each other, if that reads at most so many bytes of
/// outgoing lists; `false`: edges are left to be looked at.
pub fn link(session: &Session, some: SomeEdges, trees: Trees<true>, most: u64) -> Result<bool> {
    let link = |vertex, neighbor| _ = trees.link(vertex as u32, neighbor as u32);
    some.first_neighbors(session, link)?;
    // A vertex in this one's component needs no list: the same component for both directions, or an
    // edge from one that was left out to one that is could be missed.
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
