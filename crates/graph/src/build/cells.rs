//! Counting the edges of each cell while they are partitioned, for the hybrid layout.
//!
//! Memory: 8 bytes for each cell, 32 KiB at the most, and as much for each thread.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::format::{Cells, Ranges};

/// The edges of each cell, duplicates and self-loops included.
pub struct CellCounts {
    ranges: Ranges,
    edges: Vec<AtomicU64>,
}

/// What one thread has counted.
pub struct Tally<'c> {
    counts: &'c CellCounts,
    edges: Vec<u64>,
}

impl CellCounts {
    /// No edges yet, of a graph with so many connected vertices.
    pub fn new(connected: u64) -> Self {
        let ranges = Ranges::of(connected);
        Self { ranges, edges: (0..ranges.cells()).map(|_| AtomicU64::new(0)).collect() }
    }

    /// A tally for one thread.
    pub fn tally(&self) -> Tally<'_> {
        Tally { counts: self, edges: vec![0; self.edges.len()] }
    }

    /// Which cells are in row format, and how many are in grid format.
    pub fn decide(self) -> (Cells, u64) {
        let edges: Vec<u64> = self.edges.into_iter().map(AtomicU64::into_inner).collect();
        let cells = Cells::decide(self.ranges, &edges);
        let there = edges.iter().filter(|&&edges| edges > 0).count() as u64;
        let in_grid = there - cells.rows().count();
        (cells, in_grid)
    }
}

impl Tally<'_> {
    /// Counts an edge.
    #[inline(always)]
    pub fn add(&mut self, source: u64, target: u64) {
        self.edges[self.counts.ranges.cell(source, target)] += 1;
    }

    /// Hands the counts over.
    pub fn finish(self) {
        for (sum, edges) in self.counts.edges.iter().zip(self.edges) {
            sum.fetch_add(edges, Relaxed);
        }
    }
}
