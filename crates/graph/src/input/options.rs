//! What the user may say about an input.

use std::{path::PathBuf, str::FromStr};

use super::WeightKind;

/// The format of an edge list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Format {
    /// Found out by magic bytes, extension and content.
    #[default]
    Auto,
    /// Lines of two ids and perhaps a weight, with any separator.
    Text,
    /// The same, separated by commas (or semicolons, or tabs).
    Csv,
    /// Matrix Market, coordinate.
    MatrixMarket,
    /// DIMACS: `.gr` of the 9th challenge, and `edge` or `col` graphs.
    Dimacs,
    /// LDBC Graphalytics: `.e` with `.v` and `.properties` beside it.
    Graphalytics,
    /// Little-endian pairs of u32.
    PairsU32,
    /// Little-endian pairs of u64.
    PairsU64,
}

impl Format {
    /// Every format.
    pub const ALL: [Format; 8] = [
        Format::Auto,
        Format::Text,
        Format::Csv,
        Format::MatrixMarket,
        Format::Dimacs,
        Format::Graphalytics,
        Format::PairsU32,
        Format::PairsU64,
    ];

    /// The names of all formats, in the order of [`Format::ALL`].
    pub const NAMES: [&'static str; 8] =
        ["auto", "text", "csv", "mtx", "dimacs", "graphalytics", "pairs-u32", "pairs-u64"];

    /// Its name, as in `--format`.
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}

impl FromStr for Format {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let index = Self::NAMES.iter().position(|known| *known == name);
        index
            .map(|index| Self::ALL[index])
            .ok_or_else(|| format!("unknown format {name:?}; known: {}", Self::NAMES.join(" ")))
    }
}

impl std::fmt::Display for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// How ids are to be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IdKind {
    /// Numbers, of which nearly all below the largest exist: `0..n` or `1..=n`.
    Dense,
    /// Any numbers below 2^64.
    Numbers,
    /// Any strings.
    Names,
}

impl IdKind {
    /// Its name, as in `--ids`.
    pub fn name(self) -> &'static str {
        match self {
            IdKind::Dense => "dense",
            IdKind::Numbers => "u64",
            IdKind::Names => "string",
        }
    }
}

impl FromStr for IdKind {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "dense" => Ok(IdKind::Dense),
            "u64" => Ok(IdKind::Numbers),
            "string" => Ok(IdKind::Names),
            _ => Err(format!("unknown kind of ids {name:?}; known: dense u64 string")),
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
    /// `--directed` or `--undirected`; if absent, what the format says.
    pub directed: Option<bool>,
    /// Vertex files, one id in each line: vertices that exist whether or not an edge touches them.
    pub vertices: Vec<PathBuf>,
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
