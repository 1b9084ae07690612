//! The vocabulary of the crate: original ids, directions, weights.

use serde::{Deserialize, Serialize};

/// An original id, as the user wrote it; serialised as it is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(untagged)]
pub enum Key {
    /// An unsigned number.
    Number(u64),
    /// Any other string.
    Name(String),
}

impl Key {
    /// The number that it is or that it writes in digits, if it is below 2^64.
    pub fn as_number(&self) -> Option<u64> {
        match self {
            Key::Number(number) => Some(*number),
            // `u64::from_str` takes `+5`, which is no id.
            Key::Name(name) if name.starts_with('+') => None,
            Key::Name(name) => name.parse().ok(),
        }
    }
}

impl std::fmt::Display for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Key::Number(number) => write!(f, "{number}"),
            Key::Name(name) => f.write_str(name),
        }
    }
}

/// A batch of original ids.
#[derive(Clone, Debug)]
pub enum Keys {
    /// Numbers.
    Numbers(Vec<u64>),
    /// Names, one after the other; `ends[i]` is where name `i` ends.
    Names {
        /// The names' bytes, UTF-8.
        bytes: Vec<u8>,
        /// The end of each name in `bytes`.
        ends: Vec<u64>,
    },
}

impl Keys {
    /// How many ids there are.
    pub fn len(&self) -> usize {
        match self {
            Keys::Numbers(numbers) => numbers.len(),
            Keys::Names { ends, .. } => ends.len(),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Id number `index`.
    pub fn get(&self, index: usize) -> Key {
        match self {
            Keys::Numbers(numbers) => Key::Number(numbers[index]),
            Keys::Names { .. } => Key::Name(self.name(index).to_owned()),
        }
    }

    /// Name number `index`; empty for numbers.
    pub fn name(&self, index: usize) -> &str {
        match self {
            Keys::Numbers(_) => "",
            Keys::Names { bytes, ends } => {
                let start = if index == 0 { 0 } else { ends[index - 1] as usize };
                std::str::from_utf8(&bytes[start..ends[index] as usize]).unwrap_or("\u{fffd}")
            }
        }
    }
}

/// Which of a vertex's edges are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// From the vertex.
    Out,
    /// To the vertex.
    In,
}

impl Direction {
    /// The prefix of its sections: `out` or `in`.
    pub fn name(self) -> &'static str {
        match self {
            Direction::Out => "out",
            Direction::In => "in",
        }
    }

    /// The other one.
    pub fn reversed(self) -> Self {
        match self {
            Direction::Out => Direction::In,
            Direction::In => Direction::Out,
        }
    }
}

outercore_storage::named! {
    /// The type of the edges' weights, as the user sees it.
    #[derive(Default)]
    pub enum WeightKind: "type of weights" {
        /// No weights.
        #[default]
        None = "none",
        /// Unsigned integers below 2^32; stored in 1, 2 or 4 bytes, by the largest.
        U32 = "u32",
        /// Single precision.
        F32 = "f32",
        /// Double precision.
        F64 = "f64",
    }
}

impl WeightKind {
    /// Whether a weight of this type can be this whole number.
    pub fn holds(self, whole: i128) -> bool {
        match self {
            WeightKind::None => true,
            WeightKind::U32 => u32::try_from(whole).is_ok(),
            WeightKind::F32 => (whole as f32) as i128 == whole,
            WeightKind::F64 => (whole as f64) as i128 == whole,
        }
    }

    /// Whether a weight that is a whole number would become another one. (Whole numbers end at
    /// 2^64; what is larger is rounded as fractions are.)
    pub fn rounds_whole(self, weight: f64) -> bool {
        self == WeightKind::F32
            && weight.abs() < 2f64.powi(64)
            && weight.trunc() == weight
            && f64::from(weight as f32) != weight
    }

    /// Every whole number below this, and its negative, is held exactly.
    pub fn whole_below(self) -> f64 {
        match self {
            WeightKind::None | WeightKind::F64 => (1u64 << 53) as f64,
            WeightKind::U32 => (1u64 << 32) as f64,
            WeightKind::F32 => (1u64 << 24) as f64,
        }
    }

    /// The value of a weight with these bits.
    #[inline(always)]
    pub fn value(self, bits: u64) -> f64 {
        match self {
            WeightKind::None => 1.0,
            WeightKind::U32 => bits as f64,
            WeightKind::F32 => f64::from(f32::from_bits(bits as u32)),
            WeightKind::F64 => f64::from_bits(bits),
        }
    }
}

outercore_storage::named! {
    /// How the grid is cut, by targets and by sources (Graphene, FAST'17, section 4.1).
    #[derive(Default)]
    pub enum GridPartition: "partition" {
        /// About equal edges in each interval of targets, and in each tile of one.
        #[default]
        Balanced = "balanced",
        /// Equal ranges of vertices both ways, as is conventional.
        Uniform = "uniform",
    }
}

impl GridPartition {
    /// Whether it is cut by edges.
    pub fn is_balanced(&self) -> bool {
        *self == GridPartition::Balanced
    }
}

outercore_storage::named! {
    /// How the edges lie that passes over all of them read. Lists are complete in any layout.
    #[derive(Default)]
    pub enum Layout: "layout" {
        /// All edges in tiles.
        #[default]
        Grid = "grid",
        /// No tiles: passes read the lists.
        Row = "row",
        /// Dense parts in tiles, the others in lists (Seraph, FAST'24, section 3.2).
        Hybrid = "hybrid",
    }
}

impl Layout {
    /// Whether every edge is in the grid.
    pub fn is_grid(&self) -> bool {
        *self == Layout::Grid
    }
}

/// The fewest bytes that hold every value below `bound`.
pub fn bytes_for(bound: u64) -> usize {
    let bits = 64 - bound.saturating_sub(1).leading_zeros() as usize;
    bits.div_ceil(8).max(1)
}
