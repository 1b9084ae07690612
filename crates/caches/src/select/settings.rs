//! What can be asked of a selection by name.

use outercore_graph::{Graph, Result, error::refuse};
use outercore_storage::{BlockSize, Resources, Size, named, settings};

use super::SelectOptions;

named! {
    /// How lists are selected that a static cache holds.
    #[derive(Default)]
    pub enum Select: "way to select" {
        /// Those for which pages would be read that hold little else that is wanted (BASC,
        /// ATC'19, Algorithm 1).
        #[default]
        Gvs = "gvs",
        /// The longest.
        HighDegree = "high-degree",
        /// The shortest.
        LowDegree = "low-degree",
        /// Any.
        Random = "random",
    }
}

named! {
    /// Which vertices gvs takes first: the paper's text and its listing say different things.
    #[derive(Default)]
    pub enum Penalty: "penalty" {
        /// Those with the highest penalty, as the text says.
        #[default]
        Highest = "highest",
        /// Those with the lowest, as the listing does.
        Lowest = "lowest",
    }
}

named! {
    /// The degree by which gvs divides the penalty of a vertex.
    #[derive(Default)]
    pub enum Divisor: "divisor of a penalty" {
        /// By one and by the other.
        #[default]
        Both = "both",
        /// That of its list, which is what memory is spent on: the paper's text.
        Own = "own-degree",
        /// That of the edges which lead to it: the paper's listing.
        Arriving = "arriving-degree",
    }
}

settings! {
    /// How lists are selected.
    pub struct SelectSettings {
        /// By what lists are selected.
        select: Option<Select> = ("select", "HOW", "gvs"),
        /// Bytes of the static cache, or a share of the lists of a direction (64M, 10%).
        size: Option<Size> = ("size", "SIZE", "10%"),
        /// Parts in which gvs chooses: penalties are computed again after each.
        rounds: Option<u64> = ("rounds", "K", "20"),
        /// The page by which gvs counts: that of the runs which the selection is for.
        block: Option<BlockSize> = ("block", "SIZE", "8192"),
        /// Which penalty gvs chooses first.
        penalty: Option<Penalty> = ("penalty", "WHICH", "highest"),
        /// By which degree gvs divides a penalty.
        divided_by: Option<Divisor> = ("divided-by", "DEGREE", "both"),
        /// The seed of a random selection.
        seed: Option<u64> = ("seed", "N", "1"),
    }
}

/// Settings that are for one way to select.
pub(super) const OF: [(&str, Select); 5] = [
    ("rounds", Select::Gvs),
    ("block", Select::Gvs),
    ("penalty", Select::Gvs),
    ("divided-by", Select::Gvs),
    ("seed", Select::Random),
];

impl SelectSettings {
    /// The options of a selection for `graph`. What the way to select has no use for is refused.
    pub fn options(&self, graph: &Graph, using: &Resources) -> Result<SelectOptions> {
        let select = self.select.unwrap_or_default();
        let given = [
            self.rounds.is_some(),
            self.block.is_some(),
            self.penalty.is_some(),
            self.divided_by.is_some(),
            self.seed.is_some(),
        ];
        for (given, (name, of)) in given.into_iter().zip(OF) {
            if given && of != select {
                return refuse(format!("--{name} is for --select {of}, and not for {select}"));
            }
        }
        if self.rounds == Some(0) {
            return refuse("--rounds cannot be 0: lists are selected in one round at the least");
        }
        let manifest = graph.manifest();
        let whole = manifest.arcs * u64::from(manifest.neighbor_bytes);
        Ok(SelectOptions {
            select,
            size: self.size.unwrap_or(Size::Percent(10.0)).of(whole),
            rounds: self.rounds.unwrap_or(20),
            block: self.block.unwrap_or(BlockSize::TwoPages).bytes(),
            penalty: self.penalty.unwrap_or_default(),
            divisor: self.divided_by.unwrap_or_default(),
            seed: self.seed.unwrap_or(1),
            memory: using.memory(),
            threads: using.threads(),
        })
    }
}
