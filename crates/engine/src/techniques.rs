//! [`Technique`]: the papers' techniques, each with its switch and with the runs that it is for.
//! Resources of a plan say which of them a run can use. A switch that was given and cannot act is
//! refused; what every technique did is in the report.

use outercore_caches::Kept;
use outercore_graph::{Result, error::refuse};
use outercore_storage::{HugePages, IoBackend, IoScheduling, Named, named};
use serde::Serialize;

use crate::{
    config::{QUEUE_DEPTH, RunConfig},
    switches::{CostFormula, CrossIteration, Precompute::Off, Preset, ReadPolicy, SearchDirection},
};

named! {
    /// A technique of one of the papers. What each is for completes a sentence: "it is for ...".
    pub enum Technique: "technique" {
        /// Runs that pass over all edges: scans of a whole grid, or all lists one after the other.
        FullPasses = "full-passes",
        /// Runs that read the lists of some vertices.
        OnDemand = "on-demand",
        /// Programs whose vertices may be inactive, where both the grid and the lists have the
        /// edges and the index of the lists fits beside the values.
        StateAware = "state-aware-scheduling",
        /// Fully-external passes over a whole grid, by itself where all vertices apply in every
        /// iteration, with weights where messages come to the same in any order; semi-externally
        /// where all of them send, too, and not all edges fit.
        Fciu = "fciu",
        /// Fully-external runs of programs on lists, whose messages come to the same in any order.
        Sciu = "sciu",
        /// Passes of programs over the grid, an interval of vertices at a time.
        SubBlocks = "sub-block-buffer",
        /// Passes over the grid, an interval of vertices at a time, of programs whose vertices may
        /// be inactive.
        SubBlockIndex = "sub-block-index",
        /// Fully-external runs in which vertices send to others that are not in memory.
        VertexPassing = "vertex-passing",
        /// Runs of programs whose messages may come early without changing the answer, which read
        /// lists; along outgoing edges while values are on storage.
        Precompute = "pre-computation",
        /// Runs that read lists.
        BitmapIo = "bitmap-io",
        /// Runs that read the lists of some vertices.
        GapMerging = "gap-merging",
        /// Runs that read lists.
        RequestBound = "request-bound",
        /// Runs that read lists.
        SmallBlocks = "small-blocks",
        /// Runs that read lists.
        QueueDepth = "queue-depth",
        /// Runs that read lists and keep some of them in memory.
        ListCache = "list-cache",
        /// Runs that read lists while the values of the vertices, or some of them, are in memory.
        PageCache = "page-cache",
        /// Runs that read the lists of some vertices.
        StaticCache = "static-cache",
        /// Runs of several threads that read lists in any order.
        WorkStealing = "work-stealing",
        /// Scans of the grid with all vertices in memory.
        GridCache = "grid-cache",
        /// Breadth-first searches over lists, and programs that read the lists of active vertices.
        Push = "push",
        /// Breadth-first searches over lists of both directions.
        Direction = "direction-optimizing",
        /// Runs with `--executor async`: bfs, sssp and components, with vertices in memory.
        Visitors = "visitors",
        /// All runs.
        Huge = "huge-pages",
        /// All runs.
        AsyncIo = "asynchronous-io",
        /// Runs with at least as many `--threads`.
        IoThreads = "io-threads",
    }
}
use Technique::*;

impl From<Kept> for Technique {
    fn from(kept: Kept) -> Self {
        match kept {
            Kept::Front => ListCache,
            Kept::Selected => StaticCache,
            Kept::Retained => Sciu,
            Kept::Chunks => GridCache,
            Kept::SubBlocks => SubBlocks,
        }
    }
}

named! {
    /// What became of a technique.
    pub enum State: "state" {
        /// It acted; in a plan: it will, where it finds something to do.
        Used = "used",
        /// It could act, and is off or found nothing to do.
        Idle = "idle",
        /// It is not for such a run.
        NotApplicable = "not-applicable",
    }
}

/// Of each technique, in their order: its switch, if it has one, and what is counted of it.
const FACTS: [(&str, &str); Technique::ALL.len()] = [
    ("read", "full iterations"),
    ("read", "iterations on demand"),
    ("cost", "iterations with a choice"),
    ("cross-iteration", "chunks served before"),
    ("cross-iteration", "lists kept"),
    ("sub-blocks", "chunks kept"),
    ("read", "chunks read in part"),
    ("", "messages"),
    ("precompute", "vertices computed early"),
    ("io-scheduling", "marks"),
    ("max-gap", "blocks read along"),
    ("max-request", "requests cut short"),
    ("block", "requests of parts of pages"),
    ("queue-depth", "requests in flight"),
    ("memory", "pages kept"),
    ("page-cache", "blocks found"),
    ("static-cache", "lists found"),
    ("stealing", "ranges stolen"),
    ("memory", "chunks kept"),
    ("direction", "levels or iterations pushed"),
    ("direction", "levels pulled"),
    ("executor", "visits"),
    ("huge-pages", "bytes in huge pages"),
    ("io", "requests"),
    ("io-threads", "requests handed over"),
];

