//! What a graph tells, before any of its edges are read, of what runs on it will do.

use std::sync::atomic::Ordering::Relaxed;

use outercore_storage::PAGE;

use crate::{Graph, Result};

impl Graph {
    /// Edges of a connected vertex, on average.
    pub fn mean_degree(&self) -> f64 {
        self.manifest().arcs as f64 / self.connected().max(1) as f64
    }

    /// The mean weight, shared out among the edges of a vertex: about how far apart the lengths of
    /// paths are that a vertex is met by.
    pub fn mean_step(&self) -> Result<f64> {
        Ok(self.mean_weight()? / self.mean_degree().max(1.0))
    }

    /// About what the lightest edge of a vertex weighs.
    pub fn light_step(&self) -> Result<f64> {
        self.light_weight(self.mean_degree())
    }

    /// About how many steps a frontier takes to all vertices, of which each has one at the most: it
    /// grows by the mean degree. Where there are hubs it comes to one, and is everywhere.
    pub fn steps(&self) -> u64 {
        let vertices = self.connected();
        let steps = (vertices.max(2) as f64).ln() / (1.0 + self.mean_degree()).ln();
        let most = if self.has_hubs() { 3 } else { vertices };
        2 + (steps as u64).min(most)
    }

    /// About what a step along all edges leaves of a difference between vertices: the second
    /// eigenvalue of a random graph with this mean degree (Friedman, 2008). A graph that is sparser
    /// than a tree keeps all of it.
    pub fn mixing(&self) -> f64 {
        let degree = self.mean_degree();
        if degree > 2.0 { 2.0 * (degree - 1.0).sqrt() / degree } else { 1.0 }
    }

    /// Whether the neighbors of its largest vertex have about as many neighbors as there are
    /// vertices: most searches meet all of them in a step or two.
    pub fn has_hubs(&self) -> bool {
        let (largest, _) = self.manifest().max_out_degree;
        largest as f64 * self.mean_degree() >= self.connected() as f64
    }

    /// Whether the largest neighbor of most vertices leads to one component: there are hubs, or
    /// vertices with many times the edges of others, all of which have many.
    pub fn meets_at_hubs(&self) -> bool {
        let manifest = self.manifest();
        let largest = manifest.max_out_degree.0.max(manifest.max_in_degree) as f64;
        let mean = self.mean_degree();
        self.has_hubs() || (mean >= 12.0 && largest >= 16.0 * mean)
    }

    /// Pages of those of these sections that there are.
    pub fn pages(&self, names: impl IntoIterator<Item = impl AsRef<str>>) -> u64 {
        let sections = names.into_iter().filter_map(|name| self.manifest().section(name.as_ref()));
        sections.map(|section| section.bytes.div_ceil(PAGE as u64)).sum()
    }

    /// Bytes of memory that the checksums of these sections take.
    pub fn sums_bytes(&self, names: impl IntoIterator<Item = impl AsRef<str>>) -> u64 {
        self.pages(names) * 4
    }

    /// Bytes of the neighbors in all lists of one direction.
    pub fn list_bytes(&self) -> u64 {
        self.manifest().arcs * u64::from(self.manifest().neighbor_bytes)
    }

    /// Bytes that are read to name a vertex: a page of each table of ids, about.
    pub fn key_bytes(&self) -> u64 {
        2 * PAGE as u64
    }

    /// Bytes of a scan of all edges.
    pub fn scan_bytes(&self) -> u64 {
        let grid = self.manifest().section("grid.words").filter(|_| self.has_whole_grid());
        grid.map_or(self.list_bytes(), |grid| grid.bytes)
    }

    /// Bytes that this handle has read and will read until these sections are open, and the pages
    /// that a buffer needs at the most: of lists and tables a sixth is read at a time, chunks of
    /// the grid whole. Checksums are read as a whole, and so are tables: what has no edges.
    pub fn opening(&self, names: &[String]) -> (u64, u64) {
        let (mut bytes, mut largest) = (self.disk().counters().bytes_read.load(Relaxed), 0);
        for section in names.iter().filter_map(|name| self.manifest().section(name)) {
            let pages = section.bytes.div_ceil(PAGE as u64);
            let edges = ["words", "adjacency", "weights"];
            let is_table = !edges.iter().any(|edges| section.name.ends_with(edges));
            bytes += pages * 4 + if is_table { section.bytes } else { 0 };
            let whole = section.name.starts_with("grid.");
            largest = largest.max(if whole { pages } else { pages.div_ceil(6) });
        }
        (bytes, largest)
    }
}
