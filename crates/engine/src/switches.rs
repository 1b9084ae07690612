//! The switches of a run: what each can be, and what that means.

use outercore_caches::SubBlocks;
use outercore_storage::{BlockSize, named};

named! {
    /// What is kept in memory for the length of a run.
    pub enum MemoryModel: "memory model" {
        /// Vertices and edges.
        InMemory = "in-memory",
        /// Vertices; edges are read from disk, through what memory is left.
        SemiExternal = "semi-external",
        /// A part of the vertices at a time; all else is on disk.
        FullyExternal = "fully-external",
    }
}

named! {
    /// How edges are read in an iteration.
    #[derive(Default)]
    pub enum ReadPolicy: "way to read" {
        /// Whichever costs less, for each iteration, or for each interval of sources.
        #[default]
        Auto = "auto",
        /// Whichever costs less, for each iteration as a whole.
        Iteration = "iteration",
        /// All edges, in the order of the disk.
        Full = "full",
        /// The chunks of the grid that have active sources, in that order.
        Active = "active",
        /// The edges of active vertices.
        OnDemand = "on-demand",
    }
}

named! {
    /// From which side of a level a breadth-first search follows edges.
    #[derive(Default)]
    pub enum SearchDirection: "direction of a search" {
        /// Whichever side has fewer edges to look at (Beamer, Asanovic and Patterson, SC'12).
        #[default]
        Auto = "auto",
        /// From the frontier: its lists are read.
        Push = "push",
        /// From the vertices that are not reached yet: theirs are.
        Pull = "pull",
    }
}

named! {
    /// By which formula an iteration is predicted to take longer by the grid or by lists.
    #[derive(Default)]
    pub enum CostFormula: "formula of costs" {
        /// Bytes, requests and the processor's time, as they were measured here.
        #[default]
        Measured = "measured",
        /// That of GraphSD (ICPP'22, section 4.1).
        Paper = "paper",
    }
}

named! {
    /// Settings that make the engine behave like a published system.
    #[derive(Default)]
    pub enum Preset: "preset" {
        /// What is best.
        #[default]
        Best = "best",
        /// A plain grid-streaming system: all edges in every iteration, for it alone.
        Streaming = "streaming",
        /// Graphene (FAST'17): lists on demand, in blocks of 512 bytes, over gaps of 8 KiB.
        Graphene = "graphene",
        /// GraphSD (ICPP'22): every second full pass serves two iterations.
        Graphsd = "graphsd",
        /// Seraph (FAST'24): lists of active vertices, messages passed through logs, future
        /// vertices computed early.
        Seraph = "seraph",
    }
}

named! {
    /// Whether vertices that will be active in the next iteration are computed in this one, when
    /// what is read for others is at hand (selective pre-computation, Seraph, FAST'24, section
    /// 3.4). Only for programs whose messages may come early
    /// ([`Monotone`](crate::program::Monotone)).
    pub enum Precompute: "way to compute early" {
        /// None of them.
        Off = "off",
        /// Those within 32 ids of an active one: their lists often lie in the same block.
        Gap = "gap",
        /// All that are known by then.
        On = "on",
    }
}

named! {
    /// Whether a pass over the edges serves more than one iteration, in fully-external runs.
    #[derive(Default)]
    pub enum CrossIteration: "way to serve iterations" {
        /// Every full pass does, up and down in turn, where all vertices apply; and lists that were
        /// read stay for the next iteration.
        #[default]
        On = "on",
        /// Every second full pass does, and lists stay: GraphSD's FCIU and SCIU.
        Graphsd = "graphsd",
        /// Every second full pass does (GraphSD, ICPP'22, Algorithm 3).
        Fciu = "fciu",
        /// Lists that an on-demand iteration has read stay, as far as memory goes (GraphSD,
        /// Algorithm 2).
        Sciu = "sciu",
        /// Nothing does.
        Off = "off",
    }
}

impl Preset {
    /// What it sets: how edges are read, what serves more than one iteration, which chunks of the
    /// grid stay, and which vertices are computed early.
    pub(crate) fn settings(self) -> (ReadPolicy, CrossIteration, SubBlocks, Precompute) {
        use CrossIteration::{Graphsd, Off, On};
        match self {
            Preset::Best => (ReadPolicy::Auto, On, SubBlocks::On, Precompute::Off),
            Preset::Streaming => (ReadPolicy::Full, Off, SubBlocks::Off, Precompute::Off),
            Preset::Graphene => (ReadPolicy::OnDemand, Off, SubBlocks::Off, Precompute::Off),
            Preset::Graphsd => (ReadPolicy::Auto, Graphsd, SubBlocks::Secondary, Precompute::Off),
            Preset::Seraph => (ReadPolicy::Auto, Off, SubBlocks::Off, Precompute::Gap),
        }
    }

    /// The block and the gap that it sets: Graphene's are 512 bytes, and 16 of these.
    pub(crate) fn fine(self) -> (Option<BlockSize>, Option<u64>) {
        (self == Preset::Graphene).then_some((BlockSize::Sector, 16 * 512)).unzip()
    }
}

impl ReadPolicy {
    /// Whether no lists are read where there is a grid.
    pub fn scans(self) -> bool {
        matches!(self, ReadPolicy::Full | ReadPolicy::Active)
    }
}

impl CrossIteration {
    /// Whether full passes serve two iterations.
    pub(crate) fn in_passes(self) -> bool {
        !matches!(self, CrossIteration::Off | CrossIteration::Sciu)
    }

    /// Whether lists serve two iterations.
    pub(crate) fn in_lists(self) -> bool {
        !matches!(self, CrossIteration::Off | CrossIteration::Fciu)
    }
}
