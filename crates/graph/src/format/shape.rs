//! Whether a manifest agrees with itself: which sections there must be, and how long. The seal says
//! that a manifest was not changed by accident. This says that it makes sense, so that no later
//! arithmetic on its numbers can go wrong.

use outercore_storage::PAGE;

use super::{
    Extra, GRID_VERSION, INDEX_GROUP, IdTable, MOST_STRIPES, Manifest, OLD_ORDERS_VERSION, Ranges,
    Shares,
};
use crate::types::{Layout, WeightKind, bytes_for};

/// Most vertices or edges: lengths of sections stay far below 2^63.
const MOST: u64 = 1 << 48;

/// What a section's length must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Length {
    /// So many bytes.
    Exactly(u64),
    /// At least so many, and a multiple of the second.
    AtLeast(u64, u64),
}

impl Length {
    fn holds(self, bytes: u64) -> bool {
        match self {
            Length::Exactly(expected) => bytes == expected,
            Length::AtLeast(least, unit) => {
                bytes >= least && bytes.is_multiple_of(unit) && bytes <= MOST * 8
            }
        }
    }
}

impl Manifest {
    /// What the manifest says of itself that cannot be.
    pub fn contradiction(&self) -> Option<String> {
        self.numbers().or_else(|| self.formats()).or_else(|| self.lengths())
    }

    fn numbers(&self) -> Option<String> {
        let widths: &[u32] = match self.weights {
            WeightKind::None => &[0],
            WeightKind::U32 => &[1, 2, 4],
            WeightKind::F32 => &[4],
            WeightKind::F64 => &[8],
        };
        let first = if let IdTable::Range { first } = self.ids { first } else { 0 };
        let rules = [
            (
                "vertices or edges beyond 2^48",
                self.vertices <= MOST
                    && self.arcs <= MOST
                    && self.edges <= self.arcs
                    && self.grid_words <= 2 * MOST,
            ),
            ("more connected vertices than vertices", self.connected <= self.vertices),
            ("ids beyond 64 bits", first.checked_add(self.vertices.saturating_sub(1)).is_some()),
            (
                "another width of neighbors than its vertices need",
                self.neighbor_bytes as usize == bytes_for(self.connected),
            ),
            (
                "another width of ids than its vertices need",
                self.id_bytes == 0 || self.id_bytes as usize == bytes_for(self.vertices),
            ),
            (
                "a width of weights that their type does not have",
                widths.contains(&self.weight_bytes),
            ),
            (
                "a stripe unit that is no multiple of a page",
                self.stripe_unit > 0
                    && self.stripe_unit.is_multiple_of(PAGE as u64)
                    && self.stripe_unit <= MOST,
            ),
            ("more stripes than a graph has", self.stripes.len() <= MOST_STRIPES),
            (
                "duplicates and self-loops that its edges do not have",
                self.extra.is_none_or(|extra| self.may_have(extra)),
            ),
            ("incoming rows in an undirected graph", self.directed || !self.transpose),
            (
                "a vertex of the largest degree that there is not",
                self.max_out_degree.1 < self.connected.max(1),
            ),
        ];
        rules.iter().find(|(_, holds)| !holds).map(|(what, _)| format!("it speaks of {what}"))
    }

    /// Whether so many of its edges can be extra.
    fn may_have(&self, extra: Extra) -> bool {
        let sum = extra.duplicates.checked_add(extra.self_loops);
        sum.is_some_and(|sum| sum <= if self.simple { 0 } else { self.edges })
    }

