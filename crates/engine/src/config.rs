//! What the user asks of a run, whatever the algorithm: one struct for the library, the command
//! line and Python.

use outercore_storage::{HugePages, backend::IoBackend};
use serde::Serialize;

/// What is kept in memory for the length of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum MemoryModel {
    /// Vertices and edges.
    InMemory,
    /// Vertex state and index; edges are read from storage, through what memory is left.
    SemiExternal,
    /// Windows of everything: vertex state, index and edges are on storage.
    FullyExternal,
}

impl MemoryModel {
    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            MemoryModel::InMemory => "in-memory",
            MemoryModel::SemiExternal => "semi-external",
            MemoryModel::FullyExternal => "fully-external",
        }
    }
}

/// How edges are read in an iteration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReadPolicy {
    /// Whichever costs less, for each iteration.
    #[default]
    Auto,
    /// All edges, in the order of the disk.
    Full,
    /// The edges of active vertices.
    OnDemand,
}

/// Settings that make the engine behave like a published system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Preset {
    /// What is best.
    #[default]
    Best,
    /// A plain grid-streaming system: every iteration reads all edges, for itself alone.
    Streaming,
    /// GraphSD (ICPP'22): every second full pass serves two iterations.
    Graphsd,
    /// Seraph (FAST'24): the lists of active vertices, updates of absent vertices passed through
    /// logs, future vertices computed early where the program allows it.
    Seraph,
}

/// Whether vertices that will be active in the next iteration are computed in this one, when what
/// is read for others is at hand (selective pre-computation, Seraph, FAST'24, section 3.4). Only
/// for programs whose messages may come early ([`Monotone`](crate::program::Monotone)).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Precompute {
    /// None of them.
    Off,
    /// Those whose ids are within 32 of an active vertex's: their lists often lie in the same
    /// block.
    Gap,
    /// All that are known by then.
    On,
}

/// Whether a pass over the edges serves more than one iteration, in fully-external runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CrossIteration {
    /// Never.
    Off,
    /// Lists that an on-demand iteration has read stay, as far as memory goes, and serve the next
    /// one (GraphSD, ICPP'22, Algorithm 2).
    Sciu,
    /// Every second full pass serves two iterations, and the one after it reads the rest (GraphSD,
    /// Algorithm 3).
    Fciu,
    /// Both, as in GraphSD.
    Graphsd,
    /// Lists stay, and every full pass serves two iterations: up and down in turn, each reads the
    /// half that the one before has not served.
    #[default]
    On,
}

/// How the requests of on-demand reading are made of the lists that are wanted (Graphene, FAST'17,
/// section 3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum IoScheduling {
    /// Wanted blocks are marked in a bitmap, which sorts them and drops duplicates; near ones are
    /// merged over the whole of it.
    #[default]
    Bitmap,
    /// Small batches of lists of a fixed number, sorted and merged within the batch only: what the
    /// bitmap replaces.
    Pluglist,
}

impl IoScheduling {
    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            IoScheduling::Bitmap => "bitmap",
            IoScheduling::Pluglist => "pluglist",
        }
    }
}

/// What every run has.
#[derive(Clone, Debug)]
pub struct RunConfig {
    /// The budget in bytes: the peak resident size of the process stays below it.
    pub memory: u64,
    /// Compute threads.
    pub threads: usize,
    /// The memory model; `None`: chosen from the budget.
    pub model: Option<MemoryModel>,
    /// How edges are read.
    pub read: ReadPolicy,
    /// How reads are submitted.
    pub io: IoBackend,
    /// Whether buffers and vertex arrays lie in huge pages.
    pub huge_pages: HugePages,
    /// Bytes of a block of on-demand reading: 512, 4096 or 8192.
    pub block: u64,
    /// Most bytes between two wanted blocks that are read along; `None`: from the device's profile.
    pub max_gap: Option<u64>,
    /// Most bytes of one request; `None`: from the device's profile.
    pub max_request: Option<u64>,
    /// Whether a pass over the edges serves more than one iteration, in fully-external runs.
    pub cross_iteration: CrossIteration,
    /// The preset that these settings belong to; see [`RunConfig::with_preset`].
    pub preset: Preset,
    /// How on-demand requests are made.
    pub io_scheduling: IoScheduling,
    /// Whether chunks of the grid stay in memory between the passes of fully-external runs, those
    /// with the most active edges (GraphSD, section 4.3).
    pub sub_blocks: bool,
    /// Whether a worker that has read all of its share of the lists takes from the others'
    /// (Graphene, section 4.2).
    pub stealing: bool,
    /// Which vertices are computed early; `None`: what the preset says.
    pub precompute: Option<Precompute>,
}

