//! The diameter: the largest distance, in edges, between two vertices of the largest component, of the undirected view.
//!
//! Each breadth-first search from a vertex with eccentricity e bounds the eccentricity of every vertex at distance d between max(d, e - d) and e + d (Takes and Kosters, 2011). The
//! heuristic (DIAM in BASC, ATC'19) searches from the largest hub, from the vertex farthest from it, and so on while distances grow, then from the most central vertex. `exact` goes
//! on, from a vertex with the largest upper bound and from one with the smallest lower bound in turn, until no upper bound is above the largest distance found: that is the proof.

mod search;

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use outercore_engine::{
    Column, Figure, HugeVec, Isolated, Meaning, MemoryModel, Outcome, Plan, Result, RunConfig, RunProgress, Values,
    budget::Needs,
    frontier::Frontier,
    plan::PlanItem,
    session::{OpenSection, Session},
};
use outercore_graph::Graph;

use self::search::{Reach, Search};
use crate::{
    algorithm::Algorithm,
    components,
    edges::EdgeScan,
    finish::{Done, Summary, fits_32_bits, open, outcome},
    lists,
};

/// The diameter, or bounds of it.
#[derive(Clone, Debug, Default)]
pub struct Diameter {
    /// Whether to go on until the bounds meet.
    pub exact: bool,
}

/// Bounds of the eccentricities of the vertices of one component, and of its diameter.
struct Bounds {
    /// The component; the others have no bounds.
    members: Frontier,
    lower: HugeVec<AtomicU32>,
    upper: HugeVec<AtomicU32>,
    /// The largest distance found.
    diameter: u32,
}

/// Where to search next.
#[derive(Clone, Copy, Debug)]
struct Candidates {
    /// The largest upper bound, and its vertex.
    widest: (u32, u64),
    /// The smallest lower bound of a vertex whose bounds differ, and its vertex.
    central: Option<(u32, u64)>,
}

impl Candidates {
    const NONE: Self = Self { widest: (0, u64::MAX), central: None };

    fn add(&mut self, vertex: u64, lower: u32, upper: u32) {
        let widest = |other: &(u32, u64)| (upper, std::cmp::Reverse(vertex)) > (other.0, std::cmp::Reverse(other.1));
        if widest(&self.widest) {
            self.widest = (upper, vertex);
        }
        if lower < upper && self.central.is_none_or(|central| (lower, vertex) < central) {
            self.central = Some((lower, vertex));
        }
    }

    fn merge(mut self, other: Self) -> Self {
        if (other.widest.0, std::cmp::Reverse(other.widest.1)) > (self.widest.0, std::cmp::Reverse(self.widest.1)) {
            self.widest = other.widest;
        }
        self.central = self.central.into_iter().chain(other.central).min();
        self
    }
}

impl Bounds {
    fn new(session: &Session, members: Frontier) -> Result<Self> {
        let (len, huge) = (session.graph.connected(), session.config.huge_pages);
        let bounds =
            Self { members, lower: HugeVec::zeroed(len as usize, huge)?, upper: HugeVec::zeroed(len as usize, huge)?, diameter: 0 };
        bounds.upper.iter().for_each(|bound| bound.store(u32::MAX, Relaxed));
        // Who is not a member has no lower bound, either.
        for vertex in (0..len).filter(|&vertex| !bounds.members.contains(vertex)) {
            bounds.lower[vertex as usize].store(u32::MAX, Relaxed);
        }
        Ok(bounds)
    }

    /// Takes in what a search found.
    fn narrow(&mut self, session: &Session, levels: &[AtomicU32], reach: &Reach) -> Candidates {
        self.diameter = self.diameter.max(reach.depth);
        let eccentricity = reach.depth;
        let bounds = &*self;
        let parts = session.workers.over(
            session.graph.connected(),
            1 << 14,
            |_| Candidates::NONE,
            |candidates, range| {
                for vertex in bounds.members.iter(range) {
                    let (lower, upper) = (&bounds.lower[vertex as usize], &bounds.upper[vertex as usize]);
                    let distance = levels[vertex as usize].load(Relaxed);
                    let low = lower.load(Relaxed).max(distance).max(eccentricity - distance);
                    let high = upper.load(Relaxed).min(if distance == 0 { eccentricity } else { eccentricity.saturating_add(distance) });
                    lower.store(low, Relaxed);
                    upper.store(high, Relaxed);
                    candidates.add(vertex, low, high);
                }
            },
        );
        parts.into_iter().fold(Candidates::NONE, Candidates::merge)
    }
}

/// A run.
struct Run<'r, 's> {
    session: &'r Session<'s>,
    search: Search<'r>,
    bounds: Bounds,
    candidates: Candidates,
    searches: u64,
}

impl Run<'_, '_> {
    fn search(&mut self, source: u64) -> Result<Reach> {
        let reach = self.search.run(source)?;
        self.searches += 1;
        self.candidates = self.bounds.narrow(self.session, &self.search.levels, &reach);
        Ok(reach)
    }

    /// Whether every eccentricity is known to be at most the largest distance found.
    fn is_proved(&self) -> bool {
        self.candidates.widest.0 <= self.bounds.diameter
    }

