//! Options that several verbs share, and how they become the libraries' configuration.

use std::path::{Path, PathBuf};

use clap::{ArgAction, Args, ValueEnum};
use outercore_algorithms::{Request, Source};
use outercore_engine::{
    CrossIteration, IoScheduling, MemoryModel, Precompute, Preset, ReadPolicy, RunConfig,
};
use outercore_graph::{BuildOptions, GraphError, GridPartition, Layout, Order};
use outercore_storage::{Disk, HugePages, backend::IoBackend, memory};

use crate::{
    progress::{Meter, Mode},
    size::{Size, bytes},
};

/// How results and progress are shown.
#[derive(Args, Clone)]
pub struct Face {
    /// Print one JSON object on standard output instead of text
    #[arg(long)]
    pub json: bool,
    /// Show progress on standard error
    #[arg(long, value_enum, default_value = "auto", value_name = "HOW")]
    pub progress: Mode,
}

impl Face {
    /// A meter of that kind.
    pub fn meter(&self) -> Meter {
        Meter::new(self.progress)
    }
}

/// `on` or `off`.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Switch {
    /// Yes.
    On,
    /// No.
    Off,
}

/// What the process may use.
#[derive(Args, Clone)]
pub struct Resources {
    /// The budget: the process's peak resident memory stays below it (512M, 2G, 25%) [default: half
    /// of what the machine or its control group has]
    #[arg(long, value_name = "SIZE")]
    pub memory: Option<Size>,
    /// Most bytes that may be written to disk, scratch and result (20G, 50%) [default: what is
    /// free, less 10 %]
    #[arg(long, value_name = "SIZE")]
    pub disk: Option<Size>,
    /// Threads [default: the cores that the process may use]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
}

impl Resources {
    /// The memory budget in bytes.
    pub fn memory(&self) -> u64 {
        let machine = memory::machine_memory();
        self.memory.unwrap_or(Size::Percent(50.0)).of(machine)
    }

    /// The number of threads.
    pub fn threads(&self) -> usize {
        self.threads.map_or_else(memory::cores, usize::from)
    }

    /// The disk budget in bytes, on the file system of `path` (which need not exist yet).
    pub fn disk(&self, disk: &Disk, path: &Path) -> Result<u64, GraphError> {
        let folder =
            path.ancestors().skip(1).find(|folder| folder.is_dir()).unwrap_or(Path::new("."));
        let free = disk.free_space(folder)?;
        Ok(self.disk.unwrap_or(Size::Percent(90.0)).of(free))
    }
}

/// The order of the vertices on disk.
#[derive(Clone, Copy, ValueEnum)]
pub enum OrderName {
    /// Hubs first: descending degree.
    Degree,
    /// Ascending original id.
    Original,
}

/// How the targets of the grid are cut.
#[derive(Clone, Copy, ValueEnum)]
pub enum PartitionName {
    /// About equal edges in each stripe.
    Balanced,
    /// Equal ranges of vertices.
    Uniform,
}

/// How the edges lie that full passes read.
#[derive(Clone, Copy, ValueEnum)]
pub enum LayoutName {
    /// All edges in tiles.
    Grid,
    /// No tiles: passes read the lists.
    Row,
    /// Dense parts in tiles, the others in lists (Seraph).
    Hybrid,
}

impl From<LayoutName> for Layout {
    fn from(name: LayoutName) -> Self {
        match name {
            LayoutName::Grid => Layout::Grid,
            LayoutName::Row => Layout::Row,
            LayoutName::Hybrid => Layout::Hybrid,
        }
    }
}

