//! Sorting edges into sections: which lists and tiles a graph gets, and from which of
//! its two partitions each comes.

use std::sync::Mutex;

use outercore_storage::lock;

use super::{
    Builder, Shape,
    buckets::Buckets,
    emit::{BucketRecords, Emission, SectionWriters},
    extra::Extras,
    grid::{GridSummary, GridWriter, TileCode},
    intervals::IntervalCut,
    packed::RecordCode,
    radix::Record,
    rows::{RowCode, RowsSummary, RowsWriter},
    weights::WeightCode,
};
use crate::{
    error::Result,
    format::Cells,
    types::{Layout, bytes_for},
};

/// The edges of a build, by bucket, on their way into sections.
pub struct Sorting<'s> {
    /// The build.
    pub builder: &'s Builder<'s>,
    /// What has been decided.
    pub shape: &'s Shape,
    /// The buckets.
    pub buckets: &'s Buckets,
    /// Workers that sort them.
    pub workers: usize,
    /// How records are packed.
    pub code: RecordCode,
    /// Which edges are in row format; `None`: all are in the grid.
    pub cells: Option<&'s Cells>,
}

/// What the edges came to.
pub struct Written {
    /// Lists by target: those of the transpose, or the only ones of an undirected graph.
    pub target: Option<RowsSummary>,
    /// Lists by source, in a directed graph.
    pub source: Option<RowsSummary>,
    /// The lists of the edges in row format, in the hybrid layout.
    pub row_format: Option<RowsSummary>,
    /// Tiles.
    pub grid: GridSummary,
    /// Duplicates and self-loops among them.
    pub extras: Extras,
}

impl Sorting<'_> {
    /// Writes the sections of all edges; partitions go when they have been read.
    pub fn write<R: Record>(
        &self,
        by_target: BucketRecords,
        by_source: Option<BucketRecords>,
    ) -> Result<Written> {
        let (shape, options) = (self.shape, self.builder.options);
        let rows = match (shape.directed, options.transpose) {
            (true, true) => Some(self.rows("in", true)?),
            (true, false) => None,
            (false, _) => Some(self.rows("out", true)?),
        };
        let row_format = if shape.directed { None } else { self.row_format()? };
        let grid = Some(GridWriter::create(self.builder.folders, shape.weights)?);
        let cut = IntervalCut::new(options.partition, shape.edges, shape.connected);
        let emission = self.emission(&by_target, true, cut);
        let first = emission.run::<R>(SectionWriters { rows, row_format, grid })?;
        let extras = *lock(&emission.extras);
        let target = first.rows.map(RowsWriter::finish).transpose()?;
        let row_format = first.row_format.map(RowsWriter::finish).transpose()?;
        let grid = first.grid.expect("the grid was asked for").finish()?;
        drop(by_target);
        let Some(by_source) = &by_source else {
            return Ok(Written { target, source: None, row_format, grid, extras });
        };
        let writers = SectionWriters {
            rows: Some(self.rows("out", false)?),
            row_format: self.row_format()?,
            grid: None,
        };
        let second = self.emission(by_source, false, IntervalCut::Edges(0)).run::<R>(writers)?;
        let source = second.rows.map(RowsWriter::finish).transpose()?;
        Ok(Written {
            target,
            source,
            row_format: second.row_format.map(RowsWriter::finish).transpose()?,
            grid,
            extras,
        })
    }

    fn emission<'e>(
        &'e self,
        records: &'e BucketRecords,
        heads: bool,
        cut: IntervalCut,
    ) -> Emission<'e> {
        let (options, other_bits) = (self.builder.options, self.code.other_bits);
        let Shape { weights, edges, connected, directed, .. } = *self.shape;
        let arcs = if directed { edges } else { 2 * edges };
        // Buckets that memory cannot hold are written in pieces.
        let capacity = self.buckets.capacity();
        let pieces = |bucket| match records.of(bucket) {
            many if many > capacity => many.div_ceil(capacity / 2),
            _ => 1,
        };
        let pieces = (0..self.buckets.list().len()).map(pieces).sum();
        Emission {
            disk: self.builder.disk,
            scratch: self.builder.scratch,
            buckets: self.buckets,
            records,
            code: self.code,
            rows: RowCode { other_bits, neighbor_bytes: bytes_for(connected), weights, heads },
            tiles: TileCode {
                other_bits,
                cut,
                lag: cut.lag(arcs, connected, pieces),
                weights,
                cells: self.cells,
            },
            simple: options.simple,
            extras: Mutex::default(),
            threads: self.workers,
            progress: self.builder.progress,
        }
    }

    fn rows(&self, prefix: &str, heads: bool) -> Result<RowsWriter> {
        RowsWriter::create(
            self.builder.folders,
            prefix,
            bytes_for(self.shape.connected),
            self.shape.weights,
            heads,
        )
    }

    /// The lists of the edges in row format, where they are not all edges or none.
    fn row_format(&self) -> Result<Option<RowsWriter>> {
        if self.builder.options.layout != Layout::Hybrid {
            return Ok(None);
        }
        RowsWriter::create(
            self.builder.folders,
            "row",
            bytes_for(self.shape.connected),
            WeightCode::NONE,
            false,
        )
        .map(Some)
    }
}
