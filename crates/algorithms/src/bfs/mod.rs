//! Breadth-first search, direction-optimizing (Beamer, Asanovic and Patterson, SC'12), over lists
//! read on demand.
//!
//! A level is pushed (the frontier's out-lists are read) while the frontier is small, and pulled
//! (the in-lists of unvisited vertices are read) while it is large. Before a list is pulled, the
//! vertex's first in-neighbor, its largest hub, is tried in memory: it answers for most, and their
//! lists are never read.
//!
//! A vertex's parent is its in-neighbor of the level before with the smallest internal id, in both
//! directions and whatever the threads do.

mod program;
mod tree;

use outercore_engine::{
    Column, Figure, Isolated, Meaning, MemoryModel, Outcome, Plan, ReadPolicy, Result, RunConfig,
    RunProgress,
    edges::{degrees::Degrees, grid::Grid, heads::Heads, io_iterator::IoIterator, rows::Rows},
    execute::plan_monotone,
    frontier::Frontier,
    plan::Needs,
    plan::PlanItem,
    session::Session,
};
use outercore_graph::{Direction, Graph};

use self::{
    program::Program,
    tree::{Batches, Tree},
};
use crate::{
    algorithm::{Algorithm, Source},
    finish::{Done, Summary, fits_32_bits, locate, open, outcome, row_sections},
    level_logs::LOGS,
};

/// Breadth-first search from one vertex.
#[derive(Clone, Debug)]
pub struct Bfs {
    /// Where it starts.
    pub source: Source,
}

/// Pull once the frontier's edges exceed this share of the unvisited vertices' (GAPBS: 15).
const ALPHA: u64 = 15;
/// Push again once the frontier is smaller than this share of the vertices (GAPBS: 18).
const BETA: u64 = 18;

impl Bfs {
    /// Whether levels can be pulled: an undirected graph, or one with its transpose.
    fn pulls(graph: &Graph) -> bool {
        graph.rows(Direction::In).is_some()
    }

    fn needs(&self, graph: &Graph) -> Result<Needs> {
        let vertices = graph.connected();
        let index = Rows::index_bytes(graph);
        let mut resident = vec![
            PlanItem { name: "levels, parents", bytes: vertices * 8 },
            PlanItem { name: "frontiers", bytes: 3 * Frontier::bytes(vertices) },
            PlanItem { name: "row index", bytes: index },
        ];
        let mut edges: Vec<String> = row_sections(graph, Direction::Out, false)?.split_off(2);
        if Self::pulls(graph) {
            resident.push(PlanItem { name: "first neighbors", bytes: Heads::bytes(graph) });
            if graph.directed() {
                resident.push(PlanItem { name: "incoming index", bytes: index });
                edges.extend(row_sections(graph, Direction::In, false)?.split_off(2));
            }
        }
        let method = if Self::pulls(graph) {
            "direction-optimizing: pushes small frontiers, pulls large ones"
        } else {
            "pushes every frontier (no transpose)"
        };
        // Both directions' degrees and indexes; the first neighbors and the tree are on storage.
        let directions = if Self::pulls(graph) && graph.directed() { 2 } else { 1 };
        let degrees = Degrees::narrow_bytes(graph)?;
        let external = vec![
            PlanItem { name: "degrees", bytes: directions * degrees },
            PlanItem { name: "row index", bytes: directions * (vertices / 64 * 8 + 16) },
            PlanItem { name: "frontiers", bytes: 3 * Frontier::bytes(vertices) },
            PlanItem { name: "logs", bytes: LOGS },
        ];
        Ok(Needs {
            algorithm: self.name(),
            method: method.to_owned(),
            resident,
            external: Some(external),
            edges,
            scans: None,
            ..Needs::default()
        })
    }
}

/// The state of a search.
struct Search<'s> {
    session: &'s Session<'s>,
    out: &'s Rows,
    incoming: Option<(&'s Rows, Heads)>,
    scan: Option<Grid>,
    tree: Tree,
    current: Frontier,
    next: Frontier,
    /// Who is on no level up to that of the frontier.
    unvisited: Frontier,
}

/// What a worker finds in a level.
struct Found {
    vertices: u64,
    edges: u64,
    batches: Batches,
}

