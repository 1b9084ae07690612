//! The graph in motion: programs, plans, iterations. The only crate where memory, disk and compute
//! meet.
//!
//! - `config`: [`RunConfig`], what a run is told; `switches`: what each switch can be;
//!   `run_settings`: [`RunSettings`], what can be asked for by name, as both faces do;
//!   `techniques`: [`Technique`], which of the papers' techniques a run can use, and did.
//! - `job`: [`Job`], what a run is given; `progress`: [`RunProgress`], who is told how far it is.
//! - `plan`: [`Plan`], what a run will do, and why, and what it needs for that.
//! - `program`: what an author writes.
//! - `execute`: runs of one program; `iterate`: the loop; `exchange`: what vertices send.
//! - `edges`: edges on their way from storage to the workers.
//! - `session`: [`Session`], everything that lasts as long as a run, its threads among them.
//! - `outcome`: [`Outcome`], what a run gives back; `top`: [`top_rows`], the best of a column;
//!   `report`: [`RunReport`], what it did.
//! - `state`: what vertices keep: [`VertexArray`], in memory or on scratch, and [`Column`].

mod config;
mod edges;
mod exchange;
mod execute;
mod iterate;
mod job;
mod outcome;
mod plan;
mod program;
mod progress;
mod report;
mod run_settings;
mod session;
mod state;
mod switches;
mod techniques;
mod top;

pub use outercore_caches::SubBlocks;
pub use outercore_storage::{
    Bitmap as Frontier, Block, BlockSize, Bytes, Choice, CompactCounters, HugePages, HugeVec,
    Idempotent, IoScheduling, LaneSet, Lanes, Min, Mins, Monoid, Named, Norm, Or, PerWorker, Pod,
    Remaining, Resources, Settings, Size, Sum, Sums, Tally, Trees, Widths, backend::IoBackend,
    human_bytes, memory::prefetch, named, settings, totals,
};

pub use config::RunConfig;
pub use edges::io_iterator::{ALONE, IoIterator, Requests};
pub use execute::{Finished, execute, execute_monotone};
pub use iterate::Iterations;
pub use job::Job;
pub use outcome::{Outcome, Results};
pub use outercore_graph::format::List;
pub use plan::{Decided, Decision, Plan, PlanItem, Planner, Prepared, Resource};
pub use program::{
    Activity, Along, Batch, Context, DeltaStepping, EdgeScan, Ended, IterationEnd, Lists, Monotone,
    Neighborhoods, Next, OpenNeighborhoods, OpenSearch, PathCounts, Search, SomeEdges, Start,
    VertexProgram, Wake, forest, length_totals, spread,
};
pub use progress::{RunProgress, Silent};
pub use report::{Figure, IoReport, IterationReport, ReadMode, RunReport, TopRow, VisitReport};
pub use run_settings::RunSettings;
pub use session::Session;
pub use state::{
    Appender, Cell, Column, Isolated, Meaning, Number, NumberKind, Scratch, Values, VertexArray,
    Window,
};
pub use switches::{
    CostFormula, CrossIteration, MemoryModel, Precompute, Preset, ReadPolicy, SearchDirection,
};
pub use techniques::{OWN_LISTS, State as TechniqueState, Technique, TechniqueReport};
pub use top::top_rows;