/// What every way to make a graph has.
#[derive(Args, Clone)]
pub struct Making {
    /// The graph to make, a folder
    #[arg(short, long, value_name = "GRAPH")]
    pub output: PathBuf,
    /// Edges have a direction [default: what the format says, else directed]
    #[arg(long)]
    pub directed: bool,
    /// Edges have no direction
    #[arg(long, conflicts_with = "directed")]
    pub undirected: bool,
    /// Drop duplicate edges and self-loops
    #[arg(long)]
    pub simple: bool,
    /// Keep the incoming edges of each vertex too; some algorithms need them
    #[arg(long, value_enum, default_value = "on")]
    pub transpose: Switch,
    /// The order of the vertices on disk
    #[arg(long, value_enum, default_value = "degree", value_name = "METHOD")]
    pub order: OrderName,
    /// How the targets of the grid are cut into stripes
    #[arg(long, value_enum, default_value = "balanced", value_name = "HOW")]
    pub partition: PartitionName,
    /// How the edges lie that full passes read
    #[arg(long, value_enum, default_value = "grid", value_name = "HOW")]
    pub layout: LayoutName,
    /// Spread the edges over these folders, one for each device (repeatable)
    #[arg(long, value_name = "DIR", action = ArgAction::Append)]
    pub stripe: Vec<PathBuf>,
    /// Replace a graph that exists
    #[arg(long)]
    pub force: bool,
    #[command(flatten)]
    pub resources: Resources,
    #[command(flatten)]
    pub face: Face,
}

impl Making {
    /// What the user said of the direction.
    pub fn directed(&self) -> Option<bool> {
        match (self.directed, self.undirected) {
            (true, _) => Some(true),
            (_, true) => Some(false),
            _ => None,
        }
    }

    /// The library's options.
    pub fn options(&self, disk: &Disk) -> Result<BuildOptions, GraphError> {
        Ok(BuildOptions {
            memory: self.resources.memory(),
            disk: Some(self.resources.disk(disk, &self.output)?),
            threads: self.resources.threads(),
            directed: self.directed(),
            simple: self.simple,
            transpose: self.transpose == Switch::On,
            order: match self.order {
                OrderName::Degree => Order::Degree,
                OrderName::Original => Order::Original,
            },
            partition: match self.partition {
                PartitionName::Balanced => GridPartition::Balanced,
                PartitionName::Uniform => GridPartition::Uniform,
            },
            layout: self.layout.into(),
            stripes: self.stripe.clone(),
            force: self.force,
            ..BuildOptions::default()
        })
    }
}

/// What is kept in memory.
#[derive(Clone, Copy, ValueEnum)]
pub enum ModelName {
    /// Vertices and edges.
    InMemory,
    /// Vertices; edges are read from disk.
    SemiExternal,
    /// A part of the vertices at a time; all else is on disk.
    FullyExternal,
}

/// How edges are read.
#[derive(Clone, Copy, ValueEnum)]
pub enum ReadName {
    /// Whichever costs less, for each iteration.
    Auto,
    /// All of them, in the order of the disk.
    Full,
    /// Those of active vertices.
    OnDemand,
}

/// How reads are submitted.
#[derive(Clone, Copy, ValueEnum)]
pub enum IoName {
    /// io_uring if the system has it, else blocking.
    Auto,
    /// io_uring, or an error.
    Uring,
    /// A pool of threads.
    Blocking,
}

impl From<ReadName> for ReadPolicy {
    fn from(name: ReadName) -> Self {
        match name {
            ReadName::Auto => ReadPolicy::Auto,
            ReadName::Full => ReadPolicy::Full,
            ReadName::OnDemand => ReadPolicy::OnDemand,
        }
    }
}

impl From<IoName> for IoBackend {
    fn from(name: IoName) -> Self {
        match name {
            IoName::Auto => IoBackend::Auto,
            IoName::Uring => IoBackend::Uring,
            IoName::Blocking => IoBackend::Blocking,
        }
    }
}

/// How on-demand requests are made.
#[derive(Clone, Copy, ValueEnum)]
pub enum SchedulingName {
    /// Wanted blocks are marked in a bitmap and merged over the whole of it.
    Bitmap,
    /// Fixed small batches of lists, sorted and merged within each.
    Pluglist,
}

