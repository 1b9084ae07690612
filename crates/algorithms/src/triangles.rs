//! Triangles: three vertices, each two of them neighbors. On the undirected simple view:
//! directions, repetitions and self-loops do not count.
//!
//! Each triangle a < b < c is found once. The sets of smaller neighbors of a window of vertices b
//! are held in memory, as many as the budget allows; all c after the window's first vertex stream
//! past it, and their sets are intersected with those of their neighbors in the window
//! ([`crate::intersect`]). One window when the sets fit; with half of them in memory, two. The
//! order of degrees makes sets short: nobody has more smaller neighbors than the square root of all
//! edges (Chiba and Nishizeki, 1985).

use std::sync::{
    Mutex, MutexGuard, PoisonError,
    atomic::{AtomicU32, Ordering::Relaxed},
};

use outercore_engine::{
    Figure, MemoryModel, Outcome, Plan, Result, RunConfig, RunProgress, plan::Needs,
    plan::PlanItem, session::Session, state::Appender,
};
use outercore_graph::Graph;

use crate::{
    algorithm::Algorithm,
    counts::{Counts, Widths},
    finish::{Done, Summary, fits_32_bits, open, outcome},
    intersect::{Counter, Counting, Window},
    lists::{self, Kept, Lists},
};

/// The number of triangles.
#[derive(Clone, Debug, Default)]
pub struct Triangles;

/// Vertices of a part in parallel steps.
const PART: u64 = 64;

/// How memory is divided.
struct Sizes {
    /// Entries of a batch.
    entries: u64,
    /// Blocks of the window.
    blocks: u64,
}

/// A plan for counting triangles.
pub struct Counted {
    /// The plan.
    pub plan: Plan,
    sizes: Sizes,
    counting: Counting,
    /// Of the counts, and of the numbers of neighbors.
    widths: [Widths; 2],
}

impl Counted {
    /// Plans a run of `algorithm`.
    pub fn plan(
        algorithm: &'static str,
        counting: Counting,
        graph: &Graph,
        config: &RunConfig,
    ) -> Result<Self> {
        fits_32_bits(graph, algorithm)?;
        let (vertices, longest) = (graph.connected(), lists::longest(graph, Kept::Smaller));
        let least = Sizes::least(graph);
        let mut rest = vec![
            PlanItem { name: "batch of lists", bytes: lists::batch_bytes(graph, least.entries) },
            PlanItem {
                name: "window of sets",
                bytes: Window::bytes(least.blocks, counting == Counting::Arcs),
            },
            PlanItem {
                name: "counters",
                bytes: Counter::bytes(counting, vertices, longest) * config.threads as u64,
            },
        ];
        let widths = widths(graph, counting)?;
        if counting.by_vertex() {
            rest.push(PlanItem {
                name: "counts, degrees",
                bytes: widths.iter().map(|widths| widths.bytes()).sum(),
            });
        }
        let with_index = |model| {
            let mut items =
                vec![PlanItem { name: "row index", bytes: lists::index_bytes(graph, model) }];
            items.extend(rest.iter().cloned());
            // On scratch otherwise, by way of what the window leaves.
            if counting.by_vertex() && model != MemoryModel::FullyExternal {
                items.push(PlanItem { name: "result", bytes: vertices * 8 });
            }
            items
        };
        let edges = lists::edge_sections(graph, algorithm)?;
        let (mut plan, room) = Needs {
            algorithm,
            method:
                "sets of smaller neighbors of a window of vertices in memory, those of all others \
                     stream past"
                    .to_owned(),
            resident: with_index(MemoryModel::SemiExternal),
            external: Some(with_index(MemoryModel::FullyExternal)),
            edges: edges.clone(),
            scans: None,
            ..Needs::default()
        }
        .plan(graph, config)?;
        let sizes = Sizes::within(graph, counting, room, least);
        // The vertices of the windows are read once, those that stream past once for each window,
        // from that window on.
        let bytes: u64 = edges
            .iter()
            .filter_map(|name| graph.manifest().section(name))
            .map(|section| section.bytes)
            .sum();
        let windows = Sizes::most(graph).div_ceil(sizes.blocks).max(1);
        plan.expected_bytes_read = Some(bytes + bytes * (windows + 1) / 2);
        if counting.by_vertex() && plan.memory_model == MemoryModel::FullyExternal {
            plan.disk_bytes = Appender::<f64>::disk_bytes(vertices);
        }
        Ok(Self { plan, sizes, counting, widths })
    }

