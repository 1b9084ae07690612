//! [`EdgeScan`]: every edge of a graph once, from its source to its target, in no particular order:
//! the tiles of the grid, or, where the layout leaves edges out of the grid, the complete lists.
//! Memory does not grow with the graph.
//!
//! [`SomeEdges`]: first neighbors and the lists of some vertices, where those may do instead.

use outercore_graph::{
    Direction, Graph, Result,
    format::{FirstNeighbors, INDEX_GROUP, RowIndex},
};

use super::lists::OpenLists;
use crate::{
    edges::{grid::Grid, heads::Heads, rows::Rows},
    plan::{Decision, Planner, Resource},
    session::Session,
    techniques::{ALL_LISTS, Technique, some_lists},
};

/// Every edge once, as a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EdgeScan {
    /// What a run reads.
    Always,
    /// What a run may come to read, beside the edges that it was planned for.
    Perhaps,
}

/// The edges, ready to be scanned.
pub enum Edges {
    /// In the tiles of the grid.
    Grid(Box<Grid>),
    /// In the lists.
    Lists(OpenLists),
}

impl Resource for EdgeScan {
    type Opened = Edges;

    fn declare(&self, planner: &mut Planner) -> Result<()> {
        let graph = planner.job.graph;
        let names = if graph.has_whole_grid() {
            vec!["grid.words".to_owned()]
        } else {
            let window = Rows::index_bytes(RowIndex::WINDOW.min(graph.connected()));
            planner.memory("lists of all edges", [0, window]);
            Rows::sections("out", false)
        };
        let edges = names[names.len() - 1].clone();
        match self {
            EdgeScan::Always => {
                planner.edges(edges);
                let grid: &[_] = &[Technique::FullPasses];
                let of = if graph.has_whole_grid() { grid } else { ALL_LISTS };
                planner.can(move |decision| {
                    let passes = decision.is_external().then_some(Technique::VertexPassing);
                    Ok(of.iter().copied().chain(passes).collect())
                });
            }
            EdgeScan::Perhaps => {
                let sums = graph.sums_bytes([edges]);
                planner.memory("checksums of all edges", [sums; 2]);
            }
        }
        planner.sections(move |_| Ok(names.clone()));
        Ok(())
    }

    fn open(&self, session: &Session) -> Result<Edges> {
        Ok(if session.graph.has_whole_grid() {
            Edges::Grid(Box::new(Grid::open(session, session.section("grid.words"), 0)?))
        } else {
            Edges::Lists(OpenLists::beside(session, Direction::Out, true)?)
        })
    }
}

impl Edges {
    /// Shows the edges of the parts for which `wanted` says so of their sources and targets (first
    /// and last of each). Every worker has a state, and all states are returned.
    pub(crate) fn for_some<S: Send>(
        &self,
        session: &Session,
        wanted: impl Fn((u64, u64), (u64, u64)) -> bool + Sync,
        state: impl Fn(usize) -> S + Sync,
        visit: impl Fn(&mut S, u64, u64) + Sync,
    ) -> Result<Vec<S>> {
        match self {
            Self::Grid(grid) => grid.for_each(session, wanted, state, |state, block| {
                block.edges(|source, target| visit(state, source, target))
            }),
            Self::Lists(lists) => {
                let (lists, last) = (lists.all(session), session.graph.connected() - 1);
                let wanted = |group: u64| {
                    let (first, end) = (group * INDEX_GROUP, (group + 1) * INDEX_GROUP - 1);
                    if wanted((first, end.min(last)), (0, last)) { u64::MAX } else { 0 }
                };
                lists.for_each(lists.edges(), wanted, state, |state, source, list| {
                    list.neighbors().for_each(|target| visit(state, source, target))
                })
            }
        }
    }
}

/// First neighbors, and the lists of some vertices: what a run may read instead of all edges while
/// values are in memory. Checksums aside, it takes memory of the run's that is not in use yet.
#[derive(Clone, Copy, Debug)]
pub struct SomeEdges;

impl SomeEdges {
    /// Declares them, for runs that have them.
    pub fn declare(planner: &mut Planner) -> Self {
        let graph = planner.job.graph;
        planner.sections(move |decision| {
            Ok(if SomeEdges.fits(graph, decision) { Self::sections(graph) } else { Vec::new() })
        });
        planner.can(move |decision| {
            Ok(if SomeEdges.fits(graph, decision) { some_lists(true).to_vec() } else { Vec::new() })
        });
        Self
    }

    fn sections(graph: &Graph) -> Vec<String> {
        let directions = if graph.directed() { &["out", "in"][..] } else { &["out"] };
        let lists = directions.iter().flat_map(|name| Rows::sections(name, false));
        lists.chain([Heads::section(graph)]).collect()
    }

    /// Whether a run has them.
    pub fn fits(self, graph: &Graph, decision: &Decision) -> bool {
        let sums = graph.sums_bytes(Self::sections(graph));
        graph.rows(Direction::In).is_some() && !decision.is_external() && sums <= decision.room
    }

    /// Shows every vertex that has incoming edges with the first of its in-neighbors.
    pub(super) fn first_neighbors(
        self,
        session: &Session,
        visit: impl Fn(u64, u64) + Sync,
    ) -> Result<()> {
        let vertices = session.graph.connected();
        let show = |(): &mut (), group: u64, heads: &FirstNeighbors| {
            for vertex in group * INDEX_GROUP..((group + 1) * INDEX_GROUP).min(vertices) {
                if let Some(head) = heads.get(vertex) {
                    visit(vertex, head);
                }
            }
        };
        let heads = Heads::open(session, false)?;
        heads.for_each_group(session, |_| true, |_| (), show).map(drop)
    }

    /// The lists of one direction; their index takes about a byte for each vertex.
    pub(super) fn lists(self, session: &Session, direction: Direction) -> Result<OpenLists> {
        OpenLists::beside(session, direction, false)
    }
}
