//! What the user may say about an input.

use std::path::PathBuf;

use super::{EdgeColumns, WeightKind, pipe::Stopped};

outercore_storage::named! {
    /// The format of an edge list.
    #[derive(Default)]
    pub enum Format: "format" {
        /// Found out by magic bytes, extension and content.
        #[default]
        Auto = "auto",
        /// Lines of two ids and perhaps a weight, with any separator.
        Text = "text",
        /// The same, separated by commas (or semicolons, or tabs).
        Csv = "csv",
        /// Matrix Market, coordinate.
        MatrixMarket = "mtx",
        /// DIMACS: `.gr` of the 9th challenge, and `edge` or `col` graphs.
        Dimacs = "dimacs",
        /// LDBC Graphalytics: `.e` with `.v` and `.properties` beside it.
        Graphalytics = "graphalytics",
        /// Little-endian pairs of u32.
        PairsU32 = "pairs-u32",
        /// Little-endian pairs of u64.
        PairsU64 = "pairs-u64",
    }
}

outercore_storage::named! {
    /// How ids are to be taken.
    pub enum IdKind: "kind of ids" {
        /// Numbers, of which nearly all below the largest exist: `0..n` or `1..=n`.
        Dense = "dense",
        /// Any numbers below 2^64.
        Numbers = "u64",
        /// Any strings.
        Names = "string",
    }
}

outercore_storage::settings! {
    /// How an input is to be taken.
    pub struct InputSettings {
        /// The type of the weights.
        weights: Option<WeightKind> = ("weights", "TYPE", "none unless the format has weights"),
        /// What ids are.
        ids: Option<IdKind> = ("ids", "KIND", "found out"),
        /// Which columns of a text, a CSV or a Parquet file are the edges: names, or numbers
        /// from 1.
        columns: Option<EdgeColumns> = (
            "columns",
            "source=NAME,target=NAME[,weight=NAME]",
            "by the names of the first line"
        ),
    }
}

impl InputSettings {
    /// The options of an input; what is not asked for is as usual.
    pub fn options(&self) -> InputOptions {
        InputOptions {
            ids: self.ids,
            weights: self.weights,
            columns: self.columns.clone(),
            ..InputOptions::default()
        }
    }
}

/// What the user says about the input.
#[derive(Clone, Debug, Default)]
pub struct InputOptions {
    /// `--format`.
    pub format: Format,
    /// `--ids`; found out if absent.
    pub ids: Option<IdKind>,
    /// `--weights`; if absent, what the input has. `Some(WeightKind::None)` ignores what it has.
    pub weights: Option<WeightKind>,
    /// `--columns`; found by name if absent.
    pub columns: Option<EdgeColumns>,
    /// `--directed` or `--undirected`; if absent, what the format says.
    pub directed: Option<bool>,
    /// Vertex files, one id in each line: vertices that exist whether or not an edge touches them.
    pub vertices: Vec<PathBuf>,
    /// Is asked now and then while a pipe has nothing to read.
    pub stopped: Option<Stopped>,
}

impl InputOptions {
    /// The weights to carry, when the format has weights of kind `found`.
    pub(super) fn weights_of(&self, found: Option<WeightKind>) -> WeightKind {
        self.weights.or(found).unwrap_or(WeightKind::None)
    }
}

/// The smallest kind that holds both.
pub(super) fn join(a: WeightKind, b: WeightKind) -> WeightKind {
    if a == b { a } else { WeightKind::F64 }
}

/// `None` for no weights, as [`super::SourceInfo`] has it.
pub(super) fn present(kind: WeightKind) -> Option<WeightKind> {
    (kind != WeightKind::None).then_some(kind)
}

/// The name of a kind of weights, for messages.
pub(super) fn weight_name(kind: WeightKind) -> &'static str {
    match kind {
        WeightKind::None => "none",
        WeightKind::U32 => "u32",
        WeightKind::F32 => "f32",
        WeightKind::F64 => "f64",
    }
}
