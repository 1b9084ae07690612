//! The same graph with its vertices in another order.
//!
//! An order that is found in a graph comes as a file of places ([`Places`]), which its finder
//! writes in a folder of the build's. The edges then go the way of any build, by rank; the original
//! ids are copied.

use std::path::{Path, PathBuf};

use outercore_storage::Disk;

use super::{
    BuildOptions, BuildProgress, Builder, RankFile, RankFileWriter, SMALLEST_BUDGET, build,
    by_rank::ByRank,
    cutting::Cutting,
    least::{self, AtMost},
    make,
    smallest::{Division, smallest_above},
};
use crate::{
    error::{GraphError, Result, refuse, too_small},
    format::{IdTable, Manifest, SectionEntry},
    graph::Graph,
    input::EdgeSource,
    order::{Given, Order},
    types::{Layout, WeightKind},
};

/// Where the finder of an order writes it.
pub struct Places {
    writer: RankFileWriter,
    folder: PathBuf,
}

impl Places {
    /// The place, which will be the internal id, of the vertex of the next rank. Connected vertices
    /// come before the others.
    pub fn push(&mut self, place: u64) -> Result<()> {
        self.writer.push(place)
    }

    /// A folder for scratch files, which the build removes.
    pub fn scratch(&self) -> &Path {
        &self.folder
    }
}

/// What finds an order in a graph.
pub trait Find {
    /// The smallest budget in which it is found.
    fn least(&self, graph: &Graph) -> Result<u64>;
    /// A budget in which it is certainly found in a graph that has so much at the most.
    fn certain(&self, most: AtMost) -> u64;
    /// Finds it: pushes the place of every rank.
    fn find(&self, graph: &Graph, places: &mut Places) -> Result<()>;
}

/// The graph that a build writes in another order.
#[derive(Clone, Copy)]
pub(super) struct Reordered<'a> {
    /// The graph.
    pub graph: &'a Graph,
    /// The places of its vertices, where they are not a matter of degrees and ids.
    pub places: Option<&'a Given>,
}

/// Writes `graph` once more, at `output`, with its vertices in the order of `options`: which
/// `find` finds, unless it is a matter of degrees and ids. Direction, weights and whether it is
/// simple are the graph's.
pub fn reorder(
    graph: &Graph,
    output: &Path,
    options: &BuildOptions,
    find: &dyn Find,
    progress: &dyn BuildProgress,
) -> Result<Manifest> {
    let real = |path: &Path| std::fs::canonicalize(path).ok();
    if real(graph.path()).is_some_and(|path| real(output) == Some(path)) {
        return refuse("a graph is not written onto itself; give another name with -o");
    }
    let memory = left(graph, options, find)?;
    // What runs have loaded takes no part of this budget.
    graph.share(None);
    make(graph.disk(), output, options, progress, |builder| builder.reordered(graph, memory, find))
}

/// Builds the graph of `source` in an order that `find` finds in the same graph in another order,
/// which is built first.
pub fn build_in_order(
    disk: &Disk,
    source: &dyn EdgeSource,
    output: &Path,
    options: &BuildOptions,
    find: &dyn Find,
    progress: &dyn BuildProgress,
) -> Result<Manifest> {
    let later = |most| find.certain(most);
    least::check(source, options, later)?;
    make(disk, output, options, progress, |builder| {
        // Nothing passes over it but what finds the order, and so it needs no tiles.
        let base = BuildOptions {
            order: Order::Original,
            layout: Layout::Row,
            transpose: options.order == Order::Gorder,
            stripes: Vec::new(),
            force: false,
            ..options.clone()
        };
        let path = builder.scratch.join("base.oc");
        let built = build(disk, source, &path, &base, progress);
        built.map_err(|error| least::with_later(error, source, later))?;
        let graph = Graph::open(disk, &path)?;
        builder.reordered(&graph, left(&graph, options, find)?, find)
    })
}

