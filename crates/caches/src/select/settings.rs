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
        /// Searches that show gvs which lists are wanted together; 0: neighbors are (the paper).
        sample: Option<u64> = ("sample", "N", "--rounds, 4 to 16"),
        /// The page cache of those runs, beside which gvs tries what it has chosen.
        page_cache: Option<Size> = ("page-cache", "SIZE", "half of --size"),
        /// Which penalty gvs chooses first, with --sample 0.
        penalty: Option<Penalty> = ("penalty", "WHICH", "highest"),
        /// By which degree gvs divides a penalty, with --sample 0.
        divided_by: Option<Divisor> = ("divided-by", "DEGREE", "both"),
        /// The seed of a random selection.
        seed: Option<u64> = ("seed", "N", "1"),
    }
}

/// Settings that are for one way to select.
pub(super) const OF: [(&str, Select); 7] = [
    ("rounds", Select::Gvs),
    ("block", Select::Gvs),
    ("sample", Select::Gvs),
    ("page-cache", Select::Gvs),
    ("penalty", Select::Gvs),
    ("divided-by", Select::Gvs),
    ("seed", Select::Random),
];

/// Settings of gvs with sample searches, and without.
pub(super) const OF_SAMPLES: [&str; 1] = ["page-cache"];
pub(super) const OF_PENALTIES: [&str; 2] = ["penalty", "divided-by"];
/// The usual rounds.
const ROUNDS: u64 = 20;
/// The most sample searches.
const MOST: u64 = 64;

impl SelectSettings {
    /// The options of a selection for `graph`. What the way to select has no use for is refused.
    pub fn options(&self, graph: &Graph, using: &Resources) -> Result<SelectOptions> {
        let select = self.select.unwrap_or_default();
        let given = [
            self.rounds.is_some(),
            self.block.is_some(),
            self.sample.is_some(),
            self.page_cache.is_some(),
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
        let sample = self.samples()?;
        let manifest = graph.manifest();
        let whole = manifest.arcs * u64::from(manifest.neighbor_bytes);
        let size = self.size.unwrap_or(Size::Percent(10.0)).of(whole);
        Ok(SelectOptions {
            select,
            size,
            sample,
            page_cache: self.page_cache.map_or(size / 2, |pages| pages.of(whole)),
            rounds: self.rounds.unwrap_or(ROUNDS),
            block: self.block.unwrap_or(BlockSize::TwoPages).bytes(),
            penalty: self.penalty.unwrap_or_default(),
            divisor: self.divided_by.unwrap_or_default(),
            seed: self.seed.unwrap_or(1),
            memory: using.memory(),
            threads: using.threads(),
        })
    }

    /// How many sample searches there are: none where something is asked for that they replace.
    fn samples(&self) -> Result<u64> {
        let paper = self.penalty.is_some() || self.divided_by.is_some();
        // Few rounds are asked for where time matters.
        let usual = self.rounds.unwrap_or(ROUNDS).clamp(4, 16);
        let sample = self.sample.unwrap_or(if paper { 0 } else { usual });
        if paper && sample > 0 {
            return refuse("--penalty and --divided-by are for --sample 0: samples need neither");
        }
        if self.page_cache.is_some() && sample == 0 {
            return refuse("--page-cache is for sample searches, and not for --sample 0");
        }
        if sample > MOST {
            return refuse(format!("--sample takes 0 to {MOST} searches, not {sample}"));
        }
        Ok(sample)
    }
}
