//! Connected components (weak ones, in a directed graph): union-find over one scan of all edges.
//!
//! The forest is an array of parents; a link hangs the larger root under the smaller one by
//! compare-and-swap (Shiloach and Vishkin's hooking as in GAPBS), so a component ends up named by
//! its smallest internal id: its vertex of the highest degree. One pass reads each edge once,
//! whatever the graph's diameter; `sampled` reads most edges not at all, where first neighbors are
//! kept and join most vertices.

mod external;
mod program;
mod sampled;
mod streaming;

pub(crate) use external::{largest as largest_of, union_find};

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use outercore_engine::HugeVec;
use outercore_engine::{
    Column, EngineError, Figure, Isolated, Meaning, MemoryModel, Outcome, Plan, Precompute, Preset,
    Result, RunConfig, RunProgress,
    edges::grid::Grid,
    execute::plan_monotone,
    plan::Needs,
    plan::PlanItem,
    session::{OpenSection, Session},
};
use outercore_graph::Graph;

use crate::{
    algorithm::Algorithm,
    edges::{EdgeScan, OutLists},
    finish::{Done, Summary, fits_32_bits, open, outcome},
};

/// Connected components.
#[derive(Clone, Debug, Default)]
pub struct Components;

impl Components {
    fn needs(&self, graph: &Graph) -> Needs {
        let mut external =
            vec![PlanItem { name: "smallest window, logs", bytes: external::SMALLEST + (2 << 20) }];
        if !graph.has_whole_grid() {
            external.push(PlanItem { name: "row index", bytes: OutLists::bytes(graph) });
        }
        Needs {
            algorithm: self.name(),
            method: "union-find: first neighbors, then the lists of who is outside of the largest \
                     component, or one scan of all edges"
                .to_owned(),
            resident: vec![PlanItem { name: "parents, labels", bytes: graph.connected() * 8 }],
            external: Some(external),
            edges: vec![EdgeScan::edge_section(graph).to_owned()],
            scans: Some(1),
            ..Needs::default()
        }
    }

    /// Whether labels are to be spread by a program.
    fn spreads(graph: &Graph, config: &RunConfig) -> Result<bool> {
        if graph.directed()
            && config.precompute.is_some_and(|precompute| precompute != Precompute::Off)
        {
            let what = "--precompute: components of a directed graph need signals in both \
                        directions, which is not there for it; leave it out";
            return Err(EngineError::Usage(what.to_owned()));
        }
        Ok(config.wants_monotone() && !graph.directed())
    }

    /// The plan, and the bytes that are left.
    fn planned(&self, graph: &Graph, config: &RunConfig) -> Result<(Plan, u64)> {
        let (mut plan, room) = self.needs(graph).plan(graph, config)?;
        if plan.memory_model == MemoryModel::FullyExternal {
            plan.method = match config.preset {
                Preset::Streaming => "labels spread in scan after scan of all edges",
                _ => "union-find by windows of vertices, each edge once",
            }
            .to_owned();
            plan.disk_bytes = graph.connected() * 8;
        } else if sampled::sections(graph, config, room).is_some() {
            // One scan at the most.
            plan.expected_bytes_read = None;
        }
        Ok((plan, room))
    }
}

/// Joins the trees of `a` and `b`.
#[inline(always)]
fn link(parents: &[AtomicU32], a: u32, b: u32) {
    let (mut a, mut b) = (parents[a as usize].load(Relaxed), parents[b as usize].load(Relaxed));
    while a != b {
        let (high, low) = if a > b { (a, b) } else { (b, a) };
        let parent = parents[high as usize].load(Relaxed);
        if parent == low
            || (parent == high
                && parents[high as usize].compare_exchange(high, low, Relaxed, Relaxed).is_ok())
        {
            return;
        }
        a = parents[parents[high as usize].load(Relaxed) as usize].load(Relaxed);
        b = parents[low as usize].load(Relaxed);
    }
}

/// The root of a vertex's tree, under which the vertex is hung.
#[inline(always)]
fn root(parents: &[AtomicU32], vertex: u32) -> u32 {
    let first = parents[vertex as usize].load(Relaxed);
    let mut root = first;
    loop {
        let parent = parents[root as usize].load(Relaxed);
        if parent == root {
            break;
        }
        root = parent;
    }
    if root != first {
        parents[vertex as usize].store(root, Relaxed);
    }
    root
}