impl Search<'_> {
    /// Runs to the end; returns vertices reached, the number of the last level, and the sum of the
    /// levels.
    fn run(&mut self, source: u64) -> Result<(u64, u64, u64)> {
        let mut first = self.nothing();
        self.tree.found(&mut first.batches, 0, source, source);
        self.tree.end_level([first.batches])?;
        self.current.insert(source);
        self.unvisited.remove(source);
        let mut frontier = (1, u64::from(self.out.degrees.get(source)));
        let (mut reached, mut level, mut sum, mut unexplored) =
            (1, 0u64, 0, self.out.edges() - frontier.1);
        let mut pulling = false;
        loop {
            let mark = self.session.mark();
            pulling = self.incoming.is_some()
                && if pulling {
                    frontier.0 > self.session.graph.connected() / BETA
                } else {
                    frontier.1 > unexplored / ALPHA
                };
            let next = level as u32 + 1;
            let found = match &self.scan {
                Some(scan) => self.scan(next, scan)?,
                None if pulling => self.pull(next)?,
                None => self.push(next, frontier.1)?,
            };
            let (vertices, edges) =
                found.iter().fold((0, 0), |sum, part| (sum.0 + part.vertices, sum.1 + part.edges));
            self.tree.end_level(found.into_iter().map(|part| part.batches))?;
            self.unvisited.remove_all(&self.next);
            std::mem::swap(&mut self.current, &mut self.next);
            self.next.clear();
            self.session.end_iteration(
                &mark,
                frontier.0,
                if self.scan.is_some() { "full" } else { "on-demand" },
            );
            if vertices == 0 {
                return Ok((reached, level, sum));
            }
            level += 1;
            reached += vertices;
            sum += vertices * level;
            unexplored = unexplored.saturating_sub(edges);
            frontier = (vertices, edges);
        }
    }

    fn nothing(&self) -> Found {
        Found { vertices: 0, edges: 0, batches: self.tree.batches() }
    }

    /// Puts `vertex` on a level. Several workers may find it: one of them counts it.
    #[inline(always)]
    fn take(&self, found: &mut Found, level: u32, vertex: u64, parent: u64) {
        self.tree.found(&mut found.batches, level, vertex, parent);
        if self.next.insert(vertex) {
            found.vertices += 1;
            found.edges += u64::from(self.out.degrees.get(vertex));
        }
    }

    /// All edges, of which those from the frontier count.
    fn scan(&self, level: u32, grid: &Grid) -> Result<Vec<Found>> {
        grid.for_each(
            self.session,
            |_, _| true,
            |_| self.nothing(),
            |found, block| {
                block.edges(|source, target| {
                    if self.current.contains(source) && self.unvisited.contains(target) {
                        self.take(found, level, target, source);
                    }
                })
            },
        )
    }

    /// The frontier's out-lists.
    fn push(&self, level: u32, edges: u64) -> Result<Vec<Found>> {
        IoIterator::new(self.session, self.out).for_each(
            edges,
            |group| self.current.word(group),
            |_| self.nothing(),
            |found, vertex, list| {
                for target in list.neighbors() {
                    if self.unvisited.contains(target) {
                        self.take(found, level, target, vertex);
                    }
                }
            },
        )
    }

    /// The unvisited vertices: their first in-neighbor, then the in-lists of those for which it
    /// does not answer.
    fn pull(&self, level: u32) -> Result<Vec<Found>> {
        let (rows, heads) = self.incoming.as_ref().expect("pulled only with incoming edges");
        let mut all = self.by_heads(level, heads)?;
        let pending = self.unvisited.count() - all.iter().map(|found| found.vertices).sum::<u64>();
        // A list of one neighbor holds nothing beyond the head.
        let wanted = |group: u64| {
            let mut bits = self.unvisited.word(group) & !self.next.word(group);
            let mut rest = bits;
            while rest != 0 {
                let bit = rest.trailing_zeros();
                rest &= rest - 1;
                if rows.degrees.get(group * 64 + u64::from(bit)) < 2 {
                    bits &= !(1 << bit);
                }
            }
            bits
        };
        all.extend(IoIterator::new(self.session, rows).for_each(
            pending * 8,
            wanted,
            |_| self.nothing(),
            |found, vertex, list| {
                // A long list comes in pieces, each of which may have a parent.
                if let Some(parent) =
                    list.neighbors().find(|&neighbor| self.current.contains(neighbor))
                {
                    self.take(found, level, vertex, parent);
                }
            },
        )?);
        Ok(all)
    }

    /// The vertices whose first in-neighbor is in the frontier.
    fn by_heads(&self, level: u32, heads: &Heads) -> Result<Vec<Found>> {
        heads.for_each_group(
            self.session,
            |group| self.unvisited.word(group) != 0,
            |_| self.nothing(),
            |found, group, heads| {
                let mut bits = self.unvisited.word(group);
                while bits != 0 {
                    let vertex = group * 64 + u64::from(bits.trailing_zeros());
                    bits &= bits - 1;
                    match heads.get(vertex) {
                        Some(head) if self.current.contains(head) => {
                            self.take(found, level, vertex, head)
                        }
                        Some(_) => {}
                        // Nothing leads to it.
                        None => self.unvisited.remove(vertex),
                    }
                }
            },
        )
    }
}

