//! The manifest of a graph whose sections have been written.

use super::{Builder, Shape, sorting::Written};
use crate::{
    format::{Hybrid, IdTable, Manifest, SectionEntry, VERSION},
    types::bytes_for,
};

/// What the lists came to.
struct Lists {
    /// The largest out-degree, and the first vertex that has it.
    max_out_degree: (u64, u64),
    max_in_degree: u64,
    arcs: u64,
}

impl Written {
    fn lists(&self) -> Lists {
        let (max_in_degree, max_out_degree, arcs) = match (&self.target, &self.source) {
            (Some(target), Some(source)) => (target.largest.0, source.largest, source.edges),
            (None, Some(source)) => (0, source.largest, source.edges),
            (Some(both), None) => (both.largest.0, both.largest, both.edges),
            (None, None) => (0, (0, 0), 0),
        };
        Lists { max_out_degree, max_in_degree, arcs }
    }

    fn sections(self) -> impl Iterator<Item = SectionEntry> {
        let lists = [self.target, self.source, self.row_format];
        lists.into_iter().flatten().flat_map(|rows| rows.sections).chain(self.grid.sections)
    }
}

impl Builder<'_> {
    pub(super) fn manifest(
        &self,
        shape: &Shape,
        (ids, id_bytes, mut sections): (IdTable, u32, Vec<SectionEntry>),
        written: Written,
        hybrid: Option<Hybrid>,
    ) -> Manifest {
        let Lists { max_out_degree, max_in_degree, arcs } = written.lists();
        let extra = Some(written.extras.edges(shape.directed));
        let (transpose, grid_words) =
            (shape.directed && written.target.is_some(), written.grid.words);
        sections.extend(written.sections());
        sections.sort_by(|a, b| a.name.cmp(&b.name));
        Manifest {
            outercore: "graph".to_owned(),
            version: VERSION,
            uuid: self.uuid.clone(),
            vertices: shape.input_vertices,
            connected: shape.connected,
            edges: match (shape.directed, self.options.simple) {
                (true, _) => arcs,
                (false, true) => arcs / 2,
                // Self-loops have one arc.
                (false, false) => shape.edges,
            },
            arcs,
            directed: shape.directed,
            transpose,
            simple: self.options.simple,
            extra,
            weights: shape.weights.kind,
            weight_bytes: shape.weights.bytes as u32,
            negative_weights: shape.negative,
            neighbor_bytes: bytes_for(shape.connected) as u32,
            id_bytes,
            ids,
            order: self.options.order,
            max_out_degree,
            max_in_degree,
            grid_words,
            partition: self.options.partition,
            layout: self.options.layout,
            hybrid,
            stripe_unit: self.folders.unit,
            stripes: self.folders.stripes.clone(),
            sections,
        }
    }
}
