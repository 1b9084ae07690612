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

use std::cmp::Reverse;

use outercore_engine::{
    EdgeScan, OpenSearch, Search,
    forest::{self, Sets},
};

use crate::common::*;

/// The diameter, or bounds of it.
#[derive(Clone, Debug, Default)]
pub struct Diameter {
    /// Whether to go on until the bounds meet.
    pub exact: bool,
}

/// What a search found.
struct Depths {
    /// The last level: the source's eccentricity.
    depth: u32,
    /// A vertex of the last level, the one with the smallest internal id.
    farthest: u64,
}

/// Where to search next.
#[derive(Clone, Copy)]
struct Candidates {
    /// The largest upper bound, and its vertex, the smallest one of several.
    widest: (Reverse<u32>, u64),
    /// The smallest lower bound of a vertex whose bounds differ, and its vertex, likewise. There
    /// is one unless the diameter is proved: no lower bound is above the largest distance found.
    central: (u32, u64),
}

impl Candidates {
    /// No vertex.
    const NONE: Self = Self { widest: (Reverse(0), u64::MAX), central: (u32::MAX, u64::MAX) };
}

/// What searches say of the eccentricities of the vertices of one component.
struct Bounding<'s> {
    session: &'s Session<'s>,
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

impl Bounding<'_> {
    fn search(&mut self, source: u64) -> Result<Depths> {
        let reach = reach(self.session, &mut self.search, source)?;
        self.searches += 1;
        self.narrow(reach.depth)?;
        Ok(reach)
    }

    /// Narrows the bounds by a search from a vertex with this eccentricity.
    fn narrow(&mut self, depth: u32) -> Result<()> {
        self.diameter = self.diameter.max(depth);
        let (members, [lower, upper]) = (&self.members, &self.bounds);
        let parts = self.search.levels.for_each_interval(
            self.session,
            || Ok((Candidates::NONE, lower.block()?, upper.block()?)),
            |(Candidates { widest, central }, low, high), interval, levels, _| {
                let range = lower.bounds()[interval]..lower.bounds()[interval + 1];
                if members.iter(range.clone()).next().is_none() {
                    return Ok(());
                }
                lower.update(interval, low, |lower| {
                    upper.update(interval, high, |upper| {
                        for vertex in members.iter(range.clone()) {
                            let at = (vertex - range.start) as usize;
                            let level = levels[at].load(Relaxed);
                            lower[at] = lower[at].max(level).max(depth - level);
                            upper[at] = upper[at].min(depth.saturating_add(level));
                            *widest = (Reverse(upper[at]), vertex).min(*widest);
                            if lower[at] < upper[at] {
                                *central = (lower[at], vertex).min(*central);
                            }
                        }
                    })
                })?
            },
        )?;
        self.candidates = Candidates::NONE;
        for (Candidates { widest, central }, ..) in parts {
            self.candidates.widest = widest.min(self.candidates.widest);
            self.candidates.central = central.min(self.candidates.central);
        }
        Ok(())
    }

    /// Whether every eccentricity is known to be at most the largest distance found.
    fn is_proved(&self) -> bool {
        self.candidates.widest.0.0 <= self.diameter
    }

    /// From the vertex farthest from the start of `last` to the one farthest from it and so on,
    /// while distances grow; then from the most central vertex.
    fn estimate(&mut self, mut last: Depths) -> Result<()> {
        self.narrow(last.depth)?;
        while !self.is_proved() {
            let next = self.search(last.farthest)?;
            if next.depth <= last.depth {
                break;
            }
            last = next;
        }
        if !self.is_proved() {
            self.search(self.candidates.central.1)?;
        }
        Ok(())
    }

    /// Goes on until nothing is left to prove.
    fn prove(&mut self) -> Result<()> {
        let mut turn = false;
        while !self.is_proved() {
            let Candidates { widest, central } = self.candidates;
            self.search(if turn { central.1 } else { widest.1 })?;
            turn = !turn;
        }
        Ok(())
    }
}

fn reach(session: &Session, search: &mut OpenSearch, source: u64) -> Result<Depths> {
    let mut reach = Depths { depth: 0, farthest: source };
    // Without edges there is no source.
    if source < session.graph.connected() {
        search.run(session, source, |level, _, frontier| {
            let farthest = frontier.iter(0..frontier.len()).next().expect("a level has vertices");
            reach = Depths { depth: level as u32, farthest };
            true
        })?;
    }
    Ok(reach)
}

/// The largest component, after a search from `hub`, and its vertex with the smallest id or the
/// hub: what the search reached, if that is half of all; else by union-find.
fn largest(session: &Session, search: &OpenSearch, hub: u64) -> Result<(Frontier, u64)> {
    let len = session.graph.connected();
    let members = Frontier::new(len, session.config.huge_pages)?;
    if 2 * search.unvisited.count() <= len {
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
        let hub = session.graph.manifest().max_out_degree.1;
        let mut last = reach(session, &mut search, hub)?;
        let (members, start) = largest(session, &search, hub)?;
        if start != hub {
            last = reach(session, &mut search, start)?;
        }
        let searches = u64::from(!members.is_empty()) + u64::from(start != hub);
        let bounds = [VertexArray::of(session)?, VertexArray::of(session)?];
        // No lower bound either is known of vertices of other components.
        bounds[0].fill(|vertex| if members.contains(vertex) { 0 } else { u32::MAX })?;
        bounds[1].fill(|_| u32::MAX)?;
        let candidates = Candidates::NONE;
        let mut run =
            Bounding { session, search, searches, members, bounds, diameter: 0, candidates };
        run.estimate(last)?;
        if self.exact {
            run.prove()?;
        }
        let upper = run.candidates.widest.0.0.max(run.diameter);
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

    fn declare<'a>(&'a self, job: Job<'a>) -> Result<Prepared<'a>> {
        let mut planner = plan_32_bits(self.name(), job)?;
        let (vertices, grid) = (job.graph.connected(), job.graph.grid()?);
        let search = planner.declare(Search::undirected(job))?;
        VertexArray::<u32>::declare(&mut planner, "least eccentricities")?;
        VertexArray::<u32>::declare(&mut planner, "greatest eccentricities")?;
        // The labels of components are gone before bounds come.
        let labels = VertexArray::<u32>::memory_of(job.graph)?;
        planner.declare(EdgeScan::Perhaps)?;
        let external = labels + grid.widest() as u64 * 32;
        planner.memory("members", [Frontier::bytes(vertices); 2]);
        planner.memory("intervals at hand, labels", [0, external]);
        planner.scratch(vertices * 4);
        // Four searches, each of which finds most vertices by half of the edges.
        planner.guess(2);
        // A vertex is logged as found, and has two bounds.
        planner.traffic_external([4 * vertices * (8 + 8); 2]);
        planner.method(if self.exact {
            "breadth-first searches until the bounds of all eccentricities meet"
        } else {
            "breadth-first searches that bound all eccentricities"
        });
        Ok(planner.decide()?.prepared(move |session| self.run(session, search.open(session)?)))
    }
}