    /// Whether what it says of the layout can be.
    fn formats(&self) -> Option<String> {
        if self.layout != Layout::Grid && self.version <= GRID_VERSION {
            return Some(format!("version {} has no layout {}", self.version, self.layout.name()));
        }
        if self.order.is_found() && self.version <= OLD_ORDERS_VERSION {
            return Some(format!("version {} has no order {}", self.version, self.order));
        }
        let what = match (self.layout, &self.hybrid) {
            (Layout::Hybrid, None) => "a hybrid layout without its cells",
            (Layout::Hybrid, Some(hybrid)) => {
                let ranges = Ranges::of(self.connected);
                let cells = ranges.cells();
                let decided = hybrid.ranges == ranges.count()
                    && hybrid.rows.fits(cells)
                    && hybrid.rows.count() == hybrid.row_cells;
                let adds_up = hybrid.row_arcs.checked_add(hybrid.grid_arcs) == Some(self.arcs);
                if decided && adds_up && hybrid.grid_cells <= cells as u64 - hybrid.row_cells {
                    return None;
                }
                "cells that its vertices and edges do not have"
            }
            (_, Some(_)) => "cells of a hybrid layout, which it has not",
            (_, None) => return None,
        };
        Some(format!("it speaks of {what}"))
    }

    fn lengths(&self) -> Option<String> {
        let expected = self.expected();
        for (position, section) in self.sections.iter().enumerate() {
            let Some((_, length)) = expected.iter().find(|(name, _)| *name == section.name) else {
                return Some(format!("it speaks of a section {:?}", section.name));
            };
            if self.sections[..position].iter().any(|other| other.name == section.name) {
                return Some(format!("section {} is there twice", section.name));
            }
            if !length.holds(section.bytes) {
                return Some(format!(
                    "section {} cannot have {} bytes",
                    section.name, section.bytes
                ));
            }
        }
        let missing = expected.iter().find(|(name, _)| self.section(name).is_none());
        missing.map(|(name, _)| format!("section {name} is missing"))
    }

    /// Every section of this graph, and its length.
    fn expected(&self) -> Vec<(String, Length)> {
        let (weights, weighted) = (u64::from(self.weight_bytes), self.weights != WeightKind::None);
        let neighbor = u64::from(self.neighbor_bytes);
        let mut all = Vec::new();
        let mut add = |there: bool, name: &str, length| {
            if there {
                all.push((name.to_owned(), length));
            }
        };
        let Shares { row_arcs, grid_arcs, .. } = self.shares();
        for (rows, there, arcs) in [
            ("out", true, self.arcs),
            ("in", self.transpose, self.arcs),
            ("row", self.layout == Layout::Hybrid, row_arcs),
        ] {
            let index = (self.connected.div_ceil(INDEX_GROUP) + 1) * 8;
            add(there, &format!("{rows}.degrees"), Length::Exactly(self.connected * 4));
            add(there, &format!("{rows}.index"), Length::Exactly(index));
            add(there, &format!("{rows}.adjacency"), Length::Exactly(arcs * neighbor));
            add(
                there && weighted && rows != "row",
                &format!("{rows}.weights"),
                Length::Exactly(arcs * weights),
            );
        }
        let heads = if self.directed { "in.heads" } else { "out.heads" };
        add(self.transpose || !self.directed, heads, Length::Exactly(self.connected * neighbor));
        let tiled = |length| if grid_arcs == 0 { Length::Exactly(0) } else { length };
        add(true, "grid.stripes", Length::AtLeast(8, 8));
        add(true, "grid.tiles", tiled(Length::AtLeast(0, 40)));
        add(true, "grid.chunks", tiled(Length::AtLeast(0, 16)));
        add(true, "grid.words", tiled(Length::AtLeast(self.grid_words, 1)));
        add(weighted, "grid.weights", Length::Exactly(grid_arcs * weights));
        let tables = Length::Exactly(self.vertices * u64::from(self.id_bytes));
        add(self.id_bytes > 0, "ids.vertex", tables);
        add(self.id_bytes > 0, "ids.rank", tables);
        add(self.ids == IdTable::Numbers, "ids.keys", Length::Exactly(self.vertices * 8));
        add(self.ids == IdTable::Names, "ids.keys", Length::AtLeast(0, 1));
        add(self.ids == IdTable::Names, "ids.ends", Length::Exactly(self.vertices * 8));
        all
    }
}