/// Huge pages.
#[derive(Clone, Copy, ValueEnum)]
pub enum HugeName {
    /// Where the system grants them.
    Auto,
    /// Always, or an error.
    On,
    /// Never.
    Off,
}

/// A set of settings.
#[derive(Clone, Copy, ValueEnum)]
pub enum PresetName {
    /// What is best.
    Best,
    /// A plain grid-streaming system: all edges in every iteration.
    Streaming,
    /// GraphSD: every second full pass serves two iterations.
    Graphsd,
    /// Seraph: lists of active vertices, messages passed through logs, future vertices computed
    /// early.
    Seraph,
}

/// Which vertices of the next iteration are computed in this one.
#[derive(Clone, Copy, ValueEnum)]
pub enum PrecomputeName {
    /// None.
    Off,
    /// Those within 32 ids of an active one.
    Gap,
    /// All that are known by then.
    On,
}

impl From<PrecomputeName> for Precompute {
    fn from(name: PrecomputeName) -> Self {
        match name {
            PrecomputeName::Off => Precompute::Off,
            PrecomputeName::Gap => Precompute::Gap,
            PrecomputeName::On => Precompute::On,
        }
    }
}

impl From<PresetName> for Preset {
    fn from(name: PresetName) -> Self {
        match name {
            PresetName::Best => Preset::Best,
            PresetName::Streaming => Preset::Streaming,
            PresetName::Graphsd => Preset::Graphsd,
            PresetName::Seraph => Preset::Seraph,
        }
    }
}

/// Whether a pass serves more than one iteration.
#[derive(Clone, Copy, ValueEnum)]
pub enum CrossName {
    /// Every full pass does, and lists that were read stay for the next iteration.
    On,
    /// Every second full pass does, and lists stay: GraphSD's FCIU and SCIU.
    Graphsd,
    /// Every second full pass does (GraphSD's FCIU).
    Fciu,
    /// Lists stay (GraphSD's SCIU).
    Sciu,
    /// Nothing does.
    Off,
}

impl From<CrossName> for CrossIteration {
    fn from(name: CrossName) -> Self {
        match name {
            CrossName::On => CrossIteration::On,
            CrossName::Graphsd => CrossIteration::Graphsd,
            CrossName::Fciu => CrossIteration::Fciu,
            CrossName::Sciu => CrossIteration::Sciu,
            CrossName::Off => CrossIteration::Off,
        }
    }
}

/// How a run reads and what it may use.
#[derive(Args, Clone)]
pub struct Running {
    #[command(flatten)]
    pub resources: Resources,
    /// What is kept in memory [default: chosen from the budget]
    #[arg(long, value_enum)]
    pub model: Option<ModelName>,
    /// How edges are read [default: auto]
    #[arg(long, value_enum)]
    pub read: Option<ReadName>,
    /// How reads are submitted
    #[arg(long, value_enum, default_value = "auto")]
    pub io: IoName,
    /// Whether buffers and vertex arrays lie in huge pages
    #[arg(long, value_enum, default_value = "auto")]
    pub huge_pages: HugeName,
    /// Bytes of a block of on-demand reading
    #[arg(long, value_name = "SIZE", default_value = "4096", value_parser = ["512", "4096", "8192"])]
    pub block: String,
    /// Most bytes between two wanted blocks that are read along [default: from the device's
    /// profile]
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    pub max_gap: Option<u64>,
    /// Most bytes of one request [default: from the device's profile]
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    pub max_request: Option<u64>,
    /// Whether a pass over the edges serves more than one iteration, in fully-external runs
    /// [default: on]
    #[arg(long, value_enum)]
    pub cross_iteration: Option<CrossName>,
    /// Whether the grid's chunks with the most active edges stay in memory between passes, in
    /// fully-external runs [default: on]
    #[arg(long, value_enum)]
    pub sub_blocks: Option<Switch>,
    /// Whether vertices of the next iteration are computed in this one when their lists are near,
    /// in fully-external runs of bfs and of undirected components [default: off; gap with --preset
    /// seraph]
    #[arg(long, value_enum)]
    pub precompute: Option<PrecomputeName>,
    /// Behave like a published system, as a yardstick; sets several of the above
    #[arg(long, value_enum, default_value = "best")]
    pub preset: PresetName,
    /// How on-demand requests are made
    #[arg(long, value_enum, default_value = "bitmap", value_name = "HOW")]
    pub io_scheduling: SchedulingName,
    /// Whether a thread that has read its share of the lists takes from the others'
    #[arg(long, value_enum, default_value = "on")]
    pub stealing: Switch,
}

