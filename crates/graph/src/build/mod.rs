//! Building a graph: edges in any order become the on-disk format, inside a memory budget.
//!
//! 1. `ingest`: spools the edges, counts degrees.
//! 2. `dictionary`: makes ranks of ids that are not dense.
//! 3. `numbering`: makes internal ids of ranks, in the order asked for.
//! 4. `distribute`: hands edges to buckets.
//! 5. `emit`: sorts each bucket, writes rows and tiles.
//! 6. `staging`: publishes the graph.
//!
//! Cost: the input is read once. Every edge goes to scratch and back once as it came, and twice as
//! a packed record (in an undirected graph once from each end). Ids that are not dense add two more
//! rounds. The simple view of a graph with lists of both directions is merged from them, without
//! scratch (`lists`). Memory is the budget's, whatever the number of edges and vertices.

mod access;
mod bins;
mod buckets;
mod by_rank;
mod cells;
mod cutter;
mod cutting;
mod dictionary;
mod distribute;
mod emit;
pub(crate) mod extra;
mod fixed;
mod grid;
mod ids;
mod ingest;
mod intervals;
mod least;
mod lists;
mod manifest;
mod names;
mod numbering;
mod options;
mod packed;
mod partition;
mod radix;
mod rankfile;
mod relabel;
pub(crate) mod removal;
mod reorder;
mod rows;
mod runs;
mod sample;
mod sections;
mod settings;
mod smallest;
mod sorting;
mod spool;
mod staging;
mod swap;
mod turns;
mod view;
mod weights;

use std::path::Path;

use outercore_storage::{Disk, threads};

use self::{
    access::SourceAccess,
    cells::CellCounts,
    cutting::Cutting,
    distribute::Partitions,
    emit::BucketRecords,
    ingest::ingest,
    numbering::Numbered,
    packed::RecordCode,
    partition::{Partition, block_bytes},
    radix::Weighted,
    reorder::Reordered,
    sections::{BULK, Folders},
    smallest::Division,
    sorting::Sorting,
    staging::Staging,
    weights::WeightCode,
};
pub use self::{
    least::AtMost,
    reorder::{Find, Places, build_in_order, reorder},
};
pub use self::{options::BuildOptions, settings::BuildSettings, smallest::SMALLEST_BUDGET};
pub(crate) use self::{
    rankfile::{RankFile, RankFileWriter, RankReader},
    swap::is_between_names,
    view::{build_view, is_merged, smallest_of_view},
};
use crate::{
    error::{self, GraphError, Result, refuse, too_small},
    format::{Cells, Hybrid, Manifest},
    input::EdgeSource,
    types::{Layout, WeightKind, bytes_for},
};

/// Bytes that a thread takes which reads a source, at the least.
const READER: usize = 256 << 10;