/// What reads lists uses, in such an order that each way to read them uses some in a row.
const LISTS: [Technique; 11] = [
    FullPasses,
    WorkStealing,
    StaticCache,
    BitmapIo,
    PageCache,
    ListCache,
    QueueDepth,
    RequestBound,
    SmallBlocks,
    GapMerging,
    OnDemand,
];

/// What reads all lists uses, in any order: between them there are no gaps.
pub(crate) const ALL_LISTS: &[Technique] = LISTS.split_at(9).0;
/// What reads the lists of some vertices uses, in any order.
const SOME_LISTS: &[Technique] = LISTS.split_at(1).1;
/// The same where each worker has those of its own vertices.
pub const OWN_LISTS: &[Technique] = LISTS.split_at(2).1;
/// What reads all lists in the order of the rows uses.
pub(crate) const ALL_IN_ORDER: &[Technique] = ALL_LISTS.split_at(2).1;

/// What reads the lists of some vertices uses, in any order or in that of the rows, where one
/// worker has them.
pub(crate) fn some_lists(any_order: bool) -> &'static [Technique] {
    if any_order { SOME_LISTS } else { OWN_LISTS }
}

/// What became of a technique in a run, or will.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TechniqueReport {
    /// Its name.
    pub name: Technique,
    /// Its switch, if it has one.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub switch: &'static str,
    /// What became of it.
    pub state: State,
    /// Why, or what it did.
    pub reason: String,
    /// How often it acted.
    pub effect: u64,
    /// Bytes that need not be read because of it, where that is known.
    pub saved_bytes: u64,
}

/// The techniques of a preset.
pub(crate) fn of_preset(preset: Preset) -> &'static [Technique] {
    match preset {
        Preset::Best => &[],
        Preset::Streaming => &[FullPasses],
        Preset::Graphene => {
            &[OnDemand, BitmapIo, GapMerging, SmallBlocks, WorkStealing, Huge, AsyncIo]
        }
        Preset::Graphsd => &[StateAware, Fciu, Sciu, SubBlocks, SubBlockIndex],
        Preset::Seraph => &[OnDemand, VertexPassing, Precompute],
    }
}

/// What a plan says of all techniques, of which the run can use some. Refuses a switch that was
/// given and cannot act.
pub(crate) fn planned(
    (algorithm, config): (&str, &RunConfig),
    mut can: Vec<Technique>,
) -> Result<Vec<TechniqueReport>> {
    can.extend([Huge, AsyncIo]);
    can.extend((config.io_threads <= config.threads).then_some(IoThreads));
    can.retain(|&technique| technique != WorkStealing || config.threads > 1);
    for (asked, switch, value, wanted) in config.asked() {
        if asked && !wanted.iter().any(|technique| can.contains(technique)) {
            return refuse(format!(
                "--{} cannot act in this run of {algorithm}: {}; leave it out",
                format!("{switch} {value}").trim_end(),
                wanted[0].is_for()
            ));
        }
    }
    let report = |&name: &Technique| {
        let (state, reason) = match can.contains(&name) {
            true if name.is_on(config) => (State::Used, String::new()),
            true => (State::Idle, "off".to_owned()),
            false => (State::NotApplicable, name.is_for()),
        };
        let switch = FACTS[name as usize].0;
        TechniqueReport { name, switch, state, reason, effect: 0, saved_bytes: 0 }
    };
    Ok(Technique::ALL.iter().map(report).collect())
}

impl TechniqueReport {
    /// What became of what was planned.
    pub(crate) fn done(&self, [effect, saved_bytes]: [u64; 2]) -> Self {
        let counted = FACTS[self.name as usize].1;
        let (state, reason) = match self.state {
            State::Used if effect == 0 => (State::Idle, format!("no {counted}")),
            State::Used => (State::Used, format!("{effect} {counted}")),
            _ => return self.clone(),
        };
        Self { state, reason, effect, saved_bytes, ..*self }
    }
}

impl Technique {
    /// The runs that it is for.
    fn is_for(self) -> String {
        let doc = self.choice().doc.trim_end_matches('.');
        format!("it is for {}{}", doc[..1].to_lowercase(), &doc[1..])
    }

    /// Whether a run that can use it does.
    pub(crate) fn is_on(self, config: &RunConfig) -> bool {
        match self {
            FullPasses => config.read != ReadPolicy::OnDemand,
            OnDemand => !config.read.scans(),
            StateAware => config.read != ReadPolicy::OnDemand && !config.read.scans(),
            Fciu => config.cross_iteration.in_passes(),
            Sciu => config.cross_iteration.in_lists(),
            GapMerging => config.max_gap != Some(0),
            ListCache => config.page_cache.is_none(),
            PageCache => config.page_cache.is_some(),
            StaticCache => config.static_cache.is_some(),
            Push => config.direction != SearchDirection::Pull,
            Direction => config.direction != SearchDirection::Push,
            SubBlocks => config.sub_blocks.are_kept(),
            SubBlockIndex => matches!(config.read, ReadPolicy::Auto | ReadPolicy::Iteration),
            WorkStealing => config.stealing,
            Huge => config.huge_pages != HugePages::Off,
            AsyncIo => config.io != IoBackend::Blocking,
            IoThreads => config.io_threads > 0,
            _ => true,
        }
    }
}