impl Algorithm for Components {
    fn name(&self) -> &'static str {
        "components"
    }

    fn plan(&self, graph: &Graph, config: &RunConfig) -> Result<Plan> {
        if Self::spreads(graph, config)? {
            return Ok(plan_monotone(&program::Program, self.name(), graph, config)?.0);
        }
        Ok(self.planned(graph, config)?.0)
    }

    fn run(
        &self,
        graph: &Graph,
        config: &RunConfig,
        progress: &dyn RunProgress,
    ) -> Result<Outcome> {
        fits_32_bits(graph, self.name())?;
        if Self::spreads(graph, config)? {
            return program::run(graph, config, progress);
        }
        let (plan, room) = self.planned(graph, config)?;
        if plan.memory_model == MemoryModel::FullyExternal {
            return external::run(graph, config, progress, &plan, room);
        }
        let mut names = EdgeScan::sections(graph);
        let all = names.len();
        let sampled = sampled::sections(graph, config, room);
        names.extend(sampled.iter().flatten().cloned());
        let (session, mut sections) = open(graph, config, progress, &names)?;
        let edges = Edges::open(&session, sections.drain(..all).collect())?;
        let load_seconds = session.seconds();
        let mark = session.mark();
        let len = graph.connected();
        let parents = singletons(&session)?;
        let done =
            sampled.is_some() && sampled::finish(&session, &parents, sections, edges.bytes(graph))?;
        if !done {
            link_all(&session, &edges, &parents)?;
        }
        let roots = settle(&session, &parents);
        session.end_iteration(&mark, len, if done { "on-demand" } else { "full" });
        let mut labels: HugeVec<u32> = HugeVec::zeroed(len as usize, config.huge_pages)?;
        let mut summary = Summary::new();
        summary.insert("components", Figure::Integer(roots + graph.vertices() - len));
        summary.insert(
            "largest",
            Figure::Integer(largest(&parents, &mut labels).max(u64::from(graph.vertices() > 0))),
        );
        for (label, parent) in labels.iter_mut().zip(parents.iter()) {
            *label = parent.load(Relaxed);
        }
        let column = Column {
            name: "component",
            values: labels.into(),
            isolated: Isolated::Own,
            meaning: Meaning::Vertex,
            exceptions: Vec::new(),
        };
        Ok(outcome(
            &Done { session: &session, plan: &plan, iterations: 1, load_seconds },
            summary,
            vec![column],
            false,
        ))
    }
}

/// All edges, for one scan: nothing that it reads is needed twice.
pub(crate) enum Edges {
    /// The grid has them.
    Grid(Box<Grid>),
    /// The grid lacks some, lists do not.
    Lists(OutLists),
}

impl Edges {
    /// Those of the sections of [`EdgeScan::sections`], opened.
    pub(crate) fn open(session: &Session, mut sections: Vec<OpenSection>) -> Result<Self> {
        if session.graph.has_whole_grid() {
            let grid = Grid::open(session, sections.remove(0), 0)?;
            return Ok(Edges::Grid(Box::new(grid)));
        }
        Ok(Edges::Lists(OutLists::open(session, sections)?))
    }

    /// Bytes that are read for all of them.
    fn bytes(&self, graph: &Graph) -> u64 {
        match self {
            Edges::Grid(grid) => grid.a_scan().bytes,
            Edges::Lists(_) => OutLists::edge_bytes(graph),
        }
    }
}

/// Every vertex's component, named by its smallest internal id, and how many components there are;
/// isolated vertices aside. One scan; 4 bytes for each vertex.
pub(crate) fn forest(session: &Session, edges: &Edges) -> Result<(HugeVec<AtomicU32>, u64)> {
    let parents = singletons(session)?;
    link_all(session, edges, &parents)?;
    let roots = settle(session, &parents);
    Ok((parents, roots))
}

/// Every vertex a tree of its own.
fn singletons(session: &Session) -> Result<HugeVec<AtomicU32>> {
    let len = session.graph.connected();
    let parents: HugeVec<AtomicU32> = HugeVec::zeroed(len as usize, session.config.huge_pages)?;
    session.workers.over(
        len,
        1 << 16,
        |_| (),
        |(), range| range.for_each(|vertex| parents[vertex as usize].store(vertex as u32, Relaxed)),
    );
    Ok(parents)
}

/// Joins the ends of every edge, in one scan.
fn link_all(session: &Session, edges: &Edges, parents: &[AtomicU32]) -> Result<()> {
    let grid = match edges {
        Edges::Grid(grid) => grid,
        Edges::Lists(lists) => {
            let visit = |(): &mut (), source, target| link(parents, source as u32, target as u32);
            return lists.for_each(session, |_| true, |_| (), visit).map(drop);
        }
    };
    // The scan's inbox has no content: the parents are the state, and they are atomic.
    let mut nothing = vec![(); parents.len()];
    grid.scan(
        session,
        &mut nothing,
        |_| (),
        |(), _, block| block.edges(|source, target| link(parents, source as u32, target as u32)),
    )?;
    Ok(())
}

/// Hangs every vertex under its root; returns how many roots there are.
fn settle(session: &Session, parents: &[AtomicU32]) -> u64 {
    let counts = session.workers.over(
        parents.len() as u64,
        1 << 16,
        |_| 0u64,
        |roots, range| {
            range.for_each(|vertex| {
                *roots += u64::from(u64::from(root(parents, vertex as u32)) == vertex)
            })
        },
    );
    counts.into_iter().sum()
}

/// The size of the largest component; `sizes` is working memory, all zeros.
fn largest(parents: &[AtomicU32], sizes: &mut [u32]) -> u64 {
    for parent in parents {
        sizes[parent.load(Relaxed) as usize] += 1;
    }
    sizes.iter().copied().max().map_or(0, u64::from)
}
