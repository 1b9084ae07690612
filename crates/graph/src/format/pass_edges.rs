//! [`PassEdges`]: what passes over a grid read.

use std::ops::Range;

use super::GridIndex;

/// Edges as passes read them of which each serves two iterations, in bytes.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct PassEdges {
    /// Those that every pass reads.
    pub near: u64,
    /// Those of which every pass reads one half.
    pub far: u64,
}

impl PassEdges {
    /// Bytes that a pass reads of the device, if so many stay in memory, the near ones first.
    pub fn read(&self, kept: u64) -> u64 {
        let far = self.far.saturating_sub(kept.saturating_sub(self.near));
        self.near.saturating_sub(kept) + far / 2
    }
}

impl GridIndex {
    /// Its edges: those that all of these windows of sources read, one after the other.
    pub fn pass_edges(&self, windows: &[Range<u64>]) -> PassEdges {
        let mut edges = PassEdges::default();
        for chunk in (0..self.intervals()).flat_map(|interval| self.chunks(interval, |_| true)) {
            let (first, last) = chunk.sources;
            let reads = windows.iter().filter(|all| first < all.end && all.start <= last).count();
            let part = if self.is_served(&chunk) { &mut edges.far } else { &mut edges.near };
            *part += self.read(chunk) * reads as u64;
        }
        edges
    }
}

#[cfg(test)]
mod tests {
    use super::PassEdges;

    #[test]
    fn near_edges_stay_first() {
        let edges = PassEdges { near: 100, far: 60 };
        let read = [0, 40, 100, 130, 160, 500].map(|kept| edges.read(kept));
        assert_eq!(read, [130, 90, 30, 15, 0, 0]);
    }
}