/// Whether something was asked for, its switch and value, and the techniques of which it needs one.
type Asked = (bool, &'static str, &'static str, &'static [Technique]);

impl RunConfig {
    /// The switches, which were given if they are neither usual nor what the preset sets.
    fn asked(&self) -> [Asked; 15] {
        let (read, cross_iteration, sub_blocks, _) = self.preset.settings();
        let (way, cross, how) = (self.direction, self.cross_iteration, self.io_scheduling);
        let kept = self.sub_blocks;
        let ((block, gap), early) = (self.preset.fine(), self.precompute.unwrap_or(Off));
        let blocks = [None, block].map(|block| block.unwrap_or_default().bytes());
        let reads: &[_] = match self.read {
            ReadPolicy::Iteration => &[StateAware],
            read if read.scans() => &[FullPasses],
            _ => &[OnDemand],
        };
        let ways: &[_] = if way == SearchDirection::Push { &[Push] } else { &[Direction] };
        let crosses: &[_] = match cross {
            CrossIteration::Sciu => &[Sciu],
            CrossIteration::Fciu => &[Fciu],
            _ => &[Fciu, Sciu],
        };
        let crossed = [CrossIteration::On, cross_iteration].contains(&cross);
        [
            (self.page_cache.is_some(), "page-cache", "", &[PageCache]),
            (self.static_cache.is_some(), "static-cache", "", &[StaticCache]),
            (![ReadPolicy::Auto, read].contains(&self.read), "read", self.read.name(), reads),
            (!crossed, "cross-iteration", cross.name(), crosses),
            (
                ![sub_blocks, <_>::default()].contains(&kept),
                "sub-blocks",
                kept.name(),
                &[SubBlocks],
            ),
            (early != Off, "precompute", early.name(), &[Precompute]),
            (how != IoScheduling::Bitmap, "io-scheduling", how.name(), &[BitmapIo]),
            (!blocks.contains(&self.block), "block", "", &[SmallBlocks]),
            (self.max_gap != gap, "max-gap", "", &[GapMerging]),
            (self.max_request.is_some(), "max-request", "", &[RequestBound]),
            (self.queue_depth != QUEUE_DEPTH, "queue-depth", "", &[QueueDepth]),
            (self.cost == CostFormula::Paper, "cost", "paper", &[StateAware]),
            (way != SearchDirection::Auto, "direction", way.name(), ways),
            (self.io_threads > 0, "io-threads", "", &[IoThreads]),
            (!self.stealing, "stealing", "off", &[WorkStealing]),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What stands beside a technique by number is its own.
    #[test]
    fn facts_are_in_the_order_of_the_techniques() {
        assert!(Technique::ALL.iter().enumerate().all(|(at, &name)| name as usize == at));
        for (name, switch, counted) in [
            (FullPasses, "read", "full iterations"),
            (StateAware, "cost", "iterations with a choice"),
            (Fciu, "cross-iteration", "chunks served before"),
            (SubBlocks, "sub-blocks", "chunks kept"),
            (VertexPassing, "", "messages"),
            (BitmapIo, "io-scheduling", "marks"),
            (GapMerging, "max-gap", "blocks read along"),
            (SmallBlocks, "block", "requests of parts of pages"),
            (ListCache, "memory", "pages kept"),
            (StaticCache, "static-cache", "lists found"),
            (WorkStealing, "stealing", "ranges stolen"),
            (GridCache, "memory", "chunks kept"),
            (Push, "direction", "levels or iterations pushed"),
            (Direction, "direction", "levels pulled"),
            (Huge, "huge-pages", "bytes in huge pages"),
            (IoThreads, "io-threads", "requests handed over"),
        ] {
            assert_eq!(FACTS[name as usize], (switch, counted), "{name}");
        }
    }

    /// What each way to read lists uses: these alone, whatever the order of [`LISTS`].
    #[test]
    fn ways_to_read_lists_use_what_they_can() {
        let has = |all: &[Technique], some: &[Technique]| {
            some.iter().map(|it| all.contains(it)).collect::<Vec<_>>()
        };
        let gaps = [GapMerging, OnDemand];
        let free = [StaticCache, WorkStealing];
        let always = [BitmapIo, PageCache, ListCache, QueueDepth, RequestBound, SmallBlocks];
        for (all, [passes, owned, loose, some]) in [
            (ALL_LISTS, [true, true, true, false]),
            (some_lists(true), [false, true, true, true]),
            (OWN_LISTS, [false, false, true, true]),
            (some_lists(false), [false, false, true, true]),
            (ALL_IN_ORDER, [false, false, true, false]),
        ] {
            assert!(always.iter().all(|it| all.contains(it)), "{all:?}");
            assert_eq!(has(all, &[FullPasses]), [passes], "{all:?}");
            assert_eq!(has(all, &free), [loose, owned], "{all:?}");
            assert_eq!(has(all, &gaps), [some; 2], "{all:?}");
        }
    }
}