    /// Counts. Returns the triangles, and for each vertex its count and the number of its
    /// neighbors, where they are counted.
    pub fn run<'s>(&self, lists: &mut Lists<'s>, session: &'s Session<'s>) -> Result<Found> {
        let (vertices, huge) = (session.graph.connected(), session.config.huge_pages);
        let [counts, degrees] = self.widths;
        let results =
            PerVertex { counts: Counts::new(counts, huge)?, degrees: Counts::new(degrees, huge)? };
        let longest = lists::longest(session.graph, Kept::Smaller);
        let counters = (0..session.workers.count())
            .map(|_| Mutex::new(Counter::new(self.counting, vertices, longest)))
            .collect();
        let window = Window::new(self.sizes.blocks, self.counting == Counting::Arcs, huge)?;
        let mut pass = Pass {
            session,
            lists,
            counting: self.counting,
            counters,
            window,
            results,
            degrees: degrees != Widths::NONE,
        };
        let (mut first, mut windows) = (0, 0);
        while first < vertices {
            windows += 1;
            let mark = session.mark();
            pass.fill(first)?;
            pass.stream(first)?;
            session.end_iteration(&mark, pass.window.len as u64, "full");
            first += pass.window.len as u64;
        }
        let mut total = 0;
        for counter in &pass.counters {
            let mut counter = lock(counter);
            counter.finish(&pass.results.counts);
            total += counter.total;
        }
        let PerVertex { counts, degrees } = pass.results;
        Ok(Found {
            triangles: total,
            windows,
            counts,
            degrees: (self.widths[1] != Widths::NONE).then_some(degrees),
        })
    }

    /// The entries of the lists' batches.
    pub fn entries(&self) -> u64 {
        self.sizes.entries
    }
}

/// What was found.
pub struct Found {
    /// All triangles, where only they were counted.
    pub triangles: u64,
    /// Windows that were streamed past.
    pub windows: u64,
    /// For each vertex its triangles, or the edges between its neighbors; of nobody where only the
    /// total was counted.
    pub counts: Counts,
    /// For each vertex its neighbors, where they are not just its edges.
    pub degrees: Option<Counts>,
}

/// What is counted for each vertex.
struct PerVertex {
    counts: Counts,
    degrees: Counts,
}

/// Of the counts, and of the numbers of neighbors: these are counted where an edge may not be a
/// neighbor of its own.
fn widths(graph: &Graph, counting: Counting) -> Result<[Widths; 2]> {
    let byte = u64::from(u8::MAX);
    match counting {
        Counting::Total => Ok([Widths::NONE; 2]),
        // With k neighbors there are at most k (k - 1) / 2 edges between them, or k (k - 1)
        // directed ones.
        Counting::Each if graph.manifest().simple => Ok([Widths::of(graph, 23)?, Widths::NONE]),
        Counting::Each => Ok([Widths::of(graph, 23)?, Widths::of(graph, byte)?]),
        Counting::Arcs => Ok([Widths::of(graph, 16)?, Widths::of(graph, byte)?]),
    }
}

impl Sizes {
    /// The smallest with which it works: a batch always fits the window.
    fn least(graph: &Graph) -> Self {
        let entries = lists::batch_entries(graph, Kept::Smaller, 0);
        Self { entries, blocks: entries }
    }

    /// The most blocks that there can be.
    fn most(graph: &Graph) -> u64 {
        graph.manifest().arcs / if graph.directed() { 1 } else { 2 } + 1
    }

    /// With `room` bytes more than the least.
    fn within(graph: &Graph, counting: Counting, room: u64, least: Self) -> Self {
        let entries = lists::batch_entries(
            graph,
            Kept::Smaller,
            lists::batch_bytes(graph, least.entries) + room / 8,
        );
        let more = lists::batch_bytes(graph, entries)
            .saturating_sub(lists::batch_bytes(graph, least.entries));
        let blocks = Window::blocks_in(room.saturating_sub(more), counting == Counting::Arcs);
        // Half as many vertices fit as blocks: more than all of both is of no use.
        let useful = Self::most(graph).max(2 * graph.connected() + 2);
        Self { entries, blocks: (least.blocks + blocks).min(useful.max(entries)) }
    }
}

