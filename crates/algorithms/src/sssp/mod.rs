//! Shortest paths from one vertex, by windows of distance (delta-stepping after Meyer and Sanders,
//! 2003): of the vertices whose distance improved since their edges were last read, those within
//! `delta` of the nearest are read together.
//!
//! Distances are 64-bit patterns whose order is that of the numbers: whole numbers for whole
//! weights, non-negative doubles else. A relaxation is one atomic minimum, so the distances do not
//! depend on the order of events.

mod external;

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use outercore_engine::{
    Cell, Column, EngineError, Figure, HugeVec, Isolated, Meaning, MemoryModel, Outcome, Plan,
    Result, RunConfig, RunProgress, Values,
    edges::{
        degrees::Degrees,
        io_iterator::IoIterator,
        rows::{Rows, mean_weight},
    },
    frontier::Frontier,
    plan::Needs,
    plan::PlanItem,
    session::Session,
};
use outercore_graph::{Direction, Graph, WeightKind};

use crate::{
    algorithm::{Algorithm, Source},
    finish::{Done, Summary, fits_32_bits, locate, open, outcome, row_sections},
};

/// Shortest paths from one vertex.
#[derive(Clone, Debug)]
pub struct Sssp {
    /// Where they start.
    pub source: Source,
    /// The width of a window of distance; `None`: from the mean weight and degree.
    pub delta: Option<f64>,
}

impl Sssp {
    fn needs(&self, graph: &Graph, threads: usize) -> Result<Needs> {
        let vertices = graph.connected();
        Ok(Needs {
            algorithm: self.name(),
            method: "windows of distance (delta-stepping), lists read on demand".to_owned(),
            resident: vec![
                PlanItem { name: "distances", bytes: vertices * 8 },
                PlanItem { name: "frontiers", bytes: 2 * Frontier::bytes(vertices) },
                PlanItem { name: "row index", bytes: Rows::index_bytes(graph) },
            ],
            external: Some(vec![
                PlanItem { name: "degrees", bytes: Degrees::narrow_bytes(graph)? },
                PlanItem { name: "row index", bytes: vertices / 64 * 8 + 16 },
                PlanItem { name: "frontiers", bytes: 2 * Frontier::bytes(vertices) },
                PlanItem { name: "logs", bytes: external::WORKER * threads as u64 + (4 << 20) },
                PlanItem { name: "smallest window", bytes: external::SMALLEST },
            ]),
            edges: row_sections(graph, Direction::Out, true)?.split_off(2),
            scans: None,
            ..Needs::default()
        })
    }

    fn suits(&self, graph: &Graph) -> Result<()> {
        fits_32_bits(graph, self.name())?;
        if graph.weights() == WeightKind::None {
            return Err(EngineError::Usage(format!(
                "{} has no weights: run bfs for distances in edges, or build it again with \
                 --weights",
                graph.path().display()
            )));
        }
        if graph.manifest().negative_weights {
            return Err(EngineError::Usage(format!(
                "{} has negative weights, for which shortest paths are not computed",
                graph.path().display()
            )));
        }
        Ok(())
    }
}

/// Numbers as patterns that sort like them.
#[derive(Clone, Copy)]
struct Lengths {
    kind: WeightKind,
}

impl Lengths {
    fn whole(self) -> bool {
        self.kind == WeightKind::U32
    }

    fn unreached(self) -> u64 {
        if self.whole() { u64::MAX } else { f64::INFINITY.to_bits() }
    }

    #[inline(always)]
    fn add(self, length: u64, weight: u64) -> u64 {
        if self.whole() {
            length + weight
        } else {
            (f64::from_bits(length) + self.kind.value(weight)).to_bits()
        }
    }

    fn plus(self, length: u64, delta: f64) -> u64 {
        if self.whole() {
            length.saturating_add((delta as u64).max(1))
        } else {
            (f64::from_bits(length) + delta).to_bits().max(length + 1)
        }
    }
}

struct Search<'s> {
    session: &'s Session<'s>,
    rows: &'s Rows,
    lengths: Lengths,
    distances: HugeVec<AtomicU64>,
    /// Vertices whose distance improved since their edges were last read.
    improved: Frontier,
    current: Frontier,
    delta: f64,
}