impl Running {
    /// The library's configuration.
    pub fn config(&self) -> RunConfig {
        let config = RunConfig {
            memory: self.resources.memory(),
            threads: self.resources.threads(),
            model: self.model.map(|model| match model {
                ModelName::InMemory => MemoryModel::InMemory,
                ModelName::SemiExternal => MemoryModel::SemiExternal,
                ModelName::FullyExternal => MemoryModel::FullyExternal,
            }),
            io: self.io.into(),
            huge_pages: match self.huge_pages {
                HugeName::Auto => HugePages::Auto,
                HugeName::On => HugePages::On,
                HugeName::Off => HugePages::Off,
            },
            block: self.block.parse().unwrap_or(4096),
            max_gap: self.max_gap,
            max_request: self.max_request,
            io_scheduling: match self.io_scheduling {
                SchedulingName::Bitmap => IoScheduling::Bitmap,
                SchedulingName::Pluglist => IoScheduling::Pluglist,
            },
            stealing: self.stealing == Switch::On,
            precompute: self.precompute.map(Precompute::from),
            ..RunConfig::default()
        };
        let config = config.with_preset(self.preset.into());
        // What is asked for by itself goes before what belongs to a preset.
        RunConfig {
            read: self.read.map_or(config.read, ReadPolicy::from),
            cross_iteration: self
                .cross_iteration
                .map_or(config.cross_iteration, CrossIteration::from),
            sub_blocks: self.sub_blocks.map_or(config.sub_blocks, |switch| switch == Switch::On),
            ..config
        }
    }
}

/// The parameters of the algorithms. One that an algorithm has not is refused by the algorithm.
#[derive(Args, Clone)]
pub struct Parameters {
    /// Where a traversal starts: an original id, max-degree, or random:SEED
    #[arg(long, value_name = "ID")]
    pub source: Option<Source>,
    /// Where a traversal from many vertices starts
    #[arg(long, value_name = "ID,ID,...", value_delimiter = ',')]
    pub sources: Vec<Source>,
    /// Exactly so many iterations
    #[arg(long, value_name = "N")]
    pub iterations: Option<u64>,
    /// Stop at an L1 change below this
    #[arg(long, value_name = "T")]
    pub tolerance: Option<f64>,
    /// The damping factor of pagerank [default: 0.85]
    #[arg(long, value_name = "D")]
    pub damping: Option<f64>,
    /// The width of a window of distance in sssp
    #[arg(long, value_name = "D")]
    pub delta: Option<f64>,
    /// The k of one k-core
    #[arg(long, value_name = "K")]
    pub k: Option<u64>,
    /// Prove the diameter, instead of giving bounds of it
    #[arg(long)]
    pub exact: bool,
    /// Show the K best rows, where rows have a rank [default: 10]
    #[arg(long, value_name = "K")]
    pub top: Option<usize>,
}

impl Parameters {
    /// The library's form of it.
    pub fn request(&self) -> Request {
        Request {
            source: self.source.clone(),
            sources: self.sources.clone(),
            iterations: self.iterations,
            tolerance: self.tolerance,
            damping: self.damping,
            delta: self.delta,
            k: self.k,
            exact: self.exact,
            top: self.top,
        }
    }
}