impl Algorithm for Bfs {
    fn name(&self) -> &'static str {
        "bfs"
    }

    fn plan(&self, graph: &Graph, config: &RunConfig) -> Result<Plan> {
        if config.wants_monotone() {
            return Ok(plan_monotone(
                &Program { source: locate(graph, &self.source)? },
                self.name(),
                graph,
                config,
            )?
            .0);
        }
        let (mut plan, _) = self.needs(graph)?.plan(graph, config)?;
        if plan.memory_model == MemoryModel::FullyExternal {
            plan.disk_bytes = graph.connected() * 24;
        }
        Ok(plan)
    }

    fn run(
        &self,
        graph: &Graph,
        config: &RunConfig,
        progress: &dyn RunProgress,
    ) -> Result<Outcome> {
        fits_32_bits(graph, self.name())?;
        if config.wants_monotone() {
            return program::run(
                &Program { source: locate(graph, &self.source)? },
                graph,
                config,
                progress,
            );
        }
        let (plan, room) = self.needs(graph)?.plan(graph, config)?;
        let external = plan.memory_model == MemoryModel::FullyExternal;
        let source = locate(graph, &self.source)?;
        let pulls = Self::pulls(graph);
        let both = pulls && graph.directed();
        let mut names = row_sections(graph, Direction::Out, false)?;
        if both {
            names.extend(row_sections(graph, Direction::In, false)?);
        }
        if pulls {
            names.push(Heads::section(graph));
        }
        // A grid that lacks edges is no use: the lists have them all.
        let full = config.read == ReadPolicy::Full && graph.has_whole_grid();
        if full {
            names.push("grid.words".to_owned());
        }
        let (session, sections) = open(graph, config, progress, &names)?;
        let mut sections = sections.into_iter();
        // The logs' windows take memory when the caches have gone.
        let share = room / if both { 2 } else { 1 };
        let load = if external { Rows::load_narrow } else { Rows::load };
        let out = load(&session, sections.by_ref().take(3).collect(), share)?;
        let incoming = if both {
            Some(load(&session, sections.by_ref().take(3).collect(), share)?)
        } else {
            None
        };
        let heads = match if pulls { sections.next() } else { None } {
            Some(section) if external => Some(Heads::stored(&session, section)),
            Some(section) => Some(Heads::load(&session, &section)?),
            None => None,
        };
        let scan = if full {
            Some(Grid::open(&session, sections.next().expect("the section was opened"), 0)?)
        } else {
            None
        };
        let (len, huge) = (graph.connected(), config.huge_pages);
        let mut unvisited = Frontier::new(len, huge)?;
        unvisited.fill();
        let mut search = Search {
            session: &session,
            out: &out,
            incoming: heads.map(|heads| (incoming.as_ref().unwrap_or(&out), heads)),
            scan,
            tree: if external { Tree::logs(&session, room)? } else { Tree::memory(&session)? },
            current: Frontier::new(len, huge)?,
            next: Frontier::new(len, huge)?,
            unvisited,
        };
        let load_seconds = session.seconds();
        let isolated = source >= len;
        let (reached, last, level_sum) = if isolated { (1, 0, 0) } else { search.run(source)? };
        let mut summary = Summary::new();
        summary.insert("source", Figure::Key(graph.key_of(source)?));
        summary.insert("reached", Figure::Integer(reached));
        summary.insert("levels", Figure::Integer(last + 1));
        summary.insert("level_sum", Figure::Integer(level_sum));
        let Search { tree, .. } = search;
        drop((out, incoming));
        let (levels, parents) = tree.columns(&session)?;
        let own = |value: f64| Vec::from_iter(isolated.then_some((source, value)));
        let level = Column {
            name: "level",
            values: levels,
            isolated: Isolated::Null,
            meaning: Meaning::Number,
            exceptions: own(0.0),
        };
        let parent = Column {
            name: "parent",
            values: parents,
            isolated: Isolated::Null,
            meaning: Meaning::Vertex,
            exceptions: own(source as f64),
        };
        Ok(outcome(
            &Done { session: &session, plan: &plan, iterations: last + 1, load_seconds },
            summary,
            vec![level, parent],
            false,
        ))
    }
}