impl Builder<'_> {
    /// Writes a graph in another order, in so much memory beside what is held of the graph.
    fn reordered(&self, graph: &Graph, memory: u64, find: &dyn Find) -> Result<Manifest> {
        let held = ByRank::bytes(graph);
        let places = self.find(graph, find)?;
        let manifest = graph.manifest();
        let options = BuildOptions {
            memory,
            directed: Some(manifest.directed),
            weights: Some(manifest.weights),
            simple: manifest.simple,
            ..self.options.clone()
        };
        let found = Some(Reordered { graph, places: places.as_ref() });
        let builder =
            Builder { options: &options, memory: Division(memory).work(), found, ..self.clone() };
        let written = builder.run(&ByRank::of(graph)?);
        written.map_err(|error| more(error, held))
    }

    /// Lets an order be found, where it has to be.
    fn find(&self, graph: &Graph, find: &dyn Find) -> Result<Option<Given>> {
        if !self.options.order.is_found() {
            return Ok(None);
        }
        let writer = RankFile::create(self.disk, self.scratch, "places")?;
        let mut places = Places { writer, folder: self.scratch.to_owned() };
        find.find(graph, &mut places)?;
        outercore_storage::memory::give_back_freed_memory();
        let file = places.writer.finish()?;
        if file.len() != graph.vertices() {
            let (found, wanted) = (file.len(), graph.vertices());
            return refuse(format!("the order has {found} places for {wanted} vertices"));
        }
        Ok(Some(Given::new(file, graph.connected())))
    }

    /// Copies the original ids of a graph.
    pub(super) fn copy_keys(&self, graph: &Graph) -> Result<(IdTable, Vec<SectionEntry>)> {
        let mut sections = Vec::new();
        for name in ["ids.keys", "ids.ends"] {
            if graph.manifest().section(name).is_none() {
                continue;
            }
            let (table, mut copy) = (graph.table(name)?, self.folders.section(name, false)?);
            let step = 1 << 18;
            for start in (0..table.section.bytes).step_by(step) {
                let len = (table.section.bytes - start).min(step as u64) as usize;
                copy.write(&table.read(start, len)?)?;
            }
            sections.push(copy.finish()?);
        }
        Ok((graph.manifest().ids.clone(), sections))
    }
}

/// What the budget leaves beside what is held of `graph`, if it is enough for all steps.
fn left(graph: &Graph, options: &BuildOptions, find: &dyn Find) -> Result<u64> {
    let (vertices, held) = (graph.vertices(), ByRank::bytes(graph));
    if vertices >= u64::from(u32::MAX) {
        return refuse(format!("a graph of {vertices} vertices is too large to be reordered"));
    }
    let finding = if options.order.is_found() { find.least(graph)? } else { 0 };
    let cutting = Cutting {
        connected: graph.connected(),
        degrees: 2 * graph.edges(),
        ..Cutting::new(graph.directed(), graph.weights() != WeightKind::None)
    };
    // An array over the vertices is demanded: they are numbered in memory.
    let fits = |division: Division| {
        vertices * 4 <= division.work() * 6 / 10 && cutting.fits(division.work())
    };
    let smallest = Division(SMALLEST_BUDGET);
    let writing = if fits(smallest) { smallest.0 } else { smallest_above(smallest.0, fits) } + held;
    let needed = finding.max(writing);
    if options.memory < needed {
        let what = if finding > writing { "finding" } else { "writing" };
        let what = format!("{what} the order {} of {vertices} vertices", options.order);
        return too_small(needed, options.memory, what);
    }
    Ok(options.memory - held)
}

/// The error of a part of the budget, in terms of all of it.
fn more(error: GraphError, held: u64) -> GraphError {
    match error {
        GraphError::Memory { needed, budget, what } => {
            GraphError::Memory { needed: needed + held, budget: budget + held, what }
        }
        other => other,
    }
}
