//! Components without a scan: every vertex is linked to its first neighbor, which joins most of
//! them to the hubs, and then only those that are still outside of the largest component read their
//! lists (Afforest; Sutton, Ben-Nun and Barak, IPDPS'18). Every edge that leaves the component is
//! in the list of its other end, so it is not missed; in a directed graph that takes the incoming
//! lists, too.

use std::sync::atomic::AtomicU32;

use outercore_engine::{
    ReadPolicy, Result, RunConfig,
    edges::{degrees::Degrees, heads::Heads, io_iterator::IoIterator, rows::Rows},
    frontier::Frontier,
    session::{OpenSection, Session},
};
use outercore_graph::{Direction, Graph};

use super::{link, root};

/// Vertices whose components are looked at to find the largest.
const SAMPLE: u64 = 1 << 10;

/// The sections of first neighbors and lists, in the order of [`finish`]; `None` where a graph has
/// no first neighbors, a scan was asked for, or `room` is too small for them.
pub fn sections(graph: &Graph, config: &RunConfig, room: u64) -> Option<Vec<String>> {
    graph.rows(Direction::In)?;
    let mut names = vec![Heads::section(graph)];
    names.extend(Rows::sections(Direction::Out, false));
    if graph.directed() {
        names.extend(Rows::sections(Direction::In, false));
    }
    // Degrees and index take less than the labels, which come later.
    let sums: u64 = names.iter().map(|name| OpenSection::sums_bytes_of(graph, name)).sum();
    (config.read != ReadPolicy::Full && sums <= room).then_some(names)
}

/// Links all vertices that have edges with each other, if that reads less than `scan` bytes or was
/// asked for; `false`: edges are left to be looked at.
pub fn finish(
    session: &Session,
    parents: &[AtomicU32],
    sections: Vec<OpenSection>,
    scan: u64,
) -> Result<bool> {
    let mut sections = sections.into_iter();
    let heads = Heads::stored(session, sections.next().expect("first neighbors were opened"));
    heads.for_each_group(
        session,
        |_| true,
        |_| (),
        |(), group, heads| {
            for vertex in group * 64..(group * 64 + 64).min(parents.len() as u64) {
                if let Some(head) = heads.get(vertex) {
                    link(parents, vertex as u32, head as u32);
                }
            }
        },
    )?;
    // Whoever is in this vertex's component needs no list: the same component for both directions,
    // or an edge from one that was left out to one that is could be missed.
    let member = of_the_largest(parents);
    let mut outside = Frontier::new(parents.len() as u64, session.config.huge_pages)?;
    outside.fill();
    let width = u64::from(session.graph.manifest().neighbor_bytes);
    for direction in 0..1 + usize::from(session.graph.directed()) {
        let rows = Rows::load_narrow(session, sections.by_ref().take(3).collect(), 0)?;
        let (vertices, edges) = leave(session, parents, member, &outside, &rows.degrees);
        let asked = session.config.read == ReadPolicy::OnDemand;
        if direction == 0 && !asked && 2 * edges * width > scan {
            return Ok(false);
        }
        if vertices == 0 {
            break;
        }
        let stream = IoIterator::new(session, &rows);
        stream.for_each(
            edges,
            |group| outside.word(group),
            |_| (),
            |(), vertex, list| {
                list.neighbors().for_each(|neighbor| link(parents, vertex as u32, neighbor as u32))
            },
        )?;
    }
    Ok(true)
}

/// A vertex of the largest component, as far as a sample tells which that is.
fn of_the_largest(parents: &[AtomicU32]) -> u32 {
    let len = parents.len() as u64;
    let mut sample: Vec<u32> =
        (0..SAMPLE.min(len)).map(|at| root(parents, (at * len / SAMPLE.min(len)) as u32)).collect();
    sample.sort_unstable();
    sample.chunk_by(|a, b| a == b).max_by_key(|group| group.len()).map_or(0, |group| group[0])
}

/// Takes those in the component of `member` out of `outside`; how many are left, and their edges.
fn leave(
    session: &Session,
    parents: &[AtomicU32],
    member: u32,
    outside: &Frontier,
    degrees: &Degrees,
) -> (u64, u64) {
    let len = parents.len() as u64;
    if len == 0 {
        return (0, 0);
    }
    let within = root(parents, member);
    let counts = session.workers.over(
        len,
        1 << 16,
        |_| (0u64, 0u64),
        |(vertices, edges), range| {
            outside.replace(range, |vertex| {
                let left = outside.contains(vertex) && root(parents, vertex as u32) != within;
                if left {
                    *vertices += 1;
                    *edges += u64::from(degrees.get(vertex));
                }
                left
            });
        },
    );
    counts.into_iter().fold((0, 0), |all, part| (all.0 + part.0, all.1 + part.1))
}
