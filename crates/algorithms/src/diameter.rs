//! The diameter: the largest distance, in edges, between two vertices of the largest component, of
//! the undirected view.
//!
//! Each breadth-first search from a vertex with eccentricity e bounds the eccentricity of every
//! vertex at distance d between max(d, e - d) and e + d (Takes and Kosters, 2011). The heuristic
//! (DIAM in BASC, ATC'19) searches from the largest hub, from the vertex farthest from it, and so
//! on while distances grow, then from the most central vertex. `exact` goes on, from a vertex with
//! the largest upper bound and from one with the smallest lower bound in turn, until no upper bound
//! is above the largest distance found: that is the proof.
//!
//! Memory for each vertex: 4 bytes for a level, 8 for bounds and four bits; fully externally the
//! bits alone.

use std::{cmp::Reverse, sync::atomic::Ordering::Relaxed};

use outercore_engine::{
    Column, EdgeScan, Frontier, Job, OpenSearch, Outcome, Planner, Prepared, Resource, Result,
    Search, Session, VertexArray,
    forest::{self, Sets},
};

use crate::algorithm::{Algorithm, fits_32_bits};

/// The diameter, or bounds of it.
#[derive(Clone, Debug, Default)]
pub struct Diameter {
    /// Whether to go on until the bounds meet.
    pub exact: bool,
}

/// What a search found.
#[derive(Clone, Copy, Debug)]
struct Reach {
    /// Vertices, the source among them.
    vertices: u64,
    /// The last level: the source's eccentricity.
    depth: u32,
    /// A vertex of the last level, the one with the smallest internal id.
    farthest: u64,
}

/// Where to search next.
#[derive(Clone, Copy, Debug)]
struct Candidates {
    /// The largest upper bound, and its vertex, the smallest one of several.
    widest: (u32, Reverse<u64>),
    /// The smallest lower bound of a vertex whose bounds differ, and its vertex.
    central: Option<(u32, u64)>,
}

impl Candidates {
    /// No vertex.
    const NONE: Self = Self { widest: (0, Reverse(u64::MAX)), central: None };

    fn add(&mut self, vertex: u64, [lower, upper]: [u32; 2]) {
        self.widest = self.widest.max((upper, Reverse(vertex)));
        if lower < upper && self.central.is_none_or(|central| (lower, vertex) < central) {
            self.central = Some((lower, vertex));
        }
    }

    fn merge(self, other: Self) -> Self {
        Self {
            widest: self.widest.max(other.widest),
            central: self.central.into_iter().chain(other.central).min(),
        }
    }
}

/// The bounds of a vertex that a search from a vertex with this eccentricity found at this
/// distance, after these.
fn narrowed([lower, upper]: [u32; 2], distance: u32, eccentricity: u32) -> [u32; 2] {
    let most = if distance == 0 { eccentricity } else { eccentricity.saturating_add(distance) };
    [lower.max(distance).max(eccentricity - distance), upper.min(most)]
}

/// What searches say of the eccentricities of the vertices of one component.
struct Run<'r, 's> {
    session: &'r Session<'s>,
    search: OpenSearch,
    searches: u64,
    /// The component; the other vertices have no bounds.
    members: Frontier,
    /// The eccentricity of each vertex: at least, at most.
    bounds: [VertexArray<u32>; 2],
    /// The largest distance found.
    diameter: u32,
    candidates: Candidates,
}

impl Run<'_, '_> {
    fn search(&mut self, source: u64) -> Result<Reach> {
        let reach = reach(self.session, &mut self.search, source)?;
        self.searches += 1;
        self.narrow(&reach)?;
        Ok(reach)
    }

    /// Takes in what a search found.
    fn narrow(&mut self, reach: &Reach) -> Result<()> {
        self.diameter = self.diameter.max(reach.depth);
        let (members, [lower, upper]) = (&self.members, &self.bounds);
        let parts = self.search.levels.for_each_interval(
            self.session,
            || Ok((Candidates::NONE, lower.block()?, upper.block()?)),
            |(candidates, low, high), interval, levels, _| {
                let range = lower.bounds()[interval]..lower.bounds()[interval + 1];
                if range.is_empty() || !members.any(range.start, range.end - 1) {
                    return Ok(());
                }
                lower.update(interval, low, |lower| {
                    upper.update(interval, high, |upper| {
                        for vertex in members.iter(range.clone()) {
                            let at = (vertex - range.start) as usize;
                            let level = levels[at].load(Relaxed);
                            let bounds = narrowed([lower[at], upper[at]], level, reach.depth);
                            [lower[at], upper[at]] = bounds;
                            candidates.add(vertex, bounds);
                        }
                    })
                })?
            },
        )?;
        let parts = parts.into_iter();
        self.candidates = parts.fold(Candidates::NONE, |all, (some, ..)| all.merge(some));
        Ok(())
    }

    /// Whether every eccentricity is known to be at most the largest distance found.
    fn is_proved(&self) -> bool {
        self.candidates.widest.0 <= self.diameter
    }

