//! [`EdgeScan`]: every edge of a graph once, from its source to its target, in no particular order
//! and in memory that does not grow with the graph: the tiles of the grid, or, where the layout
//! leaves edges out of the grid, [`OutLists`].

use std::sync::Mutex;

use outercore_engine::{
    Result,
    edges::{grid::Grid, io_iterator::IoIterator, rows::Rows},
    session::{OpenSection, Session},
};
use outercore_graph::{Direction, Graph};

/// Vertices of the window of the row index, which slides along.
const WINDOW: u64 = 1 << 18;

/// The complete out-lists, from front to back.
pub struct OutLists(Box<Mutex<Rows>>);

impl OutLists {
    /// The sections that [`OutLists::open`] takes, in this order.
    pub fn sections() -> Vec<String> {
        Rows::sections(Direction::Out, false)
    }

    /// Bytes of memory.
    pub fn bytes(graph: &Graph) -> u64 {
        Rows::window_bytes(WINDOW.min(graph.connected()))
    }

    /// Lists of sections that are opened.
    pub fn open(session: &Session, sections: Vec<OpenSection>) -> Result<Self> {
        Ok(Self(Box::new(Mutex::new(Rows::sliding(session, sections, 0)?))))
    }

    /// Bytes that are read for all edges.
    pub fn edge_bytes(graph: &Graph) -> u64 {
        graph.manifest().arcs * u64::from(graph.manifest().neighbor_bytes)
    }

    /// Shows every edge of the windows of sources, given by their first and last one, for which
    /// `wanted` says so. A state serves one window after the other.
    pub fn for_each<S: Send>(
        &self,
        session: &Session,
        wanted: impl Fn((u64, u64)) -> bool,
        state: impl Fn(usize) -> S + Sync,
        visit: impl Fn(&mut S, u64, u64) + Sync,
    ) -> Result<Vec<S>> {
        let vertices = session.graph.connected();
        let mut rows = self.0.lock().expect("no holder panics");
        let idle: Mutex<Vec<S>> = Mutex::default();
        for first in (0..vertices).step_by(WINDOW as usize) {
            let window = first..(first + WINDOW).min(vertices);
            if !wanted((window.start, window.end - 1)) {
                continue;
            }
            rows.slide(session, window.clone())?;
            let edges = rows.edges() - rows.group_offset(first / 64);
            let states = IoIterator::new(session, &rows).within(window).for_each(
                edges,
                |_| u64::MAX,
                |index| {
                    let rested = idle.lock().expect("no holder panics").pop();
                    rested.unwrap_or_else(|| state(index))
                },
                |state, source, list| {
                    list.neighbors().for_each(|target| visit(state, source, target))
                },
            )?;
            idle.lock().expect("no holder panics").extend(states);
        }
        Ok(idle.into_inner().expect("no holder panics"))
    }
}

/// Every edge, where values are on storage.
pub struct EdgeScan {
    way: Way,
    /// Bounds of the intervals.
    bounds: Vec<u64>,
}

enum Way {
    Grid(Box<Grid>),
    Lists(OutLists),
}

impl EdgeScan {
    /// The sections that [`EdgeScan::open`] takes, in this order.
    pub fn sections(graph: &Graph) -> Vec<String> {
        if graph.has_whole_grid() { vec!["grid.words".to_owned()] } else { OutLists::sections() }
    }

    /// The section that has the edges.
    pub fn edge_section(graph: &Graph) -> &'static str {
        if graph.has_whole_grid() { "grid.words" } else { "out.adjacency" }
    }

    /// Prepares scans of sections that are opened.
    pub fn open(graph: &Graph, session: &Session, mut sections: Vec<OpenSection>) -> Result<Self> {
        if graph.has_whole_grid() {
            let grid = Grid::open(session, sections.remove(0), 0)?;
            let bounds = grid.bounds().to_vec();
            return Ok(Self { way: Way::Grid(Box::new(grid)), bounds });
        }
        Ok(Self {
            way: Way::Lists(OutLists::open(session, sections)?),
            bounds: graph.grid()?.intervals.clone(),
        })
    }

    /// The bounds of the intervals.
    pub fn bounds(&self) -> &[u64] {
        &self.bounds
    }

    /// Shows every edge, or those of the parts for which `wanted` says so of their sources and
    /// targets (first and last of each).
    pub fn for_each<S: Send>(
        &self,
        session: &Session,
        wanted: impl Fn((u64, u64), (u64, u64)) -> bool + Sync,
        state: impl Fn(usize) -> S + Sync,
        visit: impl Fn(&mut S, u64, u64) + Sync,
    ) -> Result<Vec<S>> {
        match &self.way {
            Way::Grid(grid) => grid.for_each(session, wanted, state, |state, block| {
                block.edges(|source, target| visit(state, source, target))
            }),
            Way::Lists(lists) => {
                let targets = (0, session.graph.connected().saturating_sub(1));
                lists.for_each(session, |sources| wanted(sources, targets), state, visit)
            }
        }
    }
}