/// Is told how far a build is, and may end it.
pub trait BuildProgress: Sync {
    /// A new stage begins; `total` is what [`BuildProgress::advance`] will add up to, where that is
    /// known.
    fn stage(&self, name: &'static str, total: Option<u64>);
    /// Work was done in this stage.
    fn advance(&self, amount: u64);
    /// Whether the user wants to stop.
    fn cancelled(&self) -> bool;
    /// An error when the user wants to stop.
    fn check(&self) -> Result<()> {
        if self.cancelled() { Err(GraphError::Cancelled) } else { Ok(()) }
    }
}

/// Progress that is not shown.
pub struct Silent;

impl BuildProgress for Silent {
    fn stage(&self, _: &'static str, _: Option<u64>) {}
    fn advance(&self, _: u64) {}
    fn cancelled(&self) -> bool {
        false
    }
}

/// Runs `work` on `threads` threads; the first error that is not a mere consequence of another is
/// returned.
pub(crate) fn parallel(threads: usize, work: impl Fn(usize) -> Result<()> + Sync) -> Result<()> {
    error::all(threads::at_once(threads, work)?).map(drop)
}

/// Builds the graph of `source` at `output`. Afterwards it is there whole, or `output` is as it
/// was.
pub fn build(
    disk: &Disk,
    source: &dyn EdgeSource,
    output: &Path,
    options: &BuildOptions,
    progress: &dyn BuildProgress,
) -> Result<Manifest> {
    let order = options.order;
    if order.is_found() {
        return refuse(format!(
            "the order {order} is found in a graph: build one in another order, and give it to \
             `outercore order`"
        ));
    }
    least::check(source, options, |_| 0)?;
    make(disk, output, options, progress, |builder| builder.run(source))
}

/// Makes the graph that `work` builds at `output`.
fn make(
    disk: &Disk,
    output: &Path,
    options: &BuildOptions,
    progress: &dyn BuildProgress,
    work: impl FnOnce(&Builder) -> Result<Manifest>,
) -> Result<Manifest> {
    if options.memory < SMALLEST_BUDGET {
        return too_small(SMALLEST_BUDGET, options.memory, "building a graph");
    }
    outercore_storage::memory::give_back_freed_memory();
    let (staging, uuid) = Staging::begin(disk, output, &options.stripes, options.force)?;
    let folders = Folders {
        disk: disk.clone(),
        folder: staging.folder().to_owned(),
        stripes: staging.stripes().to_owned(),
        unit: outercore_storage::stripe::DEFAULT_UNIT,
        bulk: Division(options.memory).buffer(BULK),
    };
    let manifest = work(&Builder {
        disk,
        folders: &folders,
        scratch: staging.scratch(),
        options,
        progress,
        memory: Division(options.memory).work(),
        uuid,
        found: None,
    })?;
    disk.write_all_new(&folders.folder.join(crate::format::MANIFEST), &manifest.to_bytes())?;
    staging.publish()?;
    Ok(manifest)
}

/// One build under way.
#[derive(Clone)]
struct Builder<'a> {
    disk: &'a Disk,
    folders: &'a Folders,
    scratch: &'a Path,
    options: &'a BuildOptions,
    progress: &'a dyn BuildProgress,
    /// What the budget has for the work.
    memory: u64,
    uuid: String,
    /// The graph that it writes in another order.
    found: Option<Reordered<'a>>,
}

/// What has been decided before edges are sorted.
struct Shape {
    directed: bool,
    weights: WeightCode,
    negative: bool,
    edges: u64,
    input_vertices: u64,
    connected: u64,
}

impl Builder<'_> {
    fn run(&self, source: &dyn EdgeSource) -> Result<Manifest> {
        let info = source.info();
        let directed = self.options.directed.or(info.directed).unwrap_or(true);
        let has = info.weights.unwrap_or_default();
        let wanted = self.options.weights;
        if has == WeightKind::None && wanted.is_some_and(|kind| kind != WeightKind::None) {
            return refuse("--weights asks for weights, and the input has none");
        }
        let weighted = has != WeightKind::None && wanted != Some(WeightKind::None);
        self.progress.stage("reading edges", info.bytes);
        let share = self.memory * if source.is_paged() { 5 } else { 6 } / 10;
        let budget = Division(self.options.memory);
        let parse = budget.reading(source.is_paged());
        // In a small budget fewer read.
        let threads = (parse / READER).clamp(1, self.options.threads);
        let access = SourceAccess { source, threads, parse, progress: self.progress };
        let ingested = ingest((self.disk, self.scratch), &access, (budget, share), weighted)
            .map_err(|error| self.in_terms_of_the_budget(source, error))?;
        let kind = wanted.or(match has {
            WeightKind::F32 => Some(WeightKind::F32),
            _ => None,
        });
        let weights = if weighted { ingested.weights.code(kind) } else { WeightCode::NONE };
        let (negative, edges) = (ingested.weights.negative(), ingested.edges);
        let numbered = self.number(ingested, Cutting::new(directed, weighted))?;
        let shape = Shape {
            directed,
            weights,
            negative,
            edges,
            input_vertices: numbered.vertices,
            connected: numbered.connected,
        };
        if weights.is_none() {
            self.sort::<u64>(numbered, shape, &access)
        } else {
            self.sort::<Weighted>(numbered, shape, &access)
        }
    }

    /// A paged source knows only its own share of the budget.
    fn in_terms_of_the_budget(&self, source: &dyn EdgeSource, error: GraphError) -> GraphError {
        match error {
            GraphError::Memory { needed, what, .. } if source.is_paged() => {
                // There may be larger pieces behind the one that was refused.
                let piece = source.largest_piece().unwrap_or_default().max(needed);
                let needed = least::of_source(source, self.options, piece);
                GraphError::Memory { needed, budget: self.options.memory, what }
            }
            other => other,
        }
    }

    /// Refuses, before the bulk is written, what would not fit the disk budget or the free space:
    /// records on scratch, then the sections beside them.
    fn check_disk(&self, shape: &Shape, code: RecordCode) -> Result<()> {
        let records = 2 * (code.key_bytes + code.weight_bytes) as u64;
        self.check_room(shape.edges * records + self.bulk_bytes(shape))
    }