    /// From the vertex farthest from the start of `last` to the one farthest from it and so on,
    /// while distances grow; then from the most central vertex.
    fn estimate(&mut self, mut last: Reach) -> Result<()> {
        self.narrow(&last)?;
        while !self.is_proved() {
            let next = self.search(last.farthest)?;
            if next.depth <= last.depth {
                break;
            }
            last = next;
        }
        match self.candidates.central {
            Some((_, vertex)) if !self.is_proved() => self.search(vertex).map(drop),
            _ => Ok(()),
        }
    }

    /// Goes on until nothing is left to prove.
    fn prove(&mut self) -> Result<()> {
        let mut turn = false;
        while !self.is_proved() {
            let Candidates { widest: (_, Reverse(widest)), central } = self.candidates;
            self.search(central.filter(|_| turn).map_or(widest, |(_, vertex)| vertex))?;
            turn = !turn;
        }
        Ok(())
    }
}

fn reach(session: &Session, search: &mut OpenSearch, source: u64) -> Result<Reach> {
    let mut reach = Reach { vertices: 0, depth: 0, farthest: source };
    search.run(session, source, |level, vertices, frontier| {
        let all = 0..session.graph.connected();
        let farthest = frontier.iter(all).next().expect("a level has vertices");
        let vertices = reach.vertices + vertices;
        reach = Reach { vertices, depth: level as u32, farthest };
    })?;
    Ok(reach)
}

/// The largest component, after a search from `hub`, and its vertex with the smallest id or the
/// hub: what the search reached, if that is half of all; else by union-find.
fn largest(
    session: &Session,
    search: &OpenSearch,
    (hub, reach): (u64, &Reach),
) -> Result<(Frontier, u64)> {
    let len = session.graph.connected();
    let members = Frontier::new(len, session.config.huge_pages)?;
    if 2 * reach.vertices >= len {
        members.replace(0..len, |vertex| !search.unvisited.contains(vertex));
        return Ok((members, hub));
    }
    let (edges, room) = (EdgeScan::Perhaps.open(session)?, session.decision.share(1));
    let labels = forest::join(session, &edges, VertexArray::of(session)?, room, |_| Ok(false))?;
    let largest = Sets::of(&labels, room)?.label;
    labels.for_each(|vertex, &label| {
        if u64::from(label) == largest {
            members.insert(vertex);
        }
    })?;
    Ok((members, largest))
}

impl Diameter {
    fn run(&self, session: &Session, mut search: OpenSearch) -> Result<Outcome> {
        let (mut members, mut last) = (Frontier::new(0, session.config.huge_pages)?, None);
        let (graph, mut searches) = (session.graph, 0);
        if graph.connected() > 0 {
            let hub = graph.manifest().max_out_degree.1;
            let found = reach(session, &mut search, hub)?;
            let start;
            (members, start) = largest(session, &search, (hub, &found))?;
            searches = 1 + u64::from(start != hub);
            last = Some(if start == hub { found } else { reach(session, &mut search, start)? });
        }
        let bounds = [VertexArray::of(session)?, VertexArray::of(session)?];
        // No lower bound either is known of vertices of other components.
        bounds[0].fill(|vertex| if members.contains(vertex) { 0 } else { u32::MAX })?;
        bounds[1].fill(|_| u32::MAX)?;
        let (diameter, candidates) = (0, Candidates::NONE);
        let mut run = Run { session, search, searches, members, bounds, diameter, candidates };
        last.map_or(Ok(()), |last| run.estimate(last))?;
        if self.exact {
            run.prove()?;
        }
        let upper = run.candidates.widest.0.max(run.diameter);
        let [least, most] = run.bounds;
        Ok(session
            .results(run.searches)
            .figure("lower_bound", u64::from(run.diameter))
            .figure("upper_bound", u64::from(upper))
            .figure("exact", upper == run.diameter)
            .column(Column::new("eccentricity_at_least", least))
            .column(Column::new("eccentricity_at_most", most))
            .outcome())
    }
}

impl Algorithm for Diameter {
    fn name(&self) -> &'static str {
        "diameter"
    }

    fn prepare<'a>(&'a self, job: Job<'a>) -> Result<Prepared<'a>> {
        fits_32_bits(job.graph, self.name())?;
        let (vertices, grid) = (job.graph.connected(), job.graph.grid()?);
        let mut planner = Planner::new(self.name(), job);
        let search = planner.declare(Search::undirected(job))?;
        VertexArray::<u32>::declare(&mut planner, "least eccentricities")?;
        VertexArray::<u32>::declare(&mut planner, "greatest eccentricities")?;
        // The labels of components are gone before bounds come.
        let labels = VertexArray::<u32>::memory(vertices, grid.intervals.len() as u64);
        planner.declare(EdgeScan::Perhaps)?;
        let external = labels + grid.widest() as u64 * 32;
        planner.memory("members", [Frontier::bytes(vertices); 2]);
        planner.memory("intervals at hand, labels", [0, external]);
        planner.scratch(vertices * 4);
        planner.method(if self.exact {
            "breadth-first searches that bound all eccentricities, until the bounds meet"
        } else {
            "breadth-first searches that bound all eccentricities"
        });
        Ok(planner.decide()?.prepared(move |session| self.run(session, search.open(session)?)))
    }
}
