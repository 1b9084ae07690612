//! What a run is told, whatever the algorithm.

use outercore_caches::SubBlocks;
use outercore_storage::{HugePages, IoScheduling, backend::IoBackend};

pub use crate::switches::{
    CostFormula, CrossIteration, MemoryModel, Precompute, Preset, ReadPolicy, SearchDirection,
};

/// Requests for lists that each worker usually keeps in flight.
pub(crate) const QUEUE_DEPTH: usize = 64;

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
    /// The preset that these settings belong to; see [`RunSettings`](crate::RunSettings).
    pub preset: Preset,
    /// How on-demand requests are made.
    pub io_scheduling: IoScheduling,
    /// Which chunks of the grid stay in memory between the passes of fully-external runs.
    pub sub_blocks: SubBlocks,
    /// Whether a worker that has read all of its share of the lists takes from the others'
    /// (Graphene, section 4.2).
    pub stealing: bool,
    /// Which vertices are computed early; `None`: what the preset says.
    pub precompute: Option<Precompute>,
    /// Requests for lists that each worker keeps in flight: a device answers small random reads at
    /// its full rate only when many are asked for.
    pub queue_depth: usize,
    /// Threads that read for those that compute; 0: each reads for itself.
    pub io_threads: usize,
    /// From which side breadth-first searches follow edges.
    pub direction: SearchDirection,
    /// By which formula the grid or lists are chosen.
    pub cost: CostFormula,
    /// Bytes of memory for the blocks of lists that were used last; then nothing else keeps lists
    /// that were read, and programs read lists rather than the grid.
    pub page_cache: Option<u64>,
    /// Bytes of memory for the lists of vertices that were selected before.
    pub static_cache: Option<u64>,
}

impl RunConfig {
    /// Which vertices are computed early by programs that allow it; `None`: none.
    pub(crate) fn early(&self) -> Option<Precompute> {
        Some(self.precompute.unwrap_or(self.preset.settings().3))
            .filter(|&precompute| precompute != Precompute::Off)
    }

    /// Whether an algorithm that has a way of its own is to run as a program that accepts early
    /// messages instead: what Seraph does, or what is asked for.
    pub fn wants_monotone(&self) -> bool {
        self.preset == Preset::Seraph || self.early().is_some()
    }
}