    /// About how many bytes the large sections will have.
    fn bulk_bytes(&self, shape: &Shape) -> u64 {
        let neighbor = bytes_for(shape.connected) as u64 + shape.weights.bytes as u64;
        let rows = if shape.directed && !self.options.transpose { 1 } else { 2 };
        // How much of a hybrid graph is in row format is known later: at the most all of it.
        let lists = if shape.directed { 1 } else { 2 };
        let listed = if self.options.layout == Layout::Hybrid {
            lists * bytes_for(shape.connected) as u64
        } else {
            0
        };
        shape.edges * (rows * neighbor + listed + 4 + shape.weights.bytes as u64)
    }

    /// Refuses to write so many bytes more, where they do not fit.
    fn check_room(&self, bytes: u64) -> Result<()> {
        let written = self.disk.counters().bytes_written.load(std::sync::atomic::Ordering::Relaxed);
        let free = self.disk.free_space(self.scratch)? / 10 * 9;
        let allowed = self.options.disk.map_or(free, |disk| disk.saturating_sub(written).min(free));
        if bytes > allowed {
            return Err(GraphError::Disk {
                needed: bytes + written,
                allowed: self.options.disk.unwrap_or(free),
            });
        }
        Ok(())
    }

    /// Partitions and sorts the edges, writes all sections; returns the manifest.
    fn sort<R: radix::Record>(
        &self,
        numbered: Numbered,
        shape: Shape,
        access: &SourceAccess,
    ) -> Result<Manifest> {
        let code = RecordCode::new(shape.connected, &numbered.buckets, shape.weights);
        let access = SourceAccess { threads: numbered.workers, ..*access };
        let Partitions { by_target, by_source, cells } =
            self.partition(&numbered, &shape, code, &access)?;
        let Numbered { buckets, workers, sections, ids, id_bytes, spool, map, .. } = numbered;
        drop((spool, map));
        self.progress.stage("sorting", Some(shape.edges * 2));
        let (cells, grid_cells) = match cells.map(CellCounts::decide) {
            Some((cells, in_grid)) => (Some(cells), in_grid),
            None => (
                (self.options.layout == Layout::Row).then(|| Cells::all_in_rows(shape.connected)),
                0,
            ),
        };
        let sorting = Sorting {
            builder: self,
            shape: &shape,
            buckets: &buckets,
            workers,
            code,
            cells: cells.as_ref(),
        };
        let by_source = by_source.map(BucketRecords::Scratch);
        let written = sorting.write::<R>(BucketRecords::Scratch(by_target), by_source)?;
        let hybrid = written.row_format.as_ref().zip(cells).map(|(rows, cells)| Hybrid {
            ranges: cells.ranges().count(),
            row_cells: cells.rows().count(),
            grid_cells,
            row_arcs: rows.edges,
            grid_arcs: written.grid.edges,
            rows: cells.rows().clone(),
        });
        Ok(self.manifest(&shape, (ids, id_bytes, sections), written, hybrid))
    }

    /// Hands every edge to its buckets, and counts the edges of cells where they decide on the
    /// layout.
    fn partition(
        &self,
        numbered: &Numbered,
        shape: &Shape,
        code: RecordCode,
        access: &SourceAccess,
    ) -> Result<Partitions> {
        let buckets = numbered.buckets.list().len();
        let sides = if shape.directed { 2 } else { 1 };
        let left = self.memory.saturating_sub(numbered.map_bytes()) * 8 / 10;
        let block = block_bytes(left, numbered.workers * sides, buckets.max(1))
            .unwrap_or(partition::LEAST_BLOCK);
        self.check_disk(shape, code)?;
        let create = |name: &str| -> Result<Partition> {
            let folder = self.scratch.join(name);
            self.disk.create_dir(&folder)?;
            Partition::create(self.disk, &folder, buckets, code, block)
        };
        let to = Partitions {
            by_target: create("by-target")?,
            by_source: if shape.directed { Some(create("by-source")?) } else { None },
            cells: (self.options.layout == Layout::Hybrid)
                .then(|| CellCounts::new(shape.connected)),
        };
        self.progress.stage("partitioning", Some(shape.edges));
        numbered.partition(access, &to, shape.weights)?;
        // Buckets that memory cannot hold are written once more, sorted.
        let partitions = [Some(&to.by_target), to.by_source.as_ref()].into_iter().flatten();
        let overfull: u64 =
            partitions.map(|partition| partition.overfull_bytes(&numbered.buckets)).sum();
        if overfull > 0 {
            self.check_room(overfull + self.bulk_bytes(shape))?;
        }
        Ok(to)
    }
}