/// Groups of 64 vertices in a part of a parallel step.
const GRAIN: u64 = 1 << 10;

impl<'s> Search<'s> {
    /// A search that has not begun.
    fn new(session: &'s Session<'s>, rows: &'s Rows, lengths: Lengths, delta: f64) -> Result<Self> {
        let (len, huge) = (session.graph.connected(), session.config.huge_pages);
        let distances: HugeVec<AtomicU64> = HugeVec::zeroed(len as usize, huge)?;
        let unreached = lengths.unreached();
        session.workers.over(
            len,
            1 << 16,
            |_| (),
            |(), range| {
                distances[range.start as usize..range.end as usize]
                    .iter()
                    .for_each(|entry| entry.store(unreached, Relaxed))
            },
        );
        let (improved, current) = (Frontier::new(len, huge)?, Frontier::new(len, huge)?);
        Ok(Self { session, rows, lengths, distances, improved, current, delta })
    }

    fn run(&mut self, source: u64) -> Result<u64> {
        self.distances[source as usize].store(0, Relaxed);
        self.improved.insert(source);
        let mut rounds = 0;
        while let Some(nearest) = self.nearest() {
            let mark = self.session.mark();
            let (vertices, edges) = self.take(self.lengths.plus(nearest, self.delta));
            self.relax(edges)?;
            self.session.end_iteration(&mark, vertices, "on-demand");
            rounds += 1;
        }
        Ok(rounds)
    }

    /// The smallest distance among the improved.
    fn nearest(&self) -> Option<u64> {
        let nearest = self.session.workers.over(
            self.improved.len().div_ceil(64),
            GRAIN * 16,
            |_| u64::MAX,
            |nearest, range| {
                self.improved.iter(range.start * 64..range.end * 64).for_each(|vertex| {
                    *nearest = (*nearest).min(self.distances[vertex as usize].load(Relaxed))
                });
            },
        );
        nearest.into_iter().min().filter(|&nearest| nearest != u64::MAX)
    }

    /// Moves the improved vertices below `bound` to the frontier; returns how many, and their
    /// edges.
    fn take(&self, bound: u64) -> (u64, u64) {
        let counts = self.session.workers.over(
            self.improved.len().div_ceil(64),
            GRAIN * 16,
            |_| (0u64, 0u64),
            |(vertices, edges), range| {
                for group in range {
                    let improved = self.improved.word(group);
                    let (mut bits, mut taken) = (improved, 0u64);
                    while bits != 0 {
                        let bit = bits.trailing_zeros();
                        bits &= bits - 1;
                        let at = (group * 64) as usize + bit as usize;
                        if self.distances[at].load(Relaxed) < bound {
                            taken |= 1 << bit;
                            *vertices += 1;
                            *edges += u64::from(self.rows.degrees.get(at as u64));
                        }
                    }
                    self.current.set_word(group, taken);
                    if taken != 0 {
                        self.improved.set_word(group, improved & !taken);
                    }
                }
            },
        );
        counts.into_iter().fold((0, 0), |sum, part| (sum.0 + part.0, sum.1 + part.1))
    }

    fn relax(&self, edges: u64) -> Result<()> {
        IoIterator::new(self.session, self.rows).for_each(
            edges,
            |group| self.current.word(group),
            |_| (),
            |(), vertex, list| {
                let length = self.distances[vertex as usize].load(Relaxed);
                for (target, weight) in list.weighted() {
                    let through = self.lengths.add(length, weight);
                    let distance = &self.distances[target as usize];
                    if through < distance.load(Relaxed)
                        && through < distance.fetch_min(through, Relaxed)
                    {
                        self.improved.insert(target);
                    }
                }
            },
        )?;
        Ok(())
    }
}

/// A window's width: the mean weight, divided among the edges of a mean vertex.
fn delta(rows: &Rows, graph: &Graph, mean_weight: f64) -> f64 {
    let mean_degree = rows.edges() as f64 / graph.connected().max(1) as f64;
    (mean_weight * 16.0 / mean_degree.max(1.0)).max(f64::MIN_POSITIVE)
}