impl CrossIteration {
    /// Whether full passes serve two iterations.
    pub fn in_passes(self) -> bool {
        !matches!(self, CrossIteration::Off | CrossIteration::Sciu)
    }

    /// Whether lists serve two iterations.
    pub fn in_lists(self) -> bool {
        !matches!(self, CrossIteration::Off | CrossIteration::Fciu)
    }

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            CrossIteration::Off => "off",
            CrossIteration::Sciu => "sciu",
            CrossIteration::Fciu => "fciu",
            CrossIteration::Graphsd => "graphsd",
            CrossIteration::On => "on",
        }
    }
}

impl Preset {
    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Preset::Best => "best",
            Preset::Streaming => "streaming",
            Preset::Graphsd => "graphsd",
            Preset::Seraph => "seraph",
        }
    }
}

impl Precompute {
    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Precompute::Off => "off",
            Precompute::Gap => "gap",
            Precompute::On => "on",
        }
    }
}

impl RunConfig {
    /// Which vertices are computed early by programs that allow it; `None`: none.
    pub fn early(&self) -> Option<Precompute> {
        let of_preset =
            if self.preset == Preset::Seraph { Precompute::Gap } else { Precompute::Off };
        Some(self.precompute.unwrap_or(of_preset))
            .filter(|&precompute| precompute != Precompute::Off)
    }

    /// Whether an algorithm that has a way of its own is to run as a program that accepts early
    /// messages instead: what Seraph does, or what is asked for.
    pub fn wants_monotone(&self) -> bool {
        self.preset == Preset::Seraph || self.early().is_some()
    }

    /// These settings, changed to a preset's.
    pub fn with_preset(self, preset: Preset) -> Self {
        match preset {
            Preset::Best => Self { preset, ..self },
            Preset::Streaming => Self {
                preset,
                read: ReadPolicy::Full,
                cross_iteration: CrossIteration::Off,
                sub_blocks: false,
                ..self
            },
            Preset::Graphsd => Self { preset, cross_iteration: CrossIteration::Graphsd, ..self },
            Preset::Seraph => {
                Self { preset, cross_iteration: CrossIteration::Off, sub_blocks: false, ..self }
            }
        }
    }
}

impl Default for RunConfig {
    fn default() -> Self {
        Self {
            memory: outercore_storage::memory::machine_memory() / 2,
            threads: outercore_storage::memory::cores(),
            model: None,
            read: ReadPolicy::Auto,
            io: IoBackend::Auto,
            huge_pages: HugePages::Auto,
            block: 4096,
            max_gap: None,
            max_request: None,
            cross_iteration: CrossIteration::On,
            preset: Preset::Best,
            io_scheduling: IoScheduling::Bitmap,
            sub_blocks: true,
            stealing: true,
            precompute: None,
        }
    }
}

/// Is told how far a run is, and may end it.
pub trait RunProgress: Sync {
    /// An iteration ended.
    fn iteration(&self, report: &crate::report::IterationReport);
    /// Whether the user wants to stop.
    fn cancelled(&self) -> bool;
}

/// Progress that nobody watches.
pub struct Silent;

impl RunProgress for Silent {
    fn iteration(&self, _: &crate::report::IterationReport) {}
    fn cancelled(&self) -> bool {
        false
    }
}