fn lock(counter: &Mutex<Counter>) -> MutexGuard<'_, Counter> {
    counter.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A run.
struct Pass<'p, 's> {
    session: &'p Session<'s>,
    lists: &'p mut Lists<'s>,
    counting: Counting,
    counters: Vec<Mutex<Counter>>,
    window: Window,
    results: PerVertex,
    /// Whether neighbors are counted.
    degrees: bool,
}

impl Pass<'_, '_> {
    fn reciprocal(&self) -> bool {
        self.counting == Counting::Arcs
    }

    /// Fills the window with the sets of vertices from `first` on.
    fn fill(&mut self, first: u64) -> Result<()> {
        self.window.clear(first);
        loop {
            let batch = self.lists.load(self.window.first + self.window.len as u64)?;
            let len = batch.end - batch.start;
            if len == 0 {
                return Ok(());
            }
            let blocks: Vec<AtomicU32> = (0..len).map(|_| AtomicU32::new(0)).collect();
            self.each(batch.clone(), |counter, vertex| {
                blocks[(vertex - batch.start) as usize].store(counter.set.blocks() as u32, Relaxed);
            })?;
            if !self.window.extend(blocks.iter().map(|count| count.load(Relaxed))) {
                return Ok(());
            }
            self.each(batch, |counter, vertex| self.window.put(vertex, &counter.set))?;
        }
    }

    /// Lets all vertices after `first` stream past the window.
    fn stream(&mut self, first: u64) -> Result<()> {
        let mut next = first;
        loop {
            let batch = self.lists.load(next)?;
            if batch.is_empty() {
                return Ok(());
            }
            let (window, results) = (&self.window, &self.results);
            let degrees = self.degrees && first == 0;
            self.each(batch.clone(), |counter, vertex| {
                counter.close(window, vertex, &results.counts);
                if degrees {
                    counter.set.ids().iter().for_each(|&id| results.degrees.add(u64::from(id), 1));
                    results.degrees.add(vertex, counter.set.ids().len() as u64);
                }
            })?;
            next = batch.end;
        }
    }

    /// Hands the set of each vertex of the batch at hand to `work`, on all workers.
    fn each(
        &self,
        batch: std::ops::Range<u64>,
        work: impl Fn(&mut Counter, u64) + Sync,
    ) -> Result<()> {
        let (session, lists, reciprocal) = (self.session, &*self.lists, self.reciprocal());
        session.workers.over(
            batch.end - batch.start,
            PART,
            |index| index,
            |index, part| {
                if session.stopped() {
                    return;
                }
                let mut counter = lock(&self.counters[*index]);
                for vertex in batch.start + part.start..batch.start + part.end {
                    counter.set.collect(lists.batch(), vertex, reciprocal);
                    work(&mut counter, vertex);
                }
            },
        );
        session.check()
    }
}

impl Algorithm for Triangles {
    fn name(&self) -> &'static str {
        "triangles"
    }

    fn plan(&self, graph: &Graph, config: &RunConfig) -> Result<Plan> {
        Ok(Counted::plan(self.name(), Counting::Total, graph, config)?.plan)
    }

    fn has_columns(&self) -> bool {
        false
    }

    fn run(
        &self,
        graph: &Graph,
        config: &RunConfig,
        progress: &dyn RunProgress,
    ) -> Result<Outcome> {
        let counted = Counted::plan(self.name(), Counting::Total, graph, config)?;
        let (session, sections) =
            open(graph, config, progress, &lists::sections(graph, self.name())?)?;
        let model = counted.plan.memory_model;
        let mut lists = Lists::open(
            &session,
            &mut sections.into_iter(),
            model,
            Kept::Smaller,
            counted.entries(),
            0,
        )?;
        let load_seconds = session.seconds();
        let found = counted.run(&mut lists, &session)?;
        let mut summary = Summary::new();
        summary.insert("triangles", Figure::Integer(found.triangles));
        let done = Done {
            session: &session,
            plan: &counted.plan,
            iterations: found.windows,
            load_seconds,
        };
        Ok(outcome(&done, summary, Vec::new(), false))
    }
}
