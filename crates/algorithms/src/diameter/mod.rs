//! The diameter: the largest distance, in edges, between two vertices of the largest component, of
//! the undirected view.
//!
//! Each breadth-first search from a vertex with eccentricity e bounds the eccentricity of every
//! vertex at distance d between max(d, e - d) and e + d (Takes and Kosters, 2011). The heuristic
//! (DIAM in BASC, ATC'19) searches from the largest hub, from the vertex farthest from it, and so
//! on while distances grow, then from the most central vertex. `exact` goes on, from a vertex with
//! the largest upper bound and from one with the smallest lower bound in turn, until no upper bound
//! is above the largest distance found: that is the proof.

mod bounds;
mod search;

use outercore_engine::{
    Column, Figure, Isolated, Meaning, MemoryModel, Outcome, Plan, Result, RunConfig, RunProgress,
    Values, VertexArray,
    frontier::Frontier,
    plan::Needs,
    plan::PlanItem,
    session::{OpenSection, Session},
};
use outercore_graph::Graph;

use self::{
    bounds::{Bounds, Candidates},
    search::{Levels, Reach, Search},
};
use crate::{
    algorithm::Algorithm,
    components,
    edges::{EdgeScan, OutLists},
    finish::{Done, Summary, fits_32_bits, open, outcome},
    lists,
};

/// The diameter, or bounds of it.
#[derive(Clone, Debug, Default)]
pub struct Diameter {
    /// Whether to go on until the bounds meet.
    pub exact: bool,
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
        self.candidates = self.bounds.narrow(self.session, &self.search.levels, &reach)?;
        Ok(reach)
    }

    /// Whether every eccentricity is known to be at most the largest distance found.
    fn is_proved(&self) -> bool {
        self.candidates.widest.0 <= self.bounds.diameter
    }

    /// From `first`, a result, to the vertex farthest away and so on, while distances grow; then
    /// from the most central vertex.
    fn estimate(&mut self, first: Reach) -> Result<()> {
        self.candidates = self.bounds.narrow(self.session, &self.search.levels, &first)?;
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
            let vertex = self
                .candidates
                .central
                .filter(|_| central)
                .map_or(self.candidates.widest.1, |(_, vertex)| vertex);
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
        let grid = graph.grid()?;
        let items = |model| {
            let external = model == MemoryModel::FullyExternal;
            let mut items = vec![
                PlanItem { name: "row index", bytes: lists::index_bytes(graph, model) },
                PlanItem {
                    name: "checksums of all edges",
                    bytes: OpenSection::sums_bytes_of(graph, EdgeScan::edge_section(graph)),
                },
            ];
            let (search, bounds) = if external {
                (Search::EIGHTHS_LOGGED, Bounds::EIGHTHS_STORED)
            } else {
                (Search::EIGHTHS, Bounds::EIGHTHS)
            };
            items.push(PlanItem { name: "levels, frontiers", bytes: vertices * search / 8 });
            items.push(PlanItem { name: "bounds", bytes: vertices * bounds / 8 });
            if external {
                let arrays = 3 * VertexArray::<u32>::memory(vertices, grid.intervals.len() as u64);
                items.push(PlanItem {
                    name: "logs, intervals at hand",
                    bytes: Search::LOGS + arrays + grid.widest() as u64 * 32,
                });
                if !graph.has_whole_grid() {
                    items.push(PlanItem {
                        name: "lists of all edges",
                        bytes: OutLists::bytes(graph),
                    });
                }
            }
            items
        };
        let method = "breadth-first searches that bound all eccentricities";
        Needs {
            algorithm: self.name(),
            method: if self.exact {
                format!("{method}, until the bounds meet")
            } else {
                method.to_owned()
            },
            resident: items(MemoryModel::SemiExternal),
            external: Some(items(MemoryModel::FullyExternal)),
            edges: lists::edge_sections(graph, self.name())?,
            scans: None,
            ..Needs::default()
        }
        .plan(graph, config)
        .map(|(mut plan, room)| {
            if plan.memory_model == MemoryModel::FullyExternal {
                // Logs of one search, bounds, and labels of components.
                plan.disk_bytes = vertices * (8 + 8 + 8);
            }
            (plan, room)
        })
    }
}

/// The largest component, after a search from somewhere, and a vertex of it: what the search
/// reached, if that is half of all; else by union-find, in memory or in `room` bytes.
fn largest(
    session: &Session,
    edges: Vec<OpenSection>,
    search: &Search,
    (from, reach): (u64, &Reach),
    room: u64,
) -> Result<(Frontier, u64)> {
    let len = session.graph.connected();
    let members = Frontier::new(len, session.config.huge_pages)?;
    if 2 * reach.vertices >= len {
        members.replace(0..len, |vertex| !search.unvisited.contains(vertex));
        return Ok((members, from));
    }
    let labels: VertexArray<u32> = match search.levels {
        Levels::Memory(_) => {
            let (names, _) =
                components::forest(session, &components::Edges::open(session, edges)?)?;
            names.into_plain().into()
        }
        Levels::Logs { .. } => {
            let scan = EdgeScan::open(session.graph, session, edges)?;
            components::union_find(session.graph, session.config, session, scan, room)?.0
        }
    };
    let (_, largest) = components::largest_of(&labels, len, room)?;
    labels.for_each(|vertex, &label| {
        if u64::from(label) == largest {
            members.insert(vertex);
        }
    })?;
    Ok((members, largest))
}

impl Algorithm for Diameter {
    fn name(&self) -> &'static str {
        "diameter"
    }

    fn plan(&self, graph: &Graph, config: &RunConfig) -> Result<Plan> {
        Ok(self.prepare(graph, config)?.0)
    }

    fn run(
        &self,
        graph: &Graph,
        config: &RunConfig,
        progress: &dyn RunProgress,
    ) -> Result<Outcome> {
        let (plan, room) = self.prepare(graph, config)?;
        let mut names = lists::sections(graph, self.name())?;
        let lists = names.len();
        names.extend(EdgeScan::sections(graph));
        let (session, mut sections) = open(graph, config, progress, &names)?;
        let edges = sections.split_off(lists);
        let mut search =
            Search::open(&session, &mut sections.into_iter(), plan.memory_model, room)?;
        let load_seconds = session.seconds();
        let mut run = if graph.connected() == 0 {
            let bounds =
                Bounds::new(&session, Frontier::new(0, config.huge_pages)?, &search.levels)?;
            Run { session: &session, search, bounds, candidates: Candidates::NONE, searches: 0 }
        } else {
            let hub = graph.manifest().max_out_degree.1;
            let mut reach = search.run(hub)?;
            let (members, start) = largest(&session, edges, &search, (hub, &reach), room / 2)?;
            let mut searches = 1;
            if start != hub {
                reach = search.run(start)?;
                searches += 1;
            }
            let bounds = Bounds::new(&session, members, &search.levels)?;
            let mut run =
                Run { session: &session, search, bounds, candidates: Candidates::NONE, searches };
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
        let column = |name, values: Values| Column {
            name,
            values,
            isolated: Isolated::Null,
            meaning: Meaning::Number,
            exceptions: Vec::new(),
        };
        let done = Done { session: &session, plan: &plan, iterations: run.searches, load_seconds };
        let [lower, upper] = run.bounds.columns();
        let columns =
            vec![column("eccentricity_at_least", lower), column("eccentricity_at_most", upper)];
        Ok(outcome(&done, summary, columns, false))
    }
}
