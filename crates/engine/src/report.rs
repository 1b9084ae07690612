//! [`RunReport`]: what a run did.

use std::collections::BTreeMap;

use outercore_caches::CacheReport;
use outercore_graph::Key;
use outercore_storage::{IoScheduling, Limits, device::Costs, named, reader::Reading};
use serde::Serialize;

use crate::{
    config::MemoryModel,
    plan::{Plan, PlanItem},
    techniques::TechniqueReport,
};

/// A figure of a summary.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Figure {
    /// A whole number.
    Integer(u64),
    /// A real number.
    Float(f64),
    /// Yes or no.
    Bool(bool),
    /// An original id.
    Key(Key),
    /// Original ids with scores, best first.
    Top(Vec<TopRow>),
    /// Nothing, as where no vertex was reached.
    Null,
}

/// An original id and its score; serialised as a pair.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TopRow(pub Key, pub f64);

named! {
    /// What an iteration read.
    pub enum ReadMode: "read mode" {
        /// All edges.
        Full = "full",
        /// The lists of some vertices.
        OnDemand = "on-demand",
        /// The grid, and the lists of some intervals.
        Mixed = "mixed",
    }
}

/// What one iteration did.
#[derive(Clone, Debug, Default, Serialize)]
pub struct IterationReport {
    /// Its number, from 0.
    pub iteration: u64,
    /// Active vertices at its beginning.
    pub active: u64,
    /// The name of a [`ReadMode`].
    pub read_mode: &'static str,
    /// Seconds that it took.
    pub seconds: f64,
    /// Bytes asked of the devices.
    pub bytes_read: u64,
    /// Edges looked at.
    pub edges: u64,
    /// What was predicted of both ways of reading, where the choice was made by that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub predicted: Option<Costs>,
}

/// How a run read, beside the totals.
#[derive(Clone, Debug, Serialize)]
pub struct IoReport {
    /// How on-demand requests were made.
    pub scheduling: IoScheduling,
    /// Their limits, and where these are from.
    #[serde(flatten)]
    pub limits: Limits,
    /// What the workers' readers did.
    #[serde(flatten)]
    pub reading: Reading,
    /// Processor time, in seconds, of all workers together that made requests of active vertices:
    /// marking and merging. Finding out who is active is not in it.
    pub prepare_seconds: f64,
    /// That as a share of the processor time of the process.
    pub prepare_share: f64,
    /// Processor time of the process, user and system.
    pub cpu_seconds: f64,
    /// Bytes that were used although the checksum of their page could not be computed (blocks
    /// smaller than a page).
    pub unverified_bytes: u64,
    /// Bytes of the process that lay in huge pages, after the first iteration or at the end,
    /// whichever is more: buffers, vertex arrays and caches.
    pub huge_page_bytes: u64,
    /// Whether workers take from others' shares.
    pub stealing: bool,
    /// Ranges of vertices that they took.
    pub stolen: u64,
    /// For each worker, the processor time of its steps.
    pub worker_busy_seconds: Vec<f64>,
    /// The edges that each looked at.
    pub worker_edges: Vec<u64>,
}

/// What a traversal by visitors did (Pearce, Gokhale and Amato, SC'10).
#[derive(Clone, Debug, Default, Serialize)]
pub struct VisitReport {
    /// Visitors that came to their vertex.
    pub visits: u64,
    /// Those after which the vertex's edges were read.
    pub reads: u64,
    /// Those that were dropped before any edge was read.
    pub stale: u64,
    /// Those that read edges which had been read before, because a label fell once more.
    pub corrected: u64,
    /// Visitors from one worker to a vertex of another.
    pub sent: u64,
    /// The most visitors of a worker with reads pending.
    pub most_in_flight: u64,
    /// Their mean number, while there were any.
    pub mean_in_flight: f64,
    /// The most bytes of all queues.
    pub queue_bytes: u64,
    /// Visitors that a full queue dropped; their vertices came back later.
    pub spilled: u64,
}

/// What a run did. Serialised, it is the JSON of `--json`.
#[derive(Clone, Debug, Serialize)]
pub struct RunReport {
    /// Version of this schema.
    pub schema: u32,
    /// The algorithm's name.
    pub algorithm: &'static str,
    /// The graph's file name.
    pub graph: String,
    /// All vertices.
    pub vertices: u64,
    /// Edges, as the user counts them.
    pub edges: u64,
    /// The budget.
    pub memory_budget_bytes: u64,
    /// The kernel's `VmHWM` at the end.
    pub peak_rss_bytes: u64,
    /// The model that ran.
    pub memory_model: MemoryModel,
    /// The backend that read.
    pub io_backend: &'static str,
    /// Whether huge pages were in use for buffers.
    pub huge_pages: bool,
    /// Compute threads.
    pub threads: usize,
    /// From the opened graph to the complete result.
    pub seconds: f64,
    /// The share of it that loaded tables and filled caches.
    pub load_seconds: f64,
    /// Iterations.
    pub iterations: u64,
    /// Bytes asked of the devices.
    pub bytes_read: u64,
    /// Bytes written to scratch.
    pub bytes_written: u64,
    /// The most bytes of scratch that there were at a time.
    pub peak_disk_bytes: u64,
    /// Bytes of what was read that were wanted.
    pub useful_bytes_read: u64,
    /// Useful bytes over bytes read; 1 when nothing was read.
    pub io_utility: f64,
    /// Requests.
    pub requests: u64,
    /// How it read.
    pub io: IoReport,
    /// Edges looked at.
    pub edges_processed: u64,
    /// Cache hits.
    pub cache: CacheReport,
    /// What visitors did, where they ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub visitors: Option<VisitReport>,
    /// How the algorithm went about it.
    pub method: String,
    /// What became of the papers' techniques.
    pub techniques: Vec<TechniqueReport>,
    /// The answer's figures.
    pub summary: BTreeMap<&'static str, Figure>,
    /// What the plan said.
    pub planned: Planned,
    /// Iteration by iteration.
    pub per_iteration: Vec<IterationReport>,
}

/// What a plan said of a run, to be held against what the run did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Planned {
    /// Bytes of memory, against `peak_rss_bytes`.
    pub memory_bytes: u64,
    /// Bytes of scratch at a time, against `peak_disk_bytes`.
    pub disk_bytes: u64,
    /// Bytes that one pass over the edges reads.
    pub bytes_per_scan: u64,
    /// Bytes read in all, against `bytes_read`.
    pub bytes_read: Option<u64>,
    /// Bytes written in all, against `bytes_written`.
    pub bytes_written: u64,
}

impl Planned {
    /// What `plan` says.
    pub(crate) fn of(plan: &Plan) -> Self {
        Self {
            memory_bytes: PlanItem::sum(&plan.memory),
            disk_bytes: plan.disk_bytes,
            bytes_per_scan: plan.bytes_per_scan,
            bytes_read: Some(plan.expected_bytes_read),
            bytes_written: plan.expected_bytes_written,
        }
    }
}