    /// From `first`, a result, to the vertex farthest away and so on, while distances grow; then from the most central vertex.
    fn estimate(&mut self, first: Reach) -> Result<()> {
        self.candidates = self.bounds.narrow(self.session, &self.search.levels, &first);
        let mut reach = first;
        while !self.is_proved() {
            let next = self.search(reach.farthest)?;
            if next.depth <= reach.depth {
                break;
            }
            reach = next;
        }
        match self.candidates.central {
            Some((_, vertex)) if !self.is_proved() => self.search(vertex).map(drop),
            _ => Ok(()),
        }
    }

    /// Goes on until nothing is left to prove.
    fn prove(&mut self) -> Result<()> {
        let mut central = false;
        while !self.is_proved() {
            let vertex = self.candidates.central.filter(|_| central).map_or(self.candidates.widest.1, |(_, vertex)| vertex);
            self.search(vertex)?;
            central = !central;
        }
        Ok(())
    }
}

impl Diameter {
    fn prepare(&self, graph: &Graph, config: &RunConfig) -> Result<(Plan, u64)> {
        fits_32_bits(graph, self.name())?;
        let vertices = graph.connected();
        let items = |model| {
            vec![
                PlanItem { name: "levels, frontiers", bytes: vertices * Search::EIGHTHS / 8 },
                PlanItem { name: "bounds", bytes: vertices * 65 / 8 },
                PlanItem { name: "row index", bytes: lists::index_bytes(graph, model) },
                PlanItem { name: "checksums of all edges", bytes: OpenSection::sums_bytes_of(graph, EdgeScan::edge_section(graph)) },
            ]
        };
        let method = "breadth-first searches that bound all eccentricities";
        Needs {
            algorithm: self.name(),
            method: if self.exact { format!("{method}, until the bounds meet") } else { method.to_owned() },
            resident: items(MemoryModel::SemiExternal),
            external: Some(items(MemoryModel::FullyExternal)),
            edges: lists::edge_sections(graph, self.name())?,
            scans: None,
        }
        .plan(graph, config)
    }
}

/// The largest component, after a search from somewhere, and a vertex of it: what the search reached, if that is half of all; else by union-find.
fn largest(session: &Session, edges: Vec<OpenSection>, search: &Search, from: u64, reach: &Reach) -> Result<(Frontier, u64)> {
    let len = session.graph.connected();
    let members = Frontier::new(len, session.config.huge_pages)?;
    if 2 * reach.vertices >= len {
        members.replace(0..len, |vertex| !search.unvisited.contains(vertex));
        return Ok((members, from));
    }
    let (names, _) = components::forest(session, &components::Edges::open(session, edges)?)?;
    let mut sizes: HugeVec<u32> = HugeVec::zeroed(len as usize, session.config.huge_pages)?;
    names.iter().for_each(|name| sizes[name.load(Relaxed) as usize] += 1);
    let largest = (0..len).max_by_key(|&name| (sizes[name as usize], std::cmp::Reverse(name))).unwrap_or(0);
    members.replace(0..len, |vertex| u64::from(names[vertex as usize].load(Relaxed)) == largest);
    Ok((members, largest))
}

impl Algorithm for Diameter {
    fn name(&self) -> &'static str {
        "diameter"
    }

    fn plan(&self, graph: &Graph, config: &RunConfig) -> Result<Plan> {
        Ok(self.prepare(graph, config)?.0)
    }

    fn run(&self, graph: &Graph, config: &RunConfig, progress: &dyn RunProgress) -> Result<Outcome> {
        let (plan, cache) = self.prepare(graph, config)?;
        let mut names = lists::sections(graph, self.name())?;
        let lists = names.len();
        names.extend(EdgeScan::sections(graph));
        let (session, mut sections) = open(graph, config, progress, &names)?;
        let edges = sections.split_off(lists);
        let mut search = Search::open(&session, &mut sections.into_iter(), plan.memory_model, cache)?;
        let load_seconds = session.seconds();
        let mut run = if graph.connected() == 0 {
            let bounds = Bounds::new(&session, Frontier::new(0, config.huge_pages)?)?;
            Run { session: &session, search, bounds, candidates: Candidates::NONE, searches: 0 }
        } else {
            let hub = graph.manifest().max_out_degree.1;
            let mut reach = search.run(hub)?;
            let (members, start) = largest(&session, edges, &search, hub, &reach)?;
            let mut searches = 1;
            if start != hub {
                reach = search.run(start)?;
                searches += 1;
            }
            let bounds = Bounds::new(&session, members)?;
            let mut run = Run { session: &session, search, bounds, candidates: Candidates::NONE, searches };
            run.estimate(reach)?;
            run
        };
        if self.exact {
            run.prove()?;
        }
        let diameter = run.bounds.diameter;
        let upper = run.candidates.widest.0.max(diameter);
        let mut summary = Summary::new();
        summary.insert("lower_bound", Figure::Integer(diameter.into()));
        summary.insert("upper_bound", Figure::Integer(upper.into()));
        summary.insert("exact", Figure::Bool(upper == diameter));
        let column = |name, values: HugeVec<AtomicU32>| Column {
            name,
            values: Values::U32(values.into_plain()),
            isolated: Isolated::Null,
            meaning: Meaning::Number,
            exceptions: Vec::new(),
        };
        let done = Done { session: &session, plan: &plan, iterations: run.searches, load_seconds };
        let columns = vec![column("eccentricity_at_least", run.bounds.lower), column("eccentricity_at_most", run.bounds.upper)];
        Ok(outcome(&done, summary, columns, false))
    }
}