impl Algorithm for Sssp {
    fn name(&self) -> &'static str {
        "sssp"
    }

    fn plan(&self, graph: &Graph, config: &RunConfig) -> Result<Plan> {
        self.suits(graph)?;
        let (mut plan, _) = self.needs(graph, config.threads)?.plan(graph, config)?;
        if plan.memory_model == MemoryModel::FullyExternal {
            plan.method =
                "windows of distance (delta-stepping), a window of vertices at a time".to_owned();
            plan.disk_bytes = graph.connected() * 8 + graph.manifest().arcs * 16;
        }
        Ok(plan)
    }

    fn run(
        &self,
        graph: &Graph,
        config: &RunConfig,
        progress: &dyn RunProgress,
    ) -> Result<Outcome> {
        self.suits(graph)?;
        if self.delta.is_some_and(|delta| delta.is_nan() || delta <= 0.0) {
            return Err(EngineError::Usage("--delta must be above 0".to_owned()));
        }
        let (plan, cache) = self.needs(graph, config.threads)?.plan(graph, config)?;
        let source = locate(graph, &self.source)?;
        let (session, sections) =
            open(graph, config, progress, &row_sections(graph, Direction::Out, true)?)?;
        let lengths = Lengths { kind: graph.weights() };
        let isolated = source >= graph.connected();
        let external = plan.memory_model == MemoryModel::FullyExternal;
        // With the distances on storage, windows have half of what is left, and the front of the
        // rows the rest.
        let rows = if external {
            Rows::load_narrow(&session, sections, cache / 2)?
        } else {
            Rows::load(&session, sections, cache)?
        };
        let delta = match self.delta {
            Some(delta) => delta,
            None => delta(&rows, graph, mean_weight(graph)?),
        };
        let (values, rounds, load_seconds) = if external {
            let mut search = external::Search::new(
                &session,
                &rows,
                lengths,
                delta,
                external::SMALLEST + cache / 2,
            )?;
            let load_seconds = session.seconds();
            let rounds = search.run((!isolated).then_some(source))?;
            (search.into_values()?, rounds, load_seconds)
        } else {
            let mut search = Search::new(&session, &rows, lengths, delta)?;
            let load_seconds = session.seconds();
            let rounds = if isolated { 0 } else { search.run(source)? };
            let distances = search.distances.into_plain();
            (
                if lengths.whole() {
                    Values::from(distances)
                } else {
                    Values::from(distances.into_floats())
                },
                rounds,
                load_seconds,
            )
        };
        let column = Column {
            name: "distance",
            values,
            isolated: Isolated::Null,
            meaning: Meaning::Number,
            exceptions: Vec::from_iter(isolated.then_some((source, 0.0))),
        };
        let mut summary = summary(&column, lengths)?;
        if isolated {
            summary.insert("reached", Figure::Integer(1));
        }
        summary.insert("source", Figure::Key(graph.key_of(source)?));
        Ok(outcome(
            &Done { session: &session, plan: &plan, iterations: rounds, load_seconds },
            summary,
            vec![column],
            false,
        ))
    }
}

/// Reached vertices, the largest distance and the sum of all.
fn summary(column: &Column, lengths: Lengths) -> Result<Summary> {
    let (mut reached, mut largest, mut sum, mut farthest, mut total) = (0, 0, 0, 0.0f64, 0.0);
    column.for_each(|_, cell| match cell {
        Cell::Null => {}
        Cell::Integer(length) => {
            (reached, largest, sum) = (reached + 1, length.max(largest), sum + length)
        }
        Cell::Float(length) => {
            (reached, farthest, total) = (reached + 1, length.max(farthest), total + length)
        }
    })?;
    let whole = lengths.whole();
    let mut summary = Summary::new();
    summary.insert("reached", Figure::Integer(reached));
    summary.insert(
        "max_distance",
        if whole { Figure::Integer(largest) } else { Figure::Float(farthest) },
    );
    summary.insert("distance_sum", if whole { Figure::Integer(sum) } else { Figure::Float(total) });
    Ok(summary)
}
